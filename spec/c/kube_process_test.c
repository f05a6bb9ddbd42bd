/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/process.h"

#include <sys/resource.h>

#include "child.h"
#include "torture.h"

#define SHELL "/bin/sh"

static struct kube_process *start(const char *text, size_t output_max,
                                  int64_t deadline_ms)
{
  static char *environment[] = {"A=1", NULL};
  char *const words[] = {"sh", "-c", (char *)(uintptr_t)text, NULL};
  struct kube_process_spec spec = {SHELL, words,      environment,
                                   false, output_max, deadline_ms};
  struct aicr_error err;

  return kube_process_start(&spec, &err);
}

/* Steps at now_ms until it is in that state. */
static void await_state(struct kube_process *p, enum kube_process_state state,
                        int64_t now_ms)
{
  struct pollfd fds[3];

  for (int i = 0; kube_process_step(p, now_ms) < state; i++) {
    assert_true(i < PATIENCE);
    poll(fds, (nfds_t)kube_process_descriptors(p, fds), 20);
  }
}

static void assert_ended(struct kube_process *p, enum kube_process_end end,
                         int number)
{
  int got;

  await_state(p, KUBE_PROCESS_ENDED, 0);
  assert_int_equal(kube_process_end(p, &got), end);
  assert_int_equal(got, number);
}

static void assert_errors(const struct kube_process *p, const char *text)
{
  struct aicr_buf b;

  aicr_buf_init(&b, 20000);
  assert_true(kube_process_add_errors(p, &b));
  assert_string_equal(b.len > 0 ? b.data : "", text);
  aicr_buf_free(&b);
}

static void assert_output(const struct kube_process *p, const char *text)
{
  const struct aicr_buf *b = kube_process_output(p);

  assert_int_equal(b->len, strlen(text));
  assert_string_equal(b->len > 0 ? b->data : "", text);
}

static const struct end {
  const char *what, *text;
  enum kube_process_end end;
  int number;
  const char *output, *errors;
} ends[] = {
    {"nothing", ":", KUBE_PROCESS_EXITED, 0, "", ""},
    {"an exit status", "exit 42", KUBE_PROCESS_EXITED, 42, "", ""},
    {"a signal", "kill -9 $$", KUBE_PROCESS_SIGNALED, 9, "", ""},
    {"both pipes", "echo out; echo err >&2", KUBE_PROCESS_EXITED, 0, "out\n",
     "err\n"},
    {"a steered terminal", "printf '\\033[1mred\\033[0m\\ta\\001' >&2; exit 1",
     KUBE_PROCESS_EXITED, 1, "", "red a"},
    {"the environment that was given", "echo $A-$HOME-", KUBE_PROCESS_EXITED, 0,
     "1--\n", ""},
    {"an empty stdin", "cat; echo end", KUBE_PROCESS_EXITED, 0, "end\n", ""},
    {"stdout closed before the end", "exec >&-; exec 2>&-; exit 3",
     KUBE_PROCESS_EXITED, 3, "", ""},
    {"just as much as it may write", "printf %01000d 7", KUBE_PROCESS_EXITED, 0,
     NULL, ""},
    {"more than it may write", "printf %01001d 7; sleep 1000",
     KUBE_PROCESS_TOO_LARGE, 0, NULL, ""},
    {"a flood", "while :; do echo flood; done", KUBE_PROCESS_TOO_LARGE, 0, NULL,
     ""},
};

static void test_end(void **state)
{
  const struct end *row = *state;
  size_t before = count_descriptors();
  struct kube_process *p = start(row->text, 1000, 0);

  assert_non_null(p);
  assert_ended(p, row->end, row->number);
  if (row->output)
    assert_output(p, row->output);
  assert_int_equal(kube_process_output(p)->len,
                   row->output ? strlen(row->output) : 1000);
  assert_errors(p, row->errors);
  assert_int_equal(kube_process_step(p, 1), KUBE_PROCESS_ENDED);
  assert_int_equal(kube_process_wake(p), 0);
  kube_process_close(p);
  assert_int_equal(count_descriptors(), before);
  assert_no_children();
}

