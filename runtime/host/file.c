/* SPDX-License-Identifier: Apache-2.0 */
#include "host/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/signal.h"

#define ENTRIES_MAX 100000
/* How long a reader is waited for before the next look, milliseconds. */
#define READER_WAIT 50

static bool failed(const char **message, const char *text)
{
  if (message)
    *message = text;
  return false;
}

static bool read_fd(int fd, size_t max, struct aicr_buf *out,
                    const char **message)
{
  char chunk[65536];
  size_t total = 0;
  struct stat st;

  if (fstat(fd, &st) != 0)
    return failed(message, strerror(errno));
  if (S_ISDIR(st.st_mode))
    return failed(message, "it is a folder");
  if (!S_ISREG(st.st_mode))
    return failed(message, "it is no regular file");
  for (;;) {
    ssize_t n = read(fd, chunk, sizeof(chunk));

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed(message, strerror(errno));
    if (n == 0)
      return true;
    total += (size_t)n;
    if (total > max)
      return failed(message, "it is too large");
    if (!aicr_buf_add(out, chunk, (size_t)n))
      return failed(message, "out of memory");
  }
}

bool aicr_file_read(const char *path, size_t max, struct aicr_buf *out,
                    const char **message)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool ok;

  if (fd < 0)
    return failed(message, strerror(errno));
  ok = read_fd(fd, max, out, message);
  close(fd);
  return ok;
}

/* Opens one component below dir, which is closed. */
static int step_into(int dir, const char *name, size_t len, bool last)
{
  char part[256];
  int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int fd = -1;

  if (len > 0 && len < sizeof(part) && name[0] != '.') {
    memcpy(part, name, len);
    part[len] = '\0';
    fd = openat(dir, part, last ? flags : flags | O_DIRECTORY);
  } else
    errno = EINVAL;
  close(dir);
  return fd;
}

bool aicr_file_read_below(const char *root, const char *relative, size_t max,
                          struct aicr_buf *out, const char **message)
{
  int fd = open(*root ? root : ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  bool ok;

  while (fd >= 0 && *relative) {
    size_t len = strcspn(relative, "/");
    bool last = relative[len] == '\0';

    fd = step_into(fd, relative, len, last);
    relative += last ? len : len + 1;
  }
  if (fd < 0)
    return failed(message,
                  errno == ELOOP ? "a link is not followed" : strerror(errno));
  ok = read_fd(fd, max, out, message);
  close(fd);
  return ok;
}

static int by_name(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static char entry_type(DIR *dir, const char *name)
{
  struct stat st, self;

  if (fstatat(dirfd(dir), name, &st, 0) != 0 ||
      fstatat(dirfd(dir), name, &self, AT_SYMLINK_NOFOLLOW) != 0)
    return 'o';
  if (S_ISDIR(st.st_mode))
    return S_ISLNK(self.st_mode) ? 'l' : 'd';
  return S_ISREG(st.st_mode) ? 'f' : 'o';
}

/* NULL when all names were read, else why not. */
static const char *read_names(DIR *dir, char **names, size_t *n)
{
  for (;;) {
    struct dirent *e;

    errno = 0;
    e = readdir(dir);
    if (!e)
      return errno ? strerror(errno) : NULL;
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
      continue;
    if (*n == ENTRIES_MAX)
      return "it has more than 100000 entries";
    names[*n] = aicr_strndup(e->d_name, strlen(e->d_name));
    if (!names[*n])
      return "out of memory";
    ++*n;
  }
}

bool aicr_folder_list(const char *path,
                      bool (*found)(void *ud, const char *name, char type),
                      void *ud, const char **message)
{
  DIR *dir = opendir(path);
  const char *problem;
  char **names;
  size_t n = 0;

  if (!dir)
    return failed(message, strerror(errno));
  names = aicr_calloc(ENTRIES_MAX, sizeof(*names));
  problem = names ? read_names(dir, names, &n) : "out of memory";
  if (names)
    qsort(names, n, sizeof(*names), by_name);
  for (size_t i = 0; i < n; i++) {
    if (!problem && !found(ud, names[i], entry_type(dir, names[i])))
      problem = "out of memory";
    aicr_free(names[i]);
  }
  aicr_free(names);
  closedir(dir);
  return problem ? failed(message, problem) : true;
}

static bool write_fd(int fd, const char *data, size_t len, const char **message)
{
  while (len > 0) {
    ssize_t n = write(fd, data, len);

    if (n < 0 && errno == EINTR)
      continue;
    /* Who shares the description may have made it not wait. */
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      struct pollfd room = {.fd = fd, .events = POLLOUT};

      poll(&room, 1, -1);
      continue;
    }
    if (n < 0)
      return failed(message, strerror(errno));
    data += n;
    len -= (size_t)n;
  }
  return true;
}

/* Waits a moment for a reader. False when a signal came instead. */
static bool wait_for_reader(int *interrupt, const char **message)
{
  *interrupt = aicr_signal_take();
  if (!*interrupt) {
    poll(NULL, 0, READER_WAIT);
    *interrupt = aicr_signal_take();
  }
  return *interrupt ? failed(message, "interrupted, nobody reads it") : true;
}

static int open_direct(const char *path, int *interrupt, const char **message)
{
  for (;;) {
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd >= 0)
      return fd;
    if (errno == EINTR)
      continue;
    if (errno != ENXIO || stat(path, &st) != 0 || !S_ISFIFO(st.st_mode)) {
      failed(message, strerror(errno));
      return -1;
    }
    if (!wait_for_reader(interrupt, message))
      return -1;
  }
}

