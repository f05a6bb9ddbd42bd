/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"
#include "kube/retry.h"

#include "live_asker.h"

/* Through a proxy, or past it. */

#define ALWAYS .times = WIRE_ALWAYS
#define GET    "get nodes name=n"
#define OBJECT "object " NODE_N
#define TUNNEL                                                                 \
  {                                                                            \
    .match = "CONNECT 127.0.0.1:", .how = WIRE_TUNNEL, ALWAYS                  \
  }

static const struct wire_answer any[] = {{.body = NODE_N, ALWAYS}, {0}};
static const struct wire_answer tunnel[] = {TUNNEL, {0}};
static struct wire_pki pki;

static struct wire_server *tls_server(enum wire_certificate certificate)
{
  const struct wire_options options = {.certificate = certificate, .pki = &pki};
  return wire_start(any, &options);
}

/* "http://<user>127.0.0.1:port" */
static char *proxy_url(const struct wire_server *proxy, const char *user)
{
  char url[128];
  snprintf(url, sizeof url, "http://%s127.0.0.1:%u", user, wire_port(proxy));
  return copy_of(url);
}

static struct kube_config config_for(const struct wire_server *s)
{
  struct kube_config config = config_of(wire_url(s));
  assert_true(aicr_buf_adds(&config.ca, pki.ca));
  config.token = copy_of("secret");
  config.as.user = copy_of("anna");
  return config;
}

static void assert_connect(struct wire_server *proxy,
                           const struct wire_server *s)
{
  char line[64];
  snprintf(line, sizeof line, "CONNECT 127.0.0.1:%u\n", wire_port(s));
  assert_string_equal(wire_requests(proxy), line);
}

/* The proxy learns where to, and nothing else. */
static void test_tunnel(void **state)
{
  static const char *const kept[] = {"Authorization", "Impersonate-User",
                                     "Accept", "Accept-Encoding"};
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD);
  struct wire_server *proxy = wire_start(tunnel, NULL);
  struct kube_config config = config_for(s);
  config.proxy = proxy_url(proxy, "us%40r:p%3Aw@");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, OBJECT);
  assert_answer(c, GET, OBJECT);
  assert_connect(proxy, s);
  for (size_t i = 0; i < COUNT(kept); i++) {
    assert_string_equal(wire_header(proxy, 0, kept[i]), "");
  }
  assert_string_equal(wire_header(proxy, 0, "Proxy-Authorization"),
                      "Basic dXNAcjpwOnc=\n");
  assert_string_equal(wire_header(s, 0, "Authorization"), "Bearer secret\n");
  assert_string_equal(wire_header(s, 0, "Proxy-Authorization"), "");
  assert_int_equal(wire_seen(s).connections, 1);
  kube_client_close(c);
  wire_stop(proxy);
  wire_stop(s);
}

static void test_server_name(void **state)
{
  (void)state;
  struct wire_server *s = tls_server(WIRE_OTHER_HOST);
  struct wire_server *proxy = wire_start(tunnel, NULL);
  struct kube_config config = config_for(s);
  config.proxy = proxy_url(proxy, "");
  config.tls_server_name = copy_of("inner.test");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, OBJECT);
  assert_connect(proxy, s);
  assert_string_equal(wire_sni(s), "inner.test");
  kube_client_close(c);
  wire_stop(proxy);
  wire_stop(s);
}

/* The proxy cannot stand for the server. */
static void test_verified(void **state)
{
  (void)state;
  struct wire_server *s = tls_server(WIRE_OTHER_CA);
  struct wire_server *proxy = wire_start(tunnel, NULL);
  struct kube_config config = config_for(s);
  config.proxy = proxy_url(proxy, "");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, "INTERNAL/tls-verify tls");
  kube_client_close(c);
  wire_stop(proxy);
  wire_stop(s);
}

static void test_plain(void **state)
{
  char line[128];
  (void)state;
  struct wire_server *s = wire_start(any, NULL);
  struct wire_server *proxy = wire_start(any, NULL);
  struct kube_config config = config_for(s);
  config.proxy = proxy_url(proxy, "");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, OBJECT);
  snprintf(line, sizeof line, "GET %s/api/v1/nodes/n\n", wire_url(s));
  assert_string_equal(wire_requests(proxy), line);
  assert_string_equal(wire_header(proxy, 0, "Authorization"), "");
  assert_int_equal(wire_seen(s).connections, 0);
  kube_client_close(c);
  wire_stop(proxy);
  wire_stop(s);
}

