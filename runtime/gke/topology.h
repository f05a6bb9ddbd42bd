/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_GKE_TOPOLOGY_H
#define AICR_GKE_TOPOLOGY_H

#include "gke/interfaces.h"
#include "gke/verifiers.h"

/* What a node says of its NICs: gke-tcpxo.md 3.11. */

#define GKE_NIC_INFO_ANNOTATION "networking.gke.io/nic-info"
#define GKE_NORTH_INTERFACES_ANNOTATION "networking.gke.io/north-interfaces"

struct gke_nic {
  char *name, *pci, *ip;
  size_t name_len, pci_len, ip_len;
};

struct gke_nic_info {
  struct gke_nic *nics; /* kept entries, in order */
  size_t count;
  bool present[GKE_REQUIRED_NETWORKS]; /* eth1..eth8 */
  unsigned present_count;
};

/* INVALID_REQUEST verdicts: "nic-info-missing", "nic-info-malformed",
 * "nic-info-empty", "nic-info-duplicate". */
bool gke_parse_nic_info(const char *text, size_t len, struct gke_nic_info *out,
                        struct aicr_error *err);
void gke_nic_info_free(struct gke_nic_info *info);

/* True for eth0..eth8 spelled in the shortest decimal form. */
bool gke_nic_is_canonical(const struct gke_nic *nic);

/* Fills extra[] (room for info->count) with the NICs that are not canonical,
 * sorted by name in byte order; returns how many. */
size_t gke_nic_info_extra(const struct gke_nic_info *info,
                          const struct gke_nic **extra);

/* One entry of north-interfaces: at this address, this network. Addresses are
 * unique (the last one of a repeated address wins). */
struct gke_north {
  char *ip, *network;
  size_t ip_len, network_len;
};
struct gke_north_map {
  struct gke_north *entries;
  size_t count, cap;
};

/* INVALID_REQUEST verdict "north-interfaces-malformed". */
bool gke_parse_north_interfaces(const char *text, size_t len,
                                struct gke_north_map *out,
                                struct aicr_error *err);
void gke_north_map_free(struct gke_north_map *map);

/* Sets the network of an address; false without memory. */
bool gke_north_map_set(struct gke_north_map *map, const char *ip,
                       size_t ip_len, const char *network, size_t network_len,
                       struct aicr_error *err);

/* Which of eth1..eth8 sit on a network that is no GPU NIC network. Sets
 * displaced[i] for eth(i+1) and, for those, the index into map->entries of its
 * address or (size_t)-1; returns how many. */
unsigned gke_displaced_interfaces(const struct gke_nic_info *info,
                                  const struct gke_north_map *map,
                                  const struct gke_names *gpu_networks,
                                  bool displaced[GKE_REQUIRED_NETWORKS],
                                  size_t entry[GKE_REQUIRED_NETWORKS]);

/* Appends what to show of a displaced eth(slot + 1): its name, its address and
 * the network there ("" when unknown). `entry` as above. */
bool gke_displaced_text(const struct gke_nic_info *info,
                        const struct gke_north_map *map, unsigned slot,
                        size_t entry, struct aicr_buf *out);

#endif
