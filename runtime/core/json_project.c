/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_project.h"

#include <string.h>

#include "core/json_internal.h"
#include "core/text.h"

static bool no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory", "out of memory");
}

static bool refuse(struct aicr_error *err, const char *path, size_t len,
                   const char *what)
{
  struct aicr_quoted q;

  return aicr_fail(err, AICR_INVALID_REQUEST, "field", "the path %s: %s",
                   aicr_quote(&q, path, len), what);
}

static struct aicr_json_field *new_field(const char *name, size_t len)
{
  struct aicr_json_field *f = aicr_calloc(1, sizeof(*f) + len + 1);

  if (f) {
    memcpy(f->name, name, len);
    f->len = len;
  }
  return f;
}

const struct aicr_json_field *
aicr_json_fields_member(const struct aicr_json_field *of, const char *name,
                        size_t len)
{
  const struct aicr_json_field *f = of->members;

  while (f && (f->len != len || memcmp(f->name, name, len) != 0))
    f = f->next;
  return f;
}

/* The path that is parsed. */
struct path {
  struct aicr_json_field *root;
  const char *text, *at, *end;
  struct aicr_error *err;
};

/* The node below `of`, made when it is not there. */
static struct aicr_json_field *below(struct path *p, struct aicr_json_field *of,
                                     const char *name, size_t len, bool each)
{
  struct aicr_json_field **place = each ? &of->element : &of->members;

  while (!each && *place &&
         ((*place)->len != len || memcmp((*place)->name, name, len) != 0))
    place = &(*place)->next;
  if (!*place) {
    *place = new_field(name, len);
    if (*place)
      (*place)->id = ++p->root->count;
    else
      no_memory(p->err);
  }
  return *place;
}

static bool is_plain(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '$';
}

static bool malformed(struct path *p, const char *what)
{
  return refuse(p->err, p->text, (size_t)(p->end - p->text), what);
}

/* [*], ["name"] or ['name']; p->at is behind the '['. */
static struct aicr_json_field *bracket(struct path *p,
                                       struct aicr_json_field *of)
{
  size_t left = (size_t)(p->end - p->at);
  const char *name, *close = NULL;

  if (left >= 2 && p->at[0] == '*' && p->at[1] == ']') {
    p->at += 2;
    return below(p, of, "", 0, true);
  }
  name = p->at + (left > 0);
  if (left > 0 && (*p->at == '"' || *p->at == '\''))
    close = memchr(name, *p->at, left - 1);
  if (!close || close == name || close + 1 == p->end || close[1] != ']') {
    malformed(p, "after '[' there must be *] or a name in quotes and ]");
    return NULL;
  }
  p->at = close + 2;
  return below(p, of, name, (size_t)(close - name), false);
}

static struct aicr_json_field *plain(struct path *p, struct aicr_json_field *of)
{
  const char *name = p->at;

  while (p->at < p->end && is_plain(*p->at))
    p->at++;
  if (p->at == name) {
    malformed(p, "a name is missing, or needs quotes: [\"NAME\"]");
    return NULL;
  }
  return below(p, of, name, (size_t)(p->at - name), false);
}

static bool parse(struct path *p)
{
  struct aicr_json_field *f = p->root;

  for (unsigned depth = 0; f && (depth == 0 || p->at < p->end); depth++) {
    if (depth == AICR_FIELD_DEPTH)
      return malformed(p, "more than 32 names");
    if (p->at < p->end && *p->at == '[') {
      p->at++;
      f = bracket(p, f);
      continue;
    }
    if (depth > 0 && *p->at++ != '.')
      return malformed(p, "after a name there must be '.' or '['");
    f = plain(p, f);
  }
  if (f)
    f->whole = true;
  return f != NULL;
}

bool aicr_json_fields_add(struct aicr_json_field **fields, const char *path,
                          size_t len, struct aicr_error *err)
{
  struct path p = {NULL, path, path, path + len, err};

  if (len > AICR_FIELD_BYTES_MAX)
    return refuse(err, path, 64, "over 1024 bytes");
  if (!*fields)
    *fields = new_field("", 0);
  p.root = *fields;
  return p.root ? parse(&p) : no_memory(err);
}

