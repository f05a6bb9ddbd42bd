/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"

/* Many requests at once, requests that are given up, answers that are too
 * much. */

#define ALWAYS .times = WIRE_ALWAYS
#define GET    "get nodes name=n"
#define OBJECT "object " NODE_N
#define CREATE "create pods ns=a"

static const struct kube_call_spec get = {
    .verb = KUBE_GET, .resource = "nodes", .name = "n"};
static const struct wire_answer held[] = {
    {.body = NODE_N, .how = WIRE_HOLD, ALWAYS}, {0}};

/* Until so many requests are with the server; nothing is answered yet. */
static void poll_until(struct kube_client *c, struct wire_server *s,
                       unsigned requests)
{
  void *owner = NULL;
  int64_t end = aicr_monotonic_ms() + PATIENCE_MS;
  while (wire_seen(s).requests < requests) {
    assert_true(aicr_monotonic_ms() < end);
    assert_null(kube_client_poll(c, 5, &owner));
    assert_true(live_of(c)->in_flight <= LIVE_FLIGHT_MAX);
  }
}

static void poll_all(struct kube_client *c, size_t count)
{
  for (size_t i = 0; i < count;) {
    const char *text = NULL;
    size_t len = 0;
    void *owner = NULL;
    struct kube_call *call = kube_client_poll(c, 1000, &owner);
    assert_true(live_of(c)->in_flight <= LIVE_FLIGHT_MAX);
    if (call != NULL) {
      assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_OBJECT);
      kube_call_close(call);
      i++;
    }
  }
}

/* Eight in flight at most, over four connections. */
static void test_many(void **state)
{
  enum { CALLS = 30 };
  (void)state;
  struct wire_server *s = wire_start(held, NULL);
  struct kube_client *c = client_at(wire_url(s));
  for (int i = 0; i < CALLS; i++) {
    assert_non_null(kube_client_start(c, &get, NULL));
  }
  poll_until(c, s, 4);
  assert_int_equal(live_of(c)->in_flight, LIVE_FLIGHT_MAX);
  assert_int_equal(kube_client_pending(c), CALLS);
  wire_release(s);
  poll_all(c, CALLS);
  struct wire_seen seen = wire_seen(s);
  assert_int_equal(seen.requests, CALLS);
  assert_int_equal(seen.connections, 4);
  assert_int_equal(seen.most, 4);
  assert_int_equal(live_of(c)->in_flight, 0);
  kube_client_close(c);
  wire_stop(s);
}

/* Streams that never end leave room for all else, over HTTP/1.1 as well, where
 * each has a connection of its own. */
static void test_streams(void **state)
{
  enum { STREAMS = 12 };
  static const struct wire_answer rows[] = {
      {.match = "watch=true",
       .body = "{\"type\":\"ADDED\",\"object\":" POD_P "}\n",
       .how = WIRE_ENDLESS | WIRE_STALL,
       ALWAYS},
      {.body = NODE_N, ALWAYS},
      {0}};
  static const struct kube_call_spec watch = {.verb = KUBE_WATCH,
                                              .resource = "pods",
                                              .query = "watch=true",
                                              .stream = true};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  const char *text = NULL;
  size_t len = 0;
  for (int i = 0; i < STREAMS; i++) {
    struct kube_call *call = kube_client_start(c, &watch, NULL);
    assert_int_equal(next_news(call, &text, &len), KUBE_CALL_ITEM);
    assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_WAIT);
  }
  struct kube_call *call = kube_client_start(c, &get, NULL);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_OBJECT);
  kube_client_close(c);
  wire_stop(s);
}

/* Who is given up makes room, wherever it was. */
static void test_cancel(void **state)
{
  enum { CALLS = 12 };
  struct kube_call *calls[CALLS];
  (void)state;
  struct wire_server *s = wire_start(held, NULL);
  struct kube_client *c = client_at(wire_url(s));
  for (int i = 0; i < CALLS; i++) {
    calls[i] = kube_client_start(c, &get, NULL);
  }
  poll_until(c, s, 4);
  for (int i = 0; i < CALLS; i += 2) {
    kube_call_close(calls[i]);
  }
  assert_int_equal(kube_client_pending(c), CALLS / 2);
  wire_release(s);
  poll_all(c, CALLS / 2);
  assert_int_equal(live_of(c)->in_flight, 0);
  kube_client_close(c);
  wire_stop(s);
}

