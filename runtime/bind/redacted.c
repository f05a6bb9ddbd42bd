/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "host/host.h"
#include "kube/record_redact.h"

/* What stands in a recording for a secret becomes a value that cannot be
 * mistaken for it: whoever looks into it is told that it was not recorded. */

#define GUARD_MT "aicr.redacted"

/* kubernetes-client.md 6.1: what other tools write. */
static const char *const marks[] = {KUBE_REDACTED, "***HIDDEN***"};

static bool holds(const char *text, size_t len, const char *word)
{
  size_t n = strlen(word);
  const char *end = text + len, *at = text;

  while (at && (size_t)(end - at) >= n) {
    if (memcmp(at, word, n) == 0)
      return true;
    at = memchr(at + 1, word[0], (size_t)(end - at - 1));
  }
  return false;
}

static int refuse(lua_State *L)
{
  struct aicr_error err;

  aicr_fail(&err, AICR_INTERNAL, "not-recorded",
            "this value is a secret, which no recording holds; run the check "
            "on the cluster itself");
  return aicr_raise(L, &err);
}

static int show(lua_State *L)
{
  lua_pushliteral(L, KUBE_REDACTED);
  return 1;
}

static void push_guard(lua_State *L)
{
  static const char *const events[] = {
      "__index", "__newindex", "__len", "__call", "__concat", "__pairs",
      "__lt",    "__le",       "__add", "__sub",  "__mul",    "__div",
      "__mod",   "__idiv",     "__unm", "__eq"};

  lua_newuserdatauv(L, 0, 0);
  if (luaL_newmetatable(L, GUARD_MT)) {
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
      lua_pushcfunction(L, refuse);
      lua_setfield(L, -2, events[i]);
    }
    lua_pushcfunction(L, show);
    lua_setfield(L, -2, "__tostring");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
  }
  lua_setmetatable(L, -2);
}

static bool is_mark(lua_State *L, int idx)
{
  size_t len;
  const char *text =
      lua_type(L, idx) == LUA_TSTRING ? lua_tolstring(L, idx, &len) : NULL;

  for (size_t i = 0; text && i < sizeof(marks) / sizeof(marks[0]); i++)
    if (strlen(marks[i]) == len && memcmp(marks[i], text, len) == 0)
      return true;
  return false;
}

/* The value on the top; JSON's depth is bounded, so this is too. */
static void walk(lua_State *L)
{
  luaL_checkstack(L, 4, "a value is nested too deep");
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (is_mark(L, -1)) {
      lua_pushvalue(L, -2);
      push_guard(L);
      lua_rawset(L, -5);
    } else if (lua_istable(L, -1)) {
      walk(L);
    }
    lua_pop(L, 1);
  }
}

void aicr_guard_redacted(lua_State *L, const char *text, size_t len)
{
  const struct aicr_task *t = aicr_task_of(L);
  bool any = false;

  if (!t || !t->host || !t->host->recording)
    return;
  for (size_t i = 0; !any && i < sizeof(marks) / sizeof(marks[0]); i++)
    any = holds(text, len, marks[i]);
  if (any && lua_istable(L, -1))
    walk(L);
}
