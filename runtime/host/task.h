/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_TASK_H
#define AICR_HOST_TASK_H

#include <lua.h>
#include <stdint.h>

#include "host/awaited.h"
#include "host/record.h"
#include "host/seen.h"
#include "host/state.h"
#include "kube/client.h"

/* One run of a check: its own Lua state, its limits, what it waits for, what
 * it recorded. */

struct aicr_host;

enum aicr_wait {
  AICR_WAIT_NONE,     /* ready to run */
  AICR_WAIT_CALL,     /* the Kubernetes call `call` */
  AICR_WAIT_UNTIL,    /* the monotonic time `until_ms` */
  AICR_WAIT_CHILDREN, /* the functions of ctx:all */
  AICR_WAIT_DONE      /* ended */
};

/* One line of execution of a check: the check itself, or a function that it
 * gave to ctx:all. */
struct aicr_strand {
  struct aicr_strand *next;
  struct aicr_strand *parent; /* NULL: the check itself */
  lua_State *co;              /* anchored in the registry by its address */
  enum aicr_wait wait;
  struct kube_call *call; /* not owned: it belongs to a userdata */
  int64_t until_ms;
  struct aicr_awaited *awaits; /* the innermost; not owned, as the call */
  unsigned alls;               /* how often it called ctx:all */
  unsigned added;              /* functions of the last of them */
  char part[sizeof(((struct kube_asker *)0)->part)];
  bool failed;  /* a child that raised; the error is on its stack */
  bool yielded; /* …that yielded by itself */
  bool killed;  /* ended by the limits */
};

/* How the check's own code ended. */
enum aicr_task_end {
  AICR_END_RUNNING,
  AICR_END_RETURNED,
  AICR_END_STOPPED, /* by ctx:fail, ctx:skip or a false must */
  AICR_END_ERROR,   /* an uncaught error object */
  AICR_END_SCRIPT,  /* a Lua error */
  AICR_END_MEMORY,
  AICR_END_BUDGET,
  AICR_END_DEADLINE,
  AICR_END_CANCELED
};

struct aicr_task_spec {
  int64_t id;
  const char *name; /* of the check, NULL: it is none */
  unsigned attempt; /* from 1 */
  const char *path; /* chunk name of the source */
  const char *source;
  size_t source_len;
  const char *const *roots;
  size_t root_count;
  const char *const *needs;
  size_t need_count;
  int64_t deadline_ms; /* from now, 0: none */
  const char *context; /* JSON text, read by lua/aicr/task.lua */
  size_t context_len;
  const char *run_namespace;
};

/* Strands of one check at once. */
#define AICR_STRANDS_MAX 1000
/* Instructions that one run may execute; its clean-up gets as many again. */
#define AICR_TASK_BUDGET 500000000
/* How long a check may keep the thread between two waits. */
#define AICR_RESUME_MS 30000
/* What clean-up may use up after the run. */
#define AICR_CLEANUP_MS 60000

struct aicr_task {
  struct aicr_task *next;
  struct aicr_host *host;
  int64_t id;
  struct kube_asker asker; /* the check itself */
  char *path, *source, *context, *run_namespace;
  size_t source_len, context_len;
  char *root_copies[AICR_ROOTS_MAX];
  struct aicr_roots roots;
  struct kube_permissions *permissions;

  struct aicr_memory memory;
  lua_State *L; /* the state's main thread; never runs user code */
  struct aicr_strand *strands; /* the check first, then its children */
  struct aicr_strand *current; /* the one that runs, NULL between runs */
  size_t strand_count;
  bool done;
  int closing; /* coroutines of the script that are being closed (guard.c) */

  int64_t started_ms, started_mono_ms, deadline_ms;
  int64_t resumed_ms; /* since then it has the thread */
  int64_t resume_max_ms, cleanup_ms;
  int64_t instructions;

