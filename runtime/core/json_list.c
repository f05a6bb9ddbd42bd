/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_list.h"

#include <string.h>

#include "core/json_internal.h"

enum {
  AT_START,
  IN_LIST, /* between members */
  IN_METADATA,
  AT_VALUE, /* of the member `key` */
  AT_METADATA_VALUE,
  SKIP_VALUE,
  SKIP_METADATA_VALUE,
  IN_ITEMS, /* between items */
  IN_ITEM,
  AFTER_LIST
};

enum {
  KEY_OTHER,
  KEY_ITEMS,
  KEY_KIND,
  KEY_API_VERSION,
  KEY_METADATA,
  KEY_RESOURCE_VERSION,
  KEY_CONTINUE,
  KEY_REMAINING,
  KEY_NAME,
  KEY_NAMESPACE
};

/* Containers that are open between items: the list and "items". */
#define DEPTH_OF_ITEMS 2
/* … in an item, in its metadata */
#define DEPTH_OF_ITEM     3
#define DEPTH_OF_METADATA 4

void aicr_json_list_init(struct aicr_json_list *l)
{
  memset(l, 0, sizeof(*l));
  aicr_json_init(&l->reader, AICR_JSON_STRICT, AICR_JSON_DEPTH);
  aicr_buf_init(&l->raw, AICR_LIST_ITEM_MAX);
  l->state = AT_START;
}

void aicr_json_list_free(struct aicr_json_list *l)
{
  aicr_json_free(&l->reader);
  aicr_buf_free(&l->raw);
  aicr_free(l->next_page);
  l->next_page = NULL;
}

static bool reject(struct aicr_json_list *l, const char *what)
{
  aicr_json_reject(&l->reader, AICR_INVALID_REQUEST, "malformed", what);
  return false;
}

static bool no_memory(struct aicr_json_list *l)
{
  aicr_json_reject(&l->reader, AICR_INTERNAL, "memory", "out of memory");
  return false;
}

static bool text_is(const struct aicr_json_reader *r, const char *word)
{
  size_t len = strlen(word);

  return r->text_len == len && memcmp(r->text, word, len) == 0;
}

static unsigned member(const struct aicr_json_reader *r)
{
  if (text_is(r, "items"))
    return KEY_ITEMS;
  if (text_is(r, "kind"))
    return KEY_KIND;
  if (text_is(r, "apiVersion"))
    return KEY_API_VERSION;
  if (text_is(r, "metadata"))
    return KEY_METADATA;
  return KEY_OTHER;
}

static unsigned metadata_member(const struct aicr_json_reader *r)
{
  if (text_is(r, "resourceVersion"))
    return KEY_RESOURCE_VERSION;
  if (text_is(r, "continue"))
    return KEY_CONTINUE;
  if (text_is(r, "remainingItemCount"))
    return KEY_REMAINING;
  return KEY_OTHER;
}

/* A member that must be a string; null leaves it as it was. */
static bool take_text(struct aicr_json_list *l, enum aicr_json_token token,
                      char *out, size_t size, const char *what)
{
  const struct aicr_json_reader *r = &l->reader;

  if (token == AICR_JSON_NULL)
    return true;
  if (token != AICR_JSON_STRING || r->text_len >= size ||
      memchr(r->text, '\0', r->text_len))
    return reject(l, what);
  memcpy(out, r->text, r->text_len);
  out[r->text_len] = '\0';
  return true;
}

static bool take_continue(struct aicr_json_list *l, enum aicr_json_token token)
{
  const struct aicr_json_reader *r = &l->reader;

  if (token == AICR_JSON_NULL)
    return true;
  if (token != AICR_JSON_STRING || memchr(r->text, '\0', r->text_len))
    return reject(l, "metadata.continue is not a text");
  aicr_free(l->next_page);
  l->next_page = NULL;
  if (r->text_len == 0)
    return true;
  l->next_page = aicr_strndup(r->text, r->text_len);
  return l->next_page || no_memory(l);
}

static bool take_remaining(struct aicr_json_list *l, enum aicr_json_token token)
{
  l->remaining = token == AICR_JSON_INTEGER ? l->reader.integer : 0;
  return token == AICR_JSON_INTEGER || token == AICR_JSON_NULL ||
         reject(l, "metadata.remainingItemCount is not an integer");
}

static bool take_items(struct aicr_json_list *l, enum aicr_json_token token)
{
  /* What was delivered cannot be taken back, as "the last one wins" would
   * need. */
  if (l->has_items)
    return reject(l, "the list has \"items\" twice");
  l->has_items = true;
  if (token == AICR_JSON_ARRAY_BEGIN)
    l->state = IN_ITEMS;
  else if (token != AICR_JSON_NULL)
    return reject(l, "\"items\" is not an array");
  return true;
}

