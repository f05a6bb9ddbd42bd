/* SPDX-License-Identifier: Apache-2.0 */
#include "gke/verifiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "gke/records.h"

static bool same_pair(const struct gke_pair *a, const struct gke_pair *b)
{
  return gke_same(a->interface_name, a->interface_len, b->interface_name,
                  b->interface_len) &&
         gke_same(a->network, a->network_len, b->network, b->network_len);
}

static bool mismatch(const struct gke_pair *recorded,
                     const struct gke_pair *deployed, size_t position,
                     struct aicr_error *err)
{
  struct aicr_quoted q[4];

  return aicr_verdict(
      err, AICR_INVALID_REQUEST, "mapping-mismatch",
      "runtime " GKE_RUNTIME ": pair %zu is %s → %s, the recipe records %s → "
      "%s: the deployed artifact diverges from the recipe",
      position + 1,
      aicr_quote(&q[0], deployed->interface_name, deployed->interface_len),
      aicr_quote(&q[1], deployed->network, deployed->network_len),
      aicr_quote(&q[2], recorded->interface_name, recorded->interface_len),
      aicr_quote(&q[3], recorded->network, recorded->network_len));
}

bool gke_verify_mapping(const struct gke_mapping *recorded,
                        const struct gke_mapping *deployed, size_t *position,
                        struct aicr_error *err)
{
  size_t shared =
      recorded->count < deployed->count ? recorded->count : deployed->count;

  for (*position = 0; *position < shared; ++*position)
    if (!same_pair(&recorded->pairs[*position], &deployed->pairs[*position]))
      break;
  if (recorded->count != deployed->count)
    return aicr_verdict(err, AICR_INVALID_REQUEST, "mapping-count",
                        "runtime " GKE_RUNTIME
                        ": %zu interfaces deployed, the recipe records "
                        "%zu: regenerate the bundle from the recipe",
                        deployed->count, recorded->count);
  if (*position == shared)
    return true;
  return mismatch(&recorded->pairs[*position], &deployed->pairs[*position],
                  *position, err);
}

static bool has_name(const struct gke_names *set, const struct gke_pair *p)
{
  for (size_t i = 0; i < set->count; i++)
    if (gke_same(set->names[i], set->lens[i], p->network, p->network_len))
      return true;
  return false;
}

static int compare_bytes(const char *a, size_t a_len, const char *b,
                         size_t b_len)
{
  size_t shared = a_len < b_len ? a_len : b_len;
  int diff = shared ? memcmp(a, b, shared) : 0;

  return diff ? diff : (a_len > b_len) - (a_len < b_len);
}

static int compare_pairs(const void *left, const void *right)
{
  const struct gke_pair *a = *(const struct gke_pair *const *)left;
  const struct gke_pair *b = *(const struct gke_pair *const *)right;
  int diff = compare_bytes(a->interface_name, a->interface_len,
                           b->interface_name, b->interface_len);

  return diff ? diff
              : compare_bytes(a->network, a->network_len, b->network,
                              b->network_len);
}

/* Part of a message: as many items as it has room for, then how many more. */
struct list {
  char text[800];
  size_t len;
  size_t left_out;
};

static void list_add(struct list *l, const char *item)
{
  static const size_t reserve = sizeof(" and 18446744073709551615 more");
  size_t n = strlen(item) + (l->len ? 2 : 0);

  if (l->left_out || l->len + n + reserve > sizeof(l->text)) {
    l->left_out++;
    return;
  }
  snprintf(l->text + l->len, sizeof(l->text) - l->len, "%s%s",
           l->len ? ", " : "", item);
  l->len += n;
}

static const char *list_end(struct list *l)
{
  if (l->left_out)
    snprintf(l->text + l->len, sizeof(l->text) - l->len, " and %zu more",
             l->left_out);
  return l->len ? l->text : "none";
}

static const char *list_pairs(struct list *l,
                              const struct gke_pair *const *pairs, size_t count)
{
  memset(l, 0, sizeof(*l));
  for (size_t i = 0; i < count; i++) {
    struct aicr_quoted name, network;
    char item[2 * sizeof(name.text) + 8];

    snprintf(
        item, sizeof(item), "%s → %s",
        aicr_quote(&name, pairs[i]->interface_name, pairs[i]->interface_len),
        aicr_quote(&network, pairs[i]->network, pairs[i]->network_len));
    list_add(l, item);
  }
  return list_end(l);
}

static const char *list_names(struct list *l, const struct gke_names *names)
{
  struct aicr_quoted q;

  memset(l, 0, sizeof(*l));
  for (size_t i = 0; i < names->count; i++)
    list_add(l, aicr_quote(&q, names->names[i], names->lens[i]));
  return list_end(l);
}

/* Collects into found[], sorted, the pairs whose network is not in `set`. */
static size_t collect(const struct gke_mapping *m, const struct gke_names *set,
                      const struct gke_pair **found)
{
  size_t count = 0;

  for (size_t i = 0; i < m->count; i++)
    if (!has_name(set, &m->pairs[i]))
      found[count++] = &m->pairs[i];
  if (count > 1)
    qsort(found, count, sizeof(const struct gke_pair *), compare_pairs);
  return count;
}

bool gke_verify_networks_exist(const struct gke_mapping *deployed,
                               const struct gke_names *usable,
                               const struct gke_names *present,
                               struct aicr_error *err)
{
  const struct gke_pair **found;
  struct list pairs, names;
  size_t count;
  bool ok = false;

  if (deployed->count == 0)
    return true;
  found = aicr_calloc(deployed->count, sizeof(const struct gke_pair *));
  if (!found)
    return gke_no_memory(err);
  count = collect(deployed, present, found);
  if (count > 0) {
    aicr_verdict(err, AICR_NOT_FOUND, "network-missing",
                 "runtime " GKE_RUNTIME " uses networks that the cluster does "
                 "not have: %s; the cluster has: %s",
                 list_pairs(&pairs, found, count), list_names(&names, present));
    goto out;
  }
  /* Every network is present from here on. */
  count = collect(deployed, usable, found);
  if (count > 0) {
    aicr_verdict(err, AICR_CONFLICT, "network-not-usable",
                 "runtime " GKE_RUNTIME " uses networks that exist but are not "
                 "ready or not bound: %s; usable: %s",
                 list_pairs(&pairs, found, count), list_names(&names, usable));
    goto out;
  }
  ok = true;
out:
  aicr_free(found);
  return ok;
}
