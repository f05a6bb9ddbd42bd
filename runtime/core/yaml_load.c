/* SPDX-License-Identifier: Apache-2.0 */
/* Events of libyaml to an array of nodes. Events, not libyaml's documents: a
 * text that nests too deep is given up at once, before libyaml spends time
 * that grows with the square of its depth. */
#include <assert.h>
#include <string.h>
#include <yaml.h>

#include "core/text.h"
#include "core/yaml_internal.h"

#define NODES_MAX     (8u << 20)
#define FIRST_ANCHORS 16

struct loader {
  struct aicr_yaml *y;
  struct aicr_yaml_document *doc;
  struct aicr_error *err;
  uint32_t open[AICR_YAML_DEPTH];
  unsigned depth;
};

static bool no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory", "out of memory reading YAML");
}

static bool bad(struct loader *l, const char *reason, const char *what)
{
  return aicr_fail(l->err, AICR_INVALID_REQUEST, reason, "line %u: %s",
                   l->y->line, what);
}

bool aicr_yaml_parser_open(struct aicr_yaml *y, struct aicr_error *err)
{
  yaml_parser_t *parser = aicr_calloc(1, sizeof(*parser));

  if (!parser)
    return no_memory(err);
  if (!yaml_parser_initialize(parser)) {
    aicr_free(parser);
    return no_memory(err);
  }
  /* Not left to libyaml, which would take a text for UTF-16. */
  yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(parser, (const unsigned char *)y->data, y->len);
  y->parser = parser;
  return true;
}

void aicr_yaml_parser_close(struct aicr_yaml *y)
{
  if (y->parser)
    yaml_parser_delete(y->parser);
  aicr_free(y->parser);
  y->parser = NULL;
}

static unsigned line_of_offset(const struct aicr_yaml *y, size_t offset)
{
  unsigned line = 1;

  for (size_t i = 0; i < offset && i < y->len; i++)
    if (y->data[i] == '\n')
      line++;
  return line;
}

static bool parser_error(struct loader *l)
{
  const yaml_parser_t *parser = l->y->parser;
  const char *problem = parser->problem ? parser->problem : "not YAML";

  if (parser->error == YAML_MEMORY_ERROR)
    return no_memory(l->err);
  if (parser->error == YAML_READER_ERROR)
    l->y->line = line_of_offset(l->y, parser->problem_offset);
  else
    l->y->line = (unsigned)parser->problem_mark.line + 1;
  if (!parser->context)
    return bad(l, "malformed", problem);
  return aicr_fail(l->err, AICR_INVALID_REQUEST, "malformed", "line %u: %s %s",
                   l->y->line, parser->context, problem);
}

static struct aicr_yaml_anchor *find_slot(struct aicr_yaml_document *doc,
                                          const char *name, size_t len)
{
  uint64_t hash = UINT64_C(14695981039346656037);
  size_t i;

  for (size_t j = 0; j < len; j++)
    hash = (hash ^ (unsigned char)name[j]) * UINT64_C(1099511628211);
  for (i = (size_t)hash & (doc->anchor_cap - 1); doc->anchors[i].used;
       i = (i + 1) & (doc->anchor_cap - 1)) {
    const struct aicr_yaml_anchor *a = &doc->anchors[i];

    if (a->len == len && memcmp(doc->texts.data + a->text, name, len) == 0)
      break;
  }
  return &doc->anchors[i];
}

static bool grow_anchors(struct aicr_yaml_document *doc)
{
  struct aicr_yaml_anchor *old = doc->anchors;
  size_t old_cap = doc->anchor_cap;
  size_t cap = old_cap ? old_cap * 2 : FIRST_ANCHORS;
  struct aicr_yaml_anchor *anchors = aicr_calloc(cap, sizeof(*anchors));

  if (!anchors)
    return false;
  doc->anchors = anchors;
  doc->anchor_cap = cap;
  for (size_t i = 0; i < old_cap; i++)
    if (old[i].used)
      *find_slot(doc, doc->texts.data + old[i].text, old[i].len) = old[i];
  aicr_free(old);
  return true;
}

