/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_CHILD_H
#define SPEC_C_CHILD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

/* For tests with child processes: a folder with scripts, and looks at what
 * lives. Nothing waits longer than PATIENCE looks of 5 ms. */

#define PATIENCE 4000

static char folder[] = "/tmp/aicr-child-XXXXXX";

static inline const char *in_folder(const char *name)
{
  static char paths[8][256];
  static unsigned next;
  char *path = paths[next++ % COUNT(paths)];

  snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
  return path;
}

static inline void write_file(const char *name, const char *text)
{
  FILE *f = fopen(in_folder(name), "we");

  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

/* A program of that name; the text comes after "#!/bin/sh". It runs with the
 * folder in $D. */
static inline const char *write_script(const char *name, const char *text)
{
  FILE *f = fopen(in_folder(name), "we");

  assert_non_null(f);
  fprintf(f, "#!/bin/sh\nD=%s\n%s\n", folder, text);
  assert_int_equal(fclose(f), 0);
  assert_int_equal(chmod(in_folder(name), 0700), 0);
  return in_folder(name);
}

/* The text of a file, "" when there is none; lives until the next call. */
static inline const char *read_file(const char *name)
{
  static char text[65536];
  int fd = open(in_folder(name), O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

  if (fd >= 0)
    close(fd);
  assert_true(n >= 0);
  text[n] = '\0';
  return text;
}

static inline void remove_file(const char *name)
{
  unlink(in_folder(name));
}

static inline size_t count_lines(const char *name)
{
  size_t n = 0;

  for (const char *p = read_file(name); *p; p++)
    n += *p == '\n';
  return n;
}

static inline void await_lines(const char *name, size_t lines)
{
  for (int i = 0; count_lines(name) < lines; i++) {
    assert_true(i < PATIENCE);
    poll(NULL, 0, 5);
  }
}

/* A zombie whose parent has not looked yet has ended. */
static inline bool alive(long pid)
{
  char path[64], text[256], *after;
  FILE *f;

  snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
  f = fopen(path, "re");
  if (!f)
    return false;
  after = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
  fclose(f);
  return after && after[2] != 'Z' && after[2] != 'X';
}

/* How many of the processes whose numbers are in the file, a line each. */
static inline size_t count_alive(const char *name)
{
  char text[4096], *line = text;
  size_t n = 0;

  snprintf(text, sizeof(text), "%s", read_file(name));
  while (*line) {
    n += alive(strtol(line, &line, 10));
    line += *line == '\n';
  }
  return n;
}

static inline void await_gone(const char *name)
{
  for (int i = 0; count_alive(name) > 0; i++) {
    assert_true(i < PATIENCE);
    poll(NULL, 0, 5);
  }
}

static inline size_t count_descriptors(void)
{
  DIR *dir = opendir("/proc/self/fd");
  size_t n = 0;

  assert_non_null(dir);
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}

/* No process is left that nobody took the exit status of. */
static inline void assert_no_children(void)
{
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

static inline int make_folder(void **state)
{
  int null = open("/dev/null", O_RDWR);

  (void)state;
  /* Not the terminal of whoever runs the tests, who may have closed it. */
  dup2(null, STDIN_FILENO);
  if (null != STDIN_FILENO)
    close(null);
  return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
  DIR *dir = opendir(folder);
  struct dirent *e = dir ? readdir(dir) : NULL;

  (void)state;
  for (; e; e = readdir(dir))
    unlinkat(dirfd(dir), e->d_name, 0);
  if (dir)
    closedir(dir);
  return rmdir(folder);
}

#endif
