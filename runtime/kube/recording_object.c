/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "kube/recording_scan.h"
#include "kube/recording_store.h"

/* Names of objects in memory, and their texts, read when they are asked for. */

#define BLOCK ((size_t)32 << 10)

struct kube_rec_block {
  struct kube_rec_block *before;
  char text[];
};

char *kube_rec_names_add(struct kube_rec_names *n, const char *ns,
                         const char *name, struct aicr_error *err)
{
  size_t ns_size = strlen(ns) + 1, size = ns_size + strlen(name) + 1;
  if (n->last == NULL || size > n->size - n->used) {
    size_t room = size > BLOCK ? size : BLOCK;
    struct kube_rec_block *b = aicr_realloc(NULL, sizeof *b + room);
    if (b == NULL) {
      aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
      return NULL;
    }
    b->before = n->last;
    *n = (struct kube_rec_names){b, 0, room};
  }
  char *at = n->last->text + n->used;
  memcpy(at, ns, ns_size);
  memcpy(at + ns_size, name, size - ns_size);
  n->used += size;
  return at;
}

void kube_rec_names_drop(struct kube_rec_names *n,
                         const struct kube_rec_names *mark)
{
  while (n->last != mark->last) {
    struct kube_rec_block *b = n->last;
    n->last = b->before;
    aicr_free(b);
  }
  *n = *mark;
}

void kube_rec_texts_begin(struct kube_rec_texts *t,
                          const struct kube_rec_store *s)
{
  *t = (struct kube_rec_texts){.files = &s->files, .fd = -1};
}

static bool leave_file(struct kube_rec_texts *t, struct aicr_error *err)
{
  if (t->fd < 0) {
    return true;
  }
  bool same = kube_rec_files_same(t->files, t->file, t->fd, err);
  close(t->fd);
  t->fd = -1;
  return same;
}

bool kube_rec_texts_end(struct kube_rec_texts *t, struct aicr_error *err)
{
  aicr_free(t->data);
  t->data = NULL;
  return leave_file(t, err);
}

static bool enter_file(struct kube_rec_texts *t, size_t file,
                       struct aicr_error *err)
{
  if (t->fd >= 0 && t->file == file) {
    return true;
  }
  if (!leave_file(t, err)) {
    return false;
  }
  t->fd = kube_rec_files_reopen(t->files, file, err);
  t->file = file;
  return t->fd >= 0;
}

static bool make_room(struct kube_rec_texts *t, size_t len,
                      struct aicr_error *err)
{
  if (len < t->cap) {
    return true;
  }
  char *grown = aicr_realloc(t->data, len + len / 2 + 1);
  if (grown == NULL) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  t->data = grown;
  t->cap = len + len / 2 + 1;
  return true;
}

const char *kube_rec_span_text(struct kube_rec_texts *t,
                               const struct kube_rec_span *at,
                               struct aicr_error *err)
{
  size_t got = 0;
  if (at->text != NULL) {
    return at->text;
  }
  const char *path = t->files->kept[at->file].path;
  if (at->len > REC_ITEM_MAX) {
    aicr_fail(err, AICR_INVALID_REQUEST, "recording-too-large",
              "an object over 16 MiB");
    return NULL;
  }
  if (!make_room(t, at->len, err) || !enter_file(t, at->file, err) ||
      !kube_rec_pread(t->fd, path, t->data, at->len, at->offset, &got, err)) {
    return NULL;
  }
  t->data[got] = '\0';
  /* A file's time has steps; what falls into one of them is seen here. */
  if (got < at->len || t->data[0] != '{' || t->data[got - 1] != '}') {
    struct aicr_quoted q;
    aicr_fail(err, AICR_INVALID_REQUEST, "recording-changed",
              "%s: there is no object at byte %llu any more",
              aicr_quote(&q, path, strlen(path)),
              (unsigned long long)at->offset);
    return NULL;
  }
  return t->data;
}

const char *kube_rec_text(struct kube_rec_texts *t,
                          const struct kube_rec_object *o,
                          struct aicr_error *err)
{
  struct kube_rec_span at = {.len = o->len};
  if (o->file == REC_IN_MEMORY) {
    return o->at.text;
  }
  at.file = o->file;
  at.offset = o->at.offset;
  return kube_rec_span_text(t, &at, err);
}
