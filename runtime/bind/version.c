/* SPDX-License-Identifier: Apache-2.0 */
#include "core/version.h"

#include <lauxlib.h>

#include "bind/bind.h"

/* The version in the string argument `arg`, whose memory it points into.
 *                                                               [-0, +0, v] */
static void check_version(lua_State *L, int arg, struct aicr_version *out)
{
  size_t len;
  const char *text = luaL_checklstring(L, arg, &len);
  struct aicr_error err;

  if (!aicr_version_parse(text, len, out, &err))
    aicr_raise(L, &err);
}

/* version.parse(text) -> {major, minor, patch, precision, extras}
 *                                                               [-0, +1, v] */
static int version_parse(lua_State *L)
{
  struct aicr_version v;

  check_version(L, 1, &v);
  lua_createtable(L, 0, 5);
  aicr_set_integer(L, "major", v.major);
  aicr_set_integer(L, "minor", v.minor);
  aicr_set_integer(L, "patch", v.patch);
  aicr_set_integer(L, "precision", v.precision);
  aicr_set_bytes(L, "extras", v.extras, v.extras_len);
  return 1;
}

/* version.compare(a, b) -> -1 | 0 | 1                           [-0, +1, v] */
static int version_compare(lua_State *L)
{
  struct aicr_version a, b;

  check_version(L, 1, &a);
  check_version(L, 2, &b);
  lua_pushinteger(L, aicr_version_compare(&a, &b));
  return 1;
}

/* version.equal(a, b) -> boolean                                [-0, +1, v] */
static int version_equal(lua_State *L)
{
  struct aicr_version a, b;

  check_version(L, 1, &a);
  check_version(L, 2, &b);
  lua_pushboolean(L, aicr_version_equal(&a, &b));
  return 1;
}

static const luaL_Reg functions[] = {
    {"parse", version_parse},
    {"compare", version_compare},
    {"equal", version_equal},
    {NULL, NULL},
};

int luaopen_aicr_version(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
