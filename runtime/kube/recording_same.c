/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_same.h"

#include <string.h>

static bool same_object(struct kube_rec_texts *left,
                        struct kube_rec_texts *right,
                        const struct kube_rec_object *a,
                        const struct kube_rec_object *b)
{
  struct aicr_error ignored;
  if (a->len != b->len || strcmp(kube_rec_ns(a), kube_rec_ns(b)) != 0 ||
      strcmp(kube_rec_name(a), kube_rec_name(b)) != 0) {
    return false;
  }
  const char *one = kube_rec_text(left, a, &ignored);
  const char *two = kube_rec_text(right, b, &ignored);
  return one != NULL && two != NULL && memcmp(one, two, a->len) == 0;
}

static bool same_set(const struct kube_rec_store *s,
                     const struct kube_rec_set *a, const struct kube_rec_set *b)
{
  struct kube_rec_texts left, right;
  struct aicr_error ignored;
  bool same = a->count == b->count;
  kube_rec_texts_begin(&left, s);
  kube_rec_texts_begin(&right, s);
  for (size_t i = 0; same && i < a->count; i++) {
    same = same_object(&left, &right, &a->items[i], &b->items[i]);
  }
  same = kube_rec_texts_end(&left, &ignored) && same;
  return kube_rec_texts_end(&right, &ignored) && same;
}

static bool same_blob(const struct kube_rec_store *s,
                      const struct kube_rec_blob *a,
                      const struct kube_rec_blob *b)
{
  struct aicr_buf left, right;
  struct aicr_error ignored;
  if (a->len != b->len) {
    return false;
  }
  aicr_buf_init(&left, a->len + 1);
  aicr_buf_init(&right, a->len + 1);
  bool same = kube_rec_blob_read(s, a, &left, &ignored) &&
              kube_rec_blob_read(s, b, &right, &ignored) &&
              left.len == right.len &&
              (left.len == 0 || memcmp(left.data, right.data, left.len) == 0);
  aicr_buf_free(&left);
  aicr_buf_free(&right);
  return same;
}

static bool same_answer(const struct kube_rec_store *s,
                        const struct kube_rec_entry *a,
                        const struct kube_rec_entry *b)
{
  if (a->http != b->http || a->transport != b->transport ||
      a->code != b->code || strcmp(a->reason, b->reason) != 0 ||
      a->holds != b->holds || strcmp(a->content_type, b->content_type) != 0) {
    return false;
  }
  switch (a->holds) {
  case REC_HOLDS_BODY:
    return a->len == b->len &&
           (a->len == 0 || memcmp(a->body, b->body, a->len) == 0);
  case REC_HOLDS_BLOB:
    return same_blob(s, &a->blob, &b->blob);
  default:
    return a->partial == b->partial && same_set(s, &a->set, &b->set);
  }
}

bool kube_rec_same(struct kube_rec_store *s, size_t first, size_t count)
{
  struct kube_rec_entry *e = &s->entries[first];
  if (e->same == REC_SAME_UNKNOWN) {
    bool same = true;
    for (size_t i = 1; same && i < count; i++) {
      same = same_answer(s, e, &e[i]);
    }
    e->same = same ? REC_SAME_YES : REC_SAME_NO;
  }
  return e->same == REC_SAME_YES;
}
