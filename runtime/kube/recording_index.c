/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_index.h"

#include <stdio.h>
#include <string.h>

#include "core/json_reader.h"
#include "core/json_writer.h"
#include "core/text.h"

#define STEPS_MAX    16u
#define ATTEMPTS_MAX 1000
#define LOOKS_MAX    100000 /* a replay looks as often, and each reads */

enum member {
  M_GROUP,
  M_VERSION,
  M_RESOURCE,
  M_NS,
  M_VERB,
  M_NAME,
  M_SUBRESOURCE,
  M_LABEL,
  M_FIELD,
  M_PATH,
  M_QUERY,
  M_ATTEMPTS,
  M_HTTP,
  M_TRANSPORT,
  M_CODE,
  M_REASON,
  M_DETAIL,
  M_CONTENT_TYPE,
  M_FILE,
  M_BYTES,
  M_SHA256,
  M_CHECK,
  M_ATTEMPT,
  M_PART,
  M_WHAT,
  M_LOOKS,
  MEMBER_COUNT
};

static const char *const names[MEMBER_COUNT] = {
    [M_GROUP] = "group",
    [M_VERSION] = "version",
    [M_RESOURCE] = "resource",
    [M_NS] = "ns",
    [M_VERB] = "verb",
    [M_NAME] = "name",
    [M_SUBRESOURCE] = "subresource",
    [M_LABEL] = "label",
    [M_FIELD] = "field",
    [M_PATH] = "path",
    [M_QUERY] = "query",
    [M_ATTEMPTS] = "attempts",
    [M_HTTP] = "http",
    [M_TRANSPORT] = "transport",
    [M_CODE] = "code",
    [M_REASON] = "reason",
    [M_DETAIL] = "detail",
    [M_CONTENT_TYPE] = "contentType",
    [M_FILE] = "file",
    [M_BYTES] = "bytes",
    [M_SHA256] = "sha256",
    [M_CHECK] = "check",
    [M_ATTEMPT] = "attempt",
    [M_PART] = "part",
    [M_WHAT] = "what",
    [M_LOOKS] = "looks",
};

/* Verbs of lines that are no answers. */
static const char *const kinds[] = {[KUBE_INDEX_ANSWER] = "",
                                    [KUBE_INDEX_WAIT] = "wait",
                                    [KUBE_INDEX_RUN] = "run",
                                    [KUBE_INDEX_RESOLVE] = "resolve"};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static bool invalid(struct aicr_error *err, const char *what)
{
  return aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid", "%s", what);
}

static bool invalid_text(struct aicr_error *err, enum member m,
                         const char *text, size_t len)
{
  struct aicr_quoted q;
  return aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                   "bad \"%s\": %s", names[m], aicr_quote(&q, text, len));
}

