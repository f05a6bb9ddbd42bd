/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>

#include "core/quantity.h"

/* A number is a quantity too: it is read as Lua writes it. */

/* quantity.value(q) -> integer                                  [-0, +1, v] */
static int quantity_value(lua_State *L)
{
  return aicr_push_read(L, aicr_quantity_value);
}

/* quantity.milli(q) -> integer                                  [-0, +1, v] */
static int quantity_milli(lua_State *L)
{
  return aicr_push_read(L, aicr_quantity_milli);
}

/* quantity.compare(a, b) -> -1 | 0 | 1                          [-0, +1, v] */
static int quantity_compare(lua_State *L)
{
  size_t a_len, b_len;
  const char *a = luaL_checklstring(L, 1, &a_len);
  const char *b = luaL_checklstring(L, 2, &b_len);
  struct aicr_error err;
  int order;

  if (!aicr_quantity_compare(a, a_len, b, b_len, &order, &err))
    return aicr_raise(L, &err);
  lua_pushinteger(L, order);
  return 1;
}

static const luaL_Reg functions[] = {
    {"value", quantity_value},
    {"milli", quantity_milli},
    {"compare", quantity_compare},
    {NULL, NULL},
};

int luaopen_aicr_quantity(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
