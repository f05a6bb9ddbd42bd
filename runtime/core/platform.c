/* SPDX-License-Identifier: Apache-2.0 */
#include "core/platform.h"

#include <stddef.h>

const char *const aicr_platforms[] = {
    "aws",        "gcp",     "azure", "oci",    "onprem",
    "togetherai", "mistral", "forge", "nscale", NULL};
