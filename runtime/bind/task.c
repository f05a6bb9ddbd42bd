/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>
#include <string.h>

#include "host/host.h"

#define NEEDS_MAX 256

/* aicr.native.task: what lua/aicr/ctx.lua stands on. */

/* Once memory ran out what a check concludes may be wrong: nothing is noted any
 * more that could decide. Its clean-up goes on.                [-0, +0, v] */
static void may_conclude(lua_State *L, const struct aicr_task *t)
{
  if (!t->cleaning && aicr_memory_ran_out(&t->memory))
    aicr_out_of_memory(L);
}

/* task.record(kind, value): notes one item of the record. A value that cannot
 * be JSON is noted as text, one that is too large is counted.  [-0, +1, v] */
static int task_record(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  const char *name = luaL_checkstring(L, 1);
  enum aicr_record_kind kind = aicr_record_kind(name);
  struct aicr_buf *json;
  bool kept;

  luaL_checkany(L, 2);
  lua_settop(L, 2);
  luaL_argcheck(L, kind != AICR_REC_KINDS && kind != AICR_REC_ENDINGS, 1,
                "unknown kind");
  may_conclude(L, t);
  json = aicr_new_buf(L, (size_t)AICR_RECORD_ITEM_MAX * 2);
  aicr_encode_json_lenient(L, 2, json);
  if (json->no_memory)
    return aicr_out_of_memory(L);
  /* A failed buffer is an item of the greatest size: dropped and counted. */
  kept = aicr_record_add(&t->record, kind, json->data,
                         json->failed ? AICR_RECORD_TOTAL_MAX : json->len);
  aicr_buf_free(json);
  lua_pushboolean(L, kept);
  return 1;
}

/* task.brief(value) -> its JSON text, nil when that is over 64 KiB.
 *                                                              [-0, +1, m] */
static int task_brief(lua_State *L)
{
  struct aicr_buf *json;

  luaL_checkany(L, 1);
  lua_settop(L, 1);
  json = aicr_new_buf(L, AICR_RECORD_ITEM_MAX);
  aicr_encode_json_lenient(L, 1, json);
  if (json->no_memory)
    return aicr_out_of_memory(L);
  if (json->failed)
    luaL_pushfail(L);
  else
    lua_pushlstring(L, json->data, json->len);
  return 1;
}

/* Sets t.at = {file, line} of the user code that is running. */
static void add_place(lua_State *L, int idx)
{
  char file[1024];
  int line;

  if (!aicr_user_frame(L, 1, file, sizeof(file), &line))
    return;
  lua_createtable(L, 0, 2);
  aicr_set_string(L, "file", file);
  aicr_set_integer(L, "line", line);
  lua_setfield(L, idx, "at");
}

/* task.ending(t): notes an ending {kind=, code=, reason=, …} with the place in
 * the user's code. It stands whatever follows.                 [-0, +0, v] */
static int task_ending(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  struct aicr_buf *json;

  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  may_conclude(L, t);
  lua_getfield(L, 1, "kind");
  if (t->cleaning && !strcmp(luaL_checkstring(L, -1), "skip"))
    return luaL_error(L, "a clean-up function cannot skip the check");
  lua_pop(L, 1);
  add_place(L, 1);
  json = aicr_new_buf(L, AICR_RECORD_TOTAL_MAX);
  aicr_encode_json_lenient(L, 1, json);
  if (json->failed) {
    /* Evidence must not push the verdict out. */
    aicr_buf_reset(json);
    lua_pushnil(L);
    lua_setfield(L, 1, "details");
    aicr_encode_json_lenient(L, 1, json);
  }
  if (json->failed ||
      !aicr_record_add(&t->record, AICR_REC_ENDINGS, json->data, json->len)) {
    t->record.lost = true;
    return luaL_error(L, "the ending of the check could not be recorded");
  }
  aicr_buf_free(json);
  return 0;
}

/* task.extra(key, value): one key of the record's flat extra map; false when
 * it holds 64 already.                                         [-0, +1, v] */
static int task_extra(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  struct aicr_buf *key, *value;
  bool kept;

  luaL_checkstring(L, 1);
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  key = aicr_new_buf(L, AICR_RECORD_ITEM_MAX);
  value = aicr_new_buf(L, AICR_RECORD_ITEM_MAX);
  aicr_encode_json_lenient(L, 1, key);
  aicr_encode_json_lenient(L, 2, value);
  kept = !key->failed && !value->failed &&
         aicr_record_extra(&t->record, key->data, value->data);
  if (key->no_memory || value->no_memory || t->record.lost)
    return aicr_out_of_memory(L);
  lua_pushboolean(L, kept);
  return 1;
}

/* task.set(which, value): "coverage" or "cleanup".             [-0, +0, v] */
static int task_set(lua_State *L)
{
  static const char *const names[] = {"coverage", "cleanup", NULL};
  struct aicr_task *t = aicr_check_task(L);
  int which = luaL_checkoption(L, 1, NULL, names);
  struct aicr_buf *json;

  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  json = aicr_new_buf(L, AICR_RECORD_ITEM_MAX);
  aicr_encode_json_lenient(L, 2, json);
  if (json->failed ||
      !aicr_record_set(&t->record,
                       which == 0 ? &t->record.coverage : &t->record.cleanup,
                       json->data, json->len)) {
    t->record.lost = true;
    return luaL_error(L, "the %s could not be recorded", names[which]);
  }
  return 0;
}

