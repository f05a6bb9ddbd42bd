/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/libarchive.h"
#include "kube/recording_index.h"

#define BLOCK        ((size_t)64 << 10)
#define TAR_BLOCK    512
#define PATH_MAX_LEN 1024u
#define RATIO        200u
/* Below that many bytes nothing is a bomb. */
#define RATIO_FREE ((uint64_t)64 << 20)

struct unpacking {
  const struct libarchive *la;
  struct archive *from;
  const char *name;
  struct kube_archive *to;
  uint64_t written;
  struct aicr_error *err;
};

static bool refuse(const struct unpacking *u, const char *reason,
                   const char *member, const char *why)
{
  struct aicr_quoted name, inner;
  return aicr_fail(u->err, AICR_INVALID_REQUEST, reason, "%s: %s%s%s",
                   aicr_quote(&name, u->name, strlen(u->name)),
                   member == NULL ? ""
                                  : aicr_quote(&inner, member, strlen(member)),
                   member == NULL ? "" : ": ", why);
}

static bool invalid(const struct unpacking *u, const char *member,
                    const char *why)
{
  return refuse(u, "recording-invalid", member, why);
}

static bool no_memory(const struct unpacking *u)
{
  return aicr_fail(u->err, AICR_INTERNAL, "memory", "no memory for an archive");
}

/* What libarchive says, which names no file of ours. */
static bool broken(const struct unpacking *u, const char *member)
{
  const char *text = u->la->error_string(u->from);
  if (u->la->error_number(u->from) == ENOMEM) {
    return no_memory(u);
  }
  char why[256];
  snprintf(why, sizeof why, "the archive cannot be read: %.200s",
           text == NULL ? "it is damaged" : text);
  return invalid(u, member, why);
}

bool kube_archive_is(int fd, const char *name)
{
  unsigned char head[TAR_BLOCK] = {0};
  ssize_t n = pread(fd, head, sizeof head, 0);
  if (kube_ends_in(name, ".tar") || kube_ends_in(name, ".tar.gz") ||
      kube_ends_in(name, ".tgz")) {
    return true;
  }
  return (n >= 2 && head[0] == 0x1f && head[1] == 0x8b) ||
         (n == TAR_BLOCK && memcmp(head + 257, "ustar", 5) == 0);
}

