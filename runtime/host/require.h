/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_REQUIRE_H
#define AICR_HOST_REQUIRE_H

#include <lua.h>

#include "host/state.h"

/* The two forms of require(): of embedded code and of user code. */

/* Installs the first as the global `require`.                  [-0, +0, m] */
void aicr_open_require(lua_State *L);

/* Pushes the second.                                           [-0, +1, m] */
void aicr_push_user_require(lua_State *L);

/* Remembers the folders of the second.                         [-0, +0, m] */
void aicr_set_roots(lua_State *L, const struct aicr_roots *roots);

#endif
