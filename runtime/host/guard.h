/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_GUARD_H
#define AICR_HOST_GUARD_H

#include <lua.h>

/* Functions of Lua through which a check could get rid of its limits, made
 * safe. Replaces them in the table of globals on the top, whose `coroutine` is
 * a table of its own: xpcall, coroutine.close, .create, .running, .wrap.
 *                                                              [-0, +0, m] */
void aicr_guard_globals(lua_State *L);

#endif