/* task.progress(text): the last one is shown while the check runs.
 *                                                              [-0, +0, v] */
static int task_progress(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);

  aicr_host_progress(t->host, t, text, len < 1000 ? len : 1000);
  return 0;
}

/* task.defer(): there is clean-up to run after the check.      [-0, +0, v] */
static int task_defer(lua_State *L)
{
  aicr_check_task(L)->has_cleanup = true;
  return 0;
}

/* task.stopping() -> boolean: the deadline passed or the run was canceled.
 *                                                              [-0, +1, v] */
static int task_stopping(lua_State *L)
{
  lua_pushboolean(L, aicr_check_task(L)->stop != AICR_END_RUNNING);
  return 1;
}

/* task.now() -> milliseconds since the epoch at which the cluster's answers
 * are true: a recording's capture time, else the clock.        [-0, +1, v] */
static int task_now(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  int64_t ms = 0;

  if (t->host->client) {
    struct kube_backend *b = kube_client_backend(t->host->client);

    ms = b->ops->time(b);
  }
  lua_pushinteger(L, ms ? ms : aicr_now_ms());
  return 1;
}

/* task.monotonic() -> milliseconds                             [-0, +1, -] */
static int task_monotonic(lua_State *L)
{
  lua_pushinteger(L, aicr_monotonic_ms());
  return 1;
}

/* task.recording() -> boolean: the answers come from a recording, which does
 * not change.                                                  [-0, +1, v] */
static int task_recording(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);

  lua_pushboolean(L, t->host->recording);
  return 1;
}

/* task.check_needs(lines): raises a text that says what is wrong with the
 * first bad line.                                              [-0, +0, v] */
static int task_check_needs(lua_State *L)
{
  const char *lines[NEEDS_MAX];
  struct kube_permissions *p;
  struct aicr_error err;
  lua_Unsigned n = lua_rawlen(L, 1);

  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_argcheck(L, n <= NEEDS_MAX, 1, "too many lines");
  luaL_checkstack(L, NEEDS_MAX, "needs");
  for (lua_Unsigned i = 0; i < n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    lines[i] = luaL_checkstring(L, -1);
  }
  p = kube_permissions_parse(lines, (size_t)n, &err);
  if (!p) {
    if (err.code == AICR_INTERNAL)
      return aicr_out_of_memory(L);
    lua_pushstring(L, err.message);
    return lua_error(L);
  }
  kube_permissions_free(p);
  return 0;
}

/* task.k8s(table): from now on the only self of the methods of aicr.native.k8s.
 *                                                              [-0, +0, m] */
static int task_k8s(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  aicr_set_k8s(L, 1);
  return 0;
}

static int after_sleep(lua_State *L, int status, lua_KContext ctx)
{
  struct aicr_task *t = (struct aicr_task *)ctx;

  (void)status;
  aicr_task_check_stop(L, t);
  return 0;
}

/* task.sleep(ms)                                       [yields] [-0, +0, v] */
static int task_sleep(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  lua_Integer ms = luaL_checkinteger(L, 1);
  struct aicr_strand *s = aicr_task_may_wait(L, t, "ctx:sleep");

  luaL_argcheck(L, ms >= 0 && ms <= 366LL * 86400000, 1, "out of range");
  s->until_ms = aicr_monotonic_ms() + ms;
  s->wait = AICR_WAIT_UNTIL;
  return lua_yieldk(L, 0, (lua_KContext)t, after_sleep);
}

static int after_all(lua_State *L, int status, lua_KContext ctx)
{
  struct aicr_task *t = (struct aicr_task *)ctx;

  (void)status;
  aicr_task_check_stop(L, t);
  aicr_strand_join(L, t);
  return 0;
}

/* task.all(list of functions): runs them side by side until all ended or one
 * raised, which ends the others and is raised here.    [yields] [-0, +0, v] */
static int task_all(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  lua_Unsigned n;

  aicr_task_may_wait(L, t, "ctx:all");
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  n = lua_rawlen(L, 1);
  if (n == 0)
    return 0;
  aicr_strand_begin(L, t);
  for (lua_Unsigned i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i);
    aicr_strand_add(L, t);
  }
  aicr_strand_go(t);
  return lua_yieldk(L, 0, (lua_KContext)t, after_all);
}

static const luaL_Reg functions[] = {
    {"record", task_record},
    {"brief", task_brief},
    {"ending", task_ending},
    {"extra", task_extra},
    {"set", task_set},
    {"progress", task_progress},
    {"defer", task_defer},
    {"stopping", task_stopping},
    {"now", task_now},
    {"monotonic", task_monotonic},
    {"sleep", task_sleep},
    {"check_needs", task_check_needs},
    {"recording", task_recording},
    {"k8s", task_k8s},
    {"all", task_all},
    {"attained", aicr_task_attained},
    {"wait", aicr_task_wait},
    {"look", aicr_task_look},
    {"seen", aicr_task_seen},
    {"goes_on", aicr_task_goes_on},
    {"late", aicr_task_late},
    {NULL, NULL},
};

int luaopen_aicr_native_task(lua_State *L)
{
  luaL_newlib(L, functions);
  lua_pushlightuserdata(L, aicr_task_stop_value());
  lua_setfield(L, -2, "STOP");
  return 1;
}
