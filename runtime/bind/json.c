/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>
#include <string.h>

#include "host/task.h"

#define ENCODE_MAX (256u << 20)

static int decode_flags(lua_State *L, int idx)
{
  int flags = AICR_JSON_COUNT_DUPLICATES;

  if (lua_isnoneornil(L, idx))
    return flags;
  luaL_checktype(L, idx, LUA_TTABLE);
  lua_getfield(L, idx, "nulls");
  if (!lua_isnil(L, -1)) {
    const char *how = lua_tostring(L, -1);

    luaL_argcheck(L, how && (!strcmp(how, "drop") || !strcmp(how, "keep")), idx,
                  "nulls must be \"drop\" or \"keep\"");
    if (!strcmp(how, "drop"))
      flags |= AICR_JSON_DROP_NULLS;
  }
  lua_pop(L, 1);
  return flags;
}

/* Is a count wanted? Of the options at idx. */
static bool counts_repeated(lua_State *L, int idx)
{
  bool wanted;

  if (!lua_istable(L, idx))
    return false;
  lua_getfield(L, idx, "repeated");
  wanted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return wanted;
}

/* json.decode(text [, {nulls = "drop" | "keep", repeated = true}]) -> value,
 * and how many keys were repeated where that is wanted: handed on as it is, or
 * behind ctx:try, a second result would be taken for something else.
 *                                                              [-0, +1, v] */
static int json_decode(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  bool counts = counts_repeated(L, 2);

  aicr_push_json(L, text, len, decode_flags(L, 2));
  if (!counts)
    lua_pop(L, 1);
  return counts ? 2 : 1;
}

/* json.encode(value) -> text                                   [-0, +1, v] */
static int json_encode(lua_State *L)
{
  struct aicr_buf *b;

  luaL_checkany(L, 1);
  lua_settop(L, 1);
  b = aicr_new_buf(L, ENCODE_MAX);
  aicr_encode_json(L, 1, b);
  if (b->no_memory)
    return aicr_out_of_memory(L);
  if (b->failed)
    return luaL_error(L, "the JSON text is over %d MiB", ENCODE_MAX >> 20);
  lua_pushlstring(L, b->data, b->len);
  aicr_buf_free(b);
  return 1;
}

/* json.array([t]) -> t marked as an array                      [-0, +1, m] */
static int json_array(lua_State *L)
{
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, 0);
    lua_newtable(L);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_argcheck(L,
                aicr_is_array(L, 1) ||
                    luaL_getmetafield(L, 1, "__metatable") == LUA_TNIL,
                1, "its metatable is protected");
  aicr_mark_array(L, 1);
  return 1;
}

/* json.is_array(v) -> boolean: decoded from an array or marked [-0, +1, -] */
static int json_is_array(lua_State *L)
{
  luaL_checkany(L, 1);
  lua_pushboolean(L, aicr_is_array(L, 1));
  return 1;
}

static const luaL_Reg functions[] = {
    {"decode", json_decode},
    {"encode", json_encode},
    {"array", json_array},
    {"is_array", json_is_array},
    {NULL, NULL},
};

int luaopen_aicr_json(lua_State *L)
{
  luaL_newlib(L, functions);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  return 1;
}
