/* SPDX-License-Identifier: Apache-2.0 */
#include "host/limit.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "core/json_reader.h"
#include "core/json_writer.h"
#include "host/host.h"
#include "host/watchdog.h"

#define HOOK_COUNT 10000
/* Calls within each other. Lua itself stops at some 200,000, but each error
 * that is caught at such a depth costs a walk over all of them. */
#define DEPTH_MAX 8000
#define TRACE_MAX 12
/* The hook is to come first: its place is the user's, and an error of memory
 * says less. */
#define LATE_MS 1000

/* Ends a check whose calls nest too deep: Lua's own error could be caught. */
static void stop_too_deep(struct aicr_task *t, lua_State *L)
{
  t->stop = AICR_END_SCRIPT;
  if (t->cleaning || !t->host)
    return;
  t->end = AICR_END_SCRIPT;
  aicr_end_message(t, L, "stack overflow: over 8000 calls in one another");
}

/* Ends a check that does not give way: calls of C functions are one instruction
 * each, however long they take. */
static void stop_too_long(struct aicr_task *t, lua_State *L)
{
  char text[200];
  int64_t tenths = (aicr_monotonic_ms() - t->resumed_ms) / 100;

  t->stop = AICR_END_BUDGET;
  if (t->cleaning || !t->host)
    return;
  t->end = AICR_END_BUDGET;
  snprintf(text, sizeof(text),
           "it kept the only thread for %gs without waiting, at most %gs: no "
           "other check can go on meanwhile; do less at once, or call "
           "ctx:sleep(\"1ms\") between the parts",
           (double)tenths / 10, (double)t->resume_max_ms / 1000);
  aicr_end_message(t, L, text);
}

static bool is_too_long(const struct aicr_task *t, int64_t now)
{
  return t->resume_max_ms && now >= t->resumed_ms + t->resume_max_ms;
}

void aicr_limit_begin(struct aicr_task *t)
{
  int64_t end;

  t->resumed_ms = aicr_monotonic_ms();
  end = t->resumed_ms + t->resume_max_ms;
  if (t->deadline_ms && t->deadline_ms < end)
    end = t->deadline_ms;
  t->memory.until_ms = end + LATE_MS;
}

void aicr_limit_end(struct aicr_task *t, lua_State *co)
{
  if (t->memory.late && t->stop == AICR_END_RUNNING) {
    if (t->deadline_ms && aicr_monotonic_ms() >= t->deadline_ms)
      t->stop = AICR_END_DEADLINE;
    else
      stop_too_long(t, co);
  }
  t->memory.until_ms = 0;
  t->memory.late = false;
}

/* Where the reading of a file was ended, in a file of the user's: the ending
 * becomes "FILE:LINE: ". */
static void note_place(struct aicr_task *t, lua_State *L)
{
  char file[1024];
  int line;

  if (t->host || t->ending.len ||
      !aicr_user_frame(L, 0, file, sizeof(file), &line))
    return;
  aicr_buf_adds(&t->ending, file);
  aicr_buf_addf(&t->ending, ":%d: ", line);
}

static void on_count(lua_State *L, lua_Debug *ar)
{
  struct aicr_task *t = aicr_task_of(L);
  int64_t now = aicr_monotonic_ms();
  lua_Debug deep;

  (void)ar;
  aicr_watchdog_beat();
  if (t->stop == AICR_END_RUNNING) {
    t->instructions += HOOK_COUNT;
    if (t->instructions > AICR_TASK_BUDGET)
      t->stop = AICR_END_BUDGET;
    else if (t->deadline_ms && now >= t->deadline_ms)
      t->stop = AICR_END_DEADLINE;
    else if (is_too_long(t, now))
      stop_too_long(t, L);
    else if (aicr_memory_ran_out(&t->memory))
      t->stop = AICR_END_MEMORY;
    else if (lua_getstack(L, DEPTH_MAX, &deep))
      stop_too_deep(t, L);
    else {
      lua_sethook(L, on_count, LUA_MASKCOUNT, HOOK_COUNT);
      return;
    }
  }
  note_place(t, L);
  aicr_limit_fire(L);
  luaL_error(L, t->stop == AICR_END_BUDGET   ? "instruction budget exceeded"
                : t->stop == AICR_END_SCRIPT ? "stack overflow"
                                             : "the check must stop");
}

void aicr_limit_arm(struct aicr_task *t, lua_State *co)
{
  lua_sethook(co, on_count, LUA_MASKCOUNT,
              t->stop == AICR_END_RUNNING ? HOOK_COUNT : 1);
}

lua_State *aicr_limit_watch(lua_State *co)
{
  return aicr_watchdog_hook(co, on_count);
}

void aicr_limit_disarm(lua_State *co)
{
  lua_sethook(co, NULL, 0, 0);
}

void aicr_limit_fire(lua_State *L)
{
  lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
}

static bool is_user_source(const char *source)
{
  return source[0] == '@' && strncmp(source, "@lua/aicr/", 10) != 0;
}

bool aicr_user_frame(lua_State *L, int level, char *file, size_t size,
                     int *line)
{
  lua_Debug ar;

  for (; lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "Sl", &ar) || !is_user_source(ar.source) ||
        ar.currentline < 0)
      continue;
    if (strlen(ar.source) > size)
      return false;
    memcpy(file, ar.source + 1, strlen(ar.source));
    *line = ar.currentline;
    return true;
  }
  return false;
}

