/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of every native module and of the engine's border, without
 * memory: nothing leaks, nothing crashes, and what is raised says that memory
 * was lacking. A function without a row fails the test. */
#include <lauxlib.h>

#include "bind/bind.h"
#include "host/host.h"
#include "host/strand.h"
#include "inject.h"

#define RECORDING "spec/fixtures/recordings/lyra-ok"
#define CHECK                                                                  \
  "[[return {name='x', phase='deployment', summary='s', run=function(ctx) "    \
  "ctx:progress('begin') ctx:sleep('0s') return 'fine' end}]]"
#define START "host.start{id=1, path='x.lua', source=" CHECK ", context={}} "
#define E0    "{\"interfaceName\":\"eth0\",\"network\":\"default\"}"
#define PAIR  "{interfaceName='eth1', network='n\\0m'}"

#define NCCL_LOG                                                               \
  "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 " \
  "iters: 20 validation: 1\n"                                                  \
  "#  Rank  0 Group  0 Pid 4 on node-0 device  0 [0000:1b:00] NVIDIA H100\n"   \
  "node-0:4:5 [0] NCCL INFO Using network IB\n"                                \
  "# size count type redop root time algbw busbw #wrong time algbw busbw "     \
  "#wrong\n"                                                                   \
  "  8 2 float sum -1 1.00 0.01 0.00 0 1.00 0.01 0.00 0\n"                     \
  "node-0: Test CUDA failure common.cu:5 'x'\n"                                \
  " .. node-0 pid 4: Test failure common.cu:6\n"                               \
  "# Out of bounds values : 0 OK\n"
#define NCCL_JSON_TEXT                                                         \
  "{\"args\":[\"all_reduce_perf\"],\"config\":{\"devices\":[{\"rank\":0,"      \
  "\"hostname\":\"a\"}]},\"results\":[{\"size\":8,\"count\":2,\"type\":"       \
  "\"float\",\"root\":\" -1\",\"out_of_place\":{\"time\":1.0,\"alg_bw\":inf,"  \
  "\"bus_bw\":1.0,\"nwrong\":null}}],\"errors\":[\"x\"]}"

enum { IN_TASK = 1, VARIES = 2, ON_CLUSTER = 4 };

/* `raises`: the reason, or a part of the text, of what is raised with memory.
 * `before` runs undisturbed. */