bool kube_index_path_ok(const char *path)
{
  unsigned steps = 0;
  size_t len = 0;
  for (const char *p = path; *p != '\0'; p++) {
    unsigned char c = (unsigned char)*p;
    if (c < 0x20 || c == 0x7f || c == '\\') {
      return false;
    }
  }
  for (const char *p = path; steps <= STEPS_MAX; p += len + 1) {
    len = strcspn(p, "/");
    bool dots =
        (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.');
    if (len == 0 || dots) {
      return false;
    }
    steps++;
    if (p[len] == '\0') {
      return steps <= STEPS_MAX;
    }
  }
  return false;
}

bool kube_index_is_sha256(const char *text)
{
  return strlen(text) == AICR_SHA256_TEXT - 1 &&
         strspn(text, "0123456789abcdef") == AICR_SHA256_TEXT - 1;
}

static bool is_text(const struct aicr_json_reader *r, const char *text)
{
  return strlen(text) == r->text_len && memcmp(text, r->text, r->text_len) == 0;
}

static bool take_verb(const struct aicr_json_reader *r,
                      struct kube_index_line *out, struct aicr_error *err)
{
  for (unsigned v = 0; v < KUBE_VERB_COUNT; v++) {
    if (is_text(r, kube_verb_name((enum kube_verb)v))) {
      out->verb = (enum kube_verb)v;
      return true;
    }
  }
  for (unsigned k = KUBE_INDEX_WAIT; k < KIND_COUNT; k++) {
    if (is_text(r, kinds[k])) {
      out->kind = (enum kube_index_kind)k;
      return true;
    }
  }
  return invalid_text(err, M_VERB, r->text, r->text_len);
}

struct slot {
  char *text;
  size_t size;
};

/* Where a member's text lies in a line; text NULL: it is no text of its own. */
static struct slot slot_of(struct kube_index_line *out, enum member m)
{
  const struct slot slots[MEMBER_COUNT] = {
      [M_GROUP] = {out->group, sizeof out->group},
      [M_VERSION] = {out->version, sizeof out->version},
      [M_RESOURCE] = {out->resource, sizeof out->resource},
      [M_NS] = {out->ns, sizeof out->ns},
      [M_NAME] = {out->name, sizeof out->name},
      [M_SUBRESOURCE] = {out->subresource, sizeof out->subresource},
      [M_LABEL] = {out->label, sizeof out->label},
      [M_FIELD] = {out->field, sizeof out->field},
      [M_PATH] = {out->path, sizeof out->path},
      [M_QUERY] = {out->query, sizeof out->query},
      [M_REASON] = {out->reason, sizeof out->reason},
      [M_DETAIL] = {out->detail, sizeof out->detail},
      [M_CONTENT_TYPE] = {out->content_type, sizeof out->content_type},
      [M_FILE] = {out->file, sizeof out->file},
      [M_SHA256] = {out->sha256, sizeof out->sha256},
      [M_CHECK] = {out->asker.check, sizeof out->asker.check},
      [M_PART] = {out->asker.part, sizeof out->asker.part},
      [M_WHAT] = {out->what, sizeof out->what},
  };
  return slots[m];
}

static bool take_text(const struct aicr_json_reader *r, enum member m,
                      struct kube_index_line *out, struct aicr_error *err)
{
  struct slot slot = slot_of(out, m);
  if (m == M_VERB) {
    return take_verb(r, out, err);
  }
  if (m == M_TRANSPORT) {
    out->transport = kube_transport_from_name(r->text, r->text_len);
    return out->transport != KUBE_TRANSPORT_COUNT ||
           invalid_text(err, m, r->text, r->text_len);
  }
  if (m == M_CODE) {
    out->code = aicr_code_from_name(r->text, r->text_len);
    return out->code != AICR_CODE_NONE ||
           invalid_text(err, m, r->text, r->text_len);
  }
  if (slot.text == NULL || r->text_len >= slot.size ||
      memchr(r->text, '\0', r->text_len) != NULL) {
    return invalid_text(err, m, r->text, r->text_len);
  }
  memcpy(slot.text, r->text, r->text_len);
  slot.text[r->text_len] = '\0';
  return true;
}

/* False: the member takes no number, or another. */
static bool take_number(int64_t number, enum member m,
                        struct kube_index_line *out)
{
  const struct {
    enum member m;
    int64_t min, max;
    unsigned *to;
  } numbers[] = {{M_ATTEMPTS, 1, ATTEMPTS_MAX, &out->attempts},
                 {M_ATTEMPT, 1, ATTEMPTS_MAX, &out->asker.attempt},
                 {M_LOOKS, 0, LOOKS_MAX, &out->looks}};
  if (m == M_BYTES && number >= 0) {
    out->bytes = number;
    return true;
  }
  if (m == M_HTTP && number >= 100 && number <= 599) {
    out->http = (int)number;
    return true;
  }
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (numbers[i].m == m && number >= numbers[i].min &&
        number <= numbers[i].max) {
      *numbers[i].to = (unsigned)number;
      return true;
    }
  }
  return false;
}

static const char *expected(enum member m)
{
  switch (m) {
  case M_HTTP:
    return "a number from 100 to 599";
  case M_ATTEMPT:
  case M_ATTEMPTS:
    return "a number from 1 to 1000";
  case M_LOOKS:
    return "a number up to 100000";
  case M_BYTES:
    return "a number from 0";
  default:
    return "\"text\"";
  }
}

