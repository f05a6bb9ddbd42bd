/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"

/* What servers answer, over real connections. W and a number: the vector of
 * kubernetes-client.md 8. */

#define ALWAYS .times = WIRE_ALWAYS
#define SERVED                                                                 \
  {                                                                            \
    .match = "/apis/networking.gke.io/v1 ",                                    \
    .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":"                  \
            "\"networking.gke.io/v1\",\"resources\":[{\"name\":\"networks\","  \
            "\"namespaced\":false,\"kind\":\"Network\"}]}",                    \
  }
#define LACKING                                                                \
  {                                                                            \
    .match = "/apis/networking.gke.io/v1 ",                                    \
    .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":"                  \
            "\"networking.gke.io/v1\",\"resources\":[]}",                      \
  }
#define KNOWN_AS(version)                                                      \
  {                                                                            \
      .match = "/api ",                                                        \
      .body = "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[]}",             \
  },                                                                           \
  {                                                                            \
    .match = "/apis ",                                                         \
    .body = "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{"   \
            "\"name\":\"networking.gke.io\"},\"versions\":[{\"version\":"      \
            "\"" version "\",\"resources\":[{\"resource\":\"networks\","       \
            "\"responseKind\":{\"kind\":\"Network\"},\"scope\":\"Cluster\"}]"  \
            "}]}]}",                                                           \
  }
#define KNOWN KNOWN_AS("v1")
#define UNKNOWN                                                                \
  {                                                                            \
    .match = "/api",                                                           \
    .body = "{\"kind\":\"APIGroupDiscoveryList\","                             \
            "\"items\":[]}",                                                   \
    .times = 2                                                                 \
  }
#define PAGE_NOT_FOUND(...)                                                    \
  {                                                                            \
    .http = 404, .type = TEXT, .body = "404 page not found\n", __VA_ARGS__     \
  }
#define BALANCER(...)                                                          \
  {                                                                            \
    .http = 404, .type = TEXT, .body = "default backend - 404", __VA_ARGS__    \
  }
#define DENIED(...)                                                            \
  {                                                                            \
    .http = 403,                                                               \
    .body = STATUS "\"status\":\"Failure\",\"reason\":\"Forbidden\","          \
                   "\"message\":\"networks.networking.gke.io is forbidden: "   \
                   "User \\\"u\\\" cannot list\",\"code\":403}",               \
    __VA_ARGS__                                                                \
  }
#define FAILED(code, word, ...)                                                \
  {                                                                            \
    .http = code,                                                              \
    .body = STATUS "\"status\":\"Failure\",\"reason\":\"" word "\"}",          \
    __VA_ARGS__                                                                \
  }
#define ABSENT                                                                 \
  STATUS "\"reason\":\"NotFound\",\"details\":{\"name\":\"x\","                \
         "\"kind\":\"networks\"}}"
#define NETWORKS "/apis/networking.gke.io/v1/networks"
#define LIST_NET "discovery\nGET " NETWORKS "?limit=500\n"
#define WHY      "GET /apis/networking.gke.io/v1\n"
#define GET_N    "GET /api/v1/nodes/n\n"
#define FIRST    "GET /api/v1/nodes?limit=500\n"
#define NEXT(t)  "GET /api/v1/nodes?limit=500&continue=" t "\n"

