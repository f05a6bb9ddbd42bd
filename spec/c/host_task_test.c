/* SPDX-License-Identifier: Apache-2.0 */
/* Whole checks without memory: each ends with a `done` event that says so or
 * is the right one, nothing is left, and no pass is got that was not earned. */
#include <lauxlib.h>

#include "host/host.h"
#include "inject.h"

#define RECORDING "spec/fixtures/recordings/lyra-ok"
#define HEAD                                                                   \
  "return { name = 'x', phase = 'deployment', summary = 's', run = "           \
  "function(ctx) ctx:progress('begin') ctx:sleep('0s')\n"
#define TAIL "\nend }"

/* `must` stands in the event whenever the check's own code came to its end:
 * what makes it a fail, a skip, an error. `how` is the ending with memory. */
static const struct check {
  const char *body;
  const char *how;
  const char *must;
} checks[] = {
    /* What is false stays false, whatever catches the error of memory. */
    {"ctx:expect('a', 1, '==', 2) return 'fine'", "returned",
     "\"kind\":\"expectation\""},
    {"pcall(ctx.expect, ctx, 'a', 1, '==', 2) return 'fine'", "returned",
     "\"kind\":\"expectation\""},
    {"pcall(ctx.expect, ctx, 'a', {1, 'x'}, 'same_set', {2, 3}) return 'fine'",
     "returned", "\"kind\":\"expectation\""},
    {"pcall(ctx.must, ctx, 'a', 'b', 'matches', '^c') return 'fine'",
     "returned", "\"kind\":\"expectation\""},
    {"pcall(ctx.measure, ctx, 'bw', 10, 'GB/s', {op = '>=', value = 20})"
     " return 'fine'",
     "returned", "\"kind\":\"expectation\""},
    {"pcall(ctx.fail, ctx, {reason = 'r', message = 'm'}) return 'fine'",
     "returned", "\"kind\":\"fail\""},
    {"pcall(function() ctx:fail {reason = 'r', message = 'm',"
     " details = {a = {1, 2}}} end) return 'fine'",
     "returned", "\"kind\":\"fail\""},
    {"ctx:fail {reason = 'r', message = 'm', why = 'w', fix = 'f'}", "ended",
     "\"kind\":\"fail\""},
    {"pcall(ctx.skip, ctx, {reason = 'r', message = 'm'}) return 'fine'",
     "returned", "\"kind\":\"skip\""},
    {"pcall(ctx.eventually, ctx, 'e', {timeout = '1s', every = '1s'},"
     " function() return false, 'seen' end) return 'fine'",
     "returned", "\"kind\":\"fail\""},
    {"local ok = true for i = 1, 9 do local called, held = pcall(ctx.expect,"
     " ctx, 'a' .. i, i, '~=', 3) ok = ok and (not called or held) end"
     " return 'fine'",
     "returned", "\"kind\":\"expectation\""},
    {"pcall(ctx.fail, ctx, {reason = 'first', message = 'm'})"
     " for i = 1, 9 do pcall(ctx.expect, ctx, 'b', i, '<', 0) end"
     " return 'fine'",
     "returned", "\"reason\":\"first\""},
    {"pcall(ctx.coverage, ctx, {verified = 1, total = 2}) return 'fine'",
     "returned", "\"coverage\":{\"total\":2,\"verified\":1}"},
    {"pcall(ctx.extra, ctx, {nodes = 2}) return 'fine'", "returned",
     "\"nodes\":2"},
    {"pcall(ctx.all, ctx, {a = function() ctx:sleep('1ms') end,"
     " b = function() ctx:fail {reason = 'r', message = 'm'} end,"
     " c = function() ctx:sleep('1h') end}) return 'fine'",
     "returned", "\"kind\":\"fail\""},
    {"local all = {} for i = 1, 9 do all[i] = function()"
     " pcall(ctx.expect, ctx, 'i', i, '~=', 5) end end"
     " pcall(ctx.all, ctx, all) return 'fine'",
     "returned", "\"kind\":\"expectation\""},
    {"pcall(ctx.step, ctx, 's', function() ctx:must('m', 1, '>', 2) end)"
     " return 'fine'",
     "returned", "\"kind\":\"expectation\""},
    {"local seen = pcall(ctx.k8s.get, ctx.k8s, 'nodes', 'lyra-gpu-a')"
     " pcall(ctx.expect, ctx, 'none', seen, '==', false) return 'fine'",
     "returned", "\"kind\":\"expectation\""},

    /* Clean-up that failed is told. */
    {"ctx:defer(function() error('left behind') end) return 'fine'", "returned",
     "\"cleanup\":{\"message\":\"x.lua:2: left behind\",\"ok\":false}"},
    {"ctx:defer(function() ctx:fail {reason = 'r', message = 'late'} end)"
     " return 'fine'",
     "returned", "\"message\":\"late\""},
    {"ctx:defer(function() pcall(ctx.extra, ctx, {tidied = true}) end)"
     " ctx:defer(function() ctx:sleep('1ms') end) return 'fine'",
     "returned", "\"tidied\":true"},

    /* What is true is not false for lack of memory. */
    {"ctx:expect('a', {1, {2}}, '==', {1, {2}}) ctx:must('b', 2, '>', 1)"
     " ctx:measure('bw', 30, 'GB/s', {op = '>=', value = 20})"
     " ctx:series('s', 'x', 'y', {{1, 2}}) ctx:evidence('%d of %s', 1, 'x')"
     " ctx:attach('log', 'text/plain', 'bytes') print('a', {}, 1)"
     " return 'two of two'",
     "returned", "\"result\":\"two of two\""},
    {"local n = ctx.k8s:get('nodes', 'lyra-gpu-a') local z ="
     " ctx.k8s:find('nodes', 'none') ctx:expect('none', z, '==', nil)"
     " return n.metadata.name",
     "returned", "\"result\":\"lyra-gpu-a\""},
    {"local list = ctx.k8s:list('networks.networking.gke.io') local n = 0"
     " for node in ctx.k8s:each('nodes') do n = n + 1 end"
     " ctx:expect('nodes', n, '==', 3) ctx:expect('networks', #list, '==', 9)"
     " return ctx.k8s:server_version()",
     "returned", "\"result\":\"v1.32.6-gke.1013000\""},
    {"local r = ctx:all {a = function() return #ctx.k8s:list('nodes') end,"
     " b = function() ctx:sleep('1ms') return 2 end}"
     " ctx:expect('a', r, '==', {a = 3, b = 2})",
     "returned", "\"ok\":true"},
    {"local v, err = ctx:try(ctx.k8s.get, ctx.k8s, 'nodes', 'none')"
     " ctx:expect('reason', err.reason, '==', 'not-found') return err.code",
     "returned", "\"result\":\"NOT_FOUND\""},
    {"ctx:eventually('e', {timeout = '1s'}, function() return true end)"
     " return tostring(ctx:now()) .. require('aicr.time').format(0)",
     "returned", "1970-01-01"},
    {"local gke = require 'aicr.gke' return type(gke)", "returned",
     "\"result\":\"table\""},

    /* Errors stay what they are. */
    {"ctx.k8s:get('nodes', 'none')", "error", "\"reason\":\"not-found\""},
    {"ctx.k8s:list('pods')", "error", "does not declare"},
    {"ctx.k8s:delete('nodes', 'a')", "error", "does not declare"},
    {"ctx.k8s:get_raw('/version')", "error", "does not declare"},
    {"error('plain')", "script", "plain"},
    {"error(setmetatable({}, {__tostring = function() return 'odd' end}))",
     "script", "an error object of type table"},
    {"coroutine.yield()", "script", "yielded by itself"},
    {"ctx:expect(1, 1, '<', 2)", "script", "must be a string"},
    {"return 1", "returned", "\"result_type\":\"number\""},
};

