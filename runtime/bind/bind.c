/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>
#include <string.h>

#include "host/embed.h"
#include "host/task.h"

#define BUF_MT        "aicr.buffer"
#define EMBEDDED_MAX  (64u << 20)
#define LIST_ROOM_MAX 16384u /* more grows as it comes */

static int error_tostring(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_pushliteral(L, "[");
  lua_getfield(L, 1, "code");
  lua_pushliteral(L, "] ");
  lua_getfield(L, 1, "message");
  for (int i = 3; i <= 5; i += 2)
    if (!lua_isstring(L, i)) {
      lua_pushliteral(L, "?");
      lua_replace(L, i);
    }
  lua_concat(L, 4);
  lua_getfield(L, 1, "cause");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return 1;
  }
  lua_pushliteral(L, ": ");
  lua_insert(L, -2);
  luaL_tolstring(L, -1, NULL);
  lua_remove(L, -2);
  lua_concat(L, 3);
  return 1;
}

/* Pushes the metatable `name`. A new one (true) is to be filled and kept: half
 * a metatable in the registry, left by a lack of memory, would stay half. */
static bool push_metatable(lua_State *L, const char *name)
{
  if (luaL_getmetatable(L, name) == LUA_TTABLE)
    return false;
  lua_pop(L, 1);
  lua_createtable(L, 0, 5);
  aicr_set_string(L, "__name", name);
  aicr_set_string(L, "__metatable", name);
  return true;
}

static void keep_metatable(lua_State *L, const char *name)
{
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, name);
}

void aicr_set_release(lua_State *L, const char *name, lua_CFunction release)
{
  if (push_metatable(L, name)) {
    lua_pushcfunction(L, release);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, release);
    lua_setfield(L, -2, "__close");
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, release);
    lua_setfield(L, -2, "close");
    lua_setfield(L, -2, "__index");
    keep_metatable(L, name);
  }
  lua_setmetatable(L, -2);
}

void aicr_set_error_metatable(lua_State *L)
{
  if (push_metatable(L, AICR_ERROR_MT)) {
    lua_pushcfunction(L, error_tostring);
    lua_setfield(L, -2, "__tostring");
    keep_metatable(L, AICR_ERROR_MT);
  }
  lua_setmetatable(L, -2);
}

static void push_layer(lua_State *L, enum aicr_code code, const char *reason,
                       const char *message)
{
  luaL_checkstack(L, 8, "no room for an error object");
  lua_createtable(L, 0, 6);
  aicr_set_string(L, "code", aicr_code_name(code));
  aicr_set_string(L, "reason", reason);
  aicr_set_string(L, "message", message);
}

void aicr_push_error(lua_State *L, const struct aicr_error *err)
{
  if (err->code == AICR_INTERNAL && !strcmp(err->reason, "memory"))
    aicr_note_no_memory(L);
  push_layer(L, err->code, err->reason, err->message);
  aicr_set_boolean(L, "verdict", err->verdict);
  if (err->cause.code != AICR_CODE_NONE) {
    push_layer(L, err->cause.code, err->cause.reason, err->cause.message);
    aicr_set_boolean(L, "verdict", false);
    aicr_set_error_metatable(L);
    lua_setfield(L, -2, "cause");
  }
  aicr_set_error_metatable(L);
}

int aicr_raise(lua_State *L, const struct aicr_error *err)
{
  aicr_push_error(L, err);
  return lua_error(L);
}

int aicr_raise_details(lua_State *L, const struct aicr_error *err)
{
  aicr_push_error(L, err);
  lua_insert(L, -2);
  lua_setfield(L, -2, "details");
  return lua_error(L);
}

/* Is the value at idx a table with the metatable `name`? */
static bool is_of(lua_State *L, int idx, const char *name)
{
  bool same;

  if (!lua_istable(L, idx) || !lua_getmetatable(L, idx))
    return false;
  luaL_getmetatable(L, name);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

bool aicr_is_error(lua_State *L, int idx)
{
  return is_of(L, idx, AICR_ERROR_MT);
}

static int buf_close(lua_State *L)
{
  aicr_buf_free(luaL_checkudata(L, 1, BUF_MT));
  return 0;
}

struct aicr_buf *aicr_new_buf(lua_State *L, size_t max)
{
  struct aicr_buf *b = lua_newuserdatauv(L, sizeof(*b), 0);

  aicr_buf_init(b, max);
  aicr_set_release(L, BUF_MT, buf_close);
  return b;
}

/* What `for x in LIST do` calls. */
static int call_array(lua_State *L)
{
  return luaL_error(L, "a list is no iterator: write for _, item in "
                       "ipairs(LIST) do");
}

void aicr_mark_array(lua_State *L, int idx)
{
  idx = lua_absindex(L, idx);
  if (push_metatable(L, AICR_ARRAY_MT)) {
    lua_pushcfunction(L, call_array);
    lua_setfield(L, -2, "__call");
    keep_metatable(L, AICR_ARRAY_MT);
  }
  lua_setmetatable(L, idx);
}

bool aicr_is_array(lua_State *L, int idx)
{
  return is_of(L, idx, AICR_ARRAY_MT);
}

struct aicr_task *aicr_check_task(lua_State *L)
{
  struct aicr_task *t = aicr_task_of(L);

  if (!t || !t->host)
    luaL_error(L, "only a running check can do this");
  return t;
}

int aicr_push_read(lua_State *L,
                   bool (*read)(const char *text, size_t len, int64_t *value,
                                struct aicr_error *err))
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct aicr_error err;
  int64_t value;

  if (!read(text, len, &value, &err))
    return aicr_raise(L, &err);
  lua_pushinteger(L, value);
  return 1;
}

void aicr_push_buf(lua_State *L, struct aicr_buf *b)
{
  if (b->failed)
    aicr_out_of_memory(L);
  lua_pushlstring(L, b->len ? b->data : "", b->len);
  aicr_buf_free(b);
}

void aicr_push_embedded(lua_State *L, const char *name)
{
  struct aicr_buf *b = aicr_new_buf(L, EMBEDDED_MAX);

  if (aicr_embed_text(name, b) || b->failed)
    aicr_push_buf(L, b);
  else
    luaL_pushfail(L);
  lua_remove(L, -2);
}

void aicr_set_string(lua_State *L, const char *field, const char *text)
{
  lua_pushstring(L, text);
  lua_setfield(L, -2, field);
}

void aicr_set_text(lua_State *L, const char *field, const char *text)
{
  if (text && text[0])
    aicr_set_string(L, field, text);
}

void aicr_set_bytes(lua_State *L, const char *field, const char *data,
                    size_t len)
{
  lua_pushlstring(L, len ? data : "", len);
  lua_setfield(L, -2, field);
}

void aicr_set_integer(lua_State *L, const char *field, int64_t value)
{
  lua_pushinteger(L, value);
  lua_setfield(L, -2, field);
}

void aicr_set_count(lua_State *L, const char *field, uint64_t value)
{
  aicr_set_integer(L, field, (int64_t)value);
}

void aicr_set_number(lua_State *L, const char *field, double value)
{
  lua_pushnumber(L, value);
  lua_setfield(L, -2, field);
}

void aicr_set_boolean(lua_State *L, const char *field, bool value)
{
  lua_pushboolean(L, value);
  lua_setfield(L, -2, field);
}

void aicr_new_list(lua_State *L, size_t count)
{
  luaL_checkstack(L, 8, "no room for a list");
  lua_createtable(L, (int)(count < LIST_ROOM_MAX ? count : LIST_ROOM_MAX), 0);
  aicr_mark_array(L, -1);
}