static const struct live_row absent[] = {
    {"W1 a group that is not served",
     {{.match = "/api ", .body = "{\"kind\":\"APIVersions\"}"},
      {.match = "/apis ", .body = "{\"kind\":\"APIGroupList\"}"}},
     "list networks.networking.gke.io",
     "NOT_FOUND/api-not-served 404 not-served verdict",
     "discovery\n"},
    {"W1 a group that went after discovery",
     {KNOWN, PAGE_NOT_FOUND(), PAGE_NOT_FOUND(), UNKNOWN},
     "list networks.networking.gke.io",
     "NOT_FOUND/api-not-served 404 not-served verdict",
     LIST_NET WHY "discovery\n"},
    {"W1 a version that went, and was named",
     {KNOWN, PAGE_NOT_FOUND(), PAGE_NOT_FOUND()},
     "list networks.v1.networking.gke.io",
     "NOT_FOUND/api-not-served 404 not-served verdict",
     LIST_NET WHY},
    {"W1 a version that went, and another one that came",
     {KNOWN,
      PAGE_NOT_FOUND(),
      PAGE_NOT_FOUND(),
      KNOWN_AS("v2"),
      {.match = "/v2/networks", .body = "{\"items\":[]}"}},
     "list networks.networking.gke.io",
     "end",
     LIST_NET WHY
     "discovery\nGET /apis/networking.gke.io/v2/networks?limit=500\n"},
    {"W1 a version that went, and discovery does not say where to",
     {KNOWN, PAGE_NOT_FOUND(), PAGE_NOT_FOUND(),
      FAILED(403, "Forbidden", ALWAYS)},
     "list networks.networking.gke.io",
     "NOT_FOUND/api-not-served 404 not-served verdict",
     LIST_NET WHY "discovery\n"},
    {"W2 a namespace for what has none",
     {KNOWN},
     "list networks.networking.gke.io ns=a",
     "INVALID_REQUEST/bad-request",
     "discovery\n"},
    {"W2 discovery lists what the path lacks",
     {KNOWN, PAGE_NOT_FOUND(.match = NETWORKS), SERVED, KNOWN,
      PAGE_NOT_FOUND(.match = NETWORKS), SERVED},
     "list networks.networking.gke.io",
     "INTERNAL/scope-mismatch 404 served",
     LIST_NET WHY LIST_NET WHY},
    {"2.1 discovery comes a little before what it tells of",
     {KNOWN,
      PAGE_NOT_FOUND(.match = NETWORKS),
      SERVED,
      KNOWN,
      {.match = NETWORKS, .body = "{\"items\":[]}"}},
     "list networks.networking.gke.io",
     "end",
     LIST_NET WHY LIST_NET},
    {"W3 an unknown resource of a built-in group",
     {FAILED(404, "NotFound", .match = "/pods"),
      {.body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\"}"}},
     "list pods",
     "NOT_FOUND/api-not-served 404 not-served verdict",
     "GET /api/v1/pods?limit=500\nGET /api/v1\n"},
    {"W4 an absent object",
     {KNOWN,
      {.http = 404,
       .match = NETWORKS,
       .body = STATUS "\"reason\":\"NotFound\",\"details\":{\"name\":\"x\","
                      "\"kind\":\"networks\"}}"}},
     "get networks.networking.gke.io name=x",
     "NOT_FOUND/not-found 404 served verdict",
     "discovery\nGET " NETWORKS "/x\n"},
    {"2.4 a subresource that its API does not have",
     {KNOWN,
      {.http = 404, .match = NETWORKS "/x/status", .body = ABSENT},
      SERVED},
     "get networks.networking.gke.io name=x sub=status",
     "NOT_FOUND/subresource-not-served 404 served",
     "discovery\nGET " NETWORKS "/x/status\n" WHY},
    {"2.4 an absent object with a subresource that its API has",
     {KNOWN,
      {.http = 404, .match = NETWORKS "/x/status", .body = ABSENT},
      {.match = "/apis/networking.gke.io/v1 ",
       .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":"
               "\"networking.gke.io/v1\",\"resources\":[{\"name\":\"networks"
               "\",\"kind\":\"Network\"},{\"name\":\"networks/status\"}]}"}},
     "get networks.networking.gke.io name=x sub=status",
     "NOT_FOUND/not-found 404 served verdict",
     "discovery\nGET " NETWORKS "/x/status\n" WHY},
    {"2.4 nobody can say which subresources it has",
     {KNOWN,
      {.http = 404, .match = NETWORKS "/x/status", .body = ABSENT},
      {.http = 403, .body = "{}"}},
     "get networks.networking.gke.io name=x sub=status",
     "INTERNAL/discovery-incomplete 404 served",
     "discovery\nGET " NETWORKS "/x/status\n" WHY},
    {"W5 a balancer's page",
     {KNOWN,
      {.http = 404, .type = "text/html", .body = "<html>", .match = NETWORKS},
      {.http = 404, .type = "text/html", .body = "<html>"}},
     "list networks.networking.gke.io",
     "INTERNAL/unexpected-response 404",
     LIST_NET WHY},
    {"W5 a balancer's text",
     {KNOWN, BALANCER(.match = NETWORKS), BALANCER()},
     "list networks.networking.gke.io",
     "INTERNAL/discovery-incomplete 404",
     LIST_NET WHY},
    {"W5 a balancer's text for an object of what every server serves",
     {BALANCER(.match = "/pods"), BALANCER()},
     "get pods name=p ns=a",
     "INTERNAL/discovery-incomplete 404",
     "GET /api/v1/namespaces/a/pods/p\nGET /api/v1\n"},
    {"W5 the page of another server for what every server serves",
     {PAGE_NOT_FOUND(.match = "/pods"), PAGE_NOT_FOUND()},
     "get pods name=p ns=a",
     "INTERNAL/discovery-incomplete 404",
     "GET /api/v1/namespaces/a/pods/p\nGET /api/v1\n"},
    {"W5 an object of JSON that is no Status",
     {KNOWN,
      PAGE_NOT_FOUND(.match = NETWORKS),
      {.http = 404, .body = "{\"error\":\"no such page\"}"}},
     "list networks.networking.gke.io",
     "INTERNAL/discovery-incomplete 404",
     LIST_NET WHY},
    {"W6 a group without the resource",
     {KNOWN, PAGE_NOT_FOUND(.match = NETWORKS), LACKING, UNKNOWN},
     "list networks.networking.gke.io",
     "NOT_FOUND/api-not-served 404 not-served verdict",
     LIST_NET WHY "discovery\n"},
    {"W7 discovery fails",
     {KNOWN, PAGE_NOT_FOUND(.match = NETWORKS),
      FAILED(503, "ServiceUnavailable", ALWAYS)},
     "list networks.networking.gke.io",
     "INTERNAL/discovery-incomplete 404",
     LIST_NET WHY WHY WHY WHY WHY},
    {"W8 forbidden, served",
     {KNOWN, DENIED(.match = NETWORKS), SERVED},
     "list networks.networking.gke.io",
     "UNAUTHORIZED/forbidden 403 served",
     LIST_NET WHY},
    {"W9 forbidden, not served",
     {KNOWN, DENIED(.match = NETWORKS), LACKING},
     "list networks.networking.gke.io",
     "UNAUTHORIZED/forbidden 403 not-served",
     LIST_NET WHY},
    {"W9 forbidden, the group is not served",
     {KNOWN, DENIED(.match = NETWORKS), PAGE_NOT_FOUND()},
     "list networks.networking.gke.io",
     "UNAUTHORIZED/forbidden 403 not-served",
     LIST_NET WHY},
    {"W10 forbidden, the group's server is down",
     {KNOWN,
      DENIED(.match = NETWORKS),
      {.http = 503, .type = TEXT, .body = "service unavailable\n", ALWAYS}},
     "list networks.networking.gke.io",
     "UNAUTHORIZED/forbidden 403",
     LIST_NET WHY WHY WHY WHY WHY},
    {"forbidden, discovery too",
     {KNOWN, DENIED(ALWAYS)},
     "list networks.networking.gke.io",
     "UNAUTHORIZED/forbidden 403",
     LIST_NET WHY},
    {"W11 a webhook refused",
     {{.http = 403,
       .body = STATUS "\"message\":\"admission webhook \\\"w\\\" denied the "
                      "request: no\",\"reason\":\"Forbidden\"}"},
      {.body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\","
               "\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\"}]}"}},
     "create pods ns=a",
     "UNAUTHORIZED/forbidden 403 served",
     "POST /api/v1/namespaces/a/pods\nGET /api/v1\n"},
};

