/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "kube/recording_index.h"

#include "rows.h"

#include "kube_asker.h"
#include "torture.h"

/* Who is given which line of an index (design 9). Answers are nodes with
 * {"v":N}. */

#define STEPS 8

struct step {
  const char *check; /* NULL: none of the checks asks */
  unsigned attempt;
  const char *part, *question, *answer;
};

struct row {
  const char *what, *index;
  struct step steps[STEPS];
};

#define NODE                                                                   \
  "\"version\":\"v1\",\"resource\":\"nodes\",\"verb\":\"get\",\"name\":\"n\""
#define LIST      "\"version\":\"v1\",\"resource\":\"nodes\",\"verb\":\"list\""
#define OK(n)     ",\"http\":200,\"file\":\"" #n ".json\""
#define NEVER(t)  ",\"transport\":\"" t "\""
#define OF(check) ",\"check\":\"" check "\""
#define TRY(n)    ",\"attempt\":" #n
#define IN(part)  ",\"part\":\"" part "\""
#define LINE(x)   "{" x "}\n"
#define RUN(x)    LINE("\"verb\":\"run\"" x)
#define UNRESOLVED(what, code, reason, x)                                      \
  LINE("\"verb\":\"resolve\",\"what\":\"" what "\",\"code\":\"" code           \
       "\",\"reason\":\"" reason "\"" x)
#define GET    "get nodes name=n"
#define V(n)   "object " NODE_OF("n", #n)
#define DIFFER "INTERNAL/not-recorded served"
#define END    "CANCELED/recorded-end served"

