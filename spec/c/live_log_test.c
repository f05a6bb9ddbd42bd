/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"

/* A log line by line: long ones, cut ones, and ones of which nobody takes more
 * for a while. */

#define LINE_SIZE 64u
#define LINES     (1u << 18) /* 16 MiB */
#define AHEAD_MAX (4u << 20)

static const struct kube_call_spec log_spec = {.verb = KUBE_GET,
                                               .resource = "pods",
                                               .ns = "n",
                                               .name = "p",
                                               .subresource = "log",
                                               .stream = true,
                                               .text = true};

static char *long_log(void)
{
  char *text = aicr_calloc(1, (size_t)LINES * LINE_SIZE + 1);
  assert_non_null(text);
  for (unsigned i = 0; i < LINES; i++) {
    snprintf(text + (size_t)i * LINE_SIZE, LINE_SIZE + 1, "%063u\n", i);
  }
  return text;
}

/* What waits of a call, here and at the backend. */
static size_t waiting(const struct kube_call *call)
{
  size_t here = call->lines.len - call->lines_taken;
  return here + (call->transfer == NULL ? 0 : call->transfer->answer.body.len);
}

/* Nobody reads on while others ask: the server waits, and nothing is lost. */
static void test_slow_reader(void **state)
{
  (void)state;
  char *body = long_log();
  const struct wire_answer rows[] = {
      {.match = "/log", .type = TEXT, .body = body},
      {.body = NODE_N, .times = WIRE_ALWAYS},
      {0}};
  const struct kube_call_spec get = {
      .verb = KUBE_GET, .resource = "nodes", .name = "n"};
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  struct kube_call *call = kube_client_start(c, &log_spec, NULL);
  const char *text = NULL;
  size_t len = 0;
  unsigned n = 0;
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_ITEM);
  for (int i = 0; i < 50; i++) {
    void *owner = NULL;
    struct kube_call *other = kube_client_start(c, &get, NULL);
    struct kube_call *news = NULL;
    while (news != other) {
      news = kube_client_poll(c, 100, &owner);
      assert_true(waiting(call) <= AHEAD_MAX);
    }
    kube_call_close(other);
  }
  enum kube_call_state got = KUBE_CALL_ITEM;
  for (; got == KUBE_CALL_ITEM; got = next_news(call, &text, &len)) {
    assert_int_equal(len, LINE_SIZE - 1);
    assert_int_equal(strtoul(text, NULL, 10), n++);
    assert_int_equal(kube_call_line_end(call), KUBE_LINE_ENDED);
    assert_true(waiting(call) <= AHEAD_MAX);
  }
  assert_int_equal(got, KUBE_CALL_END);
  assert_int_equal(n, LINES);
  kube_client_close(c);
  wire_stop(s);
  aicr_free(body);
}

/* "LEN END …", then what ended it. */
static void assert_lines(const struct wire_answer *rows, const char *wanted)
{
  static const char *const ends[] = {"line", "piece", "unended"};
  char seen[512] = "";
  size_t at = 0, len = 0;
  const char *text = NULL;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  struct kube_call_spec spec = log_spec;
  bool stalls = (rows[0].how & WIRE_STALL) != 0;
  spec.deadline_ms = stalls ? aicr_monotonic_ms() + 3000 : 0;
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  enum kube_call_state got = next_news(call, &text, &len);
  for (; got == KUBE_CALL_ITEM; got = next_news(call, &text, &len)) {
    at += (size_t)snprintf(seen + at, sizeof seen - at, "%zu %s ", len,
                           ends[kube_call_line_end(call)]);
  }
  snprintf(seen + at, sizeof seen - at, "%s",
           got == KUBE_CALL_END ? "end" : kube_call_error(call)->reason);
  assert_string_equal(seen, wanted);
  kube_client_close(c);
  wire_stop(s);
}

/* In pieces of one size, wherever what came was cut. */
static void test_long_lines(void **state)
{
  (void)state;
  size_t size = (5u << 19) + 1; /* two and a half MiB, and the newline */
  char *body = aicr_calloc(1, size + 16);
  assert_non_null(body);
  memset(body, 'x', size);
  snprintf(body + size, 16, "\ny\n");
  const struct wire_answer whole[] = {
      {.match = "/log", .type = TEXT, .body = body}, {0}};
  assert_lines(whole, "1048576 piece 1048576 piece 524289 line 1 line end");
  body[1u << 20] = '\n';
  assert_lines(whole, "1048576 line 1048576 piece 524288 line 1 line end");
  aicr_free(body);
}

static void test_ends(void **state)
{
  (void)state;
  static const struct wire_answer unended[] = {{.type = TEXT, .body = "a\nbc"},
                                               {0}};
  static const struct wire_answer empty[] = {
      {.type = TEXT, .body = "", .how = WIRE_CHUNKED}, {0}};
  static const struct wire_answer blank[] = {
      {.type = TEXT, .body = "\n\nab\n", .how = WIRE_CHUNKED}, {0}};
  static const struct wire_answer cut[] = {
      {.type = TEXT, .body = "a\nbc\nd", .how = WIRE_ENDLESS | WIRE_STALL},
      {0}};
  assert_lines(unended, "1 line 2 unended end");
  assert_lines(empty, "end");
  assert_lines(blank, "0 line 0 line 2 line end");
  assert_lines(cut, "1 line 2 line deadline");
}

/* It has a connection of its own, and nobody gets that after it. */
static void test_alone(void **state)
{
  static const struct wire_answer rows[] = {
      {.match = "/log", .type = TEXT, .body = "a\n", .times = WIRE_ALWAYS},
      {.body = NODE_N, .times = WIRE_ALWAYS},
      {0}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  const char *text = NULL;
  size_t len = 0;
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  struct kube_call *call = kube_client_start(c, &log_spec, NULL);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_ITEM);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_END);
  kube_call_close(call);
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  assert_int_equal(wire_seen(s).connections, 2);
  kube_client_close(c);
  wire_stop(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slow_reader),
      cmocka_unit_test(test_long_lines),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_alone),
  };
  return cmocka_run_group_tests(tests, ignore_pipe, NULL);
}
