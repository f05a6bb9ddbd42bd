/* SPDX-License-Identifier: Apache-2.0 */
#include "gke/topology.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "gke/records.h"

/* birthIPv6 and ipv6Address are read for their type only. */
enum { NIC_NAME, NIC_IP, NIC_PCI };

static const struct gke_shape nic_shape = {
    GKE_NIC_INFO_ANNOTATION,
    "nic-info-malformed",
    {"birthName", "birthIP", "pciAddress", "birthIPv6", NULL},
};

enum { NORTH_NETWORK, NORTH_IP };

static const struct gke_shape north_shape = {
    GKE_NORTH_INTERFACES_ANNOTATION,
    "north-interfaces-malformed",
    {"network", "ipAddress", "ipv6Address", NULL},
};

void gke_nic_info_free(struct gke_nic_info *info)
{
  for (size_t i = 0; i < info->count; i++) {
    aicr_free(info->nics[i].name);
    aicr_free(info->nics[i].pci);
    aicr_free(info->nics[i].ip);
  }
  aicr_free(info->nics);
  memset(info, 0, sizeof(*info));
}

/* The N of a name "ethN" with one digit up to 8, -1 for any other name. */
static int canonical_number(const struct gke_nic *nic)
{
  if (nic->name_len != 4 || memcmp(nic->name, "eth", 3) != 0 ||
      nic->name[3] < '0' || nic->name[3] > '0' + GKE_REQUIRED_NETWORKS)
    return -1;
  return nic->name[3] - '0';
}

bool gke_nic_is_canonical(const struct gke_nic *nic)
{
  return canonical_number(nic) >= 0;
}

static const struct gke_nic *find_nic(const struct gke_nic_info *info,
                                      const char *name, size_t len)
{
  for (size_t i = 0; i < info->count; i++)
    if (gke_same(info->nics[i].name, info->nics[i].name_len, name, len))
      return &info->nics[i];
  return NULL;
}

/* Takes the strings of the record, so that they are not copied. */
static bool keep_nic(struct gke_nic_info *info, struct gke_record *r,
                     struct aicr_error *err)
{
  struct gke_nic *nic = &info->nics[info->count];
  struct aicr_quoted q;
  int number;

  if (find_nic(info, r->field[NIC_NAME], r->len[NIC_NAME]))
    return aicr_verdict(err, AICR_INVALID_REQUEST, "nic-info-duplicate",
                        "annotation " GKE_NIC_INFO_ANNOTATION
                        ": duplicate interface name %s",
                        aicr_quote(&q, r->field[NIC_NAME], r->len[NIC_NAME]));
  nic->name = r->field[NIC_NAME];
  nic->name_len = r->len[NIC_NAME];
  nic->pci = r->field[NIC_PCI];
  nic->pci_len = r->len[NIC_PCI];
  nic->ip = r->field[NIC_IP];
  nic->ip_len = r->len[NIC_IP];
  r->field[NIC_NAME] = r->field[NIC_PCI] = r->field[NIC_IP] = NULL;
  info->count++;
  number = canonical_number(nic);
  if (number > 0) {
    info->present[number - 1] = true;
    info->present_count++;
  }
  return true;
}

static bool keep_nics(struct gke_nic_info *info, struct gke_records *r,
                      struct aicr_error *err)
{
  if (r->count == 0)
    return aicr_verdict(err, AICR_INVALID_REQUEST, "nic-info-empty",
                        "annotation " GKE_NIC_INFO_ANNOTATION
                        " is an empty list");
  info->nics = aicr_calloc(r->count, sizeof(*info->nics));
  if (!info->nics)
    return gke_no_memory(err);
  for (size_t i = 0; i < r->count; i++) {
    struct gke_record *e = &r->items[i];

    if (e->len[NIC_NAME] && e->len[NIC_PCI] && !keep_nic(info, e, err))
      return false;
  }
  if (info->count == 0)
    return aicr_verdict(err, AICR_INVALID_REQUEST, "nic-info-empty",
                        "annotation " GKE_NIC_INFO_ANNOTATION " has no entry "
                        "with an interface name and a PCI address");
  return true;
}

bool gke_parse_nic_info(const char *text, size_t len, struct gke_nic_info *out,
                        struct aicr_error *err)
{
  struct gke_records r;
  bool ok;

  memset(out, 0, sizeof(*out));
  aicr_trim(&text, &len);
  if (len == 0)
    return aicr_verdict(err, AICR_INVALID_REQUEST, "nic-info-missing",
                        "annotation " GKE_NIC_INFO_ANNOTATION
                        " is absent or blank");
  ok = gke_records_decode(text, len, &nic_shape, &r, err) &&
       keep_nics(out, &r, err);
  gke_records_free(&r);
  if (!ok)
    gke_nic_info_free(out);
  return ok;
}

