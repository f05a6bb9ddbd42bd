/* SPDX-License-Identifier: Apache-2.0 */
#include "host/require.h"

#include <ctype.h>
#include <lauxlib.h>
#include <string.h>

#include "host/embed.h"
#include "host/file.h"
#include "host/module.h"
#include "host/task.h"

#define NAME_MAX_LEN 200

static const char ROOTS_KEY = 0;
static const char USER_LOADED_KEY = 0;

/* Is the module one that user code may require? */
static bool is_public(const char *name)
{
  static const char *const hidden[] = {
      "aicr.native", "aicr.engine", "aicr.report", "aicr.task",
      "aicr.ctx",    "aicr.base",   NULL};

  for (size_t i = 0; hidden[i]; i++) {
    size_t n = strlen(hidden[i]);

    if (!strncmp(name, hidden[i], n) && (name[n] == '\0' || name[n] == '.'))
      return false;
  }
  return true;
}

/* Dots become slashes; false for anything that is no plain module name. */
static bool module_path(const char *name, char *out, size_t size)
{
  size_t n = strlen(name);

  if (n == 0 || n > NAME_MAX_LEN || n + 1 > size)
    return false;
  for (size_t i = 0; i <= n; i++) {
    char c = name[i];
    bool at_end = c == '.' || c == '\0';

    if (at_end && (i == 0 || name[i - 1] == '.'))
      return false;
    if (!at_end && !isalnum((unsigned char)c) && c != '_' && c != '-')
      return false;
    out[i] = c;
    if (c == '.')
      out[i] = '/';
  }
  return true;
}

static lua_CFunction native_opener(const char *name)
{
  for (const struct aicr_module *m = aicr_modules; m->name; m++)
    if (!strcmp(m->name, name))
      return m->open;
  return NULL;
}

/* Pushes the loader of an embedded module, or raises. */
static void push_loader(lua_State *L, const char *name)
{
  lua_CFunction open = native_opener(name);
  char path[NAME_MAX_LEN + 1];
  const char *file;

  if (open) {
    lua_pushcfunction(L, open);
    return;
  }
  if (!module_path(name, path, sizeof(path)))
    luaL_error(L, "bad module name '%s'", name);
  file = lua_pushfstring(L, "lua/%s.lua", path);
  if (!aicr_embed_exists(file))
    luaL_error(L, "no module '%s'", name);
  if (aicr_embed_load(L, file) != LUA_OK)
    lua_error(L);
  lua_remove(L, -2);
}

/* Runs the loader on the top and keeps its result in the table at `loaded`. */
static void run_loader(lua_State *L, int loaded, const char *name)
{
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, loaded, name);
}

void aicr_require(lua_State *L, const char *name)
{
  int loaded;

  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  loaded = lua_gettop(L);
  if (lua_getfield(L, loaded, name) == LUA_TNIL) {
    lua_pop(L, 1);
    push_loader(L, name);
    run_loader(L, loaded, name);
  }
  lua_remove(L, loaded);
}

static int library_require(lua_State *L)
{
  aicr_require(L, luaL_checkstring(L, 1));
  return 1;
}

void aicr_open_require(lua_State *L)
{
  lua_pushcfunction(L, library_require);
  lua_setglobal(L, "require");
}

void aicr_set_roots(lua_State *L, const struct aicr_roots *roots)
{
  lua_pushlightuserdata(L, (void *)roots);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ROOTS_KEY);
}

struct loading {
  const struct aicr_buf *text;
  const char *path;
};

/* Protected: what is raised in here must not pass by the buffer's owner. */
static int load_text(lua_State *L)
{
  const struct loading *l = lua_touserdata(L, 1);
  const char *data = l->text->data ? l->text->data : "";

  if (aicr_load_user(L, data, l->text->len, l->path) != LUA_OK)
    return lua_error(L);
  return 1;
}

/* Loads name from the first root that has it; pushes the chunk or raises. */
static void push_file_loader(lua_State *L, const char *name)
{
  const struct aicr_roots *roots;
  char path[NAME_MAX_LEN + 1];
  const char *file, *message = "no such file";
  struct aicr_buf text;

  lua_rawgetp(L, LUA_REGISTRYINDEX, &ROOTS_KEY);
  roots = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (!module_path(name, path, sizeof(path)))
    luaL_error(L, "bad module name '%s': letters, digits, '_' and '.' only",
               name);
  file = lua_pushfstring(L, "%s.lua", path);
  for (size_t i = 0; roots && i < roots->count; i++) {
    const char *at = lua_pushfstring(L, "%s/%s", roots->dirs[i], file);
    struct loading loading = {&text, at};
    int status;

    aicr_buf_init(&text, AICR_SCRIPT_MAX);
    if (!aicr_file_read_below(roots->dirs[i], file, AICR_SCRIPT_MAX, &text,
                              &message)) {
      bool no_memory = text.no_memory;

      aicr_buf_free(&text);
      if (no_memory)
        aicr_out_of_memory(L);
      lua_pop(L, 1);
      continue;
    }
    lua_pushcfunction(L, load_text);
    lua_pushlightuserdata(L, &loading);
    status = lua_pcall(L, 1, 1, 0);
    aicr_buf_free(&text);
    if (status != LUA_OK)
      lua_error(L);
    return;
  }
  luaL_error(L,
             "no module '%s': neither built in nor %s below the check's "
             "folder (%s)",
             name, file, message);
}

static int user_require(lua_State *L)
{
  size_t len;
  const char *name = luaL_checklstring(L, 1, &len);

  luaL_argcheck(L, strlen(name) == len, 1, "a NUL byte in a module's name");
  if (!strcmp(name, "aicr") || !strncmp(name, "aicr.", 5)) {
    if (!is_public(name))
      return luaL_error(L, "module '%s' is private", name);
    aicr_require(L, name);
    return 1;
  }
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &USER_LOADED_KEY) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &USER_LOADED_KEY);
  }
  if (lua_getfield(L, -1, name) == LUA_TNIL) {
    int loaded = lua_gettop(L) - 1;

    lua_pop(L, 1);
    push_file_loader(L, name);
    run_loader(L, loaded, name);
  }
  return 1;
}

void aicr_push_user_require(lua_State *L)
{
  lua_pushcfunction(L, user_require);
}
