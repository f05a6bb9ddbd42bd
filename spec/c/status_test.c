/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/status.h"

#include <dirent.h>

#include "kube/json_tree.h"

#include "rows.h"

#include "status_files.h"
#include "status_shapes.h"
#include "torture.h"

/* The name and the subresource of the request, from INDEX.tsv. */
static void read_request(const char *file, char *name, char *subresource)
{
  char line[65536], verb[16], path[4096];
  FILE *f = fopen(SHAPES "/INDEX.tsv", "rb");
  assert_non_null(f);
  name[0] = subresource[0] = '\0';
  size_t len = strlen(file);
  while (fgets(line, sizeof line, f) != NULL) {
    if (strncmp(line, file, len) != 0 || line[len] != '\t') {
      continue;
    }
    char *p = line + len + 1;
    snprintf(verb, sizeof verb, "%.*s", (int)strcspn(p, " "), p);
    p += strcspn(p, " ");
    p += strspn(p, " ");
    snprintf(path, sizeof path, "%.*s", (int)strcspn(p, " ?\n"), p);
    char *steps[12] = {NULL};
    size_t count = 0;
    for (p = path; *p == '/' && count < 12; p += strcspn(p, "/")) {
      *p++ = '\0';
      steps[count++] = p;
    }
    size_t at = count > 0 && strcmp(steps[0], "api") == 0 ? 2 : 3;
    if (at + 2 < count && strcmp(steps[at], "namespaces") == 0) {
      at += 2;
    }
    if (at + 1 < count) {
      snprintf(name, 256, "%.250s", steps[at + 1]);
    }
    if (at + 2 < count) {
      snprintf(subresource, 64, "%.60s", steps[at + 2]);
    }
    break;
  }
  fclose(f);
}

static bool is_verdict(const char *reason)
{
  return strcmp(reason, "not-found") == 0 ||
         strcmp(reason, "api-not-served") == 0;
}

static void check_message_of(const char *message, const char *subresource)
{
  char call[128];
  for (const char *p = message; *p != '\0'; p++) {
    assert_true((unsigned char)*p >= 0x20);
  }
  snprintf(call, sizeof call,
           "get things.example.org%s%s \"x\" in namespace \"a\": ",
           subresource[0] == '\0' ? "" : "/", subresource);
  assert_true(strncmp(message, call, strlen(call)) == 0);
}

static void check_message(const char *message)
{
  check_message_of(message, "");
}

static void test_shape(void **state)
{
  const struct shape *row = *state;
  struct http h;
  char name[256], subresource[64], status[32];
  read_http(row->file, &h);
  read_request(row->file, name, subresource);
  assert_int_equal(h.status, row->http);
  struct kube_request rq = {.name = name[0] == '\0' ? NULL : name,
                            .subresource =
                                subresource[0] == '\0' ? NULL : subresource};
  snprintf(status, sizeof status, "(HTTP %d)", row->http);
  for (unsigned served = 0; served < 3; served++) {
    struct kube_answer a;
    struct aicr_error err;
    struct kube_failure f = facts;
    fill(&a, h.status, h.content_type, h.body, h.len);
    kube_status_error(&rq, &a, (enum kube_served)served, &err, &f);
    assert_string_equal(err.reason, row->by_served[served].reason);
    assert_int_equal(err.code, row->by_served[served].code);
    assert_int_equal(err.verdict, is_verdict(err.reason));
    assert_non_null(strstr(err.message, status));
    check_message_of(err.message, subresource);
    assert_int_equal(f.http, row->http);
    assert_int_equal(f.transport, KUBE_TRANSPORT_OK);
    assert_string_equal(f.status_reason, row->status_reason);
    assert_int_equal(f.cause_count, row->causes);
    assert_int_equal(f.attempts, 3);
    assert_int_equal(f.served, served);
    kube_answer_free(&a);
  }
  free(h.text);
}