static const struct call {
  const char *code;
  const char *raises;
  int how;
  const char *before;
} calls[] = {
    {"return quantity.value('64Gi')", NULL, 0, NULL},
    {"return quantity.value('x')", "quantity", 0, NULL},
    {"return quantity.milli('500m')", NULL, 0, NULL},
    {"return quantity.compare('1', '2')", NULL, 0, NULL},
    {"return version.parse('1.35.0-gke.1')", NULL, 0, NULL},
    {"return version.compare('1', '2')", NULL, 0, NULL},
    {"return version.equal('1', 'v')", "version", 0, NULL},
    {"return constraint.parse('>= 1 < 2 || x')", NULL, 0, NULL},
    {"return constraint.parse_term('x')", NULL, 0, NULL},
    {"return constraint.eval('> 1', '2')", NULL, 0, NULL},
    {"return constraint.eval_term('> 1', 'x')", "constraint", 0, NULL},
    {"return constraint.threshold('>= 300')", NULL, 0, NULL},
    {"return time.duration('5m')", NULL, 0, NULL},
    {"return time.format_duration(5)", NULL, 0, NULL},
    {"return time.parse('2026-03-10T20:10:44Z')", NULL, 0, NULL},
    {"return time.format(5)", NULL, 0, NULL},
    {"return text.nearest('ab', {'ac', 'abd'})", NULL, 0, NULL},
    {"return text.printable('a\\27')", NULL, 0, NULL},
    {"return text.utf8('a\\xff')", NULL, 0, NULL},
    {"return text.trim(' a ')", NULL, 0, NULL},
    {"return text.sha256('abc')", NULL, 0, NULL},
    {"return platform.names()", NULL, 0, NULL},
    {"return platform.data('overrides/workloadrun.yaml')", NULL, 0, NULL},
    {"return gke.parse_interfaces('[" E0 ",null,{\"network\":\"n\"}]')", NULL,
     0, NULL},
    {"return gke.parse_interfaces('[]')", "annotation-empty", 0, NULL},
    {"return gke.validate_interfaces({" PAIR "})", "mapping-invalid", 0, NULL},
    {"return gke.parse_interface_list('eth1=gpu-nic1,eth2=gpu-nic2,"
     "eth3=gpu-nic3,eth4=gpu-nic4,eth5=gpu-nic5,eth6=gpu-nic6,eth7=gpu-nic7,"
     "eth8=gpu-nic8')",
     NULL, 0, NULL},
    {"return gke.interfaces_annotation({'a', 'b'})", NULL, 0, NULL},
    {"return gke.devices_annotation(8)", NULL, 0, NULL},
    {"return gke.parse_nic_info('[{\"birthName\":\"gve0\",\"pciAddress\":"
     "\"x\",\"birthIPv6\":\"y\"}]')",
     NULL, 0, NULL},
    {"return gke.parse_north_interfaces('[{\"ipAddress\":\"1\",\"network\":"
     "\"n\"}]')",
     NULL, 0, NULL},
    {"return gke.displaced_interfaces({ips={eth1='1', eth2='2'}}, "
     "{['1']='n'}, {'m'})",
     NULL, 0, NULL},
    {"return gke.verify_mapping({" PAIR "," PAIR "}, {" PAIR "})",
     "mapping-count", 0, NULL},
    {"return gke.verify_networks_exist({" PAIR "}, {'a'}, {'b'})",
     "network-missing", 0, NULL},

    {"local p <close> = nccl.parser{op='all_reduce', debug=true} "
     "nccl.feed(p, nccl_log) return nccl.finish(p)",
     NULL, 0, NULL},
    {"return nccl.parse_json(nccl_json)", NULL, 0, NULL},
    {"return nccl.parse_json('7')", "malformed", 0, NULL},
    {"return nccl.busbw('all_reduce', 8, 1.0, 2)", NULL, 0, NULL},
    {"return nccl.busbw('x', 8, 1.0, 2)", "argument", 0, NULL},
    {"return nccl.printed_size('all_gather', 1048576, 'float', 12)", NULL, 0,
     NULL},

    {"return json.decode('{\"a\":[1,2.5,true,null,\"x\"],\"a\":{}}')", NULL, 0,
     NULL},
    {"return json.decode('[1')", "malformed", 0, NULL},
    {"return json.encode({a={1,2}, b='x', c=json.null, d=1.5, e={f=true}})",
     NULL, 0, NULL},
    {"return json.encode({a={print}})", "cannot encode", 0, NULL},
    {"return json.array({1})", NULL, 0, NULL},
    {"return json.is_array(json.array())", NULL, 0, NULL},
    {"return yaml.decode('a: [1, {b: null}]\\nc: |\\n text\\n')", NULL, 0,
     NULL},
    {"return yaml.decode('a: &x {k: v}\\nb: *x\\n', {schema='recipe'})", NULL,
     0, NULL},
    {"return yaml.decode('a: [')", "malformed", 0, NULL},
    {"return yaml.decode_all('a\\n---\\nb: 1\\n')", NULL, 0, NULL},
    {"return error.new{code='CONFLICT', reason='r', message='m', verdict=true,"
     " details={1}, cause=error.new{code='INTERNAL', reason='c', message='n'}}",
     NULL, 0, NULL},
    {"return error.raise{code='INTERNAL', reason='odd', message='m'}", "odd", 0,
     NULL},
    {"return error.is(1)", NULL, 0, NULL},

    {"return host.read_file('LICENSE')", NULL, 0, NULL},
    {"return host.list_dir('spec/c')", NULL, 0, NULL},
    {"return host.write('/dev/null', 'x')", NULL, 0, NULL},
    {"return host.real_path('spec/c')", NULL, 0, NULL},
    {"return host.can_write('/dev/null')", NULL, 0, NULL},
    {"return host.env('PATH')", NULL, 0, NULL},
    {"return host.embedded('lua/aicr/ctx.lua')", NULL, 0, NULL},
    {"return host.embedded_list('lua/')", NULL, 0, NULL},
    {"return host.now()", NULL, VARIES, NULL},
    {"return host.monotonic()", NULL, VARIES, NULL},
    {"return host.random()", NULL, VARIES, NULL},
    {"return host.cluster{recording='" RECORDING "'}", NULL, 0, NULL},
    {"return host.cluster{}", NULL, 0, NULL},
    {"return host.load{path='x.lua', source=" CHECK ", roots={'spec'}}", NULL,
     VARIES, NULL},
    {START, NULL, 0, NULL},
    {"return host.next(1000)", NULL, VARIES, START "host.next(1000)"},
    {"return host.cancel(1, 'why')", NULL, 0, START},
    {"return host.needs{'apply pods', 'get /version', 'list nodes in a'}", NULL,
     0, NULL},
    {"return host.needs{'x'}", "bad-need", 0, NULL},
    {"return host.cluster_warnings()", NULL, 0, NULL},
    {"return host.libraries()", NULL, 0, NULL},
    {"return host.journal(journal_path)", NULL, 0, NULL},
    {"return host.journal_add('line')", NULL, 0, "host.journal(journal_path)"},
    {"return host.recorded()", NULL, 0, NULL},
    {"return host.keep_out('a secret')", NULL, 0, NULL},

    {"return task.record('evidence', {1, 'x'})", NULL, IN_TASK, NULL},
    {"return task.ending{kind='fail', reason='r', message='m'}", NULL, IN_TASK,
     NULL},
    {"return task.extra('k', 'v')", NULL, IN_TASK, NULL},
    {"return task.set('coverage', {verified=1, total=2})", NULL, IN_TASK, NULL},
    {"return task.progress('text')", NULL, IN_TASK, NULL},
    {"return task.defer()", NULL, IN_TASK, NULL},
    {"return task.stopping()", NULL, IN_TASK, NULL},
    {"return task.now()", NULL, IN_TASK, NULL},
    {"return task.monotonic()", NULL, IN_TASK | VARIES, NULL},
    {"return task.sleep(0)", NULL, IN_TASK, NULL},
    {"return task.recording()", NULL, IN_TASK, NULL},
    {"return task.brief({a={1}})", NULL, IN_TASK, NULL},
    {"return task.check_needs({'list nodes', 'get pods in run'})", NULL,
     IN_TASK, NULL},
    {"return task.check_needs({'x'})", "x", IN_TASK, NULL},
    {"return task.all({function() task.sleep(0) end, function() end})", NULL,
     IN_TASK, NULL},
    {"return task.k8s({})", NULL, IN_TASK, NULL},
    {"local w <close> = task.wait('x', 'the x') task.look(w) "
     "task.seen(w, 'y') task.late(w) task.attained(w) task.attained() "
     "return task.goes_on(w, false), task.goes_on(w, true)",
     NULL, IN_TASK, NULL},
    {"return task.goes_on({}, true)", "aicr.task.wait expected", IN_TASK, NULL},
    {"return k8s.get({}, 'nodes', 'lyra-gpu-a')", "'ctx.k8s:get'", IN_TASK,
     NULL},
    {"return k8s.get(k8s, 'nodes', 'lyra-gpu-a')", NULL, IN_TASK, NULL},
    {"return k8s.get(k8s, 'nodes', 'none')", "not-found", IN_TASK, NULL},
    {"return k8s.find(k8s, 'nodes', 'none')", NULL, IN_TASK, NULL},
    {"return k8s.list(k8s, 'nodes', {label='a!=b'})", NULL, IN_TASK, NULL},
    {"return k8s.list_for_watch(k8s, 'nodes')", NULL, IN_TASK, NULL},
    {"return k8s.list(k8s, 'nodes', {fields={'metadata.name', "
     "'spec.taints[*].key', 'x.y', 'kind'}})",
     NULL, IN_TASK, NULL},
    {"return k8s.list(k8s, 'nodes', {fields={'a', 'b..c'}})", "name is missing",
     IN_TASK, NULL},
    {"local n = 0 for x in k8s.each(k8s, 'nodes') do n = n + 1 end return n",
     NULL, IN_TASK, NULL},
    {"return k8s.known_version()", NULL, IN_TASK, NULL},
    {"return k8s.call('x', {verb='get', resource='nodes', name='lyra-gpu-a'})",
     NULL, IN_TASK, NULL},
    {"return k8s.call('x', {verb='delete', resource='nodes', name='a', "
     "query={a='b c'}, body={x=1}, free=true})",
     "read-only", IN_TASK, NULL},
    {"return k8s.exec('x', {name='a', namespace='b', command={'c'}})",
     "undeclared-permission", IN_TASK, NULL},
    {"return k8s.exec('x', {name='a', namespace='b', command={7}})", "word 1",
     IN_TASK, NULL},
    {"return k8s.call('x', {verb='create', apiVersion='v1', kind='ConfigMap', "
     "body={}})",
     "undeclared-permission", IN_TASK, NULL},
    {"for x in k8s.stream('x', {verb='watch', resource='nodes', free=true, "
     "query={watch='true'}}) do end",
     "not-recorded", IN_TASK, NULL},
    {"return k8s.call('x', {verb='raw', resource='/version'})",
     "undeclared-permission", IN_TASK, NULL},
};

