/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/live_internal.h"

#include "rows.h"

#include "exec_exchange.h"
#include "torture.h"

/* A whole message: a head, the channel, a text shorter than 125 bytes. */
#define SUCCESS "\x82\x15\x03{\"status\":\"Success\"}"
#define EXIT_3                                                                 \
  "\x82\x6b\x03{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\","        \
  "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"3\"}]}}"
#define CLOSED   "\x88\x02\x03\xe8"
#define HI       "\x82\x03\x01hi"
#define OOPS     "\x82\x05\x02oops"
#define BYTES(t) t, sizeof(t) - 1
#define JSON(line, body)                                                       \
  "HTTP/1.1 " line "\r\nContent-Type: application/json\r\n\r\n" body
#define STATUS(reason)                                                         \
  "{\"kind\":\"Status\",\"reason\":\"" reason "\",\"details\":{\"name\":"      \
  "\"p\",\"kind\":\"pods\"}}"

struct row {
  const char *what;
  struct server_script script;
  const char *standard_input;
  const char *result; /* "http code stdout|stderr", or "CODE/reason" */
  const char *seen;   /* frames of the client, NULL: whatever */
  int64_t time_ms;    /* until the deadline, 0: none */
};

static const struct row table[] = {
    {"success",
     {NULL, BYTES(HI SUCCESS CLOSED), SERVER_CLOSE, 0},
     NULL,
     "101 0 hi|",
     NULL,
     0},
    {"a byte at a time",
     {NULL, BYTES(HI OOPS EXIT_3 CLOSED), SERVER_CLOSE, 1},
     NULL,
     "101 3 hi|oops",
     NULL,
     0},
    {"the close is answered",
     {NULL, BYTES(HI SUCCESS CLOSED), SERVER_KEEP, 0},
     NULL,
     "101 0 hi|",
     "8 ",
     0},
    {"a ping is answered",
     {NULL, BYTES("\x89\x01x" SUCCESS CLOSED), SERVER_KEEP, 0},
     NULL,
     "101 0 |",
     "10 8 ",
     0},
    {"W53 closed without a Status",
     {NULL, BYTES(HI CLOSED), SERVER_CLOSE, 0},
     NULL,
     "INTERNAL/exec-unknown-exit",
     NULL,
     0},
    {"a connection that ends in the middle",
     {NULL, BYTES(HI), SERVER_CLOSE, 0},
     NULL,
     "INTERNAL/exec-unknown-exit",
     NULL,
     0},
    {"a connection that ends after the Status",
     {NULL, BYTES(HI SUCCESS), SERVER_CLOSE, 0},
     NULL,
     "101 0 hi|",
     NULL,
     0},
    {"a crash in the middle",
     {NULL, BYTES(HI), SERVER_RESET, 0},
     NULL,
     "INTERNAL/exec-unknown-exit",
     NULL,
     0},
    {"a frame that is none",
     {NULL, BYTES("\xff\xff"), SERVER_CLOSE, 0},
     NULL,
     "INTERNAL/protocol",
     NULL,
     0},
    {"stdin",
     {NULL, NULL, 0, SERVER_ECHO, 0},
     "hello",
     "101 0 hello|",
     "255:0 8 ",
     0},
    {"an empty stdin",
     {NULL, NULL, 0, SERVER_ECHO, 0},
     "",
     "101 0 |",
     "255:0 8 ",
     0},
    {"stdin that v4 cannot end",
     {"v4", NULL, 0, SERVER_KEEP, 0},
     "hello",
     "INTERNAL/protocol",
     "",
     0},
    {"v4 without stdin",
     {"v4", BYTES(HI SUCCESS CLOSED), SERVER_CLOSE, 0},
     NULL,
     "101 0 hi|",
     NULL,
     0},
    {"the pod is absent",
     {JSON("404 Not Found", STATUS("NotFound")), NULL, 0, SERVER_CLOSE, 0},
     NULL,
     "404",
     NULL,
     0},
    {"W56 forbidden",
     {JSON("403 Forbidden", STATUS("Forbidden")), NULL, 0, SERVER_CLOSE, 3},
     NULL,
     "403",
     NULL,
     0},
    {"401 that nothing can mend",
     {JSON("401 Unauthorized", STATUS("Unauthorized")), NULL, 0, SERVER_CLOSE,
      0},
     NULL,
     "401",
     NULL,
     0},
    {"500 is not asked again",
     {JSON("500 Internal Server Error", STATUS("InternalError")), NULL, 0,
      SERVER_CLOSE, 0},
     NULL,
     "500",
     NULL,
     0},
    {"403 without a body",
     {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", NULL, 0,
      SERVER_CLOSE, 0},
     NULL,
     "INTERNAL/protocol",
     NULL,
     0},
    {"W55 the wrong key",
     {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
      "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
      NULL, 0, SERVER_KEEP, 0},
     NULL,
     "INTERNAL/protocol",
     NULL,
     0},
    {"not HTTP",
     {"SSH-2.0-OpenSSH_9.2\r\n", NULL, 0, SERVER_CLOSE, 0},
     NULL,
     "INTERNAL/protocol",
     NULL,
     0},
    {"nothing is answered",
     {"", NULL, 0, SERVER_CLOSE, 0},
     NULL,
     "SERVICE_UNAVAILABLE/connection-lost",
     NULL,
     0},
    {"a server that is silent before 101",
     {"", NULL, 0, SERVER_KEEP, 0},
     NULL,
     "deadline (the command may have been started)",
     NULL,
     3000},
    {"a node that is silent after 101",
     {NULL, BYTES(HI), SERVER_KEEP, 0},
     NULL,
     "deadline (the command may still run)",
     NULL,
     3000},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct exchange x;
  struct kube_answer a = {0};
  struct aicr_error err;
  struct kube_request rq = command(row->standard_input, row->time_ms);
  begin(&x, &row->script);
  assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  assert_true(wait_answer(&x, &a));
  assert_string_equal(show(&a), row->result);
  assert_int_equal(a.attempts, 1);
  assert_int_equal(x.server.count, 1);
  if (a.error.code != AICR_CODE_NONE) {
    static const char where[] = "exec pods \"p\" in namespace \"n\": ";
    assert_true(strncmp(a.error.message, where, sizeof where - 1) == 0);
    assert_false(a.error.verdict);
  }
  /* The connection goes with its command. */
  for (unsigned i = 0; i < 5 && server_open_connections(&x.server) > 0; i++) {
    server_step(&x.server);
  }
  assert_int_equal(server_open_connections(&x.server), 0);
  if (row->seen != NULL) {
    assert_string_equal(x.server.seen.data == NULL ? "" : x.server.seen.data,
                        row->seen);
  }
  kube_answer_free(&a);
  end(&x);
}