/* A namespace that was asked for is an object as others are. */
static void test_absent_namespace(void **state)
{
  (void)state;
  struct http h;
  struct kube_answer a;
  struct aicr_error err;
  struct kube_failure f = facts;
  struct kube_request rq = {.name = "x", .resource = {.plural = "namespaces"}};
  read_http("404-namespace-absent-create", &h);
  fill(&a, h.status, h.content_type, h.body, h.len);
  kube_status_error(&rq, &a, KUBE_SERVED_YES, &err, &f);
  assert_string_equal(err.reason, "not-found");
  assert_true(err.verdict);
  kube_answer_free(&a);
  free(h.text);
}

static bool is_success(const char *file, enum kube_verb verb)
{
  struct http h;
  struct kube_answer a;
  char name[256], subresource[64];
  read_http(file, &h);
  read_request(file, name, subresource);
  struct kube_request rq = {.verb = verb,
                            .name = name,
                            .subresource =
                                subresource[0] == '\0' ? NULL : subresource};
  fill(&a, h.status, h.content_type, h.body, h.len);
  bool success = kube_status_success(&rq, &a);
  kube_answer_free(&a);
  free(h.text);
  return success;
}

/* What was recorded is a success, a row of the table, or frames. */
static void test_all_shapes_are_rows(void **state)
{
  (void)state;
  char file[256];
  size_t failures = 0, frames = 0;
  DIR *dir = opendir(SHAPES);
  assert_non_null(dir);
  for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
    const char *end = strstr(e->d_name, ".http");
    if (end == NULL) {
      continue;
    }
    snprintf(file, sizeof file, "%.*s", (int)(end - e->d_name), e->d_name);
    if (file[0] == '1') {
      assert_true(is_success(file, KUBE_EXEC));
      frames++;
    } else {
      assert_false(is_success(file, KUBE_EXEC));
      bool made = strncmp(file, "201", 3) == 0;
      failures += !is_success(file, made ? KUBE_CREATE : KUBE_GET);
    }
  }
  closedir(dir);
  assert_int_equal(failures, COUNT(shapes));
  assert_int_equal(frames, 7);
  for (size_t i = 0; i < COUNT(shapes); i++) {
    assert_false(is_success(shapes[i].file, KUBE_GET));
  }
}

/* Made answers: what the real ones above do not show. */
struct made {
  const char *what;
  int http;
  const char *type, *body;
  enum kube_served served;
  enum aicr_code code;
  const char *reason;
};

#define J "application/json"
#define T "text/plain; charset=utf-8"
#define STATUS(members)                                                        \
  "{\"kind\":\"Status\",\"apiVersion\":\"v1\"," members "}"
#define UNKNOWN    KUBE_SERVED_UNKNOWN
#define SERVED     KUBE_SERVED_YES
#define NOT_SERVED KUBE_SERVED_NO
#define NAMED      "\"details\":{\"name\":\"x\",\"kind\":\"networks\"}"

