/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record_lookups.h"

#include <string.h>

#include "core/buffer.h"

#define LOOKUPS_MAX 100000u
#define KEY_MAX     8192u

/* Where a key is, or belongs. */
static size_t place_of(const struct kube_lookups *l, const char *key,
                       bool *found)
{
  size_t low = 0, high = l->count;
  *found = false;
  while (low < high && !*found) {
    size_t middle = low + (high - low) / 2;
    int c = strcmp(l->items[middle].key, key);
    *found = c == 0;
    if (c < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return *found ? high : low;
}

static bool make_room(struct kube_lookups *l)
{
  if (l->count < l->cap) {
    return true;
  }
  size_t cap = l->cap == 0 ? 16 : l->cap * 2;
  struct kube_lookup *grown = aicr_realloc(l->items, cap * sizeof *grown);
  if (grown != NULL) {
    l->items = grown;
    l->cap = cap;
  }
  return grown != NULL;
}

static bool add_key(struct kube_lookups *l, size_t at, const char *key,
                    size_t len)
{
  char *copy =
      l->count < LOOKUPS_MAX && make_room(l) ? aicr_strndup(key, len) : NULL;
  if (copy == NULL) {
    return false;
  }
  memmove(l->items + at + 1, l->items + at, (l->count - at) * sizeof *l->items);
  l->items[at] = (struct kube_lookup){.key = copy};
  l->count++;
  return true;
}

bool kube_lookups_add(struct kube_lookups *l, const struct kube_asker *asker,
                      const char *what, unsigned *before)
{
  struct aicr_buf key;
  aicr_buf_init(&key, KEY_MAX);
  aicr_buf_addf(&key, "%s %u %s %s", asker->check, asker->attempt, asker->part,
                what);
  bool found = false, ok = !key.failed;
  size_t at = ok ? place_of(l, key.data, &found) : 0;
  ok = ok && (found || add_key(l, at, key.data, key.len));
  aicr_buf_free(&key);
  if (ok) {
    *before = l->items[at].count++;
  }
  return ok;
}

void kube_lookups_free(struct kube_lookups *l)
{
  for (size_t i = 0; i < l->count; i++) {
    aicr_free(l->items[i].key);
  }
  aicr_free(l->items);
  *l = (struct kube_lookups){0};
}