static struct aicr_host host;

static bool has(const char *text)
{
  return host.event.data && strstr(host.event.data, text) != NULL;
}

static bool how_is(const char *how)
{
  char text[64];

  snprintf(text, sizeof(text), "\"how\":\"%s\"}", how);
  return has(text);
}

/* The next event of the kind; anything else is passed over. */
static void wait_for(const char *kind)
{
  char text[64];

  snprintf(text, sizeof(text), "\"kind\":\"%s\"", kind);
  for (int i = 0; i < 200; i++) {
    aicr_host_next(&host, 1000);
    if (has(text))
      return;
    if (has("\"kind\":\"done\""))
      break;
  }
  fail_msg("no %s event: %.300s", kind,
           host.event.data ? host.event.data : "none");
}

static bool start(const char *source, struct aicr_error *err)
{
  static const char *const needs[] = {"get nodes", "list nodes",
                                      "list networks.networking.gke.io"};
  const struct aicr_task_spec spec = {
      .id = 7,
      .path = "x.lua",
      .source = source,
      .source_len = strlen(source),
      .needs = needs,
      .need_count = COUNT(needs),
      .context = "{\"context\":{\"seed\":1}}",
      .context_len = 22,
  };

  return aicr_host_start(&host, &spec, err);
}

static void expect_sane(const struct check *check)
{
  bool full = how_is(check->how) && has(check->must);

  assert_true(has("\"id\":7"));
  if (strcmp(check->how, "ended") != 0 && !strstr(check->must, "\"kind\":") &&
      !strstr(check->must, "late") && !strstr(check->must, "first")) {
    /* No verdict comes from a lack of memory. */
    assert_false(has("\"kind\":\"fail\""));
    assert_false(has("\"kind\":\"expectation\""));
    assert_false(has("\"ok\":false") && !has("\"cleanup\":"));
    assert_false(has("\"verdict\":true") && strcmp(check->how, "error") != 0);
  }
  if (full || (inject_hit() && how_is("memory")))
    return;
  if (inject_hit() && strstr(check->body, "ctx:defer") && has("\"cleanup\":") &&
      has("\"ok\":false"))
    return;
  if (inject_hit() && how_is("script") && has("memory"))
    return;
  if (inject_hit() && how_is("error") && has("\"reason\":\"memory\""))
    return;
  fail_msg("%s, allocation %zu of mode %d: %s", check->body, inject.fail_at,
           (int)inject.mode, host.event.data);
}