static const struct row table[] = {
    {"each check its own, in their order, the last one from then on",
     LINE(NODE OK(1) OF("a")) LINE(NODE OK(2) OF("b")) LINE(NODE OK(3) OF("a"))
         LINE(NODE OK(4) OF("b")) RUN(OF("a")) RUN(OF("b")),
     {{"b", 1, "", GET, V(2)},
      {"b", 1, "", GET, V(4)},
      {"b", 1, "", GET, V(4)},
      {"a", 1, "", GET, V(1)},
      {"a", 1, "", GET, V(3)},
      {"a", 1, "", GET, V(3)}}},
    {"each attempt its own, one more than there were the last one's",
     LINE(NODE OK(1) OF("a")) RUN(OF("a")) LINE(NODE OK(2) OF("a") TRY(2))
         LINE(NODE OK(3) OF("a") TRY(2)) RUN(OF("a") TRY(2)),
     {{"a", 1, "", GET, V(1)},
      {"a", 1, "", GET, V(1)},
      {"a", 2, "", GET, V(2)},
      {"a", 2, "", GET, V(3)},
      {"a", 3, "", GET, V(2)},
      {"a", 3, "", GET, V(3)}}},
    {"each function of a check, and what it deferred, its own",
     LINE(NODE OK(1) OF("a") IN("1.1")) LINE(NODE OK(2) OF("a") IN("1.2"))
         LINE(NODE OK(3) OF("a") IN("1.1")) LINE(NODE OK(4) OF("a") IN("end"))
             RUN(OF("a")),
     {{"a", 1, "1.2", GET, V(2)},
      {"a", 1, "1.2", GET, V(2)},
      {"a", 1, "1.1", GET, V(1)},
      {"a", 1, "end", GET, V(4)},
      {"a", 1, "1.1", GET, V(3)},
      {"a", 1, "", GET, DIFFER}}},
    {"a check that was not there what was always the same",
     LINE(NODE OK(1)) LINE(NODE OK(1) OF("a")) RUN(OF("a")),
     {{"x", 1, "", GET, V(1)}, {"x", 1, "", GET, V(1)}}},
    {"…and nothing that was not",
     LINE(NODE OK(1) OF("a")) LINE(NODE OK(2) OF("a")) RUN(OF("a")),
     {{"x", 1, "", GET, DIFFER}, {NULL, 1, "", GET, DIFFER}}},
    {"…nor where one got no answer",
     LINE(NODE OK(1) OF("a")) LINE(NODE NEVER("refused") OF("a")) RUN(OF("a")),
     {{"x", 1, "", GET, DIFFER}}},
    {"…of lists, too",
     LINE(LIST OK(5) OF("a")) LINE(LIST OK(6) OF("b"))
         LINE(LIST ",\"label\":\"!l\"" OK(5) OF("a")) LINE(
             LIST ",\"label\":\"!l\"" OK(7) OF("b")) RUN(OF("a")) RUN(OF("b")),
     {{"x", 1, "", "list nodes", DIFFER},
      {"x", 1, "", GET, DIFFER},
      {"x", 1, "", "list nodes label=!l", "n end 1"},
      {"a", 1, "", "list nodes", "n end 1"},
      {"b", 1, "", "list nodes", "n m end 1"},
      {"b", 1, "", "get nodes name=m",
       "object {\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
       "\"name\":\"m\"}}"},
      {"a", 1, "", "get nodes name=m",
       "NOT_FOUND/not-found 404 served verdict"}}},
    {"who is none of the checks what was answered to none",
     LINE(NODE OK(1)) LINE(NODE OK(2) OF("a")) RUN(OF("a")),
     {{NULL, 1, "", GET, V(1)}, {NULL, 1, "", GET, V(1)}}},
    {"without checks everybody all",
     LINE(NODE OK(1)) LINE(NODE OK(2)) LINE(NODE OK(3)),
     {{"a", 1, "", GET, V(1)},
      {"b", 1, "1.1", GET, V(2)},
      {NULL, 1, "", GET, V(3)},
      {"a", 2, "end", GET, V(3)}}},
    {"a run that its deadline ended nothing after its last",
     LINE(NODE OK(1) OF("a")) LINE(NODE OK(1) OF("b"))
         RUN(OF("a") NEVER("deadline")) RUN(OF("b")),
     {{"a", 1, "", GET, V(1)},
      {"a", 1, "", GET, END},
      {"a", 1, "1.1", GET, END},
      {"a", 1, "", "list nodes", END},
      {"a", 1, "", "list pods", "CANCELED/recorded-end"},
      {"b", 1, "", GET, V(1)},
      {"b", 1, "", GET, V(1)}}},
    {"…nor the request that was on its way",
     LINE(NODE OK(1) OF("a")) LINE(NODE NEVER("canceled") OF("a"))
         RUN(OF("a") NEVER("canceled")),
     {{"a", 1, "", GET, V(1)}, {"a", 1, "", GET, END}}},
    {"…but what it deferred its own",
     LINE(NODE OK(1) OF("a")) RUN(OF("a") NEVER("canceled"))
         LINE(NODE OK(2) OF("a") IN("end")),
     {{"a", 1, "end", GET, V(2)}, {"a", 1, "end", GET, V(2)}}},
    {"a run that broke off nothing after its last",
     LINE(NODE OK(1) OF("a")) RUN(OF("a") TRY(2)),
     {{"a", 1, "", GET, V(1)}, {"a", 1, "", GET, END}}},
    {"a request that was not sent, what it was not sent for",
     LINE(NODE OK(1) OF("a"))
         LINE(NODE ",\"code\":\"UNAUTHORIZED\",\"reason\":\"expired\"" OF("a"))
             LINE(NODE OK(1) OF("b")) RUN(OF("a")) RUN(OF("b")),
     {{"a", 1, "", GET, V(1)},
      {"a", 1, "", GET, "UNAUTHORIZED/expired served"},
      {"a", 1, "", GET, "UNAUTHORIZED/expired served"},
      {"b", 1, "", GET, V(1)},
      {"x", 1, "", GET, DIFFER}}},
    {"a resource that was not found, what was said of it",
     LINE(NODE OK(1) OF("b")) UNRESOLVED("nodes", "INTERNAL",
                                         "discovery-incomplete", OF("a"))
         UNRESOLVED("foos", "NOT_FOUND", "api-not-served", OF("a") IN("1.1"))
             LINE(NODE OK(2) OF("a")) RUN(OF("a")) RUN(OF("b")),
     {{"a", 1, "", GET, "INTERNAL/discovery-incomplete"},
      {"a", 1, "", GET, V(2)},
      {"a", 2, "", GET, "INTERNAL/discovery-incomplete"},
      {"b", 1, "", GET, V(1)},
      {"a", 1, "1.1", "list foos",
       "NOT_FOUND/api-not-served 404 not-served verdict"},
      {"a", 1, "", "list foos", "INTERNAL/not-recorded"},
      {"x", 1, "", "list foos", "INTERNAL/not-recorded"}}},
    {"a run that was ended, no word of what it did not look for",
     LINE(NODE OK(1) OF("a")) RUN(OF("a") NEVER("canceled")),
     {{"a", 1, "", GET, V(1)},
      {"a", 1, "", "list foos", "CANCELED/recorded-end"},
      {"a", 1, "end", "list foos", "INTERNAL/not-recorded"},
      {"x", 1, "", "list foos", "INTERNAL/not-recorded"}}},
    {"a request that was left with an answer of its own goes on",
     LINE(NODE NEVER("canceled") OF("a")) LINE(NODE OK(1) OF("a"))
         RUN(OF("a") NEVER("deadline")),
     {{"a", 1, "", GET, "CANCELED/canceled canceled"},
      {"a", 1, "", GET, V(1)},
      {"a", 1, "", GET, END}}},
};

