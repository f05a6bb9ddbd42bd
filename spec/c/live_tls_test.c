/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"

/* Who the server is, as whom it is asked, and what is kept from whom. */

#define ALWAYS .times = WIRE_ALWAYS
#define ANY                                                                    \
  {                                                                            \
    .body = NODE_N, .times = WIRE_ALWAYS                                       \
  }
#define GET    "get nodes name=n"
#define OBJECT "object " NODE_N
#define VERIFY "INTERNAL/tls-verify tls"

static const struct wire_answer any[] = {ANY, {0}};
static struct wire_pki pki;
static struct folder disk;

static void set_pem(struct aicr_buf *b, const char *text)
{
  assert_true(text == NULL || aicr_buf_adds(b, text));
}

static struct wire_server *tls_server(enum wire_certificate certificate,
                                      const struct wire_answer *rows)
{
  const struct wire_options options = {.certificate = certificate, .pki = &pki};
  return wire_start(rows, &options);
}

/* To a server that the first authority vouches for. */
static struct kube_config trusting(const struct wire_server *s)
{
  struct kube_config config = config_of(wire_url(s));
  set_pem(&config.ca, pki.ca);
  return config;
}

/* One question that fails; what is said then. */
static void ask_why(struct kube_client *c, char *message, size_t size)
{
  static const struct kube_call_spec spec = {
      .verb = KUBE_GET, .resource = "nodes", .name = "n"};
  const char *text = NULL;
  size_t len = 0;
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_FAILED);
  snprintf(message, size, "%s", kube_call_error(call)->message);
  kube_call_close(call);
}

struct trust {
  const char *what;
  const char *host, *name; /* of the URL; tls-server-name; NULL: none */
  const char *result, *sni;
  const char *word; /* in the message; NULL: it is trusted */
  enum wire_certificate certificate;
  char ca, system; /* '1' and '2': the authorities, 0: none */
  bool insecure;
};

static const struct trust trusts[] = {
    {"a good server", NULL, NULL, OBJECT, "", NULL, WIRE_GOOD, '1', 0, false},
    {"a good server by its name", "localhost", NULL, OBJECT, "localhost", NULL,
     WIRE_GOOD, '1', 0, false},
    {"W36 signed by itself", NULL, NULL, VERIFY, "", "self", WIRE_SELF_SIGNED,
     '1', 0, false},
    {"W36 another authority", NULL, NULL, VERIFY, "", "issuer", WIRE_OTHER_CA,
     '1', 0, false},
    {"W37 another host", NULL, NULL, VERIFY, "", "127.0.0.1", WIRE_OTHER_HOST,
     '1', 0, false},
    {"W37 another host, which is meant", NULL, "inner.test", OBJECT,
     "inner.test", NULL, WIRE_OTHER_HOST, '1', 0, false},
    {"W37 another host, by its name", "localhost", "inner.test", OBJECT,
     "inner.test", NULL, WIRE_OTHER_HOST, '1', 0, false},
    {"the meant host is another", NULL, "inner.test", VERIFY, "inner.test",
     "inner.test", WIRE_GOOD, '1', 0, false},
    {"W38 expired", NULL, NULL, VERIFY, "", "expired", WIRE_EXPIRED, '1', 0,
     false},
    {"the system's authorities", NULL, NULL, OBJECT, "", NULL, WIRE_OTHER_CA, 0,
     '2', false},
    {"W60 not the system's beside a private one", NULL, NULL, VERIFY, "",
     "issuer", WIRE_OTHER_CA, '1', '2', false},
    {"nobody vouches", NULL, NULL, VERIFY, "", "issuer", WIRE_GOOD, 0, '2',
     false},
    {"not verified", NULL, NULL, OBJECT, "", NULL, WIRE_SELF_SIGNED, 0, 0,
     true},
    {"neither the host", NULL, NULL, OBJECT, "", NULL, WIRE_OTHER_HOST, 0, 0,
     true},
    {"neither the date", NULL, NULL, OBJECT, "", NULL, WIRE_EXPIRED, 0, 0,
     true},
};

static const char *authority(char which)
{
  return which == '1' ? pki.ca : which == '2' ? pki.other_ca : NULL;
}

