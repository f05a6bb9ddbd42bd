/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that do not give way, and clean-up that does not end, with limits made
 * small: each ends alone and says why, and its neighbour passes. */
#include "host/host.h"
#include "host/watchdog.h"
#include "rows.h"

#define HEAD                                                                   \
  "return { name = 'x', phase = 'deployment', summary = 's', run = "           \
  "function(ctx)\n"
#define TAIL     "\nend }"
#define RESUME   400
#define CLEANUP  300
#define TOO_LONG "it kept the only thread for"
#define ENDLESS  "while true do local s = ('x'):rep(1000000) end"
/* One call that would allocate for ever: no instruction comes after it. */
#define ONE_CALL                                                               \
  "table.move(setmetatable({}, {__index = table.pack}), 1, 1 << 60, 1,"        \
  " setmetatable({}, {__newindex = rawequal}))"

static const struct row {
  const char *body;
  const char *how;
  const char *must; /* stands in the event */
} rows[] = {
    {ENDLESS " return 'fine'", "budget", TOO_LONG},
    {ENDLESS " return 'fine'", "budget",
     "at most 0.4s: no other check can go on meanwhile; do less at once, or "
     "call ctx:sleep(\\\"1ms\\\") between the parts"},
    {ENDLESS " return 'fine'", "budget",
     "\"at\":{\"file\":\"x.lua\",\"line\":2}"},
    {"while true do pcall(function() " ENDLESS " end) end", "budget", TOO_LONG},
    {"coroutine.wrap(function() " ENDLESS " end)() return 'fine'", "budget",
     TOO_LONG},
    {"local co = coroutine.create(function() coroutine.yield() " ENDLESS
     " end) coroutine.resume(co) coroutine.resume(co) return 'fine'",
     "budget", TOO_LONG},
    {"local co = coroutine.create(function() local x <close> = setmetatable({},"
     " {__close = function() " ENDLESS " end}) coroutine.yield() end)"
     " coroutine.resume(co) coroutine.close(co) return 'fine'",
     "budget", TOO_LONG},
    {"pcall(ctx.all, ctx, {a = function() " ENDLESS " end}) return 'fine'",
     "budget", TOO_LONG},
    {"local x <close> = setmetatable({}, {__close = function() " ENDLESS
     " end}) return 'fine'",
     "budget", TOO_LONG},
    {"local t = {} for i = 1, 99 do t[i] = ('x'):rep(9999) end"
     " while true do table.concat(t) end",
     "budget", TOO_LONG},
    {ONE_CALL " return 'fine'", "budget", TOO_LONG},
    {"pcall(function() " ONE_CALL " end) return 'fine'", "budget", TOO_LONG},
    {"pcall(ctx.all, ctx, {a = function() " ONE_CALL " end}) return 'fine'",
     "budget", TOO_LONG},

    /* What was decided before stands. */
    {"ctx:expect('a', 1, '==', 2) " ENDLESS, "budget",
     "\"kind\":\"expectation\""},

    /* Only what lasts at once counts. */
    {"for i = 1, 600 do ctx:sleep('1ms') end return 'fine'", "returned",
     "\"result\":\"fine\""},

    {"ctx:defer(function() " ENDLESS " end) return 'fine'", "returned",
     "\"cleanup\":{\"ok\":false,\"message\":\"clean-up did not end within "},
    {"ctx:defer(function() ctx:sleep('1h') end) return 'fine'", "returned",
     "\"cleanup\":{\"ok\":false,\"message\":\"clean-up did not end within "
     "0.3s\"}"},
    {"ctx:defer(function() pcall(ctx.sleep, ctx, '1h') ctx:sleep('1h') end)"
     " return 'fine'",
     "returned", "\"message\":\"clean-up did not end within 0.3s\""},
    {"ctx:defer(function() while true do pcall(ctx.sleep, ctx, '1h') end end)"
     " ctx:fail {reason = 'r', message = 'm'}",
     "ended", "\"message\":\"clean-up did not end within 0.3s\""},
    {"for i = 1, 9 do ctx:defer(function() ctx:sleep('200ms') end) end"
     " return 'fine'",
     "returned", "\"message\":\"clean-up did not end within 0.3s\""},
    {"ctx:defer(function() ctx:sleep('1ms') end) " ENDLESS, "budget",
     "\"record\":{"},
};

static struct aicr_host host = {.resume_max_ms = RESUME, .cleanup_ms = CLEANUP};

static void start(int64_t id, const char *source)
{
  const struct aicr_task_spec spec = {.id = id,
                                      .path = "x.lua",
                                      .source = source,
                                      .source_len = strlen(source),
                                      .context = "{}",
                                      .context_len = 2};
  struct aicr_error err;

  assert_true(aicr_host_start(&host, &spec, &err));
}

static bool has(const char *text)
{
  return host.event.data && strstr(host.event.data, text) != NULL;
}

static void expect(const char *text)
{
  if (!has(text))
    fail_msg("no %s in %s", text, host.event.data);
}

static void next_done(void)
{
  do
    aicr_host_next(&host, 60000);
  while (has("\"kind\":\"progress\""));
  expect("\"kind\":\"done\"");
}

static void test_row(void **state)
{
  const struct row *row = *state;
  char source[2048], how[64];
  bool seen[3] = {false};

  snprintf(source, sizeof(source), "%s%s%s", HEAD, row->body, TAIL);
  snprintf(how, sizeof(how), "\"how\":\"%s\"", row->how);
  start(1, source);
  start(2, HEAD "ctx:sleep('1ms') return 'neighbour'" TAIL);
  for (int i = 0; i < 2; i++) {
    next_done();
    if (has("\"id\":1,")) {
      seen[1] = true;
      expect(how);
      expect(row->must);
    } else {
      seen[2] = true;
      expect("\"how\":\"returned\"");
      expect("\"result\":\"neighbour\"");
    }
  }
  assert_true(seen[1] && seen[2]);
  assert_null(host.tasks);
}

int main(void)
{
  struct rows r = {0};
  int failed;

  aicr_watchdog_open();
  for (size_t i = 0; i < COUNT(rows); i++)
    add_row(&r, "limit:", rows[i].body, test_row, &rows[i]);
  failed = run_rows(&r, "host_limit");
  aicr_buf_free(&host.event);
  return failed;
}