static bool take_value(enum aicr_json_token token,
                       const struct aicr_json_reader *r, enum member m,
                       struct kube_index_line *out, struct aicr_error *err)
{
  switch (token) {
  case AICR_JSON_NULL:
    return true;
  case AICR_JSON_STRING:
    return take_text(r, m, out, err);
  case AICR_JSON_INTEGER:
    if (take_number(r->integer, m, out)) {
      return true;
    }
    break;
  case AICR_JSON_ERROR:
    return invalid(err, r->error.message);
  default:
    break;
  }
  return aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                   "bad value of \"%s\": expected %s", names[m], expected(m));
}

static bool read_key(const struct aicr_json_reader *r, unsigned *seen,
                     enum member *m, struct aicr_error *err)
{
  struct aicr_quoted q;
  unsigned i = 0;
  while (i < MEMBER_COUNT && !is_text(r, names[i])) {
    i++;
  }
  if (i == MEMBER_COUNT || (*seen & (1u << i)) != 0) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                     "%s member %s", i == MEMBER_COUNT ? "unknown" : "repeated",
                     aicr_quote(&q, r->text, r->text_len));
  }
  *seen |= 1u << i;
  *m = (enum member)i;
  return true;
}

static bool read_members(struct aicr_json_reader *r,
                         struct kube_index_line *out, struct aicr_error *err)
{
  unsigned seen = 0;
  enum aicr_json_token token = aicr_json_next(r);
  if (token == AICR_JSON_ERROR) {
    return invalid(err, r->error.message);
  }
  if (token != AICR_JSON_OBJECT_BEGIN) {
    return invalid(err, "a line of the index is a JSON object");
  }
  token = aicr_json_next(r);
  while (token == AICR_JSON_KEY) {
    enum member m = M_GROUP;
    if (!read_key(r, &seen, &m, err) ||
        !take_value(aicr_json_next(r), r, m, out, err)) {
      return false;
    }
    token = aicr_json_next(r);
  }
  if (token == AICR_JSON_OBJECT_END) {
    token = aicr_json_next(r);
  }
  if (token == AICR_JSON_ERROR) {
    return invalid(err, r->error.message);
  }
  return (seen & (1u << M_VERB)) != 0 || invalid(err, "\"verb\" is missing");
}

static const char *or_null(const char *text)
{
  return text[0] == '\0' ? NULL : text;
}

/* Names are what a request could have asked for: the path builder knows. */
static bool check_names(const struct kube_index_line *l, struct aicr_error *err)
{
  struct kube_resource r = {.namespaced = l->ns[0] != '\0'};
  struct aicr_error bad;
  struct aicr_buf path;
  memcpy(r.group, l->group, sizeof r.group);
  memcpy(r.version, l->version, sizeof r.version);
  memcpy(r.plural, l->resource, sizeof r.plural);
  aicr_buf_init(&path, 4096);
  bool ok = kube_resource_path(&r, or_null(l->ns), or_null(l->name),
                               or_null(l->subresource), &path, &bad);
  aicr_buf_free(&path);
  if (!ok && bad.code == AICR_INTERNAL && err != NULL) {
    *err = bad;
    return false;
  }
  return ok || invalid(err, bad.message);
}

