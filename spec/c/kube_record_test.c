/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record.h"

#include "rows.h"

#include "kube_recorder.h"
#include "torture.h"

/* Calls of a client that records, then the same calls of one that replays. */

#define ROLE(name)                                                             \
  OBJECT_OF("rbac.authorization.k8s.io/v1", "ClusterRole", name)
#define STATUS(why) "{\"kind\":\"Status\",\"reason\":\"" why "\"}"

#define ANSWERS   8
#define QUESTIONS 6

struct row {
  const char *what;
  struct fake_answer answers[ANSWERS];
  const char *questions[QUESTIONS]; /* of both, answered alike */
  const char *more, *told;          /* of the replay only */
};

static const struct row table[] = {
    {"an object",
     {ANSWER(200, J,
             "{\"metadata\": {\"name\":\"a\"}, \"n\": 1.0e3,\"kind\":\"Node\", "
             "\"apiVersion\":\"v1\" }\n")},
     {"get nodes name=a"},
     "get nodes name=b",
     "INTERNAL/not-recorded served"},
    {"one that is absent",
     {ANSWER(404, J,
             "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{"
             "\"name\":\"a\",\"kind\":\"nodes\"}}")},
     {"get nodes name=a"},
     "list nodes",
     "INTERNAL/not-recorded"},
    {"one that comes and changes",
     {ANSWER(404, J,
             "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{"
             "\"name\":\"a\",\"kind\":\"nodes\"}}"),
      ANSWER(200, J, NODE_OF("a", "1")), ANSWER(200, J, NODE_OF("a", "2"))},
     {"get nodes name=a", "get nodes name=a", "get nodes name=a"},
     "get nodes name=a",
     "object " NODE_OF("a", "2")},
    {"a list of three pages",
     {PAGE(NODE("b") "," NODE("a"), "t1"), PAGE("", "t2"), PAGE(NODE("c"), "")},
     {"list nodes"},
     "list nodes label=x",
     "end 1"},
    {"a list with a selector answers none without",
     {PAGE(NODE("a"), "")},
     {"list nodes label=x!=y"},
     "list nodes",
     "INTERNAL/not-recorded served"},
    {"nor one with another",
     {PAGE(NODE("a"), "")},
     {"list nodes field=metadata.name=a"},
     "list nodes field=metadata.name=b",
     "INTERNAL/not-recorded served"},
    {"a list says what is absent",
     {PAGE(NODE("a"), "")},
     {"list nodes"},
     "get nodes name=b",
     "NOT_FOUND/not-found 404 served verdict"},
    {"a list of a namespace",
     {ANSWER(200, J,
             "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{"
             "\"name\":\"p\",\"namespace\":\"n\"}}]}")},
     {"list pods ns=n"},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"an empty list",
     {PAGE("", "")},
     {"list nodes"},
     "get nodes name=b",
     "NOT_FOUND/not-found 404 served verdict"},
    {"a refusal",
     {ANSWER(403, J, STATUS("Forbidden")), ANSWER(403, J, STATUS("Forbidden"))},
     {"list nodes", "get nodes name=a"},
     "list nodes label=x",
     "UNAUTHORIZED/forbidden 403"},
    {"an error that is no text",
     {ANSWER(502, "text/html", "<p>\xff\xfe\x01")},
     {"list nodes"},
     NULL,
     NULL},
    {"an error without a body",
     {ANSWER(500, "", NULL)},
     {"list nodes"},
     NULL,
     NULL},
    {"an answer that is no JSON",
     {ANSWER(200, "text/html", "<p>")},
     {"list nodes"},
     NULL,
     NULL},
    {"no answer",
     {NEVER(REFUSED), NEVER(TLS), NEVER(DEADLINE)},
     {"list nodes", "get nodes name=a", "get nodes name=b"},
     NULL,
     NULL},
    {"a list that broke",
     {PAGE(NODE("a"), "t1"), NEVER(CUT)},
     {NULL},
     "list nodes",
     "SERVICE_UNAVAILABLE/connection-lost cut"},
    {"an answer that is none, beside a list that has one",
     {PAGE(NODE("a"), ""), ANSWER(200, J, "{\"kind\":\"Status\"}")},
     {"list nodes"},
     "get nodes name=a",
     "INTERNAL/unexpected-response cut"},
    {"a part of a list that is none, beside a whole one",
     {PAGE(NODE("a"), ""), PAGE(NODE("a"), "t"), ANSWER(200, J, "{")},
     {"list nodes"},
     "list nodes label=x!=y",
     "INTERNAL/unexpected-response cut"},
    {"names that no file could have",
     {ANSWER(200, J, ROLE("system:node:a")), ANSWER(200, J, ROLE(".a")),
      ANSWER(200, J, ROLE("_a"))},
     {"get clusterroles name=system:node:a", "get clusterroles name=.a",
      "get clusterroles name=_a"},
     NULL,
     NULL},
    {"an object whose name is a list's",
     {ANSWER(200, J, NODE_OF("list", "1")), PAGE(NODE("a"), "")},
     {"get nodes name=list", "list nodes"},
     NULL,
     NULL},
    {"a path", /* its text may be anything */
     {ANSWER(200, "text/plain", "ok"), ANSWER(404, "text/plain", "no\n")},
     {"get_raw /readyz", "get_raw /nope"},
     "get_raw /livez",
     "INTERNAL/not-recorded"},
};

