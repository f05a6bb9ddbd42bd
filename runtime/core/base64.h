/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_BASE64_H
#define AICR_CORE_BASE64_H

#include "core/buffer.h"

/* Appends the bytes that standard base64 (RFC 4648 section 4) stands for.
 * Strict: padded, no bits left over, no other characters than CR and LF, which
 * are passed over as Go's decoder does. False, with *out as it was, when the
 * text is none; false with out->failed when the bytes do not fit or there is
 * no memory. */
bool aicr_base64_decode(const char *text, size_t len, struct aicr_buf *out);

/* Appends the base64 of data, padded, without line ends. False with
 * out->failed when it does not fit or there is no memory. */
bool aicr_base64_encode(const void *data, size_t len, struct aicr_buf *out);

#endif
