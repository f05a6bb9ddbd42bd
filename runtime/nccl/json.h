/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_JSON_H
#define AICR_NCCL_JSON_H

#include "nccl/result.h"

/* Reads a file of nccl-tests' -J (nccl-benchmark.md 5.3 and 0.1) into *r, to
 * be freed in either case. One that is cut gives what was whole in it and a
 * warning. The environment that stands in it is not read. INVALID_REQUEST/
 * "malformed" for what is no JSON object, "too-large" over NCCL_TEXT_MAX,
 * INTERNAL/"memory". */
bool nccl_json_read(const char *text, size_t len, struct nccl_result *r,
                    struct aicr_error *err);

#endif