/* W41: given up in the middle of a body, the connection goes. */
static void test_cancel_body(void **state)
{
  static const struct wire_answer rows[] = {
      {.body = PAGE(NODE("a"), ""), .cut = 120, .how = WIRE_STALL},
      {.body = NODE_N},
      {0}};
  static const struct kube_call_spec list = {.verb = KUBE_LIST,
                                             .resource = "nodes"};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  struct kube_call *call = kube_client_start(c, &list, NULL);
  poll_until(c, s, 1);
  kube_call_close(call);
  assert_true(wire_await_gone(s));
  assert_answer(c, GET, OBJECT);
  kube_client_close(c);
  wire_stop(s);
}

/* The client ends with requests in flight, waiting for room, and asleep. */
static void test_close(void **state)
{
  static const struct wire_answer rows[] = {{.http = 503, ALWAYS}, {0}};
  (void)state;
  struct wire_server *s = wire_start(held, NULL);
  struct kube_client *c = client_at(wire_url(s));
  for (int i = 0; i < 12; i++) {
    kube_client_start(c, &get, NULL);
  }
  poll_until(c, s, 4);
  kube_client_close(c);
  wire_release(s);
  assert_true(wire_await_gone(s));
  wire_rows(s, rows);
  c = client_at(wire_url(s));
  live_of(c)->backoff_ms = 1 << 30;
  struct kube_call *call = kube_client_start(c, &get, NULL);
  kube_client_start(c, &get, NULL);
  poll_until(c, s, 2);
  void *owner = NULL;
  int64_t end = aicr_monotonic_ms() + PATIENCE_MS;
  while (live_of(c)->in_flight > 0) {
    assert_true(aicr_monotonic_ms() < end);
    assert_null(kube_client_poll(c, 5, &owner));
  }
  kube_call_close(call);
  assert_int_equal(kube_client_pending(c), 1);
  kube_client_close(c);
  wire_stop(s);
}

/* Input at the descriptor ends a poll that would wait for an hour. */
static void test_wake(void **state)
{
  int ends[2];
  void *owner = NULL;
  (void)state;
  assert_int_equal(pipe(ends), 0);
  struct wire_server *s = wire_start(held, NULL);
  struct kube_client *c = client_at(wire_url(s));
  kube_client_backend(c)->wake = ends[0];
  kube_client_start(c, &get, NULL);
  poll_until(c, s, 1);
  assert_int_equal(write(ends[1], "x", 1), 1);
  assert_null(kube_client_poll(c, 3600000, &owner));
  kube_client_close(c);
  wire_stop(s);
  close(ends[0]);
  close(ends[1]);
}

/* libcurl sees the deadline up to a millisecond before we do. */
static void test_deadline(void **state)
{
  static const struct wire_answer rows[] = {
      {.http = 429, .type = "text/plain", .body = "Too many requests"},
      {.how = WIRE_SILENT, ALWAYS},
      {0}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  const struct kube_call_spec spec = {.verb = KUBE_CREATE,
                                      .resource = "pods",
                                      .ns = "a",
                                      .body = "{}",
                                      .body_len = 2,
                                      .content_type = J,
                                      .deadline_ms =
                                          aicr_monotonic_ms() + 1000};
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  void *owner = NULL;
  while (kube_client_poll(c, 0, &owner) == NULL) {
  }
  const char *text = NULL;
  size_t len = 0;
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_FAILED);
  assert_string_equal(kube_call_error(call)->reason, "deadline");
  assert_non_null(strstr(kube_call_error(call)->message,
                         "; the attempt before was answered HTTP 429"));
  kube_call_close(call);
  kube_client_close(c);
  wire_stop(s);
}

/* A write is sent once over a connection that had been idle: whether a server
 * that dies without a word carried it out is not known. */
