/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/file.h"
#include "host/signal.h"

static char folder[64];
static int interrupt;

static int make_folder(void **state)
{
  (void)state;
  snprintf(folder, sizeof(folder), "/tmp/aicr-file-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
  pid_t child = fork();
  int status = -1;

  (void)state;
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
    _exit(127);
  }
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static const char *at(const char *name)
{
  static char path[256];

  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static bool read_back(const char *path, const char *expected)
{
  struct aicr_buf b;
  bool ok;

  aicr_buf_init(&b, 1000);
  ok = aicr_file_read(path, 1000, &b, NULL) && b.len == strlen(expected) &&
       !memcmp(b.data ? b.data : "", expected, b.len);
  aicr_buf_free(&b);
  return ok;
}

static void test_write_and_read(void **state)
{
  const char *message = NULL;

  (void)state;
  assert_true(aicr_file_write(at("a"), "one", 3, &interrupt, &message));
  assert_true(read_back(at("a"), "one"));
  assert_true(aicr_file_write(at("a"), "", 0, &interrupt, &message));
  assert_true(read_back(at("a"), ""));
  assert_false(aicr_file_write(at("none/a"), "x", 1, &interrupt, &message));
  assert_non_null(message);
}

static void test_refused_reads(void **state)
{
  struct aicr_buf b;
  const char *message = NULL;

  (void)state;
  aicr_buf_init(&b, 1000);
  assert_false(aicr_file_read(folder, 10, &b, &message));
  assert_string_equal(message, "it is a folder");
  assert_false(aicr_file_read("/dev/zero", 10, &b, &message));
  assert_string_equal(message, "it is no regular file");
  assert_true(aicr_file_write(at("big"), "0123456789A", 11, &interrupt, NULL));
  assert_false(aicr_file_read(at("big"), 10, &b, &message));
  assert_string_equal(message, "it is too large");
  assert_false(aicr_file_read(at("absent"), 10, &b, &message));
  assert_int_equal(mkfifo(at("fifo"), 0600), 0);
  assert_false(aicr_file_read(at("fifo"), 10, &b, &message));
  aicr_buf_free(&b);
}

static void test_below(void **state)
{
  struct aicr_buf b;
  static const char *const refused[] = {
      "../a",        "sub/../a",   "./a", "/etc/passwd", "link.lua",
      "dlink/x.lua", "sub//x.lua", "",    ".hidden",     NULL};

  (void)state;
  assert_int_equal(mkdir(at("sub"), 0700), 0);
  assert_true(aicr_file_write(at("sub/x.lua"), "x", 1, &interrupt, NULL));
  assert_true(aicr_file_write(at(".hidden"), "x", 1, &interrupt, NULL));
  assert_int_equal(symlink("sub/x.lua", at("link.lua")), 0);
  assert_int_equal(symlink("sub", at("dlink")), 0);
  aicr_buf_init(&b, 100);
  assert_true(aicr_file_read_below(folder, "sub/x.lua", 100, &b, NULL));
  assert_int_equal(b.len, 1);
  for (size_t i = 0; refused[i]; i++)
    assert_false(aicr_file_read_below(folder, refused[i], 100, &b, NULL));
  aicr_buf_free(&b);
}

struct names {
  char text[256];
};

static bool note(void *ud, const char *name, char type)
{
  struct names *n = ud;
  size_t used = strlen(n->text);

  snprintf(n->text + used, sizeof(n->text) - used, "%c:%s ", type, name);
  return true;
}

static void test_list(void **state)
{
  struct names n = {""};
  const char *message = NULL;

  (void)state;
  assert_int_equal(mkdir(at("list"), 0700), 0);
  assert_int_equal(mkdir(at("list/b"), 0700), 0);
  assert_true(aicr_file_write(at("list/a"), "", 0, &interrupt, NULL));
  assert_true(aicr_file_write(at("list/Z"), "", 0, &interrupt, NULL));
  assert_int_equal(symlink("absent", at("list/dangling")), 0);
  assert_int_equal(symlink("..", at("list/up")), 0);
  assert_int_equal(symlink("a", at("list/link")), 0);
  assert_true(aicr_folder_list(at("list"), note, &n, &message));
  assert_string_equal(n.text, "f:Z f:a d:b o:dangling f:link l:up ");
  assert_false(aicr_folder_list(at("absent"), note, &n, &message));
  assert_non_null(message);
}

/* One that is read late, and slowly, is written whole. */
static void test_fifo(void **state)
{
  char big[1 << 18], got[1 << 18];
  size_t len = 0;
  int status = 0;

  (void)state;
  memset(big, 'x', sizeof(big));
  assert_int_equal(mkfifo(at("pipe"), 0600), 0);
  pid_t child = fork();
  if (child == 0)
    _exit(aicr_file_write(at("pipe"), big, sizeof(big), &interrupt, NULL) &&
                  interrupt == 0
              ? 0
              : 1);
  assert_true(child > 0);
  int fd = open(at("pipe"), O_RDONLY);
  assert_true(fd >= 0);
  for (ssize_t n = 1; n > 0 && len < sizeof(got); len += (size_t)n)
    n = read(fd, got + len, sizeof(got) - len);
  close(fd);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_memory_equal(got, big, sizeof(big));
}

/* A signal ends the wait for a reader, also one that came before. */
static void test_fifo_interrupted(void **state)
{
  const char *message = NULL;
  struct sigaction before[3];

  (void)state;
  sigaction(SIGINT, NULL, &before[0]);
  sigaction(SIGTERM, NULL, &before[1]);
  sigaction(SIGPIPE, NULL, &before[2]);
  aicr_signal_open();
  assert_int_equal(mkfifo(at("unread"), 0600), 0);
  raise(SIGTERM);
  assert_false(aicr_file_write(at("unread"), "x", 1, &interrupt, &message));
  assert_int_equal(interrupt, SIGTERM);
  assert_string_equal(aicr_signal_name(interrupt), "SIGTERM");
  assert_string_equal(message, "interrupted, nobody reads it");
  assert_true(aicr_file_write(at("a"), "x", 1, &interrupt, &message));
  assert_int_equal(interrupt, 0);
  assert_null(aicr_signal_name(interrupt));
  sigaction(SIGINT, &before[0], NULL);
  sigaction(SIGTERM, &before[1], NULL);
  sigaction(SIGPIPE, &before[2], NULL);
}

/* What was there stays when the new text cannot be written whole. */
static void test_atomic(void **state)
{
  (void)state;
  assert_int_equal(mkdir(at("ro"), 0700), 0);
  assert_true(aicr_file_write(at("ro/report"), "old", 3, &interrupt, NULL));
  assert_true(aicr_file_write(at("ro/report"), "new", 3, &interrupt, NULL));
  assert_true(read_back(at("ro/report"), "new"));
  assert_int_equal(symlink("report", at("ro/link")), 0);
  assert_true(aicr_file_write(at("ro/link"), "linked", 6, &interrupt, NULL));
  assert_true(read_back(at("ro/report"), "linked"));
  assert_true(aicr_file_write("/dev/null", "x", 1, &interrupt, NULL));
  assert_false(aicr_file_write("/dev/full", "x", 1, &interrupt, NULL));
}

/* Asking changes nothing that is there. */
static void test_can_write(void **state)
{
  const char *message = NULL;

  (void)state;
  assert_int_equal(mkdir(at("can"), 0700), 0);
  assert_true(aicr_file_can_write(at("can/new"), &message));
  assert_int_not_equal(access(at("can/new"), F_OK), 0);
  assert_true(aicr_file_write(at("can/old"), "old", 3, &interrupt, NULL));
  assert_int_equal(symlink("old", at("can/link")), 0);
  assert_int_equal(mkfifo(at("can/pipe"), 0600), 0);
  assert_true(aicr_file_can_write(at("can/old"), &message));
  assert_true(aicr_file_can_write(at("can/link"), &message));
  assert_true(aicr_file_can_write(at("can/pipe"), &message));
  assert_true(read_back(at("can/old"), "old"));
  assert_true(aicr_file_can_write("/dev/full", &message));
  assert_true(aicr_file_can_write("-", &message));
  assert_null(message);
  assert_false(aicr_file_can_write(at("can"), &message));
  assert_string_equal(message, "Is a directory");
  assert_false(aicr_file_can_write(at("can/none/new"), &message));
  assert_string_equal(message, "No such file or directory");
  assert_false(aicr_file_can_write(at("can/old/new"), &message));
  assert_string_equal(message, "Not a directory");
  assert_int_equal(symlink("nowhere", at("can/lost")), 0);
  assert_false(aicr_file_can_write(at("can/lost"), &message));
  assert_false(aicr_file_can_write("/proc/new", &message));
}

/* A program that shares stdout may have made it not wait for its reader. */
static void test_stdout_that_does_not_wait(void **state)
{
  enum { SIZE = 300000 };
  char *text = calloc(1, SIZE);
  int ends[2], before = dup(STDOUT_FILENO), status = -1;
  pid_t reader;
  bool ok;

  (void)state;
  assert_non_null(text);
  assert_int_equal(pipe(ends), 0);
  fflush(stdout);
  reader = fork();
  if (reader == 0) {
    size_t total = 0;

    close(ends[1]);
    usleep(50000);
    for (ssize_t n = 1; n > 0; total += n > 0 ? (size_t)n : 0)
      n = read(ends[0], text, SIZE);
    _exit(total == SIZE ? 0 : 1);
  }
  close(ends[0]);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  ok = aicr_file_write("-", text, SIZE, &interrupt, NULL);
  dup2(before, STDOUT_FILENO);
  close(before);
  free(text);
  assert_true(ok);
  assert_int_equal(waitpid(reader, &status, 0), reader);
  assert_int_equal(status, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_write_and_read),
      cmocka_unit_test(test_refused_reads),
      cmocka_unit_test(test_below),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_atomic),
      cmocka_unit_test(test_can_write),
      cmocka_unit_test(test_stdout_that_does_not_wait),
      cmocka_unit_test(test_fifo),
      cmocka_unit_test(test_fifo_interrupted),
  };

  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
