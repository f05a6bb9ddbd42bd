/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <time.h>

#include "kube/client.h"

#include "live_asker.h"
#include "torture.h"

/* Without memory, ours or libcurl's, a call says so or goes well: no part of
 * an answer is taken for all of it, and nothing is left behind. */

#define ALWAYS .times = WIRE_ALWAYS

#define NO_MEMORY "INTERNAL/memory"
#define ODD       OBJECT_OF("v1", "Node", "\\u006e")

struct task {
  const char *question;
  const char *end; /* without an error: any word */
  size_t items;    /* of a list; bytes of an object */
  bool tls;        /* … where a query cannot get lost */
};

static const struct task tasks[] = {
    {"get nodes name=n", "object", sizeof ODD - 1, false},
    {"list nodes", "list", 3, true},
    {"list gadgets.acme.com", "list", 0, false},
    {"list gizmos.acme.com", "NOT_FOUND/api-not-served", 0, false},
    {"get nodes name=gone", "NOT_FOUND/not-found", 0, false},
    {"get pods ns=a name=p", "UNAUTHORIZED/forbidden", 0, false},
    {"create pods ns=a", "object", sizeof POD_P - 1, false},
};

static const struct wire_answer answers[] = {
    {.match = "GET /api/v1/nodes/n ", .body = ODD, ALWAYS},
    {.match = "continue=t1", .body = PAGE(NODE("c"), ""), ALWAYS},
    {.match = "GET /api/v1/nodes?",
     .body = PAGE(NODE("a") "," NODE("\\u0062"), "t1"),
     .how = WIRE_GZIP,
     ALWAYS},
    {.match = "/nodes/gone",
     .http = 404,
     .body = STATUS "\"reason\":\"NotFound\",\"details\":{\"name\":\"gone\"}}",
     ALWAYS},
    {.match = "GET /api/v1/namespaces/a/pods/p",
     .http = 403,
     .body = STATUS "\"reason\":\"Forbidden\"}",
     ALWAYS},
    {.match = "GET /api/v1 ",
     .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\","
             "\"resources\":[{\"name\":\"nodes\"},{\"name\":\"pods\"}]}",
     ALWAYS},
    {.match = "GET /api ",
     .body = "{\"kind\":\"APIVersions\",\"versions\":[]}",
     ALWAYS},
    {.match = "GET /apis ",
     .body = "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"acme.com\","
             "\"versions\":[{\"version\":\"v1\"}]}]}",
     ALWAYS},
    {.match = "/apis/acme.com/v1 ",
     .body = "{\"kind\":\"APIResourceList\",\"groupVersion\":\"acme.com/v1\","
             "\"resources\":[{\"name\":\"gadgets\",\"kind\":\"Gadget\"}]}",
     ALWAYS},
    {.match = "/gadgets", .body = "{\"items\":[]}", ALWAYS},
    {.match = "POST", .http = 201, .body = POD_P, ALWAYS},
    {0}};

static struct wire_server *servers[2]; /* plain, TLS */
static struct wire_pki pki;

/* libcurl's memory. Without memory for an address it looks the name up in a
 * thread of its own, which may outlive the client a little. */
static struct {
  atomic_size_t fail_at, count, live;
} theirs;

static void *their_realloc(void *ptr, size_t size)
{
  if (++theirs.count == theirs.fail_at) {
    return NULL;
  }
  void *p = realloc(ptr, size == 0 ? 1 : size);
  theirs.live += p != NULL && ptr == NULL;
  return p;
}

static void *their_malloc(size_t size)
{
  return their_realloc(NULL, size);
}

static void *their_calloc(size_t count, size_t size)
{
  void *p = their_realloc(NULL, count * size);
  return p == NULL ? NULL : memset(p, 0, count * size);
}

static char *their_strdup(const char *text)
{
  size_t size = strlen(text) + 1;
  char *p = their_realloc(NULL, size);
  return p == NULL ? NULL : memcpy(p, text, size);
}

static void their_free(void *ptr)
{
  theirs.live -= ptr != NULL;
  free(ptr);
}

/* Do the words stand for a lack of memory? */
static bool is_refusal(const char *end)
{
  static const char *const words[] = {
      NO_MEMORY, "INTERNAL/transport", /* nothing could be set up */
      "INTERNAL/bad-encoding"          /* nothing could be unpacked */
  };
  for (size_t i = 0; i < COUNT(words); i++) {
    if (strcmp(words[i], end) == 0) {
      return true;
    }
  }
  return false;
}

