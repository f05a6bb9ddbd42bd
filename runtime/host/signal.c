/* SPDX-License-Identifier: Apache-2.0 */
#include "host/signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t pending; /* there may be one in the pipe */
static volatile sig_atomic_t seen;
/* Signals wait in a pipe, a byte each: none is lost, and one that comes just
 * before a poll ends it. */
static int wake[2] = {-1, -1};

static void on_signal(int number)
{
  char byte = (char)number;
  int kept = errno;

  /* A hang-up often comes along with others: from the terminal, its shell and
   * the session's end. It asks for no more than they did. */
  if (number == SIGHUP && seen > 0)
    return;
  /* A third one ends the process: something is stuck. */
  if (++seen >= 3 || write(wake[1], &byte, 1) != 1)
    _exit(128 + number);
  pending = 1;
  errno = kept;
}

static bool open_pipe(void)
{
  if (wake[0] >= 0)
    return true;
  if (pipe(wake) != 0)
    return false;
  for (int i = 0; i < 2; i++) {
    fcntl(wake[i], F_SETFL, O_NONBLOCK);
    fcntl(wake[i], F_SETFD, FD_CLOEXEC);
  }
  return true;
}

/* Under nohup the run outlives its terminal. */
static void hear_hang_up(const struct sigaction *action)
{
  struct sigaction before;

  if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, action, NULL);
}

void aicr_signal_open(void)
{
  struct sigaction action;

  memset(&action, 0, sizeof(action));
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal; /* no SA_RESTART: poll() must wake */
  if (open_pipe()) {
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    hear_hang_up(&action);
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, NULL);
  sigaction(SIGXFSZ, &action, NULL); /* a write says EFBIG instead */
}

const char *aicr_signal_name(int number)
{
  switch (number) {
  case 0:
    return NULL;
  case SIGINT:
    return "SIGINT";
  case SIGHUP:
    return "SIGHUP";
  default:
    return "SIGTERM";
  }
}

int aicr_signal_take(void)
{
  char byte = 0;

  if (!pending)
    return 0;
  pending = 0;
  if (read(wake[0], &byte, 1) != 1)
    return 0;
  pending = 1; /* perhaps there are more */
  return byte;
}

int aicr_signal_descriptor(void)
{
  return wake[0];
}
