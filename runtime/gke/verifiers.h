/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_GKE_VERIFIERS_H
#define AICR_GKE_VERIFIERS_H

#include "gke/interfaces.h"

/* Comparisons of mappings: gke-tcpxo.md 3.5 and 3.9. */

#define GKE_RUNTIME "torch-distributed-tcpxo"

/* 3.5: element by element, order counts. The verdict INVALID_REQUEST has the
 * reason "mapping-mismatch" ("mapping-count" when the lengths differ).
 * *position is the 0-based index of the first difference. */
bool gke_verify_mapping(const struct gke_mapping *recorded,
                        const struct gke_mapping *deployed, size_t *position,
                        struct aicr_error *err);

struct gke_names {
  const char *const *names;
  const size_t *lens;
  size_t count;
};

/* 3.9: set membership. NOT_FOUND/"network-missing" before
 * CONFLICT/"network-not-usable". */
bool gke_verify_networks_exist(const struct gke_mapping *deployed,
                               const struct gke_names *usable,
                               const struct gke_names *present,
                               struct aicr_error *err);

#endif
