/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of nodes to JSON text. */
#include "core/yaml.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_writer.h"
#include "core/text.h"
#include "core/yaml_internal.h"

#define MERGE_KEY "<<"

/* A member of a mapping that is being written. */
struct entry {
  const char *text; /* of the key; only while entries are sorted */
  uint32_t at, len; /* the same in doc->texts */
  uint32_t key, value;
  uint32_t position;
  bool merged, dropped;
};

struct writer {
  enum aicr_yaml_schema schema;
  struct aicr_yaml_document *doc;
  struct aicr_buf *json;
  struct aicr_buf one; /* a scalar's text */
  struct entry *entries;
  size_t entry_count, entry_cap;
  uint64_t budget; /* nodes that may still be visited */
  unsigned depth;
  struct aicr_error *err;
};

static bool check_utf8(const char *data, size_t len, struct aicr_error *err)
{
  unsigned line = 1;
  uint32_t cp;

  for (size_t i = 0, n; i < len; i += n) {
    n = aicr_utf8_decode(data + i, len - i, &cp);
    if (n == 0)
      return aicr_fail(err, AICR_INVALID_REQUEST, "malformed",
                       "line %u: the text is not valid UTF-8", line);
    if (cp == '\n')
      line++;
  }
  return true;
}

bool aicr_yaml_open(struct aicr_yaml *y, const char *data, size_t len,
                    enum aicr_yaml_schema schema, struct aicr_error *err)
{
  memset(y, 0, sizeof(*y));
  if (len > AICR_YAML_SIZE_MAX)
    return aicr_fail(err, AICR_INVALID_REQUEST, "malformed",
                     "the YAML text is %zu bytes long, more than %u", len,
                     AICR_YAML_SIZE_MAX);
  if (!check_utf8(data, len, err))
    return false;
  if (len >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) {
    data += 3;
    len -= 3;
  }
  y->data = len > 0 ? data : "";
  y->len = len;
  y->schema = schema;
  y->line = 1;
  return aicr_yaml_parser_open(y, err);
}

void aicr_yaml_close(struct aicr_yaml *y)
{
  aicr_yaml_parser_close(y);
}

static bool no_memory(struct writer *w)
{
  return aicr_fail(w->err, AICR_INTERNAL, "memory",
                   "out of memory reading YAML");
}

static bool bad(struct writer *w, const struct aicr_yaml_node *node,
                const char *reason, const char *what)
{
  return aicr_fail(w->err, AICR_INVALID_REQUEST, reason, "line %u: %s",
                   (unsigned)node->line, what);
}

static bool put(struct writer *w, const struct aicr_yaml_node *node,
                const char *data, size_t len)
{
  if (len > w->json->max - w->json->len)
    return bad(w, node, "too-large", "the document is too large");
  return aicr_buf_add(w->json, data, len) || no_memory(w);
}

static bool put_one(struct writer *w, const struct aicr_yaml_node *node)
{
  if (w->one.failed)
    return no_memory(w);
  return put(w, node, w->one.data, w->one.len);
}

static bool put_string(struct writer *w, const struct aicr_yaml_node *node,
                       uint32_t at, uint32_t len)
{
  aicr_buf_reset(&w->one);
  aicr_json_write_string(&w->one, w->doc->texts.data + at, len);
  return put_one(w, node);
}

static bool spend(struct writer *w, const struct aicr_yaml_node *node)
{
  if (w->budget == 0)
    return bad(w, node, "alias-bomb", "aliases expand to too many values");
  w->budget--;
  return true;
}

static bool enter(struct writer *w, const struct aicr_yaml_node *node)
{
  if (w->depth == AICR_YAML_DEPTH)
    return bad(w, node, "too-deep", "aliases nest too deep");
  w->depth++;
  return true;
}

/* The node that an alias stands for. */
static uint32_t follow(const struct writer *w, uint32_t i)
{
  const struct aicr_yaml_node *node = &w->doc->nodes[i];

  return node->kind == AICR_YAML_ALIAS ? node->target : i;
}

