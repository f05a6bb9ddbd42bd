/* SPDX-License-Identifier: Apache-2.0 */
/* The native modules as a library for busted: `require "aicr_native"` puts
 * every module of the binary into package.preload. */
#include <lauxlib.h>

#include "bind/bind.h"

int luaopen_aicr_native(lua_State *L);

int luaopen_aicr_native(lua_State *L)
{
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (const struct aicr_module *m = aicr_modules; m->name; m++) {
    lua_pushcfunction(L, m->open);
    lua_setfield(L, -2, m->name);
  }
  return 0;
}