/* As many bytes as no pipe holds, in and out of step with the reader. */
static void test_long_output(void **state)
{
  struct kube_process *p =
      start("i=0; while [ $i -lt 1000 ]; do printf %01000d $i; i=$((i+1)); "
            "done",
            1 << 20, 0);

  (void)state;
  assert_non_null(p);
  assert_ended(p, KUBE_PROCESS_EXITED, 0);
  assert_int_equal(kube_process_output(p)->len, 1000000);
  for (size_t i = 0; i < 1000; i++) {
    char wanted[8];

    snprintf(wanted, sizeof(wanted), "%03zu", i);
    assert_memory_equal(kube_process_output(p)->data + i * 1000 + 997, wanted,
                        3);
  }
  kube_process_close(p);
}

/* The last 4 KiB, beginning with a whole character. */
static void test_long_errors(void **state)
{
  struct kube_process *p =
      start("i=0; while [ $i -lt 3000 ]; do printf 'é→' >&2; i=$((i+1)); done; "
            "printf end >&2",
            10, 0);
  struct aicr_buf b;

  (void)state;
  assert_non_null(p);
  assert_ended(p, KUBE_PROCESS_EXITED, 0);
  aicr_buf_init(&b, 20000);
  assert_true(kube_process_add_errors(p, &b));
  assert_true(b.len <= 4096 && b.len > 4090);
  assert_null(strstr(b.data, "\xEF\xBF\xBD"));
  assert_string_equal(b.data + b.len - 3, "end");
  aicr_buf_free(&b);
  kube_process_close(p);
}

static void run_word(const char *path, char *const *words, struct aicr_buf *out)
{
  char *none[] = {NULL};
  struct kube_process_spec spec = {path, words, none, false, 100000, 0};
  struct aicr_error err;
  struct kube_process *p = kube_process_start(&spec, &err);

  assert_non_null(p);
  assert_ended(p, KUBE_PROCESS_EXITED, 0);
  aicr_buf_reset(out);
  aicr_buf_add(out, kube_process_output(p)->data, kube_process_output(p)->len);
  kube_process_close(p);
}

/* Even what is not close-on-exec; even where our own 0 to 2 are closed. */
static void test_descriptors_of_the_child(void **state)
{
  char *words[] = {"ls", "/proc/self/fd", NULL};
  int open_here = dup(STDIN_FILENO), input = dup(STDIN_FILENO);
  struct aicr_buf out;

  (void)state;
  assert_true(open_here > 2 && fcntl(open_here, F_GETFD) == 0);
  aicr_buf_init(&out, 1000);
  run_word("/bin/ls", words, &out);
  assert_string_equal(out.data, "0\n1\n2\n3\n");
  close(STDIN_FILENO);
  run_word("/bin/ls", words, &out);
  dup2(input, STDIN_FILENO);
  assert_string_equal(out.data, "0\n1\n2\n3\n");
  close(open_here);
  close(input);
  aicr_buf_free(&out);
}

/* Signals 32 and 33 are glibc's own, and may come ignored. */
static void assert_signals(const char *text, const char *name, uint64_t wanted)
{
  const char *at = strstr(text, name);

  assert_non_null(at);
  assert_int_equal(strtoull(at + strlen(name), NULL, 16) & ~(3ull << 31),
                   wanted);
}

/* No signal ignored by us alone, none blocked; a group of its own. */
static void test_signals_of_the_child(void **state)
{
  char *status[] = {"cat", "/proc/self/status", NULL};
  char *stat[] = {"cat", "/proc/self/stat", NULL};
  struct aicr_buf out;
  sigset_t usr, before;
  long pid, group;
  char *rest;

  (void)state;
  for (int number = 1; number < NSIG; number++)
    signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  aicr_buf_init(&out, 10000);
  sigemptyset(&usr);
  sigaddset(&usr, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr, &before);
  run_word("/bin/cat", status, &out);
  sigprocmask(SIG_SETMASK, &before, NULL);
  assert_signals(out.data, "SigBlk:", 0);
  assert_signals(out.data, "SigIgn:", 1);
  run_word("/bin/cat", stat, &out);
  pid = strtol(out.data, NULL, 10);
  rest = strstr(out.data, ") R ");
  assert_non_null(rest);
  strtol(rest + 4, &rest, 10);
  group = strtol(rest, NULL, 10);
  assert_int_equal(pid, group);
  assert_int_not_equal(group, getpgrp());
  aicr_buf_free(&out);
}

