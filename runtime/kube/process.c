/* SPDX-License-Identifier: Apache-2.0 */
/* pipe2, close_range, pidfd_open */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier) */
#include "kube/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"

#define GRACE_MS     2000 /* between SIGTERM and SIGKILL */
#define LOOK_MS      20   /* between two looks where there is no pidfd */
#define CLOSE_MS     1000 /* how long a killed process may take to go */
#define ERRORS_KEPT  4096
#define READ_SIZE    4096
#define READS_A_STEP 64

struct kube_process {
  pid_t pid; /* and its group's */
  int pidfd, output_fd, errors_fd, exec_fd;
  enum kube_process_state state;
  enum kube_process_end end;
  int number;
  bool terminal, killed;
  int64_t deadline_ms, kill_ms, look_ms;
  struct aicr_buf output;
  size_t errors_len;
  bool errors_cut;
  char errors[ERRORS_KEPT];
};

/* What parent and child have in common until the program starts. */
struct ends {
  int input, output[2], errors[2], exec[2];
};

static void close_fd(int *fd)
{
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

static bool can_run(const char *path, int *problem)
{
  struct stat st;

  if (stat(path, &st) != 0)
    return false;
  if (S_ISREG(st.st_mode) && eaccess(path, X_OK) == 0)
    return true;
  *problem = EACCES;
  return false;
}

int kube_process_find(const char *command, const char *path,
                      struct aicr_buf *out)
{
  int problem = ENOENT;

  aicr_buf_reset(out);
  if (!*command)
    return ENOENT;
  if (strchr(command, '/')) {
    if (!aicr_buf_adds(out, command))
      return out->no_memory ? ENOMEM : ENOENT;
    return can_run(out->data, &problem) ? 0 : problem;
  }
  while (path && *path) {
    size_t len = strcspn(path, ":");

    aicr_buf_reset(out);
    if (*path == '/') {
      aicr_buf_add(out, path, len);
      aicr_buf_addc(out, '/');
      if (!aicr_buf_adds(out, command) && out->no_memory)
        return ENOMEM;
      if (!out->failed && can_run(out->data, &problem))
        return 0;
    }
    path += len + (path[len] == ':' ? 1 : 0);
  }
  return problem;
}

/* Above what the child's own 0, 1 and 2 are, which may be closed here. */
static bool lift(int *fd)
{
  int high;

  if (*fd > STDERR_FILENO)
    return true;
  high = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(*fd);
  *fd = high;
  return high >= 0;
}

static bool open_pipe(int ends[2])
{
  return pipe2(ends, O_CLOEXEC) == 0 && lift(&ends[0]) && lift(&ends[1]) &&
         fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_ends(struct ends *e)
{
  close_fd(&e->input);
  for (int i = 0; i < 2; i++) {
    close_fd(&e->output[i]);
    close_fd(&e->errors[i]);
    close_fd(&e->exec[i]);
  }
}

static bool open_ends(struct ends *e, bool terminal)
{
  *e = (struct ends){-1, {-1, -1}, {-1, -1}, {-1, -1}};
  if (!terminal) {
    e->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (e->input < 0 || !lift(&e->input))
      return false;
  }
  if (!(terminal && isatty(STDERR_FILENO)) && !open_pipe(e->errors))
    return false;
  return open_pipe(e->output) && open_pipe(e->exec);
}

/* From here to the end of run_child() only what is async-signal-safe: other
 * threads may have held locks when fork() copied them. */

static void default_signals(bool terminal)
{
  for (int number = 1; number < NSIG; number++) {
    struct sigaction action;

    if (sigaction(number, NULL, &action) != 0)
      continue;
    /* What was ignored before us (SIGHUP under nohup) stays so; SIGPIPE
     * and SIGXFSZ are ignored by us. */
    if (action.sa_handler == SIG_IGN && number != SIGPIPE && number != SIGXFSZ)
      continue;
    memset(&action, 0, sizeof(action));
    action.sa_handler = SIG_DFL;
    /* Nobody would continue a group that a person stopped: its shell sees only
     * us. */
    if (terminal && number == SIGTSTP)
      action.sa_handler = SIG_IGN;
    sigaction(number, &action, NULL);
  }
}

static void leave_descriptors(void)
{
  long limit;

  if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
    return;
  /* A kernel before 5.11: ours are close-on-exec anyway, what we inherited
   * has low numbers. */
  limit = sysconf(_SC_OPEN_MAX);
  if (limit < 0 || limit > 4096)
    limit = 4096;
  for (int fd = STDERR_FILENO + 1; fd < limit; fd++)
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool take_stdio(const struct ends *e)
{
  return (e->input < 0 || dup2(e->input, STDIN_FILENO) >= 0) &&
         dup2(e->output[1], STDOUT_FILENO) >= 0 &&
         (e->errors[1] < 0 || dup2(e->errors[1], STDERR_FILENO) >= 0);
}

static _Noreturn void run_child(const struct kube_process_spec *spec,
                                const struct ends *e, pid_t parent)
{
  sigset_t none;
  ssize_t told;
  int problem;

  setpgid(0, 0);
  default_signals(spec->terminal);
  /* Nothing runs on when we are killed. */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent)
    _exit(127);
  /* SIGTTOU is blocked. */
  if (spec->terminal)
    tcsetpgrp(STDIN_FILENO, getpid());
  if (take_stdio(e)) {
    leave_descriptors();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(spec->path, spec->argv, spec->envp);
  }
  problem = errno;
  told = write(e->exec[1], &problem, sizeof(problem));
  _exit(told == (ssize_t)sizeof(problem) ? 127 : 126);
}

/* An ignored SIGCHLD, which is inherited, would take the exit status away. */
static void keep_exit_status(void)
{
  struct sigaction action;

  if (sigaction(SIGCHLD, NULL, &action) != 0 ||
      (action.sa_handler != SIG_IGN && !(action.sa_flags & SA_NOCLDWAIT)))
    return;
  if (action.sa_handler == SIG_IGN)
    action.sa_handler = SIG_DFL;
  action.sa_flags &= ~SA_NOCLDWAIT;
  sigaction(SIGCHLD, &action, NULL);
}

static bool spawn(struct kube_process *p, const struct kube_process_spec *spec,
                  struct ends *e)
{
  sigset_t all, before;
  pid_t parent = getpid();
  int problem;

  keep_exit_status();
  /* No handler of ours runs in the child. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  p->pid = fork();
  if (p->pid == 0)
    run_child(spec, e, parent);
  problem = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = problem;
  if (p->pid < 0)
    return false;
  /* As in the child: whoever comes first. */
  setpgid(p->pid, p->pid);
  p->pidfd = pidfd_open(p->pid, 0);
  return true;
}

struct kube_process *kube_process_start(const struct kube_process_spec *spec,
                                        struct aicr_error *err)
{
  struct kube_process *p = aicr_calloc(1, sizeof(*p));
  struct aicr_quoted q;
  struct ends e;

  if (!p) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a process");
    return NULL;
  }
  p->pidfd = -1;
  p->terminal = spec->terminal;
  p->deadline_ms = spec->deadline_ms;
  aicr_buf_init(&p->output, spec->output_max);
  p->output.secret = true;
  if (!open_ends(&e, spec->terminal) || !spawn(p, spec, &e)) {
    aicr_fail(err, AICR_INTERNAL, "process", "%s cannot be started: %s",
              aicr_quote(&q, spec->path, strlen(spec->path)), strerror(errno));
    close_ends(&e);
    aicr_free(p);
    return NULL;
  }
  p->output_fd = e.output[0];
  p->errors_fd = e.errors[0];
  p->exec_fd = e.exec[0];
  e.output[0] = e.errors[0] = e.exec[0] = -1;
  close_ends(&e);
  return p;
}

static void close_pipes(struct kube_process *p)
{
  close_fd(&p->output_fd);
  close_fd(&p->errors_fd);
  close_fd(&p->exec_fd);
}

/* SIGTERM to its group; SIGKILL 2 s after the next kube_process_step(), or as
 * soon as the process itself is gone. */
static void stop(struct kube_process *p, enum kube_process_end why)
{
  if (p->state != KUBE_PROCESS_RUNNING)
    return;
  p->state = KUBE_PROCESS_STOPPING;
  p->end = why;
  close_pipes(p);
  kill(-p->pid, SIGTERM);
  kill(-p->pid, SIGCONT);
}

/* How many bytes came; 0 when there is nothing more to come now or ever. */
static size_t read_some(int *fd, char *data, size_t size)
{
  ssize_t n;

  if (*fd < 0)
    return 0;
  do
    n = read(*fd, data, size);
  while (n < 0 && errno == EINTR);
  if (n > 0)
    return (size_t)n;
  if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
    close_fd(fd);
  return 0;
}

static void read_output(struct kube_process *p)
{
  struct aicr_buf *b = &p->output;

  for (;;) {
    size_t left = b->max - b->len, n;
    char more;

    if (left == 0) {
      if (read_some(&p->output_fd, &more, 1) > 0)
        stop(p, KUBE_PROCESS_TOO_LARGE);
      return;
    }
    if (!aicr_buf_room(b, left < READ_SIZE ? left : READ_SIZE)) {
      stop(p, KUBE_PROCESS_NO_MEMORY);
      return;
    }
    n = b->cap - 1 - b->len;
    n = read_some(&p->output_fd, b->data + b->len, n < left ? n : left);
    b->len += n;
    b->data[b->len] = '\0';
    if (n == 0)
      return;
  }
}

static void read_errors(struct kube_process *p)
{
  char chunk[ERRORS_KEPT];

  for (int i = 0; i < READS_A_STEP; i++) {
    size_t n = read_some(&p->errors_fd, chunk, sizeof(chunk));
    size_t kept = p->errors_len;

    if (n == 0)
      return;
    if (kept > sizeof(p->errors) - n) {
      kept = sizeof(p->errors) - n;
      memmove(p->errors, p->errors + p->errors_len - kept, kept);
      p->errors_cut = true;
    }
    memcpy(p->errors + kept, chunk, n);
    p->errors_len = kept + n;
  }
}

/* Its exit status stays: while it has not been taken no other process can get
 * the group's number. */
static bool has_exited(const struct kube_process *p)
{
  siginfo_t info;

  memset(&info, 0, sizeof(info));
  if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD;
  return info.si_pid == p->pid;
}

static void take_terminal(void)
{
  sigset_t one, before;

  sigemptyset(&one);
  sigaddset(&one, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  tcsetpgrp(STDIN_FILENO, getpgrp());
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void set_end(struct kube_process *p, int status, bool known)
{
  int problem;

  if (read(p->exec_fd, &problem, sizeof(problem)) == (ssize_t)sizeof(problem)) {
    p->end = KUBE_PROCESS_UNEXECUTED;
    p->number = problem;
  } else if (known && WIFEXITED(status)) {
    p->end = KUBE_PROCESS_EXITED;
    p->number = WEXITSTATUS(status);
  } else if (known && WIFSIGNALED(status)) {
    p->end = KUBE_PROCESS_SIGNALED;
    p->number = WTERMSIG(status);
  } else {
    p->end = KUBE_PROCESS_LOST;
  }
}

static void finish(struct kube_process *p)
{
  bool known;
  int status = 0;

  if (p->state == KUBE_PROCESS_STOPPING)
    kill(-p->pid, SIGKILL);
  known = waitpid(p->pid, &status, WNOHANG) == p->pid;
  if (p->state == KUBE_PROCESS_RUNNING)
    set_end(p, status, known);
  p->state = KUBE_PROCESS_ENDED;
  close_pipes(p);
  close_fd(&p->pidfd);
  if (p->terminal)
    take_terminal();
}

enum kube_process_state kube_process_step(struct kube_process *p,
                                          int64_t now_ms)
{
  bool exited;

  if (p->state == KUBE_PROCESS_ENDED)
    return p->state;
  /* Asked before the pipes are read: what it wrote is there by then. */
  exited = has_exited(p);
  if (p->state == KUBE_PROCESS_RUNNING) {
    read_errors(p);
    read_output(p);
  }
  if (exited) {
    finish(p);
    return p->state;
  }
  if (p->deadline_ms && now_ms >= p->deadline_ms)
    stop(p, KUBE_PROCESS_DEADLINE);
  if (p->state == KUBE_PROCESS_STOPPING && !p->kill_ms)
    p->kill_ms = now_ms + GRACE_MS;
  if (p->state == KUBE_PROCESS_STOPPING && now_ms >= p->kill_ms && !p->killed) {
    kill(-p->pid, SIGKILL);
    p->killed = true;
  }
  p->look_ms = p->pidfd < 0 ? now_ms + LOOK_MS : 0;
  return p->state;
}

int64_t kube_process_wake(const struct kube_process *p)
{
  int64_t due = 0;

  if (p->state == KUBE_PROCESS_RUNNING)
    due = p->deadline_ms;
  else if (p->state == KUBE_PROCESS_STOPPING && !p->killed)
    due = p->kill_ms ? p->kill_ms : 1;
  if (p->state == KUBE_PROCESS_ENDED || p->pidfd >= 0)
    return due;
  return due && due < p->look_ms ? due : p->look_ms ? p->look_ms : 1;
}

size_t kube_process_descriptors(const struct kube_process *p,
                                struct pollfd *out)
{
  const int fds[] = {p->output_fd, p->errors_fd, p->pidfd};
  size_t n = 0;

  for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
    if (fds[i] >= 0)
      out[n++] = (struct pollfd){fds[i], POLLIN, 0};
  return n;
}

void kube_process_set_deadline(struct kube_process *p, int64_t deadline_ms)
{
  p->deadline_ms = deadline_ms;
}

int64_t kube_process_deadline(const struct kube_process *p)
{
  return p->deadline_ms;
}

enum kube_process_end kube_process_end(const struct kube_process *p,
                                       int *number)
{
  if (number)
    *number = p->number;
  return p->end;
}

const struct aicr_buf *kube_process_output(const struct kube_process *p)
{
  return &p->output;
}

bool kube_process_add_errors(const struct kube_process *p, struct aicr_buf *out)
{
  size_t from = 0;

  /* No half of a character. */
  while (p->errors_cut && from < 3 && from < p->errors_len &&
         ((unsigned char)p->errors[from] & 0xC0) == 0x80)
    from++;
  return aicr_buf_add_plain(out, p->errors + from, p->errors_len - from);
}

void kube_process_close(struct kube_process *p)
{
  if (!p)
    return;
  if (p->state != KUBE_PROCESS_ENDED) {
    kill(-p->pid, SIGKILL);
    for (int i = 0; i < CLOSE_MS && waitpid(p->pid, NULL, WNOHANG) == 0; i++)
      poll(NULL, 0, 1);
    if (p->terminal)
      take_terminal();
  }
  close_pipes(p);
  close_fd(&p->pidfd);
  aicr_buf_free(&p->output);
  explicit_bzero(p, sizeof(*p));
  aicr_free(p);
}