static const struct file answers[] = {
    {"1.json", NODE_OF("n", "1")},
    {"2.json", NODE_OF("n", "2")},
    {"3.json", NODE_OF("n", "3")},
    {"4.json", NODE_OF("n", "4")},
    {"5.json", "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
               "\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":"
               "\"n\"}}]}"},
    {"6.json", "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[{"
               "\"metadata\":{\"name\":\"n\"}},{\"metadata\":{\"name\":\"m\"}}"
               "]}"},
    {"7.json", "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
               "\"resourceVersion\":\"2\"},\"items\":[{\"metadata\":{\"name\":"
               "\"n\"}}]}"},
};

static void write_recording(const struct folder *f, const char *index)
{
  for (size_t i = 0; i < COUNT(answers); i++) {
    folder_text(f, answers[i].path, answers[i].text);
  }
  folder_text(f, "index.jsonl", index);
  folder_text(f, "aicr-recording.json", "{\"schema\":1,\"indexed\":true}");
}

static void test_row(void **state)
{
  const struct row *row = *state;
  struct folder f;
  struct aicr_buf out;
  folder_make(&f);
  write_recording(&f, row->index);
  struct kube_client *c = open_client(f.path, NULL);
  for (size_t i = 0; i < STEPS && row->steps[i].question != NULL; i++) {
    const struct step *step = &row->steps[i];
    struct kube_asker asker = {.attempt = step->attempt};
    struct asked a;
    read_question(step->question, &a);
    if (step->check != NULL) {
      snprintf(asker.check, sizeof asker.check, "%s", step->check);
      snprintf(asker.part, sizeof asker.part, "%s", step->part);
      a.spec.asker = &asker;
    }
    aicr_buf_init(&out, 1 << 20);
    ask(c, &a.spec, &out);
    if (strcmp(out.data, step->answer) != 0) {
      fail_msg("step %zu: %s, expected %s", i + 1, out.data, step->answer);
    }
    aicr_buf_free(&out);
  }
  kube_client_close(c);
  folder_remove(&f);
}

#define WAIT(x) LINE("\"verb\":\"wait\",\"what\":\"w\"" x)

