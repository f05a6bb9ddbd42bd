/* SPDX-License-Identifier: Apache-2.0 */
/* What the program calls of the host, without memory: each says so or does all
 * of it, and leaves nothing. */
#include <lauxlib.h>

#include "core/json_reader.h"
#include "host/embed.h"
#include "host/host.h"
#include "inject.h"

#define RECORDING "spec/fixtures/recordings/lyra-ok"
#define FILE_TEXT                                                              \
  "#!/usr/bin/env aicr-run\n"                                                  \
  "local gke = require 'aicr.gke'\n"                                           \
  "return {name = 'x', phase = 'deployment', summary = 's',\n"                 \
  "  needs = {'list nodes', {'get pods in run'}}, tags = {'a', 'b'},\n"        \
  "  params = {n = {type = 'integer', default = 3}},\n"                        \
  "  run = function() end}\n"

static char *described; /* the description with memory */

static bool run_state(void)
{
  struct aicr_roots roots = {{"spec/fixtures/hostile"}, 1};
  struct aicr_memory memory = {.limit = AICR_STATE_MEMORY};
  lua_State *L = aicr_state_new(&memory, &roots, NULL);

  if (!L) {
    assert_int_equal(memory.used, 0);
    return false;
  }
  lua_close(L);
  return true;
}

static int load_and_run(lua_State *L)
{
  static const char text[] =
      "local ok, err = pcall(require, 'no.such.file')\n"
      "assert(not ok and (err:find 'no module' or err:find 'memory'))\n"
      "return require('aicr.version').compare('1', '2')\n";

  if (aicr_load_user(L, text, sizeof(text) - 1, "x.lua") != LUA_OK)
    return lua_error(L);
  lua_call(L, 0, 1);
  return 1;
}

static bool run_user(void)
{
  struct aicr_roots roots = {{"spec/fixtures"}, 1};
  struct aicr_memory memory = {.limit = AICR_STATE_MEMORY};
  lua_State *L = aicr_state_new(&memory, &roots, NULL);
  int status;

  if (!L)
    return false;
  lua_pushcfunction(L, load_and_run);
  status = lua_pcall(L, 0, 1, 0);
  if (status == LUA_OK)
    assert_int_equal(lua_tointeger(L, -1), -1);
  else if (status != LUA_ERRMEM)
    assert_non_null(strstr(luaL_tolstring(L, -1, NULL), "memory"));
  lua_close(L);
  return status == LUA_OK;
}

static bool run_describe(void)
{
  struct aicr_buf out;
  bool ok;

  aicr_buf_init(&out, 1u << 20);
  ok = aicr_describe("x.lua", FILE_TEXT, strlen(FILE_TEXT), NULL, 0, &out);
  if (ok && !inject.fail_at) {
    free(described);
    described = strdup(out.data);
  } else if (ok)
    assert_string_equal(out.data, described);
  else if (!out.failed && !strstr(out.data, "memory"))
    fail_msg("%s", out.data);
  aicr_buf_free(&out);
  return ok;
}

static bool run_from_disk(void)
{
  bool ok;

  aicr_embed_source(".");
  ok = run_user() && run_describe();
  aicr_embed_source(NULL);
  return ok;
}

static bool run_recording(void)
{
  struct aicr_host host = {0};
  struct aicr_buf warnings;
  struct aicr_error err;
  bool ok = true;

  aicr_buf_init(&warnings, 4096);
  for (int i = 0; ok && i < 2; i++) /* the second replaces the first */
    ok = aicr_host_open_recording(&host, RECORDING, &warnings, &err);
  if (!ok)
    assert_string_equal(err.reason, "memory");
  if (host.client)
    kube_client_close(host.client);
  aicr_buf_free(&warnings);
  return ok;
}

