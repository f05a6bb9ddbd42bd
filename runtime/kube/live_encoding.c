/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "kube/gunzip.h"
#include "kube/live_internal.h"

/* A page of a list stays packed until its items are taken: it is many times
 * smaller. Everything else libcurl unpacks. */

#define PART         ((size_t)16 << 10)
#define HEADER       "content-encoding:"
#define IS(text, is) (strncasecmp(text, is, strlen(is)) == 0)

bool kube_live_keeps_packed(const struct kube_request *rq)
{
  return rq->verb == KUBE_LIST;
}

static bool value_is(const char *value, size_t len, const char *word)
{
  return len == strlen(word) && strncasecmp(value, word, len) == 0;
}

void kube_live_take_encoding(struct kube_transfer *t, const char *line,
                             size_t len)
{
  size_t begin = strlen(HEADER);
  if (len < begin || !IS(line, HEADER) || !kube_live_keeps_packed(&t->rq)) {
    return;
  }
  while (begin < len && strchr(" \t", line[begin]) != NULL) {
    begin++;
  }
  while (len > begin && strchr(" \t\r\n", line[len - 1]) != NULL) {
    len--;
  }
  const char *value = line + begin;
  len -= begin;
  if (value_is(value, len, "gzip") || value_is(value, len, "x-gzip")) {
    t->encoding = t->encoding == LIVE_PLAIN ? LIVE_GZIP : LIVE_UNKNOWN;
  } else if (len > 0 && !value_is(value, len, "identity")) {
    t->encoding = LIVE_UNKNOWN;
  }
}

/* What is no page of a list is small, or refused. */
static CURLcode unpack(struct kube_answer *a)
{
  struct kube_gunzip g = {0};
  struct aicr_buf out;
  char part[PART];
  size_t max = a->http >= 300 ? LIVE_ERROR_MAX : KUBE_PAGE_MAX, len = 0;
  CURLcode result = CURLE_OK;
  aicr_buf_init(&out, max);
  if (!kube_gunzip_begin(&g, a->body.data, a->body.len, KUBE_PAGE_MAX)) {
    return CURLE_OUT_OF_MEMORY;
  }
  enum kube_gunzip_result got = KUBE_GUNZIP_PART;
  while (got == KUBE_GUNZIP_PART && result == CURLE_OK) {
    got = kube_gunzip_next(&g, part, sizeof part, &len);
    if (got == KUBE_GUNZIP_PART && len > max - out.len) {
      got = a->http >= 300 ? KUBE_GUNZIP_END : KUBE_GUNZIP_TOO_LARGE;
    } else if (got == KUBE_GUNZIP_PART && !aicr_buf_add(&out, part, len)) {
      got = KUBE_GUNZIP_NO_MEMORY;
    }
  }
  kube_gunzip_end(&g);
  aicr_buf_free(&a->body);
  a->body = out;
  return got == KUBE_GUNZIP_END         ? CURLE_OK
         : got == KUBE_GUNZIP_NO_MEMORY ? CURLE_OUT_OF_MEMORY
         : got == KUBE_GUNZIP_TOO_LARGE ? CURLE_FILESIZE_EXCEEDED
                                        : CURLE_BAD_CONTENT_ENCODING;
}

CURLcode kube_live_unpack(struct kube_transfer *t)
{
  struct kube_answer *a = &t->answer;
  if (t->encoding != LIVE_GZIP || a->body.len == 0) {
    return CURLE_OK;
  }
  if (a->http >= 200 && a->http < 300 &&
      (a->content_type[0] == '\0' || strstr(a->content_type, "json") != NULL)) {
    a->gzip = true;
    return CURLE_OK;
  }
  return unpack(a);
}
