/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/selector.h"

#include <string.h>

#include "core/buffer.h"
#include "core/text.h"
#include "kube/json_tree.h"

#define TEXT_MAX  8192u
#define TERMS_MAX 64u

enum op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_ABSENT };

struct term {
  enum op op;
  char *key;
  char **values;
  size_t value_count;
};

struct kube_selector {
  bool labels;
  struct term terms[TERMS_MAX];
  size_t count;
};

static bool no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a selector");
}

static bool bad(struct aicr_error *err, const char *text, const char *why)
{
  struct aicr_quoted q;
  return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                   "unable to parse the selector %s: %s",
                   aicr_quote(&q, text, strlen(text)), why);
}

void kube_selector_free(struct kube_selector *s)
{
  if (s == NULL) {
    return;
  }
  for (size_t i = 0; i < s->count; i++) {
    struct term *t = &s->terms[i];
    for (size_t v = 0; v < t->value_count; v++) {
      aicr_free(t->values[v]);
    }
    aicr_free(t->values);
    aicr_free(t->key);
  }
  aicr_free(s);
}

static struct term *add_term(struct kube_selector *s, const char *key,
                             size_t len, enum op op, const char *text,
                             struct aicr_error *err)
{
  if (s->count == TERMS_MAX) {
    bad(err, text, "more than 64 requirements");
    return NULL;
  }
  struct term *t = &s->terms[s->count];
  t->op = op;
  t->key = aicr_strndup(key, len);
  if (t->key == NULL) {
    no_memory(err);
    return NULL;
  }
  s->count++;
  return t;
}

static bool add_value(struct term *t, const char *value, size_t len,
                      struct aicr_error *err)
{
  char *copy = aicr_strndup(value, len);
  char **grown =
      copy == NULL
          ? NULL
          : aicr_realloc(t->values, (t->value_count + 1) * sizeof *grown);
  if (grown == NULL) {
    aicr_free(copy);
    return no_memory(err);
  }
  t->values = grown;
  t->values[t->value_count++] = copy;
  return true;
}

