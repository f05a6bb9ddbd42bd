/* SPDX-License-Identifier: Apache-2.0 */
#include "host/watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define EXIT_INTERNAL 70

/* Read by the signal handler. The texts are complete before the flag says so.
 */
static volatile sig_atomic_t watching, seconds;
static volatile unsigned ticks;
static lua_State *volatile running;
static volatile lua_Hook running_hook;
static char check_text[600];
static char journal_text[4500] =
    "  fix  leave that file out, or look in it for the call that does not end"
    "\n";

static void put(const char *text)
{
  ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

  (void)ignored;
}

static void on_timer(int number)
{
  (void)number;
  ticks = ticks + 1;
  if (running)
    lua_sethook(running, running_hook, LUA_MASKCOUNT, 1);
  if (!watching || ++seconds < AICR_STUCK_SECONDS)
    return;
  put(check_text);
  put(journal_text);
  _exit(EXIT_INTERNAL);
}

void aicr_watchdog_open(void)
{
  struct sigaction action;
  struct itimerval every = {{1, 0}, {1, 0}};

  memset(&action, 0, sizeof(action));
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = on_timer;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
}

void aicr_watchdog_watch(const char *name)
{
  watching = 0;
  if (!name)
    return;
  snprintf(check_text, sizeof(check_text),
           "\naicr-run: internal: %.400s is stuck in one call of a C function "
           "for %ds; the run was ended\n",
           name, AICR_STUCK_SECONDS);
  for (char *p = check_text + 1; p[1]; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7f)
      *p = '?';
  seconds = 0;
  watching = 1;
}

lua_State *aicr_watchdog_hook(lua_State *co, lua_Hook hook)
{
  lua_State *before = running;

  running = NULL;
  running_hook = hook;
  running = co;
  return before;
}

void aicr_watchdog_beat(void)
{
  seconds = 0;
}

unsigned aicr_watchdog_ticks(void)
{
  return ticks;
}

void aicr_watchdog_journal(const char *path)
{
  if (path)
    snprintf(journal_text, sizeof(journal_text),
             "  fix  leave that check out (--skip NAME); the results of the "
             "checks that had ended are in %.4000s\n",
             path);
  else
    journal_text[0] = '\0';
}
