/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_GKE_INTERFACES_H
#define AICR_GKE_INTERFACES_H

#include "core/buffer.h"

/* The interface annotation of GKE multi-networking and the mapping of
 * interfaces to networks: gke-tcpxo.md 3.1, 3.2, 3.6, 3.12. */

#define GKE_REQUIRED_NETWORKS 8
#define GKE_NETWORK_NAME_MAX 41
#define GKE_INTERFACES_ANNOTATION "networking.gke.io/interfaces"

/* One pair. Bytes with lengths: a name may hold NUL. */
struct gke_pair {
  char *interface_name;
  size_t interface_len;
  char *network;
  size_t network_len;
};

struct gke_mapping {
  struct gke_pair *pairs;
  size_t count;
  size_t cap;
};

void gke_mapping_free(struct gke_mapping *m);

/* Appends a copy of the pair; false without memory (INTERNAL/"memory"). */
bool gke_mapping_add(struct gke_mapping *m, const char *interface_name,
                     size_t interface_len, const char *network,
                     size_t network_len, struct aicr_error *err);

/* 3.2: the entries after eth0 -> default. Verdicts INVALID_REQUEST, reasons
 * "annotation-malformed", "annotation-empty", "annotation-first-entry". */
bool gke_parse_interfaces(const char *text, size_t len,
                          struct gke_mapping *out, struct aicr_error *err);

/* 3.6 Validate. Verdicts INVALID_REQUEST, reason "mapping-invalid". */
bool gke_validate_interfaces(const struct gke_mapping *m,
                             struct aicr_error *err);

/* 3.6 Parse: "eth1=net,eth2=net,…". */
bool gke_parse_interface_list(const char *text, size_t len,
                              struct gke_mapping *out, struct aicr_error *err);

/* 3.12. Network names in the order given. */
bool gke_interfaces_annotation(const char *const *networks, const size_t *lens,
                               size_t count, struct aicr_buf *out);
bool gke_devices_annotation(unsigned gpus, struct aicr_buf *out);

#endif
