/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* measure RUNS COMMAND [ARG]…
 *
 * Runs a command RUNS times with its standard output thrown away and prints
 * medians: milliseconds of wall time, milliseconds of CPU (user and system),
 * the peak of its memory in KiB. Small itself, since Linux counts the memory
 * of a process before its exec too. A command that fails ends it with 1. */

#define RUNS_MAX 1000

struct sample {
  double wall_ms, cpu_ms, rss_kb;
};

static double ms_of(struct timeval t)
{
  return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static double now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void child(char **command)
{
  int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

  if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
    _exit(127);
  execvp(command[0], command);
  perror(command[0]);
  _exit(127);
}

static int run(char **command, struct sample *s)
{
  double start = now_ms();
  struct rusage usage;
  int status;
  pid_t pid = fork();

  if (pid == 0)
    child(command);
  if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
    perror("measure");
    return -1;
  }
  s->wall_ms = now_ms() - start;
  s->cpu_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
  s->rss_kb = (double)usage.ru_maxrss;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return 0;
  fprintf(stderr, "measure: %s ended with %s %d\n", command[0],
          WIFEXITED(status) ? "exit code" : "signal",
          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return -1;
}

static int compare(const void *a, const void *b)
{
  double x, y;

  memcpy(&x, a, sizeof(x));
  memcpy(&y, b, sizeof(y));
  return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
  qsort(values, n, sizeof(*values), compare);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int main(int argc, char **argv)
{
  static double wall[RUNS_MAX], cpu[RUNS_MAX], rss[RUNS_MAX];
  long runs = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

  if (runs < 1 || runs > RUNS_MAX) {
    fputs("usage: measure RUNS COMMAND [ARG]...\n", stderr);
    return 2;
  }
  for (long i = 0; i < runs; i++) {
    struct sample s;

    if (run(argv + 2, &s) != 0)
      return 1;
    wall[i] = s.wall_ms;
    cpu[i] = s.cpu_ms;
    rss[i] = s.rss_kb;
  }
  printf("%.3f %.3f %.0f\n", median(wall, (size_t)runs),
         median(cpu, (size_t)runs), median(rss, (size_t)runs));
  return 0;
}
