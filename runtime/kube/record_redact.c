/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record_redact.h"

#include <string.h>
#include <strings.h>

#include "core/json_reader.h"
#include "core/json_writer.h"

#define SPANS_MAX (1u << 20)
#define NESTING   3u /* documents within texts of documents */

/* When a value is a secret. */
enum why {
  NEVER,
  BY_KIND, /* the object around it is a Secret */
  BY_NAME, /* its sibling "name" looks like a secret's */
  ALWAYS
};

/* A value that may have to go: text[start, end). */
struct span {
  size_t start, end;
  unsigned depth; /* of the object that it is a member of */
  enum why why;
};

enum member { OTHER, KIND, NAME };

/* An open container. */
struct frame {
  enum member key; /* of the value that comes next */
  enum why why;
  bool is_secret, has_secret_name;
  size_t first, open; /* of the spans; open: one more than its number */
};

struct pass {
  const char *text;
  size_t len;
  unsigned nesting;
  const struct kube_secrets *secrets;
  struct aicr_json_reader r;
  struct frame frames[AICR_JSON_DEPTH + 1];
  struct span *spans; /* in the order of their starts */
  size_t count, cap;
};

static bool is(const char *text, size_t len, const char *word)
{
  return len == strlen(word) && memcmp(text, word, len) == 0;
}

static bool holds(const char *text, size_t len, const char *word)
{
  size_t n = strlen(word);
  for (size_t i = 0; i + n <= len; i++) {
    if (strncasecmp(text + i, word, n) == 0) {
      return true;
    }
  }
  return false;
}

/* The same, letter for letter: for long texts. */
static bool contains(const char *text, size_t len, const char *word)
{
  size_t n = strlen(word);
  const char *end = text + len, *at = text;
  while (at != NULL && (size_t)(end - at) >= n) {
    if (memcmp(at, word, n) == 0) {
      return true;
    }
    at = memchr(at + 1, word[0], (size_t)(end - at - 1));
  }
  return false;
}

static bool ends(const char *text, size_t len, const char *word)
{
  size_t n = strlen(word);
  return len >= n && strncasecmp(text + len - n, word, n) == 0;
}

/* The name of a variable whose value is a secret, not of where one lies. */
static bool looks_secret(const char *name, size_t len)
{
  static const char *const words[] = {
      "PASSWORD", "PASSWD",  "PASSPHRASE", "SECRET",      "TOKEN",
      "APIKEY",   "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"};
  static const char *const places[] = {"_FILE", "_PATH", "_DIR", "_NAME",
                                       "_URL"};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    if (ends(name, len, places[i])) {
      return false;
    }
  }
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (holds(name, len, words[i])) {
      return true;
    }
  }
  return false;
}

static bool is_capitals(const char *name, size_t len)
{
  static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (size_t i = 0; i < len; i++) {
    if (name[i] == '\0' || strchr(chars, name[i]) == NULL) {
      return false;
    }
  }
  return len > 0;
}

static bool is_secret_member(const char *name, size_t len)
{
  static const char *const words[] = {
      "token",        "password", "passwd",    "bearerToken",    "accessToken",
      "accessKey",    "apiKey",   "secretKey", "privateKey",     "clientSecret",
      "refreshToken", "idToken",  "authToken", "secretAccessKey"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strlen(words[i]) == len && strncasecmp(name, words[i], len) == 0) {
      return true;
    }
  }
  return is_capitals(name, len) && looks_secret(name, len);
}

/* Three words of base64url with dots between, the first of which begins a JSON
 * object: a signed web token. */
