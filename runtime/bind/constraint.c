/* SPDX-License-Identifier: Apache-2.0 */
#include "core/constraint.h"

#include <lauxlib.h>

#include "bind/bind.h"

static void push_term(lua_State *L, const struct aicr_term *t)
{
  luaL_checkstack(L, 4, "no room for a term");
  lua_createtable(L, 0, 3);
  aicr_set_string(L, "op", aicr_op_text(t->op));
  aicr_set_bytes(L, "value", t->value, t->value_len);
  aicr_set_boolean(L, "version", t->version);
}

/* The expression in the string argument 1, whose memory it points into.
 *                                                               [-0, +0, v] */
static void check_expr(lua_State *L, struct aicr_expr *out)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct aicr_error err;

  if (!aicr_expr_parse(text, len, out, &err))
    aicr_raise(L, &err);
}

/* Same for a single term.                                       [-0, +0, v] */
static void check_term(lua_State *L, struct aicr_term *out)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct aicr_error err;

  if (!aicr_term_parse(text, len, out, &err))
    aicr_raise(L, &err);
}

/* constraint.parse(expr) -> list of lists of {op, value, version}: any of all
 *                                                               [-0, +1, v] */
static int constraint_parse(lua_State *L)
{
  struct aicr_expr e;
  lua_Integer groups = 0;
  lua_Integer terms = 0;

  check_expr(L, &e);
  lua_settop(L, 1);
  aicr_new_list(L, 0);
  for (size_t i = 0; i < e.count; i++) {
    if (e.first_of_group[i]) {
      lua_settop(L, 2);
      aicr_new_list(L, 0);
      lua_pushvalue(L, -1);
      lua_rawseti(L, 2, ++groups);
      terms = 0;
    }
    push_term(L, &e.terms[i]);
    lua_rawseti(L, 3, ++terms);
  }
  lua_settop(L, 2);
  return 1;
}

/* constraint.parse_term(expr) -> {op, value, version}           [-0, +1, v] */
static int constraint_parse_term(lua_State *L)
{
  struct aicr_term t;

  check_term(L, &t);
  push_term(L, &t);
  return 1;
}

/* constraint.eval(expr, actual) -> boolean                      [-0, +1, v] */
static int constraint_eval(lua_State *L)
{
  size_t len;
  const char *actual = luaL_checklstring(L, 2, &len);
  struct aicr_expr e;
  struct aicr_error err;
  bool holds;

  check_expr(L, &e);
  if (!aicr_expr_eval(&e, actual, len, &holds, &err))
    return aicr_raise(L, &err);
  lua_pushboolean(L, holds);
  return 1;
}

/* constraint.eval_term(expr, actual) -> boolean                 [-0, +1, v] */
static int constraint_eval_term(lua_State *L)
{
  size_t len;
  const char *actual = luaL_checklstring(L, 2, &len);
  struct aicr_term t;
  struct aicr_error err;
  bool holds;

  check_term(L, &t);
  if (!aicr_term_eval(&t, actual, len, &holds, &err))
    return aicr_raise(L, &err);
  lua_pushboolean(L, holds);
  return 1;
}

/* constraint.threshold(expr) -> number                          [-0, +1, v] */
static int constraint_threshold(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct aicr_error err;
  double value;

  if (!aicr_threshold_parse(text, len, &value, &err))
    return aicr_raise(L, &err);
  lua_pushnumber(L, value);
  return 1;
}

static const luaL_Reg functions[] = {
    {"parse", constraint_parse},         {"parse_term", constraint_parse_term},
    {"eval", constraint_eval},           {"eval_term", constraint_eval_term},
    {"threshold", constraint_threshold}, {NULL, NULL},
};

int luaopen_aicr_constraint(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
