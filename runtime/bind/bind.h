/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_BIND_BIND_H
#define AICR_BIND_BIND_H

#include <lua.h>

#include "core/buffer.h"
#include "core/error.h"
#include "host/module.h"

/* What the files of bind/ share. Stack effects in the manual's notation:
 * [-pops, +pushes, errors], errors: - never, m memory, v on purpose, e any. */

/* Names of metatables. */
#define AICR_ERROR_MT "aicr.error"
#define AICR_ARRAY_MT "aicr.array"

/* Pushes the error object of *err: a table with code, reason, message,
 * verdict, cause (a table or nil) and no details.              [-0, +1, m] */
void aicr_push_error(lua_State *L, const struct aicr_error *err);

/* Raises the error object of *err.                             [-0, +0, v] */
int aicr_raise(lua_State *L, const struct aicr_error *err);

/* Same, with the value on the top of the stack as `details`.   [-1, +0, v] */
int aicr_raise_details(lua_State *L, const struct aicr_error *err);

/* Is the value at idx an error object?                         [-0, +0, -] */
bool aicr_is_error(lua_State *L, int idx);

/* Makes the table on the top an error object.                  [-0, +0, m] */
void aicr_set_error_metatable(lua_State *L);

/* Sets on the userdata on the top the metatable `name`, made at its first use:
 * close, __gc and __close are all `release`, which may be called any number of
 * times.                                                       [-0, +0, m] */
void aicr_set_release(lua_State *L, const char *name, lua_CFunction release);

/* A buffer owned by a userdata on the stack, so that an error frees it.
 * Bounded by max.                                              [-0, +1, m] */
struct aicr_buf *aicr_new_buf(lua_State *L, size_t max);

/* The check that runs in this state; raises where there is none.
 *                                                              [-0, +0, v] */
struct aicr_task *aicr_check_task(lua_State *L);

/* Pushes the integer that `read` finds in the text argument 1. [-0, +1, v] */
int aicr_push_read(lua_State *L,
                   bool (*read)(const char *text, size_t len, int64_t *value,
                                struct aicr_error *err));

/* Pushes what is in the buffer, and frees that. Raises when there was no room
 * for all of it.                                               [-0, +1, v] */
void aicr_push_buf(lua_State *L, struct aicr_buf *b);

/* Pushes the text of an embedded file, nil when there is none. [-0, +1, v] */
void aicr_push_embedded(lua_State *L, const char *name);

/* t[field] = value, of the table on the top. "" and NULL are nil as a text, not
 * as a string.                                                 [-0, +0, m] */
void aicr_set_text(lua_State *L, const char *field, const char *text);
void aicr_set_string(lua_State *L, const char *field, const char *text);
void aicr_set_bytes(lua_State *L, const char *field, const char *data,
                    size_t len);
void aicr_set_integer(lua_State *L, const char *field, int64_t value);
void aicr_set_count(lua_State *L, const char *field, uint64_t value);
void aicr_set_number(lua_State *L, const char *field, double value);
void aicr_set_boolean(lua_State *L, const char *field, bool value);

/* Pushes a table that is a JSON array, with room for `count` values; there is
 * room for what goes into it on the stack.                     [-0, +1, m] */
void aicr_new_list(lua_State *L, size_t count);

/* Marks the table at idx as a JSON array, so that an empty one is [].
 *                                                              [-0, +0, m] */
void aicr_mark_array(lua_State *L, int idx);
bool aicr_is_array(lua_State *L, int idx);

enum {
  AICR_JSON_DROP_NULLS = 1,      /* members that are null are left out */
  AICR_JSON_COUNT_DUPLICATES = 2 /* push also the number of repeated keys */
};

/* Pushes the value of a JSON text: objects and arrays as tables (arrays with
 * the array metatable), null as json.null (light userdata NULL), integers and
 * floats as Lua's two subtypes. Raises INVALID_REQUEST/"malformed".
 *                                                              [-0, +1, v] */
void aicr_push_json(lua_State *L, const char *text, size_t len, int flags);

/* In the value on the top, read from that text: if it is of a recording, puts
 * where a secret was redacted a value that raises INTERNAL/"not-recorded" when
 * it is used.                                                        [-0, +0,
 * m] */
void aicr_guard_redacted(lua_State *L, const char *text, size_t len);

/* Appends the JSON text of the value at idx to *out: keys sorted by bytes, a
 * marked or non-empty sequence is an array, anything else an object with
 * string keys. Raises a Lua error that names the place (mixed or holey
 * tables, NaN, functions, depth over 256, a cycle).            [-0, +0, v] */
void aicr_encode_json(lua_State *L, int idx, struct aicr_buf *out);

/* Same for what a check records, where nothing may be refused: NaN and
 * infinity are null, other keys and values that JSON lacks are text such as
 * "<function>", what is nested too deep is "<too deep>".       [-0, +0, m] */
void aicr_encode_json_lenient(lua_State *L, int idx, struct aicr_buf *out);

/* Makes the table at idx the one self that the methods of aicr.native.k8s take.
 *                                                              [-0, +0, m] */
void aicr_set_k8s(lua_State *L, int idx);

/* task_wait.c */
int aicr_task_wait(lua_State *L);
int aicr_task_look(lua_State *L);
int aicr_task_seen(lua_State *L);
int aicr_task_goes_on(lua_State *L);
int aicr_task_late(lua_State *L);
int aicr_task_attained(lua_State *L);

int luaopen_aicr_json(lua_State *L);
int luaopen_aicr_yaml(lua_State *L);
int luaopen_aicr_quantity(lua_State *L);
int luaopen_aicr_version(lua_State *L);
int luaopen_aicr_constraint(lua_State *L);
int luaopen_aicr_time(lua_State *L);
int luaopen_aicr_native_error(lua_State *L);
int luaopen_aicr_native_gke(lua_State *L);
int luaopen_aicr_native_platform(lua_State *L);
int luaopen_aicr_native_text(lua_State *L);
int luaopen_aicr_native_task(lua_State *L);
int luaopen_aicr_native_k8s(lua_State *L);
int luaopen_aicr_native_nccl(lua_State *L);

#endif
