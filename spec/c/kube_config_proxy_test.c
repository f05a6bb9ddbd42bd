/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kube/config_proxy.h"
#include "kube/config_read.h"

#include "rows.h"

#define SECRET "hunter2"
#define P      "http://p:3128"

static const struct row {
  const char *server;
  const char *env[3][2]; /* name, value */
  const char *proxy;     /* "": none; or the error's message */
} * now;

static const char *env(const char *name)
{
  for (size_t i = 0; i < 3 && now->env[i][0] != NULL; i++) {
    if (strcmp(now->env[i][0], name) == 0) {
      return now->env[i][1];
    }
  }
  return NULL;
}

static void check(const struct row *row)
{
  const struct kube_config_options options = {.env = env};
  struct kube_config config = {0};
  struct aicr_error err = {0};
  now = row;
  assert_true(kube_config_copy(&config.server, row->server, &err));
  bool ok = kube_config_take_env_proxy(&options, &config, &err);
  const char *seen = !ok                        ? err.message
                     : config.env_proxy == NULL ? ""
                                                : config.env_proxy;
  if (strcmp(seen, row->proxy) != 0) {
    fail_msg("%s, %s=%s: got \"%s\", expected \"%s\"", row->server,
             row->env[1][0], row->env[1][1], seen, row->proxy);
  }
  assert_true(ok || strcmp(err.reason, "config-invalid") == 0);
  assert_null(strstr(ok ? "" : err.message, SECRET));
  kube_config_free(&config);
}

static void check_all(const struct row *rows, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    check(&rows[i]);
  }
}
#define CHECK(rows) check_all(rows, sizeof(rows) / sizeof(rows)[0])

/* Each was asked of kubectl 1.34 as well. */
static void test_which(void **state)
{
  static const struct row rows[] = {
      {"https://h:6443", {{NULL}}, ""},
      {"https://h:6443", {{"HTTPS_PROXY", P}}, P},
      {"https://h:6443", {{"https_proxy", P}}, P},
      {"https://h:6443", {{"HTTPS_PROXY", ""}, {"https_proxy", P}}, P},
      {"https://h:6443",
       {{"HTTPS_PROXY", P}, {"https_proxy", "http://lower"}},
       P},
      {"https://h:6443", {{"HTTP_PROXY", P}, {"ALL_PROXY", P}}, ""},
      {"http://h:8001", {{"HTTP_PROXY", P}, {"HTTPS_PROXY", "http://t"}}, P},
      {"http://h:8001", {{"HTTPS_PROXY", P}}, ""},
      {"https://h:6443", {{"HTTPS_PROXY", "p:3128"}}, P},
      {"https://h", {{"HTTPS_PROXY", "socks5h://p"}}, "socks5h://p"},
  };
  (void)state;
  CHECK(rows);
}

/* Who reaches a cluster on this machine has no use for the site's proxy. */
static void test_loopback(void **state)
{
  static const char *const servers[] = {
      "https://127.0.0.1:6443", "https://127.3.2.1", "https://[::1]:1",
      "https://[::ffff:127.0.0.1]:1", "https://localhost:6443/prefix"};
  (void)state;
  for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
    check(&(struct row){servers[i], {{"HTTPS_PROXY", P}}, ""});
  }
  check(&(struct row){"https://localhost.example", {{"HTTPS_PROXY", P}}, P});
}

static void past(const char *server, const char *no_proxy, bool is_past)
{
  check(&(struct row){
      server, {{"HTTPS_PROXY", P}, {"NO_PROXY", no_proxy}}, is_past ? "" : P});
}

