/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_HASH_H
#define AICR_CORE_HASH_H

#include <stdbool.h>
#include <stddef.h>

/* SHA-256 of a byte string as 64 lower-case hex digits and a NUL. */
#define AICR_SHA256_TEXT 65
bool aicr_sha256_hex(const void *data, size_t len, char out[AICR_SHA256_TEXT]);

/* The same of a text that comes in pieces. Zeroed is one that failed: what is
 * added to it is lost, and its end is false. */
struct aicr_sha256 {
  void *state;
};
void aicr_sha256_begin(struct aicr_sha256 *h);
void aicr_sha256_add(struct aicr_sha256 *h, const void *data, size_t len);
/* Of what was added until now; more may follow. */
bool aicr_sha256_text(const struct aicr_sha256 *h, char out[AICR_SHA256_TEXT]);
void aicr_sha256_free(struct aicr_sha256 *h);

/* SHA-1, for the handshake of RFC 6455 only: no proof of anything. */
#define AICR_SHA1_SIZE 20
bool aicr_sha1(const void *data, size_t len, unsigned char out[AICR_SHA1_SIZE]);

#endif
