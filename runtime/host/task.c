/* SPDX-License-Identifier: Apache-2.0 */
#include "host/task.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_writer.h"
#include "host/host.h"
#include "host/limit.h"
#include "host/strand.h"
#include "host/watchdog.h"
#include "kube/record.h"
#include "kube/recording.h"

/* Where lua/aicr/task.lua and its state are kept. */
static const char RUNNER_KEY = 0;
static const char STOP_VALUE = 0;

void *aicr_task_stop_value(void)
{
  return (void *)&STOP_VALUE;
}

struct aicr_task *aicr_task_of(lua_State *L)
{
  return aicr_state_owner(L);
}

void aicr_note_no_memory(lua_State *L)
{
  struct aicr_task *t = aicr_task_of(L);

  if (t)
    t->memory.exhausted = true;
}

int aicr_out_of_memory(lua_State *L)
{
  aicr_note_no_memory(L);
  return luaL_error(L, "not enough memory");
}

static char *copy(const char *text)
{
  return text ? aicr_strndup(text, strlen(text)) : NULL;
}

/* Protected: loads the runner and makes the strand that will run
 * runner.run(chunk, context). */
static int prepare(lua_State *L)
{
  struct aicr_task *t = lua_touserdata(L, 1);

  aicr_require(L, "aicr.task");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &RUNNER_KEY);
  lua_getfield(L, -1, "run");
  if (aicr_load_user(L, t->source, t->source_len, t->path) != LUA_OK)
    return lua_error(L);
  lua_pushlstring(L, t->context, t->context_len);
  aicr_strand_start(L, t, 3);
  return 0;
}

static bool copy_roots(struct aicr_task *t, const struct aicr_task_spec *spec)
{
  size_t n =
      spec->root_count < AICR_ROOTS_MAX ? spec->root_count : AICR_ROOTS_MAX;

  for (size_t i = 0; i < n; i++) {
    t->root_copies[i] = copy(spec->roots[i]);
    if (!t->root_copies[i])
      return false;
    t->roots.dirs[i] = t->root_copies[i];
    t->roots.count++;
  }
  return true;
}

struct aicr_task *aicr_task_new(struct aicr_host *host,
                                const struct aicr_task_spec *spec,
                                struct aicr_error *err)
{
  struct aicr_task *t = aicr_calloc(1, sizeof(*t));

  if (!t)
    goto no_memory;
  aicr_record_init(&t->record);
  aicr_buf_init(&t->ending, 1u << 20);
  aicr_buf_init(&t->awaited, AICR_RECORD_ITEM_MAX);
  t->host = host;
  t->id = spec->id;
  snprintf(t->asker.check, sizeof(t->asker.check), "%s",
           spec->name ? spec->name : "");
  t->asker.attempt = spec->attempt ? spec->attempt : 1;
  t->path = copy(spec->path);
  t->source = aicr_strndup(spec->source, spec->source_len);
  t->source_len = spec->source_len;
  t->context = aicr_strndup(spec->context, spec->context_len);
  t->context_len = spec->context_len;
  t->run_namespace = copy(spec->run_namespace ? spec->run_namespace : "");
  if (!t->path || !t->source || !t->context || !t->run_namespace ||
      !copy_roots(t, spec))
    goto no_memory;
  t->permissions = kube_permissions_parse(spec->needs, spec->need_count, err);
  if (!t->permissions) {
    aicr_task_free(t);
    return NULL;
  }
  t->memory.limit = AICR_STATE_MEMORY;
  t->resume_max_ms = host->resume_max_ms ? host->resume_max_ms : AICR_RESUME_MS;
  t->cleanup_ms = host->cleanup_ms ? host->cleanup_ms : AICR_CLEANUP_MS;
  t->started_ms = aicr_now_ms();
  t->started_mono_ms = aicr_monotonic_ms();
  if (spec->deadline_ms > 0)
    t->deadline_ms = t->started_mono_ms + spec->deadline_ms;
  return t;
no_memory:
  if (t)
    aicr_task_free(t);
  aicr_fail(err, AICR_INTERNAL, "memory", "no memory for another check");
  return NULL;
}