/* Without what only the client sees: how many pages there were. */
static void ask_plain(struct kube_client *c, const char *question,
                      struct aicr_buf *out)
{
  aicr_buf_reset(out);
  ask_text(c, question, out);
  char *end = strstr(out->data, "end ");
  if (end != NULL) {
    end[3] = '\0';
  }
}

static void test_row(void **state)
{
  const struct row *row = *state;
  struct folder f;
  struct fake fake = {0};
  struct aicr_buf live[QUESTIONS], out;
  folder_make(&f);
  struct kube_client *c = open_recording(&fake, f.path, row->answers);
  assert_non_null(c);
  aicr_buf_init(&out, 1 << 20);
  for (size_t i = 0; i < QUESTIONS && row->questions[i] != NULL; i++) {
    aicr_buf_init(&live[i], 1 << 20);
    ask_plain(c, row->questions[i], &live[i]);
  }
  if (row->questions[0] == NULL ||
      (fake.used < ANSWERS && row->answers[fake.used].http != 0)) {
    ask_text(c, row->more, &out);
  }
  assert_null(kube_record_error(kube_client_recording(c)));
  kube_client_close(c);
  c = open_client(f.path, NULL);
  for (size_t i = 0; i < QUESTIONS && row->questions[i] != NULL; i++) {
    ask_plain(c, row->questions[i], &out);
    /* a replay may know of what is served, and the fake does not */
    char *served = strstr(out.data, " served");
    if (served != NULL && strstr(live[i].data, " served") == NULL) {
      memmove(served, served + 7, strlen(served + 7) + 1);
    }
    assert_string_equal(out.data, live[i].data);
    aicr_buf_free(&live[i]);
  }
  if (row->more != NULL) {
    aicr_buf_reset(&out);
    ask_text(c, row->more, &out);
    assert_string_equal(out.data, row->told);
  }
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

static void read_text(const struct folder *f, const char *file, char *out,
                      size_t size)
{
  char path[256];
  folder_path(f, file, path, sizeof path);
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  size_t n = fread(out, 1, size - 1, in);
  out[n] = '\0';
  fclose(in);
}

/* Puts SUM for each sum: whether they are right, a replay says. */
static void mask_sums(char *text)
{
  for (char *p = text; *p != '\0'; p++) {
    if (strspn(p, "0123456789abcdef") == 64) {
      memcpy(p, "SUM", 3);
      memmove(p + 3, p + 64, strlen(p + 64) + 1);
    }
  }
}

static void test_files(void **state)
{
  static const struct fake_answer answers[] = {
      PAGE(NODE("a"), ""), ANSWER(403, J, "{\"a\":\"\\\"\"}"), NEVER(REFUSED),
      ANSWER(200, J, "{\"gitVersion\":\"v1.2.3\"}"),
      ANSWER(200, J,
             "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"s\"},\"data\":{\"a\":\"eA==\"}}")};
  static const char *const files[][2] = {
      {"aicr-recording.json",
       "{\n  \"schema\": 1,\n  \"indexed\": true,\n  \"capturedAt\": "
       "\"2023-11-14T22:13:20.123Z\",\n  \"server\": {\"gitVersion\": "
       "\"v1.2.3\"},\n  \"context\": \"a \\\"b\\\"\",\n  \"tool\": "
       "\"spec\",\n  \"lines\": 5,\n  \"sha256\": {\n    \"index.jsonl\": "
       "\"SUM\"\n  }\n}\n"},
      {"index.jsonl",
       "{\"version\":\"v1\",\"resource\":\"nodes\",\"verb\":\"list\",\"label\":"
       "\"!x\",\"attempts\":2,\"http\":200,\"contentType\":\"application/"
       "json\","
       "\"file\":\"objects/core/v1/nodes/list+2.json\",\"bytes\":111,"
       "\"sha256\":\"SUM\"}\n"
       "{\"version\":\"v1\",\"resource\":\"pods\",\"ns\":\"n\",\"verb\":"
       "\"list\",\"attempts\":2,\"http\":403,\"contentType\":"
       "\"application/json\",\"file\":\"errors/core/v1/pods.n.json\","
       "\"bytes\":72,\"sha256\":\"SUM\"}\n"
       "{\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"deployments\","
       "\"ns\":\"n\",\"verb\":\"get\",\"name\":\"d\",\"attempts\":2,"
       "\"transport\":\"refused\"}\n"
       "{\"verb\":\"get_raw\",\"path\":\"/"
       "version\",\"attempts\":2,\"http\":200,"
       "\"contentType\":\"application/json\",\"file\":\"raw/_version+5.txt\","
       "\"bytes\":23,\"sha256\":\"SUM\"}\n"
       "{\"version\":\"v1\",\"resource\":\"secrets\",\"ns\":\"n\",\"verb\":"
       "\"get\",\"name\":\"s\",\"attempts\":2,\"http\":200,\"contentType\":"
       "\"application/json\",\"file\":\"objects/core/v1/secrets/n/s.json\","
       "\"bytes\":91,\"sha256\":\"SUM\"}\n"},
      {"objects/core/v1/nodes/list+2.json",
       "{\"items\":[\n{\"metadata\":{\"name\":\"a\"}}\n],\"apiVersion\":\"v1\","
       "\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"7\"}}\n"},
      {"errors/core/v1/pods.n.json",
       "{\"http\":403,\"contentType\":\"application/json\",\"body\":"
       "\"{\\\"a\\\":\\\"\\\\\\\"\\\"}\"}\n"},
      {"objects/core/v1/secrets/n/s.json",
       "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
       "\"s\"},"
       "\"data\":\"[secret, not recorded]\"}"},
  };
  static const char *const questions[] = {
      "list nodes label=!x", "list pods ns=n", "get deployments ns=n name=d",
      "get_raw /version", "get secrets ns=n name=s"};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  (void)state;
  folder_make(&f);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  aicr_buf_init(&out, 1 << 20);
  for (size_t i = 0; i < COUNT(questions); i++) {
    ask_text(c, questions[i], &out);
  }
  assert_null(kube_record_error(kube_client_recording(c)));
  kube_client_close(c);
  for (size_t i = 0; i < COUNT(files); i++) {
    char text[4096];
    read_text(&f, files[i][0], text, sizeof text);
    mask_sums(text);
    assert_string_equal(text, files[i][1]);
  }
  aicr_buf_free(&out);
  folder_remove(&f);
}

/* Without its index nothing that was selected passes for a whole list. */
static void test_no_index(void **state)
{
  static const struct fake_answer answers[] = {PAGE(NODE("a"), "")};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  char path[256];
  (void)state;
  folder_make(&f);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  aicr_buf_init(&out, 1 << 20);
  ask_text(c, "list nodes label=!x", &out);
  kube_client_close(c);
  folder_path(&f, "index.jsonl", path, sizeof path);
  assert_int_equal(unlink(path), 0);
  assert_null(kube_recording_open(f.path, NULL, &err));
  assert_string_equal(err.message, "\"index.jsonl\": the file is missing");
  folder_path(&f, "aicr-recording.json", path, sizeof path);
  assert_int_equal(unlink(path), 0);
  assert_null(kube_recording_open(f.path, NULL, &err));
  assert_string_equal(err.reason, "recording-invalid");
  aicr_buf_free(&out);
  folder_remove(&f);
}

/* A call that its owner leaves before the answer, and a list before its end. */
static void test_left(void **state)
{
  static const struct fake_answer answers[] = {
      PAGE(NODE("a") "," NODE("b"), ""), ANSWER(200, J, NODE("x"))};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  struct asked list, get;
  const char *text = NULL;
  size_t len = 0;
  void *owner = NULL;
  (void)state;
  folder_make(&f);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  read_question("list nodes", &list);
  struct kube_call *call = kube_client_start(c, &list.spec, &f);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_ITEM);
  kube_call_close(call);
  read_question("get nodes name=x", &get);
  call = kube_client_start(c, &get.spec, &f);
  kube_call_close(call);
  kube_client_close(c);
  c = open_client(f.path, NULL);
  aicr_buf_init(&out, 1 << 20);
  ask_text(c, "list nodes", &out);
  assert_string_equal(out.data, "a INTERNAL/not-recorded served");
  static const char *const rows[][2] = {
      {"get nodes name=a", "object {\"kind\":\"Node\",\"apiVersion\":\"v1\","
                           "\"metadata\":{\"name\":\"a\"}}"},
      {"get nodes name=b", "INTERNAL/not-recorded served"},
      {"list nodes label=!x", "INTERNAL/not-recorded served"},
      {"get nodes name=x", "CANCELED/canceled canceled"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    aicr_buf_reset(&out);
    ask_text(c, rows[i][0], &out);
    assert_string_equal(out.data, rows[i][1]);
  }
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

#define REVIEW(allowed)                                                        \
  ANSWER(                                                                      \
      201, J,                                                                  \
      "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":"                  \
      "\"authorization.k8s.io/v1\",\"spec\":{\"nonResourceAttributes\":"       \
      "{\"path\":\"/x\",\"verb\":\"get\"}},\"status\":{\"allowed\":" #allowed  \
      "}}")

/* Each asker is given again what it was given, whoever asks first. */
static void test_askers(void **state)
{
  static const struct fake_answer answers[] = {
      ANSWER(200, J, NODE_OF("a", "0")),
      ANSWER(200, J, NODE_OF("a", "1")),
      ANSWER(200, J, NODE_OF("a", "2")),
      REVIEW(0),
      ANSWER(503, "", NULL),
      REVIEW(2)};
  static const char *const gives[] = {"object " NODE_OF("a", "0"),
                                      "object " NODE_OF("a", "1"),
                                      "object " NODE_OF("a", "2")};
  static const char review[] = "{\"spec\":{\"nonResourceAttributes\":{"
                               "\"path\":\"/x\",\"verb\":\"get\"}}}";
  static const char *const says[] = {"allowed\":0", "UNAVAILABLE",
                                     "allowed\":2"};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  struct asked get;
  struct kube_call_spec can = {
      .verb = KUBE_CREATE,
      .resource = "selfsubjectaccessreviews.v1.authorization.k8s.io",
      .body = review,
      .body_len = sizeof review - 1};
  (void)state;
  folder_make(&f);
  read_question("get nodes name=a", &get);
  aicr_buf_init(&out, 1 << 20);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  for (size_t i = 0; i < COUNT(answers); i++) {
    struct kube_call_spec *spec = i < COUNT(askers) ? &get.spec : &can;
    spec->asker = &askers[i % COUNT(askers)];
    ask(c, spec, &out);
  }
  struct kube_record *r = kube_client_recording(c);
  kube_record_wait(r, &askers[1], "\xe2\x82\xac \"pod\"", 3, true);
  for (size_t i = 0; i < COUNT(askers); i++) {
    kube_record_run(r, &askers[i], KUBE_TRANSPORT_OK);
  }
  assert_null(kube_record_error(r));
  kube_client_close(c);
  c = open_client(f.path, NULL);
  for (size_t i = COUNT(askers); i-- > 0;) {
    get.spec.asker = can.asker = &askers[i];
    aicr_buf_reset(&out);
    ask(c, &get.spec, &out);
    assert_string_equal(out.data, gives[i]);
    aicr_buf_reset(&out);
    ask(c, &can, &out);
    if (strstr(out.data, says[i]) == NULL) {
      fail_msg("%s", out.data);
    }
  }
  unsigned looks = 0;
  assert_int_equal(kube_recording_wait(kube_client_backend(c), &askers[1],
                                       "\xe2\x82\xac \"pod\"", &looks),
                   KUBE_WAIT_LATE);
  assert_int_equal(looks, 3);
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

static void test_refused(void **state)
{
  static const struct kube_record_facts facts = {.captured_ms = 1};
  struct folder f;
  struct aicr_error err;
  char path[256];
  (void)state;
  folder_make(&f);
  folder_text(&f, "x", "");
  assert_null(kube_record_open(f.path, &facts, &err));
  assert_string_equal(err.reason, "record-not-empty");
  assert_non_null(strstr(err.message, f.path));
  folder_path(&f, "x", path, sizeof path);
  assert_null(kube_record_open(path, &facts, &err));
  assert_string_equal(err.reason, "record-failed");
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  folder_path(&f, "none/x/y", path, sizeof path);
  folder_remove(&f);
  assert_null(kube_record_open(path, &facts, &err));
  assert_string_equal(err.reason, "record-failed");
}

/* A folder that is taken away while it is written to. */
static void test_failed(void **state)
{
  static const struct fake_answer answers[] = {PAGE(NODE("a"), ""),
                                               PAGE(NODE("a"), "")};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  (void)state;
  folder_make(&f);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  folder_remove(&f);
  aicr_buf_init(&out, 1 << 20);
  ask_text(c, "list nodes", &out);
  ask_text(c, "list nodes", &out);
  assert_string_equal(out.data, "a end 1a end 1");
  const struct aicr_error *err = kube_record_error(kube_client_recording(c));
  assert_non_null(err);
  assert_int_equal(err->code, AICR_INTERNAL);
  assert_string_equal(err->reason, "record-failed");
  assert_non_null(strstr(err->message, f.path));
  kube_client_close(c);
  aicr_buf_free(&out);
}

/* Records a list; true when it all went well. */
static bool record_list(const struct row *row, const char *folder)
{
  struct fake fake;
  struct asked a;
  int owner = 0;
  void *got = NULL;
  const char *text = NULL;
  size_t len = 0;
  enum kube_call_state s = KUBE_CALL_WAIT;
  struct kube_client *c = open_recording(&fake, folder, row->answers);
  if (c == NULL) {
    return false;
  }
  read_question(row->questions[0], &a);
  struct kube_call *call = kube_client_start(c, &a.spec, &owner);
  while (call != NULL && (s == KUBE_CALL_WAIT || s == KUBE_CALL_ITEM)) {
    s = kube_call_next(call, &text, &len);
    if (s == KUBE_CALL_WAIT && kube_client_poll(c, 0, &got) == NULL) {
      break;
    }
  }
  kube_call_close(call);
  bool ok =
      s == KUBE_CALL_END && kube_record_error(kube_client_recording(c)) == NULL;
  kube_client_close(c);
  return ok;
}

/* What an allocation that failed leaves is a recording, or is refused; it is
 * never a list with less in it. */
static void test_memory(void **state)
{
  const struct row *row = &table[3];
  void *(*real)(void *, size_t) = aicr_realloc;
  bool ok = false;
  size_t n = 1;
  (void)state;
  for (; !ok && n < 400; n++) {
    struct folder f;
    struct aicr_buf out;
    struct aicr_error err;
    folder_make(&f);
    torture_fail_at = n;
    torture_count = 0;
    torture_live = 0;
    aicr_realloc = torture_realloc;
    ok = record_list(row, f.path) && torture_count < n;
    aicr_realloc = real;
    assert_int_equal(torture_live, 0);
    struct kube_backend *b = kube_recording_open(f.path, NULL, &err);
    struct kube_client *c = b == NULL ? NULL : kube_client_open(b);
    aicr_buf_init(&out, 1 << 20);
    if (c != NULL) {
      ask_text(c, row->questions[0], &out);
      kube_client_close(c);
    }
    if (ok || strncmp(out.len == 0 ? "" : out.data, "b a c end", 9) == 0) {
      assert_string_equal(out.data, "b a c end 1");
    } else if (out.len > 0) {
      assert_non_null(strstr(out.data, "INTERNAL/"));
    }
    aicr_buf_free(&out);
    folder_remove(&f);
  }
  assert_true(ok);
  assert_true(n > 20);
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&r, "record", table[i].what, test_row, &table[i]);
  }
  add_row(&r, "record", "the files", test_files, NULL);
  add_row(&r, "record", "without its index", test_no_index, NULL);
  add_row(&r, "record", "what was left", test_left, NULL);
  add_row(&r, "record", "who asked", test_askers, NULL);
  add_row(&r, "record", "folders that are refused", test_refused, NULL);
  add_row(&r, "record", "a folder that goes", test_failed, NULL);
  add_row(&r, "record", "without memory", test_memory, NULL);
  return run_rows(&r, "kube_record");
}