static const struct made made[] = {
    {"W1 text 404, not in discovery", 404, T, "404 page not found\n",
     NOT_SERVED, AICR_NOT_FOUND, "api-not-served"},
    {"W2 text 404, another scope", 404, T, "404 page not found\n", SERVED,
     AICR_INTERNAL, "scope-mismatch"},
    {"W3 Status without name", 404, J,
     STATUS("\"reason\":\"NotFound\",\"details\":{},\"message\":\"the server "
            "could "
            "not find the requested resource\""),
     UNKNOWN, AICR_NOT_FOUND, "api-not-served"},
    {"a gateway's Status without name", 404, J,
     STATUS("\"reason\":\"NotFound\",\"message\":\"no such cluster\""), UNKNOWN,
     AICR_INTERNAL, "discovery-incomplete"},
    {"another Status without name, not in discovery", 404, J,
     STATUS("\"reason\":\"NotFound\",\"message\":\"m\""), NOT_SERVED,
     AICR_NOT_FOUND, "api-not-served"},
    {"W4 Status with name", 404, J, STATUS("\"reason\":\"NotFound\"," NAMED),
     SERVED, AICR_NOT_FOUND, "not-found"},
    {"W5 page of a load balancer", 404, "text/html; charset=UTF-8",
     "<html>404</html>", NOT_SERVED, AICR_INTERNAL, "unexpected-response"},
    {"W5 without a type", 404, "", "  <!DOCTYPE html>", NOT_SERVED,
     AICR_INTERNAL, "unexpected-response"},
    {"W7 text 404, discovery failed", 404, T, "404 page not found\n", UNKNOWN,
     AICR_INTERNAL, "discovery-incomplete"},
    {"raw: text 404", 404, T, "404 page not found\n", UNKNOWN, AICR_INTERNAL,
     "unexpected-response"},
    {"W11 webhook", 403, J,
     STATUS(
         "\"reason\":\"Forbidden\",\"message\":\"admission webhook \\\"x\\\" "
         "denied the request: no\""),
     UNKNOWN, AICR_UNAUTHORIZED, "forbidden"},
    {"W19 text 500", 500, T, "Internal Server Error: x", UNKNOWN, AICR_INTERNAL,
     "server-error"},
    {"W35 redirect", 302, "", "", UNKNOWN, AICR_INTERNAL, "redirect-refused"},
    {"W58 code of the body against HTTP", 500, J,
     STATUS("\"reason\":\"NotFound\",\"code\":404," NAMED), UNKNOWN,
     AICR_INTERNAL, "server-error"},
    {"404 with the reason Forbidden", 404, J,
     STATUS("\"reason\":\"Forbidden\"," NAMED), UNKNOWN, AICR_UNAUTHORIZED,
     "forbidden"},
    {"404 with the reason Unauthorized", 404, J,
     STATUS("\"reason\":\"Unauthorized\"," NAMED), NOT_SERVED,
     AICR_UNAUTHORIZED, "unauthenticated"},
    {"404 with the reason ServiceUnavailable", 404, J,
     STATUS("\"reason\":\"ServiceUnavailable\"," NAMED), UNKNOWN,
     AICR_SERVICE_UNAVAILABLE, "unavailable"},
    {"404 with the reason InternalError", 404, J,
     STATUS("\"reason\":\"InternalError\"," NAMED), UNKNOWN, AICR_INTERNAL,
     "server-error"},
    {"404 with the reason Timeout", 404, J,
     STATUS("\"reason\":\"Timeout\"," NAMED), UNKNOWN, AICR_TIMEOUT,
     "server-timeout"},
    {"404 with an unknown reason", 404, J,
     STATUS("\"reason\":\"Whatever\"," NAMED), UNKNOWN, AICR_NOT_FOUND,
     "not-found"},
    {"404 without a reason", 404, J, STATUS(NAMED), UNKNOWN, AICR_NOT_FOUND,
     "not-found"},
    {"404 JSON that is no Status", 404, J, "{\"error\":\"no\"}", NOT_SERVED,
     AICR_INTERNAL, "unexpected-response"},
    {"404 cut Status", 404, J, "{\"kind\":\"Status\",\"reason\":\"NotFound\"",
     NOT_SERVED, AICR_INTERNAL, "unexpected-response"},
    {"404 Status with a NUL in a name", 404, J,
     STATUS("\"reason\":\"NotFound\\u0000x\"," NAMED), UNKNOWN, AICR_INTERNAL,
     "unexpected-response"},
    {"404 Status with keys in capitals", 404, J,
     "{\"KIND\":\"Status\",\"REASON\":\"NotFound\"}", UNKNOWN, AICR_INTERNAL,
     "unexpected-response"},
    {"404 details of a wrong type", 404, J,
     STATUS("\"reason\":\"NotFound\",\"details\":[\"name\"]"), UNKNOWN,
     AICR_INTERNAL, "discovery-incomplete"},
    {"404 without a body", 404, "", "", NOT_SERVED, AICR_NOT_FOUND,
     "api-not-served"},
    {"409 AlreadyExists", 409, J, STATUS("\"reason\":\"AlreadyExists\""),
     UNKNOWN, AICR_CONFLICT, "already-exists"},
    {"408", 408, T, "", UNKNOWN, AICR_TIMEOUT, "server-timeout"},
    {"418 from a webhook", 418, J, STATUS("\"message\":\"tea\""), UNKNOWN,
     AICR_INVALID_REQUEST, "bad-request"},
    {"502", 502, T, "bad gateway", UNKNOWN, AICR_SERVICE_UNAVAILABLE,
     "unavailable"},
    {"502 page", 502, "text/html", "<html>", UNKNOWN, AICR_INTERNAL,
     "unexpected-response"},
    {"501", 501, T, "", UNKNOWN, AICR_INTERNAL, "server-error"},
    {"600", 600, T, "", UNKNOWN, AICR_INTERNAL, "unexpected-response"},
    {"500 etcd words with a reason", 500, J,
     STATUS("\"reason\":\"InternalError\",\"message\":\"etcdserver: request is "
            "too large\""),
     UNKNOWN, AICR_INTERNAL, "server-error"},
};

