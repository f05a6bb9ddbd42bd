/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "kube/recording_store.h"

#define PATH_LEN_MAX 4096
#define KEPT_MAX     300000u

static bool fail_file(struct aicr_error *err, const char *reason,
                      const char *path, const char *what)
{
  struct aicr_quoted q;
  return aicr_fail(err, AICR_INVALID_REQUEST, reason, "%s: %s",
                   aicr_quote(&q, path, strlen(path)), what);
}

bool kube_rec_files_open(struct kube_rec_files *f, const char *path,
                         struct aicr_error *err)
{
  struct stat st;
  *f = (struct kube_rec_files){.root = -1, .archive = {.fd = -1}};
  if (path[0] == '\0') {
    return aicr_fail(err, AICR_INVALID_REQUEST, "recording-missing",
                     "the recording's path is empty");
  }
  /* Not blocking, so that a pipe without a writer cannot hold us up. */
  f->root = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (f->root < 0) {
    int e = errno;
    return fail_file(err, "recording-missing", path,
                     e == ENOENT ? "no such recording" : strerror(e));
  }
  if (fstat(f->root, &st) == 0 &&
      (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) {
    f->is_archive = S_ISREG(st.st_mode) && kube_archive_is(f->root, path);
    f->is_folder = f->is_archive || S_ISDIR(st.st_mode);
    return !f->is_archive || kube_archive_open(&f->archive, f->root, path, err);
  }
  kube_rec_files_close(f);
  return fail_file(err, "recording-invalid", path,
                   "a recording is a folder or a file");
}

void kube_rec_files_close(struct kube_rec_files *f)
{
  if (f->root >= 0) {
    close(f->root);
  }
  for (size_t i = 0; i < f->kept_count; i++) {
    aicr_free(f->kept[i].path);
  }
  aicr_free(f->kept);
  if (f->is_archive) {
    kube_archive_close(&f->archive);
  }
  *f = (struct kube_rec_files){.root = -1, .archive = {.fd = -1}};
}

bool kube_rec_pread(const struct kube_rec_input *in, void *data, size_t len,
                    uint64_t offset, size_t *got, struct aicr_error *err)
{
  uint64_t left = offset < in->len ? in->len - offset : 0;
  len = len < left ? len : (size_t)left;
  *got = 0;
  while (*got < len) {
    ssize_t n = pread(in->fd, (char *)data + *got, len - *got,
                      (off_t)(in->base + offset + *got));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail_file(err, "recording-invalid", in->path, strerror(errno));
    }
    if (n == 0) {
      break;
    }
    *got += (size_t)n;
  }
  return true;
}

bool kube_rec_size(const struct kube_rec_input *in, uint64_t *size,
                   struct aicr_error *err)
{
  struct stat st;
  *size = in->len;
  if (in->len != UINT64_MAX) {
    return true;
  }
  if (fstat(in->fd, &st) != 0) {
    return fail_file(err, "recording-invalid", in->path, strerror(errno));
  }
  *size = (uint64_t)st.st_size;
  return true;
}

bool kube_rec_files_text(struct kube_rec_files *f,
                         const struct kube_rec_input *in, struct aicr_buf *text,
                         struct aicr_error *err)
{
  uint64_t size = 0;
  const size_t room = 1u << 16;
  size_t n = 0;
  aicr_buf_init(text, REC_FILE_MAX);
  if (!kube_rec_size(in, &size, err)) {
    return false;
  }
  if (size > REC_FILE_MAX) {
    return fail_file(err, "recording-too-large", in->path,
                     "larger than 256 MiB");
  }
  char *chunk = aicr_realloc(NULL, room);
  bool ok = chunk != NULL;
  do {
    if (ok && !kube_rec_pread(in, chunk, room, text->len, &n, err)) {
      aicr_free(chunk);
      return false;
    }
    ok = ok && aicr_buf_add(text, chunk, n);
  } while (ok && n == room);
  aicr_free(chunk);
  if (!ok) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  f->bytes += text->len;
  return f->bytes <= REC_TOTAL_MAX ||
         fail_file(err, "recording-too-large", in->path,
                   "the recording is larger than 1 GiB");
}

static bool changed(struct aicr_error *err, const char *path)
{
  return fail_file(err, "recording-changed", path,
                   "the file was changed while it is in use; record it again, "
                   "or run again when nothing writes to it");
}