/* Copies a text to doc->texts. */
static bool add_text(struct loader *l, const void *text, size_t len,
                     uint32_t *at)
{
  struct aicr_buf *texts = &l->doc->texts;

  *at = (uint32_t)texts->len;
  if (len > texts->max - texts->len)
    return bad(l, "too-large", "the document is too large");
  /* The NUL makes `data` something even if all texts are empty. */
  if (!aicr_buf_add(texts, text, len) || !aicr_buf_addc(texts, '\0'))
    return no_memory(l->err);
  return true;
}

static bool add_anchor(struct loader *l, const char *name, uint32_t node)
{
  struct aicr_yaml_document *doc = l->doc;
  size_t len = strlen(name);
  struct aicr_yaml_anchor *slot;

  if ((doc->anchor_count + 1) * 2 > doc->anchor_cap && !grow_anchors(doc))
    return no_memory(l->err);
  slot = find_slot(doc, name, len);
  if (!slot->used) {
    uint32_t text;

    if (!add_text(l, name, len, &text))
      return false;
    slot->text = text;
    slot->len = (uint32_t)len;
    slot->used = true;
    doc->anchor_count++;
  }
  slot->node = node;
  return true;
}

static bool read_tag(struct loader *l, const unsigned char *tag, uint8_t *out)
{
  static const struct {
    const char *name;
    enum aicr_yaml_tag tag;
  } known[] = {
      {"!", AICR_TAG_STR},
      {YAML_STR_TAG, AICR_TAG_STR},
      {YAML_TIMESTAMP_TAG, AICR_TAG_STR},
      {YAML_INT_TAG, AICR_TAG_INT},
      {YAML_FLOAT_TAG, AICR_TAG_FLOAT},
      {YAML_BOOL_TAG, AICR_TAG_BOOL},
      {YAML_NULL_TAG, AICR_TAG_NULL},
      {YAML_MAP_TAG, AICR_TAG_MAP},
      {YAML_SEQ_TAG, AICR_TAG_SEQ},
      {"tag:yaml.org,2002:merge", AICR_TAG_MERGE},
  };
  const char *text = (const char *)tag;
  struct aicr_quoted q;

  *out = AICR_TAG_NONE;
  if (!tag)
    return true;
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    if (strcmp(known[i].name, text) == 0) {
      *out = (uint8_t)known[i].tag;
      return true;
    }
  }
  return aicr_fail(l->err, AICR_INVALID_REQUEST, "malformed",
                   "line %u: unknown tag %s", l->y->line,
                   aicr_quote(&q, text, strlen(text)));
}

static bool add_node(struct loader *l, enum aicr_yaml_kind kind,
                     const unsigned char *tag, const unsigned char *anchor)
{
  struct aicr_yaml_document *doc = l->doc;
  struct aicr_yaml_node *node, *nodes;

  if (doc->count == NODES_MAX)
    return bad(l, "too-large", "the document has too many values");
  nodes = aicr_grow(doc->nodes, &doc->cap, doc->count, sizeof(*nodes));
  if (!nodes)
    return no_memory(l->err);
  doc->nodes = nodes;
  node = &doc->nodes[doc->count];
  memset(node, 0, sizeof(*node));
  node->kind = (uint8_t)kind;
  node->line = l->y->line;
  if (!read_tag(l, tag, &node->tag))
    return false;
  node->end = (uint32_t)++doc->count;
  return !anchor ||
         add_anchor(l, (const char *)anchor, (uint32_t)doc->count - 1);
}

static bool add_scalar(struct loader *l, const yaml_event_t *event)
{
  struct aicr_yaml_node *node;
  uint32_t text;

  if (!add_node(l, AICR_YAML_SCALAR, event->data.scalar.tag,
                event->data.scalar.anchor) ||
      !add_text(l, event->data.scalar.value, event->data.scalar.length, &text))
    return false;
  node = &l->doc->nodes[l->doc->count - 1];
  node->text = text;
  node->len = (uint32_t)event->data.scalar.length;
  node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (node->tag == AICR_TAG_MAP || node->tag == AICR_TAG_SEQ)
    return bad(l, "malformed", "a collection's tag on a scalar");
  return true;
}

