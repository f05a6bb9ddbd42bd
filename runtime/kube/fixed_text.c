/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fixed_text.h"

#include <string.h>

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