/* Somebody before us had SIGCHLD ignored. */
static void test_exit_status_is_kept(void **state)
{
  void (*before)(int) = signal(SIGCHLD, SIG_IGN);
  struct kube_process *p = start("exit 7", 0, 0);

  (void)state;
  assert_non_null(p);
  assert_ended(p, KUBE_PROCESS_EXITED, 7);
  kube_process_close(p);
  assert_ptr_equal(signal(SIGCHLD, before), SIG_DFL);
}

static void test_exit_status_is_lost(void **state)
{
  struct kube_process *p = start("exit 7", 0, 0);

  (void)state;
  assert_non_null(p);
  assert_true(waitpid(-1, NULL, 0) > 0);
  assert_ended(p, KUBE_PROCESS_LOST, 0);
  kube_process_close(p);
}

#define TREE                                                                   \
  "sleep 1000 & echo $! >> $D; (sleep 1000 & echo $! >> $D; wait) & "          \
  "echo $! >> $D; echo $$ >> $D; "

static struct kube_process *start_tree(const char *before, int64_t deadline_ms)
{
  char text[1024];
  struct kube_process *p;

  remove_file("pids");
  snprintf(text, sizeof(text), "%sD=%s; " TREE "wait; wait", before,
           in_folder("pids"));
  p = start(text, 100, deadline_ms);
  assert_non_null(p);
  await_lines("pids", 4);
  assert_int_equal(count_alive("pids"), 4);
  return p;
}

static void test_deadline(void **state)
{
  struct kube_process *p = start_tree("", 2000);

  (void)state;
  assert_int_equal(kube_process_wake(p), 2000);
  assert_int_equal(kube_process_step(p, 1999), KUBE_PROCESS_RUNNING);
  assert_int_equal(kube_process_step(p, 2000), KUBE_PROCESS_STOPPING);
  assert_int_equal(kube_process_end(p, NULL), KUBE_PROCESS_DEADLINE);
  await_state(p, KUBE_PROCESS_ENDED, 2001);
  await_gone("pids");
  assert_int_equal(kube_process_end(p, NULL), KUBE_PROCESS_DEADLINE);
  kube_process_close(p);
  assert_no_children();
}

static void test_kills_what_does_not_listen(void **state)
{
  struct kube_process *p = start_tree("trap '' TERM; ", 2000);

  (void)state;
  assert_int_equal(kube_process_step(p, 2000), KUBE_PROCESS_STOPPING);
  assert_int_equal(kube_process_wake(p), 4000);
  assert_int_equal(kube_process_step(p, 3999), KUBE_PROCESS_STOPPING);
  assert_int_equal(count_alive("pids"), 4);
  await_state(p, KUBE_PROCESS_ENDED, 4000);
  await_gone("pids");
  kube_process_close(p);
  assert_no_children();
}

/* The first one goes on SIGTERM, its children do not. */
static void test_kills_what_stays_behind(void **state)
{
  struct kube_process *p = start_tree("trap 'exit 0' TERM; "
                                      "(trap '' TERM; sleep 1000) & ",
                                      1);

  (void)state;
  assert_int_equal(kube_process_step(p, 1), KUBE_PROCESS_STOPPING);
  assert_true(kube_process_wake(p) != 0);
  await_state(p, KUBE_PROCESS_ENDED, 1);
  assert_int_equal(kube_process_end(p, NULL), KUBE_PROCESS_DEADLINE);
  await_gone("pids");
  kube_process_close(p);
}

static void test_stops_what_is_stopped(void **state)
{
  struct kube_process *p = start_tree("trap 'exit 0' TERM; ", 1);
  char text[256], *line = text;

  (void)state;
  snprintf(text, sizeof(text), "%s", read_file("pids"));
  for (int i = 0; i < 4; i++)
    assert_int_equal(kill((pid_t)strtol(line, &line, 10), SIGSTOP), 0);
  assert_int_equal(kube_process_step(p, 1), KUBE_PROCESS_STOPPING);
  await_state(p, KUBE_PROCESS_ENDED, 1);
  await_gone("pids");
  kube_process_close(p);
}

static void test_close_kills(void **state)
{
  size_t before = count_descriptors();
  struct kube_process *p = start_tree("trap '' TERM; ", 0);

  (void)state;
  kube_process_close(p);
  await_gone("pids");
  assert_no_children();
  assert_int_equal(count_descriptors(), before);
  kube_process_close(NULL);
}

