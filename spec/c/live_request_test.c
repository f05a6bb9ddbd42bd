/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "kube/retry.h"

#include "live_asker.h"

/* What is sent, as a server sees it. */

#define ALWAYS .times = WIRE_ALWAYS

/* W44: who holds which field. */
static void test_conflict(void **state)
{
  static const struct wire_answer rows[] = {
      {.http = 409,
       .body = STATUS
       "\"reason\":\"Conflict\",\"details\":{\"causes\":[{\"reason\":"
       "\"FieldManagerConflict\",\"message\":\"conflict with \\\"m1\\\" using "
       "v1\",\"field\":\".spec.a\"},{\"reason\":\"FieldManagerConflict\","
       "\"message\":\"conflict with \\\"m2\\\"\",\"field\":\".spec.b\"}]}}"},
      {0}};
  static const struct kube_call_spec spec = {
      .verb = KUBE_APPLY,
      .resource = "pods",
      .ns = "a",
      .name = "p",
      .content_type = "application/apply-patch+yaml",
      .query = "fieldManager=m&force=false",
      .body = "{\"a\":\"\\u0000\"}",
      .body_len = 14};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  const char *text = NULL;
  size_t len = 0;
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_FAILED);
  const struct kube_failure *f = kube_call_failure(call);
  assert_int_equal(kube_call_error(call)->code, AICR_CONFLICT);
  assert_int_equal(f->cause_count, 2);
  assert_string_equal(f->causes[0].message, "conflict with \"m1\" using v1");
  assert_string_equal(f->causes[0].field, ".spec.a");
  assert_string_equal(f->causes[1].message, "conflict with \"m2\"");
  assert_string_equal(f->causes[1].field, ".spec.b");
  kube_call_close(call);
  assert_string_equal(wire_requests(s),
                      "PATCH /api/v1/namespaces/a/pods/p?fieldManager=m&"
                      "force=false\n");
  assert_string_equal(wire_body(s, 0), spec.body);
  assert_string_equal(wire_header(s, 0, "Content-Type"),
                      "application/apply-patch+yaml\n");
  assert_string_equal(wire_header(s, 0, "Content-Length"), "14\n");
  kube_client_close(c);
  wire_stop(s);
}

/* A body that is sent once more is sent whole. */
static void test_body_again(void **state)
{
  static const struct wire_answer rows[] = {
      {.http = 429, .headers = "Retry-After: 0\r\n", .times = 2},
      {.http = 201, .body = POD_P},
      {0}};
  static char body[200001];
  (void)state;
  memset(body, ' ', sizeof body - 1);
  body[0] = '{';
  body[sizeof body - 2] = '}';
  const struct kube_call_spec spec = {.verb = KUBE_CREATE,
                                      .resource = "pods",
                                      .ns = "a",
                                      .content_type = J,
                                      .body = body,
                                      .body_len = sizeof body - 1};
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  struct aicr_buf out;
  aicr_buf_init(&out, 4096);
  ask_live(c, &spec, &out);
  assert_string_equal(out.data, "object " POD_P);
  assert_int_equal(wire_seen(s).requests, 3);
  for (unsigned i = 0; i < 3; i++) {
    assert_string_equal(wire_body(s, i), body);
    assert_string_equal(wire_header(s, i, "Expect"), "");
  }
  aicr_buf_free(&out);
  kube_client_close(c);
  wire_stop(s);
}

static void test_headers(void **state)
{
  static const struct wire_answer rows[] = {{.body = NODE_N, ALWAYS}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  assert_answer(c, "get pods ns=a name=p sub=log", "object " NODE_N);
  assert_answer(c, "delete nodes name=n", "object " NODE_N);
  assert_string_equal(wire_header(s, 0, "Accept"), "application/json\n");
  assert_string_equal(wire_header(s, 1, "Accept"), "*/*\n");
  assert_string_equal(wire_header(s, 0, "Accept-Encoding"), "gzip\n");
  assert_string_equal(wire_header(s, 0, "Content-Type"), "");
  assert_string_equal(wire_header(s, 2, "Content-Type"), "application/json\n");
  assert_string_equal(wire_header(s, 0, "Authorization"), "");
  assert_int_equal(strncmp(wire_header(s, 0, "User-Agent"),
                           "aicr-run/" AICR_VERSION " (", 12),
                   0);
  char host[64];
  snprintf(host, sizeof host, "127.0.0.1:%u\n", wire_port(s));
  assert_string_equal(wire_header(s, 0, "Host"), host);
  assert_int_equal(wire_seen(s).connections, 2); /* a write's is new */
  kube_client_close(c);
  wire_stop(s);
}

static void test_no_compression(void **state)
{
  static const struct wire_answer rows[] = {{.body = NODE_N, ALWAYS}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_config config = config_of(wire_url(s));
  config.no_compression = true;
  struct kube_client *c = client_of(&config);
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  assert_string_equal(wire_header(s, 0, "Accept-Encoding"), "");
  kube_client_close(c);
  wire_stop(s);
}

/* K32: a path before all others. */
static void test_prefix(void **state)
{
  static const struct wire_answer rows[] = {{.body = NODE_N, ALWAYS}};
  char server[128];
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  snprintf(server, sizeof server, "%s/k8s/clusters/c-1/", wire_url(s));
  struct kube_client *c = client_at(server);
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  assert_answer(c, "get_raw /readyz", "object " NODE_N);
  assert_string_equal(wire_requests(s), "GET /k8s/clusters/c-1/api/v1/nodes/n\n"
                                        "GET /k8s/clusters/c-1/readyz\n");
  kube_client_close(c);
  wire_stop(s);
}

/* W39 */
static void test_no_server(void **state)
{
  char server[64] = "http://";
  (void)state;
  int deaf = take_deaf_port(server + 7, sizeof server - 7);
  struct kube_client *c = client_at(server);
  assert_answer(c, "get nodes name=n", "SERVICE_UNAVAILABLE/connect refused");
  assert_answer(c, "create pods ns=a", "SERVICE_UNAVAILABLE/connect refused");
  kube_client_close(c);
  c = client_at("https://no-such-name.invalid:6443");
  assert_answer(c, "get nodes name=n", "SERVICE_UNAVAILABLE/dns dns");
  kube_client_close(c);
  close(deaf);
}

/* What did not leave is sent again, also a write. */
static void test_attempts(void **state)
{
  static const struct kube_call_spec spec = {.verb = KUBE_CREATE,
                                             .resource = "pods",
                                             .ns = "a",
                                             .body = "{}",
                                             .body_len = 2,
                                             .content_type = J};
  const char *text = NULL;
  size_t len = 0;
  char server[64] = "http://";
  (void)state;
  int deaf = take_deaf_port(server + 7, sizeof server - 7);
  struct kube_client *c = client_at(server);
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_FAILED);
  assert_int_equal(kube_call_failure(call)->attempts, KUBE_ATTEMPTS_MAX);
  kube_call_close(call);
  kube_client_close(c);
  close(deaf);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conflict), cmocka_unit_test(test_body_again),
      cmocka_unit_test(test_headers),  cmocka_unit_test(test_no_compression),
      cmocka_unit_test(test_prefix),   cmocka_unit_test(test_no_server),
      cmocka_unit_test(test_attempts),
  };
  return cmocka_run_group_tests_name("live request", tests, ignore_pipe, NULL);
}
