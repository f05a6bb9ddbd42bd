/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/text.h"
#include "kube/recording_index.h"

/* Texts that are part of a line's key, so that equal ones are equal texts. */

void kube_index_what(const char *text, size_t len, char out[1024])
{
  char hash[AICR_SHA256_TEXT];
  if (len > 0 && len < 1024 && memchr(text, '\0', len) == NULL &&
      aicr_utf8_valid(text, len)) {
    memcpy(out, text, len);
    out[len] = '\0';
    return;
  }
  out[0] = '\0';
  if (aicr_sha256_hex(text, len, hash)) {
    snprintf(out, 1024, "sha256 %s", hash);
  }
}

struct param {
  const char *text;
  size_t len;
};

static int compare_params(const void *left, const void *right)
{
  const struct param *a = left, *b = right;
  size_t n = a->len < b->len ? a->len : b->len;
  int c = memcmp(a->text, b->text, n);
  return c != 0 ? c : a->len < b->len ? -1 : a->len > b->len;
}

size_t kube_query_count(const char *query)
{
  size_t count = query == NULL || query[0] == '\0' ? 0 : 1;
  for (const char *p = query; count > 0 && *p != '\0'; p++) {
    count += *p == '&';
  }
  return count;
}

bool kube_query_sort(const char *query, struct aicr_buf *out)
{
  struct param params[KUBE_QUERY_PARAMS];
  size_t count = 0;
  for (const char *p = query == NULL ? "" : query; *p != '\0';) {
    size_t len = strcspn(p, "&");
    if (len > 0 && count == KUBE_QUERY_PARAMS) {
      return false;
    }
    if (len > 0) {
      params[count++] = (struct param){p, len};
    }
    p += len + (p[len] == '&');
  }
  if (count > 1) {
    qsort(params, count, sizeof params[0], compare_params);
  }
  for (size_t i = 0; i < count; i++) {
    aicr_buf_adds(out, i == 0 ? "" : "&");
    aicr_buf_add(out, params[i].text, params[i].len);
  }
  return !out->failed;
}
