/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_LIMIT_H
#define AICR_HOST_LIMIT_H

#include "host/task.h"

/* The instruction hook of a check, and what is said of its end. */

/* Sets the hook on a strand's coroutine; coroutines it makes inherit it. */
void aicr_limit_arm(struct aicr_task *t, lua_State *co);
void aicr_limit_disarm(lua_State *co);

/* The coroutine that is resumed now, for the watchdog; NULL: none any more.
 * Returns the one before, which is to be named again when this one is done. */
lua_State *aicr_limit_watch(lua_State *co);

/* The thread is the task's from now on, until all of it waits: not for longer
 * than t->resume_max_ms. */
void aicr_limit_begin(struct aicr_task *t);

/* A resume ended: notes when it had lasted too long and only a refused
 * allocation ended it. */
void aicr_limit_end(struct aicr_task *t, lua_State *co);

/* From the next instruction on, L raises at every instruction: no pcall of the
 * script wins. */
void aicr_limit_fire(lua_State *L);

/* Notes in t->ending how the coroutine ended: the value (results on its top,
 * or an error by status). Sets t->end unless it is set already. */
void aicr_end_describe(struct aicr_task *t, lua_State *co, int status,
                       int results);

/* Notes a message of the host's own as the ending; co (may be NULL) gives the
 * place. */
void aicr_end_message(struct aicr_task *t, lua_State *co, const char *message);

/* Appends ,"at":{"file":…,"line":…} of the innermost user frame of co, if any.
 */
void aicr_end_position(struct aicr_buf *out, lua_State *co);

#endif
