/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's timers, on a clock that only waiting moves: what wakes is run at
 * once, not when the loop happens to look again. */
#include <poll.h>
#include <time.h>

#include "host/host.h"
#include "rows.h"

/* Milliseconds. Both functions stand before those of libc. */
static int64_t now_ms = 1000000;
static int waits;

int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
  (void)clock_id;
  tp->tv_sec = (time_t)(now_ms / 1000);
  tp->tv_nsec = (long)(now_ms % 1000) * 1000000;
  return 0;
}

int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
  (void)fds;
  (void)nfds;
  assert_true(timeout > 0);
  assert_true(++waits < 100);
  now_ms += timeout;
  return 0;
}

/* Each check, with the milliseconds after which it ends and how. */
static const struct row {
  const char *body;
  int64_t deadline_ms;
  int64_t took_ms;
  const char *says;
} rows[] = {
    {"return 'at once'", 0, 0, "\"result\":\"at once\""},
    {"ctx:sleep('100ms') return 'woken'", 0, 100, "\"result\":\"woken\""},
    {"ctx:sleep('1s') return 'woken'", 0, 1000, "\"result\":\"woken\""},
    {"ctx:sleep('2500ms') return 'woken'", 0, 2500, "\"result\":\"woken\""},
    {"for _ = 1, 5 do ctx:sleep('7ms') end return 'woken'", 0, 35,
     "\"result\":\"woken\""},
    {"ctx:all {a = function() ctx:sleep('30ms') end,"
     " b = function() ctx:sleep('20ms') ctx:sleep('25ms') end} return 'both'",
     0, 45, "\"result\":\"both\""},
    {"ctx:eventually('e', {timeout = '1s', every = '300ms'},"
     " function() return false end)",
     0, 1000, "\"reason\":\"never-true\""},
    {"ctx:sleep('1h')", 50, 50, "\"how\":\"deadline\""},
    {"ctx:defer(function() ctx:sleep('40ms') end) ctx:sleep('1h')", 50, 90,
     "\"how\":\"deadline\""},
};

static void begin(struct aicr_host *host, int64_t id, const char *body,
                  int64_t deadline_ms)
{
  char source[1024];
  struct aicr_error err;
  const struct aicr_task_spec spec = {
      .id = id,
      .path = "x.lua",
      .source = source,
      .source_len = (size_t)snprintf(
          source, sizeof(source),
          "return { name = 'x', phase = 'deployment', summary = 's', "
          "run = function(ctx) %s end }",
          body),
      .deadline_ms = deadline_ms,
      .context = "{}",
      .context_len = 2,
  };

  assert_true(aicr_host_start(host, &spec, &err));
}

/* The next done event: progress is passed over, an hour is enough for all. */
static void wait_for_end(struct aicr_host *host)
{
  do
    aicr_host_next(host, 3600000);
  while (strstr(host->event.data, "\"kind\":\"progress\""));
  assert_non_null(strstr(host->event.data, "\"kind\":\"done\""));
}

static void test_row(void **state)
{
  const struct row *row = *state;
  struct aicr_host host = {0};
  int64_t start = now_ms;

  waits = 0;
  begin(&host, 1, row->body, row->deadline_ms);
  wait_for_end(&host);
  if (!strstr(host.event.data, row->says))
    fail_msg("%s: %s", row->body, host.event.data);
  assert_int_equal(now_ms - start, row->took_ms);
  aicr_buf_free(&host.event);
}

/* Checks beside each other: each ends at its own time. */
static void test_beside(void **state)
{
  static const struct {
    int64_t id, after_ms;
  } order[] = {{3, 10}, {1, 100}, {2, 100}, {4, 250}};
  struct aicr_host host = {0};
  int64_t start = now_ms;
  char id[32];

  (void)state;
  waits = 0;
  begin(&host, 1, "ctx:sleep('100ms') return 'a'", 0);
  begin(&host, 2, "ctx:sleep('1h') return 'b'", 100);
  begin(&host, 3, "ctx:sleep('10ms') return 'c'", 0);
  begin(&host, 4, "ctx:sleep('250ms') return 'd'", 0);
  for (size_t i = 0; i < COUNT(order); i++) {
    wait_for_end(&host);
    snprintf(id, sizeof(id), "{\"id\":%lld,", (long long)order[i].id);
    assert_non_null(strstr(host.event.data, id));
    assert_int_equal(now_ms - start, order[i].after_ms);
  }
  assert_null(host.tasks);
  aicr_buf_free(&host.event);
}

/* With nothing to tell, the loop comes back when it was asked to. */
static void test_tick(void **state)
{
  struct aicr_host host = {0};
  int64_t start = now_ms;

  (void)state;
  waits = 0;
  begin(&host, 1, "ctx:sleep('400ms') return 'a'", 0);
  aicr_host_next(&host, 150);
  assert_string_equal(host.event.data, "{\"kind\":\"tick\"}");
  assert_int_equal(now_ms - start, 150);
  wait_for_end(&host);
  assert_int_equal(now_ms - start, 400);
  aicr_buf_free(&host.event);
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(rows); i++)
    add_row(&r, "a check that runs", rows[i].body, test_row, &rows[i]);
  add_row(&r, "checks", "beside each other", test_beside, &rows[0]);
  add_row(&r, "the loop", "ticks", test_tick, &rows[0]);
  return run_rows(&r, "host_loop");
}
