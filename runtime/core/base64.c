/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Four digits that were gathered, and how many of them are padding. */
struct group {
  uint32_t bits;
  unsigned digits, pads;
};

static bool take(struct group *g, char c)
{
  const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

  if (c == '=')
    g->pads++;
  else if (!at || g->pads > 0)
    return false;
  g->bits = g->bits << 6 | (c == '=' ? 0 : (uint32_t)(at - alphabet));
  g->digits++;
  return true;
}

/* Of the bytes that are padded away no bit may be set. */
static bool give(const struct group *g, struct aicr_buf *out)
{
  char bytes[] = {(char)(g->bits >> 16), (char)(g->bits >> 8), (char)g->bits};

  if (g->pads > 2 || (g->bits & ((1u << 8 * g->pads) - 1)) != 0)
    return false;
  return aicr_buf_add(out, bytes, 3 - g->pads);
}

bool aicr_base64_decode(const char *text, size_t len, struct aicr_buf *out)
{
  struct group g = {0};
  size_t before = out->len;
  bool ok = true;

  for (size_t i = 0; i < len && ok; i++) {
    if (text[i] == '\r' || text[i] == '\n')
      continue;
    /* A group with padding is the last one. */
    ok = (g.digits > 0 || g.pads == 0) && take(&g, text[i]);
    if (ok && g.digits == 4) {
      ok = give(&g, out);
      g.digits = 0;
    }
  }
  ok = ok && g.digits == 0;
  if (!ok && !out->failed && out->data) {
    explicit_bzero(out->data + before, out->len - before);
    out->len = before;
  }
  return ok && !out->failed;
}

bool aicr_base64_encode(const void *data, size_t len, struct aicr_buf *out)
{
  const unsigned char *bytes = data;

  for (size_t i = 0; i < len; i += 3) {
    size_t left = len - i;
    uint32_t bits = (uint32_t)bytes[i] << 16;
    char digits[4] = {'=', '=', '=', '='};

    bits |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
    bits |= left > 2 ? bytes[i + 2] : 0;
    for (unsigned j = 0; j < (left < 3 ? left + 1 : 4); j++)
      digits[j] = alphabet[bits >> (18 - 6 * j) & 63];
    if (!aicr_buf_add(out, digits, sizeof(digits)))
      return false;
  }
  return !out->failed;
}