/* Makes *value what the tag says. */
static bool apply_tag(uint8_t tag, struct aicr_yaml_value *value)
{
  bool integer = value->is == AICR_RESOLVED_INTEGER;
  bool natural = value->is == AICR_RESOLVED_NATURAL;

  switch (tag) {
  case AICR_TAG_INT:
    return integer || natural;
  case AICR_TAG_FLOAT:
    if (integer)
      value->number = (double)value->integer;
    else if (natural)
      value->number = (double)value->natural;
    else
      return value->is == AICR_RESOLVED_DOUBLE;
    value->is = AICR_RESOLVED_DOUBLE;
    return true;
  case AICR_TAG_BOOL:
    return value->is == AICR_RESOLVED_TRUE || value->is == AICR_RESOLVED_FALSE;
  case AICR_TAG_NULL:
    return value->is == AICR_RESOLVED_NULL;
  default:
    return true;
  }
}

static bool resolve(struct writer *w, const struct aicr_yaml_node *node,
                    struct aicr_yaml_value *value)
{
  const char *text = w->doc->texts.data + node->text;
  struct aicr_quoted q;

  value->is = AICR_RESOLVED_STRING;
  if (node->tag == AICR_TAG_STR || node->tag == AICR_TAG_MERGE ||
      (node->tag == AICR_TAG_NONE && !node->plain))
    return true;
  aicr_yaml_resolve(w->schema, text, node->len, value);
  if (apply_tag(node->tag, value))
    return true;
  return aicr_fail(w->err, AICR_INVALID_REQUEST, "malformed",
                   "line %u: %s is not what its tag says", (unsigned)node->line,
                   aicr_quote(&q, text, node->len));
}

/* Go writes 1e3 as 1000, which the cluster then takes for an integer. */
static bool is_integral(const struct writer *w, double number)
{
  const double exact = 9007199254740992.0;

  return w->schema == AICR_YAML_KUBERNETES && fabs(number) <= exact &&
         floor(number) == number;
}

static bool write_scalar(struct writer *w, const struct aicr_yaml_node *node)
{
  struct aicr_yaml_value value;

  if (!resolve(w, node, &value))
    return false;
  aicr_buf_reset(&w->one);
  switch (value.is) {
  case AICR_RESOLVED_NULL:
    aicr_buf_adds(&w->one, "null");
    break;
  case AICR_RESOLVED_TRUE:
    aicr_buf_adds(&w->one, "true");
    break;
  case AICR_RESOLVED_FALSE:
    aicr_buf_adds(&w->one, "false");
    break;
  case AICR_RESOLVED_INTEGER:
    aicr_json_write_integer(&w->one, value.integer);
    break;
  case AICR_RESOLVED_NATURAL:
    aicr_buf_addf(&w->one, "%" PRIu64, value.natural);
    break;
  case AICR_RESOLVED_DOUBLE:
    if (is_integral(w, value.number))
      aicr_json_write_integer(&w->one, (int64_t)value.number);
    else
      aicr_json_write_double(&w->one, value.number);
    break;
  default:
    return put_string(w, node, node->text, node->len);
  }
  return put_one(w, node);
}

/* Adds a text that the document does not hold. */
static bool add_text(struct writer *w, const char *text, struct entry *e)
{
  e->at = (uint32_t)w->doc->texts.len;
  e->len = (uint32_t)strlen(text);
  return aicr_buf_add(&w->doc->texts, text, e->len + 1) || no_memory(w);
}

/* The text of a key: as it is written; in the Kubernetes schema integers and
 * booleans as Go prints them. */
static bool key_text(struct writer *w, struct entry *e)
{
  const struct aicr_yaml_node *node = &w->doc->nodes[e->key];
  struct aicr_yaml_value value;
  char text[32];

  if (node->kind != AICR_YAML_SCALAR)
    return bad(w, node, "malformed", "a key is not a scalar");
  if (!resolve(w, node, &value))
    return false;
  e->at = node->text;
  e->len = node->len;
  if (w->schema == AICR_YAML_RECIPE)
    return true;
  switch (value.is) {
  case AICR_RESOLVED_NULL:
    return bad(w, node, "malformed", "a key is null");
  case AICR_RESOLVED_TRUE:
    return add_text(w, "true", e);
  case AICR_RESOLVED_FALSE:
    return add_text(w, "false", e);
  case AICR_RESOLVED_INTEGER:
    snprintf(text, sizeof(text), "%" PRId64, value.integer);
    return add_text(w, text, e);
  case AICR_RESOLVED_NATURAL:
    snprintf(text, sizeof(text), "%" PRIu64, value.natural);
    return add_text(w, text, e);
  default:
    return true;
  }
}

