/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the modules of values, without memory: nothing leaks,
 * nothing crashes, and what is raised says that memory was lacking. */
#include <lauxlib.h>
#include <lualib.h>

#include "bind/bind.h"
#include "core/buffer.h"
#include "rows.h"

struct module {
  const char *name;
  lua_CFunction open;
};

static const struct module modules[] = {
    {"quantity", luaopen_aicr_quantity},     {"version", luaopen_aicr_version},
    {"constraint", luaopen_aicr_constraint}, {"time", luaopen_aicr_time},
    {"gke", luaopen_aicr_native_gke},        {"text", luaopen_aicr_native_text},
};

#define E0   "{\"interfaceName\":\"eth0\",\"network\":\"default\"}"
#define PAIR "{interfaceName='eth1', network='n\\0m'}"

/* `raises`: the reason of the error object that is raised with memory. */
static const struct call {
  const char *code;
  const char *raises;
} calls[] = {
    {"return quantity.value('64Gi')", NULL},
    {"return quantity.value('x')", "quantity"},
    {"return quantity.milli('500m')", NULL},
    {"return quantity.compare('1', '2')", NULL},
    {"return version.parse('1.35.0-gke.1')", NULL},
    {"return version.compare('1', '2')", NULL},
    {"return version.equal('1', 'v')", "version"},
    {"return constraint.parse('>= 1 < 2 || x')", NULL},
    {"return constraint.parse_term('x')", NULL},
    {"return constraint.eval('> 1', '2')", NULL},
    {"return constraint.eval_term('> 1', 'x')", "constraint"},
    {"return constraint.threshold('>= 300')", NULL},
    {"return time.duration('5m')", NULL},
    {"return time.format_duration(5)", NULL},
    {"return time.parse('2026-03-10T20:10:44Z')", NULL},
    {"return time.format(5)", NULL},
    {"return text.nearest('ab', {'ac', 'abd'})", NULL},
    {"return text.printable('a\\27')", NULL},
    {"return text.utf8('a\\xff')", NULL},
    {"return text.trim(' a ')", NULL},
    {"return text.sha256('abc')", NULL},
    {"return gke.parse_interfaces('[" E0 ",null,{\"network\":\"n\"}]')", NULL},
    {"return gke.parse_interfaces('[]')", "annotation-empty"},
    {"return gke.validate_interfaces({" PAIR "})", "mapping-invalid"},
    {"return gke.parse_interface_list('eth1=gpu-nic1,eth2=gpu-nic2,"
     "eth3=gpu-nic3,eth4=gpu-nic4,eth5=gpu-nic5,eth6=gpu-nic6,eth7=gpu-nic7,"
     "eth8=gpu-nic8')",
     NULL},
    {"return gke.interfaces_annotation({'a', 'b'})", NULL},
    {"return gke.devices_annotation(8)", NULL},
    {"return gke.parse_nic_info('[{\"birthName\":\"gve0\",\"pciAddress\":"
     "\"x\",\"birthIPv6\":\"y\"}]')",
     NULL},
    {"return gke.parse_north_interfaces('[{\"ipAddress\":\"1\",\"network\":"
     "\"n\"}]')",
     NULL},
    {"return gke.displaced_interfaces({ips={eth1='1', eth2='2'}}, "
     "{['1']='n'}, {'m'})",
     NULL},
    {"return gke.verify_mapping({" PAIR "," PAIR "}, {" PAIR "})",
     "mapping-count"},
    {"return gke.verify_networks_exist({" PAIR "}, {'a'}, {'b'})",
     "network-missing"},
};

/* Allocations of both kinds are counted; from the fail_at-th on they fail,
 * with only_c those of C alone and only that one. */
static struct {
  size_t count, fail_at, live;
  bool only_c;
} memory;

static void *count_realloc(void *ptr, size_t size)
{
  void *p;

  if (size == 0) {
    memory.live -= ptr != NULL;
    free(ptr);
    return NULL;
  }
  memory.count++;
  if (memory.fail_at && (memory.only_c ? memory.count == memory.fail_at
                                       : memory.count >= memory.fail_at))
    return NULL;
  p = realloc(ptr, size);
  memory.live += p && !ptr;
  return p;
}