/* The check runs undisturbed up to its first line. */
static void run_body(void *arg, enum inject_mode mode, size_t n)
{
  const struct check *check = arg;
  char source[2048];
  struct aicr_error err;

  snprintf(source, sizeof(source), "%s%s%s", HEAD, check->body, TAIL);
  assert_true(start(source, &err));
  wait_for("progress");
  inject_begin(mode, n);
  wait_for("done");
  inject_end();
  expect_sane(check);
  assert_null(host.tasks);
  assert_int_equal(kube_client_pending(host.client), 0);
}

/* From the first allocation of the task on. */
static void run_whole(void *arg, enum inject_mode mode, size_t n)
{
  const struct check *check = arg;
  char source[2048];
  struct aicr_error err;
  bool ok;

  snprintf(source, sizeof(source), "%s%s%s", HEAD, check->body, TAIL);
  inject_begin(mode, n);
  ok = start(source, &err);
  if (ok)
    wait_for("done");
  inject_end();
  if (!ok) {
    assert_true(inject_hit());
    assert_string_equal(err.reason, "memory");
  } else
    expect_sane(check);
  assert_null(host.tasks);
  assert_int_equal(kube_client_pending(host.client), 0);
}

static int open_cluster(void **state)
{
  struct aicr_buf warnings;
  struct aicr_error err;
  bool ok;

  (void)state;
  aicr_realloc = inject_realloc;
  aicr_buf_init(&warnings, 4096);
  ok = aicr_host_open_recording(&host, RECORDING, &warnings, &err);
  aicr_buf_free(&warnings);
  return ok ? 0 : -1;
}

static void warm_up(const struct check *check)
{
  /* Buffers of the host and caches of the client stay from here on. */
  run_body((void *)(uintptr_t)check, INJECT_LUA_ONCE, 0);
}

static void test_body(void **state)
{
  warm_up(*state);
  inject_loop(run_body, *state, 1);
}

static void test_whole(void **state)
{
  warm_up(*state);
  inject_loop(run_whole, *state, 3);
}

static int close_cluster(void **state)
{
  (void)state;
  kube_client_close(host.client);
  aicr_buf_free(&host.event);
  printf("# %zu checks, %zu failed allocations\n", COUNT(checks),
         inject.refused);
  return inject.live == 0 ? 0 : -1;
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(checks); i++)
    add_row(&r, "without memory:", checks[i].body, test_body, &checks[i]);
  add_row(&r, "without memory:", "a whole check", test_whole, &checks[1]);
  return run_rows_with(&r, "host_task", open_cluster, close_cluster);
}
