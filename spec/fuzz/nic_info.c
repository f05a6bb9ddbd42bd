/* SPDX-License-Identifier: Apache-2.0 */
/* nic-info and north-interfaces: names and addresses are unique, the counts
 * agree, and an interface is displaced exactly when its network is none of
 * the given ones. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gke/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

static bool same(const char *a, size_t a_len, const char *b, size_t b_len)
{
  return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static void check_info(const struct gke_nic_info *info)
{
  const struct gke_nic **extra =
      calloc(info->count, sizeof(const struct gke_nic *));
  size_t canonical = 0;
  unsigned present = 0;

  require(info->count > 0 && extra != NULL);
  for (size_t i = 0; i < info->count; i++) {
    const struct gke_nic *nic = &info->nics[i];

    require(nic->name_len > 0 && nic->pci_len > 0);
    canonical += gke_nic_is_canonical(nic);
    for (size_t j = 0; j < i && i < 64; j++)
      require(!same(nic->name, nic->name_len, info->nics[j].name,
                    info->nics[j].name_len));
  }
  for (unsigned i = 0; i < GKE_REQUIRED_NETWORKS; i++)
    present += info->present[i];
  require(present == info->present_count && present <= canonical);
  require(gke_nic_info_extra(info, extra) == info->count - canonical);
  free(extra);
}

/* Every address of the map against itself, with no network and with all. */
static void check_displaced(const struct gke_nic_info *info,
                            const struct gke_north_map *map)
{
  bool displaced[GKE_REQUIRED_NETWORKS];
  size_t entry[GKE_REQUIRED_NETWORKS];
  struct gke_names names = {0};
  const char **texts = calloc(map->count + 1, sizeof(*texts));
  size_t *lens = calloc(map->count + 1, sizeof(*lens));
  struct aicr_buf b;
  unsigned without;

  require(texts && lens);
  aicr_buf_init(&b, 1 << 16);
  for (size_t i = 0; i < map->count; i++) {
    texts[i] = map->entries[i].network;
    lens[i] = map->entries[i].network_len;
  }
  without = gke_displaced_interfaces(info, map, &names, displaced, entry);
  require(without <= info->present_count);
  names = (struct gke_names){(const char *const *)texts, lens, map->count};
  require(gke_displaced_interfaces(info, map, &names, displaced, entry) <=
          without);
  for (unsigned i = 0; i < GKE_REQUIRED_NETWORKS; i++) {
    require(!displaced[i] || entry[i] == (size_t)-1);
    require(gke_displaced_text(info, map, i, entry[i], &b));
  }
  aicr_buf_free(&b);
  free(texts);
  free(lens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  /* The part before the first NUL is nic-info, the rest north-interfaces;
   * without a NUL both are the whole. */
  char *copy = malloc(size ? size : 1);
  struct gke_nic_info info;
  struct gke_north_map map;
  struct aicr_error err;
  const char *cut;
  size_t head;

  require(copy != NULL);
  if (size)
    memcpy(copy, data, size);
  cut = size ? memchr(copy, '\0', size) : NULL;
  head = cut ? (size_t)(cut - copy) : size;
  if (gke_parse_nic_info(copy, head, &info, &err))
    check_info(&info);
  else
    require(err.code == AICR_INVALID_REQUEST && err.verdict && !info.nics);
  if (gke_parse_north_interfaces(cut ? cut + 1 : copy,
                                 cut ? size - head - 1 : size, &map, &err))
    check_displaced(&info, &map);
  else
    require(err.code == AICR_INVALID_REQUEST && err.verdict && !map.entries);
  gke_nic_info_free(&info);
  gke_north_map_free(&map);
  free(copy);
  return 0;
}