/* Its child holds the pipes: the end is the process's own, and the child lives
 * on. */
static void test_leaves_what_it_left(void **state)
{
  char text[512];
  struct kube_process *p;

  (void)state;
  remove_file("pids");
  snprintf(text, sizeof(text), "sleep 1000 & echo $! > %s; echo answer",
           in_folder("pids"));
  p = start(text, 100, 0);
  assert_non_null(p);
  assert_ended(p, KUBE_PROCESS_EXITED, 0);
  assert_output(p, "answer\n");
  kube_process_close(p);
  assert_int_equal(count_alive("pids"), 1);
  kill((pid_t)strtol(read_file("pids"), NULL, 10), SIGKILL);
  await_gone("pids");
}

/* Under the lowest limit that lets it start nothing is left for the pidfd: it
 * looks from time to time. */
static void test_without_pidfd(void **state)
{
  struct rlimit limit, before;
  struct kube_process *p = NULL;
  char text[512];

  (void)state;
  assert_int_equal(mkfifo(in_folder("go"), 0600), 0);
  snprintf(text, sizeof(text), "cat %s; echo answer", in_folder("go"));
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  limit = before;
  for (limit.rlim_cur = 3; !p; limit.rlim_cur++) {
    assert_true(limit.rlim_cur < before.rlim_cur);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    p = start(text, 100, 0);
    setrlimit(RLIMIT_NOFILE, &before);
  }
  assert_true(kube_process_wake(p) != 0);
  assert_int_equal(kube_process_step(p, 100), KUBE_PROCESS_RUNNING);
  assert_int_equal(kube_process_wake(p), 120);
  close(open(in_folder("go"), O_WRONLY | O_CLOEXEC));
  assert_ended(p, KUBE_PROCESS_EXITED, 0);
  assert_output(p, "answer\n");
  kube_process_close(p);
}

static void test_no_descriptors(void **state)
{
  struct rlimit limit, before;
  int next = dup(STDIN_FILENO);

  (void)state;
  close(next);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  limit = before;
  for (int more = 0; more < 7; more++) {
    char *words[] = {"sh", NULL};
    struct kube_process_spec spec = {SHELL, words, words + 1, false, 100, 0};
    struct aicr_error err;
    struct kube_process *p;
    int after;

    limit.rlim_cur = (rlim_t)next + (rlim_t)more;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    p = kube_process_start(&spec, &err);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_null(p);
    assert_string_equal(err.reason, "process");
    assert_non_null(strstr(err.message, "\"/bin/sh\" cannot be started: Too "
                                        "many open files"));
    after = dup(STDIN_FILENO);
    close(after);
    assert_int_equal(after, next);
  }
}

/* What runs does not outlive a host that was killed. */
static void test_ends_with_us(void **state)
{
  char text[512];
  pid_t host;

  (void)state;
  remove_file("pids");
  snprintf(text, sizeof(text), "echo $$ > %s; exec sleep 1000",
           in_folder("pids"));
  host = fork();
  if (host == 0) {
    start(text, 100, 0);
    for (;;)
      pause();
  }
  await_lines("pids", 1);
  assert_int_equal(count_alive("pids"), 1);
  kill(host, SIGKILL);
  assert_int_equal(waitpid(host, NULL, 0), host);
  await_gone("pids");
}

static const struct find {
  const char *command, *path;
  int result;
  const char *found; /* below the folder */
} finds[] = {
    {"tool", "%/none:%", 0, "tool"},
    {"tool", "%:%/none", 0, "tool"},
    {"tool", "::%", 0, "tool"},
    {"tool", "%/plain:%", 0, "tool"},
    {"tool", NULL, ENOENT, NULL},
    {"tool", "", ENOENT, NULL},
    {"tool", ".:./:relative", ENOENT, NULL},
    {"tool", "%/none", ENOENT, NULL},
    {"plain", "%", EACCES, NULL},
    {"plain", "%:%/none", EACCES, NULL},
    {"", "%", ENOENT, NULL},
    {"%/tool", NULL, 0, "tool"},
    {"%/plain", NULL, EACCES, NULL},
    {"%/none", "%", ENOENT, NULL},
    {"%", NULL, EACCES, NULL},
};