static bool write_direct(const char *path, const char *data, size_t len,
                         int *interrupt, const char **message)
{
  int fd = open_direct(path, interrupt, message);
  bool ok;

  if (fd < 0)
    return false;
  /* A reader that is there gets the whole text. */
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  ok = write_fd(fd, data, len, message);
  if (close(fd) != 0 && ok)
    return failed(message, strerror(errno));
  return ok;
}

/* Makes a file beside the path: its name in *temp, -1 with the reason. */
static int make_beside(const char *path, struct aicr_buf *temp,
                       const char **message)
{
  int fd;

  aicr_buf_init(temp, 4096);
  if (!aicr_buf_addf(temp, "%s.XXXXXX", path)) {
    failed(message, temp->no_memory ? "out of memory" : "the path is too long");
    return -1;
  }
  fd = mkstemp(temp->data);
  if (fd < 0)
    failed(message, strerror(errno));
  return fd;
}

static bool write_renamed(const char *path, const char *data, size_t len,
                          const char **message)
{
  struct aicr_buf temp;
  mode_t mask = umask(0);
  int fd;
  bool ok = false;

  umask(mask);
  fd = make_beside(path, &temp, message);
  if (fd < 0)
    goto out;
  ok = write_fd(fd, data, len, message);
  if (fchmod(fd, 0666 & ~mask) != 0 && ok)
    ok = failed(message, strerror(errno));
  if (close(fd) != 0 && ok)
    ok = failed(message, strerror(errno));
  if (ok && rename(temp.data, path) != 0)
    ok = failed(message, strerror(errno));
  if (!ok)
    unlink(temp.data);
out:
  aicr_buf_free(&temp);
  return ok;
}

bool aicr_file_write(const char *target, const char *data, size_t len,
                     int *interrupt, const char **message)
{
  struct stat st;

  *interrupt = 0;
  if (!strcmp(target, "-")) {
    bool ok = write_fd(STDOUT_FILENO, data, len, message);

    /* A reader that left ends the output, not the run. */
    return ok || errno == EPIPE;
  }
  if (!strcmp(target, "stderr"))
    return write_fd(STDERR_FILENO, data, len, message);
  /* Through a link, as to /dev/stdout, what it points to is written: a rename
   * would put a file in the link's place. */
  if (lstat(target, &st) == 0 && !S_ISREG(st.st_mode))
    return write_direct(target, data, len, interrupt, message);
  return write_renamed(target, data, len, message);
}

/* Is there room for a report beside the path? */
static bool can_rename(const char *path, const char **message)
{
  static const char some[16384];
  struct aicr_buf temp;
  int fd = make_beside(path, &temp, message);
  bool ok = fd >= 0;

  if (ok) {
    ok = write_fd(fd, some, sizeof(some), message);
    if (close(fd) != 0 && ok)
      ok = failed(message, strerror(errno));
    unlink(temp.data);
  }
  aicr_buf_free(&temp);
  return ok;
}

bool aicr_file_can_write(const char *target, const char **message)
{
  struct stat st;

  if (!strcmp(target, "-") || !strcmp(target, "stderr"))
    return true;
  if (lstat(target, &st) != 0 || S_ISREG(st.st_mode))
    return can_rename(target, message);
  /* A link that leads nowhere stays so: nothing is made at its end. */
  if (stat(target, &st) != 0)
    return failed(message, strerror(errno));
  if (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode))
    return failed(message, strerror(S_ISDIR(st.st_mode) ? EISDIR : ENXIO));
  /* Not opened: that would wake, or wait for, the reader of a pipe. */
  return faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) == 0 ||
         failed(message, strerror(errno));
}