static struct kube_client *trust_client(const struct trust *row,
                                        const struct wire_server *s)
{
  static char path[256];
  char server[64];
  snprintf(server, sizeof server, "https://%s:%u",
           row->host == NULL ? "127.0.0.1" : row->host, wire_port(s));
  struct kube_config config = config_of(server);
  set_pem(&config.ca, authority(row->ca));
  config.tls_server_name = row->name == NULL ? NULL : copy_of(row->name);
  config.insecure = row->insecure;
  system_authorities = NULL;
  if (row->system != 0) {
    folder_text(&disk, "system.pem", authority(row->system));
    folder_path(&disk, "system.pem", path, sizeof path);
    system_authorities = path;
  }
  return client_of(&config);
}

static void test_trust(void **state)
{
  const struct trust *row = *state;
  char message[AICR_MESSAGE_MAX], host[64];
  struct wire_server *s = tls_server(row->certificate, any);
  struct kube_client *c = trust_client(row, s);
  assert_answer(c, GET, row->result);
  struct wire_seen seen = wire_seen(s);
  assert_int_equal(seen.connections, 1); /* none is tried again */
  bool good = row->word == NULL;
  assert_int_equal(seen.requests, good ? 1 : 0);
  assert_true(good || wire_await_gone(s));
  assert_string_equal(wire_sni(s), row->sni);
  if (good) {
    snprintf(host, sizeof host, "%s:%u\n",
             row->host == NULL ? "127.0.0.1" : row->host, wire_port(s));
    assert_string_equal(wire_header(s, 0, "Host"), host);
  } else {
    kube_client_close(c);
    c = trust_client(row, s);
    ask_why(c, message, sizeof message);
    if (strstr(message, row->word) == NULL) {
      fail_msg("no %s in: %s", row->word, message);
    }
  }
  system_authorities = NULL;
  kube_client_close(c);
  wire_stop(s);
}

static void test_no_tls(void **state)
{
  char server[64];
  (void)state;
  struct wire_server *s = wire_start(any, NULL);
  snprintf(server, sizeof server, "https://127.0.0.1:%u", wire_port(s));
  struct kube_client *c = client_at(server);
  /* Its answer to a handshake is to wait for the rest of a request. */
  assert_answer(c, GET " in=3000", "TIMEOUT/deadline deadline");
  kube_client_close(c);
  wire_stop(s);
  s = tls_server(WIRE_GOOD, any);
  snprintf(server, sizeof server, "http://127.0.0.1:%u", wire_port(s));
  c = client_at(server);
  assert_begins(c, GET, "SERVICE_UNAVAILABLE/connection-lost ");
  kube_client_close(c);
  wire_stop(s);
}

static void test_bad_authority(void **state)
{
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, any);
  struct kube_config config = config_of(wire_url(s));
  set_pem(&config.ca, "-----BEGIN CERTIFICATE-----\nAAAA\n"
                      "-----END CERTIFICATE-----\n");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, "INTERNAL/tls-config tls");
  kube_client_close(c);
  assert_int_equal(wire_seen(s).requests, 0);
  wire_stop(s);
}

/* One connection, one handshake for all. */
static void test_reuse(void **state)
{
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, any);
  struct kube_config config = trusting(s);
  struct kube_client *c = client_of(&config);
  for (int i = 0; i < 5; i++) {
    assert_answer(c, GET, OBJECT);
  }
  assert_int_equal(wire_seen(s).connections, 1);
  assert_int_equal(wire_seen(s).handshakes, 1);
  kube_client_close(c);
  wire_stop(s);
}

/* Two clusters side by side that differ only in where they are: what had to
 * wait for a connection goes to its own. */
