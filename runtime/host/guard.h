/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_GUARD_H
#define AICR_HOST_GUARD_H

#include <lua.h>

/* Functions of Lua through which a check could get rid of its limits, made
 * safe. */

/* Replaces xpcall in the table of globals on the top.          [-0, +0, m] */
void aicr_guard_xpcall(lua_State *L);

/* Replaces close, create, running and wrap in the copy of the coroutine
 * library on the top.                                          [-0, +0, m] */
void aicr_guard_coroutine(lua_State *L);

#endif
