/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_JSON_LIST_H
#define AICR_CORE_JSON_LIST_H

#include "core/json_reader.h"

/* Cuts a Kubernetes list document into items, one at a time, never the whole
 * list in memory. Keys may come in any order ("items" before "metadata").
 * "items": null is an empty list. */

enum aicr_json_list_result {
  AICR_LIST_ERROR, /* list->reader.error */
  AICR_LIST_MORE,  /* feed the reader or finish it */
  AICR_LIST_ITEM,  /* item, item_len: the JSON text of one item */
  AICR_LIST_END    /* everything read; the siblings below are complete */
};

#define AICR_LIST_ITEM_MAX (16u << 20)

/* What an item says of itself; "" where it does not, or says no text. */
struct aicr_json_identity {
  char kind[128], api_version[192];
  char ns[64], name[254]; /* of its metadata */
};

struct aicr_json_list {
  struct aicr_json_reader reader; /* feed and finish this one */
  const char *item;               /* valid until the next call */
  size_t item_len;
  struct aicr_json_identity id; /* the same */

  /* siblings of "items"; "" when absent */
  char kind[128];
  char api_version[192];
  char resource_version[64];
  char *next_page;   /* metadata.continue, NULL when absent or "" */
  int64_t remaining; /* metadata.remainingItemCount, 0 when absent */
  bool has_items;    /* an "items" member was seen (an array or null) */
  size_t count;

  /* private */
  struct aicr_buf raw;
  unsigned state;
  unsigned key, item_key; /* the member whose value comes next */
  bool in_metadata;       /* of an item */
};

void aicr_json_list_init(struct aicr_json_list *l);
void aicr_json_list_free(struct aicr_json_list *l);
enum aicr_json_list_result aicr_json_list_next(struct aicr_json_list *l);

#endif
