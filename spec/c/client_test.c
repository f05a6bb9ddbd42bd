/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "kube/call.h"

#include "rows.h"

#include "kube_asker.h"
#include "kube_fake.h"
#include "torture.h"

#define J "application/json"
#define PAGE(items, token)                                                     \
  {                                                                            \
    200, J,                                                                    \
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"          \
        "\"continue\":\"" token "\"},\"items\":[" items "]}",                  \
        KUBE_TRANSPORT_OK, false                                               \
  }
#define BODY(text)                                                             \
  {                                                                            \
    200, J, text, KUBE_TRANSPORT_OK, false                                     \
  }
#define TYPED(type, text)                                                      \
  {                                                                            \
    200, type, text, KUBE_TRANSPORT_OK, false                                  \
  }
#define HTTP(code, text)                                                       \
  {                                                                            \
    code, J, text, KUBE_TRANSPORT_OK, false                                    \
  }
#define NEVER(transport)                                                       \
  {                                                                            \
    0, NULL, NULL, KUBE_TRANSPORT_##transport, false                           \
  }
#define REFUSE                                                                 \
  {                                                                            \
    0, NULL, NULL, KUBE_TRANSPORT_OK, true                                     \
  }
#define NODE(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define EXPIRED                                                                \
  HTTP(410, "{\"kind\":\"Status\",\"reason\":\"Expired\",\"metadata\":{"       \
            "\"continue\":\"inconsistent\"}}")
#define FIRST       "list /api/v1/nodes limit=500\n"
#define NEXT(token) "list /api/v1/nodes page=" token " limit=500\n"
#define ONE(name)   "get /api/v1/nodes/" name " limit=500\n"

struct row {
  const char *what;
  struct fake_answer answers[8];
  const char *question, *result, *requests;
};

