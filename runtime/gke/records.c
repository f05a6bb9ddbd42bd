/* SPDX-License-Identifier: Apache-2.0 */
#include "gke/records.h"

#include <string.h>

#include "core/json_reader.h"
#include "core/text.h"

bool gke_no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory", "out of memory");
}

bool gke_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
  return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

void gke_records_free(struct gke_records *r)
{
  for (size_t i = 0; i < r->count; i++)
    for (size_t f = 0; f < GKE_FIELDS_MAX; f++)
      aicr_free(r->items[i].field[f]);
  aicr_free(r->items);
  memset(r, 0, sizeof(*r));
}

/* Unicode simple folding onto ASCII: two letters fold from outside it. */
static uint32_t fold(uint32_t cp)
{
  if (cp == 0x017F)
    return 's';
  if (cp == 0x212A)
    return 'k';
  return cp >= 'A' && cp <= 'Z' ? cp + ('a' - 'A') : cp;
}

static bool key_matches(const char *key, size_t len, const char *field)
{
  while (len > 0 && *field) {
    uint32_t cp;
    size_t n = aicr_utf8_decode(key, len, &cp);

    if (n == 0 || fold(cp) != fold((unsigned char)*field))
      return false;
    key += n;
    len -= n;
    field++;
  }
  return len == 0 && !*field;
}

static const char *kind_of(enum aicr_json_token token)
{
  switch (token) {
  case AICR_JSON_OBJECT_BEGIN:
    return "an object";
  case AICR_JSON_ARRAY_BEGIN:
    return "a list";
  case AICR_JSON_STRING:
    return "a string";
  case AICR_JSON_TRUE:
  case AICR_JSON_FALSE:
    return "a boolean";
  default:
    return "a number";
  }
}

struct decoder {
  struct aicr_json_reader reader;
  const struct gke_shape *shape;
  struct gke_records *out;
  struct aicr_error *err;
};

static bool malformed(const struct decoder *d, const char *detail)
{
  return aicr_verdict(d->err, AICR_INVALID_REQUEST, d->shape->malformed,
                      "annotation %s is not valid JSON: %s",
                      d->shape->annotation, detail);
}

static bool wrong_type(const struct decoder *d, const char *field,
                       enum aicr_json_token token)
{
  if (!field)
    return aicr_verdict(d->err, AICR_INVALID_REQUEST, d->shape->malformed,
                        "annotation %s is not valid JSON of its type: entry "
                        "%zu is %s, wanted an object",
                        d->shape->annotation, d->out->count, kind_of(token));
  return aicr_verdict(d->err, AICR_INVALID_REQUEST, d->shape->malformed,
                      "annotation %s is not valid JSON of its type: entry "
                      "%zu: \"%s\" is %s, wanted a string",
                      d->shape->annotation, d->out->count - 1, field,
                      kind_of(token));
}

/* The reader failed: its error is the detail, but no memory is no verdict. */
static bool reader_failed(const struct decoder *d,
                          const struct aicr_error *error)
{
  if (error->code == AICR_INVALID_REQUEST)
    return malformed(d, error->message);
  if (d->err)
    *d->err = *error;
  return false;
}

static bool skip_value(struct decoder *d, enum aicr_json_token token)
{
  unsigned depth = d->reader.depth;

  if (token != AICR_JSON_OBJECT_BEGIN && token != AICR_JSON_ARRAY_BEGIN)
    return token != AICR_JSON_ERROR || reader_failed(d, &d->reader.error);
  while (d->reader.depth >= depth) {
    if (aicr_json_next(&d->reader) == AICR_JSON_ERROR)
      return reader_failed(d, &d->reader.error);
  }
  return true;
}

/* The value of a member whose key is the current token. */
static bool read_member(struct decoder *d, struct gke_record *record)
{
  const char *const *fields = d->shape->fields;
  size_t f = 0;
  enum aicr_json_token token;
  char *copy;

  while (fields[f] &&
         !key_matches(d->reader.text, d->reader.text_len, fields[f]))
    f++;
  token = aicr_json_next(&d->reader);
  if (!fields[f] || token == AICR_JSON_ERROR)
    return skip_value(d, token);
  if (token == AICR_JSON_NULL)
    return true;
  if (token != AICR_JSON_STRING)
    return wrong_type(d, fields[f], token);
  copy = aicr_strndup(d->reader.text, d->reader.text_len);
  if (!copy)
    return gke_no_memory(d->err);
  aicr_free(record->field[f]);
  record->field[f] = copy;
  record->len[f] = d->reader.text_len;
  return true;
}

static bool read_entry(struct decoder *d, enum aicr_json_token token)
{
  struct gke_records *out = d->out;
  struct gke_record *items, *record;

  if (token != AICR_JSON_NULL && token != AICR_JSON_OBJECT_BEGIN)
    return wrong_type(d, NULL, token);
  items = aicr_grow(out->items, &out->cap, out->count, sizeof(*items));
  if (!items)
    return gke_no_memory(d->err);
  out->items = items;
  record = &out->items[out->count++];
  memset(record, 0, sizeof(*record));
  if (token == AICR_JSON_NULL)
    return true;
  for (;;) {
    token = aicr_json_next(&d->reader);
    if (token == AICR_JSON_OBJECT_END)
      return true;
    if (token == AICR_JSON_ERROR)
      return reader_failed(d, &d->reader.error);
    if (!read_member(d, record))
      return false;
  }
}

static bool read_list(struct decoder *d)
{
  enum aicr_json_token token = aicr_json_next(&d->reader);

  if (token == AICR_JSON_NULL)
    return true;
  if (token == AICR_JSON_ERROR)
    return reader_failed(d, &d->reader.error);
  if (token != AICR_JSON_ARRAY_BEGIN)
    return aicr_verdict(d->err, AICR_INVALID_REQUEST, d->shape->malformed,
                        "annotation %s is not valid JSON of its type: it is "
                        "%s, wanted a list",
                        d->shape->annotation, kind_of(token));
  for (;;) {
    token = aicr_json_next(&d->reader);
    if (token == AICR_JSON_ARRAY_END)
      return true;
    if (token == AICR_JSON_ERROR)
      return reader_failed(d, &d->reader.error);
    if (!read_entry(d, token))
      return false;
  }
}

bool gke_records_decode(const char *text, size_t len,
                        const struct gke_shape *shape, struct gke_records *out,
                        struct aicr_error *err)
{
  struct decoder d = {.shape = shape, .out = out, .err = err};
  struct aicr_error syntax;
  bool ok;

  memset(out, 0, sizeof(*out));
  if (len > GKE_ANNOTATION_MAX)
    return malformed(&d, "it is over 256 KiB, more than an object may carry");
  /* A syntax error anywhere wins over a wrong type before it. */
  if (!aicr_json_check(text, len, AICR_JSON_GO, AICR_JSON_DEPTH_ANNOTATION,
                       &syntax))
    return reader_failed(&d, &syntax);
  aicr_json_init(&d.reader, AICR_JSON_GO, AICR_JSON_DEPTH_ANNOTATION);
  aicr_json_feed(&d.reader, text, len);
  aicr_json_finish(&d.reader);
  ok = read_list(&d);
  aicr_json_free(&d.reader);
  return ok;
}
