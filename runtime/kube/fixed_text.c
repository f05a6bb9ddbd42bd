/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fixed_text.h"

#include <stdint.h>
#include <string.h>

#include "core/text.h"

bool kube_set_text(char *out, size_t size, const char *text)
{
  if (text == NULL) {
    out[0] = '\0';
    return true;
  }
  size_t len = strlen(text), n = len;
  if (n >= size) {
    n = size - 1;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
      n--;
    }
  }
  memcpy(out, text, n);
  out[n] = '\0';
  return n == len;
}

void kube_plain_text(char *out, size_t size, const char *text, size_t len)
{
  static const char hex[] = "0123456789abcdef";
  size_t n = 0, i = 0, limit = size - 8; /* an escape, an ellipsis, a NUL */
  aicr_trim(&text, &len);
  while (i < len && n < limit) {
    uint32_t cp = 0;
    size_t step = aicr_utf8_decode(text + i, len - i, &cp);
    if (step == 1 && (cp == '\n' || cp == '\t' || cp == '\r')) {
      out[n++] = ' ';
    } else if (step == 0 || cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) {
      unsigned char c = (unsigned char)text[i + (step > 1 ? step - 1 : 0)];
      out[n++] = '\\';
      out[n++] = 'x';
      out[n++] = hex[c >> 4];
      out[n++] = hex[c & 15];
    } else {
      memcpy(out + n, text + i, step);
      n += step;
    }
    i += step == 0 ? 1 : step;
  }
  if (i < len) {
    memcpy(out + n, "…", strlen("…"));
    n += strlen("…");
  }
  out[n] = '\0';
}

bool kube_has_word(const char *words, const char *word)
{
  size_t len = strlen(word);
  const char *p = words;
  while (*p != '\0') {
    size_t n = strcspn(p, " ");
    if (n == len && memcmp(p, word, len) == 0) {
      return true;
    }
    p += n + strspn(p + n, " ");
  }
  return false;
}

bool kube_ends_in(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n > m && strcmp(text + n - m, end) == 0;
}

bool kube_take_step(const char **at, char *out, size_t size)
{
  size_t len = strcspn(*at, "/");
  if (len == 0 || len >= size) {
    return false;
  }
  memcpy(out, *at, len);
  out[len] = '\0';
  *at += len + ((*at)[len] == '/');
  return true;
}