static void test_made(void **state)
{
  const struct made *row = *state;
  bool raw = strncmp(row->what, "raw", 3) == 0;
  struct kube_request rq = {.verb = raw ? KUBE_RAW : KUBE_GET, .name = "x"};
  struct kube_answer a;
  struct aicr_error err;
  struct kube_failure f = facts;
  fill(&a, row->http, row->type, row->body, strlen(row->body));
  kube_status_error(&rq, &a, row->served, &err, &f);
  assert_string_equal(err.reason, row->reason);
  assert_int_equal(err.code, row->code);
  assert_int_equal(err.verdict, is_verdict(err.reason));
  assert_int_equal(f.http, row->http);
  check_message(err.message);
  kube_answer_free(&a);
}

/* Of a pod's log or a command in it: by the words. */
struct of_pod {
  const char *what, *subresource;
  int http;
  enum aicr_code code; /* NONE: a success */
  const char *reason, *type, *body;
};

#define SAYS(text) STATUS("\"message\":\"" text "\"")
#define NO_LOG     "unable to retrieve container logs for containerd://61"

static const struct of_pod of_pod[] = {
    {"its kubelet has just begun", "log", 404, AICR_SERVICE_UNAVAILABLE,
     "log-unavailable", J,
     STATUS("\"message\":\"the server could not find the requested resource ( "
            "pods/log x)\",\"reason\":\"NotFound\",\"details\":{\"name\":"
            "\"x\",\"kind\":\"pods/log\",\"causes\":[{\"reason\":"
            "\"UnexpectedServerResponse\"}]}")},
    {"waiting to start", "log", 400, AICR_SERVICE_UNAVAILABLE, "not-ready", J,
     SAYS("container \\\"c\\\" in pod \\\"p\\\" is waiting to start: X")},
    {"the words of another resource", "status", 400, AICR_INVALID_REQUEST,
     "bad-request", J, SAYS("container is waiting to start: X")},
    {"no node for a command", "exec", 400, AICR_SERVICE_UNAVAILABLE,
     "not-ready", J, SAYS("pod p does not have a host assigned")},
    {"an earlier run, asked by exec", "exec", 400, AICR_INVALID_REQUEST,
     "bad-request", J,
     SAYS(
         "previous terminated container \\\"c\\\" in pod \\\"p\\\" not found")},
    {"204 of another subresource", "status", 204, AICR_INTERNAL,
     "unexpected-response", "", ""},
    {"a part of a log", "log", 206, AICR_INTERNAL, "unexpected-response",
     "text/plain", "a"},
    {"what is accepted for later", "status", 202, AICR_INTERNAL,
     "unexpected-response", J, "{}"},
    {"an empty log", "log", 200, AICR_CODE_NONE, "", "text/plain", ""},
    {"no log", "log", 200, AICR_SERVICE_UNAVAILABLE, "log-unavailable",
     "text/plain", NO_LOG},
    {"a log that begins so", "log", 200, AICR_CODE_NONE, "", "text/plain",
     NO_LOG "\n"},
    {"a log that says more", "log", 200, AICR_CODE_NONE, "", "text/plain",
     NO_LOG " more"},
    {"a log with a time before it", "log", 200, AICR_CODE_NONE, "",
     "text/plain", "2026-11-30T11:24:36Z " NO_LOG},
    {"the words of another subresource", "status", 200, AICR_CODE_NONE, "",
     "text/plain", NO_LOG},
    {"502 of the API server's proxy", "log", 502, AICR_SERVICE_UNAVAILABLE,
     "node-unreachable", J,
     SAYS("proxy error from 127.0.0.1:9345 while dialing 10.0.0.1:10250")},
    {"503 as text", "log", 503, AICR_SERVICE_UNAVAILABLE, "node-unreachable", T,
     "error dialing backend: No agent available"},
    {"502 of the way to the API server", "log", 502, AICR_SERVICE_UNAVAILABLE,
     "unavailable", T, "Bad Gateway"},
    {"503 of the API server", "log", 503, AICR_SERVICE_UNAVAILABLE,
     "unavailable", J,
     STATUS("\"reason\":\"ServiceUnavailable\",\"message\":\"starting\"")},
    {"500 with a reason", "log", 500, AICR_INTERNAL, "server-error", J,
     STATUS("\"reason\":\"InternalError\",\"message\":\"Get "
            "\\\"https://10.0.0.1:10250/x\\\": EOF\"")},
    {"a kubelet that is silent", "exec", 500, AICR_SERVICE_UNAVAILABLE,
     "node-unreachable", J,
     SAYS("Get \\\"https://10.0.0.1:10250/x\\\": net/http: TLS handshake "
          "timeout")},
    {"a dial of something else", "status", 500, AICR_INTERNAL, "server-error",
     J, SAYS("Get \\\"https://10.0.0.1:443/x\\\": dial tcp")},
};