static const struct row table[] = {
    {"one page", {PAGE(NODE("a"), "")}, "list nodes", "a end 1", FIRST},
    {"two pages",
     {PAGE(NODE("a"), "t1"), PAGE(NODE("b"), "")},
     "list nodes",
     "a b end 2",
     FIRST NEXT("t1")},
    {"every page asks the same",
     {PAGE(NODE("a"), "t1"), PAGE(NODE("b"), "")},
     "list nodes label=!x field=spec.unschedulable=a limit=3",
     "a b end 2",
     "list /api/v1/nodes label=!x field=spec.unschedulable=a limit=3\n"
     "list /api/v1/nodes label=!x field=spec.unschedulable=a page=t1 "
     "limit=3\n"},
    {"W22 an empty page with a token",
     {PAGE("", "t1"), PAGE(NODE("b"), "")},
     "list nodes",
     "b end 2",
     FIRST NEXT("t1")},
    {"W23 the same token for ever",
     {PAGE(NODE("a"), "t"), PAGE(NODE("b"), "t"), PAGE("", "t")},
     "list nodes",
     "a b INTERNAL/protocol",
     FIRST NEXT("t")},
    {"tokens that go round",
     {PAGE("", "1"), PAGE("", "2"), PAGE("", "3"), PAGE("", "2"), PAGE("", "3"),
      PAGE("", "2"), PAGE("", "3"), PAGE("", "2")},
     "list nodes",
     "INTERNAL/protocol",
     FIRST NEXT("1") NEXT("2") NEXT("3") NEXT("2")},
    {"W24 items without type",
     {BODY("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[" NODE(
         "p") "]}")},
     "list pods",
     "p end 1",
     "list /api/v1/pods limit=500\n"},
    {"W25 items null",
     {BODY("{\"items\":null}")},
     "list nodes",
     "end 1",
     FIRST},
    {"W26 items before metadata",
     {BODY("{\"items\":[" NODE("a") "],\"metadata\":{\"continue\":\"t1\"}}"),
      PAGE("", "")},
     "list nodes",
     "a end 2",
     FIRST NEXT("t1")},
    {"W21 410 after items",
     {PAGE(NODE("a"), "t1"), EXPIRED},
     "list nodes",
     "a INTERNAL/expired 410",
     FIRST NEXT("t1")},
    {"W21 410 before any item: once more from the start",
     {PAGE("", "t1"), EXPIRED, PAGE(NODE("a"), "t1"), PAGE(NODE("b"), "")},
     "list nodes",
     "a b end 3",
     FIRST NEXT("t1") FIRST NEXT("t1")},
    {"W21 410 twice",
     {PAGE("", "t1"), EXPIRED, PAGE("", "t2"), EXPIRED},
     "list nodes",
     "INTERNAL/expired 410",
     FIRST NEXT("t1") FIRST NEXT("t2")},
    {"410 on the first page",
     {EXPIRED},
     "list nodes",
     "INTERNAL/expired 410",
     FIRST},
    {"410 and then no connection",
     {PAGE("", "t1"), EXPIRED, REFUSE},
     "list nodes",
     "SERVICE_UNAVAILABLE/connect",
     FIRST NEXT("t1") FIRST},
    {"W27 the connection is lost in a page",
     {PAGE(NODE("a"), "t1"), NEVER(CUT)},
     "list nodes",
     "a SERVICE_UNAVAILABLE/connection-lost cut",
     FIRST NEXT("t1")},
    {"W27 a body that is cut between items",
     {BODY("{\"items\":[" NODE("a") "," NODE("b"))},
     "list nodes",
     "a b INTERNAL/unexpected-response 200",
     FIRST},
    {"a body that is cut after the items",
     {BODY("{\"items\":[" NODE("a") "]")},
     "list nodes",
     "a INTERNAL/unexpected-response 200",
     FIRST},
    {"W29 protobuf",
     {TYPED("application/vnd.kubernetes.protobuf", "k8s")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a page of a proxy",
     {TYPED("text/html", "<html>")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"no type, no JSON",
     {TYPED("", "hello")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"no body",
     {BODY("")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"an array",
     {BODY("[]")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a Table has no items",
     {BODY("{\"kind\":\"Table\",\"rows\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"an item that is no object",
     {BODY("{\"items\":[" NODE("a") ",7]}")},
     "list nodes",
     "a INTERNAL/unexpected-response 200",
     FIRST},
    {"a success without a body is no list",
     {HTTP(204, NULL)},
     "list nodes",
     "INTERNAL/unexpected-response 204",
     FIRST},
    {"no connection for the first page",
     {REFUSE},
     "list nodes",
     "SERVICE_UNAVAILABLE/connect",
     FIRST},
    {"no connection for the second page",
     {PAGE(NODE("a"), "t1"), REFUSE},
     "list nodes",
     "a SERVICE_UNAVAILABLE/connect",
     FIRST NEXT("t1")},
    {"an object, byte for byte",
     {BODY(" " ODD_NODE "\n")},
     "get nodes name=n",
     "object  " ODD_NODE "\n",
     ONE("n")},
    {"an object that is cut",
     {BODY("{\"a\":")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object and more",
     {BODY("{}{}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object that is no object",
     {BODY("\"x\"")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"W4 absent",
     {HTTP(404, "{\"kind\":\"Status\",\"details\":{\"name\":\"n\"}}")},
     "get nodes name=n",
     "NOT_FOUND/not-found 404 served verdict",
     ONE("n")},
    {"forbidden",
     {HTTP(403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\"}")},
     "get nodes name=n",
     "UNAUTHORIZED/forbidden 403 served",
     ONE("n")},
    {"deadline",
     {NEVER(DEADLINE)},
     "get nodes name=n",
     "TIMEOUT/deadline deadline",
     ONE("n")},
    {"a namespaced path",
     {BODY(OBJECT_OF("autoscaling/v1", "Scale", "d"))},
     "get deploy ns=a name=d sub=scale",
     "object " OBJECT_OF("autoscaling/v1", "Scale", "d"),
     "get /apis/apps/v1/namespaces/a/deployments/d/scale limit=500\n"},
    {"W42 steps",
     {REFUSE},
     "get nodes name=../../secrets/x",
     "INVALID_REQUEST/bad-request",
     ""},
    {"W42 percent",
     {REFUSE},
     "get nodes name=a%2fb",
     "INVALID_REQUEST/bad-request",
     ""},
    {"W42 header",
     {REFUSE},
     "get nodes name=a\r\nX:",
     "INVALID_REQUEST/bad-request",
     ""},
    {"an empty name",
     {REFUSE},
     "get nodes name=",
     "INVALID_REQUEST/bad-request",
     ""},
    {"an empty namespace",
     {REFUSE},
     "list pods ns=",
     "INVALID_REQUEST/bad-request",
     ""},
    {"a get without a name",
     {REFUSE},
     "get nodes",
     "INVALID_REQUEST/bad-request",
     ""},
    {"a delete without a name",
     {REFUSE},
     "delete pods ns=a",
     "INVALID_REQUEST/bad-request",
     ""},
    {"a delete with an empty name",
     {REFUSE},
     "delete pods ns=a name=",
     "INVALID_REQUEST/bad-request",
     ""},
    {"a delete in an empty namespace",
     {REFUSE},
     "delete pods ns= name=p",
     "INVALID_REQUEST/bad-request",
     ""},
    {"a list with a name",
     {REFUSE},
     "list nodes name=n",
     "INVALID_REQUEST/bad-request",
     ""},
    {"a bad resource",
     {REFUSE},
     "list Nodes",
     "INVALID_REQUEST/bad-request",
     ""},
    {"an unknown resource", {REFUSE}, "list gizmos", "INTERNAL/unknown", ""},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct fake fake;
  struct aicr_buf out;
  struct kube_client *c = kube_client_open(fake_init(&fake, row->answers));
  aicr_buf_init(&fake.log, 1 << 16);
  fake.served = KUBE_SERVED_YES;
  aicr_buf_init(&out, 1 << 16);
  ask_text(c, row->question, &out);
  assert_string_equal(out.data, row->result);
  assert_string_equal(fake.log.data == NULL ? "" : fake.log.data,
                      row->requests);
  aicr_buf_free(&out);
  kube_client_close(c);
  assert_int_equal(fake.closed, 1);
  aicr_buf_free(&fake.log);
}

#define X "{\"metadata\":{\"name\":\"x\"}}"

/* apiVersion and kind of items as the list says, else as the resource. */
static void test_item_types(void **state)
{
  static const struct {
    const char *body, *resource, *api_version, *kind;
  } rows[] = {
      {"{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[" X "]}",
       "nodes", "v1", "Node"},
      {"{\"items\":[" X "],\"kind\":\"XList\",\"apiVersion\":\"g/v9\"}",
       "deployments", "apps/v1", "Deployment"},
      {"{\"kind\":\"NodeList\",\"items\":[" X "]}", "nodes", "v1", "Node"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct fake_answer answers[] = {{200, J, rows[i].body, 0, false}};
    const struct kube_call_spec spec = {.verb = KUBE_LIST,
                                        .resource = rows[i].resource};
    struct fake fake;
    const char *text = NULL;
    size_t len = 0;
    void *owner = NULL;
    struct kube_client *c = kube_client_open(fake_init(&fake, answers));
    struct kube_call *call = kube_client_start(c, &spec, NULL);
    assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
    assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_ITEM);
    assert_string_equal(kube_call_item_api_version(call), rows[i].api_version);
    assert_string_equal(kube_call_item_kind(call), rows[i].kind);
    kube_client_close(c);
  }
}

/* What a check did not declare is refused before anything is sent, whatever
 * else is wrong with it. */
static void test_undeclared(void **state)
{
  static const struct {
    const char *need, *question, *unresolved, *result;
  } rows[] = {
      {"list nodes", "list nodes", NULL, "end 1"},
      {"list nodes", "get nodes name=n", NULL,
       "INVALID_REQUEST/undeclared-permission"},
      {"list nodes", "list pods", NULL,
       "INVALID_REQUEST/undeclared-permission"},
      {"list nodes", "list networks", "api-not-served",
       "INVALID_REQUEST/undeclared-permission"},
      {"list nodes", "list networks", "not-recorded",
       "INVALID_REQUEST/undeclared-permission"},
      {"list networks.networking.gke.io", "list network", "api-not-served",
       "NOT_FOUND/api-not-served 404 not-served verdict"},
      {"list networks.networking.gke.io", "list networks", "not-recorded",
       "INTERNAL/not-recorded"},
      {"list gizmos", "list gadgets", "api-not-served",
       "INVALID_REQUEST/undeclared-permission"},
      {"list gizmos", "list gizmos", "api-not-served",
       "NOT_FOUND/api-not-served 404 not-served verdict"},
      {"list pods in a", "list pods ns=a", NULL, "end 1"},
      {"list pods in a", "list pods", NULL,
       "INVALID_REQUEST/undeclared-permission"},
      {"list pods in run", "list pods ns=r", NULL, "end 1"},
      {"get pods", "get pods ns=a name=p sub=log", NULL,
       "INVALID_REQUEST/undeclared-permission"},
  };
  static const struct fake_answer answers[] = {BODY("{\"items\":[]}")};
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct fake fake;
    struct asked a;
    struct aicr_buf out;
    struct aicr_error err;
    struct kube_permissions *p = kube_permissions_parse(&rows[i].need, 1, &err);
    assert_non_null(p);
    struct kube_client *c = kube_client_open(fake_init(&fake, answers));
    fake.unresolved = rows[i].unresolved;
    read_question(rows[i].question, &a);
    a.spec.permissions = p;
    a.spec.run_namespace = "r";
    aicr_buf_init(&out, 1 << 16);
    ask(c, &a.spec, &out);
    assert_string_equal(out.data, rows[i].result);
    assert_int_equal(fake.used, strncmp(out.data, "end", 3) == 0 ? 1 : 0);
    aicr_buf_free(&out);
    kube_client_close(c);
    kube_permissions_free(p);
  }
}

static void test_facts(void **state)
{
  static const struct fake_answer answers[] = {
      HTTP(503, "{\"kind\":\"Status\",\"reason\":\"ServiceUnavailable\"}")};
  static const struct kube_call_spec spec = {
      .verb = KUBE_GET, .resource = "deploy", .ns = "a", .name = "d"};
  (void)state;
  struct fake fake;
  const char *text = NULL;
  size_t len = 0;
  void *owner = NULL;
  struct kube_client *c = kube_client_open(fake_init(&fake, answers));
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_WAIT);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_FAILED);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_FAILED);
  const struct kube_failure *f = kube_call_failure(call);
  assert_string_equal(f->verb, "get");
  assert_string_equal(f->resource, "deployments.apps");
  assert_string_equal(f->ns, "a");
  assert_string_equal(f->name, "d");
  assert_string_equal(f->status_reason, "ServiceUnavailable");
  assert_int_equal(f->http, 503);
  assert_int_equal(f->attempts, 2);
  assert_int_equal(f->served, KUBE_SERVED_UNKNOWN);
  assert_int_equal(kube_call_error(call)->code, AICR_SERVICE_UNAVAILABLE);
  kube_call_close(call);
  kube_client_close(c);
}

/* Calls side by side: those that failed at once first, then the answers. */
static void test_side_by_side(void **state)
{
  static const struct fake_answer answers[] = {PAGE(NODE("a"), ""),
                                               PAGE(NODE("b"), "")};
  static const struct kube_call_spec list = {.verb = KUBE_LIST,
                                             .resource = "nodes"};
  static const struct kube_call_spec bad = {.verb = KUBE_LIST,
                                            .resource = "No"};
  (void)state;
  struct fake fake;
  void *owner = NULL;
  int one = 1, two = 2, three = 3, four = 4;
  struct kube_client *c = kube_client_open(fake_init(&fake, answers));
  assert_null(kube_client_poll(c, 0, &owner));
  struct kube_call *a = kube_client_start(c, &list, &one);
  struct kube_call *b = kube_client_start(c, &bad, &two);
  struct kube_call *d = kube_client_start(c, &list, &three);
  struct kube_call *e = kube_client_start(c, &bad, &four);
  assert_int_equal(kube_client_pending(c), 4);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), b);
  assert_ptr_equal(owner, &two);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), e);
  assert_ptr_equal(owner, &four);
  assert_int_equal(kube_client_pending(c), 2);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), a);
  assert_ptr_equal(owner, &one);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), d);
  assert_ptr_equal(owner, &three);
  assert_null(kube_client_poll(c, 0, &owner));
  assert_int_equal(kube_client_pending(c), 0);
  kube_client_close(c);
}