static void test_writes_once(void **state)
{
  static const char *const writes[] = {
      CREATE, "delete pods ns=a name=p", "patch pods ns=a name=p",
      "update pods ns=a name=p", "apply pods ns=a name=p"};
  static const struct wire_answer rows[] = {
      {.match = "GET", .body = NODE_N, ALWAYS},
      {.how = WIRE_NOTHING, ALWAYS},
      {0}};
  (void)state;
  for (size_t i = 0; i < COUNT(writes); i++) {
    struct wire_server *s = wire_start(rows, NULL);
    struct kube_client *c = client_at(wire_url(s));
    assert_answer(c, GET, OBJECT);
    assert_begins(c, writes[i], "SERVICE_UNAVAILABLE/connection-lost ");
    assert_int_equal(wire_seen(s).requests, 2);
    kube_client_close(c);
    wire_stop(s);
  }
}

/* … while a connection that was closed while idle is no failure. */
static void test_idle_close(void **state)
{
  static const struct wire_answer rows[] = {
      {.match = "GET", .body = NODE_N, .how = WIRE_LAST, ALWAYS},
      {.body = POD_P, .how = WIRE_LAST, ALWAYS},
      {0}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  for (int i = 0; i < 5; i++) {
    assert_answer(c, GET, OBJECT);
    assert_true(wire_await_gone(s));
    assert_answer(c, CREATE, "object " POD_P);
    assert_true(wire_await_gone(s));
  }
  assert_int_equal(wire_seen(s).requests, 10);
  kube_client_close(c);
  wire_stop(s);
}

static void test_reset(void **state)
{
  static const struct wire_answer rows[] = {
      {.how = WIRE_RESET | WIRE_NOTHING},
      {.body = PAGE(NODE("a"), ""), .cut = 150, .how = WIRE_RESET},
      {.body = PAGE(NODE("a"), "")},
      {.how = WIRE_RESET | WIRE_NOTHING, ALWAYS},
      {0}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "list nodes", "a end");
  assert_int_equal(wire_seen(s).requests, 3);
  assert_begins(c, CREATE, "SERVICE_UNAVAILABLE/connection-lost ");
  assert_int_equal(wire_seen(s).requests, 4);
  kube_client_close(c);
  wire_stop(s);
}

/* The most that the client's own memory held at once. */
static size_t largest;

static void *(*before)(void *ptr, size_t size);

static void *measure(void *ptr, size_t size)
{
  largest = size > largest ? size : largest;
  return before(ptr, size);
}

static void begin_measure(void)
{
  before = aicr_realloc == measure ? before : aicr_realloc;
  largest = 0;
  aicr_realloc = measure;
}

static void end_measure(void)
{
  aicr_realloc = before;
}

/* W28: what would be a gigabyte is refused at once, also as an error. */
static void test_bomb(void **state)
{
  static const struct {
    struct wire_answer answer;
    const char *question;
  } rows[] = {
      {{.body = "{\"a\":1", .how = WIRE_BOMB}, GET},
      {{.body = "{\"items\":[", .how = WIRE_BOMB}, "list nodes"},
      {{.type = TEXT, .how = WIRE_BOMB}, "get pods ns=a name=p sub=log"},
      {{.body = STATUS "\"message\":\"", .http = 404, .how = WIRE_BOMB}, GET},
      {{.body = STATUS "\"message\":\"", .http = 422, .how = WIRE_BOMB},
       CREATE},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct wire_answer answers[] = {rows[i].answer, {0}};
    struct wire_server *s = wire_start(answers, NULL);
    struct kube_client *c = client_at(wire_url(s));
    begin_measure();
    assert_answer(c, rows[i].question, "INTERNAL/bad-encoding cut");
    end_measure();
    assert_true(largest < (size_t)16 << 20);
    assert_int_equal(wire_seen(s).requests, 1);
    kube_client_close(c);
    wire_stop(s);
  }
}

static char *spaces(size_t len, const char *begin, const char *end)
{
  char *text = aicr_calloc(1, len + 1);
  assert_non_null(text);
  int n =
      snprintf(text, len + 1, "%s%*s", begin, (int)(len - strlen(begin)), end);
  assert_int_equal(n, len);
  return text;
}

static void test_too_large(void **state)
{
  static const unsigned ways[] = {WIRE_SIZED, WIRE_ENDLESS};
  (void)state;
  char *body = spaces(((size_t)16 << 20) + 1, "{", "}");
  for (size_t i = 0; i < COUNT(ways); i++) {
    const struct wire_answer rows[] = {{.body = body, .how = ways[i], ALWAYS},
                                       {0}};
    struct wire_server *s = wire_start(rows, NULL);
    struct kube_client *c = client_at(wire_url(s));
    assert_answer(c, GET, "INTERNAL/response-too-large cut");
    assert_int_equal(wire_seen(s).requests, 1);
    kube_client_close(c);
    wire_stop(s);
  }
  aicr_free(body);
}

/* Of a large error only its code is told, nothing that part of its body would
 * say. */
static void test_large_error(void **state)
{
  static const char begin[] = STATUS "\"reason\":\"NotFound\",\"details\":{";
  static const struct {
    int http;
    const char *type, *result;
  } rows[] = {
      {404, J, "INTERNAL/unexpected-response 404 served"},
      {404, TEXT, "INTERNAL/scope-mismatch 404 served"},
      {422, J, "INVALID_REQUEST/invalid 422"},
      {500, J, "INTERNAL/server-error 500"},
  };
  (void)state;
  char *body = spaces((size_t)3 << 20, begin, "\"name\":\"n\"}}");
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct wire_answer answers[] = {
        {.match = "/nodes/n",
         .http = rows[i].http,
         .type = rows[i].type,
         .body = body,
         ALWAYS},
        {.body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\","
                 "\"resources\":[{\"name\":\"nodes\",\"kind\":\"Node\"}]}"},
        {0}};
    struct wire_server *s = wire_start(answers, NULL);
    struct kube_client *c = client_at(wire_url(s));
    begin_measure();
    assert_answer(c, GET, rows[i].result);
    end_measure();
    assert_true(largest < (size_t)1 << 20);
    kube_client_close(c);
    wire_stop(s);
  }
  aicr_free(body);
}

