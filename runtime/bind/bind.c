/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>
#include <string.h>

#include "host/task.h"

#define BUF_MT "aicr.buffer"

static int error_tostring(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_pushliteral(L, "[");
  lua_getfield(L, 1, "code");
  lua_pushliteral(L, "] ");
  lua_getfield(L, 1, "message");
  for (int i = 3; i <= 5; i += 2)
    if (!lua_isstring(L, i)) {
      lua_pushliteral(L, "?");
      lua_replace(L, i);
    }
  lua_concat(L, 4);
  lua_getfield(L, 1, "cause");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return 1;
  }
  lua_pushliteral(L, ": ");
  lua_insert(L, -2);
  luaL_tolstring(L, -1, NULL);
  lua_remove(L, -2);
  lua_concat(L, 3);
  return 1;
}

/* Pushes the metatable `name`. A new one (true) is to be filled and kept: half
 * a metatable in the registry, left by a lack of memory, would stay half. */
static bool push_metatable(lua_State *L, const char *name)
{
  if (luaL_getmetatable(L, name) == LUA_TTABLE)
    return false;
  lua_pop(L, 1);
  lua_createtable(L, 0, 5);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__metatable");
  return true;
}

static void keep_metatable(lua_State *L, const char *name)
{
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, name);
}

void aicr_set_release(lua_State *L, const char *name, lua_CFunction release)
{
  if (push_metatable(L, name)) {
    lua_pushcfunction(L, release);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, release);
    lua_setfield(L, -2, "__close");
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, release);
    lua_setfield(L, -2, "close");
    lua_setfield(L, -2, "__index");
    keep_metatable(L, name);
  }
  lua_setmetatable(L, -2);
}

void aicr_set_error_metatable(lua_State *L)
{
  if (push_metatable(L, AICR_ERROR_MT)) {
    lua_pushcfunction(L, error_tostring);
    lua_setfield(L, -2, "__tostring");
    keep_metatable(L, AICR_ERROR_MT);
  }
  lua_setmetatable(L, -2);
}

static void push_layer(lua_State *L, enum aicr_code code, const char *reason,
                       const char *message)
{
  luaL_checkstack(L, 8, "no room for an error object");
  lua_createtable(L, 0, 6);
  lua_pushstring(L, aicr_code_name(code));
  lua_setfield(L, -2, "code");
  lua_pushstring(L, reason);
  lua_setfield(L, -2, "reason");
  lua_pushstring(L, message);
  lua_setfield(L, -2, "message");
}

void aicr_push_error(lua_State *L, const struct aicr_error *err)
{
  if (err->code == AICR_INTERNAL && !strcmp(err->reason, "memory"))
    aicr_note_no_memory(L);
  push_layer(L, err->code, err->reason, err->message);
  lua_pushboolean(L, err->verdict);
  lua_setfield(L, -2, "verdict");
  if (err->cause.code != AICR_CODE_NONE) {
    push_layer(L, err->cause.code, err->cause.reason, err->cause.message);
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "verdict");
    aicr_set_error_metatable(L);
    lua_setfield(L, -2, "cause");
  }
  aicr_set_error_metatable(L);
}

int aicr_raise(lua_State *L, const struct aicr_error *err)
{
  aicr_push_error(L, err);
  return lua_error(L);
}

int aicr_raise_details(lua_State *L, const struct aicr_error *err)
{
  aicr_push_error(L, err);
  lua_insert(L, -2);
  lua_setfield(L, -2, "details");
  return lua_error(L);
}

bool aicr_is_error(lua_State *L, int idx)
{
  bool same;

  if (!lua_istable(L, idx) || !lua_getmetatable(L, idx))
    return false;
  luaL_getmetatable(L, AICR_ERROR_MT);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

static int buf_close(lua_State *L)
{
  aicr_buf_free(luaL_checkudata(L, 1, BUF_MT));
  return 0;
}

struct aicr_buf *aicr_new_buf(lua_State *L, size_t max)
{
  struct aicr_buf *b = lua_newuserdatauv(L, sizeof(*b), 0);

  aicr_buf_init(b, max);
  aicr_set_release(L, BUF_MT, buf_close);
  return b;
}

void aicr_mark_array(lua_State *L, int idx)
{
  idx = lua_absindex(L, idx);
  if (push_metatable(L, AICR_ARRAY_MT))
    keep_metatable(L, AICR_ARRAY_MT);
  lua_setmetatable(L, idx);
}

bool aicr_is_array(lua_State *L, int idx)
{
  bool same;

  if (!lua_istable(L, idx) || !lua_getmetatable(L, idx))
    return false;
  luaL_getmetatable(L, AICR_ARRAY_MT);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}
