/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"
#include "wire_io.h"

/* What a server says it serves, in all the shapes that it says it in. */

#define ALWAYS .times = WIRE_ALWAYS
#define SHAPES "spec/fixtures/kube/shapes/"
#define V2                                                                     \
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define V2BETA1                                                                \
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
#define LIST(items) "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[" items "]}"
#define GROUP(name, versions)                                                  \
  "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define VERSION(name, fresh, resources)                                        \
  "{\"version\":\"" name "\",\"freshness\":\"" fresh                           \
  "\",\"resources\":[" resources "]}"
#define RESOURCE(name, single, kind, short)                                    \
  "{\"resource\":\"" name "\",\"responseKind\":{\"group\":\"\","               \
  "\"version\":\"\",\"kind\":\"" kind "\"},\"scope\":\"Cluster\","             \
  "\"singularResource\":\"" single                                             \
  "\",\"shortNames\":[\"" short "\"],\"subresources\":[{\"subresource\":"      \
                                "\"status\"}]}"
#define STALE(name) "{\"version\":\"" name "\",\"freshness\":\"Stale\"}"
#define GADGETS     RESOURCE("gadgets", "gadget", "Gadget", "gd")

#define API                                                                    \
  {                                                                            \
    .match = "GET /api ", .body = LIST("{\"metadata\":{}}")                    \
  }
#define APIS(text)                                                             \
  {                                                                            \
    .match = "GET /apis ", .body = LIST(text)                                  \
  }
#define ACME GROUP("acme.com", VERSION("v1", "Current", GADGETS))
#define EMPTY                                                                  \
  {                                                                            \
    .body = "{\"items\":[]}", ALWAYS                                           \
  }
#define FROM(gv) "discovery\nGET /apis/" gv "/gadgets?limit=500\n"
#define LEGACY(v)                                                              \
  {                                                                            \
    .match = "GET /api ", .body = "{\"kind\":\"APIVersions\"," v               \
  }
#define GROUPS(text)                                                           \
  {                                                                            \
    .match = "GET /apis ",                                                     \
    .body = "{\"kind\":\"APIGroupList\",\"groups\":[" text "]}"                \
  }
#define OF(gv, text)                                                           \
  {                                                                            \
    .match = "/" gv " ",                                                       \
    .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"" gv             \
            "\",\"resources\":[" text "]}"                                     \
  }
#define OLD_GADGETS                                                            \
  "{\"name\":\"gadgets\",\"singularName\":\"gadget\",\"namespaced\":false,"    \
  "\"kind\":\"Gadget\",\"shortNames\":[\"gd\"]},{\"name\":\"gadgets/status\"," \
  "\"kind\":\"Gadget\"}"
#define DENIED                                                                 \
  .http = 403, .body = STATUS "\"reason\":\"Forbidden\",\"message\":\"no\"}"
#define DOWN .http = 503, .body = STATUS "\"reason\":\"ServiceUnavailable\"}"
#define LONG                                                                   \
  "a23456789.a23456789.a23456789.a23456789.a23456789.a23456789.a23456789."     \
  "a23456789.a23456789.a23456789."
#define NO_API "NOT_FOUND/api-not-served 404 not-served verdict"
#define WRONG  "INTERNAL/unexpected-response 200"
#define DARK   "INTERNAL/discovery-incomplete"

static const struct live_row table[] = {
    {"aggregated",
     {{.match = "GET /api ", .body = LIST(""), .type = V2},
      {.match = "GET /apis ", .body = LIST(ACME), .type = V2},
      EMPTY},
     "list gadgets",
     "end",
     FROM("acme.com/v1")},
    {"aggregated, before 1.30",
     {{.match = "GET /api ", .body = LIST(""), .type = V2BETA1},
      {.match = "GET /apis ", .body = LIST(ACME), .type = V2BETA1},
      EMPTY},
     "list gadgets.acme.com",
     "end",
     FROM("acme.com/v1")},
    {"a list whose API changes between two pages: it does not begin again",
     {API,
      APIS(ACME),
      {.body = "{\"kind\":\"GadgetList\",\"apiVersion\":\"acme.com/v1\","
               "\"metadata\":{\"continue\":\"t1\"},\"items\":[" NODE("a") "]}"},
      {.http = 404, .type = TEXT, .body = "404 page not found\n"}},
     "list gadgets",
     "a INTERNAL/page-not-found cut",
     FROM("acme.com/v1") "GET /apis/acme.com/v1/gadgets?limit=500"
                         "&continue=t1\n"},
    {"compressed, in chunks",
     {{.match = "GET /api ", .body = LIST(""), .how = WIRE_GZIP},
      {.match = "GET /apis ",
       .body = LIST(ACME),
       .how = WIRE_GZIP | WIRE_CHUNKED},
      EMPTY},
     "list gd",
     "end",
     FROM("acme.com/v1")},
    {"W57 legacy",
     {LEGACY("\"versions\":[]}"),
      GROUPS("{\"name\":\"acme.com\",\"versions\":[{\"version\":\"v1\"},"
             "{\"version\":\"v2\"}],\"preferredVersion\":{\"version\":"
             "\"v2\"}}"),
      OF("acme.com/v2", OLD_GADGETS), OF("acme.com/v1", OLD_GADGETS), EMPTY},
     "list gadget",
     "end",
     "discovery\nGET /apis/acme.com/v2\nGET /apis/acme.com/v1\n"
     "GET /apis/acme.com/v2/gadgets?limit=500\n"},
    {"W57 legacy, core",
     {LEGACY("\"versions\":[\"v1\"]}"), GROUPS(""), OF("v1", OLD_GADGETS),
      EMPTY},
     "list gd",
     "end",
     "discovery\nGET /api/v1\nGET /api/v1/gadgets?limit=500\n"},
    {"W57 one of each",
     {{.match = "GET /api ", .body = "{\"kind\":\"APIVersions\"}"},
      APIS(ACME),
      EMPTY},
     "list gadgets",
     "end",
     FROM("acme.com/v1")},
    {"legacy, a group's server is down",
     {LEGACY("\"versions\":[]}"),
      GROUPS("{\"name\":\"down.io\",\"versions\":[{\"version\":\"v1\"}]},"
             "{\"name\":\"acme.com\",\"versions\":[{\"version\":\"v1\"}]}"),
      OF("acme.com/v1", OLD_GADGETS),
      {.match = "/down.io/v1", DOWN, ALWAYS},
      EMPTY},
     "list gadgets",
     "end",
     "discovery\nGET /apis/down.io/v1\nGET /apis/down.io/v1\n"
     "GET /apis/down.io/v1\nGET /apis/down.io/v1\nGET /apis/down.io/v1\n"
     "GET /apis/acme.com/v1\nGET /apis/acme.com/v1/gadgets?limit=500\n"},
    {"legacy, a group and a version whose names are too long for any",
     {LEGACY("\"versions\":[\"" LONG "\"]}"),
      GROUPS("{\"name\":\"" LONG LONG LONG "\",\"versions\":[{\"version\":"
             "\"v1\"}]},{\"name\":\"acme.com\",\"versions\":[{\"version\":"
             "\"v1\"}]}"),
      OF("acme.com/v1", OLD_GADGETS), EMPTY},
     "list gadgets",
     "end",
     "discovery\nGET /apis/acme.com/v1\n"
     "GET /apis/acme.com/v1/gadgets?limit=500\n"},
    {"legacy, what was looked for is down",
     {LEGACY("\"versions\":[]}"),
      GROUPS("{\"name\":\"down.io\",\"versions\":[{\"version\":\"v1\"}]}"),
      {.match = "/down.io/v1", .http = 404, .type = TEXT, ALWAYS}},
     "list gizmos.down.io",
     DARK,
     "discovery\nGET /apis/down.io/v1\n"},
    {"a stale group beside the one that is meant",
     {API, APIS(GROUP("metrics.k8s.io", STALE("v1beta1")) "," ACME), EMPTY},
     "list gadgets.acme.com",
     "end",
     FROM("acme.com/v1")},
    {"a stale group that is meant",
     {API, APIS(GROUP("metrics.k8s.io", STALE("v1beta1")))},
     "list pods.metrics.k8s.io",
     DARK,
     "discovery\n"},
    {"a name that a stale group may have",
     {API, APIS(GROUP("metrics.k8s.io", STALE("v1beta1")))},
     "list gizmos",
     DARK,
     "discovery\n"},
    {"another group lacks it for certain",
     {API, APIS(GROUP("metrics.k8s.io", STALE("v1beta1")) "," ACME)},
     "list gizmos.acme.com",
     NO_API,
     "discovery\n"},
    {"the preferred version is stale",
     {API,
      APIS(
          GROUP("acme.com", STALE("v2") "," VERSION("v1", "Current", GADGETS))),
      EMPTY},
     "list gadgets.acme.com",
     "end",
     FROM("acme.com/v1")},
    {"a stale version that is meant",
     {API, APIS(GROUP("acme.com",
                      STALE("v2") "," VERSION("v1", "Current", GADGETS)))},
     "list gadgets.v2.acme.com",
     DARK,
     "discovery\n"},
    {"a version that is not served",
     {API, APIS(ACME)},
     "list gadgets.v3.acme.com",
     NO_API,
     "discovery\n"},
    {"a group that is not served",
     {API, APIS(ACME)},
     "list gadgets.other.io",
     NO_API,
     "discovery\n"},
    {"a name without a group that is nearly another's",
     {API, APIS(ACME)},
     "list gadgetz",
     "INVALID_REQUEST/bad-request",
     "discovery\n"},
    {"a name with a group that is nearly another's",
     {API, APIS(ACME)},
     "list gadgetz.acme.com",
     NO_API,
     "discovery\n"},
    {"two groups have it",
     {API, APIS(ACME "," GROUP("b.io", VERSION("v1", "Current", GADGETS)))},
     "list gadgets",
     "INVALID_REQUEST/ambiguous",
     "discovery\n"},
    {"two groups have it, one is meant",
     {API, APIS(ACME "," GROUP("b.io", VERSION("v1", "Current", GADGETS))),
      EMPTY},
     "list gadgets.b.io",
     "end",
     FROM("b.io/v1")},
    {"the plural of one version before another's short name",
     {API,
      APIS(GROUP(
          "acme.com",
          VERSION("v2", "Current",
                  RESOURCE("gears", "gear", "Gear",
                           "gadgets")) "," VERSION("v1", "Current", GADGETS))),
      EMPTY},
     "list gadgets.acme.com",
     "end",
     FROM("acme.com/v1")},
    {"a subresource is none",
     {LEGACY("\"versions\":[]}"),
      GROUPS("{\"name\":\"acme.com\",\"versions\":[{\"version\":\"v1\"}]}"),
      OF("acme.com/v1", "{\"name\":\"x/gadgets\",\"kind\":\"Gadget\"}")},
     "list gadgets.acme.com",
     NO_API,
     "discovery\nGET /apis/acme.com/v1\n"},
    {"forbidden, the name is one of those that are known",
     {{DENIED, ALWAYS, .match = "GET /api"}, EMPTY},
     "list networks.networking.gke.io",
     "UNAUTHORIZED/forbidden 403",
     "discovery\nGET /apis/networking.gke.io/v1/networks?limit=500\n"
     "GET /apis/networking.gke.io/v1\n"},
    {"forbidden, and what is known may be read",
     {{.match = "networks?limit", .body = "{\"items\":[]}"}, {DENIED, ALWAYS}},
     "list networks.networking.gke.io",
     "end",
     "discovery\nGET /apis/networking.gke.io/v1/networks?limit=500\n"},
    {"forbidden, and not the version that is known",
     {{DENIED, ALWAYS}},
     "list networks.v7.networking.gke.io",
     "UNAUTHORIZED/forbidden 403",
     "discovery\n"},
    {"forbidden, the name is not known",
     {{DENIED, ALWAYS}},
     "list gadgets.acme.com",
     "UNAUTHORIZED/forbidden 403",
     "discovery\n"},
    {"the credentials are refused",
     {{.http = 401, ALWAYS}},
     "list gadgets",
     "UNAUTHORIZED/unauthenticated 401",
     "discovery\n"},
    {"no such page",
     {{.http = 404, .type = TEXT, .body = "404 page not found\n", ALWAYS}},
     "list gadgets",
     "INTERNAL/unexpected-response",
     "discovery\n"},
    {"a balancer's page",
     {{.type = "text/html", .body = "<html>", ALWAYS}},
     "list gadgets",
     DARK,
     "discovery\n"},
    {"another document",
     {{.body = "{\"kind\":\"Status\",\"items\":[]}", ALWAYS}},
     "list gadgets",
     DARK,
     "discovery\n"},
    {"no text", {{.body = "", ALWAYS}}, "list gadgets", WRONG, "discovery\n"},
    {"a redirect",
     {{.http = 302, .headers = "Location: /x\r\n", ALWAYS}},
     "list gadgets",
     "INTERNAL/redirect-refused 302",
     "discovery\n"},
    {"one of the two is broken",
     {{.match = "GET /api ", .body = "{\"kind\":\"APIGrou"}, APIS(ACME)},
     "list gizmos",
     DARK,
     "discovery\n"},
    {"no answer",
     {{.how = WIRE_SILENT, ALWAYS}},
     "list gadgets in=3000",
     "TIMEOUT/deadline deadline",
     "discovery\n"},
    {"a group's resources never come",
     {LEGACY("\"versions\":[\"v1\"]}"),
      GROUPS(""),
      {.how = WIRE_SILENT, ALWAYS}},
     "list gadgets in=3000",
     "TIMEOUT/deadline deadline",
     "discovery\nGET /api/v1\n"},
};

/* Of a document that is cut nothing follows: not that something is served, not
 * that it is not. */
static void test_cut(void **state)
{
  static const unsigned ways[] = {WIRE_CHUNKED, WIRE_ENDLESS};
  struct wire_answer rows[] = {
      API, {.match = "GET /apis ", .body = LIST(ACME), ALWAYS}, {0}};
  struct wire_answer none[] = {{0}};
  (void)state;
  struct wire_server *s = wire_start(none, NULL);
  for (size_t w = 0; w < COUNT(ways); w++) {
    struct wire_text text = {NULL, 0};
    rows[1].how = ways[w];
    rows[1].cut = 0;
    wire_compose(&rows[1], &text);
    free(text.data);
    for (size_t n = 40; n < text.len - 1; n++) {
      struct aicr_buf out;
      rows[1].cut = n;
      wire_rows(s, rows);
      struct kube_client *c = client_at(wire_url(s));
      aicr_buf_init(&out, 1 << 12);
      ask_live_text(c, "list gizmos.acme.com", &out);
      if (strncmp(out.data, "SERVICE_UNAVAILABLE/connection-lost ", 36) != 0 &&
          (ways[w] != WIRE_ENDLESS ||
           (strcmp(out.data, DARK) != 0 && strcmp(out.data, WRONG) != 0))) {
        fail_msg("after %zu bytes: %s", n, out.data);
      }
      aicr_buf_free(&out);
      kube_client_close(c);
    }
  }
  wire_stop(s);
}

static void grow_old(struct kube_client *c)
{
  live_of(c)->discovered_ms -= 2000;
}

/* A CRD that comes, goes and comes back between calls. */
static void test_changes(void **state)
{
  static const struct wire_answer without[] = {
      API, APIS(""), API, APIS(""), {0}};
  static const struct wire_answer with[] = {API, APIS(ACME), EMPTY, {0}};
  static const struct wire_answer gone[] = {
      API,
      APIS(""),
      {.http = 404, .type = TEXT, .body = "404 page not found\n", ALWAYS},
      {0}};
  (void)state;
  struct wire_server *s = wire_start(without, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "list gadgets.acme.com", NO_API);
  assert_answer(c, "list gadgets.acme.com", NO_API);
  /* It may have come between the two. */
  assert_string_equal(requests_of(s), "discovery\ndiscovery\n");
  wire_rows(s, with);
  assert_answer(c, "list gadgets.acme.com", "end");
  assert_answer(c, "list gadgets.acme.com", "end");
  wire_rows(s, gone);
  assert_answer(c, "list gadgets.acme.com", NO_API);
  assert_string_equal(requests_of(s),
                      "GET /apis/acme.com/v1/gadgets?limit=500\n"
                      "GET /apis/acme.com/v1\ndiscovery\n");
  wire_rows(s, with);
  assert_answer(c, "list gadgets.acme.com", "end");
  kube_client_close(c);
  wire_stop(s);
}

/* What failed is not remembered for long, and what is found stays. */
static void test_recovery(void **state)
{
  static const struct wire_answer down[] = {{DOWN, ALWAYS}, {0}};
  static const struct wire_answer up[] = {API, APIS(ACME), EMPTY, {0}};
  (void)state;
  struct wire_server *s = wire_start(down, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "list gadgets", "SERVICE_UNAVAILABLE/unavailable 503");
  assert_int_equal(wire_seen(s).requests, 10);
  wire_rows(s, up);
  grow_old(c);
  assert_answer(c, "list gadgets", "end");
  grow_old(c);
  assert_answer(c, "list gadgets", "end");
  assert_string_equal(
      requests_of(s),
      FROM("acme.com/v1") "GET /apis/acme.com/v1/gadgets?limit=500\n");
  kube_client_close(c);
  wire_stop(s);
}

/* One discovery for all that wait for it; what needs none does not wait. */
static void test_shared(void **state)
{
  static const struct wire_answer rows[] = {
      {.match = "GET /api ", .body = LIST(""), .how = WIRE_HOLD},
      {.match = "GET /apis ", .body = LIST(ACME), .how = WIRE_HOLD},
      EMPTY,
      {0}};
  static const struct kube_call_spec gadgets = {.verb = KUBE_LIST,
                                                .resource = "gadgets"};
  static const struct kube_call_spec nodes = {.verb = KUBE_LIST,
                                              .resource = "nodes"};
  void *owner = NULL;
  const char *text = NULL;
  size_t len = 0;
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  struct kube_call *dropped = kube_client_start(c, &gadgets, NULL);
  kube_client_start(c, &gadgets, NULL);
  kube_client_start(c, &gadgets, NULL);
  struct kube_call *quick = kube_client_start(c, &nodes, NULL);
  struct kube_call *news = NULL;
  while (news == NULL) {
    news = kube_client_poll(c, 1000, &owner);
  }
  assert_ptr_equal(news, quick);
  assert_int_equal(kube_call_next(quick, &text, &len), KUBE_CALL_END);
  kube_call_close(dropped);
  wire_release(s);
  for (int i = 0; i < 2;) {
    news = kube_client_poll(c, 1000, &owner);
    if (news != NULL) {
      assert_int_equal(kube_call_next(news, &text, &len), KUBE_CALL_END);
      i++;
    }
  }
  assert_int_equal(wire_seen(s).requests, 5);
  kube_client_close(c);
  wire_stop(s);
}

static void create(struct kube_client *c, const char *api_version,
                   const char *kind, const char *result)
{
  const struct kube_call_spec spec = {.verb = KUBE_CREATE,
                                      .api_version = api_version,
                                      .kind = kind,
                                      .content_type = J,
                                      .body = "{}",
                                      .body_len = 2};
  struct aicr_buf out;
  aicr_buf_init(&out, 1 << 12);
  ask_live(c, &spec, &out);
  assert_string_equal(out.data, result);
  aicr_buf_free(&out);
}

#define GADGET  OBJECT_OF("acme.com/v1", "Gadget", "g")
#define MADE_NS OBJECT_OF("v1", "Namespace", "a")
#define NETWORK OBJECT_OF("networking.gke.io/v1", "Network", "w")

/* An object says its kind, whose case counts. */
static void test_kinds(void **state)
{
  static const struct wire_answer rows[] = {
      {.match = "GET /api ", .body = LIST("{\"metadata\":{}}"), ALWAYS},
      {.match = "GET /apis ", .body = LIST(ACME), ALWAYS},
      {.match = "/gadgets ", .http = 201, .body = GADGET},
      {.match = "/namespaces ", .http = 201, .body = MADE_NS},
      {0}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  create(c, "acme.com/v1", "Gadget", "object " GADGET);
  create(c, "acme.com/v1", "gadget", NO_API);
  create(c, "acme.com/v2", "Gadget", NO_API);
  create(c, "v1", "Gadget", NO_API);
  create(c, "v1", "Namespace", "object " MADE_NS);
  assert_string_equal(requests_of(s), "discovery\n"
                                      "POST /apis/acme.com/v1/gadgets\n"
                                      "discovery\ndiscovery\ndiscovery\n"
                                      "POST /api/v1/namespaces\n");
  kube_client_close(c);
  wire_stop(s);
}

/* Where discovery is forbidden, a known kind is as good as a known name. */
static void test_forbidden_kind(void **state)
{
  static const struct wire_answer rows[] = {
      {.match = "POST", .http = 201, .body = NETWORK}, {DENIED, ALWAYS}, {0}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  create(c, "networking.gke.io/v1", "Network", "object " NETWORK);
  create(c, "networking.gke.io/v7", "Network", "UNAUTHORIZED/forbidden 403");
  kube_client_close(c);
  wire_stop(s);
}

static void test_accept(void **state)
{
  static const struct wire_answer rows[] = {API, APIS(ACME), EMPTY, {0}};
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, "list gadgets", "end");
  assert_string_equal(wire_header(s, 0, "Accept"),
                      V2 "," V2BETA1 ",application/json\n");
  assert_string_equal(wire_header(s, 2, "Accept"), "application/json\n");
  kube_client_close(c);
  wire_stop(s);
}

/* The body of a real server's answer; the caller frees. */
static char *shape(const char *name)
{
  char path[256];
  static char text[65536];
  snprintf(path, sizeof path, SHAPES "%s.http", name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t len = fread(text, 1, sizeof text - 1, f);
  assert_true(feof(f));
  fclose(f);
  text[len] = '\0';
  const char *body = strstr(text, "\r\n\r\n");
  body = body == NULL ? strstr(text, "\n\n") : body;
  assert_non_null(body);
  return copy_of(body);
}

/* What a server of 1.34 says. */
static void test_real(void **state)
{
  static const char *const asked[][2] = {
      {"list jobsets", "/apis/jobset.x-k8s.io/v1alpha2/jobsets"},
      {"list trainjob", "/apis/trainer.kubeflow.org/v1alpha1/trainjobs"},
      {"list hpa", "/apis/autoscaling/v2/horizontalpodautoscalers"},
      {"list multis.verify.test", "/apis/verify.test/v1/multis"},
      {"list multis.v1beta1.verify.test", "/apis/verify.test/v1beta1/multis"},
      {"list pc", "/apis/scheduling.k8s.io/v1/priorityclasses"},
      {"list events.events.k8s.io", "/apis/events.k8s.io/v1/events"},
      {"list networks.networking.gke.io", NULL},
  };
  (void)state;
  char *api = shape("200-discovery-api-v2");
  char *apis = shape("200-discovery-apis-v2");
  const struct wire_answer rows[] = {{.match = "GET /api ",
                                      .body = api,
                                      .type = V2,
                                      .how = WIRE_CHUNKED,
                                      ALWAYS},
                                     {.match = "GET /apis ",
                                      .body = apis,
                                      .type = V2,
                                      .how = WIRE_GZIP,
                                      ALWAYS},
                                     EMPTY,
                                     {0}};
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  struct aicr_buf expected;
  aicr_buf_init(&expected, 1 << 16);
  aicr_buf_adds(&expected, "discovery\n");
  for (size_t i = 0; i < COUNT(asked); i++) {
    assert_answer(c, asked[i][0], asked[i][1] == NULL ? NO_API : "end");
    if (asked[i][1] != NULL) {
      aicr_buf_addf(&expected, "GET %s?limit=500\n", asked[i][1]);
    } else {
      aicr_buf_adds(&expected, "discovery\n");
    }
  }
  assert_string_equal(requests_of(s), expected.data);
  aicr_buf_free(&expected);
  kube_client_close(c);
  wire_stop(s);
  aicr_free(api);
  aicr_free(apis);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_cut),      cmocka_unit_test(test_changes),
      cmocka_unit_test(test_recovery), cmocka_unit_test(test_shared),
      cmocka_unit_test(test_kinds),    cmocka_unit_test(test_forbidden_kind),
      cmocka_unit_test(test_accept),   cmocka_unit_test(test_real),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&rows, "discovery", table[i].what, test_live_row, &table[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows_with(&rows, "live discovery", ignore_pipe, NULL);
}