static bool is_merge_key(const struct writer *w,
                         const struct aicr_yaml_node *node)
{
  if (node->kind != AICR_YAML_SCALAR)
    return false;
  return node->tag == AICR_TAG_MERGE ||
         (node->tag == AICR_TAG_NONE && node->plain &&
          node->len == strlen(MERGE_KEY) &&
          memcmp(w->doc->texts.data + node->text, MERGE_KEY, node->len) == 0);
}

static bool add_entry(struct writer *w, uint32_t key, uint32_t value,
                      bool merged, size_t first)
{
  struct entry *e, *entries;

  entries = aicr_grow(w->entries, &w->entry_cap, w->entry_count, sizeof(*e));
  if (!entries)
    return no_memory(w);
  w->entries = entries;
  e = &w->entries[w->entry_count];
  memset(e, 0, sizeof(*e));
  e->key = key;
  e->value = value;
  e->merged = merged;
  e->position = (uint32_t)(w->entry_count - first);
  w->entry_count++;
  return key_text(w, e);
}

static bool gather(struct writer *w, uint32_t mapping, bool merged,
                   size_t first);

/* The value of a merge key: a mapping or a sequence of mappings. */
static bool merge(struct writer *w, uint32_t value, size_t first)
{
  const struct aicr_yaml_node *nodes = w->doc->nodes;
  uint32_t i = follow(w, value);

  if (nodes[i].kind == AICR_YAML_MAPPING)
    return gather(w, i, true, first);
  if (nodes[i].kind != AICR_YAML_SEQUENCE)
    return bad(w, &nodes[value], "malformed", "only mappings can be merged");
  for (uint32_t item = i + 1; item < nodes[i].end; item = nodes[item].end) {
    uint32_t target = follow(w, item);

    if (!spend(w, &nodes[item]))
      return false;
    if (nodes[target].kind != AICR_YAML_MAPPING)
      return bad(w, &nodes[item], "malformed", "only mappings can be merged");
    if (!gather(w, target, true, first))
      return false;
  }
  return true;
}

/* Adds the members of a mapping, those of merged mappings behind its own. */
static bool gather(struct writer *w, uint32_t mapping, bool merged,
                   size_t first)
{
  const struct aicr_yaml_node *nodes = w->doc->nodes;
  uint32_t end = nodes[mapping].end;
  bool merges = false;

  if (!enter(w, &nodes[mapping]))
    return false;
  for (uint32_t i = mapping + 1, value; i < end; i = nodes[value].end) {
    uint32_t key = follow(w, i);

    value = nodes[i].end;
    if (!spend(w, &nodes[i]))
      return false;
    if (is_merge_key(w, &nodes[key])) {
      if (merges && w->schema == AICR_YAML_RECIPE)
        return bad(w, &nodes[i], "duplicate-key", "a second merge key \"<<\"");
      merges = true;
    } else if (!add_entry(w, key, value, merged, first))
      return false;
  }
  for (uint32_t i = mapping + 1, value; merges && i < end;
       i = nodes[value].end) {
    value = nodes[i].end;
    if (is_merge_key(w, &nodes[follow(w, i)]) && !merge(w, value, first))
      return false;
  }
  w->depth--;
  return true;
}

static int compare_u32(uint32_t a, uint32_t b)
{
  return (a > b) - (a < b);
}

/* By key; of equal keys the one that stands comes first: a mapping's own
 * before merged ones, the last of its own, the first of merged ones. */
static int by_key(const void *left, const void *right)
{
  const struct entry *a = left, *b = right;
  int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

  if (order == 0)
    order = compare_u32(a->len, b->len);
  if (order == 0)
    order = (int)a->merged - (int)b->merged;
  if (order == 0 && a->merged)
    return compare_u32(a->position, b->position);
  return order != 0 ? order : compare_u32(b->position, a->position);
}

static int by_position(const void *left, const void *right)
{
  return compare_u32(((const struct entry *)left)->position,
                     ((const struct entry *)right)->position);
}

static bool repeated(struct writer *w, const struct entry *second,
                     const struct entry *first)
{
  const struct aicr_yaml_node *nodes = w->doc->nodes;
  struct aicr_quoted q;

  return aicr_fail(w->err, AICR_INVALID_REQUEST, "duplicate-key",
                   "line %u: the key %s is already on line %u",
                   (unsigned)nodes[second->key].line,
                   aicr_quote(&q, second->text, second->len),
                   (unsigned)nodes[first->key].line);
}