static struct aicr_host cluster; /* shared by the rows that run in a task */
static char journal_path[64];
static char *expected; /* the result with memory, as JSON */

static const char *short_name(const struct aicr_module *m)
{
  return strrchr(m->name, '.') + 1;
}

static int open_modules(lua_State *L)
{
  for (const struct aicr_module *m = aicr_modules; m->name; m++) {
    aicr_require(L, m->name);
    lua_setglobal(L, short_name(m));
  }
  aicr_require(L, "aicr.task");
  lua_pop(L, 1);
  lua_getglobal(L, "k8s");
  aicr_set_k8s(L, -1);
  lua_pop(L, 1);
  aicr_push_border(L);
  lua_setglobal(L, "host");
  lua_pushstring(L, journal_path);
  lua_setglobal(L, "journal_path");
  lua_pushstring(L, NCCL_LOG);
  lua_setglobal(L, "nccl_log");
  lua_pushstring(L, NCCL_JSON_TEXT);
  lua_setglobal(L, "nccl_json");
  return 0;
}

static int run_code(lua_State *L)
{
  const char *code = lua_touserdata(L, 1);

  if (luaL_loadstring(L, code) != LUA_OK)
    return lua_error(L);
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

static void protected(lua_State *L, lua_CFunction f, const char *code)
{
  lua_pushcfunction(L, f);
  lua_pushlightuserdata(L, (void *)(uintptr_t)code);
  assert_int_equal(lua_pcall(L, 1, 0, 0), LUA_OK);
}

static int encode_results(lua_State *L)
{
  struct aicr_buf *b = aicr_new_buf(L, 16u << 20);

  lua_insert(L, 1);
  for (int i = 2; i <= lua_gettop(L); i++)
    aicr_encode_json_lenient(L, i, b);
  lua_pushlstring(L, b->data ? b->data : "", b->len);
  return 1;
}

/* What comes back under a failing allocation is what comes back with memory,
 * or says "memory". */
static void expect_results(lua_State *L, const struct call *call)
{
  const char *text;

  lua_pushcfunction(L, encode_results);
  lua_insert(L, 1);
  assert_int_equal(lua_pcall(L, lua_gettop(L) - 1, 1, 0), LUA_OK);
  text = lua_tostring(L, -1);
  if (!inject.fail_at) {
    free(expected);
    expected = strdup(text);
  } else if (!(call->how & VARIES) && strcmp(text, expected) != 0 &&
             !strstr(text, "memory"))
    fail_msg("%s: %.200s, not %.200s", call->code, text, expected);
}

static bool says_memory(lua_State *L)
{
  if (lua_type(L, -1) == LUA_TSTRING)
    return strstr(lua_tostring(L, -1), "memory") != NULL;
  if (!aicr_is_error(L, -1))
    return false;
  lua_getfield(L, -1, "reason");
  return !strcmp(lua_tostring(L, -1), "memory");
}

static void expect_raised(lua_State *L, const struct call *call)
{
  const char *text;

  if (inject_hit() && says_memory(L))
    return;
  if (!call->raises) {
    fail_msg("%s raised %s", call->code, luaL_tolstring(L, -1, NULL));
    return;
  }
  if (lua_type(L, -1) != LUA_TSTRING)
    lua_getfield(L, -1, "reason");
  text = lua_tostring(L, -1);
  if (!text || !strstr(text, call->raises))
    fail_msg("%s raised %s", call->code, text);
}

static void end_host(struct aicr_host *h)
{
  while (h->tasks) {
    struct aicr_task *t = h->tasks;

    h->tasks = t->next;
    aicr_task_free(t);
  }
  if (h->client)
    kube_client_close(h->client);
  aicr_journal_close(&h->journal, false);
  aicr_buf_free(&h->event);
}

static int set_host(lua_State *L)
{
  aicr_host_set(L, lua_touserdata(L, 1));
  return 0;
}

/* In a state like the engine's. */
static void run_plain(void *arg, enum inject_mode mode, size_t n)
{
  const struct call *call = arg;
  struct aicr_memory memory = {.limit = AICR_STATE_MEMORY};
  struct aicr_host h = {0};
  lua_State *L = aicr_state_new(&memory, NULL, NULL);
  int status;

  assert_non_null(L);
  protected(L, set_host, (const char *)&h);
  protected(L, open_modules, NULL);
  if (call->before)
  protected(L, run_code, call->before);
  lua_pushcfunction(L, run_code);
  lua_pushlightuserdata(L, (void *)(uintptr_t)call->code);
  inject_begin(mode, n);
  status = lua_pcall(L, 1, LUA_MULTRET, 0);
  inject_end();
  if (status == LUA_OK)
    expect_results(L, call);
  else
    expect_raised(L, call);
  end_host(&h);
  lua_close(L);
}

static bool told(const char *text)
{
  return cluster.event.data && strstr(cluster.event.data, text);
}

static struct aicr_task *new_task(const struct call *call)
{
  static const char *const needs[] = {"get nodes", "list nodes"};
  const struct aicr_task_spec spec = {.id = 7,
                                      .path = "x.lua",
                                      .source = "",
                                      .needs = needs,
                                      .need_count = COUNT(needs),
                                      .context = "{}",
                                      .context_len = 2};
  struct aicr_error err;
  struct aicr_task *t;

  assert_true(aicr_host_start(&cluster, &spec, &err));
  t = cluster.tasks;
  t->L = aicr_state_new(&t->memory, &t->roots, t);
  assert_non_null(t->L);
  protected(t->L, open_modules, NULL);
  assert_int_equal(luaL_loadstring(t->L, call->code), LUA_OK);
  aicr_strand_start(t->L, t, 1);
  return t;
}

/* As the code of a check on a recording. */
static void run_task(void *arg, enum inject_mode mode, size_t n)
{
  const struct call *call = arg;

  new_task(call);
  inject_begin(mode, n);
  for (int i = 0; i < 100 && !(i && told("\"kind\":\"done\"")); i++)
    aicr_host_next(&cluster, 1000);
  inject_end();
  assert_true(told("\"kind\":\"done\""));
  assert_null(cluster.tasks);
  assert_int_equal(kube_client_pending(cluster.client), 0);
  if (inject_hit() && told("\"how\":\"memory\""))
    return;
  if (call->raises ? !told(call->raises) : !told("\"how\":\"returned\""))
    fail_msg("%s: %s", call->code, cluster.event.data);
}

static size_t tried;

static void test_call(void **state)
{
  const struct call *call = *state;

  tried++;
  if (call->how & IN_TASK) {
    run_task(*state, INJECT_LUA_ONCE, 0); /* what the host keeps from here on */
    inject_loop(run_task, *state, 1);
  } else
    inject_loop(run_plain, *state, 1);
}

static bool has_row(const char *module, const char *function)
{
  char call[64];

  snprintf(call, sizeof(call), "%s.%s(", module, function);
  for (size_t i = 0; i < COUNT(calls); i++)
    if (strstr(calls[i].code, call))
      return true;
  call[strlen(call) - 1] = '{';
  for (size_t i = 0; i < COUNT(calls); i++)
    if (strstr(calls[i].code, call))
      return true;
  return false;
}

/* Of the table on the top. */
static size_t expect_rows(lua_State *L, const char *module)
{
  size_t n = 0;

  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (!lua_isfunction(L, -1))
      continue;
    n++;
    if (!has_row(module, lua_tostring(L, -2)))
      fail_msg("%s.%s is not called", module, lua_tostring(L, -2));
  }
  lua_pop(L, 1);
  return n;
}

