/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"

/* A definition that is made anew, with another scope, while the client knows
 * the old one. */

#define LIST(scope)                                                            \
  "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":"    \
  "\"acme.com\"},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Current\"," \
  "\"resources\":[{\"resource\":\"gadgets\",\"responseKind\":{\"kind\":"       \
  "\"Gadget\"},\"scope\":\"" scope "\"}]}]}]}"
#define API                                                                    \
  {                                                                            \
    .match = "GET /api ", .body = "{\"kind\":\"APIVersions\"}"                 \
  }
#define SERVES(scope)                                                          \
  API,                                                                         \
  {                                                                            \
    .match = "GET /apis ", .body = LIST(scope)                                 \
  }
#define GADGET                                                                 \
  "{\"apiVersion\":\"acme.com/v1\",\"kind\":\"Gadget\",\"metadata\":"          \
  "{\"name\":\"g\",\"namespace\":\"a\"}}"
#define EMPTY                                                                  \
  {                                                                            \
    .body = "{\"items\":[]}", .times = WIRE_ALWAYS                             \
  }

static const struct wire_answer cluster[] = {SERVES("Cluster"), EMPTY, {0}};
static const struct wire_answer both[] = {SERVES("Namespaced"), EMPTY, {0}};

static void test_to_a_namespace(void **state)
{
  (void)state;
  struct wire_server *s = wire_start(cluster, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "list gadgets.acme.com", "end");
  wire_rows(s, both);
  assert_answer(c, "list gadgets.acme.com ns=a", "end");
  assert_string_equal(
      requests_of(s),
      "discovery\nGET /apis/acme.com/v1/namespaces/a/gadgets?limit=500\n");
  kube_client_close(c);
  wire_stop(s);
}

static void test_to_the_cluster(void **state)
{
  static const struct wire_answer rows[] = {
      SERVES("Cluster"), {.match = "/gadgets/g ", .body = GADGET}, {0}};
  (void)state;
  struct wire_server *s = wire_start(both, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "list gadgets.acme.com", "end");
  wire_rows(s, rows);
  assert_begins(c, "get gadgets.acme.com name=g", "object");
  assert_string_equal(requests_of(s),
                      "discovery\nGET /apis/acme.com/v1/gadgets/g\n");
  kube_client_close(c);
  wire_stop(s);
}

/* What is wrong with a fresh answer, too, is asked for once only. */
static void test_wrong(void **state)
{
  static const char wrong[] = "INVALID_REQUEST/bad-request";
  (void)state;
  struct wire_server *s = wire_start(cluster, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "list gadgets.acme.com ns=a", wrong);
  assert_string_equal(requests_of(s), "discovery\n");
  wire_rows(s, cluster);
  assert_answer(c, "list gadgets.acme.com ns=a", wrong);
  assert_string_equal(requests_of(s), "discovery\n");
  assert_answer(c, "list nodes ns=a", wrong);
  assert_string_equal(requests_of(s), "discovery\n");
  kube_client_close(c);
  wire_stop(s);
}

static void create(struct kube_client *c, const char *expected)
{
  struct kube_call_spec spec = {.verb = KUBE_CREATE,
                                .api_version = "acme.com/v1",
                                .kind = "Gadget",
                                .run_namespace = "a",
                                .body = "{}",
                                .body_len = 2};
  const char *text = NULL;
  size_t len = 0;
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  assert_int_equal(next_news(call, &text, &len), KUBE_CALL_OBJECT);
  assert_int_equal(len, strlen(expected));
  assert_memory_equal(text, expected, len);
  kube_call_close(call);
}

/* The run's namespace is meant only where there is one. */
static void test_default_namespace(void **state)
{
  static const char made[] = "{\"apiVersion\":\"acme.com/v1\",\"kind\":"
                             "\"Gadget\",\"metadata\":{\"name\":\"g\"}}";
  static const struct wire_answer first[] = {
      SERVES("Namespaced"),
      {.match = "/gadgets ", .http = 201, .body = GADGET},
      {0}};
  static const struct wire_answer then[] = {
      SERVES("Cluster"),
      {.match = "/namespaces/a/gadgets ",
       .http = 404,
       .type = "text/plain",
       .body = "404 page not found\n"},
      {.match = "GET /apis/acme.com/v1 ",
       .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"acme.com/v1\","
               "\"resources\":[{\"name\":\"gadgets\",\"kind\":\"Gadget\"}]}"},
      {.match = "/gadgets ", .http = 201, .body = made},
      {0}};
  (void)state;
  struct wire_server *s = wire_start(first, NULL);
  struct kube_client *c = client_at(wire_url(s));
  create(c, GADGET);
  wire_rows(s, then);
  create(c, made);
  assert_string_equal(requests_of(s),
                      "POST /apis/acme.com/v1/namespaces/a/gadgets\n"
                      "GET /apis/acme.com/v1\ndiscovery\n"
                      "POST /apis/acme.com/v1/gadgets\n");
  kube_client_close(c);
  wire_stop(s);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_to_a_namespace),
      cmocka_unit_test(test_to_the_cluster),
      cmocka_unit_test(test_wrong),
      cmocka_unit_test(test_default_namespace),
  };
  forget_proxies();
  return cmocka_run_group_tests_name("live scope", tests, ignore_pipe, NULL);
}
