/* SPDX-License-Identifier: Apache-2.0 */
#include "host/state.h"

#include <assert.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "host/guard.h"
#include "host/host.h"
#include "host/print.h"
#include "host/require.h"
#include "host/watchdog.h"

static_assert(LUA_VERSION_NUM == 504, "written for Lua 5.4");

static const char ENV_KEY = 0;
static const char OWNER_KEY = 0;

static void *refuse(struct aicr_memory *m, uintptr_t block, size_t size)
{
  if (m->refused.size)
    m->exhausted = true;
  m->refused.block = block;
  m->refused.size = size;
  return NULL;
}

/* A request that is not the refused one again: that one was given up. */
static void grant(struct aicr_memory *m, uintptr_t block, size_t size)
{
  if (m->refused.size && (m->refused.block != block || m->refused.size != size))
    m->exhausted = true;
  m->refused.size = 0;
}

bool aicr_memory_ran_out(const struct aicr_memory *m)
{
  return m->exhausted || m->refused.size;
}

static bool is_late(struct aicr_memory *m)
{
  if (m->until_ms && m->tick != aicr_watchdog_ticks()) {
    m->tick = aicr_watchdog_ticks();
    m->late = m->late || aicr_monotonic_ms() >= m->until_ms;
  }
  return m->late;
}

static void *count_alloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
  struct aicr_memory *m = ud;
  uintptr_t block = (uintptr_t)ptr; /* realloc() ends the pointer's life */
  void *p;

  aicr_watchdog_beat();
  if (!ptr)
    osize = 0;
  if (nsize == 0) {
    free(ptr);
    m->used -= osize;
    return NULL;
  }
  if (nsize > osize && (m->used + (nsize - osize) > m->limit || is_late(m)))
    return refuse(m, block, nsize);
  p = realloc(ptr, nsize);
  if (!p)
    return refuse(m, block, nsize);
  if (nsize > osize)
    grant(m, block, nsize);
  m->used = m->used - osize + nsize;
  return p;
}

static int on_panic(lua_State *L)
{
  const char *text = lua_tostring(L, -1);

  fprintf(stderr, "aicr-run: internal: unprotected Lua error: %s\n",
          text ? text : "?");
  return 0; /* abort() */
}

/* What warn() may write to stderr in a whole run. */
#define WARNING_BYTES_MAX 65536

/* warn() of a check, and errors in its __gc, which Lua turns into warnings. */
static void on_warning(void *ud, const char *text, int to_continue)
{
  static unsigned written;
  bool *inside = ud;
  struct aicr_buf b;

  if (written >= WARNING_BYTES_MAX)
    return;
  if (*text == '@' && !*inside && !to_continue)
    return;
  if (!*inside)
    fputs("aicr-run: warning: ", stderr);
  written++;
  aicr_buf_init(&b, WARNING_BYTES_MAX - written);
  aicr_buf_add_printable(&b, text, strnlen(text, WARNING_BYTES_MAX - written));
  for (size_t i = 0; i < b.len && ++written < WARNING_BYTES_MAX; i++)
    fputc((unsigned char)b.data[i] < 0x20 ? '?' : b.data[i], stderr);
  if (b.failed)
    written = WARNING_BYTES_MAX;
  aicr_buf_free(&b);
  *inside = to_continue;
  if (written >= WARNING_BYTES_MAX)
    fputs("\naicr-run: further warnings are not shown\n", stderr);
  else if (!to_continue)
    fputc('\n', stderr);
}

/* string is the metatable of all strings; the others are opened when a global
 * of their name is read. */
static const luaL_Reg at_once[] = {
    {LUA_GNAME, luaopen_base},
    {LUA_STRLIBNAME, luaopen_string},
    {NULL, NULL},
};

static const luaL_Reg when_named[] = {
    {LUA_TABLIBNAME, luaopen_table},
    {LUA_MATHLIBNAME, luaopen_math},
    {LUA_UTF8LIBNAME, luaopen_utf8},
    {LUA_COLIBNAME, luaopen_coroutine},
    {NULL, NULL},
};

static const char *const removed[] = {"dofile",         "loadfile", "load",
                                      "collectgarbage", "print",    NULL};

/* __index of the library environment. */
static int open_library(lua_State *L)
{
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const luaL_Reg *lib = when_named;

  while (lib->func && strcmp(lib->name, name) != 0)
    lib++;
  if (!lib->func)
    return 0;
  luaL_requiref(L, lib->name, lib->func, 1);
  return 1;
}

static void set_open_library(lua_State *L)
{
  lua_pushglobaltable(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, open_library);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* Everything that can raise while a state is made. */
static int open_state(lua_State *L)
{
  luaL_checkversion(L);
  lua_settop(L, 2);
  aicr_set_roots(L, lua_touserdata(L, 2));
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &OWNER_KEY);
  for (const luaL_Reg *lib = at_once; lib->func; lib++) {
    luaL_requiref(L, lib->name, lib->func, 1);
    lua_pop(L, 1);
  }
  set_open_library(L);
  for (size_t i = 0; removed[i]; i++) {
    lua_pushnil(L);
    lua_setglobal(L, removed[i]);
  }
  lua_getglobal(L, "string");
  lua_pushnil(L);
  lua_setfield(L, -2, "dump");
  lua_pop(L, 1);

  /* ("").__index is the real string table: no script may get hold of it. */
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 2);
  aicr_open_require(L);
  return 0;
}