void aicr_task_free(struct aicr_task *t)
{
  /* Closing the state ends the calls that are still open: they belong to
   * userdata in it. */
  if (t->L) {
    aicr_watchdog_watch(t->path);
    lua_close(t->L);
    aicr_watchdog_watch(NULL);
  }
  while (t->strands) {
    struct aicr_strand *s = t->strands;

    t->strands = s->next;
    aicr_free(s);
  }
  kube_permissions_free(t->permissions);
  aicr_record_free(&t->record);
  aicr_buf_free(&t->ending);
  aicr_buf_free(&t->awaited);
  for (size_t i = 0; i < AICR_ROOTS_MAX; i++)
    aicr_free(t->root_copies[i]);
  aicr_free(t->path);
  aicr_free(t->source);
  aicr_free(t->context);
  aicr_free(t->run_namespace);
  aicr_free(t);
}

/* Opens the state at the first run, so that waiting tasks cost little. */
static bool open_task(struct aicr_task *t)
{
  int status;

  t->L = aicr_state_new(&t->memory, &t->roots, t);
  if (!t->L)
    return false;
  lua_pushcfunction(t->L, prepare);
  lua_pushlightuserdata(t->L, t);
  status = lua_pcall(t->L, 1, 0, 0);
  if (status != LUA_OK) {
    const char *text = lua_tostring(t->L, -1);

    t->end = status == LUA_ERRMEM || aicr_memory_ran_out(&t->memory)
                 ? AICR_END_MEMORY
                 : AICR_END_SCRIPT;
    aicr_end_message(t, NULL, text ? text : "the check could not be loaded");
    return false;
  }
  return true;
}

/* Protected: makes the strand of runner.cleanup(). */
static int prepare_cleanup(lua_State *L)
{
  struct aicr_task *t = lua_touserdata(L, 1);

  lua_rawgetp(L, LUA_REGISTRYINDEX, &RUNNER_KEY);
  lua_getfield(L, -1, "cleanup");
  aicr_strand_start(L, t, 1);
  return 0;
}

/* Clean-up has a budget of its own and some more memory: the run may have used
 * up both. */
static bool begin_cleanup(struct aicr_task *t)
{
  t->cleaning = true;
  t->stop = AICR_END_RUNNING;
  t->memory.limit += 16u << 20;
  t->memory.exhausted = false;
  t->memory.refused.size = 0;
  t->instructions = 0;
  t->deadline_ms = aicr_monotonic_ms() + t->cleanup_ms;
  lua_settop(t->L, 0);
  lua_pushcfunction(t->L, prepare_cleanup);
  lua_pushlightuserdata(t->L, t);
  return lua_pcall(t->L, 1, 0, 0) == LUA_OK;
}

static void cleanup_failed(struct aicr_task *t, const char *message)
{
  struct aicr_buf b;

  aicr_buf_init(&b, AICR_RECORD_ITEM_MAX);
  aicr_buf_adds(&b, "{\"ok\":false,\"message\":");
  aicr_json_write_string(&b, message, strlen(message));
  aicr_buf_addc(&b, '}');
  if (b.failed)
    t->record.lost = true;
  else
    aicr_record_set(&t->record, &t->record.cleanup, b.data, b.len);
  aicr_buf_free(&b);
}

static void cleanup_ended(struct aicr_task *t, int status)
{
  char text[64];

  t->done = true;
  if (t->stop == AICR_END_DEADLINE) {
    snprintf(text, sizeof(text), "clean-up did not end within %gs",
             (double)t->cleanup_ms / 1000);
    cleanup_failed(t, text);
  } else if (t->stop == AICR_END_BUDGET)
    cleanup_failed(t, "clean-up used up its budget");
  else if (aicr_memory_ran_out(&t->memory))
    cleanup_failed(t, "clean-up ran out of memory");
  else if (status != LUA_OK)
    cleanup_failed(t, "a clean-up function failed");
}

struct kube_asker aicr_task_asker(const struct aicr_task *t)
{
  struct kube_asker asker = t->asker;

  if (t->current)
    memcpy(asker.part, t->current->part, sizeof(asker.part));
  return asker;
}