static void test_waits(void **state)
{
  static const char index[] =
      LINE(NODE OK(1)) WAIT(OF("a") ",\"looks\":3") WAIT(OF("b") ",\"looks\":9")
          WAIT(OF("a") NEVER("deadline") ",\"looks\":2") WAIT(OF("a") TRY(2))
              RUN(OF("a")) RUN(OF("a") TRY(2)) RUN(OF("b"))
                  WAIT(OF("c") IN("1.1")) RUN(OF("c") NEVER("deadline"));
  static const struct {
    struct kube_asker asker;
    const char *what;
    enum kube_wait_end end;
    unsigned looks;
  } rows[] = {
      {{"a", 1, ""}, "w", KUBE_WAIT_OVER, 3},
      {{"a", 1, "1.1"}, "w", KUBE_WAIT_NONE, 0},
      {{"a", 1, ""}, "x", KUBE_WAIT_NONE, 0},
      {{"a", 1, ""}, "w", KUBE_WAIT_LATE, 2},
      {{"a", 1, ""}, "w", KUBE_WAIT_NONE, 0},
      {{"a", 2, ""}, "w", KUBE_WAIT_OVER, 0},
      {{"a", 3, ""}, "w", KUBE_WAIT_OVER, 0},
      {{"a", 3, ""}, "w", KUBE_WAIT_NONE, 0},
      {{"b", 1, ""}, "w", KUBE_WAIT_OVER, 9},
      {{"c", 1, ""}, "w", KUBE_WAIT_CUT, 0},
      {{"c", 1, "1.1"}, "w", KUBE_WAIT_OVER, 0},
      {{"c", 1, "end"}, "w", KUBE_WAIT_NONE, 0},
      {{"x", 1, ""}, "w", KUBE_WAIT_UNKNOWN, 0},
      {{"", 1, ""}, "w", KUBE_WAIT_UNKNOWN, 0},
  };
  static const struct {
    struct kube_asker asker;
    enum kube_transport how;
  } ends[] = {
      {{"a", 1, ""}, KUBE_TRANSPORT_OK},
      {{"a", 9, ""}, KUBE_TRANSPORT_OK},
      {{"x", 1, ""}, KUBE_TRANSPORT_OK},
      {{"c", 1, ""}, KUBE_TRANSPORT_DEADLINE},
      {{"c", 2, ""}, KUBE_TRANSPORT_DEADLINE},
  };
  struct folder f;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  (void)state;
  folder_make(&f);
  write_recording(&f, index);
  struct kube_backend *b = kube_recording_open(f.path, NULL, &err);
  assert_string_equal(err.message, "");
  for (size_t i = 0; i < COUNT(rows); i++) {
    unsigned looks = 77;
    assert_int_equal(
        kube_recording_wait(b, &rows[i].asker, rows[i].what, &looks),
        rows[i].end);
    assert_int_equal(looks, rows[i].looks);
  }
  for (size_t i = 0; i < COUNT(ends); i++) {
    assert_int_equal(kube_recording_end(b, &ends[i].asker), ends[i].how);
  }
  b->ops->close(b);
  folder_remove(&f);
}

/* What is waited for is any text. */
static void test_what(void **state)
{
  char out[1024], again[1024], longest[1024];
  (void)state;
  memset(longest, 'x', sizeof longest);
  kube_index_what("a pod", 5, out);
  assert_string_equal(out, "a pod");
  static const struct {
    const char *text;
    size_t len;
  } odd[] = {{"", 0}, {"a\0b", 3}, {"\xff", 1}};
  for (size_t i = 0; i < COUNT(odd); i++) {
    kube_index_what(odd[i].text, odd[i].len, out);
    assert_int_equal(strlen(out), 7 + 64);
  }
  kube_index_what(longest, 1023, out);
  assert_int_equal(strlen(out), 1023);
  kube_index_what(longest, 1024, out);
  longest[1023] = 'y';
  kube_index_what(longest, 1024, again);
  assert_string_not_equal(out, again);
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&r, "gives", table[i].what, test_row, &table[i]);
  }
  add_row(&r, "tells", "how waits and runs ended", test_waits, NULL);
  add_row(&r, "takes", "any text for what is waited for", test_what, NULL);
  return run_rows(&r, "recording_asker");
}
