/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_AWAITED_H
#define AICR_HOST_AWAITED_H

#include "core/buffer.h"

/* What a check waited for when its time was over. */

struct aicr_strand;
struct aicr_task;

/* One wait that has words of its own (ctx.k8s:wait, ctx:eventually), in the
 * userdata that Lua holds. */
struct aicr_awaited {
  struct aicr_awaited *outer; /* the wait that it is part of */
  char what[400], seen[256];  /* "" before the first look */
};

/* Begins a wait of the strand that runs. */
void aicr_awaited_begin(struct aicr_task *t, struct aicr_awaited *a);

/* Ends it, whichever strand it is of; nothing where it has ended. */
void aicr_awaited_end(struct aicr_task *t, const struct aicr_awaited *a);

/* Notes in t->awaited what the task waits for: members of a JSON object,
 * `awaited` and the place in the user's code as `at`. Nothing where nothing
 * waits. */
void aicr_awaited_note(struct aicr_task *t);

#endif