static void test_every_function_is_called(void **state)
{
  struct aicr_memory memory = {.limit = AICR_STATE_MEMORY};
  lua_State *L = aicr_state_new(&memory, NULL, NULL);
  size_t functions = 0;

  (void)state;
  for (const struct aicr_module *m = aicr_modules; m->name; m++) {
    aicr_require(L, m->name);
    functions += expect_rows(L, short_name(m));
  }
  aicr_push_border(L);
  functions += expect_rows(L, "host");
  lua_close(L);
  printf("# %zu functions, %zu calls, %zu failed allocations\n", functions,
         tried, inject.refused);
}

static const char MADE = 0;

/* Keeps every userdata that is made, so that it can be released again. */
static void keep_made(lua_State *L)
{
  inject.made = NULL;
  lua_pushvalue(L, -1);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &MADE) == LUA_TTABLE) {
    lua_insert(L, -2);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
  } else
    lua_pop(L, 2);
  inject.made = keep_made;
}

static void call_release(lua_State *L, const char *event)
{
  assert_int_equal(luaL_getmetafield(L, -1, event), LUA_TFUNCTION);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 0);
}

/* close, __gc and __close are one function that can be called again. */
static size_t release_again(lua_State *L)
{
  size_t n = 0;

  lua_rawgetp(L, LUA_REGISTRYINDEX, &MADE);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (!lua_getmetatable(L, -1))
      continue; /* plain bytes */
    lua_getfield(L, -1, "__gc");
    lua_getfield(L, -2, "__close");
    assert_true(lua_rawequal(L, -1, -2));
    lua_getfield(L, -4, "close");
    assert_true(lua_rawequal(L, -1, -2));
    lua_pop(L, 4);
    call_release(L, "__gc");
    call_release(L, "__close");
    call_release(L, "__gc");
    n++;
  }
  lua_pop(L, 1);
  return n;
}

