/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"

/* How the request for a command gets to the server: as all others do, over a
 * connection of its own. What comes after it: kube_exec_live_test.c. */

#define ALWAYS  .times = WIRE_ALWAYS
#define REFUSED STATUS "\"reason\":\"BadRequest\",\"message\":\"no\"}"
#define TUNNEL                                                                 \
  {                                                                            \
    .match = "CONNECT 127.0.0.1:", .how = WIRE_TUNNEL, ALWAYS                  \
  }
#define EXEC                                                                   \
  "GET /api/v1/namespaces/n/pods/p/exec?command=id&stdin=false&stdout=true&"   \
  "stderr=true&tty=false\n"

static const struct wire_answer bad[] = {
    {.match = "/exec?", .http = 400, .body = REFUSED, ALWAYS},
    {.body = NODE_N, ALWAYS},
    {0}};
static const struct wire_answer tunnel[] = {TUNNEL, {0}};
static struct wire_pki pki;
static struct folder disk;

static struct wire_server *tls_server(enum wire_certificate certificate,
                                      const struct wire_answer *rows)
{
  const struct wire_options options = {.certificate = certificate, .pki = &pki};
  return wire_start(rows, &options);
}

static struct kube_config config_for(const struct wire_server *s)
{
  struct kube_config config = config_of(wire_url(s));
  assert_true(aicr_buf_adds(&config.ca, pki.ca));
  return config;
}

static void assert_exec(struct kube_client *c, const char *answer)
{
  static const char words[] = "id";
  static const struct kube_call_spec spec = {.verb = KUBE_EXEC,
                                             .resource = "pods",
                                             .subresource = "exec",
                                             .ns = "n",
                                             .name = "p",
                                             .command = words,
                                             .command_len = sizeof words};
  struct aicr_buf out;
  aicr_buf_init(&out, 1 << 16);
  ask_live(c, &spec, &out);
  assert_string_equal(out.data, answer);
  aicr_buf_free(&out);
}

static void test_identity(void **state)
{
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, bad);
  struct kube_config config = config_for(s);
  config.token = copy_of("secret");
  config.as.user = copy_of("anna");
  struct kube_client *c = client_of(&config);
  assert_exec(c, "INVALID_REQUEST/bad-request 400");
  assert_string_equal(requests_of(s), EXEC);
  assert_string_equal(wire_header(s, 0, "Authorization"), "Bearer secret\n");
  assert_string_equal(wire_header(s, 0, "Impersonate-User"), "anna\n");
  assert_string_equal(wire_header(s, 0, "Upgrade"), "websocket\n");
  assert_string_equal(wire_header(s, 0, "Expect"), "");
  /* Its connection serves nothing else. */
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  assert_exec(c, "INVALID_REQUEST/bad-request 400");
  assert_int_equal(wire_seen(s).connections, 3);
  kube_client_close(c);
  wire_stop(s);
}

static void test_certificate(void **state)
{
  const struct wire_options options = {
      .certificate = WIRE_GOOD, .asks_certificate = true, .pki = &pki};
  (void)state;
  struct wire_server *s = wire_start(bad, &options);
  struct kube_config config = config_for(s);
  assert_true(
      aicr_buf_adds(&config.certificate, pki.of[WIRE_CLIENT].certificate) &&
      aicr_buf_adds(&config.key, pki.of[WIRE_CLIENT].key));
  struct kube_client *c = client_of(&config);
  assert_exec(c, "INVALID_REQUEST/bad-request 400");
  assert_string_equal(wire_user(s), "anna");
  kube_client_close(c);
  wire_stop(s);
}

/* 401 drops what is cached, once. */
static void test_unauthenticated(void **state)
{
  static const struct {
    struct wire_answer answers[3];
    bool file;
    const char *result, *requests;
  } rows[] = {
      {{{.http = 401, .body = REFUSED},
        {.http = 400, .body = REFUSED, ALWAYS},
        {0}},
       true,
       "INVALID_REQUEST/bad-request 400",
       EXEC EXEC},
      {{{.http = 401, .body = REFUSED, ALWAYS}, {0}, {0}},
       true,
       "UNAUTHORIZED/unauthenticated 401",
       EXEC EXEC},
      {{{.http = 401, .body = REFUSED, ALWAYS}, {0}, {0}},
       false,
       "UNAUTHORIZED/unauthenticated 401",
       EXEC},
  };
  char path[256];
  (void)state;
  folder_text(&disk, "token", "secret");
  folder_path(&disk, "token", path, sizeof path);
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct wire_server *s = tls_server(WIRE_GOOD, rows[i].answers);
    struct kube_config config = config_for(s);
    if (rows[i].file) {
      config.token_file = copy_of(path);
    } else {
      config.token = copy_of("secret");
    }
    struct kube_client *c = client_of(&config);
    assert_exec(c, rows[i].result);
    assert_string_equal(requests_of(s), rows[i].requests);
    kube_client_close(c);
    wire_stop(s);
  }
}