static void describe(struct kube_rec_file *k, const struct stat *st)
{
  k->dev = (uint64_t)st->st_dev;
  k->ino = (uint64_t)st->st_ino;
  k->size = (uint64_t)st->st_size;
  k->modified = st->st_mtim;
  k->changed = st->st_ctim;
}

bool kube_rec_files_keep(struct kube_rec_files *f,
                         const struct kube_rec_input *in, size_t *kept,
                         struct aicr_error *err)
{
  struct stat st;
  uint64_t size = 0;
  if (!kube_rec_size(in, &size, err)) {
    return false;
  }
  if (fstat(in->fd, &st) != 0) {
    return fail_file(err, "recording-invalid", in->path, strerror(errno));
  }
  if (size > REC_STREAM_MAX) {
    return fail_file(err, "recording-too-large", in->path, "larger than 4 GiB");
  }
  f->streamed += size;
  if (f->streamed > REC_STREAM_TOTAL_MAX) {
    return fail_file(err, "recording-too-large", in->path,
                     "the recording is larger than 16 GiB");
  }
  struct kube_rec_file *k =
      kube_rec_grow((void **)&f->kept, &f->kept_count, &f->kept_cap, sizeof *k,
                    KEPT_MAX, err);
  if (k == NULL) {
    return false;
  }
  *kept = f->kept_count - 1;
  describe(k, &st);
  k->base = in->base;
  k->len = in->len;
  k->path = kube_rec_copy(in->path, strlen(in->path), err);
  return k->path != NULL;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool kube_rec_files_same(const struct kube_rec_files *f, size_t kept, int fd,
                         struct aicr_error *err)
{
  const struct kube_rec_file *k = &f->kept[kept];
  struct kube_rec_file now;
  struct stat st;
  if (fstat(fd, &st) != 0) {
    return changed(err, k->path);
  }
  describe(&now, &st);
  bool same = now.dev == k->dev && now.ino == k->ino && now.size == k->size &&
              same_time(&now.modified, &k->modified) &&
              same_time(&now.changed, &k->changed);
  return same || changed(err, k->path);
}

/* Opens one step below a folder; -1 when it is absent (no error) or refused. */
static int open_step(int folder, const char *name, size_t len, bool last,
                     const char *path, bool *absent, struct aicr_error *err)
{
  char step[256];
  struct stat st;
  *absent = false;
  if (len >= sizeof step) {
    fail_file(err, "recording-invalid", path, "a name is too long");
    return -1;
  }
  memcpy(step, name, len);
  step[len] = '\0';
  if (fstatat(folder, step, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    *absent = errno == ENOENT || errno == ENOTDIR;
    if (!*absent) {
      fail_file(err, "recording-invalid", path, strerror(errno));
    }
    return -1;
  }
  if (S_ISLNK(st.st_mode)) {
    fail_file(err, "recording-invalid", path,
              "a link; links in a recording are not followed");
    return -1;
  }
  if (last ? !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode)) {
    fail_file(err, "recording-invalid", path,
              last ? "not a plain file" : "not a folder");
    return -1;
  }
  int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int fd = openat(folder, step, flags | (last ? 0 : O_DIRECTORY));
  if (fd < 0) {
    fail_file(err, "recording-invalid", path, strerror(errno));
  }
  return fd;
}

/* Opens a file below the root; -1 as open_step(). */
static int open_below(const struct kube_rec_files *f, const char *path,
                      bool *absent, struct aicr_error *err)
{
  int at = f->root;
  const char *step = path;
  *absent = false;
  for (;;) {
    size_t len = strcspn(step, "/");
    bool last = step[len] == '\0';
    int next = open_step(at, step, len, last, path, absent, err);
    if (at != f->root) {
      close(at);
    }
    if (next < 0 || last) {
      return next;
    }
    at = next;
    step += len + 1;
  }
}

/* A member of an archive, or the file behind a descriptor of ours. */
static int open_part(const struct kube_rec_files *f, const char *path,
                     struct kube_rec_input *in, bool *absent)
{
  *absent = false;
  if (!f->is_archive) {
    return fcntl(f->root, F_DUPFD_CLOEXEC, 0);
  }
  const struct kube_archive_member *m = kube_archive_find(&f->archive, path);
  if (m == NULL) {
    *absent = true;
    return -1;
  }
  in->base = m->offset;
  in->len = m->size;
  return fcntl(f->archive.fd, F_DUPFD_CLOEXEC, 0);
}

bool kube_rec_files_input(struct kube_rec_files *f, const char *path,
                          bool *found, struct kube_rec_input *in,
                          struct aicr_error *err)
{
  bool absent = false, below = f->is_folder && !f->is_archive;
  struct stat st;
  *in = (struct kube_rec_input){path, -1, 0, UINT64_MAX};
  in->fd = below ? open_below(f, path, &absent, err)
                 : open_part(f, path, in, &absent);
  if (found != NULL) {
    *found = !absent;
  }
  if (in->fd < 0 && below && !absent) {
    return false;
  }
  if (in->fd < 0 && absent) {
    return found != NULL ||
           fail_file(err, "recording-invalid", path, "the file is missing");
  }
  if (in->fd < 0) {
    return fail_file(err, "recording-invalid", path, strerror(errno));
  }
  if (fstat(in->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    kube_rec_input_close(in);
    return fail_file(err, "recording-invalid", path, "not a plain file");
  }
  return true;
}

void kube_rec_input_close(struct kube_rec_input *in)
{
  if (in->fd >= 0) {
    close(in->fd);
  }
  in->fd = -1;
}

bool kube_rec_files_read(struct kube_rec_files *f, const char *path,
                         bool *found, struct aicr_buf *text,
                         struct aicr_error *err)
{
  struct kube_rec_input in;
  aicr_buf_init(text, REC_FILE_MAX);
  if (!kube_rec_files_input(f, path, found, &in, err)) {
    return false;
  }
  if (in.fd < 0) {
    return true;
  }
  bool ok = kube_rec_files_text(f, &in, text, err);
  kube_rec_input_close(&in);
  if (!ok) {
    aicr_buf_free(text);
  }
  return ok;
}

bool kube_rec_files_reopen(const struct kube_rec_files *f, size_t kept,
                           struct kube_rec_input *in, struct aicr_error *err)
{
  const struct kube_rec_file *k = &f->kept[kept];
  bool absent = false;
  *in = (struct kube_rec_input){k->path, -1, k->base, k->len};
  in->fd =
      f->is_folder && !f->is_archive
          ? open_below(f, k->path, &absent, NULL)
          : fcntl(f->is_archive ? f->archive.fd : f->root, F_DUPFD_CLOEXEC, 0);
  if (in->fd < 0) {
    return changed(err, k->path);
  }
  if (!kube_rec_files_same(f, kept, in->fd, err)) {
    kube_rec_input_close(in);
    return false;
  }
  return true;
}

bool kube_rec_files_sort(struct kube_rec_files *f, const char *name,
                         enum kube_rec_sort *out, struct aicr_error *err)
{
  struct stat st;
  *out = REC_ABSENT;
  if (f->is_archive) {
    *out = kube_archive_find(&f->archive, name) != NULL ? REC_FILE
           : kube_archive_has_folder(&f->archive, name) ? REC_FOLDER
                                                        : REC_ABSENT;
    return true;
  }
  if (fstatat(f->root, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ||
           fail_file(err, "recording-invalid", name, strerror(errno));
  }
  if (S_ISREG(st.st_mode)) {
    *out = REC_FILE;
  } else if (S_ISDIR(st.st_mode)) {
    *out = REC_FOLDER;
  } else {
    return fail_file(err, "recording-invalid", name,
                     "neither a plain file nor a folder (links are not "
                     "followed)");
  }
  return true;
}

struct names {
  char **items;
  size_t count, cap;
};

static void free_names(struct names *n)
{
  for (size_t i = 0; i < n->count; i++) {
    aicr_free(n->items[i]);
  }
  aicr_free(n->items);
}

static bool add_name(struct names *n, const char *name)
{
  char **grown = aicr_grow(n->items, &n->cap, n->count, sizeof *grown);
  if (grown == NULL) {
    return false;
  }
  n->items = grown;
  n->items[n->count] = aicr_strndup(name, strlen(name));
  return n->items[n->count] != NULL && ++n->count > 0;
}

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool list_folder(struct kube_rec_files *f, int fd, const char *path,
                        struct names *names, struct aicr_error *err)
{
  /* The stream closes its descriptor; ours is still needed. */
  int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = copy < 0 ? NULL : fdopendir(copy);
  if (dir == NULL) {
    if (copy >= 0) {
      close(copy);
    }
    return fail_file(err, "recording-invalid", path, "cannot be listed");
  }
  bool ok = true;
  const struct dirent *entry = readdir(dir);
  while (ok && entry != NULL) {
    if (entry->d_name[0] != '.') {
      ok = ++f->files <= REC_FILES_MAX;
      if (!ok) {
        fail_file(err, "recording-too-large", path,
                  "more than 100000 files and folders");
      } else if (!add_name(names, entry->d_name)) {
        ok = aicr_fail(err, AICR_INTERNAL, "memory",
                       "no memory for a recording");
      }
    }
    entry = readdir(dir);
  }
  closedir(dir);
  if (ok && names->count > 1) {
    qsort(names->items, names->count, sizeof names->items[0], compare_names);
  }
  return ok;
}

static bool walk(struct kube_rec_files *f, int fd, const char *path,
                 unsigned depth, const struct kube_rec_visitor *v,
                 struct aicr_error *err);

static bool walk_entry(struct kube_rec_files *f, int folder, const char *name,
                       const char *path, unsigned depth,
                       const struct kube_rec_visitor *v, struct aicr_error *err)
{
  struct stat st;
  bool absent = false, ok = true;
  if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_file(err, "recording-invalid", path, strerror(errno));
  }
  bool last = !S_ISDIR(st.st_mode);
  if (last && S_ISREG(st.st_mode) && !v->wants(path)) {
    return true;
  }
  int fd = open_step(folder, name, strlen(name), last, path, &absent, err);
  if (fd < 0) {
    return absent ? fail_file(err, "recording-invalid", path, "it vanished")
                  : false;
  }
  if (!last) {
    ok = walk(f, fd, path, depth + 1, v, err);
    close(fd);
    return ok;
  }
  struct kube_rec_input in = {path, fd, 0, UINT64_MAX};
  ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
           ? v->visit(v->ctx, &in, err)
           : fail_file(err, "recording-invalid", path, "not a plain file");
  close(fd);
  return ok;
}

static bool walk(struct kube_rec_files *f, int fd, const char *path,
                 unsigned depth, const struct kube_rec_visitor *v,
                 struct aicr_error *err)
{
  struct names names = {0};
  struct aicr_buf child;
  if (depth > REC_DEPTH_MAX) {
    return fail_file(err, "recording-too-large", path,
                     "more than 16 folders deep");
  }
  bool ok = list_folder(f, fd, path, &names, err);
  aicr_buf_init(&child, PATH_LEN_MAX + 2);
  for (size_t i = 0; ok && i < names.count; i++) {
    aicr_buf_reset(&child);
    aicr_buf_addf(&child, "%s%s%s", path, path[0] == '\0' ? "" : "/",
                  names.items[i]);
    if (strlen(path) + strlen(names.items[i]) >= PATH_LEN_MAX) {
      ok = fail_file(err, "recording-too-large", path, "a path is too long");
    } else if (child.failed) {
      ok = aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
    } else {
      ok = walk_entry(f, fd, names.items[i], child.data, depth, v, err);
    }
  }
  aicr_buf_free(&child);
  free_names(&names);
  return ok;
}

static bool is_hidden(const char *path)
{
  return path[0] == '.' || strstr(path, "/.") != NULL;
}

static bool walk_archive(struct kube_rec_files *f, const char *path,
                         const struct kube_rec_visitor *v,
                         struct aicr_error *err)
{
  const struct kube_archive *a = &f->archive;
  size_t len = strlen(path);
  bool ok = true;
  for (size_t i = 0; ok && i < a->count; i++) {
    const char *at = a->members[i].path;
    bool below = len == 0 || (strncmp(at, path, len) == 0 && at[len] == '/');
    struct kube_rec_input in;
    if (below && !is_hidden(at) && v->wants(at)) {
      ok = kube_rec_files_input(f, at, NULL, &in, err) &&
           v->visit(v->ctx, &in, err);
      kube_rec_input_close(&in);
    }
  }
  return ok;
}

bool kube_rec_files_walk(struct kube_rec_files *f, const char *path,
                         const struct kube_rec_visitor *v,
                         struct aicr_error *err)
{
  bool absent = false;
  if (f->is_archive) {
    return walk_archive(f, path, v, err);
  }
  if (path[0] == '\0') {
    return walk(f, f->root, "", 1, v, err);
  }
  int fd = open_step(f->root, path, strlen(path), false, path, &absent, err);
  if (fd < 0) {
    return absent;
  }
  bool ok = walk(f, fd, path, 1, v, err);
  close(fd);
  return ok;
}