/* What a proxy says itself is never the server's answer. */
static void test_refusal(void **state)
{
  static const struct {
    struct wire_answer answer;
    const char *result;
    unsigned requests;
  } rows[] = {
      {{.http = 403, .type = "text/html", .body = "<html>no", ALWAYS},
       "SERVICE_UNAVAILABLE/proxy-refused reset",
       1},
      {{.http = 407, .type = "text/html", .body = "<html>who?", ALWAYS},
       "SERVICE_UNAVAILABLE/proxy-refused reset",
       1},
      {{.http = 404, .body = STATUS "\"details\":{\"name\":\"n\"}}", ALWAYS},
       "SERVICE_UNAVAILABLE/proxy-refused reset",
       1},
      {{.http = 502, .type = "text/html", .body = "<html>", ALWAYS},
       "SERVICE_UNAVAILABLE/proxy-refused reset",
       1},
      {{.http = 200, .type = "text/html", .body = "<html>", ALWAYS},
       "INTERNAL/tls-handshake tls",
       1},
      {{.how = WIRE_NOTHING, ALWAYS},
       "SERVICE_UNAVAILABLE/connection-lost",
       KUBE_ATTEMPTS_MAX},
  };
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD);
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct wire_answer answers[] = {rows[i].answer, {0}};
    struct wire_server *proxy = wire_start(answers, NULL);
    struct kube_config config = config_for(s);
    config.proxy = proxy_url(proxy, "u:hunter2@");
    struct kube_client *c = client_of(&config);
    assert_begins(c, GET, rows[i].result);
    assert_int_equal(wire_seen(proxy).requests, rows[i].requests);
    kube_client_close(c);
    wire_stop(proxy);
  }
  assert_int_equal(wire_seen(s).requests, 0);
  wire_stop(s);
}

/* Names the proxy's answer, and no password. */
static void test_message(void **state)
{
  static const struct wire_answer rows[] = {{.http = 407, ALWAYS}, {0}};
  static const struct kube_call_spec spec = {
      .verb = KUBE_GET, .resource = "nodes", .name = "n"};
  const char *text = NULL;
  size_t len = 0;
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD);
  struct wire_server *proxy = wire_start(rows, NULL);
  struct kube_config config = config_for(s);
  config.proxy = proxy_url(proxy, "u:hunter2@");
  struct kube_client *c = client_of(&config);
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_FAILED);
  const char *message = kube_call_error(call)->message;
  assert_null(strstr(message, "hunter2"));
  assert_non_null(strstr(message, "proxy"));
  assert_non_null(strstr(message, "407"));
  kube_call_close(call);
  kube_client_close(c);
  wire_stop(proxy);
  wire_stop(s);
}

static void test_no_proxy_there(void **state)
{
  char proxy[64] = "http://";
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD);
  struct kube_config config = config_for(s);
  int deaf = take_deaf_port(proxy + 7, sizeof proxy - 7);
  config.proxy = copy_of(proxy);
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, "SERVICE_UNAVAILABLE/connect refused");
  kube_client_close(c);
  close(deaf);
  config = config_for(s);
  config.proxy = copy_of("http://no-such-proxy.invalid:3128");
  c = client_of(&config);
  assert_answer(c, GET, "SERVICE_UNAVAILABLE/proxy-dns dns");
  kube_client_close(c);
  wire_stop(s);
}

/* The environment's proxy is the one that the configuration took from there,
 * which a kubeconfig's own comes before; what libcurl would read itself counts
 * for nothing. */
static void test_environment(void **state)
{
  static const struct {
    bool environment, own, proxied;
  } rows[] = {
      {false, false, false},
      {true, false, true},
      {true, true, true},
  };
  static const char *const names[] = {"https_proxy", "HTTPS_PROXY",
                                      "ALL_PROXY"};
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD);
  struct wire_server *proxy = wire_start(tunnel, NULL);
  for (size_t i = 0; i < COUNT(names); i++) {
    setenv(names[i], "http://no-such-proxy.invalid", 1);
  }
  setenv("NO_PROXY", "*", 1);
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct kube_config config = config_for(s);
    config.proxy = rows[i].own ? proxy_url(proxy, "") : NULL;
    if (rows[i].environment) {
      config.env_proxy = rows[i].own ? copy_of("http://no-such-proxy.invalid")
                                     : proxy_url(proxy, "");
    }
    wire_rows(proxy, tunnel);
    struct kube_client *c = client_of(&config);
    assert_answer(c, GET, OBJECT);
    assert_int_equal(wire_seen(proxy).requests, rows[i].proxied ? 1 : 0);
    kube_client_close(c);
  }
  forget_proxies();
  wire_stop(proxy);
  wire_stop(s);
}

static int begin(void **state)
{
  forget_proxies();
  wire_pki_make(&pki);
  return ignore_pipe(state);
}

static int end(void **state)
{
  (void)state;
  wire_pki_free(&pki);
  return 0;
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tunnel),         cmocka_unit_test(test_server_name),
      cmocka_unit_test(test_verified),       cmocka_unit_test(test_plain),
      cmocka_unit_test(test_refusal),        cmocka_unit_test(test_message),
      cmocka_unit_test(test_no_proxy_there), cmocka_unit_test(test_environment),
  };
  return cmocka_run_group_tests_name("live proxy", tests, begin, end);
}
