/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_MODULE_H
#define AICR_HOST_MODULE_H

#include <lua.h>

/* The native modules. bind/ fills the table, the host opens what is required;
 * the tests walk it. Names below "aicr.native." are for embedded sources only.
 */
struct aicr_module {
  const char *name;
  lua_CFunction open;
};
extern const struct aicr_module aicr_modules[]; /* ended by {NULL, NULL} */

/* Pushes the engine's private table of host functions.         [-0, +1, m] */
void aicr_push_border(lua_State *L);

#endif
