/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential_answer.h"

#include <string.h>

#include "core/json_reader.h"
#include "core/text.h"
#include "core/time.h"

#define DEPTH     32
#define FIELD_MAX ((size_t)1 << 20)

struct reading {
  struct aicr_json_reader json;
  struct kube_exec_answer *answer;
  struct aicr_buf api_version, kind, expires;
  bool status;
  struct aicr_error *err;
};

void kube_exec_answer_init(struct kube_exec_answer *a)
{
  memset(a, 0, sizeof(*a));
  aicr_buf_init(&a->token, FIELD_MAX);
  aicr_buf_init(&a->certificate, FIELD_MAX);
  aicr_buf_init(&a->key, FIELD_MAX);
  a->token.secret = a->certificate.secret = a->key.secret = true;
}

void kube_exec_answer_free(struct kube_exec_answer *a)
{
  aicr_buf_free(&a->token);
  aicr_buf_free(&a->certificate);
  aicr_buf_free(&a->key);
}

bool kube_token_valid(const char *data, size_t len)
{
  for (size_t i = 0; i < len; i++)
    if (data[i] < 0x21 || data[i] > 0x7e)
      return false;
  return len > 0;
}

static bool no_memory(struct reading *r)
{
  return aicr_fail(r->err, AICR_INTERNAL, "memory", "no memory for its answer");
}

static bool refuse(struct reading *r, const char *what)
{
  return aicr_fail(r->err, AICR_UNAUTHORIZED, "exec-plugin-failed", "%s", what);
}

static bool malformed(struct reading *r)
{
  if (r->json.error.code == AICR_INTERNAL)
    return no_memory(r);
  return aicr_fail(r->err, AICR_UNAUTHORIZED, "exec-plugin-failed",
                   "its answer is no JSON (it goes wrong at byte %zu)",
                   r->json.offset);
}

/* The rest of a value whose first token was read. */
static bool skip(struct reading *r, enum aicr_json_token token)
{
  unsigned outside = r->json.depth;

  if (token == AICR_JSON_OBJECT_BEGIN || token == AICR_JSON_ARRAY_BEGIN) {
    outside--;
    while (r->json.depth > outside)
      if (aicr_json_next(&r->json) == AICR_JSON_ERROR)
        return malformed(r);
  }
  return token == AICR_JSON_ERROR ? malformed(r) : true;
}

static bool take_text(struct reading *r, const char *name, struct aicr_buf *out)
{
  enum aicr_json_token token = aicr_json_next(&r->json);

  /* The last one of a name counts. */
  aicr_buf_reset(out);
  if (token == AICR_JSON_ERROR)
    return malformed(r);
  if (token == AICR_JSON_NULL)
    return true;
  if (token != AICR_JSON_STRING)
    return aicr_fail(r->err, AICR_UNAUTHORIZED, "exec-plugin-failed",
                     "its answer's %s is no string", name);
  if (memchr(r->json.text, '\0', r->json.text_len))
    return aicr_fail(r->err, AICR_UNAUTHORIZED, "exec-plugin-failed",
                     "its answer's %s holds a NUL character", name);
  return aicr_buf_add(out, r->json.text, r->json.text_len) || no_memory(r);
}

static bool is_key(const struct reading *r, const char *name)
{
  return r->json.text_len == strlen(name) &&
         memcmp(r->json.text, name, r->json.text_len) == 0;
}

static bool take_status_member(struct reading *r)
{
  struct kube_exec_answer *a = r->answer;

  if (is_key(r, "token"))
    return take_text(r, "status.token", &a->token);
  if (is_key(r, "clientCertificateData"))
    return take_text(r, "status.clientCertificateData", &a->certificate);
  if (is_key(r, "clientKeyData"))
    return take_text(r, "status.clientKeyData", &a->key);
  if (is_key(r, "expirationTimestamp"))
    return take_text(r, "status.expirationTimestamp", &r->expires);
  return skip(r, aicr_json_next(&r->json));
}

static bool take_members(struct reading *r, bool (*take)(struct reading *r))
{
  for (;;) {
    enum aicr_json_token token = aicr_json_next(&r->json);

    if (token == AICR_JSON_OBJECT_END)
      return true;
    if (token != AICR_JSON_KEY)
      return malformed(r);
    if (!take(r))
      return false;
  }
}

static bool take_status(struct reading *r)
{
  enum aicr_json_token token = aicr_json_next(&r->json);

  aicr_buf_reset(&r->answer->token);
  aicr_buf_reset(&r->answer->certificate);
  aicr_buf_reset(&r->answer->key);
  aicr_buf_reset(&r->expires);
  r->status = token == AICR_JSON_OBJECT_BEGIN;
  if (r->status)
    return take_members(r, take_status_member);
  if (token == AICR_JSON_ERROR)
    return malformed(r);
  return token == AICR_JSON_NULL
             ? true
             : refuse(r, "its answer's status is no object");
}

