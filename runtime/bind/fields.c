/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/fields.h"

#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "core/json_project.h"
#include "host/task.h"

#define FIELDS_MT "aicr.fields"
#define ITEM_MAX  (16u << 20)

/* Its user value is the list of what guards the tables of each node (id). */
struct fields {
  struct aicr_json_field *root;
};

static int fields_close(lua_State *L)
{
  struct fields *f = luaL_checkudata(L, 1, FIELDS_MT);

  aicr_json_fields_free(f->root);
  f->root = NULL;
  return 0;
}

/* __index: upvalue 1 the names that were asked for, 2 the path up to here. */
static int missing(lua_State *L)
{
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    lua_pushnil(L);
    return 1;
  }
  return luaL_error(L, "%s%s was not read: add it to the fields of this list",
                    lua_tostring(L, lua_upvalueindex(2)),
                    luaL_tolstring(L, 2, NULL));
}

/* guards[f->id] = the metatable of f's objects. `path` ends in a dot, or is
 * empty. The recursion is as deep as a path. */
static void add_guards(lua_State *L, int guards,
                       const struct aicr_json_field *f, const char *path)
{
  luaL_checkstack(L, 8, "fields");
  if (f->element && !f->whole) {
    size_t len = strlen(path);

    lua_pushlstring(L, path, len > 0 ? len - 1 : 0);
    lua_pushfstring(L, "%s[*].", lua_tostring(L, -1));
    add_guards(L, guards, f->element, lua_tostring(L, -1));
    lua_pop(L, 2);
  }
  if (!f->members || f->whole)
    return;
  lua_createtable(L, 0, 2);
  lua_newtable(L);
  for (const struct aicr_json_field *m = f->members; m; m = m->next) {
    lua_pushlstring(L, m->name, m->len);
    lua_pushfstring(L, "%s%s.", path, m->name);
    add_guards(L, guards, m, lua_tostring(L, -1));
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  lua_pushstring(L, path);
  lua_pushcclosure(L, missing, 2);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, FIELDS_MT);
  lua_setfield(L, -2, "__metatable");
  lua_rawseti(L, guards, (lua_Integer)f->id + 1);
}

static void add_path(lua_State *L, struct fields *f)
{
  struct aicr_error err;
  size_t len;
  const char *path;

  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "option 'fields': a path must be a string, got %s",
               luaL_typename(L, -1));
  path = lua_tolstring(L, -1, &len);
  if (aicr_json_fields_add(&f->root, path, len, &err))
    return;
  if (err.code == AICR_INTERNAL)
    aicr_out_of_memory(L);
  luaL_error(L, "option 'fields': %s", err.message);
}

void aicr_push_fields(lua_State *L, int idx)
{
  struct fields *f;
  int self;

  idx = lua_absindex(L, idx);
  if (!lua_istable(L, idx))
    luaL_error(L, "option 'fields' must be a list of paths, got %s",
               luaL_typename(L, idx));
  f = lua_newuserdatauv(L, sizeof(*f), 1);
  f->root = NULL;
  aicr_set_release(L, FIELDS_MT, fields_close);
  self = lua_gettop(L);
  for (lua_Integer i = 1; lua_rawgeti(L, idx, i) != LUA_TNIL; i++) {
    if (i > AICR_FIELDS_MAX)
      luaL_error(L, "option 'fields': more than %d paths", AICR_FIELDS_MAX);
    add_path(L, f);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  if (!f->root) {
    luaL_error(L, "option 'fields' must be a list of paths, and is empty");
    return;
  }
  lua_newtable(L);
  add_guards(L, self + 1, f->root, "");
  lua_setiuservalue(L, self, 1);
}

bool aicr_has_field(lua_State *L, int idx, const char *name)
{
  const struct fields *f = lua_touserdata(L, idx);

  return aicr_json_fields_member(f->root, name, strlen(name)) != NULL;
}

/* Guards the tables of the value on the top. */
static void guard(lua_State *L, int guards, const struct aicr_json_field *f)
{
  if (f->whole || !lua_istable(L, -1))
    return;
  luaL_checkstack(L, 4, "fields");
  if (aicr_is_array(L, -1)) {
    lua_Integer n = f->element ? (lua_Integer)lua_rawlen(L, -1) : 0;

    for (lua_Integer i = 1; i <= n; i++) {
      lua_rawgeti(L, -1, i);
      guard(L, guards, f->element);
      lua_pop(L, 1);
    }
    return;
  }
  if (!f->members)
    return;
  for (const struct aicr_json_field *m = f->members; m; m = m->next) {
    lua_pushlstring(L, m->name, m->len);
    lua_rawget(L, -2);
    guard(L, guards, m);
    lua_pop(L, 1);
  }
  lua_rawgeti(L, guards, (lua_Integer)f->id + 1);
  lua_setmetatable(L, -2);
}

void aicr_push_json_fields(lua_State *L, int idx, const char *text, size_t len)
{
  const struct fields *f = lua_touserdata(L, idx);
  struct aicr_error err;
  struct aicr_buf *left;
  int at;

  idx = lua_absindex(L, idx);
  left = aicr_new_buf(L, ITEM_MAX);
  at = lua_gettop(L);
  if (!aicr_json_project(f->root, text, len, left, &err))
    aicr_raise(L, &err);
  lua_getiuservalue(L, idx, 1);
  aicr_push_json(L, left->data, left->len, AICR_JSON_DROP_NULLS);
  aicr_buf_free(left);
  guard(L, at + 1, f->root);
  lua_replace(L, at);
  lua_settop(L, at);
}