static void test_addresses(void **state)
{
  const char *v4 = "https://198.18.2.2:6443", *v6 = "https://[fd00::12]:6443";
  (void)state;
  past(v4, "*", true);
  past(v4, "198.18.2.2", true);
  past(v4, "198.18.2.2:6443", true);
  past(v4, "198.18.2.2:443", false);
  past("https://198.18.2.2/x", "198.18.2.2:443", true);
  past(v4, "198.18.0.0/15", true);
  past(v4, "198.18.3.77/23", true);
  past(v4, "198.18.3.0/24", false);
  past(v4, "0.0.0.0/0", true);
  past(v4, "::/0", false);
  past(v4, "198.18.2.2/33", false);
  past(v4, "198.18.2.2/", false);
  past(v4, "10.0.0.1 ,\t198.18.0.0/16 ,", true);
  past(v4, ",,", false);
  past(v4, ".18.2.2", false);
  past(v4, "*.18.2.2", false);
  past(v4, ":6443", false);
  past(v6, "fd00::12", true);
  past(v6, "fd00:0::0:12", true);
  past(v6, "[fd00::12]:6443", true);
  past(v6, "[fd00::12]", true);
  past(v6, "[fd00::12]:1", false);
  past(v6, "fd00::/8", true);
  past(v6, "fd00::/128", false);
  past(v6, "fd00::/129", false);
  past(v6, "0.0.0.0/0", false);
  past(v6, "[fd00::12", false);
}

static void test_domains(void **state)
{
  const char *s = "https://api.Site.example:6443/k8s";
  (void)state;
  past(s, "api.site.EXAMPLE", true);
  past(s, "site.example", true);
  past(s, ".site.example", true);
  past(s, "*.site.example", true);
  past(s, "*.site.example:6443", true);
  past(s, "*.site.example:443", false);
  past(s, ".api.site.example", false);
  past(s, "ite.example", false);
  past(s, "x.api.site.example", false);
  past(s, "*.", false);
  past(s, "other.example,example", true);
  past(s, "198.18.0.0/15", false);
}

static void test_order(void **state)
{
  (void)state;
  check(&(struct row){
      "https://h",
      {{"HTTPS_PROXY", P}, {"NO_PROXY", "h"}, {"no_proxy", "other"}},
      ""});
  check(&(struct row){"https://h",
                      {{"HTTPS_PROXY", P}, {"NO_PROXY", ""}, {"no_proxy", "h"}},
                      ""});
}

/* A password may be anywhere in what is no URL. */
static void test_bad(void **state)
{
  static const struct row rows[] = {
      {"https://h:6443",
       {{"HTTPS_PROXY", "foo://u:" SECRET "@p"}},
       "the environment's HTTPS_PROXY is neither http://, https:// nor "
       "socks5://; correct it, or go past it: NO_PROXY=h"},
      {"https://h:6443",
       {{"https_proxy", "http://u:" SECRET "@"}},
       "the environment's https_proxy has no valid host; correct it, or go "
       "past it: NO_PROXY=h"},
      {"https://h:6443",
       {{"HTTPS_PROXY", SECRET " " SECRET}},
       "the environment's HTTPS_PROXY has a character that has to be escaped; "
       "correct it, or go past it: NO_PROXY=h"},
      {"https://h:6443",
       {{"HTTPS_PROXY", "foo://u:" SECRET "@p"}, {"NO_PROXY", "h"}},
       ""},
  };
  (void)state;
  CHECK(rows);
}

/* What a kubeconfig says of its proxy comes before. */
static void test_own(void **state)
{
  static const struct row row = {"https://h", {{"HTTPS_PROXY", P}}, ""};
  const struct kube_config_options options = {.env = env};
  struct kube_config config = {0};
  struct aicr_error err = {0};
  (void)state;
  now = &row;
  assert_true(kube_config_copy(&config.server, row.server, &err));
  assert_true(kube_config_copy(&config.proxy, "http://own", &err));
  assert_true(kube_config_take_env_proxy(&options, &config, &err));
  assert_null(config.env_proxy);
  kube_config_free(&config);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_which),     cmocka_unit_test(test_loopback),
      cmocka_unit_test(test_addresses), cmocka_unit_test(test_domains),
      cmocka_unit_test(test_order),     cmocka_unit_test(test_bad),
      cmocka_unit_test(test_own),
  };
  return cmocka_run_group_tests_name("kube config proxy", tests, NULL, NULL);
}