static void test_of_pod(void **state)
{
  const struct of_pod *row = *state;
  struct kube_request rq = {.name = "x", .subresource = row->subresource};
  struct kube_answer a;
  struct aicr_error err;
  struct kube_failure f = facts;
  fill(&a, row->http, row->type, row->body, strlen(row->body));
  bool success = kube_status_success(&rq, &a);
  assert_int_equal(success, row->code == AICR_CODE_NONE);
  if (!success) {
    kube_status_error(&rq, &a, KUBE_SERVED_YES, &err, &f);
    assert_string_equal(err.reason, row->reason);
    assert_int_equal(err.code, row->code);
    assert_false(err.verdict);
    check_message_of(err.message, row->subresource);
  }
  kube_answer_free(&a);
}

static void test_error_of_the_backend(void **state)
{
  (void)state;
  struct kube_request rq = {.name = "x"};
  struct kube_answer a = {.attempts = 1};
  struct aicr_error err;
  struct kube_failure f = facts;
  aicr_fail(&a.error, AICR_INTERNAL, "not-recorded", "it is not there");
  kube_status_error(&rq, &a, KUBE_SERVED_YES, &err, &f);
  assert_int_equal(err.code, AICR_INTERNAL);
  assert_string_equal(err.reason, "not-recorded");
  assert_string_equal(err.message, "it is not there");
  assert_int_equal(f.http, 0);
  assert_int_equal(f.served, KUBE_SERVED_YES);
}

/* The server's words: controls escaped, one line, cut between characters. */
static void test_words(void **state)
{
  (void)state;
  struct kube_request rq = {.name = "x"};
  struct kube_answer a;
  struct aicr_error err;
  struct kube_failure f = facts;
  char body[6000];
  size_t n = (size_t)snprintf(
      body, sizeof body,
      "{\"kind\":\"Status\",\"message\":\"a\\nb\\u001b[31m\\u009b\\t");
  while (n < 5000) {
    n += (size_t)snprintf(body + n, sizeof body - n, "\xe2\x82\xac");
  }
  n += (size_t)snprintf(body + n, sizeof body - n, "\"}");
  fill(&a, 403, J, body, n);
  kube_status_error(&rq, &a, KUBE_SERVED_UNKNOWN, &err, &f);
  check_message(err.message);
  assert_non_null(strstr(err.message, ": a b\\x1b[31m\\x9b \xe2\x82\xac"));
  assert_string_equal(err.message + strlen(err.message) - 6,
                      "\xe2\x82\xac\xe2\x80\xa6");
  assert_true(strlen(err.message) < 1400);
  kube_answer_free(&a);
}