static bool is_begin(enum aicr_json_token token)
{
  return token == AICR_JSON_OBJECT_BEGIN || token == AICR_JSON_ARRAY_BEGIN;
}

static bool take_value(struct aicr_json_list *l, enum aicr_json_token token)
{
  l->state = IN_LIST;
  switch (l->key) {
  case KEY_ITEMS:
    return take_items(l, token);
  case KEY_KIND:
    return take_text(l, token, l->kind, sizeof(l->kind),
                     "\"kind\" is not a text of at most 127 bytes");
  case KEY_API_VERSION:
    return take_text(l, token, l->api_version, sizeof(l->api_version),
                     "\"apiVersion\" is not a text of at most 191 bytes");
  case KEY_METADATA:
    if (token == AICR_JSON_OBJECT_BEGIN)
      l->state = IN_METADATA;
    else if (token != AICR_JSON_NULL)
      return reject(l, "\"metadata\" is not an object");
    return true;
  default:
    if (is_begin(token))
      l->state = SKIP_VALUE;
    return true;
  }
}

static bool take_metadata_value(struct aicr_json_list *l,
                                enum aicr_json_token token)
{
  l->state = IN_METADATA;
  switch (l->key) {
  case KEY_RESOURCE_VERSION:
    return take_text(
        l, token, l->resource_version, sizeof(l->resource_version),
        "metadata.resourceVersion is not a text of at most 63 bytes");
  case KEY_CONTINUE:
    return take_continue(l, token);
  case KEY_REMAINING:
    return take_remaining(l, token);
  default:
    if (is_begin(token))
      l->state = SKIP_METADATA_VALUE;
    return true;
  }
}

/* A token outside items. */
static bool take_token(struct aicr_json_list *l, enum aicr_json_token token)
{
  switch (l->state) {
  case AT_START:
    l->state = IN_LIST;
    return token == AICR_JSON_OBJECT_BEGIN ||
           reject(l, "a list is an object with \"items\"");
  case IN_LIST:
    l->state = token == AICR_JSON_KEY ? AT_VALUE : AFTER_LIST;
    if (token == AICR_JSON_KEY)
      l->key = member(&l->reader);
    return true;
  case IN_METADATA:
    l->state = token == AICR_JSON_KEY ? AT_METADATA_VALUE : IN_LIST;
    if (token == AICR_JSON_KEY)
      l->key = metadata_member(&l->reader);
    return true;
  case AT_VALUE:
    return take_value(l, token);
  case AT_METADATA_VALUE:
    return take_metadata_value(l, token);
  case SKIP_VALUE:
    if (l->reader.depth == 1)
      l->state = IN_LIST;
    return true;
  default:
    if (l->reader.depth == 2)
      l->state = IN_METADATA;
    return true;
  }
}

/* Keeps what the chunk holds of the item, up to chunk_pos. */
static bool keep(struct aicr_json_list *l)
{
  struct aicr_json_reader *r = &l->reader;
  size_t len = r->chunk_pos - r->raw_pos;

  if (len > AICR_LIST_ITEM_MAX - l->raw.len) {
    aicr_json_too_large(r, "an item over 16 MiB");
    return false;
  }
  if (!aicr_buf_add(&l->raw, r->chunk + r->raw_pos, len))
    return no_memory(l);
  r->raw_pos = r->chunk_pos;
  return true;
}

static bool complete(struct aicr_json_list *l)
{
  const struct aicr_json_reader *r = &l->reader;

  if (l->raw.len > 0) {
    if (!keep(l))
      return false;
    l->item = l->raw.data;
    l->item_len = l->raw.len;
  } else {
    /* The usual case costs no copy. */
    l->item = r->chunk + r->raw_pos;
    l->item_len = r->chunk_pos - r->raw_pos;
    if (l->item_len > AICR_LIST_ITEM_MAX) {
      aicr_json_too_large(&l->reader, "an item over 16 MiB");
      return false;
    }
  }
  l->state = IN_ITEMS;
  l->count++;
  return true;
}

static enum aicr_json_list_result need_more(struct aicr_json_list *l)
{
  struct aicr_json_reader *r = &l->reader;

  if (l->state == IN_ITEMS && r->lex == LEX_NONE)
    return AICR_LIST_MORE;
  if (l->state == IN_ITEMS && l->raw.len == 0)
    r->raw_pos = r->token_pos;
  if ((l->state == IN_ITEMS || l->state == IN_ITEM) && !keep(l))
    return AICR_LIST_ERROR;
  return AICR_LIST_MORE;
}

