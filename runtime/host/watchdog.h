/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_WATCHDOG_H
#define AICR_HOST_WATCHDOG_H

#include <lua.h>

/* Lua cannot interrupt a C function that it called, such as string.find with a
 * pattern that takes for ever. A timer signal that finds the same check inside
 * such a call for AICR_STUCK_SECONDS says so with write(2) and ends the process
 * with 70; what had finished is in the journal (design 3). */

#define AICR_STUCK_SECONDS 10

/* Starts the timer. */
void aicr_watchdog_open(void);

/* The check that runs from now on; NULL: none. */
void aicr_watchdog_watch(const char *name);

/* The coroutine that runs and its instruction hook: each second the hook is
 * made to come at the next instruction, however slow those before were, so
 * that a deadline is seen. NULL: none. Returns the one before. */
lua_State *aicr_watchdog_hook(lua_State *co, lua_Hook hook);

/* It is alive: called by the instruction hook. */
void aicr_watchdog_beat(void);

/* Another number each second. */
unsigned aicr_watchdog_ticks(void);

/* Where finished results are kept; NULL: nowhere. */
void aicr_watchdog_journal(const char *path);

#endif