static void test_two_clusters(void **state)
{
  static const struct wire_answer rows[] = {
      {.body = NODE_N, .how = WIRE_HOLD, ALWAYS}, {0}};
  static const struct kube_call_spec spec = {
      .verb = KUBE_GET, .resource = "nodes", .name = "n"};
  enum { CALLS = 6 };
  struct kube_client *c[2];
  struct wire_server *s[2];
  (void)state;
  for (int i = 0; i < 2; i++) {
    s[i] = tls_server(WIRE_OTHER_HOST, rows);
    struct kube_config config = trusting(s[i]);
    config.tls_server_name = copy_of("inner.test");
    c[i] = client_of(&config);
    for (int k = 0; k < CALLS; k++) {
      kube_client_start(c[i], &spec, NULL);
    }
    void *owner = NULL;
    while (wire_seen(s[i]).requests < 4) {
      assert_null(kube_client_poll(c[i], 5, &owner));
    }
  }
  for (int i = 0; i < 2; i++) {
    wire_release(s[i]);
    for (int k = 0; k < CALLS;) {
      void *owner = NULL;
      struct kube_call *call = kube_client_poll(c[i], 1000, &owner);
      const char *text = NULL;
      size_t len = 0;
      if (call != NULL) {
        assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_OBJECT);
        assert_int_equal(kube_call_failure(call)->attempts, 1);
        k++;
      }
    }
  }
  for (int i = 0; i < 2; i++) {
    assert_int_equal(wire_seen(s[i]).requests, CALLS);
    kube_client_close(c[i]);
    wire_stop(s[i]);
  }
}

static void test_client_certificate(void **state)
{
  const struct wire_options options = {
      .certificate = WIRE_GOOD, .asks_certificate = true, .pki = &pki};
  (void)state;
  struct wire_server *s = wire_start(any, &options);
  struct kube_config config = trusting(s);
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, OBJECT);
  assert_string_equal(wire_user(s), "");
  kube_client_close(c);
  for (int who = WIRE_CLIENT; who <= WIRE_CLIENT_TWO; who++) {
    config = trusting(s);
    set_pem(&config.certificate, pki.of[who].certificate);
    set_pem(&config.key, pki.of[who].key);
    c = client_of(&config);
    assert_answer(c, GET, OBJECT);
    assert_string_equal(wire_user(s), who == WIRE_CLIENT ? "anna" : "berta");
    kube_client_close(c);
  }
  config = trusting(s);
  set_pem(&config.certificate, pki.of[WIRE_CLIENT].certificate);
  set_pem(&config.key, pki.of[WIRE_CLIENT_TWO].key);
  c = client_of(&config);
  assert_answer(c, GET, "INTERNAL/tls-config tls");
  kube_client_close(c);
  wire_stop(s);
}

/* K36: credentials go over TLS only. */
static void test_credentials(void **state)
{
  static const struct {
    const char *token, *username, *password, *header;
  } rows[] = {
      {"abc.def", NULL, NULL, "Bearer abc.def\n"},
      {NULL, "anna", "p:w", "Basic YW5uYTpwOnc=\n"},
      {NULL, NULL, NULL, ""},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    for (int tls = 0; tls < 2; tls++) {
      struct wire_server *s =
          tls == 1 ? tls_server(WIRE_GOOD, any) : wire_start(any, NULL);
      struct kube_config config = trusting(s);
      config.token = rows[i].token == NULL ? NULL : copy_of(rows[i].token);
      if (rows[i].username != NULL) {
        config.username = copy_of(rows[i].username);
        config.password = copy_of(rows[i].password);
      }
      struct kube_client *c = client_of(&config);
      assert_answer(c, GET, OBJECT);
      assert_string_equal(wire_header(s, 0, "Authorization"),
                          tls == 1 ? rows[i].header : "");
      kube_client_close(c);
      wire_stop(s);
    }
  }
}

static void test_impersonation(void **state)
{
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, any);
  struct kube_config config = trusting(s);
  config.as.user = copy_of("system:serviceaccount:a:b");
  config.as.uid = copy_of("42");
  config.as.groups = aicr_calloc(2, sizeof *config.as.groups);
  config.as.groups[0] = copy_of("devs");
  config.as.groups[1] = copy_of("system:masters");
  config.as.group_count = 2;
  config.as.extra = aicr_calloc(1, sizeof *config.as.extra);
  config.as.extra[0].name = copy_of("acme.com/scope one");
  config.as.extra[0].value = copy_of("view");
  config.as.extra_count = 1;
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, OBJECT);
  assert_string_equal(wire_header(s, 0, "Impersonate-User"),
                      "system:serviceaccount:a:b\n");
  assert_string_equal(wire_header(s, 0, "Impersonate-Uid"), "42\n");
  assert_string_equal(wire_header(s, 0, "Impersonate-Group"),
                      "devs\nsystem:masters\n");
  assert_string_equal(
      wire_header(s, 0, "Impersonate-Extra-acme.com%2Fscope%20one"), "view\n");
  kube_client_close(c);
  wire_stop(s);
}