static char *with_folder(const char *text)
{
  struct aicr_buf b;

  aicr_buf_init(&b, 1000);
  for (; *text; text++) {
    if (*text == '%')
      aicr_buf_adds(&b, folder);
    else
      aicr_buf_addc(&b, *text);
  }
  return b.data ? b.data : aicr_strndup("", 0);
}

static void test_find(void **state)
{
  struct aicr_buf out;

  (void)state;
  aicr_buf_init(&out, 4096);
  write_script("tool", "exit 0");
  write_file("plain", "text");
  for (size_t i = 0; i < COUNT(finds); i++) {
    char *command = with_folder(finds[i].command);
    char *path = finds[i].path ? with_folder(finds[i].path) : NULL;

    if (kube_process_find(command, path, &out) != finds[i].result)
      fail_msg("%s in %s", command, path ? path : "nothing");
    if (finds[i].found)
      assert_string_equal(out.data, in_folder(finds[i].found));
    aicr_free(command);
    aicr_free(path);
  }
  aicr_buf_free(&out);
}

static void test_find_in_long_elements(void **state)
{
  struct aicr_buf path, out;

  (void)state;
  aicr_buf_init(&path, 100000);
  aicr_buf_init(&out, 4096);
  write_script("tool", "exit 0");
  aicr_buf_addf(&path, "/%5000d:%s", 1, folder);
  assert_int_equal(kube_process_find("tool", path.data, &out), 0);
  assert_string_equal(out.data, in_folder("tool"));
  aicr_buf_free(&path);
  aicr_buf_free(&out);
}

/* What is no program: said by execve(), not by a shell. */
static void test_not_executed(void **state)
{
  static const struct {
    const char *text;
    int number;
  } rows[] = {{"no program\n", ENOEXEC}, {"#!/no/such/shell\n", ENOENT}};

  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    char *words[] = {"x", NULL};
    struct kube_process_spec spec = {NULL, words, words + 1, false, 100, 0};
    struct aicr_error err;
    struct kube_process *p;

    write_file("bad", rows[i].text);
    chmod(in_folder("bad"), 0700);
    spec.path = in_folder("bad");
    p = kube_process_start(&spec, &err);
    assert_non_null(p);
    assert_ended(p, KUBE_PROCESS_UNEXECUTED, rows[i].number);
    kube_process_close(p);
  }
}

static bool run_once(void *arg)
{
  struct kube_process *p = start("printf %01000d 7", 1 << 20, 0);
  bool ok = false;

  (void)arg;
  if (p) {
    await_state(p, KUBE_PROCESS_ENDED, 0);
    ok = kube_process_end(p, NULL) == KUBE_PROCESS_EXITED;
    if (!ok)
      assert_int_equal(kube_process_end(p, NULL), KUBE_PROCESS_NO_MEMORY);
  }
  kube_process_close(p);
  return ok;
}

static void test_allocations_fail(void **state)
{
  (void)state;
  assert_in_range(torture(run_once, NULL), 2, 10);
  assert_no_children();
}

#define ADD(name, test) add_row(&r, "process", name, test, NULL)

int main(void)
{
  struct rows r = {NULL, 0};

  for (size_t i = 0; i < COUNT(ends); i++)
    add_row(&r, "ends with", ends[i].what, test_end, &ends[i]);
  ADD("long output", test_long_output);
  ADD("long errors", test_long_errors);
  ADD("descriptors", test_descriptors_of_the_child);
  ADD("signals", test_signals_of_the_child);
  ADD("SIGCHLD ignored", test_exit_status_is_kept);
  ADD("exit status taken", test_exit_status_is_lost);
  ADD("deadline", test_deadline);
  ADD("SIGTERM ignored", test_kills_what_does_not_listen);
  ADD("SIGTERM ignored by a child", test_kills_what_stays_behind);
  ADD("stopped", test_stops_what_is_stopped);
  ADD("close kills", test_close_kills);
  ADD("leaves what it left", test_leaves_what_it_left);
  ADD("without pidfd", test_without_pidfd);
  ADD("no descriptors", test_no_descriptors);
  ADD("ends with us", test_ends_with_us);
  ADD("find", test_find);
  ADD("find in long elements", test_find_in_long_elements);
  ADD("not executed", test_not_executed);
  ADD("allocations fail", test_allocations_fail);
  return run_rows_with(&r, "kube_process", make_folder, remove_folder);
}
