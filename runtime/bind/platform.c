/* SPDX-License-Identifier: Apache-2.0 */
#include "core/platform.h"

#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"

/* platform.names() -> a new list of the platforms' names         [-0, +1, m] */
static int platform_names(lua_State *L)
{
  aicr_new_list(L, 0);
  for (lua_Integer i = 0; aicr_platforms[i]; i++) {
    lua_pushstring(L, aicr_platforms[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* platform.data(name) -> the text of an embedded file of that name below
 * "recipes/", nil when there is none                             [-0, +1, v] */
static int platform_data(lua_State *L)
{
  size_t len;
  const char *name = luaL_checklstring(L, 1, &len);

  luaL_argcheck(L, strlen(name) == len, 1, "a NUL byte in a file's name");
  aicr_push_embedded(L, lua_pushfstring(L, "recipes/%s", name));
  return 1;
}

static const luaL_Reg functions[] = {
    {"names", platform_names},
    {"data", platform_data},
    {NULL, NULL},
};

int luaopen_aicr_native_platform(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