/* What a state allocates before its first collection. */
#define FIRST_COLLECTION_KB 512

lua_State *aicr_state_new(struct aicr_memory *memory,
                          const struct aicr_roots *roots, void *owner)
{
  static bool warning_open;
  lua_State *L = lua_newstate(count_alloc, memory);

  if (!L)
    return NULL;
  lua_atpanic(L, on_panic);
  lua_setwarnf(L, on_warning, &warning_open);
  /* Most checks end before they have made garbage worth a collection. */
  lua_gc(L, LUA_GCSTEP, -FIRST_COLLECTION_KB);
  lua_pushcfunction(L, open_state);
  lua_pushlightuserdata(L, owner);
  lua_pushlightuserdata(L, (void *)roots);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
    lua_close(L);
    return NULL;
  }
  return L;
}

void *aicr_state_owner(lua_State *L)
{
  void *owner;

  lua_rawgetp(L, LUA_REGISTRYINDEX, &OWNER_KEY);
  owner = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return owner;
}

/* Members that a table of the standard library may have without growing. */
#define TABLE_ROOM 32

/* Copies one level of the table at the top. */
static void copy_table(lua_State *L)
{
  lua_createtable(L, 0, TABLE_ROOM);
  lua_pushnil(L);
  while (lua_next(L, -3)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  lua_remove(L, -2);
}

/* The globals of user code lack `key`. A library is copied when it is first
 * named: user code may change its copy only, and never ours. */
static int missing_global(lua_State *L)
{
  static const char *const tables[] = {"string", "table",     "math",
                                       "utf8",   "coroutine", NULL};
  size_t i = 0, len = 0;
  const char *key =
      lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &len) : "";

  while (tables[i] && (strlen(tables[i]) != len || strcmp(tables[i], key) != 0))
    i++;
  if (!tables[i])
    return luaL_error(L, "no global '%s' in a check",
                      luaL_tolstring(L, 2, NULL));
  lua_getglobal(L, tables[i]);
  copy_table(L);
  if (!strcmp(tables[i], "coroutine"))
    aicr_guard_coroutine(L);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

static int refuse_global(lua_State *L)
{
  return luaL_error(L, "a check may not set the global '%s': use a local",
                    luaL_tolstring(L, 2, NULL));
}

/* setmetatable() of user code. Lua runs finalizers without hooks: one that
 * loops could not be stopped. */
static int user_setmetatable(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
  lua_settop(L, 2);
  if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
    return luaL_error(L, "cannot change a protected metatable");
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) != LUA_TNIL)
      return luaL_error(L,
                        "a check may not use __gc: use ctx:defer or <close>");
    lua_pop(L, 1);
  }
  lua_setmetatable(L, 1);
  return 1;
}

static void push_user_globals(lua_State *L)
{
  static const char *const functions[] = {
      "assert", "error",  "getmetatable", "ipairs",   "next",
      "pairs",  "pcall",  "rawequal",     "rawget",   "rawlen",
      "rawset", "select", "tonumber",     "tostring", "type",
      "warn",   "xpcall", "_VERSION",     NULL};

  lua_createtable(L, 0, TABLE_ROOM);
  for (size_t i = 0; functions[i]; i++) {
    lua_getglobal(L, functions[i]);
    lua_setfield(L, -2, functions[i]);
  }
  aicr_push_user_require(L);
  lua_setfield(L, -2, "require");
  lua_pushcfunction(L, aicr_user_print);
  lua_setfield(L, -2, "print");
  lua_pushcfunction(L, user_setmetatable);
  lua_setfield(L, -2, "setmetatable");
  aicr_guard_xpcall(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, missing_global);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* Pushes the environment of user code; it is one a state.        [-0, +1, m] */
static void push_user_env(lua_State *L)
{
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &ENV_KEY) == LUA_TTABLE)
    return;
  lua_pop(L, 1);
  lua_newtable(L); /* the environment itself stays empty: reads and writes */
  lua_newtable(L); /* all go through this metatable */
  push_user_globals(L);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "_G");
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, refuse_global);
  lua_setfield(L, -2, "__newindex");
  lua_pushliteral(L, "aicr.globals");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ENV_KEY);
}

int aicr_load_user(lua_State *L, const char *text, size_t len, const char *path)
{
  const char *chunk = lua_pushfstring(L, "@%s", path);
  int status;

  if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
    text += 3;
    len -= 3;
  }
  if (len >= 2 && text[0] == '#' && text[1] == '!') {
    const char *end = memchr(text, '\n', len);

    /* The line end stays, so that line numbers are right. */
    len = end ? len - (size_t)(end - text) : 0;
    text = end ? end : text;
  }
  status = luaL_loadbufferx(L, text, len, chunk, "t");
  lua_remove(L, -2);
  if (status == LUA_ERRRUN || status == LUA_ERRSYNTAX) {
    /* Lua's whole message where there are too many levels. */
    if (!strcmp(lua_tostring(L, -1), "C stack overflow"))
      lua_pushfstring(L,
                      "%s: C stack overflow: over 200 levels of brackets, "
                      "tables or functions in one another; split them up",
                      path);
    return status;
  }
  if (status != LUA_OK)
    return status;
  push_user_env(L);
  if (!lua_setupvalue(L, -2, 1))
    lua_pop(L, 1);
  return LUA_OK;
}