/* What belongs together. */
static bool check_members(const struct kube_index_line *l,
                          struct aicr_error *err)
{
  int ends = (l->http != 0) + (l->transport != KUBE_TRANSPORT_OK) +
             (l->code != AICR_CODE_NONE);
  if (ends != 1) {
    return invalid(err,
                   "a line has one of \"http\", \"transport\" and \"code\"");
  }
  if (l->verb == KUBE_GET && l->name[0] == '\0') {
    return invalid(err, "a get has a \"name\"");
  }
  bool list = l->verb == KUBE_LIST || l->verb == KUBE_WATCH;
  if (list && l->name[0] != '\0') {
    return invalid(err, "a list has no \"name\"");
  }
  if (!list && (l->label[0] != '\0' || l->field[0] != '\0')) {
    return invalid(err, "only a list has \"label\" and \"field\"");
  }
  if (l->file[0] != '\0' && !kube_index_path_ok(l->file)) {
    return invalid_text(err, M_FILE, l->file, strlen(l->file));
  }
  if ((l->bytes != 0 || l->sha256[0] != '\0') && l->file[0] == '\0') {
    return invalid(err, "only a \"file\" has \"bytes\" and \"sha256\"");
  }
  if (l->sha256[0] != '\0' && !kube_index_is_sha256(l->sha256)) {
    return invalid_text(err, M_SHA256, l->sha256, strlen(l->sha256));
  }
  if (l->http == 0 && l->file[0] != '\0') {
    return invalid(err, "an answer that never came has no \"file\"");
  }
  if (l->http != 0 && (l->reason[0] != '\0' || l->detail[0] != '\0')) {
    return invalid(err, "only a \"transport\" or a \"code\" has \"reason\" and "
                        "\"detail\"");
  }
  /* What was not asked for was not seen. */
  if (l->code == AICR_NOT_FOUND || l->code == AICR_CONFLICT) {
    return invalid(err,
                   "only an answer with \"http\" says what is absent or in "
                   "conflict");
  }
  return l->code == AICR_CODE_NONE || l->reason[0] != '\0' ||
         invalid(err, "a \"code\" has a \"reason\"");
}

static bool check_reason(const struct kube_index_line *l,
                         struct aicr_error *err)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz-";
  size_t len = strlen(l->reason);
  return (l->reason[strspn(l->reason, plain)] == '\0' &&
          (l->code == AICR_CODE_NONE || len < AICR_REASON_MAX)) ||
         invalid_text(err, M_REASON, l->reason, len);
}

/* Only a check's name is one that a run could have. */
static bool check_asker(const struct kube_asker *a, struct aicr_error *err)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
  static const char steps[] = "abcdefghijklmnopqrstuvwxyz0123456789./~";
  if (a->check[strspn(a->check, plain)] != '\0') {
    return invalid_text(err, M_CHECK, a->check, strlen(a->check));
  }
  if (a->part[strspn(a->part, steps)] != '\0') {
    return invalid_text(err, M_PART, a->part, strlen(a->part));
  }
  return a->check[0] != '\0' || (a->attempt == 0 && a->part[0] == '\0') ||
         invalid(err, "only a \"check\" has \"attempt\" and \"part\"");
}

/* A line of a wait, a run or what was named is no answer. Every member is
 * empty but the asker's, "what" and those that only some of them have. */
static bool is_empty(struct kube_index_line *l, bool resolve)
{
  bool empty = resolve ||
               (l->http == 0 && l->attempts == 0 && l->code == AICR_CODE_NONE);
  empty = empty && l->bytes == 0; /* a sum is a text */
  for (unsigned i = 0; i < MEMBER_COUNT; i++) {
    enum member m = (enum member)i;
    struct slot slot = slot_of(l, m);
    bool may = m == M_CHECK || m == M_PART || m == M_WHAT ||
               (resolve && (m == M_REASON || m == M_DETAIL));
    empty = empty && (may || slot.text == NULL || slot.text[0] == '\0');
  }
  return empty;
}

static bool check_resolve(struct kube_index_line *l, struct aicr_error *err)
{
  if (l->what[0] == '\0' || l->code == AICR_CODE_NONE || l->reason[0] == '\0' ||
      !is_empty(l, true)) {
    return invalid(err,
                   "a resolve has \"what\", \"code\" and \"reason\", and no "
                   "answer");
  }
  return l->http == 0 || l->transport == KUBE_TRANSPORT_OK ||
         invalid(err, "a line has either \"http\" or \"transport\"");
}

static bool check_event(struct kube_index_line *l, struct aicr_error *err)
{
  if (l->asker.check[0] == '\0') {
    return invalid(err, "a wait, a run or a resolve has a \"check\"");
  }
  if (l->kind == KUBE_INDEX_RESOLVE) {
    return check_resolve(l, err);
  }
  if (l->transport != KUBE_TRANSPORT_OK &&
      l->transport != KUBE_TRANSPORT_DEADLINE &&
      l->transport != KUBE_TRANSPORT_CANCELED) {
    return invalid(err, "a wait or a run ends by itself, by \"deadline\" or "
                        "\"canceled\"");
  }
  bool wait = l->kind == KUBE_INDEX_WAIT;
  if (wait == (l->what[0] == '\0') || (!wait && l->looks != 0)) {
    return invalid(err, "a wait, and it alone, has \"what\" and \"looks\"");
  }
  return is_empty(l, false) ||
         invalid(err, "a wait or a run asks for nothing and has no answer");
}