static void begin_keeping(lua_State *L)
{
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &MADE);
  inject.made = keep_made;
}

static void test_userdata_is_released_once(void **state)
{
  size_t n = 0;

  (void)state;
  aicr_realloc = inject_realloc;
  for (size_t i = 0; i < COUNT(calls); i++) {
    struct aicr_memory memory = {.limit = AICR_STATE_MEMORY};
    lua_State *L;

    if (calls[i].how & IN_TASK) {
      struct aicr_task *t = new_task(&calls[i]);

      begin_keeping(t->L);
      while (!t->done && aicr_task_run(t))
        ;
      inject.made = NULL;
      n += release_again(t->L);
      cluster.tasks = NULL;
      aicr_task_free(t);
      continue;
    }
    if (strstr(calls[i].code, "host."))
      continue; /* make no others */
    L = aicr_state_new(&memory, NULL, NULL);
    protected(L, open_modules, NULL);
    begin_keeping(L);
    lua_pushcfunction(L, run_code);
    lua_pushlightuserdata(L, (void *)(uintptr_t)calls[i].code);
    lua_pcall(L, 1, 0, 0);
    inject.made = NULL;
    n += release_again(L);
    lua_close(L);
  }
  assert_true(n > 50);
  assert_int_equal(kube_client_pending(cluster.client), 0);
}

static int open_cluster(void **state)
{
  struct aicr_buf warnings;
  struct aicr_error err;
  bool ok;

  (void)state;
  snprintf(journal_path, sizeof(journal_path), "/tmp/modules_test.%ld.journal",
           (long)getpid());
  aicr_realloc = inject_realloc;
  aicr_buf_init(&warnings, 4096);
  ok = aicr_host_open_recording(&cluster, RECORDING, &warnings, &err);
  aicr_buf_free(&warnings);
  return ok ? 0 : -1;
}

static int close_cluster(void **state)
{
  (void)state;
  end_host(&cluster);
  free(expected);
  return inject.live == 0 ? 0 : -1;
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(calls); i++)
    add_row(&r, "without memory:", calls[i].code, test_call, &calls[i]);
  add_row(&r, "modules:", "every function is called",
          test_every_function_is_called, NULL);
  add_row(&r, "modules:", "userdata is released once",
          test_userdata_is_released_once, NULL);
  return run_rows_with(&r, "native_modules", open_cluster, close_cluster);
}
