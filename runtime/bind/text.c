/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "core/hash.h"

#define TEXT_MAX ((size_t)1 << 30)

/* text.nearest(word, list) -> string | nil                      [-0, +1, v] */
static int text_nearest(lua_State *L)
{
  size_t len;
  const char *word = luaL_checklstring(L, 1, &len);
  size_t count, size;
  const char **words;

  luaL_checktype(L, 2, LUA_TTABLE);
  count = lua_rawlen(L, 2);
  words = lua_newuserdatauv(L, (count + 1) * sizeof(*words), 0);
  for (size_t i = 0; i < count; i++) {
    if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TSTRING)
      return luaL_argerror(L, 2, "a list of strings expected");
    /* The table keeps the string alive. */
    words[i] = lua_tolstring(L, -1, &size);
    lua_pop(L, 1);
  }
  lua_pushstring(L,
                 strlen(word) == len ? aicr_nearest(word, words, count) : NULL);
  return 1;
}

/* Pushes the result of an appending function on argument 1. A byte becomes at
 * most four.                                                    [-0, +1, v] */
static int convert(lua_State *L,
                   bool (*add)(struct aicr_buf *, const char *, size_t))
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct aicr_buf *b = aicr_new_buf(L, TEXT_MAX);

  add(b, text, len);
  aicr_push_buf(L, b);
  return 1;
}

/* text.printable(s) -> s with control characters and invalid bytes escaped
 *                                                               [-0, +1, v] */
static int text_printable(lua_State *L)
{
  return convert(L, aicr_buf_add_printable);
}

/* text.utf8(s) -> s with each invalid byte as U+FFFD            [-0, +1, v] */
static int text_utf8(lua_State *L)
{
  return convert(L, aicr_buf_add_utf8);
}

/* text.trim(s) -> s without Unicode white space around it       [-0, +1, v] */
static int text_trim(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);

  aicr_trim(&text, &len);
  lua_pushlstring(L, text, len);
  return 1;
}

/* text.sha256(s) -> 64 hexadecimal digits                       [-0, +1, v] */
static int text_sha256(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  char hex[AICR_SHA256_TEXT];

  if (!aicr_sha256_hex(text, len, hex))
    return luaL_error(L, "SHA-256 is not available");
  lua_pushstring(L, hex);
  return 1;
}

static const luaL_Reg functions[] = {
    {"nearest", text_nearest}, {"printable", text_printable},
    {"utf8", text_utf8},       {"trim", text_trim},
    {"sha256", text_sha256},   {NULL, NULL},
};

int luaopen_aicr_native_text(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
