/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_HOST_H
#define AICR_HOST_HOST_H

#include "host/journal.h"
#include "host/task.h"
#include "kube/clock.h"
#include "kube/config.h"

/* The host: the cluster, the running tasks, the loop, and the engine's state.
 */

struct aicr_host {
  struct kube_client *client;
  bool recording;          /* the client's answers come from a recording */
  struct aicr_task *tasks; /* in the order of their start */
  struct aicr_buf event;
  struct aicr_journal journal;
  /* Of each task, 0: AICR_RESUME_MS, AICR_CLEANUP_MS. */
  int64_t resume_max_ms, cleanup_ms;
};

/* Runs lua/aicr/engine/main.lua with the options (a JSON object); returns its
 * exit code, 70 when the engine itself failed. source_dir: see
 * aicr_embed_source(). */
int aicr_host_main(const char *options_json, size_t len,
                   const char *source_dir);

/* Makes h the host of a state.                                 [-0, +0, m] */
void aicr_host_set(lua_State *L, struct aicr_host *h);

/* The host of the engine's state. */
struct aicr_host *aicr_host_of(lua_State *L);

/* Opens a recording to work on; replaces an earlier cluster. */
bool aicr_host_open_recording(struct aicr_host *h, const char *dir,
                              struct aicr_buf *warnings,
                              struct aicr_error *err);

/* What may be said of a live cluster: nothing secret. */
struct aicr_cluster_facts {
  char server[512], source[512];
  bool insecure;
};

/* Prints the versions of the libraries that talk to clusters, a line each. */
void aicr_host_print_libraries(void);

/* Records what the cluster answers from now on into a new or empty folder
 * (kube/record_start.h). */
bool aicr_host_record(struct aicr_host *h, const char *folder,
                      struct aicr_buf *warnings, struct aicr_error *err);

/* Opens a live cluster to work on; nothing is sent yet. With trace each
 * exchange is told on stderr. Errors: those of kube_config_load(). */
bool aicr_host_open_live(struct aicr_host *h,
                         const struct kube_config_options *options, bool trace,
                         struct aicr_cluster_facts *facts,
                         struct aicr_buf *warnings, struct aicr_error *err);

/* Adds a task. */
bool aicr_host_start(struct aicr_host *h, const struct aicr_task_spec *spec,
                     struct aicr_error *err);

/* Ends a task; over: its time is, and so the end of its attempt is recorded. */
bool aicr_host_cancel(struct aicr_host *h, int64_t id, const char *reason,
                      bool over);

/* Runs the tasks until something is to be told and leaves it in h->event as a
 * JSON object: done, progress, signal, or tick after timeout_ms (negative: no
 * limit). With no task left: tick at once. */
void aicr_host_next(struct aicr_host *h, int timeout_ms);

/* Queues what a task says of its progress; the last one counts. */
void aicr_host_progress(struct aicr_host *h, const struct aicr_task *t,
                        const char *text, size_t len);

#endif