static void test_verified(void **state)
{
  static const struct {
    enum wire_certificate certificate;
    const char *name, *result;
  } rows[] = {
      {WIRE_OTHER_CA, NULL, "INTERNAL/tls-verify tls"},
      {WIRE_OTHER_HOST, NULL, "INTERNAL/tls-verify tls"},
      {WIRE_EXPIRED, NULL, "INTERNAL/tls-verify tls"},
      {WIRE_OTHER_HOST, "inner.test", "INVALID_REQUEST/bad-request 400"},
  };
  char host[64];
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct wire_server *s = tls_server(rows[i].certificate, bad);
    struct kube_config config = config_for(s);
    config.token = copy_of("secret");
    config.tls_server_name =
        rows[i].name == NULL ? NULL : copy_of(rows[i].name);
    struct kube_client *c = client_of(&config);
    assert_exec(c, rows[i].result);
    assert_int_equal(wire_seen(s).connections, 1);
    assert_int_equal(wire_seen(s).requests, rows[i].name == NULL ? 0 : 1);
    if (rows[i].name != NULL) {
      snprintf(host, sizeof host, "127.0.0.1:%u\n", wire_port(s));
      assert_string_equal(wire_header(s, 0, "Host"), host);
      assert_string_equal(wire_sni(s), rows[i].name);
    }
    kube_client_close(c);
    wire_stop(s);
  }
}

/* The proxy learns where to; also for a plain server, as it could not hand
 * frames on otherwise. */
static void test_proxy(void **state)
{
  static const enum wire_certificate certificates[] = {WIRE_GOOD, WIRE_PLAIN};
  char text[128];
  (void)state;
  for (size_t i = 0; i < COUNT(certificates); i++) {
    struct wire_server *s = tls_server(certificates[i], bad);
    struct wire_server *proxy = wire_start(tunnel, NULL);
    struct kube_config config = config_for(s);
    config.token = copy_of("secret");
    snprintf(text, sizeof text, "http://u:pw@127.0.0.1:%u", wire_port(proxy));
    config.proxy = copy_of(text);
    struct kube_client *c = client_of(&config);
    assert_exec(c, "INVALID_REQUEST/bad-request 400");
    snprintf(text, sizeof text, "CONNECT 127.0.0.1:%u\n", wire_port(s));
    assert_string_equal(wire_requests(proxy), text);
    assert_string_equal(wire_header(proxy, 0, "Authorization"), "");
    assert_string_equal(wire_header(proxy, 0, "Proxy-Authorization"),
                        "Basic dTpwdw==\n");
    assert_string_equal(requests_of(s), EXEC);
    assert_string_equal(wire_header(s, 0, "Proxy-Authorization"), "");
    kube_client_close(c);
    wire_stop(proxy);
    wire_stop(s);
  }
}

static void test_proxy_refuses(void **state)
{
  static const struct wire_answer rows[] = {{.http = 403, ALWAYS}, {0}};
  char url[64];
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, bad);
  struct wire_server *proxy = wire_start(rows, NULL);
  struct kube_config config = config_for(s);
  snprintf(url, sizeof url, "http://127.0.0.1:%u", wire_port(proxy));
  config.proxy = copy_of(url);
  struct kube_client *c = client_of(&config);
  assert_exec(c, "SERVICE_UNAVAILABLE/proxy-refused reset");
  assert_int_equal(wire_seen(proxy).requests, 1);
  assert_int_equal(wire_seen(s).connections, 0);
  kube_client_close(c);
  wire_stop(proxy);
  wire_stop(s);
}

static int begin(void **state)
{
  forget_proxies();
  wire_pki_make(&pki);
  folder_make(&disk);
  return ignore_pipe(state);
}

static int end(void **state)
{
  (void)state;
  folder_remove(&disk);
  wire_pki_free(&pki);
  return 0;
}

/* What a server asks to wait in its head: then the command is asked for again,
 * as it was not run. */
static void test_retry_after(void **state)
{
  static const struct {
    const char *headers, *result, *requests;
  } rows[] = {
      {"Retry-After: 0\r\n", "INVALID_REQUEST/bad-request 400", EXEC EXEC},
      {"retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
       "INVALID_REQUEST/bad-request 400", EXEC EXEC},
      {"Retry-After: soon\r\n", "SERVICE_UNAVAILABLE/unavailable 503", EXEC},
      {"Retry-After: -1\r\n", "SERVICE_UNAVAILABLE/unavailable 503", EXEC},
      {NULL, "SERVICE_UNAVAILABLE/unavailable 503", EXEC},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct wire_answer answers[] = {
        {.http = 503, .body = NODE_N, .headers = rows[i].headers},
        {.http = 400, .body = REFUSED},
        {0}};
    struct wire_server *s = tls_server(WIRE_GOOD, answers);
    struct kube_config config = config_for(s);
    struct kube_client *c = client_of(&config);
    assert_exec(c, rows[i].result);
    assert_string_equal(requests_of(s), rows[i].requests);
    kube_client_close(c);
    wire_stop(s);
  }
}

/* What the server says beside its answer is told as with any other. */
static void test_warning(void **state)
{
  static const struct wire_answer rows[] = {
      {.http = 400,
       .body = REFUSED,
       .headers = "warning: 299 - \"pods/exec is deprecated\"\r\n"},
      {0}};
  struct aicr_buf told;
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, rows);
  struct kube_config config = config_for(s);
  struct kube_client *c = client_of(&config);
  struct kube_backend *b = kube_client_backend(c);
  aicr_buf_init(&told, 1 << 12);
  assert_exec(c, "INVALID_REQUEST/bad-request 400");
  b->ops->warnings(b, &told);
  assert_true(aicr_buf_addc(&told, '\0'));
  assert_non_null(strstr(told.data, "pods/exec is deprecated"));
  aicr_buf_free(&told);
  kube_client_close(c);
  wire_stop(s);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_identity),
      cmocka_unit_test(test_retry_after),
      cmocka_unit_test(test_warning),
      cmocka_unit_test(test_certificate),
      cmocka_unit_test(test_unauthenticated),
      cmocka_unit_test(test_verified),
      cmocka_unit_test(test_proxy),
      cmocka_unit_test(test_proxy_refuses),
  };
  return cmocka_run_group_tests_name("live exec", tests, begin, end);
}