/* Marks the entries that another one of the same key overrules. */
static bool drop_repeated(struct writer *w, struct entry *entries, size_t count)
{
  for (size_t i = 0; i < count; i++)
    entries[i].text = w->doc->texts.data + entries[i].at;
  qsort(entries, count, sizeof(*entries), by_key);
  for (size_t i = 1; i < count; i++) {
    const struct entry *before = &entries[i - 1];

    if (entries[i].len != before->len ||
        memcmp(entries[i].text, before->text, before->len) != 0)
      continue;
    if (w->schema == AICR_YAML_RECIPE && !entries[i].merged)
      return repeated(w, before, &entries[i]);
    entries[i].dropped = true;
  }
  qsort(entries, count, sizeof(*entries), by_position);
  return true;
}

static bool write_node(struct writer *w, uint32_t i);

static bool write_mapping(struct writer *w, uint32_t mapping)
{
  const struct aicr_yaml_node *node = &w->doc->nodes[mapping];
  size_t first = w->entry_count, end;
  size_t texts = w->doc->texts.len;
  bool comma = false;

  if (!gather(w, mapping, false, first))
    return false;
  end = w->entry_count;
  if (end > first && !drop_repeated(w, w->entries + first, end - first))
    return false;
  if (!enter(w, node) || !put(w, node, "{", 1))
    return false;
  for (size_t i = first; i < end; i++) {
    /* A copy: what is written below may move the entries. */
    struct entry e = w->entries[i];

    if (e.dropped)
      continue;
    if ((comma && !put(w, node, ",", 1)) || !put_string(w, node, e.at, e.len) ||
        !put(w, node, ":", 1) || !write_node(w, e.value))
      return false;
    comma = true;
  }
  w->entry_count = first;
  w->doc->texts.len = texts;
  w->depth--;
  return put(w, node, "}", 1);
}

static bool write_sequence(struct writer *w, uint32_t sequence)
{
  const struct aicr_yaml_node *nodes = w->doc->nodes;
  const struct aicr_yaml_node *node = &nodes[sequence];

  if (!enter(w, node) || !put(w, node, "[", 1))
    return false;
  for (uint32_t i = sequence + 1; i < node->end; i = nodes[i].end) {
    if (i > sequence + 1 && !put(w, node, ",", 1))
      return false;
    if (!write_node(w, i))
      return false;
  }
  w->depth--;
  return put(w, node, "]", 1);
}

static bool write_node(struct writer *w, uint32_t i)
{
  uint32_t target = follow(w, i);
  const struct aicr_yaml_node *node = &w->doc->nodes[target];

  if (!spend(w, &w->doc->nodes[i]))
    return false;
  switch (node->kind) {
  case AICR_YAML_SEQUENCE:
    return write_sequence(w, target);
  case AICR_YAML_MAPPING:
    return write_mapping(w, target);
  default:
    return write_scalar(w, node);
  }
}

static bool write_document(struct aicr_yaml *y, struct aicr_yaml_document *doc,
                           struct aicr_buf *json, struct aicr_error *err)
{
  struct writer w = {.schema = y->schema, .doc = doc, .json = json, .err = err};
  size_t before = json->len;
  bool ok;

  w.budget = (uint64_t)doc->count * AICR_YAML_ALIAS_FACTOR;
  aicr_buf_init(&w.one, SIZE_MAX);
  w.one.secret = y->secret;
  ok = write_node(&w, 0);
  if (!ok && !json->failed && json->data) {
    json->len = before;
    json->data[before] = '\0';
  }
  aicr_buf_free(&w.one);
  aicr_free(w.entries);
  return ok;
}

bool aicr_yaml_next(struct aicr_yaml *y, struct aicr_buf *json, bool *end,
                    struct aicr_error *err)
{
  struct aicr_yaml_document doc;
  bool ok;

  if (!y->parser)
    return aicr_fail(err, AICR_INVALID_REQUEST, "malformed",
                     "line %u: nothing is read after an error", y->line);
  ok = aicr_yaml_load(y, &doc, end, err);
  if (ok && !*end) {
    y->documents++;
    ok = write_document(y, &doc, json, err);
  }
  aicr_yaml_document_free(&doc);
  /* libyaml takes the end of a text that it gave up for its good end. */
  if (!ok)
    aicr_yaml_parser_close(y);
  return ok;
}
