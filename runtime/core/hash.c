/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash.h"

#include <openssl/evp.h>
#include <string.h>

bool aicr_sha256_hex(const void *data, size_t len, char out[AICR_SHA256_TEXT])
{
  static const char hex[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;

  out[0] = '\0';
  if (!EVP_Digest(data ? data : "", len, digest, &n, EVP_sha256(), NULL))
    return false;
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = hex[digest[i] >> 4];
    out[2 * i + 1] = hex[digest[i] & 15];
  }
  out[AICR_SHA256_TEXT - 1] = '\0';
  return true;
}

bool aicr_sha1(const void *data, size_t len, unsigned char out[AICR_SHA1_SIZE])
{
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;

  memset(out, 0, AICR_SHA1_SIZE);
  if (!EVP_Digest(data ? data : "", len, digest, &n, EVP_sha1(), NULL) ||
      n != AICR_SHA1_SIZE)
    return false;
  memcpy(out, digest, AICR_SHA1_SIZE);
  return true;
}