  enum aicr_task_end end;
  enum aicr_task_end stop; /* why it must stop, AICR_END_RUNNING: it must not */
  bool replayed;           /* …because the run that was recorded did */
  char cancel_reason[64];
  bool cleaning;
  bool has_cleanup;        /* something was handed to ctx:defer */
  struct aicr_buf ending;  /* JSON members of how it ended */
  struct aicr_buf awaited; /* …of what it waited for when it was stopped */
  struct aicr_record record;
  struct aicr_seen seen;
};

/* Makes a task that is ready to run; NULL without memory. Bad `needs` are an
 * error (kube_permissions_parse). */
struct aicr_task *aicr_task_new(struct aicr_host *host,
                                const struct aicr_task_spec *spec,
                                struct aicr_error *err);
void aicr_task_free(struct aicr_task *t);

/* Runs what is ready of the task, until all of it waits or it ended (t->done).
 * False when nothing was ready. */
bool aicr_task_run(struct aicr_task *t);

/* Asks the task to stop: what it waits for is ended, its next primitive
 * raises, its clean-up runs. */
void aicr_task_stop(struct aicr_task *t, enum aicr_task_end why,
                    const char *reason);

/* Who asks now: the strand that runs. */
struct kube_asker aicr_task_asker(const struct aicr_task *t);

/* Ends the task as the run of it ended that was recorded, and raises.
 *                                                              [-0, +0, v] */
void aicr_task_stop_as_recorded(lua_State *L, struct aicr_task *t);

/* Notes the values of a Secret that the task (owner) is about to get: what it
 * says is masked with them. Those that cannot be kept lose it its pass. */
void aicr_task_note_secret(void *owner, const char *text, size_t len);

/* The task of a state; NULL in the engine's state. */
struct aicr_task *aicr_task_of(lua_State *L);

/* Notes that an allocation of C failed in a check: it ends as `memory`, as if
 * Lua had had none (aicr_memory_ran_out).                      [-0, +0, -] */
void aicr_note_no_memory(lua_State *L);

/* The same, and raises.                                        [-0, +0, v] */
int aicr_out_of_memory(lua_State *L);

/* Called by a primitive before it waits: gives the strand that runs; raises
 * when this is a coroutine of the script's own, or when the task is to stop.
 *                                                              [-0, +0, v] */
struct aicr_strand *aicr_task_may_wait(lua_State *L, struct aicr_task *t,
                                       const char *what);

/* Takes away what is left of children that were added and never set going.
 *                                                              [-0, +0, -] */
void aicr_strand_begin(lua_State *L, struct aicr_task *t);

/* Adds a child of the running strand that will run the function on the top of
 * L once aicr_strand_go() was called.                          [-1, +0, v] */
void aicr_strand_add(lua_State *L, struct aicr_task *t);

/* Sets the children of the running strand going; it waits for them. */
void aicr_strand_go(struct aicr_task *t);

/* After the children of the running strand: takes them away. When one raised,
 * its error is raised again.                                   [-0, +0, v] */
void aicr_strand_join(lua_State *L, struct aicr_task *t);

/* Raises the error object of the stop when there is one.       [-0, +0, v] */
void aicr_task_check_stop(lua_State *L, const struct aicr_task *t);

/* The file and line of the innermost frame of user code from `level` up; false
 * when there is none. */
bool aicr_user_frame(lua_State *L, int level, char *file, size_t size,
                     int *line);

/* Appends the `done` event of an ended task as a JSON object. */
bool aicr_task_write_done(const struct aicr_task *t, int64_t now_mono_ms,
                          struct aicr_buf *out);

/* The value that ends a check after its ending was recorded. */
void *aicr_task_stop_value(void);

/* Runs a source once in a throw-away state without a cluster and appends its
 * description (lua/aicr/task/describe.lua) as JSON to *out. False: *out is a
 * JSON object {message, file, line}. */
bool aicr_describe(const char *path, const char *source, size_t len,
                   const char *const *roots, size_t root_count,
                   struct aicr_buf *out);

#endif