static bool alnum(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

/* A label's value or the name in its key: at most 63 of [A-Za-z0-9._-],
 * letters or digits at both ends. */
static bool is_word(const char *text, size_t len)
{
  if (len == 0 || len > 63) {
    return false;
  }
  for (size_t i = 0; i < len; i++) {
    if (!alnum(text[i]) && strchr("._-", text[i]) == NULL) {
      return false;
    }
  }
  return alnum(text[0]) && alnum(text[len - 1]);
}

static bool is_prefix(const char *text, size_t len)
{
  if (len == 0 || len > 253) {
    return false;
  }
  for (size_t i = 0; i < len; i++) {
    bool lower = alnum(text[i]) && !(text[i] >= 'A' && text[i] <= 'Z');
    if (!lower && text[i] != '.' && text[i] != '-') {
      return false;
    }
  }
  return true;
}

static bool is_key(const char *text, size_t len)
{
  const char *slash = len == 0 ? NULL : memchr(text, '/', len);
  if (slash == NULL) {
    return is_word(text, len);
  }
  size_t n = (size_t)(slash - text);
  return is_prefix(text, n) && is_word(slash + 1, len - n - 1);
}

/* A scanner over the words and operators of a label selector. */
struct scan {
  const char *text, *p;
};

static void skip_space(struct scan *s)
{
  s->p += strspn(s->p, " \t\r\n");
}

static size_t word(struct scan *s, const char **out)
{
  skip_space(s);
  *out = s->p;
  size_t n = strcspn(s->p, " \t\r\n=!(),<>");
  s->p += n;
  return n;
}

static bool take(struct scan *s, const char *token)
{
  skip_space(s);
  size_t n = strlen(token);
  if (strncmp(s->p, token, n) != 0) {
    return false;
  }
  s->p += n;
  return true;
}

static bool label_value(struct term *t, const char *value, size_t len,
                        const char *text, struct aicr_error *err)
{
  if (len > 0 && !is_word(value, len)) {
    return bad(err, text, "a value is no label value");
  }
  return add_value(t, value, len, err);
}

/* "(a,b)"; an empty place is the empty value. */
static bool value_set(struct scan *s, struct term *t, struct aicr_error *err)
{
  if (!take(s, "(")) {
    return bad(err, s->text, "in and notin need values in parentheses");
  }
  do {
    const char *value = NULL;
    size_t len = word(s, &value);
    if (!label_value(t, value, len, s->text, err)) {
      return false;
    }
  } while (take(s, ","));
  return take(s, ")") || bad(err, s->text, "a ) is missing");
}

static bool single_value(struct scan *s, struct term *t, struct aicr_error *err)
{
  const char *value = NULL;
  size_t len = word(s, &value);
  return label_value(t, value, len, s->text, err);
}

static bool requirement(struct kube_selector *sel, struct scan *s,
                        struct aicr_error *err)
{
  const char *key = NULL, *name = NULL;
  bool absent = take(s, "!");
  size_t len = word(s, &key);
  if (!is_key(key, len)) {
    return bad(err, s->text, "a label's key is expected");
  }
  struct term *t =
      add_term(sel, key, len, absent ? OP_ABSENT : OP_EXISTS, s->text, err);
  if (t == NULL || absent) {
    return t != NULL;
  }
  if (take(s, "!=")) {
    t->op = OP_NOT_IN;
    return single_value(s, t, err);
  }
  if (take(s, "==") || take(s, "=")) {
    t->op = OP_IN;
    return single_value(s, t, err);
  }
  size_t n = word(s, &name);
  if (n == 0) {
    return true;
  }
  if (n == 2 && memcmp(name, "in", 2) == 0) {
    t->op = OP_IN;
    return value_set(s, t, err);
  }
  if (n == 5 && memcmp(name, "notin", 5) == 0) {
    t->op = OP_NOT_IN;
    return value_set(s, t, err);
  }
  return bad(err, s->text, "=, ==, !=, in or notin is expected after a key");
}

static struct kube_selector *begin(const char *text, bool labels,
                                   struct aicr_error *err)
{
  if (strlen(text) > TEXT_MAX) {
    bad(err, text, "it is longer than 8 KiB");
    return NULL;
  }
  struct kube_selector *sel = aicr_calloc(1, sizeof *sel);
  if (sel == NULL) {
    no_memory(err);
    return NULL;
  }
  sel->labels = labels;
  return sel;
}

struct kube_selector *kube_label_selector(const char *text,
                                          struct aicr_error *err)
{
  struct kube_selector *sel = begin(text, true, err);
  struct scan s = {text, text};
  if (sel == NULL) {
    return NULL;
  }
  skip_space(&s);
  if (*s.p == '\0') {
    return sel;
  }
  do {
    if (!requirement(sel, &s, err)) {
      goto fail;
    }
  } while (take(&s, ","));
  skip_space(&s);
  if (*s.p == '\0') {
    return sel;
  }
  bad(err, text, "a comma is expected between requirements");
fail:
  kube_selector_free(sel);
  return NULL;
}

/* The fields that the API server knows, and for which resource ("": all). Any
 * other is an error as the server's: an answer here that a live cluster refuses
 * would be no answer. */
static bool is_field(const struct kube_resource *r, const char *key)
{
  static const struct {
    const char *group, *plural, *field;
  } fields[] = {
      {"", "", "metadata.name"},
      {"", "", "metadata.namespace"},
      {"", "pods", "spec.nodeName"},
      {"", "pods", "status.phase"},
      {"", "namespaces", "status.phase"},
      {"", "secrets", "type"},
      {"", "events", "type"},
      {"", "events", "reason"},
      {"", "events", "involvedObject.kind"},
      {"", "events", "involvedObject.namespace"},
      {"", "events", "involvedObject.name"},
      {"", "events", "involvedObject.uid"},
      {"", "events", "involvedObject.apiVersion"},
      {"", "events", "involvedObject.resourceVersion"},
      {"", "events", "involvedObject.fieldPath"},
  };
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    bool all = fields[i].plural[0] == '\0';
    if (strcmp(fields[i].field, key) == 0 &&
        (all || (strcmp(fields[i].group, r->group) == 0 &&
                 strcmp(fields[i].plural, r->plural) == 0))) {
      return true;
    }
  }
  return false;
}

