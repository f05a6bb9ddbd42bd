/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>

#include "core/yaml.h"

#define PARSER_MT     "aicr.yaml.parser"
#define JSON_MAX      (256u << 20)
#define DOCUMENTS_MAX 10000

static int parser_close(lua_State *L)
{
  aicr_yaml_close(luaL_checkudata(L, 1, PARSER_MT));
  return 0;
}

static enum aicr_yaml_schema schema_of(lua_State *L, int idx)
{
  static const char *const names[] = {"recipe", "kubernetes", NULL};
  enum aicr_yaml_schema schema;

  if (lua_isnoneornil(L, idx))
    return AICR_YAML_KUBERNETES;
  luaL_checktype(L, idx, LUA_TTABLE);
  lua_getfield(L, idx, "schema");
  schema = luaL_checkoption(L, -1, "kubernetes", names) == 0
               ? AICR_YAML_RECIPE
               : AICR_YAML_KUBERNETES;
  lua_pop(L, 1);
  return schema;
}

/* Opens the text at index 1; the parser and a buffer are left on the stack. */
static struct aicr_yaml *open_text(lua_State *L, struct aicr_buf **json)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  enum aicr_yaml_schema schema = schema_of(L, 2);
  struct aicr_yaml *y;
  struct aicr_error err;

  lua_settop(L, 2);
  y = lua_newuserdatauv(L, sizeof(*y), 0);
  y->parser = NULL;
  aicr_set_release(L, PARSER_MT, parser_close);
  *json = aicr_new_buf(L, JSON_MAX);
  if (!aicr_yaml_open(y, text, len, schema, &err))
    aicr_raise(L, &err);
  return y;
}

static bool next_document(lua_State *L, struct aicr_yaml *y,
                          struct aicr_buf *json)
{
  struct aicr_error err;
  bool end = false;

  aicr_buf_reset(json);
  if (!aicr_yaml_next(y, json, &end, &err))
    aicr_raise(L, &err);
  return !end;
}

/* yaml.decode(text [, {schema = "recipe" | "kubernetes"}]) -> value; the text
 * is one document                                              [-0, +1, v] */
static int yaml_decode(lua_State *L)
{
  struct aicr_buf *json;
  struct aicr_yaml *y = open_text(L, &json);
  struct aicr_error err;

  if (!next_document(L, y, json)) {
    aicr_fail(&err, AICR_INVALID_REQUEST, "malformed", "no document in it");
    return aicr_raise(L, &err);
  }
  aicr_push_json(L, json->data, json->len, 0);
  if (next_document(L, y, json)) {
    aicr_fail(&err, AICR_INVALID_REQUEST, "malformed",
              "more than one document in it");
    return aicr_raise(L, &err);
  }
  return 1;
}

/* yaml.decode_all(text [, opts]) -> list of values             [-0, +1, v] */
static int yaml_decode_all(lua_State *L)
{
  struct aicr_buf *json;
  struct aicr_yaml *y = open_text(L, &json);
  lua_Integer n = 0;

  aicr_new_list(L, 0);
  while (next_document(L, y, json)) {
    if (n == DOCUMENTS_MAX)
      return luaL_error(L, "more than %d documents", DOCUMENTS_MAX);
    aicr_push_json(L, json->data, json->len, 0);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

static const luaL_Reg functions[] = {
    {"decode", yaml_decode},
    {"decode_all", yaml_decode_all},
    {NULL, NULL},
};

int luaopen_aicr_yaml(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
