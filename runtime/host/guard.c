/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guard.h"

#include <lauxlib.h>

#include "host/limit.h"

/* __close handlers of coroutines that close coroutines: Lua 5.4.4 counts its
 * C calls anew for each, so that a chain of them would leave the C stack. */
#define CLOSING_MAX 8

static int all_results(lua_State *L, int status, lua_KContext ctx)
{
  (void)status;
  (void)ctx;
  return lua_gettop(L);
}

/* The message handler of the script: upvalue 1. An error that the limits raise
 * comes out of a hook, and Lua calls handlers with hooks off until it is
 * caught: the script's would run without any limit. */
static int handle(lua_State *L)
{
  const struct aicr_task *t = aicr_task_of(L);

  lua_settop(L, 1);
  if (t->stop != AICR_END_RUNNING)
    return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

/* xpcall(f, handler, …): upvalue 1 is Lua's. */
static int guarded_xpcall(lua_State *L)
{
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, handle, 1);
  lua_replace(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, all_results);
  return all_results(L, LUA_OK, 0);
}

static int body_ended(lua_State *L, int status, lua_KContext ctx)
{
  (void)ctx;
  if (status != LUA_OK && status != LUA_YIELD)
    return lua_error(L);
  return lua_gettop(L);
}

/* The function of a coroutine: upvalue 1. One that a hook ended would keep its
 * hooks off, also while what is open in it is closed; caught here, they are on
 * again before. */
static int body(lua_State *L)
{
  int n = lua_gettop(L);

  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return body_ended(L, lua_pcallk(L, n, LUA_MULTRET, 0, 0, body_ended), 0);
}

/* Calls the function that stands below n arguments at the top, all of whose
 * code runs in co; gives its results. co must be anchored below. */
static int call_in(lua_State *L, lua_State *co, int n)
{
  int bottom = lua_gettop(L) - n - 1, status;
  lua_State *before = aicr_limit_watch(co);

  status = lua_pcall(L, n, LUA_MULTRET, 0);
  aicr_limit_watch(before);
  return status == LUA_OK ? lua_gettop(L) - bottom : lua_error(L);
}

/* coroutine.create(f): upvalue 1 is Lua's. */
static int guarded_create(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushcclosure(L, body, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

/* coroutine.resume(co, …): upvalue 1 is Lua's. */
static int guarded_resume(lua_State *L)
{
  int n = lua_gettop(L);
  lua_State *co = lua_tothread(L, 1);

  luaL_argexpected(L, co, 1, "coroutine");
  lua_pushvalue(L, 1);
  lua_insert(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 2); /* co, Lua's, co, … */
  return call_in(L, co, n);
}

/* What coroutine.wrap gives: upvalue 1 is Lua's, upvalue 2 its coroutine. */
static int wrapped(lua_State *L)
{
  int n = lua_gettop(L);

  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return call_in(L, lua_tothread(L, lua_upvalueindex(2)), n);
}

/* coroutine.wrap(f): upvalue 1 is Lua's. */
static int guarded_wrap(lua_State *L)
{
  guarded_create(L);
  lua_getupvalue(L, -1, 1);
  lua_pushcclosure(L, wrapped, 2);
  return 1;
}

/* coroutine.close(co): upvalue 1 is Lua's. */
static int guarded_close(lua_State *L)
{
  struct aicr_task *t = aicr_task_of(L);
  lua_State *co = lua_tothread(L, 1), *before;
  int status;

  if (t->closing == CLOSING_MAX)
    return luaL_error(L, "C stack overflow: a coroutine's __close closes a "
                         "coroutine, and so on");
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  t->closing++;
  before = aicr_limit_watch(co ? co : L);
  status = lua_pcall(L, 1, LUA_MULTRET, 0);
  aicr_limit_watch(before);
  t->closing--;
  return status == LUA_OK ? lua_gettop(L) - 1 : lua_error(L);
}

/* coroutine.running(): no script may get hold of the threads that the host
 * resumes, or another function of the check could resume or close them. */
static int guarded_running(lua_State *L)
{
  const struct aicr_task *t = aicr_task_of(L);
  bool ours = lua_pushthread(L);

  for (const struct aicr_strand *s = t->strands; s; s = s->next)
    ours = ours || s->co == L;
  if (ours)
    luaL_pushfail(L);
  lua_pushboolean(L, ours);
  return 2;
}

/* Puts `f` over the function `name` of the table on the top, with that function
 * as its upvalue. */
static void replace(lua_State *L, const char *name, lua_CFunction f)
{
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, f, 1);
  lua_setfield(L, -2, name);
}

void aicr_guard_xpcall(lua_State *L)
{
  replace(L, "xpcall", guarded_xpcall);
}

void aicr_guard_coroutine(lua_State *L)
{
  replace(L, "close", guarded_close);
  replace(L, "create", guarded_create);
  replace(L, "resume", guarded_resume);
  replace(L, "running", guarded_running);
  replace(L, "wrap", guarded_wrap);
}
