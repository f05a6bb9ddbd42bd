/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_JSON_INTERNAL_H
#define AICR_CORE_JSON_INTERNAL_H

#include "core/json_reader.h"

/* For the files that cut a text with the reader: what the text says is not
 * what the cutter can take. Fills r->error with `reason` and the offset of the
 * last consumed byte, and stops the reader. */
enum aicr_json_token aicr_json_reject(struct aicr_json_reader *r,
                                      enum aicr_code code, const char *reason,
                                      const char *what);

/* True when the token that the reader is asked for has begun in this chunk or
 * an earlier one: r->token_pos is where in the chunk (0: earlier). */
bool aicr_json_inside_token(const struct aicr_json_reader *r);

#endif