static bool is_web_token(const char *text, size_t len)
{
  static const char chars[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
      "xyz0123456789-_=";
  unsigned dots = 0;
  if (len < 16 || memcmp(text, "eyJ", 3) != 0) {
    return false;
  }
  for (size_t i = 0; i < len; i++) {
    if (text[i] == '.') {
      dots++;
    } else if (text[i] == '\0' || strchr(chars, text[i]) == NULL) {
      return false;
    }
  }
  return dots == 2;
}

static bool find_spans(struct pass *p, bool is_secret, struct aicr_error *err);

/* Is a text within the text a document with secrets in it? */
static bool is_secret_document(const struct pass *p, const char *text,
                               size_t len, bool *yes, struct aicr_error *err)
{
  size_t at = 0;
  *yes = false;
  while (at < len && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0') {
    at++;
  }
  bool json = at < len && (text[at] == '{' || text[at] == '[');
  if (json && p->nesting < NESTING) {
    struct aicr_error bad;
    struct pass *inner = aicr_calloc(1, sizeof *inner);
    if (inner == NULL) {
      return aicr_fail(err, AICR_INTERNAL, "memory", "no memory to redact");
    }
    inner->text = text;
    inner->len = len;
    inner->nesting = p->nesting + 1;
    inner->secrets = p->secrets;
    bool read = find_spans(inner, false, &bad);
    *yes = read && inner->count > 0;
    aicr_free(inner->spans);
    aicr_free(inner);
    if (read) {
      return true;
    }
    if (bad.code == AICR_INTERNAL) {
      *err = bad;
      return false;
    }
  }
  *yes = contains(text, len, "kind: Secret") ||
         (json && contains(text, len, "\"Secret\""));
  return true;
}

/* Why the string that was just read has to go. */
static bool judge(const struct pass *p, enum why *why, struct aicr_error *err)
{
  const char *text = p->r.text;
  size_t len = p->r.text_len;
  bool yes = false;
  if (*why == ALWAYS) {
    return true;
  }
  if (is_web_token(text, len) || kube_secrets_in(p->secrets, text, len) ||
      (contains(text, len, "-----BEGIN ") &&
       contains(text, len, "PRIVATE KEY-----"))) {
    *why = ALWAYS;
    return true;
  }
  if (!is_secret_document(p, text, len, &yes, err)) {
    return false;
  }
  *why = yes ? ALWAYS : *why;
  return true;
}

static bool add_span(struct pass *p, unsigned depth, enum why why, size_t start,
                     size_t end, struct aicr_error *err)
{
  if (p->count >= SPANS_MAX) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "too-large",
                     "more than %u values that may be secrets", SPANS_MAX);
  }
  struct span *grown = aicr_grow(p->spans, &p->cap, p->count, sizeof *grown);
  if (grown == NULL) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory to redact");
  }
  p->spans = grown;
  p->spans[p->count++] = (struct span){start, end, depth, why};
  return true;
}

/* An object is at its end: which of its values are secrets is known now. */
static void settle(struct pass *p, unsigned depth)
{
  const struct frame *f = &p->frames[depth];
  size_t kept = f->first;
  for (size_t i = f->first; i < p->count; i++) {
    struct span s = p->spans[i];
    bool secret = s.why == ALWAYS || (s.why == BY_KIND && f->is_secret) ||
                  (s.why == BY_NAME && f->has_secret_name);
    if (secret || s.depth != depth) {
      s.why = secret ? ALWAYS : s.why;
      p->spans[kept++] = s;
    }
  }
  p->count = kept;
}

static bool take_key(struct pass *p, struct frame *f, size_t start,
                     struct aicr_error *err)
{
  const char *name = p->r.text;
  size_t len = p->r.text_len, end = p->r.offset;
  f->key = is(name, len, "kind") ? KIND : is(name, len, "name") ? NAME : OTHER;
  f->why = is(name, len, "data") || is(name, len, "stringData") ? BY_KIND
           : is(name, len, "value")                             ? BY_NAME
           : is_secret_member(name, len)                        ? ALWAYS
                                                                : NEVER;
  if (!kube_secrets_in(p->secrets, name, len)) {
    return true;
  }
  while (p->text[end - 1] != '"') {
    end--; /* the colon, if that was read, too */
  }
  return add_span(p, p->r.depth, ALWAYS, start, end, err);
}

static bool take_string(struct pass *p, unsigned depth, size_t start,
                        struct aicr_error *err)
{
  struct frame *f = &p->frames[depth];
  enum why why = f->why;
  if (f->key == KIND && is(p->r.text, p->r.text_len, "Secret")) {
    f->is_secret = true;
  }
  if (f->key == NAME && looks_secret(p->r.text, p->r.text_len)) {
    f->has_secret_name = true;
  }
  if (!judge(p, &why, err)) {
    return false;
  }
  return why == NEVER || add_span(p, depth, why, start, p->r.offset, err);
}

