/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "host/embed.h"
#include "host/module.h"
#include "host/signal.h"
#include "host/watchdog.h"

#define EXIT_USAGE    2
#define EXIT_INTERNAL 70
#define ENGINE_MEMORY (1024u << 20)
#define ENGINE_PAUSE  150 /* per cent of what lives, until it is collected */

#define MAIN "lua/aicr/engine/main.lua"

static const char HOST_KEY = 0;

struct aicr_host *aicr_host_of(lua_State *L)
{
  struct aicr_host *h;

  lua_rawgetp(L, LUA_REGISTRYINDEX, &HOST_KEY);
  h = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return h;
}

void aicr_host_set(lua_State *L, struct aicr_host *h)
{
  lua_pushlightuserdata(L, h);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &HOST_KEY);
}

struct engine {
  struct aicr_host *host;
  const char *options;
  size_t len;
  int exit_code;
};

/* Everything of the engine runs below this call: main(options, host). */
static int run_engine(lua_State *L)
{
  struct engine *e = lua_touserdata(L, 1);

  aicr_host_set(L, e->host);
  aicr_require(L, "aicr.json");
  if (aicr_embed_load(L, MAIN) != LUA_OK)
    return lua_error(L);
  lua_call(L, 0, 1);
  lua_getfield(L, -2, "decode");
  lua_pushlstring(L, e->options, e->len);
  lua_call(L, 1, 1);
  aicr_push_border(L);
  lua_call(L, 2, 1);
  if (!lua_isinteger(L, -1))
    return luaL_error(L, "the engine gave no exit code");
  e->exit_code = (int)lua_tointeger(L, -1);
  return 0;
}

/* An error that is no text would hide what went wrong. */
static int on_error(lua_State *L)
{
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

int aicr_host_main(const char *options_json, size_t len, const char *source_dir)
{
  struct aicr_host host = {0};
  struct aicr_memory memory = {.limit = ENGINE_MEMORY};
  struct engine engine = {&host, options_json, len, EXIT_INTERNAL};
  lua_State *L;

  aicr_signal_open();
  aicr_watchdog_open();
  aicr_embed_source(source_dir);
  if (!aicr_embed_exists(MAIN)) {
    fprintf(stderr,
            "aicr-run: --source %s: no %s in it\n"
            "  fix  name the root of the source tree\n",
            source_dir, MAIN);
    return EXIT_USAGE;
  }
  L = aicr_state_new(&memory, NULL, NULL);
  if (!L) {
    fputs("aicr-run: internal: no memory for the engine\n", stderr);
    return EXIT_INTERNAL;
  }
  /* What lives grows with the checks: less of it may be garbage. */
  lua_gc(L, LUA_GCINC, ENGINE_PAUSE, 0, 0);
  lua_pushcfunction(L, on_error);
  lua_pushcfunction(L, run_engine);
  lua_pushlightuserdata(L, &engine);
  if (lua_pcall(L, 1, 0, 1) != LUA_OK) {
    const char *text = lua_tostring(L, -1);

    fprintf(stderr, "aicr-run: internal: %s\n", text ? text : "?");
    engine.exit_code = EXIT_INTERNAL;
  }
  while (host.tasks) {
    struct aicr_task *t = host.tasks;

    host.tasks = t->next;
    aicr_task_free(t);
  }
  lua_close(L);
  if (host.client)
    kube_client_close(host.client);
  aicr_journal_close(&host.journal, engine.exit_code == EXIT_INTERNAL);
  aicr_buf_free(&host.event);
  return engine.exit_code;
}
