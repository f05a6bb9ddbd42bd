/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "live_asker.h"
#include "wire_io.h"

/* Answers that end too early, after every byte that they have: never a shorter
 * list, never an object, never a verdict, never an answer at all. */

#define ALWAYS .times = WIRE_ALWAYS
#define LOST   "SERVICE_UNAVAILABLE/connection-lost"
#define LIST   PAGE(NODE("a") "," NODE("b"), "")
#define OBJECT NODE_OF("n", "[1,2,{\"b\":null}]")
#define EXPLAINED                                                              \
  {                                                                            \
    .match = "GET /api/v1 ",                                                   \
    .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\","           \
            "\"resources\":[{\"name\":\"nodes\",\"kind\":\"Node\"}]}",         \
    ALWAYS                                                                     \
  }
#define NO_PAGE                                                                \
  STATUS "\"status\":\"Failure\",\"reason\":\"NotFound\",\"details\":{"        \
         "\"name\":\"n\",\"kind\":\"nodes\"},\"code\":404}"

struct cut {
  const char *what;
  struct wire_answer answer;
  const char *question;
  const char *whole;  /* what comes uncut */
  const char *errors; /* those that may come cut, a space between */
};

/* From the first byte on. */
static const struct cut heads[] = {
    {"a list", {.body = LIST}, "list nodes", "a b end", LOST},
    {"a list that the end of the connection ends",
     {.body = LIST, .how = WIRE_ENDLESS},
     "list nodes",
     "a b end",
     LOST " INTERNAL/unexpected-response"},
    {"a log",
     {.body = "one\ntwo\n", .type = TEXT},
     "get pods ns=a name=p sub=log",
     "object one\ntwo\n",
     LOST},
    {"no such page",
     {.http = 404, .type = TEXT, .body = "404 page not found\n"},
     "get nodes name=n",
     "INTERNAL/scope-mismatch 404 served",
     LOST},
    {"a created object",
     {.http = 201, .body = POD_P},
     "create pods ns=a",
     "object " POD_P,
     LOST},
};

/* From the end of the head on. */
static const struct cut bodies[] = {
    {"a list in chunks",
     {.body = LIST, .how = WIRE_CHUNKED},
     "list nodes",
     "a b end",
     LOST},
    {"a compressed list",
     {.body = LIST, .how = WIRE_GZIP},
     "list nodes",
     "a b end",
     LOST},
    {"an object", {.body = OBJECT}, "get nodes name=n", "object " OBJECT, LOST},
    {"an object in chunks",
     {.body = OBJECT, .how = WIRE_CHUNKED},
     "get nodes name=n",
     "object " OBJECT,
     LOST},
    {"a compressed object that the end of the connection ends",
     {.body = OBJECT, .how = WIRE_GZIP | WIRE_ENDLESS},
     "get nodes name=n",
     "object " OBJECT,
     LOST " INTERNAL/unexpected-response INTERNAL/bad-encoding"},
    {"an object that the end of the connection ends",
     {.body = OBJECT, .how = WIRE_ENDLESS},
     "get nodes name=n",
     "object " OBJECT,
     LOST " INTERNAL/unexpected-response"},
    {"a log in chunks",
     {.body = "one\ntwo\n", .type = TEXT, .how = WIRE_CHUNKED},
     "get pods ns=a name=p sub=log",
     "object one\ntwo\n",
     LOST},
    {"an absence",
     {.http = 404, .body = NO_PAGE},
     "get nodes name=n",
     "NOT_FOUND/not-found 404 served verdict",
     LOST},
    {"an absence in chunks",
     {.http = 404, .body = NO_PAGE, .how = WIRE_CHUNKED},
     "get nodes name=n",
     "NOT_FOUND/not-found 404 served verdict",
     LOST},
    {"an absence that the end of the connection ends",
     {.http = 404, .body = NO_PAGE, .how = WIRE_ENDLESS},
     "get nodes name=n",
     "NOT_FOUND/not-found 404 served verdict",
     LOST " INTERNAL/unexpected-response"},
};

/* Is it one of them? A cut answer has no code of HTTP, one whose end cannot be
 * seen has. */
static bool is_one_of(const char *got, const char *errors)
{
  for (const char *p = errors; *p != '\0'; p += strspn(p, " ")) {
    size_t n = strcspn(p, " ");
    if (strncmp(got, p, n) == 0 && (got[n] == ' ' || got[n] == '\0')) {
      return true;
    }
    p += n;
  }
  return false;
}

/* Items of a list may come before the error, but no end. */
static const char *error_of(const char *text)
{
  while (strncmp(text, "a ", 2) == 0 || strncmp(text, "b ", 2) == 0) {
    text += 2;
  }
  return text;
}

static size_t length_of(const struct cut *row)
{
  struct wire_text text = {NULL, 0};
  wire_compose(&row->answer, &text);
  free(text.data);
  return text.len;
}

/* Up to the empty line behind the head. */
static size_t head_of(const struct cut *row)
{
  struct wire_text text = {NULL, 0};
  wire_compose(&row->answer, &text);
  size_t len = (size_t)(strstr(text.data, "\r\n\r\n") - text.data);
  free(text.data);
  return len;
}

static void cut_after(const struct cut *row, struct wire_server *s,
                      struct kube_client *c, size_t n)
{
  static const struct wire_answer none[] = {{0}};
  struct wire_answer rows[] = {EXPLAINED, row->answer, {0}};
  struct aicr_buf out;
  rows[1].times = WIRE_ALWAYS;
  rows[1].cut = n;
  rows[1].how |= n == 0 ? WIRE_NOTHING : 0;
  wire_rows(s, rows);
  aicr_buf_init(&out, 1 << 16);
  ask_live_text(c, row->question, &out);
  const char *got = error_of(out.data);
  /* What is compressed ends in a checksum, which adds nothing. */
  unsigned packed = WIRE_GZIP | WIRE_ENDLESS;
  bool whole =
      (row->answer.how & packed) == packed && strcmp(out.data, row->whole) == 0;
  if (!whole && !is_one_of(got, row->errors)) {
    fail_msg("after %zu of %zu bytes: %s", n, length_of(row), got);
  }
  aicr_buf_free(&out);
  wire_rows(s, none); /* which it may still be looking at */
}

static void cut_from(const struct cut *row, size_t first)
{
  size_t len = length_of(row);
  struct wire_answer none[] = {{0}};
  struct wire_server *s = wire_start(none, NULL);
  struct kube_client *c = client_at(wire_url(s));
  /* The newline behind the last chunk adds nothing. */
  len -= (row->answer.how & WIRE_CHUNKED) != 0 ? 1 : 0;
  for (size_t n = first; n < len; n++) {
    cut_after(row, s, c, n);
  }
  struct wire_answer whole[] = {EXPLAINED, row->answer, {0}};
  wire_rows(s, whole);
  assert_answer(c, row->question, row->whole);
  kube_client_close(c);
  wire_stop(s);
}

static void test_head(void **state)
{
  cut_from(*state, 0);
}

static void test_body(void **state)
{
  cut_from(*state, head_of(*state));
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(heads); i++) {
    add_row(&rows, "head", heads[i].what, test_head, &heads[i]);
  }
  for (size_t i = 0; i < COUNT(bodies); i++) {
    add_row(&rows, "body", bodies[i].what, test_body, &bodies[i]);
  }
  return run_rows_with(&rows, "live cut", ignore_pipe, NULL);
}
