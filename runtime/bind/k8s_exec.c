/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/k8s.h"

/* aicr.native.k8s: a command in a container. */

/* Pushes the words of the table's `command` as one string, a NUL after each. */
static const char *push_command(lua_State *L, const char *what, size_t *len)
{
  luaL_Buffer b;
  lua_Integer count;
  int words;

  lua_getfield(L, 2, "command");
  luaL_checktype(L, -1, LUA_TTABLE);
  words = lua_gettop(L);
  count = (lua_Integer)lua_rawlen(L, words);
  luaL_buffinit(L, &b);
  for (lua_Integer i = 1; i <= count; i++) {
    size_t n;

    if (lua_rawgeti(L, words, i) != LUA_TSTRING)
      luaL_error(L, "%s: word %d of the command must be a string, got %s", what,
                 (int)i, luaL_typename(L, -1));
    if (strlen(lua_tolstring(L, -1, &n)) != n)
      luaL_error(L, "%s: a NUL byte in word %d of the command", what, (int)i);
    luaL_addvalue(&b);
    luaL_addchar(&b, '\0');
  }
  luaL_pushresult(&b);
  return lua_tolstring(L, -1, len);
}

/* Index 2: the box. */
static int got_end(lua_State *L, int status, lua_KContext ctx)
{
  struct aicr_task *t = (struct aicr_task *)ctx;
  struct aicr_k8s_box *box = lua_touserdata(L, 2);
  const char *text;
  size_t len;
  int code;

  (void)status;
  aicr_task_check_stop(L, t);
  switch (kube_call_next(box->call, &text, &len)) {
  case KUBE_CALL_WAIT:
    return aicr_k8s_wait(L, t, box, got_end);
  case KUBE_CALL_OBJECT:
    aicr_k8s_look_found(t, &box->look);
    lua_pushlstring(L, text ? text : "", len);
    code = kube_call_exit_code(box->call, &text, &len);
    lua_pushlstring(L, text ? text : "", len);
    lua_pushinteger(L, code);
    return 3;
  default:
    return aicr_k8s_fail(L, box);
  }
}

/* native.exec(what, {name=, namespace=, command={…}, container=, stdin=,
 * deadline_ms=}) -> stdout, stderr, exit code
 *                                                      [yields] [-0, +3, v] */
int aicr_k8s_exec(lua_State *L)
{
  const char *what = luaL_checkstring(L, 1);
  struct aicr_task *t = aicr_k8s_task(L, what);
  struct kube_call_spec spec = {
      .verb = KUBE_EXEC, .resource = "pods", .subresource = "exec"};

  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  spec.name = aicr_k8s_option(L, 2, "name");
  spec.ns = aicr_k8s_option(L, 2, "namespace");
  spec.container = aicr_k8s_option(L, 2, "container");
  spec.command = push_command(L, what, &spec.command_len);
  if (lua_getfield(L, 2, "stdin") != LUA_TNIL)
    spec.body = luaL_checklstring(L, -1, &spec.body_len);
  lua_getfield(L, 2, "deadline_ms");
  spec.deadline_ms = lua_tointeger(L, -1);
  aicr_k8s_start(L, t, &spec, false);
  lua_pushnil(L);
  return aicr_k8s_wait_once(L, t, got_end);
}