static const struct live_row tried[] = {
    {"W14 a write that was throttled",
     {FAILED(429, "TooManyRequests", .headers = "Retry-After: 1\r\n"),
      {.http = 201, .body = POD_P}},
     "create pods ns=a",
     "object " POD_P,
     "POST /api/v1/namespaces/a/pods\nPOST /api/v1/namespaces/a/pods\n"},
    {"W15 the wait is longer than the deadline",
     {FAILED(429, "TooManyRequests", .headers = "Retry-After: 3600\r\n")},
     "get nodes name=n in=20000",
     "RATE_LIMIT_EXCEEDED/throttled 429",
     GET_N},
    {"the wait of a Status is longer than the deadline",
     {{.http = 503,
       .body = STATUS "\"details\":{\"retryAfterSeconds\":2000}}"}},
     "get nodes name=n in=20000",
     "SERVICE_UNAVAILABLE/unavailable 503",
     GET_N},
    {"a date that is later than the deadline",
     {FAILED(429, "TooManyRequests",
             .headers = "Retry-After: Fri, 31 Dec 2199 23:59:59 GMT\r\n")},
     "get nodes name=n in=20000",
     "RATE_LIMIT_EXCEEDED/throttled 429",
     GET_N},
    {"a date that has passed",
     {FAILED(429, "TooManyRequests",
             .headers = "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"),
      {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N},
    {"a wait of nothing",
     {FAILED(503, "ServiceUnavailable", .headers = "Retry-After: 0\r\n"),
      {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N},
    {"a wait that no number holds",
     {FAILED(503, "ServiceUnavailable",
             .headers = "Retry-After: 99999999999999999999999\r\n"),
      {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N},
    {"a wait that no time holds",
     {FAILED(429, "TooManyRequests",
             .headers = "Retry-After: 9223372036854775807\r\n")},
     "get nodes name=n in=20000",
     "RATE_LIMIT_EXCEEDED/throttled 429",
     GET_N},
    {"a wait that is no number",
     {FAILED(503, "ServiceUnavailable", .headers = "Retry-After: soon\r\n"),
      {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N},
    {"a negative wait",
     {FAILED(503, "ServiceUnavailable", .headers = "Retry-After: -5\r\n"),
      {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N},
    {"W16 a write to what is down",
     {FAILED(503, "ServiceUnavailable", ALWAYS)},
     "create pods ns=a",
     "SERVICE_UNAVAILABLE/unavailable 503",
     "POST /api/v1/namespaces/a/pods\n"},
    {"a write to what says when",
     {FAILED(503, "ServiceUnavailable", .headers = "Retry-After: 1\r\n"),
      {.http = 201, .body = POD_P}},
     "create pods ns=a",
     "object " POD_P,
     "POST /api/v1/namespaces/a/pods\nPOST /api/v1/namespaces/a/pods\n"},
    {"W17 a read of what is down",
     {FAILED(503, "ServiceUnavailable"), {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N},
    {"W18 a server that begins",
     {{.http = 503,
       .body = STATUS "\"message\":\"the request has been made before all "
                      "known HTTP paths have been installed, please try "
                      "again\",\"details\":{\"retryAfterSeconds\":1}}"},
      {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N},
    {"W19 a text",
     {{.http = 500,
       .type = TEXT,
       .body = "Internal Server Error: \"/api\": x",
       ALWAYS}},
     "get nodes name=n",
     "INTERNAL/server-error 500",
     GET_N GET_N GET_N GET_N GET_N},
    {"W20 a version from the future",
     {FAILED(504, "Timeout", ALWAYS)},
     "get nodes name=n",
     "TIMEOUT/server-timeout 504",
     GET_N GET_N GET_N GET_N GET_N},
    {"a bad gateway, and well",
     {{.http = 502, .type = "text/html", .body = "<html>", .times = 4},
      {.body = NODE_N}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N GET_N GET_N GET_N GET_N},
    {"a budget blocks an eviction",
     {{.http = 429,
       .body = STATUS "\"reason\":\"TooManyRequests\",\"details\":{\"causes\":"
                      "[{\"reason\":\"DisruptionBudget\"}]}}",
       ALWAYS}},
     "create pods ns=a name=p sub=eviction",
     "RATE_LIMIT_EXCEEDED/throttled 429",
     "POST /api/v1/namespaces/a/pods/p/eviction\n"},
    {"nothing is tried again",
     {FAILED(400, "BadRequest", ALWAYS)},
     "get nodes name=n",
     "INVALID_REQUEST/bad-request 400",
     GET_N},
    {"W40 no answer",
     {{.how = WIRE_SILENT}},
     "get nodes name=n in=3000",
     "TIMEOUT/deadline deadline",
     GET_N},
    {"no answer to a write",
     {{.how = WIRE_SILENT}},
     "create pods ns=a in=3000",
     "TIMEOUT/deadline deadline",
     "POST /api/v1/namespaces/a/pods\n"},
    {"the first attempt fails, the second never answers",
     {FAILED(503, "ServiceUnavailable"), {.how = WIRE_SILENT}},
     "get nodes name=n in=3000",
     "TIMEOUT/deadline deadline",
     GET_N GET_N},
    {"a deadline that has passed",
     {{.body = NODE_N}},
     "get nodes name=n in=-1",
     "TIMEOUT/deadline deadline",
     ""},
};

static const struct live_row answered[] = {
    {"W21 a token that is too old",
     {{.body = PAGE("", "t 1/+")},
      {.http = 410,
       .body = STATUS "\"reason\":\"Expired\",\"metadata\":{"
                      "\"continue\":\"inconsistent\"}}"},
      {.body = PAGE(NODE("a"), "t2")},
      {.body = PAGE(NODE("b"), "")}},
     "list nodes",
     "a b end",
     FIRST NEXT("t%201%2F%2B") FIRST NEXT("t2")},
    {"W21 twice",
     {{.body = PAGE("", "t1")},
      FAILED(410, "Expired"),
      {.body = PAGE("", "t1")},
      FAILED(410, "Expired")},
     "list nodes",
     "INTERNAL/expired 410",
     FIRST NEXT("t1") FIRST NEXT("t1")},
    {"W22 an empty page with a token",
     {{.body = PAGE("", "t1")}, {.body = PAGE(NODE("b"), "")}},
     "list nodes",
     "b end",
     FIRST NEXT("t1")},
    {"W23 the same token for ever",
     {{.body = PAGE("", "t"), ALWAYS}},
     "list nodes",
     "INTERNAL/protocol",
     FIRST NEXT("t")},
    {"W25 W26 chunks",
     {{.body = "{\"items\":[" NODE("a") "],\"metadata\":{\"continue\":\"t1\"}}",
       .how = WIRE_CHUNKED},
      {.body = "{\"items\":null}", .how = WIRE_CHUNKED}},
     "list nodes",
     "a end",
     FIRST NEXT("t1")},
    {"compressed",
     {{.body = PAGE(NODE("a"), "t1"), .how = WIRE_GZIP},
      {.body = PAGE(NODE("b"), ""), .how = WIRE_GZIP | WIRE_CHUNKED}},
     "list nodes",
     "a b end",
     FIRST NEXT("t1")},
    {"selectors, and the same on every page",
     {{.body = PAGE(NODE("a"), "t1")}, {.body = PAGE(NODE("b"), "")}},
     "list nodes label=a&b=c field=spec.unschedulable=x limit=2",
     "a b end",
     "GET /api/v1/nodes?limit=2&labelSelector=a%26b%3Dc&fieldSelector="
     "spec.unschedulable%3Dx\n"
     "GET /api/v1/nodes?limit=2&continue=t1&labelSelector=a%26b%3Dc&"
     "fieldSelector=spec.unschedulable%3Dx\n"},
    {"a page that is down is asked for again",
     {{.body = PAGE(NODE("a"), "t1")},
      FAILED(503, "ServiceUnavailable"),
      {.body = PAGE(NODE("b"), "")}},
     "list nodes",
     "a b end",
     FIRST NEXT("t1") NEXT("t1")},
    {"W29 protobuf",
     {{.type = "application/vnd.kubernetes.protobuf", .body = "k8s"}},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     GET_N},
    {"W33 nested too deep",
     {{.body = "{\"a\":"
               "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
               "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
               "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
               "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
               "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
               "1"
               "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
               "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
               "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
               "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
               "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
               "}"}},
     "get nodes name=n",
     "INTERNAL/unexpected-response 200",
     GET_N},
    {"W30 W31 W34 byte for byte",
     {{.body = ODD_NODE}},
     "get nodes name=n",
     "object " ODD_NODE,
     GET_N},
    {"W35 a redirect",
     {{.http = 302, .headers = "Location: /api/v1/nodes/m\r\n", ALWAYS}},
     "get nodes name=n",
     "INTERNAL/redirect-refused 302",
     GET_N},
    {"W35 a redirect of a write",
     {{.http = 307, .headers = "Location: /api/v1/nodes/m\r\n", ALWAYS}},
     "delete nodes name=n",
     "INTERNAL/redirect-refused 307",
     "DELETE /api/v1/nodes/n\n"},
    {"not modified, which nobody asked",
     {{.http = 304, ALWAYS}},
     "get nodes name=n",
     "INTERNAL/redirect-refused 304",
     GET_N},
    {"W42 steps",
     {{.body = NODE_N, ALWAYS}},
     "get nodes name=../../secrets/x",
     "INVALID_REQUEST/bad-request",
     ""},
    {"W42 percent",
     {{.body = NODE_N, ALWAYS}},
     "get nodes name=a%2fb",
     "INVALID_REQUEST/bad-request",
     ""},
    {"W42 header",
     {{.body = NODE_N, ALWAYS}},
     "get nodes name=a\r\nX:",
     "INVALID_REQUEST/bad-request",
     ""},
    {"W43 a name of RBAC",
     {{.body = OBJECT_OF("rbac.authorization.k8s.io/v1", "ClusterRole",
                         "system:node")}},
     "get clusterroles.rbac.authorization.k8s.io name=system:node",
     "object " OBJECT_OF("rbac.authorization.k8s.io/v1", "ClusterRole",
                         "system:node"),
     "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/system:node\n"},
    {"W45 a patch of a custom resource",
     {KNOWN, FAILED(415, "UnsupportedMediaType")},
     "patch networks.networking.gke.io name=x",
     "INVALID_REQUEST/unsupported-media 415",
     "discovery\nPATCH " NETWORKS "/x\n"},
    {"W46 a delete that waits for finalizers",
     {{.body = POD_P}},
     "delete pods ns=a name=p",
     "object " POD_P,
     "DELETE /api/v1/namespaces/a/pods/p\n"},
    {"W51 a log of what has not begun",
     {FAILED(400, "BadRequest")},
     "get pods ns=a name=p sub=log",
     "INVALID_REQUEST/bad-request 400",
     "GET /api/v1/namespaces/a/pods/p/log\n"},
    {"a log",
     {{.type = TEXT, .body = "<one>\ntwo"}},
     "get pods ns=a name=p sub=log",
     "object <one>\ntwo",
     "GET /api/v1/namespaces/a/pods/p/log\n"},
    {"W58 the Status says another code",
     {{.http = 500,
       .body = STATUS "\"reason\":\"NotFound\",\"code\":404,\"details\":{"
                      "\"name\":\"n\"}}",
       ALWAYS}},
     "get nodes name=n",
     "INTERNAL/server-error 500",
     GET_N GET_N GET_N GET_N GET_N},
    {"a code that HTTP does not have",
     {{.http = 999, .body = NODE_N}},
     "get nodes name=n",
     "INTERNAL/unexpected-response 999",
     GET_N},
    {"HTTP 0.9",
     {{.body = "{\"a\":1}", .how = WIRE_RAW | WIRE_LAST}},
     "get nodes name=n",
     "SERVICE_UNAVAILABLE/protocol reset",
     GET_N},
    {"an answer that is none",
     {{.body = "SSH-2.0-OpenSSH_9.2\r\n\r\n", .how = WIRE_RAW | WIRE_LAST}},
     "get nodes name=n",
     "SERVICE_UNAVAILABLE/protocol reset",
     GET_N},
    {"a header without an end",
     {{.body = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
               "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
       .how = WIRE_RAW | WIRE_LAST,
       ALWAYS}},
     "get nodes name=n",
     "SERVICE_UNAVAILABLE/connection-lost cut",
     GET_N GET_N GET_N GET_N GET_N},
    {"a code and two answers at once",
     {{.body =
           "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
           "Content-Type: application/json\r\nContent-Length: 57\r\n\r\n" NODE_N
           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
       .how = WIRE_RAW | WIRE_LAST}},
     "get nodes name=n",
     "object " NODE_N,
     GET_N},
    {"gzip that is none",
     {{.body = NODE_N, .headers = "Content-Encoding: gzip\r\n", ALWAYS}},
     "get nodes name=n",
     "INTERNAL/bad-encoding cut",
     GET_N},
    {"an encoding that nobody asked for",
     {{.body = NODE_N, .headers = "Content-Encoding: br\r\n", ALWAYS}},
     "get nodes name=n",
     "INTERNAL/bad-encoding cut",
     GET_N},
};

int main(void)
{
  static const struct {
    const char *prefix;
    const struct live_row *rows;
    size_t count;
  } tables[] = {{"absent", absent, COUNT(absent)},
                {"tried", tried, COUNT(tried)},
                {"answered", answered, COUNT(answered)}};
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(tables); i++) {
    for (size_t k = 0; k < tables[i].count; k++) {
      add_row(&rows, tables[i].prefix, tables[i].rows[k].what, test_live_row,
              &tables[i].rows[k]);
    }
  }
  return run_rows_with(&rows, "live answers", ignore_pipe, NULL);
}
