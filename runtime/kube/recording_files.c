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

#define PATH_LEN_MAX 4096

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
  *f = (struct kube_rec_files){.root = -1};
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
    f->is_folder = S_ISDIR(st.st_mode);
    return true;
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
  f->root = -1;
}

static bool read_all(struct kube_rec_files *f, int fd, const char *path,
                     struct aicr_buf *text, struct aicr_error *err)
{
  size_t room = 1u << 16;
  char *chunk = aicr_realloc(NULL, room);
  bool ok = chunk != NULL;
  ssize_t n = 0;
  while (ok) {
    n = read(fd, chunk, room);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      break;
    }
    ok = aicr_buf_add(text, chunk, (size_t)n);
  }
  aicr_free(chunk);
  if (n < 0) {
    return fail_file(err, "recording-invalid", path, strerror(errno));
  }
  if (!ok) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  f->bytes += text->len;
  return f->bytes <= REC_TOTAL_MAX ||
         fail_file(err, "recording-too-large", path,
                   "the recording is larger than 1 GiB");
}

/* Checks what was opened and reads it. Closes fd. */
static bool read_file(struct kube_rec_files *f, int fd, const char *path,
                      struct aicr_buf *text, struct aicr_error *err)
{
  struct stat st;
  bool ok = false;
  aicr_buf_init(text, REC_FILE_MAX);
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    fail_file(err, "recording-invalid", path, "not a plain file");
  } else if (st.st_size > (off_t)REC_FILE_MAX) {
    fail_file(err, "recording-too-large", path, "larger than 256 MiB");
  } else {
    ok = read_all(f, fd, path, text, err);
  }
  close(fd);
  if (!ok) {
    aicr_buf_free(text);
  }
  return ok;
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

bool kube_rec_files_read(struct kube_rec_files *f, const char *path,
                         bool *found, struct aicr_buf *text,
                         struct aicr_error *err)
{
  if (found != NULL) {
    *found = true;
  }
  aicr_buf_init(text, REC_FILE_MAX);
  int at = f->root;
  const char *step = path;
  while (f->is_folder) {
    size_t len = strcspn(step, "/");
    bool last = step[len] == '\0', absent = false;
    int next = open_step(at, step, len, last, path, &absent, err);
    if (at != f->root) {
      close(at);
    }
    if (next < 0 && absent && found != NULL) {
      *found = false;
      return true;
    }
    if (next < 0) {
      return !absent ? false
                     : fail_file(err, "recording-invalid", path,
                                 "the file is missing");
    }
    at = next;
    if (last) {
      break;
    }
    step += len + 1;
  }
  if (!f->is_folder) {
    at = fcntl(f->root, F_DUPFD_CLOEXEC, 0);
    if (at < 0) {
      return fail_file(err, "recording-invalid", path, strerror(errno));
    }
  }
  return read_file(f, at, path, text, err);
}

bool kube_rec_files_sort(struct kube_rec_files *f, const char *name,
                         enum kube_rec_sort *out, struct aicr_error *err)
{
  struct stat st;
  *out = REC_ABSENT;
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
  if (n->count == n->cap) {
    size_t cap = n->cap == 0 ? 16 : n->cap * 2;
    char **grown = aicr_realloc(n->items, cap * sizeof *grown);
    if (grown == NULL) {
      return false;
    }
    n->items = grown;
    n->cap = cap;
  }
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
  struct aicr_buf text;
  ok = read_file(f, fd, path, &text, err) && v->visit(v->ctx, path, &text, err);
  aicr_buf_free(&text);
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

bool kube_rec_files_walk(struct kube_rec_files *f, const char *path,
                         const struct kube_rec_visitor *v,
                         struct aicr_error *err)
{
  bool absent = false;
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
