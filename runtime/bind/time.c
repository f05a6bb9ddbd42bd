/* SPDX-License-Identifier: Apache-2.0 */
#include "core/time.h"

#include <lauxlib.h>

#include "bind/bind.h"

/* time.duration(text) -> milliseconds                           [-0, +1, v] */
static int time_duration(lua_State *L)
{
  return aicr_push_read(L, aicr_duration_parse);
}

/* time.format_duration(ms) -> text                              [-0, +1, v] */
static int time_format_duration(lua_State *L)
{
  char text[AICR_DURATION_TEXT];

  aicr_duration_format(luaL_checkinteger(L, 1), text);
  lua_pushstring(L, text);
  return 1;
}

/* time.parse(text) -> milliseconds since the epoch              [-0, +1, v] */
static int time_parse(lua_State *L)
{
  return aicr_push_read(L, aicr_time_parse);
}

/* time.format(ms) -> text                                       [-0, +1, v] */
static int time_format(lua_State *L)
{
  char text[AICR_RFC3339_TEXT];

  aicr_time_format(luaL_checkinteger(L, 1), text);
  lua_pushstring(L, text);
  return 1;
}

static const luaL_Reg functions[] = {
    {"duration", time_duration},
    {"format_duration", time_format_duration},
    {"parse", time_parse},
    {"format", time_format},
    {NULL, NULL},
};

int luaopen_aicr_time(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