/* A value that would begin another header is not sent at all. */
static void test_injection(void **state)
{
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, any);
  struct kube_config config = trusting(s);
  config.as.user = copy_of("a\r\nX-Evil: 1");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, "INTERNAL/transport");
  assert_int_equal(wire_seen(s).requests, 0);
  kube_client_close(c);
  wire_stop(s);
}

/* W35: whoever it names gets neither request nor credential. */
static void test_redirect(void **state)
{
  char headers[128];
  (void)state;
  struct wire_server *other = wire_start(any, NULL);
  snprintf(headers, sizeof headers, "Location: %s/\r\n", wire_url(other));
  const struct wire_answer rows[] = {{.http = 302, .headers = headers, ALWAYS},
                                     {0}};
  struct wire_server *s = tls_server(WIRE_GOOD, rows);
  struct kube_config config = trusting(s);
  config.token = copy_of("secret");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, "INTERNAL/redirect-refused 302");
  assert_answer(c, "list nodes", "INTERNAL/redirect-refused 302");
  assert_int_equal(wire_seen(s).requests, 2);
  assert_int_equal(wire_seen(other).connections, 0);
  kube_client_close(c);
  wire_stop(s);
  wire_stop(other);
}

/* W12, W13: a refused credential is read anew, once a request. */
static void test_token_file(void **state)
{
  static const struct wire_answer rows[] = {{.body = NODE_N},
                                            {.http = 401},
                                            {.body = NODE_N},
                                            {.http = 401, ALWAYS},
                                            {0}};
  static const char *const sent[] = {"one", "one", "two", "two", "three"};
  char path[256], expected[32];
  (void)state;
  folder_text(&disk, "token", "one\n");
  folder_path(&disk, "token", path, sizeof path);
  assert_int_equal(chmod(path, 0600), 0);
  struct wire_server *s = tls_server(WIRE_GOOD, rows);
  struct kube_config config = trusting(s);
  config.token_file = copy_of(path);
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, OBJECT);
  folder_text(&disk, "token", "two\n");
  assert_answer(c, GET, OBJECT);
  folder_text(&disk, "token", "three\n");
  assert_answer(c, GET, "UNAUTHORIZED/unauthenticated 401");
  assert_int_equal(wire_seen(s).requests, COUNT(sent));
  for (unsigned i = 0; i < COUNT(sent); i++) {
    snprintf(expected, sizeof expected, "Bearer %s\n", sent[i]);
    assert_string_equal(wire_header(s, i, "Authorization"), expected);
  }
  kube_client_close(c);
  wire_stop(s);
}

/* Nothing else could be offered. */
static void test_fixed_token(void **state)
{
  static const struct wire_answer rows[] = {{.http = 401, ALWAYS}, {0}};
  (void)state;
  struct wire_server *s = tls_server(WIRE_GOOD, rows);
  struct kube_config config = trusting(s);
  config.token = copy_of("secret");
  struct kube_client *c = client_of(&config);
  assert_answer(c, GET, "UNAUTHORIZED/unauthenticated 401");
  assert_int_equal(wire_seen(s).requests, 1);
  kube_client_close(c);
  wire_stop(s);
}

static int begin(void **state)
{
  wire_pki_make(&pki);
  folder_make(&disk);
  return ignore_pipe(state);
}

static int end(void **state)
{
  (void)state;
  wire_pki_free(&pki);
  folder_remove(&disk);
  return 0;
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_no_tls),
      cmocka_unit_test(test_bad_authority),
      cmocka_unit_test(test_reuse),
      cmocka_unit_test(test_two_clusters),
      cmocka_unit_test(test_client_certificate),
      cmocka_unit_test(test_credentials),
      cmocka_unit_test(test_impersonation),
      cmocka_unit_test(test_injection),
      cmocka_unit_test(test_redirect),
      cmocka_unit_test(test_token_file),
      cmocka_unit_test(test_fixed_token),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(trusts); i++) {
    add_row(&rows, "trust", trusts[i].what, test_trust, &trusts[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows_with(&rows, "live tls", begin, end);
}