void aicr_json_fields_free(struct aicr_json_field *fields)
{
  while (fields) {
    struct aicr_json_field *next = fields->next;

    aicr_json_fields_free(fields->members);
    aicr_json_fields_free(fields->element);
    aicr_free(fields);
    fields = next;
  }
}

struct projection {
  struct aicr_json_reader reader;
  struct aicr_buf *out;
};

/* Behind the value whose first token was read; false after an error. */
static bool skip(struct projection *p, enum aicr_json_token token)
{
  if (token == AICR_JSON_OBJECT_BEGIN || token == AICR_JSON_ARRAY_BEGIN)
    token = aicr_json_skip(&p->reader, p->reader.depth - 1);
  return token != AICR_JSON_ERROR;
}

/* Behind the value of the member whose key was read. */
static bool skip_member(struct projection *p)
{
  enum aicr_json_token token;

  p->reader.discard = true;
  token = aicr_json_next(&p->reader);
  p->reader.discard = false;
  return skip(p, token);
}

/* Appends what was read since `from`. */
static void take(struct projection *p, size_t from)
{
  aicr_buf_add(p->out, p->reader.chunk + from, p->reader.chunk_pos - from);
}

static bool project(struct projection *p, const struct aicr_json_field *f,
                    enum aicr_json_token token);

/* A member; the key was read. `first` is false once one was taken. */
static bool project_member(struct projection *p,
                           const struct aicr_json_field *of, bool *first)
{
  struct aicr_json_reader *r = &p->reader;
  const struct aicr_json_field *f =
      aicr_json_fields_member(of, r->text, r->text_len);

  if (!f)
    return skip_member(p);
  if (!*first)
    aicr_buf_addc(p->out, ',');
  *first = false;
  take(p, r->token_pos);
  aicr_buf_addc(p->out, ':');
  return project(p, f, aicr_json_next(r));
}

static bool project_object(struct projection *p,
                           const struct aicr_json_field *f)
{
  bool first = true;
  enum aicr_json_token token;

  aicr_buf_addc(p->out, '{');
  for (;;) {
    token = aicr_json_next(&p->reader);
    if (token != AICR_JSON_KEY)
      break;
    if (!project_member(p, f, &first))
      return false;
  }
  aicr_buf_addc(p->out, '}');
  return token == AICR_JSON_OBJECT_END;
}

static bool project_array(struct projection *p, const struct aicr_json_field *f)
{
  bool first = true;

  aicr_buf_addc(p->out, '[');
  for (;;) {
    enum aicr_json_token token = aicr_json_next(&p->reader);

    if (token == AICR_JSON_ARRAY_END)
      break;
    if (!first)
      aicr_buf_addc(p->out, ',');
    first = false;
    if (!project(p, f, token))
      return false;
  }
  aicr_buf_addc(p->out, ']');
  return true;
}

/* The value whose first token was read. The recursion is as deep as a path. */
static bool project(struct projection *p, const struct aicr_json_field *f,
                    enum aicr_json_token token)
{
  size_t from = p->reader.token_pos;

  if (!f->whole && f->members && token == AICR_JSON_OBJECT_BEGIN)
    return project_object(p, f);
  if (!f->whole && f->element && token == AICR_JSON_ARRAY_BEGIN)
    return project_array(p, f->element);
  if (!skip(p, token))
    return false;
  take(p, from);
  return true;
}

bool aicr_json_project(const struct aicr_json_field *fields, const char *text,
                       size_t len, struct aicr_buf *out, struct aicr_error *err)
{
  struct projection p = {.out = out};
  bool ok;

  aicr_json_init(&p.reader, AICR_JSON_STRICT, AICR_JSON_DEPTH);
  aicr_json_feed(&p.reader, text, len);
  aicr_json_finish(&p.reader);
  ok = project(&p, fields, aicr_json_next(&p.reader)) &&
       aicr_json_next(&p.reader) == AICR_JSON_END;
  if (!ok)
    *err = p.reader.error;
  aicr_json_free(&p.reader);
  if (!ok || !out->failed)
    return ok;
  if (out->no_memory)
    return no_memory(err);
  return aicr_fail(err, AICR_INVALID_REQUEST, "too-large",
                   "the wanted fields are over %zu bytes", out->max);
}
