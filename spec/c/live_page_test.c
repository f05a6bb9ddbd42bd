/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"

/* Pages of lists over real connections: compressed ones, and those that are
 * asked for while another is read. */

#define FAILED(code, word, ...)                                                \
  {                                                                            \
    .http = code,                                                              \
    .body = STATUS "\"status\":\"Failure\",\"reason\":\"" word "\"}",          \
    __VA_ARGS__                                                                \
  }
#define FIVE(x)                                                                \
  NODE(x "1") "," NODE(x "2") "," NODE(x "3") "," NODE(x "4") "," NODE(x "5")
#define TEN(x)   FIVE(x "0") "," FIVE(x "1")
#define NAMES(x) x "1 " x "2 " x "3 " x "4 " x "5 "
#define TWENTY   NAMES("a0") NAMES("a1") NAMES("b0") NAMES("b1")
#define FIRST    "GET /api/v1/nodes?limit=500\n"
#define NEXT(t)  "GET /api/v1/nodes?limit=500&continue=" t "\n"

static const struct live_row pages[] = {
    {"a compressed refusal of a list",
     {FAILED(400, "BadRequest", .how = WIRE_GZIP)},
     "list nodes",
     "INVALID_REQUEST/bad-request 400",
     FIRST},
    {"a compressed wait",
     {{.http = 429,
       .body = STATUS "\"details\":{\"retryAfterSeconds\":2000}}",
       .how = WIRE_GZIP}},
     "list nodes in=20000",
     "RATE_LIMIT_EXCEEDED/throttled 429",
     FIRST},
    {"a compressed page of a proxy",
     {{.type = "text/html", .body = "<html>", .how = WIRE_GZIP}},
     "list nodes",
     "INTERNAL/unexpected-response 200",
     FIRST},
    {"a compressed page that no page follows",
     {{.body = PAGE(TEN("a") "," TEN("b"), "t1"), .how = WIRE_GZIP},
      {.body = "[]", .how = WIRE_GZIP}},
     "list nodes",
     TWENTY "INTERNAL/unexpected-response 200",
     FIRST NEXT("t1")},
    {"a page that is asked for while another is read",
     {{.body = PAGE(TEN("a") "," TEN("b"), "t1"), .how = WIRE_GZIP},
      {.body = PAGE(TEN("c"), "t2")},
      {.body = PAGE(NODE("d"), ""), .how = WIRE_GZIP}},
     "list nodes",
     TWENTY NAMES("c0") NAMES("c1") "d end",
     FIRST NEXT("t1") NEXT("t2")},
    {"such a page that comes at the second attempt",
     {{.body = PAGE(TEN("a") "," TEN("b"), "t1")},
      {.body = PAGE(NODE("c"), ""), .how = WIRE_RESET, .cut = 150},
      {.body = PAGE(NODE("c"), "")}},
     "list nodes",
     TWENTY "c end",
     FIRST NEXT("t1") NEXT("t1")},
    {"such a page whose token is too old",
     {{.body = PAGE(TEN("a") "," TEN("b"), "t1")}, FAILED(410, "Expired")},
     "list nodes",
     TWENTY "INTERNAL/expired 410",
     FIRST NEXT("t1")},
    {"a further page that is not there: no word on the resource",
     {{.body = PAGE(NODE("a"), "t1")},
      {.http = 404, .type = TEXT, .body = "404 page not found\n"}},
     "list nodes",
     "a INTERNAL/page-not-found cut",
     FIRST NEXT("t1")},
    {"such a page that is asked for while another is read",
     {{.body = PAGE(TEN("a") "," TEN("b"), "t1")}, FAILED(404, "NotFound")},
     "list nodes",
     TWENTY "INTERNAL/page-not-found cut",
     FIRST NEXT("t1")},
    {"such a page behind one without items",
     {{.body = PAGE("", "t1")}, FAILED(404, "NotFound")},
     "list nodes",
     "INTERNAL/page-not-found cut",
     FIRST NEXT("t1")},
    {"a list in gzip that is none",
     {{.body = PAGE("", ""), .headers = "Content-Encoding: gzip\r\n"}},
     "list nodes",
     "INTERNAL/bad-encoding cut",
     FIRST},
    {"a list in an encoding that nobody asked for",
     {{.body = PAGE("", ""), .headers = "content-encoding: br\r\n"}},
     "list nodes",
     "INTERNAL/bad-encoding cut",
     FIRST},
    {"a list in two encodings",
     {{.body = PAGE("", ""),
       .headers = "Content-Encoding: gzip\r\n",
       .how = WIRE_GZIP}},
     "list nodes",
     "INTERNAL/bad-encoding cut",
     FIRST},
    {"a list in no encoding by name",
     {{.body = PAGE(NODE("a"), ""),
       .headers = "Content-Encoding: identity\r\n"}},
     "list nodes",
     "a end",
     FIRST},
};

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(pages); i++) {
    add_row(&rows, "page", pages[i].what, test_live_row, &pages[i]);
  }
  return run_rows_with(&rows, "live page", ignore_pipe, NULL);
}