/* What is missing is asked for once for all that began before that, and again
 * for who came later. */
static void test_shared_miss(void **state)
{
  enum { CALLS = 6 };
  static const struct wire_answer rows[] = {
      {.match = "GET /api",
       .body = "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[]}",
       .how = WIRE_HOLD,
       ALWAYS},
      {0}};
  static const struct kube_call_spec gadgets = {.verb = KUBE_LIST,
                                                .resource = "gadgets.acme.com"};
  void *owner = NULL;
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  for (int i = 0; i < CALLS / 2; i++) {
    kube_client_start(c, &gadgets, NULL);
  }
  while (wire_seen(s).requests < 2) {
    assert_null(kube_client_poll(c, 10, &owner));
  }
  for (int i = 0; i < CALLS / 2; i++) {
    kube_client_start(c, &gadgets, NULL);
  }
  wire_release(s);
  for (int i = 0; i < CALLS;) {
    struct kube_call *news = kube_client_poll(c, 1000, &owner);
    if (news != NULL) {
      assert_string_equal(kube_call_error(news)->reason, "api-not-served");
      kube_call_close(news);
      i++;
    }
  }
  assert_string_equal(requests_of(s), "discovery\ndiscovery\n");
  kube_client_close(c);
  wire_stop(s);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many),        cmocka_unit_test(test_shared_miss),
      cmocka_unit_test(test_streams),     cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_cancel_body), cmocka_unit_test(test_close),
      cmocka_unit_test(test_wake),        cmocka_unit_test(test_writes_once),
      cmocka_unit_test(test_idle_close),  cmocka_unit_test(test_reset),
      cmocka_unit_test(test_bomb),        cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_large_error), cmocka_unit_test(test_deadline),
  };
  return cmocka_run_group_tests_name("live flight", tests, ignore_pipe, NULL);
}