static void test_request(void **state)
{
  (void)state;
  struct exchange x;
  struct kube_answer a = {0};
  struct aicr_error err;
  struct kube_request rq = command(NULL, 0);
  begin(&x, &table[0].script);
  assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  assert_true(wait_answer(&x, &a));
  static const char line[] =
      "GET /prefix/api/v1/namespaces/n/pods/p/exec?command=sh&command=-c&"
      "command=echo%20%24%28id%29%20%27a%20b%27&container=c&stdin=false&"
      "stdout=true&stderr=true&tty=false HTTP/1.1\r\nHost: 127.0.0.1:";
  assert_true(strncmp(x.server.request, line, sizeof line - 1) == 0);
  assert_non_null(strstr(x.server.request, "\r\nUser-Agent: aicr-run/"));
  assert_non_null(strstr(x.server.request, "\r\nAccept: application/json"));
  /* A credential goes over TLS only. */
  assert_null(strstr(x.server.request, "hunter2"));
  kube_answer_free(&a);
  end(&x);
}

static void test_asks_again_when_told_to(void **state)
{
  static const struct server_script busy = {
      "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n\r\nlater",
      NULL, 0, SERVER_CLOSE, 0};
  (void)state;
  struct exchange x;
  struct kube_answer a = {0};
  struct aicr_error err;
  struct kube_request rq = command(NULL, 0);
  begin(&x, &table[0].script);
  x.server.first = &busy;
  assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  assert_true(wait_answer(&x, &a));
  assert_string_equal(show(&a), "101 0 hi|");
  assert_int_equal(a.attempts, 2);
  assert_int_equal(x.server.count, 2);
  kube_answer_free(&a);
  end(&x);
}

/* The kubelet's excuse is no log: it may have one a moment later. */
static void test_asks_again_for_a_log(void **state)
{
  static const struct server_script
      excuse = {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
                "unable to retrieve container logs for containerd://61",
                NULL, 0, SERVER_CLOSE, 0},
      log = {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nrun 0\n", NULL,
             0, SERVER_CLOSE, 0};
  (void)state;
  struct exchange x;
  struct kube_answer a = {0};
  struct aicr_error err;
  struct kube_request rq = {.verb = KUBE_GET,
                            .subresource = "log",
                            .path = "/api/v1/namespaces/n/pods/p/log",
                            .text = true};
  begin(&x, &log);
  x.server.first = &excuse;
  assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  assert_true(wait_answer(&x, &a));
  assert_string_equal(a.body.data, "run 0\n");
  assert_int_equal(a.attempts, 2);
  kube_answer_free(&a);
  end(&x);
}