void aicr_end_position(struct aicr_buf *out, lua_State *co)
{
  char file[1024];
  int line;

  if (!aicr_user_frame(co, 0, file, sizeof(file), &line))
    return;
  aicr_buf_adds(out, ",\"at\":{\"file\":");
  aicr_json_write_string(out, file, strlen(file));
  aicr_buf_addf(out, ",\"line\":%d}", line);
}

/* ,"trace":["run (checks/x.lua:17)", …]: the user's frames only. */
static void write_trace(struct aicr_buf *out, lua_State *co)
{
  lua_Debug ar;
  int written = 0;

  aicr_buf_adds(out, ",\"trace\":[");
  for (int level = 0; lua_getstack(co, level, &ar); level++) {
    char text[1200];
    int n;

    if (written == TRACE_MAX || !lua_getinfo(co, "Sln", &ar))
      break;
    if (!is_user_source(ar.source) || ar.currentline < 0)
      continue;
    n = snprintf(text, sizeof(text), "%.100s (%.1000s:%d)",
                 ar.name ? ar.name : "main chunk", ar.source + 1,
                 ar.currentline);
    if (n < 0)
      break;
    aicr_buf_adds(out, written++ ? "," : "");
    aicr_json_write_string(out, text, strlen(text));
  }
  aicr_buf_addc(out, ']');
}

void aicr_end_message(struct aicr_task *t, lua_State *co, const char *message)
{
  aicr_buf_reset(&t->ending);
  aicr_buf_adds(&t->ending, ",\"message\":");
  aicr_json_write_string(&t->ending, message, strlen(message));
  if (co)
    aicr_end_position(&t->ending, co);
}

/* What describe_value() needs; runs protected, since it makes Lua values. */
struct description {
  struct aicr_task *t;
  lua_State *co;
  int status;
  int results;
};

/* The members of a JSON object, each with a comma before it. The text comes out
 * of the check's own state: it must be one object, or it could close the place
 * it is put in and go on as something else. */
static void add_members(lua_State *L, struct aicr_task *t, const char *text,
                        size_t len)
{
  struct aicr_error err = {0};

  if (!text || len < 2 || text[0] != '{' || text[len - 1] != '}' ||
      !aicr_json_check(text, len, AICR_JSON_STRICT, AICR_JSON_DEPTH, &err)) {
    if (err.code == AICR_INTERNAL)
      aicr_out_of_memory(L);
    luaL_error(L, "the ending of the check is no JSON object");
  }
  if (len == 2)
    return;
  aicr_buf_addc(&t->ending, ',');
  aicr_buf_add(&t->ending, text + 1, len - 2);
}

/* Calls lua/aicr/task.lua's ending(kind, value) -> how, JSON object. */
static int describe_value(lua_State *L)
{
  struct description *d = lua_touserdata(L, 1);
  lua_State *co = d->co;
  size_t len;
  const char *text;

  aicr_require(L, "aicr.task");
  lua_getfield(L, -1, "ending");
  lua_pushstring(L, d->status == LUA_OK ? "returned" : "raised");
  if (lua_gettop(co) > 0 && (d->results > 0 || d->status != LUA_OK)) {
    lua_pushvalue(co, d->status == LUA_OK ? -d->results : -1);
    lua_xmove(co, L, 1);
  } else
    lua_pushnil(L);
  lua_call(L, 2, 2);
  text = lua_tolstring(L, -1, &len);
  add_members(L, d->t, text, len);
  if (d->t->end != AICR_END_RUNNING)
    return 0;
  text = lua_tostring(L, -2);
  if (text && !strcmp(text, "error"))
    d->t->end = AICR_END_ERROR;
  else if (text && !strcmp(text, "script"))
    d->t->end = AICR_END_SCRIPT;
  else
    d->t->end =
        text && !strcmp(text, "ended") ? AICR_END_STOPPED : AICR_END_RETURNED;
  return 0;
}

void aicr_end_describe(struct aicr_task *t, lua_State *co, int status,
                       int results)
{
  struct description d = {t, co, status, results};

  if (t->end != AICR_END_RUNNING)
    return; /* aicr_end_message() said it */
  if (t->stop != AICR_END_RUNNING)
    t->end = t->stop;
  else if (status == LUA_ERRMEM || aicr_memory_ran_out(&t->memory))
    t->end = AICR_END_MEMORY; /* also when the script caught it */
  if (t->end != AICR_END_RUNNING) {
    aicr_end_position(&t->ending, co);
    return;
  }
  lua_settop(t->L, 0);
  lua_pushcfunction(t->L, describe_value);
  lua_pushlightuserdata(t->L, &d);
  status = lua_pcall(t->L, 1, 0, 0);
  if (status != LUA_OK || t->ending.failed) {
    aicr_buf_reset(&t->ending);
    t->end = status == LUA_OK || status == LUA_ERRMEM ||
                     aicr_memory_ran_out(&t->memory)
                 ? AICR_END_MEMORY
                 : AICR_END_SCRIPT;
    if (t->end == AICR_END_SCRIPT)
      aicr_end_message(t, NULL, "it could not be told how the check ended");
  }
  if (t->end == AICR_END_ERROR || t->end == AICR_END_SCRIPT ||
      t->end == AICR_END_MEMORY)
    aicr_end_position(&t->ending, co);
  if (t->end == AICR_END_SCRIPT)
    write_trace(&t->ending, co);
}