static bool run_stop(bool over)
{
  struct aicr_host host = {0};
  const char *root = "spec", *need = "list nodes";
  const struct aicr_task_spec spec = {.id = 1,
                                      .path = "x.lua",
                                      .source = FILE_TEXT,
                                      .source_len = strlen(FILE_TEXT),
                                      .roots = &root,
                                      .root_count = 1,
                                      .needs = &need,
                                      .need_count = 1,
                                      .context = "{}",
                                      .context_len = 2};
  struct aicr_error err;
  bool ok = aicr_host_start(&host, &spec, &err);

  if (ok) {
    assert_true(aicr_host_cancel(&host, 1, "why", over));
    for (int i = 0; host.tasks && i < 10; i++)
      aicr_host_next(&host, 100);
    assert_non_null(strstr(host.event.data, "\"kind\":\"done\""));
    assert_null(strstr(host.event.data, "\"how\":\"returned\""));
    assert_null(strstr(host.event.data,
                       over ? "\"how\":\"canceled\"" : "\"how\":\"deadline\""));
    aicr_host_next(&host, 0);
    assert_string_equal(host.event.data, "{\"kind\":\"tick\"}");
  } else
    assert_string_equal(err.reason, "memory");
  assert_null(host.tasks);
  aicr_buf_free(&host.event);
  return ok;
}

static bool run_cancel(void)
{
  return run_stop(false);
}

static bool run_over(void)
{
  return run_stop(true);
}

static bool run_journal(void)
{
  struct aicr_journal j = {0};
  const char *message = NULL;
  char path[64];
  bool ok;

  snprintf(path, sizeof(path), "/tmp/host_state_test.%ld", (long)getpid());
  ok = aicr_journal_open(&j, path, &message);
  if (!ok)
    assert_string_equal(message, "out of memory");
  aicr_journal_add(&j, "line", 4);
  aicr_journal_close(&j, false);
  aicr_journal_close(&j, false);
  assert_int_not_equal(access(path, F_OK), 0);
  return ok;
}

static const struct entry {
  const char *name;
  bool (*run)(void);
  size_t step;
} entries[] = {
    {"aicr_state_new", run_state, 1},
    {"aicr_load_user, aicr_require", run_user, 1},
    {"aicr_describe", run_describe, 5},
    {"aicr_embed_source", run_from_disk, 23},
    {"aicr_host_open_recording", run_recording, 1},
    {"aicr_host_start, cancel, next", run_cancel, 1},
    {"aicr_host_start, cancel of one whose time is over, next", run_over, 1},
    {"aicr_journal_open", run_journal, 1},
};

static void run_entry(void *arg, enum inject_mode mode, size_t n)
{
  const struct entry *entry = arg;
  bool ok;

  inject_begin(mode, n);
  ok = entry->run();
  inject_end();
  assert_true(ok || inject_hit());
}

static void test_entry(void **state)
{
  const struct entry *entry = *state;

  inject_loop(run_entry, *state, entry->step);
}

/* A request that was refused and had at Lua's second try lacked nothing; one
 * that was given up did, for good. */
static void test_memory_ran_out(void **state)
{
  struct aicr_memory memory = {.limit = AICR_STATE_MEMORY};
  lua_State *L = aicr_state_new(&memory, NULL, NULL);

  (void)state;
  assert_false(aicr_memory_ran_out(&memory));
  lua_createtable(L, 100000, 0);
  lua_pop(L, 1); /* garbage, which makes room for the next */
  memory.limit = memory.used + 1000;
  lua_createtable(L, 90000, 0);
  lua_pop(L, 1);
  assert_false(aicr_memory_ran_out(&memory));
  memory.limit = memory.used;
  lua_gc(L, LUA_GCCOLLECT, 0);
  memory.limit = memory.used + 10000;
  assert_int_equal(luaL_loadstring(L, "return ('x'):rep(100000)"), LUA_OK);
  assert_int_not_equal(lua_pcall(L, 0, 1, 0), LUA_OK);
  memory.limit = AICR_STATE_MEMORY;
  assert_true(aicr_memory_ran_out(&memory));
  lua_createtable(L, 100, 0);
  assert_true(aicr_memory_ran_out(&memory));
  lua_close(L);
  assert_int_equal(memory.used, 0);
}

int main(void)
{
  struct rows r = {0};
  int failed;

  for (size_t i = 0; i < COUNT(entries); i++)
    add_row(&r, "without memory:", entries[i].name, test_entry, &entries[i]);
  add_row(&r, "memory:", "a lack of it is remembered", test_memory_ran_out,
          NULL);
  failed = run_rows(&r, "host_state");
  printf("# %zu entry points, %zu failed allocations\n", COUNT(entries),
         inject.refused);
  free(described);
  return failed;
}