static void test_closing(void **state)
{
  static const struct fake_answer answers[] = {PAGE("", ""), PAGE("", ""),
                                               PAGE("", "")};
  static const struct kube_call_spec list = {.verb = KUBE_LIST,
                                             .resource = "nodes"};
  static const struct kube_call_spec bad = {.verb = KUBE_LIST,
                                            .resource = "No"};
  (void)state;
  struct fake fake;
  void *owner = NULL;
  struct kube_client *c = kube_client_open(fake_init(&fake, answers));
  struct kube_call *a = kube_client_start(c, &bad, NULL);
  struct kube_call *b = kube_client_start(c, &bad, NULL);
  struct kube_call *d = kube_client_start(c, &list, NULL);
  kube_client_start(c, &list, NULL);
  kube_call_close(b);
  kube_call_close(d);
  kube_call_close(NULL);
  assert_int_equal(fake.canceled, 1);
  assert_int_equal(kube_client_pending(c), 2);
  struct kube_call *last = kube_client_start(c, &bad, NULL);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), a);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), last);
  kube_client_close(c); /* ends what is left */
  assert_int_equal(fake.canceled, 2);
  assert_int_equal(fake.closed, 1);
  kube_client_close(NULL);
}

static bool call_body(void *arg)
{
  static const struct kube_call_spec spec = {
      .verb = KUBE_LIST, .resource = "nodes", .label = "!a"};
  struct fake fake;
  const char *text = NULL;
  size_t len = 0;
  void *owner = NULL;
  bool ended = false;
  struct kube_client *c = kube_client_open(fake_init(&fake, arg));
  if (c == NULL) {
    return false;
  }
  struct kube_call *call = kube_client_start(c, &spec, NULL);
  for (bool more = call != NULL; more;) {
    switch (kube_call_next(call, &text, &len)) {
    case KUBE_CALL_WAIT:
      assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
      break;
    case KUBE_CALL_ITEM:
      break;
    case KUBE_CALL_END:
      ended = true;
      more = false;
      break;
    default:
      assert_string_equal(kube_call_error(call)->reason, "memory");
      more = false;
      break;
    }
  }
  kube_client_close(c);
  return ended;
}

static void test_without_memory(void **state)
{
  static struct fake_answer answers[] = {
      PAGE(NODE("a") "," NODE("\\u0062"), "t1"), PAGE("", "t2"),
      PAGE(NODE("c"), "")};
  (void)state;
  assert_true(torture(call_body, answers) > 10);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_item_types), cmocka_unit_test(test_undeclared),
      cmocka_unit_test(test_facts),      cmocka_unit_test(test_side_by_side),
      cmocka_unit_test(test_closing),    cmocka_unit_test(test_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&rows, "call", table[i].what, test_row, &table[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "client");
}
