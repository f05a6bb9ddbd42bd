/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/url.h"

#include <string.h>

static bool is_plain(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         (c >= 'A' && c <= 'Z') || (c != '\0' && strchr("-._~:", c) != NULL);
}

bool kube_url_escape(struct aicr_buf *out, const char *text, size_t len)
{
  static const char hex[] = "0123456789ABCDEF";
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)text[i];
    if (is_plain(text[i])) {
      aicr_buf_addc(out, text[i]);
    } else {
      aicr_buf_addc(out, '%');
      aicr_buf_addc(out, hex[c >> 4]);
      aicr_buf_addc(out, hex[c & 15]);
    }
  }
  return !out->failed;
}

bool kube_url_param(struct aicr_buf *out, const char *name, const char *value)
{
  if (value == NULL) {
    return !out->failed;
  }
  if (out->len > 0) {
    aicr_buf_addc(out, '&');
  }
  aicr_buf_adds(out, name);
  aicr_buf_addc(out, '=');
  return kube_url_escape(out, value, strlen(value));
}
