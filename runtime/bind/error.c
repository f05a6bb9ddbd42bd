/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>
#include <string.h>

/* aicr.native.error: error objects made by the Lua libraries. */

static void copy_text(lua_State *L, const char *field)
{
  size_t len;

  if (lua_getfield(L, 1, field) != LUA_TSTRING)
    luaL_error(L, "error.new: %s must be a string, got %s", field,
               luaL_typename(L, -1));
  lua_tolstring(L, -1, &len);
  if (!strcmp(field, "code") &&
      aicr_code_from_name(lua_tostring(L, -1), len) == AICR_CODE_NONE)
    luaL_error(L, "error.new: unknown code \"%s\"", lua_tostring(L, -1));
  lua_setfield(L, 2, field);
}

static bool may_be_verdict(lua_State *L)
{
  size_t len;
  const char *name;
  enum aicr_code code;

  lua_getfield(L, 2, "code");
  name = lua_tolstring(L, -1, &len);
  code = aicr_code_from_name(name, len);
  lua_pop(L, 1);
  return code == AICR_NOT_FOUND || code == AICR_CONFLICT ||
         code == AICR_INVALID_REQUEST;
}

/* error.new{code=, reason=, message=, [details=, verdict=, cause=]} -> error
 * object. `verdict` is refused for a code that never is one (design 4).
 *                                                              [-0, +1, v] */
static int error_new(lua_State *L)
{
  bool verdict;

  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_createtable(L, 0, 6);
  copy_text(L, "code");
  copy_text(L, "reason");
  copy_text(L, "message");
  lua_getfield(L, 1, "details");
  lua_setfield(L, 2, "details");
  lua_getfield(L, 1, "cause");
  if (!lua_isnil(L, -1) && !aicr_is_error(L, -1))
    return luaL_error(L, "error.new: cause must be an error object");
  lua_setfield(L, 2, "cause");
  lua_getfield(L, 1, "verdict");
  verdict = lua_toboolean(L, -1);
  if (verdict && !may_be_verdict(L))
    return luaL_error(L, "error.new: this code is never a verdict");
  lua_pushboolean(L, verdict);
  lua_setfield(L, 2, "verdict");
  lua_settop(L, 2);
  aicr_set_error_metatable(L);
  return 1;
}

/* error.raise{…}: new and raised                               [-0, +0, v] */
static int error_raise(lua_State *L)
{
  error_new(L);
  return lua_error(L);
}

/* error.is(v) -> boolean                                       [-0, +1, -] */
static int error_is(lua_State *L)
{
  luaL_checkany(L, 1);
  lua_pushboolean(L, aicr_is_error(L, 1));
  return 1;
}

static const luaL_Reg functions[] = {
    {"new", error_new},
    {"raise", error_raise},
    {"is", error_is},
    {NULL, NULL},
};

int luaopen_aicr_native_error(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