/* A file that has no name, and goes with the last that has it open. */
static int open_nameless(void)
{
  const char *folder = getenv("TMPDIR");
  char path[4096];
  folder = folder == NULL || folder[0] != '/' ? "/tmp" : folder;
  int n = snprintf(path, sizeof path, "%s/aicr-run-XXXXXX", folder);
  if (n < 0 || (size_t)n >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int fd = mkstemp(path);
  if (fd < 0) {
    return -1;
  }
  unlink(path);
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static bool write_at(const struct unpacking *u, const char *data, size_t len,
                     uint64_t offset)
{
  while (len > 0) {
    ssize_t n = pwrite(u->to->fd, data, len, (off_t)offset);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      char why[160];
      snprintf(why, sizeof why, "cannot be unpacked below TMPDIR: %.100s",
               strerror(errno));
      return invalid(u, NULL, why);
    }
    data += n;
    offset += (uint64_t)n;
    len -= (size_t)n;
  }
  return true;
}

static bool within_bounds(const struct unpacking *u, uint64_t more,
                          const char *member)
{
  int64_t read = u->la->filter_bytes(u->from, -1);
  uint64_t packed = read < 0 ? 0 : (uint64_t)read;
  if (more > KUBE_ARCHIVE_MAX || u->written > KUBE_ARCHIVE_MAX - more) {
    return refuse(u, "recording-too-large", member,
                  "the archive unpacks to more than 4 GiB");
  }
  uint64_t total = u->written + more;
  if (total > RATIO_FREE && total / RATIO > packed) {
    return refuse(u, "recording-too-large", member,
                  "the archive unpacks to more than 200 times its size");
  }
  return true;
}

/* The data of a member, to the end of what was written. */
static bool copy_data(struct unpacking *u, struct kube_archive_member *m)
{
  uint64_t end = 0;
  for (;;) {
    const void *data = NULL;
    size_t len = 0;
    la_int64_t offset = 0;
    int rc = u->la->read_data_block(u->from, &data, &len, &offset);
    if (rc == ARCHIVE_EOF) {
      break;
    }
    if (rc != ARCHIVE_OK) {
      return broken(u, m->path);
    }
    if (offset < 0 || (uint64_t)offset != end) {
      return invalid(u, m->path, "a sparse file");
    }
    if (!within_bounds(u, len, m->path) ||
        !write_at(u, data, len, m->offset + end)) {
      return false;
    }
    end += len;
    u->written += len;
  }
  return end == m->size || invalid(u, m->path, "the archive is cut");
}

static struct kube_archive_member *add_member(struct unpacking *u,
                                              const char *path, uint64_t size)
{
  struct kube_archive *a = u->to;
  if (a->count >= KUBE_ARCHIVE_FILES) {
    refuse(u, "recording-too-large", path,
           "the archive holds more than 100000 files");
    return NULL;
  }
  struct kube_archive_member *grown =
      aicr_grow(a->members, &a->cap, a->count, sizeof *grown);
  a->members = grown == NULL ? a->members : grown;
  char *copy = grown == NULL ? NULL : aicr_strndup(path, strlen(path));
  if (copy == NULL) {
    no_memory(u);
    return NULL;
  }
  a->members[a->count] = (struct kube_archive_member){copy, u->written, size};
  return &a->members[a->count++];
}

/* The name without "./" before it and "/" after it. */
static bool clean_path(const struct unpacking *u, const char *path,
                       char out[PATH_MAX_LEN])
{
  if (path == NULL) {
    return invalid(u, NULL, "the name of a member cannot be read");
  }
  const char *from = path;
  while (strncmp(from, "./", 2) == 0) {
    from += 2 + strspn(from + 2, "/");
  }
  size_t len = strlen(from);
  while (len > 0 && from[len - 1] == '/' && len > 1) {
    len--;
  }
  if (len >= PATH_MAX_LEN) {
    return invalid(u, path, "a name is too long");
  }
  memcpy(out, from, len);
  out[len] = '\0';
  bool is_root = len == 0 || strcmp(out, ".") == 0;
  return is_root || kube_index_path_ok(out) ||
         invalid(u, path,
                 "a name that leads out of the archive, is too deep, or holds "
                 "a control character");
}

static bool take_member(struct unpacking *u, struct archive_entry *e)
{
  char path[PATH_MAX_LEN] = "";
  if (!clean_path(u, u->la->entry_pathname(e), path)) {
    return false;
  }
  if (u->la->entry_hardlink(e) != NULL || u->la->entry_symlink(e) != NULL) {
    return invalid(u, path, "a link; links in a recording are not followed");
  }
  if (u->la->entry_filetype(e) == AE_IFDIR) {
    return true;
  }
  if (u->la->entry_filetype(e) != AE_IFREG || path[0] == '\0' ||
      strcmp(path, ".") == 0) {
    return invalid(u, path, "neither a plain file nor a folder");
  }
  la_int64_t size = u->la->entry_size(e);
  if (size < 0 || !within_bounds(u, 0, path)) {
    return size >= 0 ? false : invalid(u, path, "a member without a size");
  }
  if ((uint64_t)size > KUBE_ARCHIVE_MAX) {
    return refuse(u, "recording-too-large", path, "larger than 4 GiB");
  }
  struct kube_archive_member *m = add_member(u, path, (uint64_t)size);
  return m != NULL && copy_data(u, m);
}

static bool take_all(struct unpacking *u)
{
  size_t members = 0;
  int64_t before = 0;
  for (;;) {
    struct archive_entry *e = NULL;
    int rc = u->la->read_next_header(u->from, &e);
    if (rc == ARCHIVE_EOF) {
      break;
    }
    if (rc != ARCHIVE_OK) {
      return broken(u, NULL);
    }
    /* Folders count too, though they are not kept. */
    if (++members > KUBE_ARCHIVE_FILES) {
      return refuse(u, "recording-too-large", NULL,
                    "the archive holds more than 100000 members");
    }
    if (!take_member(u, e)) {
      return false;
    }
    before = u->la->filter_bytes(u->from, 0);
  }
  /* A tar ends in blocks of zeros. libarchive takes one that is cut between
   * two members for a whole one. */
  int64_t after = u->la->filter_bytes(u->from, 0);
  return after - before >= TAR_BLOCK ||
         invalid(u, NULL, "the archive is cut: its end mark is missing");
}

/* '/' before all other bytes: the order in which folders are walked. */
static int compare_paths(const char *a, const char *b)
{
  while (*a != '\0' && *a == *b) {
    a++;
    b++;
  }
  unsigned ca = *a == '/' ? 1 : (unsigned char)*a;
  unsigned cb = *b == '/' ? 1 : (unsigned char)*b;
  return ca < cb ? -1 : ca > cb;
}

static int compare_members(const void *left, const void *right)
{
  const struct kube_archive_member *a = left, *b = right;
  return compare_paths(a->path, b->path);
}

/* The first step of all paths, when it is one and the same and a mere wrapper.
 */
static size_t common_folder(const struct kube_archive *a)
{
  static const char *const own[] = {"objects", "errors", "discovery", "logs",
                                    "raw"};
  size_t len = a->count == 0 ? 0 : strcspn(a->members[0].path, "/");
  for (size_t i = 0; i < a->count; i++) {
    const char *path = a->members[i].path;
    if (strncmp(path, a->members[0].path, len) != 0 || path[len] != '/') {
      return 0;
    }
  }
  for (size_t i = 0; len > 0 && i < sizeof own / sizeof own[0]; i++) {
    if (strlen(own[i]) == len && memcmp(a->members[0].path, own[i], len) == 0) {
      return 0;
    }
  }
  return len == 0 ? 0 : len + 1;
}

static bool is_below(const char *path, const char *folder)
{
  size_t len = strlen(folder);
  return strncmp(path, folder, len) == 0 && path[len] == '/';
}

static bool finish(struct unpacking *u)
{
  struct kube_archive *a = u->to;
  size_t drop = common_folder(a);
  for (size_t i = 0; drop > 0 && i < a->count; i++) {
    char *path = a->members[i].path;
    memmove(path, path + drop, strlen(path + drop) + 1);
  }
  if (a->count > 1) {
    qsort(a->members, a->count, sizeof a->members[0], compare_members);
  }
  for (size_t i = 1; i < a->count; i++) {
    const char *path = a->members[i].path, *last = a->members[i - 1].path;
    if (strcmp(path, last) == 0) {
      return invalid(u, path, "the archive holds it twice");
    }
    if (is_below(path, last)) {
      return invalid(u, path, "the archive holds its folder as a file");
    }
  }
  return true;
}

static bool unpack(struct unpacking *u, int fd)
{
  u->to->fd = open_nameless();
  if (u->to->fd < 0) {
    char why[160];
    snprintf(why, sizeof why, "cannot be unpacked below TMPDIR: %.100s",
             strerror(errno));
    return invalid(u, NULL, why);
  }
  if (u->la->read_support_format_tar(u->from) != ARCHIVE_OK ||
      u->la->read_support_filter_gzip(u->from) != ARCHIVE_OK ||
      lseek(fd, 0, SEEK_SET) != 0 ||
      u->la->read_open_fd(u->from, fd, BLOCK) != ARCHIVE_OK) {
    return broken(u, NULL);
  }
  return take_all(u) && finish(u);
}

bool kube_archive_open(struct kube_archive *a, int fd, const char *name,
                       struct aicr_error *err)
{
  *a = (struct kube_archive){.fd = -1};
  const struct libarchive *la = kube_libarchive(err);
  if (la == NULL) {
    return false;
  }
  struct unpacking u = {
      .la = la, .from = la->read_new(), .name = name, .to = a, .err = err};
  bool ok = u.from != NULL ? unpack(&u, fd) : no_memory(&u);
  la->read_free(u.from);
  if (!ok) {
    kube_archive_close(a);
  }
  return ok;
}

void kube_archive_close(struct kube_archive *a)
{
  if (a->fd >= 0) {
    close(a->fd);
  }
  for (size_t i = 0; i < a->count; i++) {
    aicr_free(a->members[i].path);
  }
  aicr_free(a->members);
  *a = (struct kube_archive){.fd = -1};
}

/* The first member that does not lie before the path. */
static size_t lower_bound(const struct kube_archive *a, const char *path)
{
  size_t low = 0, high = a->count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (compare_paths(a->members[mid].path, path) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

const struct kube_archive_member *
kube_archive_find(const struct kube_archive *a, const char *path)
{
  size_t i = lower_bound(a, path);
  return i < a->count && strcmp(a->members[i].path, path) == 0 ? &a->members[i]
                                                               : NULL;
}

bool kube_archive_has_folder(const struct kube_archive *a, const char *path)
{
  size_t i = lower_bound(a, path);
  return i < a->count && is_below(a->members[i].path, path);
}
