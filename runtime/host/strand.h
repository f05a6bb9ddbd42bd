/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_STRAND_H
#define AICR_HOST_STRAND_H

#include "host/task.h"

/* The strands of a task: the check's coroutine and those of ctx:all. */

/* Makes the check's own strand, which will call the function below the top
 * count - 1 values with these; an earlier one and its children are dropped.
 *                                                           [-count, +0, m] */
void aicr_strand_start(lua_State *L, struct aicr_task *t, int count);

/* Runs every strand that is ready once. False when none was. */
bool aicr_strands_run(struct aicr_task *t);

/* Told by aicr_strands_run(): the check's own strand has ended for good, by
 * status, with its results or error on the top of co. */
void aicr_task_ended(struct aicr_task *t, lua_State *co, int status,
                     int results);

#endif