static bool begin(struct pass *p, size_t start, bool is_secret,
                  struct aicr_error *err)
{
  unsigned depth = p->r.depth;
  struct frame *f = &p->frames[depth], *around = f - 1;
  if (around->why != NEVER) {
    if (!add_span(p, depth - 1, around->why, start, 0, err)) {
      return false;
    }
    around->open = p->count;
  }
  *f = (struct frame){.first = p->count, .is_secret = depth == 1 && is_secret};
  return true;
}

static void end(struct pass *p)
{
  unsigned depth = p->r.depth;
  struct frame *around = &p->frames[depth];
  settle(p, depth + 1);
  if (around->open > 0) {
    p->spans[around->open - 1].end = p->r.offset;
    around->open = 0;
  }
}

static size_t value_start(const struct pass *p, size_t at)
{
  while (at < p->len && p->text[at] != '\0' &&
         strchr(" \t\r\n:,", p->text[at]) != NULL) {
    at++;
  }
  return at;
}

static bool take_number(struct pass *p, unsigned depth, size_t start,
                        struct aicr_error *err)
{
  size_t end = p->r.offset;
  bool is_one = kube_secrets_are(p->secrets, p->text + start, end - start);
  enum why why = is_one ? ALWAYS : p->frames[depth].why;
  return why == NEVER || add_span(p, depth, why, start, end, err);
}

static bool take(struct pass *p, enum aicr_json_token token, size_t before,
                 bool is_secret, struct aicr_error *err)
{
  unsigned depth = p->r.depth;
  struct frame *f = &p->frames[depth];
  bool ok = true;
  switch (token) {
  case AICR_JSON_KEY:
    return take_key(p, f, value_start(p, before), err);
  case AICR_JSON_OBJECT_BEGIN:
  case AICR_JSON_ARRAY_BEGIN:
    ok = begin(p, value_start(p, before), is_secret, err);
    f = &p->frames[depth - 1];
    break;
  case AICR_JSON_OBJECT_END:
  case AICR_JSON_ARRAY_END:
    end(p);
    break;
  case AICR_JSON_STRING:
    ok = take_string(p, depth, value_start(p, before), err);
    break;
  case AICR_JSON_INTEGER:
  case AICR_JSON_DOUBLE:
    ok = take_number(p, depth, value_start(p, before), err);
    break;
  default:
    break;
  }
  f->key = OTHER;
  f->why = NEVER;
  return ok;
}

static bool find_spans(struct pass *p, bool is_secret, struct aicr_error *err)
{
  size_t before = 0;
  bool ok = true;
  aicr_json_init(&p->r, AICR_JSON_GO, AICR_JSON_DEPTH);
  aicr_json_feed(&p->r, p->text, p->len);
  aicr_json_finish(&p->r);
  enum aicr_json_token token = aicr_json_next(&p->r);
  while (ok && token != AICR_JSON_END && token != AICR_JSON_ERROR) {
    ok = take(p, token, before, is_secret, err);
    before = p->r.offset;
    token = aicr_json_next(&p->r);
  }
  if (ok && token == AICR_JSON_ERROR) {
    *err = p->r.error;
    ok = false;
  }
  aicr_json_free(&p->r);
  return ok;
}

static void write_out(const struct pass *p, struct aicr_buf *out)
{
  size_t at = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct span *s = &p->spans[i];
    if (s->start < at) {
      continue; /* within one that is gone */
    }
    aicr_buf_add(out, p->text + at, s->start - at);
    aicr_json_write_string(out, KUBE_REDACTED, strlen(KUBE_REDACTED));
    at = s->end;
  }
  aicr_buf_add(out, p->text + at, p->len - at);
}

bool kube_redact(const char *text, size_t len, bool is_secret,
                 const struct kube_secrets *secrets, struct aicr_buf *out,
                 bool *changed, struct aicr_error *err)
{
  *changed = false;
  struct pass *p = aicr_calloc(1, sizeof *p);
  if (p == NULL) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory to redact");
  }
  p->text = text;
  p->len = len;
  p->secrets = secrets;
  bool ok = find_spans(p, is_secret, err);
  if (ok && p->count > 0) {
    *changed = true;
    write_out(p, out);
    ok = !out->failed ||
         aicr_fail(err, AICR_INTERNAL, "memory", "no memory to redact");
  }
  aicr_free(p->spans);
  aicr_free(p);
  return ok;
}
