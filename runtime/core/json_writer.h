/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_JSON_WRITER_H
#define AICR_CORE_JSON_WRITER_H

#include <stdint.h>

#include "core/buffer.h"

/* JSON scalars as text. Containers are the caller's: '{', ',', '}'. */

/* A string in quotes. Control characters and '"' '\\' are escaped, everything
 * else is written as it is; a byte that is not valid UTF-8 becomes U+FFFD. */
bool aicr_json_write_string(struct aicr_buf *b, const char *data, size_t len);
bool aicr_json_write_integer(struct aicr_buf *b, int64_t value);

/* False (and nothing written) for NaN and infinity, which JSON lacks. */
bool aicr_json_write_double(struct aicr_buf *b, double value);

#endif
