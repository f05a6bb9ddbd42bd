/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "rows.h"

#include "kube_asker.h"
#include "kube_fake.h"
#include "torture.h"

/* Successes that are no answers to what was asked for. */

#define J "application/json"
#define BODY(text)                                                             \
  {                                                                            \
    200, J, text, KUBE_TRANSPORT_OK, false                                     \
  }
#define HTTP(code, text)                                                       \
  {                                                                            \
    code, J, text, KUBE_TRANSPORT_OK, false                                    \
  }
#define FIRST     "list /api/v1/nodes limit=500\n"
#define ONE(name) "get /api/v1/nodes/" name " limit=500\n"
#define GENERATED "{\"metadata\":{\"generateName\":\"p-\"}}"
#define REVIEW                                                                 \
  "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"authentication.k8s.io/"    \
  "v1\",\"metadata\":{}}"

#define NEXT(token)  "list /api/v1/nodes page=" token " limit=500\n"
#define PODS         "list /api/v1/pods limit=500\n"
#define PODS_NEXT(t) "list /api/v1/pods page=" t " limit=500\n"
#define NODE(name)   "{\"metadata\":{\"name\":\"" name "\"}}"
#define LABELLED(name, x)                                                      \
  "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"x\":\"" x "\"}}}"
#define IN(ns, name)                                                           \
  "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns "\"}}"

struct row {
  const char *what;
  struct fake_answer answers[3];
  const char *question, *result, *requests;
};