/* Where the text goes that a member of an item has; NULL: nowhere. */
static char *identity_slot(struct aicr_json_list *l, unsigned key, size_t *size)
{
  struct aicr_json_identity *id = &l->id;

  switch (key) {
  case KEY_KIND:
    *size = sizeof(id->kind);
    return id->kind;
  case KEY_API_VERSION:
    *size = sizeof(id->api_version);
    return id->api_version;
  case KEY_NAME:
    *size = sizeof(id->name);
    return id->name;
  case KEY_NAMESPACE:
    *size = sizeof(id->ns);
    return id->ns;
  default:
    return NULL;
  }
}

/* A repeated member takes the place of the one before. */
static void forget(struct aicr_json_list *l, unsigned key)
{
  size_t size;
  char *slot = identity_slot(l, key, &size);

  if (slot)
    slot[0] = '\0';
  if (key == KEY_METADATA) {
    l->id.name[0] = '\0';
    l->id.ns[0] = '\0';
  }
}

/* Are names and texts of this place taken, where the item is otherwise only
 * looked over? */
static bool takes_texts(const struct aicr_json_list *l)
{
  return l->reader.depth == DEPTH_OF_ITEM ||
         (l->reader.depth == DEPTH_OF_METADATA && l->in_metadata);
}

static unsigned item_member(const struct aicr_json_list *l)
{
  const struct aicr_json_reader *r = &l->reader;

  if (!l->in_metadata)
    return member(r);
  return text_is(r, "name")        ? KEY_NAME
         : text_is(r, "namespace") ? KEY_NAMESPACE
                                   : KEY_OTHER;
}

/* A token of an item. */
static bool take_identity(struct aicr_json_list *l, enum aicr_json_token token)
{
  const struct aicr_json_reader *r = &l->reader;
  size_t size = 0;
  char *slot;

  if (token == AICR_JSON_OBJECT_BEGIN && r->depth == DEPTH_OF_METADATA)
    l->in_metadata = l->item_key == KEY_METADATA;
  else if (r->depth < DEPTH_OF_METADATA)
    l->in_metadata = false;
  if (token == AICR_JSON_KEY && takes_texts(l)) {
    l->item_key = item_member(l);
    forget(l, l->item_key);
    return true;
  }
  slot = token == AICR_JSON_STRING && takes_texts(l)
             ? identity_slot(l, l->item_key, &size)
             : NULL;
  if (r->depth <= DEPTH_OF_METADATA && token != AICR_JSON_OBJECT_BEGIN)
    l->item_key = KEY_OTHER;
  return !slot || take_text(l, token, slot, size,
                            "kind, apiVersion, name or namespace of an item is "
                            "too long");
}

/* A token that begins an item; false when it ends the items. */
static bool begin_item(struct aicr_json_list *l, enum aicr_json_token token)
{
  struct aicr_json_reader *r = &l->reader;

  if (token == AICR_JSON_ARRAY_END && r->depth == DEPTH_OF_ITEMS - 1) {
    l->state = IN_LIST;
    return false;
  }
  if (l->raw.len == 0)
    r->raw_pos = r->token_pos;
  l->state = IN_ITEM;
  l->id = (struct aicr_json_identity){.kind = ""};
  l->item_key = KEY_OTHER;
  l->in_metadata = false;
  return true;
}

/* The next token that says something of the list or of what an item is; the
 * rest of an item is handed out as it stands. */
static enum aicr_json_token next_token(struct aicr_json_list *l)
{
  struct aicr_json_reader *r = &l->reader;

  if (l->state != IN_ITEM || takes_texts(l))
    return aicr_json_next(r);
  return aicr_json_skip(r, l->in_metadata ? DEPTH_OF_METADATA : DEPTH_OF_ITEM);
}

enum aicr_json_list_result aicr_json_list_next(struct aicr_json_list *l)
{
  struct aicr_json_reader *r = &l->reader;

  if (l->item) {
    l->item = NULL;
    l->item_len = 0;
    aicr_buf_reset(&l->raw);
  }
  for (;;) {
    enum aicr_json_token token = next_token(l);

    if (token == AICR_JSON_ERROR)
      return AICR_LIST_ERROR;
    if (token == AICR_JSON_END)
      return AICR_LIST_END;
    if (token == AICR_JSON_MORE)
      return need_more(l);
    if (l->state == IN_ITEMS && !begin_item(l, token))
      continue;
    if (l->state == IN_ITEM) {
      if (!take_identity(l, token))
        return AICR_LIST_ERROR;
      if (r->depth > DEPTH_OF_ITEMS)
        continue;
      return complete(l) ? AICR_LIST_ITEM : AICR_LIST_ERROR;
    }
    if (!take_token(l, token))
      return AICR_LIST_ERROR;
  }
}
