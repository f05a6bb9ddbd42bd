/* SPDX-License-Identifier: Apache-2.0 */
#include "host/signal.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t pending;
static volatile sig_atomic_t seen;

static void on_signal(int number)
{
  /* A third one ends the process: something is stuck. */
  if (++seen >= 3)
    _exit(128 + number);
  pending = number;
}

void aicr_signal_open(void)
{
  struct sigaction action;

  memset(&action, 0, sizeof(action));
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal; /* no SA_RESTART: poll() must wake */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, NULL);
}

const char *aicr_signal_name(int number)
{
  if (number == 0)
    return NULL;
  return number == SIGINT ? "SIGINT" : "SIGTERM";
}

int aicr_signal_take(void)
{
  int number = pending;

  pending = 0;
  return number;
}