static bool take_member(struct reading *r)
{
  if (is_key(r, "apiVersion"))
    return take_text(r, "apiVersion", &r->api_version);
  if (is_key(r, "kind"))
    return take_text(r, "kind", &r->kind);
  if (is_key(r, "status"))
    return take_status(r);
  return skip(r, aicr_json_next(&r->json));
}

static bool take_answer(struct reading *r, const char *data, size_t len)
{
  const char *rest = data;
  size_t left = len;
  enum aicr_json_token token;

  aicr_trim(&rest, &left);
  if (left == 0)
    return refuse(r, "it printed nothing on stdout");
  aicr_json_feed(&r->json, data, len);
  aicr_json_finish(&r->json);
  token = aicr_json_next(&r->json);
  if (token == AICR_JSON_ERROR)
    return malformed(r);
  if (token != AICR_JSON_OBJECT_BEGIN)
    return refuse(r, "its answer is no JSON object");
  if (!take_members(r, take_member))
    return false;
  return aicr_json_next(&r->json) == AICR_JSON_END || malformed(r);
}

static const char *shown(struct aicr_quoted *q, const struct aicr_buf *b)
{
  return b->len > 0 ? aicr_quote(q, b->data, b->len) : "none";
}

static bool judge_head(struct reading *r, const char *api_version)
{
  const struct aicr_buf *version = &r->api_version, *kind = &r->kind;
  struct aicr_quoted q, wanted;

  if (kind->len == 0 || strcmp(kind->data, "ExecCredential") != 0)
    return aicr_fail(r->err, AICR_UNAUTHORIZED, "exec-plugin-failed",
                     "its answer is of kind %s, not \"ExecCredential\"",
                     shown(&q, kind));
  if (version->len == 0 || strcmp(version->data, api_version) != 0)
    return aicr_fail(r->err, AICR_UNAUTHORIZED, "exec-plugin-failed",
                     "its answer has apiVersion %s, the kubeconfig asks for %s",
                     shown(&q, version),
                     aicr_quote(&wanted, api_version, strlen(api_version)));
  return true;
}

static bool is_pem(const struct aicr_buf *b)
{
  return strstr(b->data, "-----BEGIN ") != NULL;
}

static bool judge_status(struct reading *r)
{
  struct kube_exec_answer *a = r->answer;

  if (!r->status)
    return refuse(r, "its answer has no status");
  if (a->token.len == 0 && a->certificate.len == 0 && a->key.len == 0)
    return refuse(r, "its answer has neither a token nor a certificate");
  if (a->key.len == 0 && a->certificate.len > 0)
    return refuse(r, "its answer has clientCertificateData without "
                     "clientKeyData");
  if (a->key.len > 0 && a->certificate.len == 0)
    return refuse(r, "its answer has clientKeyData without "
                     "clientCertificateData");
  if (a->token.len > 0 && !kube_token_valid(a->token.data, a->token.len))
    return refuse(r, "its answer's token holds a character that no header can "
                     "carry (a blank, a line end, a control or non-ASCII "
                     "character)");
  if (a->key.len > 0 && (!is_pem(&a->certificate) || !is_pem(&a->key)))
    return refuse(r, "its answer's clientCertificateData or clientKeyData is "
                     "no PEM text");
  if (r->expires.len > 0) {
    a->expires = true;
    if (!aicr_time_parse(r->expires.data, r->expires.len, &a->expires_ms, NULL))
      return refuse(r, "its answer's expirationTimestamp is no RFC 3339 time");
  }
  return true;
}

bool kube_exec_answer_read(const char *data, size_t len,
                           const char *api_version, struct kube_exec_answer *a,
                           struct aicr_error *err)
{
  struct reading r;
  bool ok;

  memset(&r, 0, sizeof(r));
  r.answer = a;
  r.err = err;
  aicr_buf_init(&r.api_version, FIELD_MAX);
  aicr_buf_init(&r.kind, FIELD_MAX);
  aicr_buf_init(&r.expires, FIELD_MAX);
  r.api_version.secret = r.kind.secret = r.expires.secret = true;
  aicr_json_init(&r.json, AICR_JSON_STRICT, DEPTH);
  aicr_json_secret(&r.json);
  a->expires = false;
  ok = take_answer(&r, data, len) && judge_head(&r, api_version) &&
       judge_status(&r);
  aicr_json_free(&r.json);
  aicr_buf_free(&r.api_version);
  aicr_buf_free(&r.kind);
  aicr_buf_free(&r.expires);
  return ok;
}
