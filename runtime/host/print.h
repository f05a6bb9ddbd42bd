/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_PRINT_H
#define AICR_HOST_PRINT_H

#include <lua.h>

/* print() of user code: a line of the check's log, at level info. While a
 * file's metadata is read there is no log and nothing is kept. [-0, +0, e] */
int aicr_user_print(lua_State *L);

#endif