/* The line of a path that is no resource's. */
static bool check_path(const struct kube_index_line *l, struct aicr_error *err)
{
  if (l->path[0] != '/') {
    return invalid(err, "a get_raw has a \"path\"");
  }
  return (l->group[0] == '\0' && l->version[0] == '\0' &&
          l->resource[0] == '\0' && l->ns[0] == '\0' && l->name[0] == '\0' &&
          l->subresource[0] == '\0') ||
         invalid(err, "a get_raw has a \"path\" and no names");
}

bool kube_index_parse(const char *data, size_t len, struct kube_index_line *out,
                      struct aicr_error *err)
{
  struct aicr_json_reader r;
  memset(out, 0, sizeof *out);
  aicr_json_init(&r, AICR_JSON_STRICT, 2);
  aicr_json_feed(&r, data, len);
  aicr_json_finish(&r);
  bool ok = read_members(&r, out, err);
  aicr_json_free(&r);
  if (!ok) {
    return false;
  }
  if (strcmp(out->group, "core") == 0) {
    memset(out->group, 0, sizeof out->group);
  }
  if (!check_asker(&out->asker, err) || !check_reason(out, err)) {
    return false;
  }
  if (out->kind != KUBE_INDEX_ANSWER) {
    return check_event(out, err);
  }
  if (out->what[0] != '\0' || out->looks != 0) {
    return invalid(err, "only a wait has \"what\" and \"looks\"");
  }
  if (!check_members(out, err)) {
    return false;
  }
  if (out->verb == KUBE_RAW) {
    return check_path(out, err);
  }
  if (out->path[0] != '\0') {
    return invalid(err, "only a get_raw has a \"path\"");
  }
  return check_names(out, err);
}

static void write_text(struct aicr_buf *out, enum member m, const char *text)
{
  if (text[0] != '\0') {
    aicr_buf_addf(out, "%s\"%s\":",
                  out->len > 0 && out->data[out->len - 1] == '{' ? "" : ",",
                  names[m]);
    aicr_json_write_string(out, text, strlen(text));
  }
}

void kube_index_write(const struct kube_index_line *line, struct aicr_buf *out)
{
  /* slot_of() only looks */
  struct kube_index_line *l = (struct kube_index_line *)(uintptr_t)line;
  aicr_buf_addc(out, '{');
  for (unsigned i = 0; i < MEMBER_COUNT; i++) {
    enum member m = (enum member)i;
    struct slot slot = slot_of(l, m);
    if (slot.text != NULL) {
      write_text(out, m, slot.text);
    } else if (m == M_VERB) {
      write_text(out, m,
                 line->kind == KUBE_INDEX_ANSWER ? kube_verb_name(line->verb)
                                                 : kinds[line->kind]);
    } else if (m == M_TRANSPORT) {
      write_text(out, m, kube_transport_name(line->transport));
    } else if (m == M_CODE) {
      write_text(out, m, aicr_code_name(line->code));
    } else if (m == M_HTTP && line->http != 0) {
      aicr_buf_addf(out, ",\"http\":%d", line->http);
    } else if (m == M_BYTES && line->bytes != 0) {
      aicr_buf_addf(out, ",\"bytes\":%lld", (long long)line->bytes);
    } else if (m == M_ATTEMPTS && line->attempts != 0) {
      aicr_buf_addf(out, ",\"attempts\":%u", line->attempts);
    } else if (m == M_ATTEMPT && line->asker.attempt > 1) {
      aicr_buf_addf(out, ",\"attempt\":%u", line->asker.attempt);
    } else if (m == M_LOOKS && line->looks != 0) {
      aicr_buf_addf(out, ",\"looks\":%u", line->looks);
    }
  }
  aicr_buf_addc(out, '}');
}
