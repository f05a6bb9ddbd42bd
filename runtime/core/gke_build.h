/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_GKE_BUILD_H
#define AICR_CORE_GKE_BUILD_H

#include "core/version.h"

/* The "-gke.N" suffix of a version: validation-model.md 6.3 and section 0. */
enum aicr_gke_build {
  AICR_GKE_BUILD_NONE,
  AICR_GKE_BUILD_MALFORMED,
  AICR_GKE_BUILD_NUMBER /* *number is N, 0 or more */
};

enum aicr_gke_build aicr_version_gke_build(const struct aicr_version *v,
                                           int64_t *number);

#endif
