/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record_secrets.h"

#include <string.h>

#include "kube/url.h"

static bool add_one(struct kube_secrets *s, const char *text, size_t len)
{
  if (len == 0 || kube_secrets_are(s, text, len)) {
    return true;
  }
  struct kube_secret *grown =
      aicr_grow(s->list, &s->cap, s->count, sizeof *grown);
  if (grown == NULL) {
    return false;
  }
  s->list = grown;
  char *copy = aicr_calloc(1, len + 1);
  if (copy == NULL) {
    return false;
  }
  memcpy(copy, text, len);
  s->list[s->count++] = (struct kube_secret){copy, len};
  return true;
}

bool kube_secrets_add(struct kube_secrets *s, const char *text, size_t len)
{
  struct aicr_buf url;
  aicr_buf_init(&url, len * 3 + 1);
  url.secret = true;
  bool ok = add_one(s, text, len) && kube_url_escape(&url, text, len) &&
            add_one(s, url.data == NULL ? "" : url.data, url.len);
  aicr_buf_free(&url);
  return ok;
}

/* How long the longest is that begins at a text's start; 0: none does. */
static size_t begins(const struct kube_secrets *s, const char *text, size_t len)
{
  size_t longest = 0;
  for (size_t i = 0; i < s->count; i++) {
    const struct kube_secret *one = &s->list[i];
    if (one->len <= len && one->len > longest && one->text[0] == text[0] &&
        memcmp(one->text, text, one->len) == 0) {
      longest = one->len;
    }
  }
  return longest;
}

bool kube_secrets_in(const struct kube_secrets *s, const char *text, size_t len)
{
  for (size_t at = 0; s != NULL && s->count > 0 && at < len; at++) {
    if (begins(s, text + at, len - at) > 0) {
      return true;
    }
  }
  return false;
}

bool kube_secrets_are(const struct kube_secrets *s, const char *text,
                      size_t len)
{
  return s != NULL && len > 0 && begins(s, text, len) == len;
}

void kube_secrets_mask(const struct kube_secrets *s, const char *text,
                       size_t len, const char *mask, struct aicr_buf *out)
{
  size_t from = 0, at = 0;
  while (s != NULL && at < len) {
    size_t n = begins(s, text + at, len - at);
    if (n > 0) {
      aicr_buf_add(out, text + from, at - from);
      aicr_buf_adds(out, mask);
      from = at + n;
    }
    at += n > 0 ? n : 1;
  }
  aicr_buf_add(out, text + from, len - from);
}

void kube_secrets_free(struct kube_secrets *s)
{
  for (size_t i = 0; i < s->count; i++) {
    explicit_bzero(s->list[i].text, s->list[i].len);
    aicr_free(s->list[i].text);
  }
  aicr_free(s->list);
  *s = (struct kube_secrets){0};
}
