/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_VERSION_H
#define AICR_CORE_VERSION_H

#include <stdint.h>

#include "core/error.h"

/* Versions as AICR compares them: validation-model.md 6.3 and section 0. */

struct aicr_version {
  int64_t major, minor, patch;
  unsigned precision;     /* how many parts were given, 1 to 3 */
  const char *extras;     /* a span of the input, from its '-' or '+' */
  size_t extras_len;
};

/* INVALID_REQUEST/"version" when it is none. Points into the input. */
bool aicr_version_parse(const char *data, size_t len, struct aicr_version *out,
                        struct aicr_error *err);

/* Ordering at the smaller precision, with the GKE build tie-break: -1, 0, 1. */
int aicr_version_compare(const struct aicr_version *a,
                         const struct aicr_version *b);

/* Equality of the three numbers, missing ones are 0, extras ignored. */
bool aicr_version_equal(const struct aicr_version *a,
                        const struct aicr_version *b);

#endif
