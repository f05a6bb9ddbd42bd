/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

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
  *t = (struct kube_rec_texts){.files = &s->files, .in = {.fd = -1}};
}

static bool leave_file(struct kube_rec_texts *t, struct aicr_error *err)
{
  if (t->in.fd < 0) {
    return true;
  }
  bool same = kube_rec_files_same(t->files, t->file, t->in.fd, err);
  kube_rec_input_close(&t->in);
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
  if (t->in.fd >= 0 && t->file == file) {
    return true;
  }
  if (!leave_file(t, err)) {
    return false;
  }
  t->file = file;
  return kube_rec_files_reopen(t->files, file, &t->in, err);
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
      !kube_rec_pread(&t->in, t->data, at->len, at->offset, &got, err)) {
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

bool kube_rec_blob_read(const struct kube_rec_store *s,
                        const struct kube_rec_blob *blob, struct aicr_buf *out,
                        struct aicr_error *err)
{
  const struct kube_rec_files *files = &s->files;
  const char *path = files->kept[blob->file].path;
  struct aicr_quoted q;
  size_t got = 0, len = (size_t)blob->len;
  if (blob->len > REC_FILE_MAX) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "recording-too-large",
                     "%s: a text over 256 MiB",
                     aicr_quote(&q, path, strlen(path)));
  }
  struct kube_rec_input in;
  if (!kube_rec_files_reopen(files, blob->file, &in, err)) {
    return false;
  }
  bool ok = aicr_buf_room(out, len) || aicr_fail(err, AICR_INTERNAL, "memory",
                                                 "no memory for a recording");
  ok = ok &&
       kube_rec_pread(&in, out->data + out->len, len, blob->offset, &got, err);
  ok = kube_rec_files_same(files, blob->file, in.fd, ok ? err : NULL) && ok;
  kube_rec_input_close(&in);
  if (ok) {
    out->len += got;
    out->data[out->len] = '\0';
  }
  return ok;
}