/* How a call ended; what it gave is looked at on the way. */
static const char *end_of(struct kube_call *call, const struct task *task)
{
  static char text[128];
  const char *object = NULL;
  size_t len = 0, items = 0;
  for (;;) {
    switch (next_news(call, &object, &len)) {
    case KUBE_CALL_ITEM:
      items++;
      continue;
    case KUBE_CALL_END:
      return items == task->items ? task->end : "a shorter list";
    case KUBE_CALL_OBJECT:
      return task->items == len ? task->end : "part of an object";
    default:
      snprintf(text, sizeof text, "%s/%s",
               aicr_code_name(kube_call_error(call)->code),
               kube_call_error(call)->reason);
      return text;
    }
  }
}

/* The whole life of a client. */
static const char *live_once(const struct task *task, size_t ours, size_t curls)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct asked a;
  const char *end = NO_MEMORY;
  torture_fail_at = 0;
  theirs.fail_at = 0;
  struct kube_config config = config_of(wire_url(servers[task->tls]));
  assert_true(aicr_buf_adds(&config.ca, pki.ca));
  config.token = copy_of("secret");
  read_question(task->question, &a);
  if (a.spec.verb == KUBE_CREATE) {
    a.spec.body = "{}";
    a.spec.body_len = 2;
    a.spec.content_type = J;
  }
  torture_count = 0;
  theirs.count = 0;
  torture_fail_at = ours;
  theirs.fail_at = curls;
  struct kube_backend *b = kube_live_open(&config, &err);
  struct kube_client *c = b == NULL ? NULL : kube_client_open(b);
  if (c != NULL) {
    live_of(c)->backoff_ms = 0;
    struct kube_call *call = kube_client_start(c, &a.spec, NULL);
    end = call == NULL ? NO_MEMORY : end_of(call, task);
    kube_client_close(c);
  }
  torture_fail_at = 0;
  theirs.fail_at = 0;
  return end;
}

/* What is left of libcurl's memory, once it is as much as before. */
static size_t their_rest(size_t before)
{
  const struct timespec ms = {.tv_nsec = 1000000};
  for (int i = 0; i < PATIENCE_MS && theirs.live != before; i++) {
    nanosleep(&ms, NULL);
  }
  return theirs.live;
}

/* One allocation after the other fails. Returns how many calls said so. */
static size_t fail_each(const struct task *task, bool ours)
{
  size_t refused = 0;
  for (size_t n = 1;; n++) {
    size_t left = theirs.live;
    torture_live = 0;
    wire_rows(servers[task->tls], answers);
    const char *end = live_once(task, ours ? n : 0, ours ? 0 : n);
    assert_int_equal(torture_live, 0);
    assert_int_equal(their_rest(left), left);
    bool well = strcmp(end, task->end) == 0;
    if ((ours ? torture_count : theirs.count) < n) {
      assert_true(well);
      return refused;
    }
    if (!well && !is_refusal(end)) {
      fail_msg("%s: after %zu of %s: %s\n%s", task->question, n,
               ours ? "ours" : "libcurl's", end,
               wire_requests(servers[task->tls]));
    }
    refused += well ? 0 : 1;
  }
}

static void test_task(void **state)
{
  const struct task *task = *state;
  void *(*before)(void *, size_t) = aicr_realloc;
  aicr_realloc = torture_realloc;
  assert_string_equal(live_once(task, 0, 0), task->end);
  size_t ours = fail_each(task, true), curls = fail_each(task, false);
  aicr_realloc = before;
  assert_true(ours > 10);
  assert_true(curls > 10);
}

static int begin(void **state)
{
  wire_pki_make(&pki);
  const struct wire_options options = {.certificate = WIRE_GOOD, .pki = &pki};
  servers[0] = wire_start(answers, NULL);
  servers[1] = wire_start(answers, &options);
  return curl_global_init_mem(CURL_GLOBAL_DEFAULT, their_malloc, their_free,
                              their_realloc, their_strdup,
                              their_calloc) == CURLE_OK
             ? ignore_pipe(state)
             : -1;
}

static int end(void **state)
{
  (void)state;
  wire_stop(servers[0]);
  wire_stop(servers[1]);
  wire_pki_free(&pki);
  return 0;
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(tasks); i++) {
    add_row(&rows, "memory", tasks[i].question, test_task, &tasks[i]);
  }
  return run_rows_with(&rows, "live memory", begin, end);
}