static void *lua_memory(void *ud, void *ptr, size_t old, size_t size)
{
  (void)ud;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  if (!memory.only_c && (!ptr || size > old)) {
    memory.count++;
    if (memory.fail_at && memory.count >= memory.fail_at)
      return NULL;
  }
  return realloc(ptr, size);
}

static int open_modules(lua_State *L)
{
  for (size_t i = 0; i < COUNT(modules); i++) {
    lua_pushcfunction(L, modules[i].open);
    lua_call(L, 0, 1);
    lua_setglobal(L, modules[i].name);
  }
  return 0;
}

static int call_code(lua_State *L)
{
  const char *code = lua_touserdata(L, 1);

  if (luaL_loadstring(L, code) != LUA_OK)
    return lua_error(L);
  lua_call(L, 0, 1);
  return 0;
}

static const char *field(lua_State *L, const char *name)
{
  lua_getfield(L, -1, name);
  return lua_tostring(L, -1);
}

static void expect_memory_error(lua_State *L, int status)
{
  if (status == LUA_ERRMEM)
    return;
  assert_int_equal(status, LUA_ERRRUN);
  if (lua_type(L, -1) == LUA_TSTRING) {
    assert_non_null(strstr(lua_tostring(L, -1), "not enough memory"));
    return;
  }
  assert_true(aicr_is_error(L, -1));
  assert_string_equal(field(L, "reason"), "memory");
}

/* Runs the call in a state of its own with the given failing allocation, 0:
 * none. Returns how many allocations it made. */
static size_t run_call(const struct call *call, size_t fail_at)
{
  lua_State *L = lua_newstate(lua_memory, NULL);
  size_t count;
  int status;

  assert_non_null(L);
  assert_int_equal(lua_checkstack(L, 10), 1);
  lua_pushcfunction(L, open_modules);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_OK);
  lua_pushcfunction(L, call_code);
  lua_pushlightuserdata(L, (void *)(uintptr_t)call->code);
  memory.count = 0;
  memory.fail_at = fail_at;
  status = lua_pcall(L, 1, 0, 0);
  count = memory.count;
  memory.fail_at = 0;
  if (fail_at && count >= fail_at) {
    expect_memory_error(L, status);
  } else if (call->raises) {
    assert_int_equal(status, LUA_ERRRUN);
    assert_true(aicr_is_error(L, -1));
    assert_string_equal(field(L, "reason"), call->raises);
  } else {
    assert_int_equal(status, LUA_OK);
  }
  lua_close(L);
  assert_int_equal(memory.live, 0);
  return count;
}

static void test_call(void **state)
{
  void *(*before)(void *, size_t) = aicr_realloc;

  aicr_realloc = count_realloc;
  memset(&memory, 0, sizeof(memory));
  for (int only_c = 0; only_c < 2; only_c++) {
    size_t count;

    memory.only_c = only_c;
    count = run_call(*state, 0);
    assert_true(only_c || count > 0);
    for (size_t fail_at = 1; fail_at <= count; fail_at++)
      run_call(*state, fail_at);
  }
  aicr_realloc = before;
}

/* A function that is registered and not called above is a hole. */
static void test_every_function_is_called(void **state)
{
  lua_State *L = luaL_newstate();

  (void)state;
  assert_non_null(L);
  for (size_t i = 0; i < COUNT(modules); i++) {
    lua_pushcfunction(L, modules[i].open);
    lua_call(L, 0, 1);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      const char *name = lua_tostring(L, -2);
      char call[64];
      bool found = false;

      snprintf(call, sizeof(call), "%s.%s(", modules[i].name, name);
      for (size_t j = 0; j < COUNT(calls); j++)
        found = found || strstr(calls[j].code, call);
      if (!found)
        fail_msg("%s) is not called", call);
    }
    lua_pop(L, 1);
  }
  lua_close(L);
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(calls); i++)
    add_row(&r, "without memory:", calls[i].code, test_call, &calls[i]);
  add_row(&r, "modules:", "every function is called",
          test_every_function_is_called, NULL);
  return run_rows(&r, "value_modules");
}
