/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_BIND_FIELDS_H
#define AICR_BIND_FIELDS_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Objects with the fields that a check asks for and no others
 * (core/json_project.h). A field that was not asked for is no nil: reading it
 * raises, since "absent" would be wrong. */

/* Pushes the fields of the list of paths at idx, a userdata. Raises a Lua error
 * that names the path.                                         [-0, +1, v] */
void aicr_push_fields(lua_State *L, int idx);

/* Pushes the value of a JSON text as aicr_push_json() does with
 * AICR_JSON_DROP_NULLS, with the fields at idx.                [-0, +1, v] */
void aicr_push_json_fields(lua_State *L, int idx, const char *text, size_t len);

/* Is the member of that name one of the fields at idx?         [-0, +0, -] */
bool aicr_has_field(lua_State *L, int idx, const char *name);

#endif