/* Nothing was sent: the command cannot have been started. */
static void test_nobody_listens(void **state)
{
  (void)state;
  struct exchange x;
  struct kube_answer a = {0};
  struct aicr_error err;
  struct kube_request rq = command(NULL, 60000);
  begin(&x, &table[0].script);
  server_deafen(&x.server);
  assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  void *owner = NULL;
  bool done = false;
  for (unsigned i = 0; i < STEPS && !done; i++) {
    done = x.backend->ops->poll(x.backend, 2, &owner, &a);
  }
  assert_true(done);
  assert_int_equal(a.transport, KUBE_TRANSPORT_REFUSED);
  kube_answer_free(&a);
  end(&x);
}

/* 17 MiB on one channel. */
static void test_too_much_output(void **state)
{
  (void)state;
  struct exchange x;
  struct kube_answer a = {0};
  struct aicr_error err;
  struct aicr_buf frames;
  struct kube_request rq = command(NULL, 0);
  char *zeros = calloc(1, 1 << 20);
  assert_non_null(zeros);
  for (int channel = 1; channel <= 2; channel++) {
    aicr_buf_init(&frames, 32 << 20);
    for (int i = 0; i < 17; i++) {
      add_message(&frames, channel, zeros, 1 << 20);
    }
    struct server_script script = {NULL, frames.data, frames.len, SERVER_KEEP,
                                   0};
    begin(&x, &script);
    assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
    assert_true(wait_answer(&x, &a));
    assert_string_equal(show(&a), "INTERNAL/response-too-large");
    assert_non_null(
        strstr(a.error.message, channel == 1 ? "stdout" : "stderr"));
    assert_null(a.body.data);
    assert_null(a.stderr_text.data);
    kube_answer_free(&a);
    end(&x);
    aicr_buf_free(&frames);
  }
  free(zeros);
}

/* More than may run at a time, beside requests of other kinds. */
static void test_many(void **state)
{
  static const struct server_script hold = {NULL, NULL, 0, SERVER_ECHO, 0};
  (void)state;
  struct exchange x;
  struct aicr_error err;
  struct kube_request rq = command("x", 0);
  unsigned count = SERVER_CONNECTIONS - 1, done = 0;
  begin(&x, &hold);
  for (unsigned i = 0; i < count; i++) {
    assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  }
  void *owner = NULL;
  for (unsigned i = 0; i < 3 * LIVE_EXEC_MAX; i++) {
    struct kube_answer none;
    assert_false(x.backend->ops->poll(x.backend, 2, &owner, &none));
  }
  while (server_accept(&x.server)) {
  }
  assert_int_equal(x.server.count, LIVE_EXEC_MAX);
  while (done < count) {
    struct kube_answer a = {0};
    assert_true(wait_answer(&x, &a));
    assert_string_equal(show(&a), "101 0 x|");
    kube_answer_free(&a);
    done++;
  }
  assert_int_equal(x.server.count, count);
  end(&x);
}

static void test_commands_leave_room_for_reads(void **state)
{
  static const struct server_script silent = {NULL, NULL, 0, SERVER_KEEP, 0};
  static const struct server_script object = {
      JSON("200 OK", "{\"kind\":\"Pod\"}"), NULL, 0, SERVER_CLOSE, 0};
  (void)state;
  struct exchange x;
  struct aicr_error err;
  struct kube_answer a = {0};
  struct kube_request rq = command(NULL, 0);
  struct kube_request get = {.verb = KUBE_GET, .path = "/api/v1/pods/p"};
  begin(&x, &silent);
  for (unsigned i = 0; i < LIVE_EXEC_MAX; i++) {
    assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  }
  void *owner = NULL;
  for (unsigned i = 0; i < STEPS && x.server.count < LIVE_EXEC_MAX; i++) {
    assert_false(x.backend->ops->poll(x.backend, 2, &owner, &a));
    server_step(&x.server);
  }
  assert_int_equal(x.server.count, LIVE_EXEC_MAX);
  x.server.script = &object;
  assert_non_null(x.backend->ops->start(x.backend, &get, &x, &err));
  assert_true(wait_answer(&x, &a));
  assert_int_equal(a.http, 200);
  assert_int_equal(server_open_connections(&x.server), LIVE_EXEC_MAX);
  kube_answer_free(&a);
  end(&x);
}