static int compare_names(const void *left, const void *right)
{
  const struct gke_nic *a = *(const struct gke_nic *const *)left;
  const struct gke_nic *b = *(const struct gke_nic *const *)right;
  size_t shared = a->name_len < b->name_len ? a->name_len : b->name_len;
  int diff = memcmp(a->name, b->name, shared);

  return diff ? diff
              : (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

size_t gke_nic_info_extra(const struct gke_nic_info *info,
                          const struct gke_nic **extra)
{
  size_t count = 0;

  for (size_t i = 0; i < info->count; i++)
    if (!gke_nic_is_canonical(&info->nics[i]))
      extra[count++] = &info->nics[i];
  if (count > 1)
    qsort(extra, count, sizeof(const struct gke_nic *), compare_names);
  return count;
}

void gke_north_map_free(struct gke_north_map *map)
{
  for (size_t i = 0; i < map->count; i++) {
    aicr_free(map->entries[i].ip);
    aicr_free(map->entries[i].network);
  }
  aicr_free(map->entries);
  memset(map, 0, sizeof(*map));
}

static size_t find_address(const struct gke_north_map *map, const char *ip,
                           size_t len)
{
  for (size_t i = 0; i < map->count; i++)
    if (gke_same(map->entries[i].ip, map->entries[i].ip_len, ip, len))
      return i;
  return (size_t)-1;
}

bool gke_north_map_set(struct gke_north_map *map, const char *ip, size_t ip_len,
                       const char *network, size_t network_len,
                       struct aicr_error *err)
{
  size_t at = find_address(map, ip, ip_len);
  struct gke_north *entries, *entry;
  char *copy = aicr_strndup(network, network_len);

  if (!copy)
    return gke_no_memory(err);
  if (at != (size_t)-1) {
    entry = &map->entries[at];
    aicr_free(entry->network);
    entry->network = copy;
    entry->network_len = network_len;
    return true;
  }
  entries = aicr_grow(map->entries, &map->cap, map->count, sizeof(*entries));
  if (!entries) {
    aicr_free(copy);
    return gke_no_memory(err);
  }
  map->entries = entries;
  entry = &map->entries[map->count];
  entry->ip = aicr_strndup(ip, ip_len);
  if (!entry->ip) {
    aicr_free(copy);
    return gke_no_memory(err);
  }
  entry->ip_len = ip_len;
  entry->network = copy;
  entry->network_len = network_len;
  map->count++;
  return true;
}

static bool fill_north_map(struct gke_north_map *map,
                           const struct gke_records *r, struct aicr_error *err)
{
  for (size_t i = 0; i < r->count; i++) {
    const struct gke_record *e = &r->items[i];

    if (e->len[NORTH_IP] && e->len[NORTH_NETWORK] &&
        !gke_north_map_set(map, e->field[NORTH_IP], e->len[NORTH_IP],
                           e->field[NORTH_NETWORK], e->len[NORTH_NETWORK], err))
      return false;
  }
  return true;
}

bool gke_parse_north_interfaces(const char *text, size_t len,
                                struct gke_north_map *out,
                                struct aicr_error *err)
{
  struct gke_records r;
  bool ok;

  memset(out, 0, sizeof(*out));
  aicr_trim(&text, &len);
  if (len == 0)
    return aicr_verdict(err, AICR_INVALID_REQUEST, north_shape.malformed,
                        "annotation " GKE_NORTH_INTERFACES_ANNOTATION
                        " is blank");
  ok = gke_records_decode(text, len, &north_shape, &r, err) &&
       fill_north_map(out, &r, err);
  gke_records_free(&r);
  if (!ok)
    gke_north_map_free(out);
  return ok;
}

static bool is_gpu_network(const struct gke_names *set,
                           const struct gke_north *entry)
{
  for (size_t i = 0; i < set->count; i++)
    if (gke_same(set->names[i], set->lens[i], entry->network,
                 entry->network_len))
      return true;
  return false;
}

static const struct gke_nic *nic_of_slot(const struct gke_nic_info *info,
                                         unsigned slot)
{
  char name[] = "eth1";

  name[3] = (char)('1' + slot);
  return find_nic(info, name, 4);
}

unsigned gke_displaced_interfaces(const struct gke_nic_info *info,
                                  const struct gke_north_map *map,
                                  const struct gke_names *gpu_networks,
                                  bool displaced[GKE_REQUIRED_NETWORKS],
                                  size_t entry[GKE_REQUIRED_NETWORKS])
{
  unsigned count = 0;

  for (unsigned i = 0; i < GKE_REQUIRED_NETWORKS; i++) {
    const struct gke_nic *nic = nic_of_slot(info, i);

    displaced[i] = false;
    entry[i] = (size_t)-1;
    if (!nic || nic->ip_len == 0)
      continue;
    entry[i] = find_address(map, nic->ip, nic->ip_len);
    displaced[i] = entry[i] == (size_t)-1 ||
                   !is_gpu_network(gpu_networks, &map->entries[entry[i]]);
    count += displaced[i];
  }
  return count;
}

bool gke_displaced_text(const struct gke_nic_info *info,
                        const struct gke_north_map *map, unsigned slot,
                        size_t entry, struct aicr_buf *out)
{
  const struct gke_nic *nic = nic_of_slot(info, slot);
  const struct gke_north *at =
      entry == (size_t)-1 ? NULL : &map->entries[entry];
  struct aicr_quoted ip, network;

  return aicr_buf_addf(
      out, "eth%u (ip %s, network %s)", slot + 1,
      aicr_quote(&ip, nic ? nic->ip : "", nic ? nic->ip_len : 0),
      aicr_quote(&network, at ? at->network : "", at ? at->network_len : 0));
}