/* How the run ended that was recorded: OK where it ended by itself, and where
 * there is no recording. */
static enum kube_transport recorded_end(const struct aicr_task *t)
{
  const struct aicr_host *h = t->host;

  return h && h->client && h->recording
             ? kube_recording_end(kube_client_backend(h->client), &t->asker)
             : KUBE_TRANSPORT_OK;
}

void aicr_task_stop_as_recorded(lua_State *L, struct aicr_task *t)
{
  if (t->stop == AICR_END_RUNNING && !t->cleaning) {
    t->replayed = true;
    aicr_task_stop(t, AICR_END_CANCELED, NULL);
  }
  aicr_task_check_stop(L, t);
}

/* A replay has no other outcome than the run: what that did not live to see
 * cannot decide. */
static void end_as_recorded(struct aicr_task *t, lua_State *co)
{
  enum kube_transport how = recorded_end(t);

  if (how == KUBE_TRANSPORT_OK || (t->stop != AICR_END_RUNNING && !t->replayed))
    return;
  t->end =
      how == KUBE_TRANSPORT_DEADLINE ? AICR_END_DEADLINE : AICR_END_CANCELED;
  snprintf(t->cancel_reason, sizeof(t->cancel_reason),
           "so was the run of it that was recorded");
  aicr_end_message(t, co,
                   "the run of it that was recorded did not end within its "
                   "time limit");
}

/* Tells the recording that is written how the attempt ended. */
static void record_end(const struct aicr_task *t)
{
  struct kube_record *r = t->host && t->host->client
                              ? kube_client_recording(t->host->client)
                              : NULL;

  if (r && t->asker.check[0])
    kube_record_run(r, &t->asker,
                    t->end == AICR_END_DEADLINE   ? KUBE_TRANSPORT_DEADLINE
                    : t->end == AICR_END_CANCELED ? KUBE_TRANSPORT_CANCELED
                                                  : KUBE_TRANSPORT_OK);
}

void aicr_task_ended(struct aicr_task *t, lua_State *co, int status,
                     int results)
{
  if (t->cleaning) {
    cleanup_ended(t, status);
    return;
  }
  end_as_recorded(t, co);
  aicr_end_describe(t, co, status, results);
  record_end(t);
  if (!t->has_cleanup)
    t->done = true;
  else if (!begin_cleanup(t)) {
    cleanup_failed(t, "clean-up could not be started: out of memory");
    t->done = true;
  }
}

static bool run(struct aicr_task *t)
{
  if (t->L || open_task(t))
    return aicr_strands_run(t);
  if (t->end == AICR_END_RUNNING) {
    t->end = AICR_END_MEMORY;
    aicr_end_message(t, NULL, "no memory for the check's state");
  }
  t->done = true;
  return true;
}

bool aicr_task_run(struct aicr_task *t)
{
  bool ran;

  if (t->done)
    return false;
  aicr_watchdog_watch(t->path);
  ran = run(t);
  aicr_watchdog_watch(NULL);
  return ran;
}

void aicr_task_stop(struct aicr_task *t, enum aicr_task_end why,
                    const char *reason)
{
  if (t->done || t->stop != AICR_END_RUNNING)
    return;
  /* Only its own time ends a clean-up: a signal comes to have it run. */
  if (t->cleaning && why == AICR_END_CANCELED)
    return;
  t->stop = why;
  if (!t->cleaning)
    aicr_awaited_note(t);
  if (reason)
    snprintf(t->cancel_reason, sizeof(t->cancel_reason), "%s", reason);
  for (struct aicr_strand *s = t->strands; s; s = s->next)
    if (s->wait != AICR_WAIT_DONE)
      s->wait = AICR_WAIT_NONE;
}

void aicr_task_check_stop(lua_State *L, const struct aicr_task *t)
{
  if (t->stop == AICR_END_RUNNING)
    return;
  /* The coroutine unwinds from here: from the next instruction on the hook
   * raises again, whatever catches this. */
  aicr_limit_fire(L);
  luaL_error(L, t->stop == AICR_END_CANCELED ? "the run was canceled"
                                             : "the check's time is over");
}