static void test_cancel(void **state)
{
  static const struct server_script silent = {NULL, NULL, 0, SERVER_KEEP, 0};
  (void)state;
  struct exchange x;
  struct aicr_error err;
  struct kube_answer a = {0};
  struct kube_request rq = command(NULL, 0);
  void *owner = NULL;
  /* Before the connection, during it, and while the command runs. */
  for (unsigned steps = 0; steps < 6; steps++) {
    begin(&x, &silent);
    struct kube_transfer *t = x.backend->ops->start(x.backend, &rq, &x, &err);
    assert_non_null(t);
    for (unsigned i = 0; i < steps; i++) {
      assert_false(x.backend->ops->poll(x.backend, 2, &owner, &a));
      server_step(&x.server);
    }
    x.backend->ops->cancel(x.backend, t);
    assert_false(x.backend->ops->poll(x.backend, 0, &owner, &a));
    for (unsigned i = 0; i < 5; i++) {
      server_step(&x.server);
    }
    assert_int_equal(server_open_connections(&x.server), 0);
    end(&x);
  }
}

static void test_refuses_at_once(void **state)
{
  static const struct {
    const char *words;
    size_t len;
    const char *container, *reason;
  } rows[] = {{"", 0, NULL, "bad-request"},
              {"\0", 1, NULL, "bad-request"},
              {"a\0", 2, "", "bad-request"}};
  (void)state;
  struct exchange x;
  struct aicr_error err;
  begin(&x, &table[0].script);
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct kube_answer a = {0};
    struct kube_request rq = command(NULL, 0);
    rq.command = rows[i].words;
    rq.command_len = rows[i].len;
    rq.container = rows[i].container;
    assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
    assert_true(wait_answer(&x, &a));
    assert_string_equal(a.error.reason, rows[i].reason);
    kube_answer_free(&a);
  }
  server_step(&x.server);
  assert_int_equal(x.server.count, 0);
  end(&x);
}

static struct exchange tortured;
static void *(*realloc_of_server)(void *, size_t);

/* Only the client's allocations may fail. */
static void step_tortured(void)
{
  void *(*of_client)(void *, size_t) = aicr_realloc;
  aicr_realloc = realloc_of_server;
  server_step(&tortured.server);
  if (server_open_connections(&tortured.server) == 0) {
    tortured.server.count = 0;
  }
  aicr_realloc = of_client;
}

/* True when the command ran, false when it said that memory is missing. */
static bool run_tortured(void)
{
  struct kube_answer a = {0};
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_request rq = command("hello", 0);
  void *owner = NULL;
  bool done = false;
  if (tortured.backend->ops->start(tortured.backend, &rq, &tortured, &err) ==
      NULL) {
    assert_string_equal(err.reason, "memory");
    return false;
  }
  for (unsigned i = 0; i < STEPS && !done; i++) {
    done = tortured.backend->ops->poll(tortured.backend, 2, &owner, &a);
    step_tortured();
  }
  assert_true(done);
  for (unsigned i = 0; i < 5; i++) {
    step_tortured();
  }
  bool ok = a.error.code == AICR_CODE_NONE;
  if (ok) {
    assert_string_equal(show(&a), "101 0 hello|");
  } else {
    assert_string_equal(a.error.reason, "memory");
  }
  kube_answer_free(&a);
  return ok;
}

/* Without the memory for a courtesy (the close, a warning) it still succeeds,
 * so torture() itself does not do. */
static void test_without_memory(void **state)
{
  static const struct server_script echo = {NULL, NULL, 0, SERVER_ECHO, 0};
  (void)state;
  unsigned failed = 0;
  realloc_of_server = aicr_realloc;
  begin(&tortured, &echo);
  assert_true(run_tortured());
  aicr_realloc = torture_realloc;
  torture_fail_at = 0;
  do {
    torture_fail_at++;
    torture_count = torture_live = 0;
    failed += !run_tortured();
    assert_int_equal(torture_live, 0);
  } while (torture_count >= torture_fail_at);
  aicr_realloc = realloc_of_server;
  assert_true(failed > 10);
  end(&tortured);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_request),
      cmocka_unit_test(test_asks_again_when_told_to),
      cmocka_unit_test(test_asks_again_for_a_log),
      cmocka_unit_test(test_nobody_listens),
      cmocka_unit_test(test_too_much_output),
      cmocka_unit_test(test_many),
      cmocka_unit_test(test_commands_leave_room_for_reads),
      cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_refuses_at_once),
      cmocka_unit_test(test_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&rows, "exchange", table[i].what, test_row, &table[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "kube_exec_live");
}
