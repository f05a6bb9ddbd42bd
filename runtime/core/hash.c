/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash.h"

#include <openssl/evp.h>
#include <string.h>

static void write_hex(const unsigned char *digest, unsigned n,
                      char out[AICR_SHA256_TEXT])
{
  static const char hex[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = hex[digest[i] >> 4];
    out[2 * i + 1] = hex[digest[i] & 15];
  }
  out[AICR_SHA256_TEXT - 1] = '\0';
}

bool aicr_sha256_hex(const void *data, size_t len, char out[AICR_SHA256_TEXT])
{
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;

  out[0] = '\0';
  if (!EVP_Digest(data ? data : "", len, digest, &n, EVP_sha256(), NULL))
    return false;
  write_hex(digest, n, out);
  return true;
}

void aicr_sha256_begin(struct aicr_sha256 *h)
{
  h->state = EVP_MD_CTX_new();
  if (h->state != NULL && !EVP_DigestInit_ex(h->state, EVP_sha256(), NULL))
    aicr_sha256_free(h);
}

void aicr_sha256_add(struct aicr_sha256 *h, const void *data, size_t len)
{
  if (h->state != NULL && len > 0 && !EVP_DigestUpdate(h->state, data, len))
    aicr_sha256_free(h);
}

bool aicr_sha256_text(const struct aicr_sha256 *h, char out[AICR_SHA256_TEXT])
{
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  EVP_MD_CTX *copy = h->state == NULL ? NULL : EVP_MD_CTX_new();
  bool ok = copy != NULL && EVP_MD_CTX_copy_ex(copy, h->state) &&
            EVP_DigestFinal_ex(copy, digest, &n);

  EVP_MD_CTX_free(copy);
  out[0] = '\0';
  if (ok)
    write_hex(digest, n, out);
  return ok;
}

void aicr_sha256_free(struct aicr_sha256 *h)
{
  EVP_MD_CTX_free(h->state);
  h->state = NULL;
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