static void test_causes(void **state)
{
  (void)state;
  struct kube_request rq = {.name = "x"};
  struct kube_answer a;
  struct aicr_error err;
  struct kube_failure f = facts;
  struct http h;
  read_http("409-apply-conflict", &h);
  fill(&a, h.status, h.content_type, h.body, h.len);
  kube_status_error(&rq, &a, KUBE_SERVED_UNKNOWN, &err, &f);
  assert_int_equal(f.cause_count, 2); /* W44 */
  assert_string_equal(f.causes[0].reason, "FieldManagerConflict");
  assert_string_equal(f.causes[0].field, ".data.a");
  assert_string_equal(f.causes[1].field, ".data.b");
  assert_string_equal(f.causes[1].message, "conflict with \"m1\"");
  kube_answer_free(&a);
  free(h.text);

  char body[2048];
  size_t n = (size_t)snprintf(body, sizeof body,
                              "{\"kind\":\"Status\",\"details\":{\"causes\":[");
  for (int i = 0; i < 20; i++) {
    n += (size_t)snprintf(body + n, sizeof body - n, "%s{\"reason\":\"r%d\"}",
                          i == 0 ? "" : ",", i);
  }
  snprintf(body + n, sizeof body - n, ",7,null]}}");
  fill(&a, 422, J, body, strlen(body));
  kube_status_error(&rq, &a, KUBE_SERVED_UNKNOWN, &err, &f);
  assert_int_equal(f.cause_count, 8);
  assert_string_equal(f.causes[7].reason, "r7");
  kube_answer_free(&a);
}

static struct kube_answer torture_answer;

/* cJSON asks libc otherwise. */
static void *cjson_malloc(size_t size)
{
  return aicr_realloc(NULL, size);
}

static bool without_memory(void *arg)
{
  struct kube_request rq = {.name = "x"};
  struct aicr_error err;
  struct kube_failure f = facts;
  (void)arg;
  kube_status_error(&rq, &torture_answer, KUBE_SERVED_NO, &err, &f);
  if (strcmp(err.reason, "not-found") != 0) {
    assert_string_equal(err.reason, "memory");
    assert_false(err.verdict);
    return false;
  }
  return true;
}

/* Without memory for the body it may not be taken for a text 404. */
static void test_without_memory(void **state)
{
  static const char body[] =
      "{\"kind\":\"Status\",\"reason\":\"Not\\u0046ound\","
      "\"details\":{\"name\":\"x\"}}";
  (void)state;
  fill(&torture_answer, 404, T, body, sizeof body - 1);
  cJSON_Hooks hooks = {cjson_malloc, aicr_free};
  cJSON_InitHooks(&hooks);
  assert_true(torture(without_memory, NULL) > 4);
  cJSON_InitHooks(NULL);
  kube_answer_free(&torture_answer);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_absent_namespace),
      cmocka_unit_test(test_all_shapes_are_rows),
      cmocka_unit_test(test_error_of_the_backend),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_causes),
      cmocka_unit_test(test_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(shapes); i++) {
    add_row(&rows, "shape", shapes[i].file, test_shape, &shapes[i]);
  }
  for (size_t i = 0; i < COUNT(made); i++) {
    add_row(&rows, "made", made[i].what, test_made, &made[i]);
  }
  for (size_t i = 0; i < COUNT(of_pod); i++) {
    add_row(&rows, "of a pod", of_pod[i].what, test_of_pod, &of_pod[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "status");
}