/* The value up to the next comma; \, \= \\ stand for themselves. */
static bool field_value(struct scan *s, struct term *t, struct aicr_error *err)
{
  struct aicr_buf value;
  bool ok = true;
  aicr_buf_init(&value, TEXT_MAX);
  for (; ok && *s->p != '\0' && *s->p != ','; s->p++) {
    if (*s->p == '\\') {
      s->p++;
      ok = *s->p == ',' || *s->p == '=' || *s->p == '\\';
    } else if (*s->p == '=') {
      ok = false;
    }
    if (!ok) {
      bad(err, s->text, "a value's = and , and \\ need a \\ before them");
      break;
    }
    ok = aicr_buf_addc(&value, *s->p) || no_memory(err);
  }
  ok = ok && add_value(t, value.data == NULL ? "" : value.data, value.len, err);
  aicr_buf_free(&value);
  return ok;
}

static bool field_requirement(struct kube_selector *sel, struct scan *s,
                              const struct kube_resource *r,
                              struct aicr_error *err)
{
  size_t len = strcspn(s->p, "=!,");
  struct term *t = add_term(sel, s->p, len, OP_IN, s->text, err);
  if (t == NULL) {
    return false;
  }
  s->p += len;
  if (strncmp(s->p, "!=", 2) == 0) {
    t->op = OP_NOT_IN;
    s->p += 2;
  } else if (*s->p == '=') {
    s->p += s->p[1] == '=' ? 2 : 1;
  } else {
    return bad(err, s->text, "=, == or != is expected after a field");
  }
  struct aicr_quoted q;
  return is_field(r, t->key)
             ? field_value(s, t, err)
             : aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                         "field label not supported: %s",
                         aicr_quote(&q, t->key, strlen(t->key)));
}

struct kube_selector *kube_field_selector(const char *text,
                                          const struct kube_resource *r,
                                          struct aicr_error *err)
{
  struct kube_selector *sel = begin(text, false, err);
  struct scan s = {text, text};
  while (sel != NULL && *s.p != '\0') {
    if (!field_requirement(sel, &s, r, err)) {
      kube_selector_free(sel);
      return NULL;
    }
    s.p += *s.p == ',' ? 1 : 0;
  }
  return sel;
}

/* The text at a path such as involvedObject.name, "" when there is none. */
static const char *field_of(const cJSON *object, const char *path)
{
  char step[32];
  const char *dot = strchr(path, '.');
  if (dot == NULL) {
    return kube_json_text(object, path);
  }
  size_t len = (size_t)(dot - path);
  if (len >= sizeof step) {
    return "";
  }
  memcpy(step, path, len);
  step[len] = '\0';
  return kube_json_text(kube_json_member(object, step), dot + 1);
}

static bool has_value(const struct term *t, const char *value)
{
  for (size_t i = 0; value != NULL && i < t->value_count; i++) {
    if (strcmp(t->values[i], value) == 0) {
      return true;
    }
  }
  return false;
}

bool kube_selector_matches(const struct kube_selector *s, const cJSON *object)
{
  const cJSON *labels =
      kube_json_member(kube_json_member(object, "metadata"), "labels");
  for (size_t i = 0; i < s->count; i++) {
    const struct term *t = &s->terms[i];
    const char *value = NULL; /* NULL: the label is absent */
    if (!s->labels) {
      value = field_of(object, t->key);
    } else if (cJSON_IsString(kube_json_member(labels, t->key))) {
      value = kube_json_text(labels, t->key);
    }
    bool yes = t->op == OP_EXISTS   ? value != NULL
               : t->op == OP_ABSENT ? value == NULL
               : t->op == OP_IN     ? has_value(t, value)
                                    : !has_value(t, value);
    if (!yes) {
      return false;
    }
  }
  return true;
}