static bool begin_collection(struct loader *l, enum aicr_yaml_kind kind,
                             const unsigned char *tag,
                             const unsigned char *anchor)
{
  struct aicr_yaml_node *node;
  uint8_t own = kind == AICR_YAML_MAPPING ? AICR_TAG_MAP : AICR_TAG_SEQ;

  if (l->depth == AICR_YAML_DEPTH)
    return bad(l, "too-deep", "nested too deep");
  if (!add_node(l, kind, tag, anchor))
    return false;
  node = &l->doc->nodes[l->doc->count - 1];
  if (tag && node->tag != own && strcmp((const char *)tag, "!") != 0)
    return bad(l, "malformed", "another type's tag on a collection");
  /* Until it ends, which makes an alias to it a cycle. */
  node->end = 0;
  l->open[l->depth++] = (uint32_t)l->doc->count - 1;
  return true;
}

static void end_collection(struct loader *l)
{
  assert(l->depth > 0);
  l->doc->nodes[l->open[--l->depth]].end = (uint32_t)l->doc->count;
}

static bool add_alias(struct loader *l, const unsigned char *anchor)
{
  struct aicr_yaml_document *doc = l->doc;
  const char *name = (const char *)anchor;
  const struct aicr_yaml_anchor *slot = NULL;
  struct aicr_quoted q;

  if (doc->anchor_cap > 0)
    slot = find_slot(doc, name, strlen(name));
  if (!slot || !slot->used)
    return aicr_fail(l->err, AICR_INVALID_REQUEST, "malformed",
                     "line %u: no anchor %s before this alias", l->y->line,
                     aicr_quote(&q, name, strlen(name)));
  if (doc->nodes[slot->node].end == 0)
    return aicr_fail(l->err, AICR_INVALID_REQUEST, "malformed",
                     "line %u: the alias %s is part of its own value",
                     l->y->line, aicr_quote(&q, name, strlen(name)));
  if (!add_node(l, AICR_YAML_ALIAS, NULL, NULL))
    return false;
  doc->nodes[doc->count - 1].target = slot->node;
  return true;
}

static bool take_event(struct loader *l, const yaml_event_t *event)
{
  l->y->line = (unsigned)event->start_mark.line + 1;
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    return add_scalar(l, event);
  case YAML_SEQUENCE_START_EVENT:
    return begin_collection(l, AICR_YAML_SEQUENCE,
                            event->data.sequence_start.tag,
                            event->data.sequence_start.anchor);
  case YAML_MAPPING_START_EVENT:
    return begin_collection(l, AICR_YAML_MAPPING, event->data.mapping_start.tag,
                            event->data.mapping_start.anchor);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    end_collection(l);
    return true;
  case YAML_ALIAS_EVENT:
    return add_alias(l, event->data.alias.anchor);
  default:
    return true;
  }
}

bool aicr_yaml_load(struct aicr_yaml *y, struct aicr_yaml_document *doc,
                    bool *end, struct aicr_error *err)
{
  struct loader l = {.y = y, .doc = doc, .err = err};
  yaml_event_type_t type;

  memset(doc, 0, sizeof(*doc));
  aicr_buf_init(&doc->texts, UINT32_MAX);
  doc->texts.secret = y->secret;
  do {
    yaml_event_t event;
    bool ok;

    if (!yaml_parser_parse(y->parser, &event))
      return parser_error(&l);
    type = event.type;
    ok = take_event(&l, &event);
    yaml_event_delete(&event);
    if (!ok)
      return false;
  } while (type != YAML_DOCUMENT_END_EVENT && type != YAML_STREAM_END_EVENT &&
           type != YAML_NO_EVENT);
  *end = type != YAML_DOCUMENT_END_EVENT;
  return true;
}

void aicr_yaml_document_free(struct aicr_yaml_document *doc)
{
  aicr_free(doc->nodes);
  aicr_free(doc->anchors);
  aicr_buf_free(&doc->texts);
  memset(doc, 0, sizeof(*doc));
}