static const struct row table[] = {
    {"a Status with items",
     {BODY("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
           "\"items\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a list of another kind",
     {BODY("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a list of another kind, said behind its items",
     {BODY("{\"items\":[],\"kind\":\"PodList\"}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a Table with items",
     {BODY("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
           "v1\",\"items\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a list of another API",
     {BODY("{\"kind\":\"NodeList\",\"apiVersion\":\"acme.com/"
           "v1\",\"items\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"more items than pages",
     {BODY("{\"metadata\":{\"remainingItemCount\":1},\"items\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a count that is none",
     {BODY("{\"metadata\":{\"remainingItemCount\":\"1\"},\"items\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"an item of another kind's list",
     {BODY(
         "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\"}}]}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"no more items",
     {BODY("{\"metadata\":{\"remainingItemCount\":0},\"items\":[]}")},
     "list nodes",
     "end 1",
     FIRST},
    {"an item of another kind",
     {BODY("{\"items\":[" NODE(
         "a") ",{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}]}")},
     "list nodes",
     "a INTERNAL/unexpected-response 200",
     FIRST},
    {"an item of another API",
     {BODY("{\"items\":[{\"apiVersion\":\"v2\",\"metadata\":{\"name\":\"b\"}}]"
           "}")},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"an item without a name",
     {BODY("{\"items\":[" NODE("a") ",{\"metadata\":{}}]}")},
     "list nodes",
     "a INTERNAL/unexpected-response 200",
     FIRST},
    {"an item of another namespace",
     {BODY(
         "{\"items\":[{\"metadata\":{\"name\":\"p\",\"namespace\":\"b\"}}]}")},
     "list pods ns=a",
     "INTERNAL/unexpected-response 200",
     "list /api/v1/namespaces/a/pods limit=500\n"},
    {"an item that a label did not select",
     {BODY("{\"items\":[" LABELLED("a", "y") "," LABELLED("b", "z") "]}")},
     "list nodes label=x=y",
     "a INTERNAL/unexpected-response 200",
     "list /api/v1/nodes label=x=y limit=500\n"},
    {"an item without the label that selected it",
     {BODY("{\"items\":[" NODE("a") "]}")},
     "list nodes label=x",
     "INTERNAL/unexpected-response 200",
     "list /api/v1/nodes label=x limit=500\n"},
    {"items that a label selected, and a field that nobody here can read",
     {BODY("{\"items\":[" LABELLED("a", "y") "," LABELLED("b", "z") "]}")},
     "list nodes label=x,!w field=spec.unschedulable=true",
     "a b end 1",
     "list /api/v1/nodes label=x,!w field=spec.unschedulable=true limit=500\n"},
    {"an item that a field did not select",
     {BODY("{\"items\":[" NODE("a") "," NODE("b") "]}")},
     "list nodes field=metadata.name=a",
     "a INTERNAL/unexpected-response 200",
     "list /api/v1/nodes field=metadata.name=a limit=500\n"},
    {"an object twice",
     {BODY("{\"items\":[" NODE("a") "," NODE("a") "]}")},
     "list nodes",
     "a INTERNAL/unexpected-response 200",
     FIRST},
    {"a page again",
     {BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t1\"},"
           "\"items\":[" NODE("a") "," NODE("b") "]}"),
      BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t2\"},"
           "\"items\":[" NODE("a") "," NODE("b") "]}")},
     "list nodes",
     "a b INTERNAL/unexpected-response 200",
     FIRST NEXT("t1")},
    {"a page that begins with the end of the one before it",
     {BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t1\"},"
           "\"items\":[" NODE("a") "," NODE("b") "]}"),
      BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"\"},"
           "\"items\":[" NODE("b") "," NODE("c") "]}")},
     "list nodes",
     "a b INTERNAL/unexpected-response 200",
     FIRST NEXT("t1")},
    {"a page of another state of the server",
     {BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t1\"},"
           "\"items\":[" NODE("a") "]}"),
      BODY("{\"metadata\":{\"resourceVersion\":\"2\",\"continue\":\"\"},"
           "\"items\":[" NODE("b") "]}")},
     "list nodes",
     "a b INTERNAL/unexpected-response 200",
     FIRST NEXT("t1")},
    {"a page that says no state",
     {BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t1\"},"
           "\"items\":[" NODE("a") "]}"),
      BODY("{\"items\":[" NODE("b") "]}")},
     "list nodes",
     "a b INTERNAL/unexpected-response 200",
     FIRST NEXT("t1")},
    {"pages of a server that keeps no order",
     {BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t1\"},"
           "\"items\":[" NODE("b") "," NODE("a") "," NODE("c") "]}"),
      BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"\"},"
           "\"items\":[" NODE("a0") "," NODE("b0") "]}")},
     "list nodes",
     "b a c a0 b0 end 2",
     FIRST NEXT("t1")},
    {"namespaces in the order of a server",
     {BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t1\"},"
           "\"items\":[" IN("a-b", "x") "," IN("a", "x") "]}"),
      BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"\"},"
           "\"items\":[" IN("a", "y") "," IN("b", "a") "]}")},
     "list pods",
     "a-b/x a/x a/y b/a end 2",
     PODS PODS_NEXT("t1")},
    {"namespaces in the order of their names",
     {BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t1\"},"
           "\"items\":[" IN("a", "x") "," IN("a", "y") "]}"),
      BODY("{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"\"},"
           "\"items\":[" IN("a-b", "a") "," IN("b", "a") "]}")},
     "list pods",
     "a/x a/y a-b/a b/a end 2",
     PODS PODS_NEXT("t1")},
    {"a part of a list",
     {HTTP(206, "{\"items\":[]}")},
     "list nodes",
     "INTERNAL/unexpected-response 206",
     FIRST},
    {"a refusal that says 200",
     {BODY("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
           "\"code\":404}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"another object",
     {BODY("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
           "\"m\"}}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object of another kind",
     {BODY("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
           "\"n\"}}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object of another API",
     {BODY("{\"kind\":\"Node\",\"apiVersion\":\"v2\",\"metadata\":{\"name\":"
           "\"n\"}}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"a list for an object",
     {BODY("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[]}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object of no kind and name",
     {BODY("{}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object of no kind",
     {BODY("{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object of no API",
     {BODY("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object without a name",
     {BODY("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{}}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"an object whose name is none",
     {BODY("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
           "[\"n\"]}}")},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     ONE("n")},
    {"a deletion that a Status confirms",
     {BODY(
         "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}")},
     "delete nodes name=n",
     "object "
     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}",
     "delete /api/v1/nodes/n limit=500\n"},
    {"a deletion that a Status does not confirm",
     {BODY(
         "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\"}")},
     "delete nodes name=n",
     "INTERNAL/unexpected-response 200",
     "delete /api/v1/nodes/n limit=500\n"},
    {"a deletion of which nothing is said",
     {BODY("{}")},
     "delete nodes name=n",
     "INTERNAL/unexpected-response 200",
     "delete /api/v1/nodes/n limit=500\n"},
    {"a deletion of another object",
     {BODY("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
           "\"m\"}}")},
     "delete nodes name=n",
     "INTERNAL/unexpected-response 200",
     "delete /api/v1/nodes/n limit=500\n"},
    {"an object of another namespace",
     {BODY("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
           "\"p\",\"namespace\":\"b\"}}")},
     "get pods ns=a name=p",
     "INTERNAL/unexpected-response 200",
     "get /api/v1/namespaces/a/pods/p limit=500\n"},
    {"a Status for a subresource",
     {BODY("{\"kind\":\"Status\",\"status\":\"Failure\"}")},
     "get deploy ns=a name=d sub=scale",
     "INTERNAL/unexpected-response 200",
     "get /apis/apps/v1/namespaces/a/deployments/d/scale limit=500\n"},
    {"a subresource of no kind",
     {BODY("{}")},
     "get deploy ns=a name=d sub=scale",
     "INTERNAL/unexpected-response 200",
     "get /apis/apps/v1/namespaces/a/deployments/d/scale limit=500\n"},
    {"a subresource of its own kind",
     {BODY("{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\"}")},
     "get deploy ns=a name=d sub=scale",
     "object {\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\"}",
     "get /apis/apps/v1/namespaces/a/deployments/d/scale limit=500\n"},
    {"a review, for which no name is made",
     {HTTP(201, REVIEW)},
     "create selfsubjectreviews",
     "object " REVIEW,
     "create /apis/authentication.k8s.io/v1/selfsubjectreviews limit=500\n"},
    {"an object for which no name was made",
     {HTTP(201, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{}}")},
     "create pods ns=a",
     "INTERNAL/unexpected-response 201",
     "create /api/v1/namespaces/a/pods limit=500\n"},
    {"an object for which a name was made",
     {HTTP(201, POD_P)},
     "create pods ns=a",
     "object " POD_P,
     "create /api/v1/namespaces/a/pods limit=500\n"},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct fake fake;
  struct aicr_buf out;
  struct kube_client *c = kube_client_open(fake_init(&fake, row->answers));
  aicr_buf_init(&fake.log, 1 << 16);
  aicr_buf_init(&out, 1 << 16);
  struct asked a;
  read_question(row->question, &a);
  if (a.spec.verb == KUBE_CREATE) {
    a.spec.body = GENERATED;
    a.spec.body_len = sizeof GENERATED - 1;
  }
  ask(c, &a.spec, &out);
  assert_string_equal(out.data, row->result);
  assert_string_equal(fake.log.data, row->requests);
  aicr_buf_free(&out);
  kube_client_close(c);
  aicr_buf_free(&fake.log);
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&rows, "answer", table[i].what, test_row, &table[i]);
  }
  return run_rows(&rows, "call answer");
}
