/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_index.h"

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"
#include "torture.h"

/* One line. */
struct line {
  const char *text;
  const char *why; /* a part of the message; NULL: accepted */
};

#define NODES "\"version\":\"v1\",\"resource\":\"nodes\""
#define LIST  "{" NODES ",\"verb\":\"list\""
#define GET   "{" NODES ",\"verb\":\"get\",\"name\":\"n\""

#define WAIT       "{\"verb\":\"wait\",\"check\":\"a\""
#define RUN        "{\"verb\":\"run\",\"check\":\"a\""
#define LOOK       "{\"verb\":\"resolve\",\"check\":\"a\",\"what\":\"nodes\""
#define CODE(c, r) ",\"code\":\"" c "\",\"reason\":\"" r "\""

static const struct line lines[] = {
    {LIST ",\"http\":200,\"file\":\"a.json\"}", NULL},
    {LIST ",\"http\":200}", NULL},
    {LIST ",\"http\":403,\"contentType\":\"text/plain\"}", NULL},
    {LIST ",\"transport\":\"refused\"}", NULL},
    {LIST ",\"transport\":\"deadline\",\"http\":null,\"file\":null}", NULL},
    {LIST ",\"group\":\"core\",\"http\":500}", NULL},
    {LIST ",\"group\":null,\"ns\":null,\"http\":500}", NULL},
    {LIST ",\"group\":\"\",\"ns\":\"\",\"http\":500}", NULL},
    {LIST ",\"label\":\"a=b\",\"field\":\"x=y\",\"http\":500}", NULL},
    {GET ",\"http\":500}", NULL},
    {GET ",\"subresource\":\"status\",\"http\":500}", NULL},
    {" " LIST " , \"http\" : 500 } ", NULL},
    {"{" NODES
     ",\"verb\":\"watch\",\"label\":\"a\",\"field\":\"b\",\"http\":500}",
     NULL},
    {GET ",\"query\":\"b=1&a=2\",\"attempts\":3,\"http\":500}", NULL},
    {GET ",\"transport\":\"cut\",\"reason\":\"bad-encoding\",\"detail\":\"x\"}",
     NULL},
    {"{\"verb\":\"get_raw\",\"path\":\"/readyz\",\"http\":500}", NULL},
    {"{\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"deployments\","
     "\"ns\":\"a\",\"verb\":\"create\",\"http\":201,\"file\":\"a/b/c\"}",
     NULL},
    {GET ",\"check\":\"a-1\",\"http\":500}", NULL},
    {GET ",\"check\":\"a\",\"attempt\":2,\"part\":\"end/1.2\",\"http\":500}",
     NULL},
    {WAIT ",\"what\":\"x\"}", NULL},
    {WAIT ",\"what\":\"x\",\"looks\":7,\"transport\":\"deadline\"}", NULL},
    {WAIT ",\"what\":\"x\",\"looks\":100000}", NULL},
    {RUN "}", NULL},
    {RUN ",\"attempt\":3,\"transport\":\"canceled\"}", NULL},

    {GET CODE("UNAUTHORIZED", "expired") "}", NULL},
    {GET CODE("INTERNAL", "x") ",\"detail\":\"y\",\"attempts\":2}", NULL},
    {LOOK CODE("NOT_FOUND", "api-not-served") "}", NULL},
    {LOOK CODE("NOT_FOUND", "api-not-served") ",\"http\":404}", NULL},
    {LOOK CODE("TIMEOUT", "deadline") ",\"transport\":\"deadline\"}", NULL},
    {LOOK CODE("INTERNAL", "x") ",\"detail\":\"y\",\"part\":\"1.1\"}", NULL},

    {GET CODE("UNAUTHORIZED", "x") ",\"http\":500}", "a line has one of"},
    {GET CODE("INTERNAL", "x") ",\"transport\":\"tls\"}", "a line has one of"},
    {GET CODE("INTERNAL", "x") ",\"file\":\"a\"}", "never came"},
    {GET CODE("NOT_FOUND", "not-found") "}", "only an answer with \"http\""},
    {GET CODE("CONFLICT", "x") "}", "only an answer with \"http\""},
    {GET CODE("NOPE", "x") "}", "bad \"code\""},
    {GET CODE("", "x") "}", "bad \"code\""},
    {GET ",\"code\":7}", "bad value of \"code\""},
    {GET ",\"code\":\"INTERNAL\"}", "a \"code\" has a \"reason\""},
    {GET CODE("INTERNAL",
              "a-reason-that-is-longer-than-any-error-could-have-one") "}",
     "bad \"reason\""},
    {LOOK "}", "a resolve has"},
    {LOOK ",\"code\":\"INTERNAL\"}", "a resolve has"},
    {LOOK CODE("INTERNAL", "No") "}", "bad \"reason\""},
    {LOOK CODE("INTERNAL", "x") ",\"looks\":1}", NULL},
    {LOOK CODE("INTERNAL", "x") ",\"name\":\"n\"}", "a resolve has"},
    {LOOK CODE("INTERNAL", "x") ",\"file\":\"a\"}", "a resolve has"},
    {LOOK CODE("INTERNAL", "x") ",\"http\":500,\"transport\":\"tls\"}",
     "either \"http\" or \"transport\""},
    {"{\"verb\":\"resolve\",\"check\":\"a\"" CODE("INTERNAL", "x") "}",
     "a resolve has"},
    {"{\"verb\":\"resolve\",\"what\":\"x\"" CODE("INTERNAL", "x") "}",
     "has a \"check\""},
    {WAIT ",\"what\":\"x\"" CODE("INTERNAL", "x") "}", "has no answer"},
    {RUN CODE("INTERNAL", "x") "}", "has no answer"},

    {GET ",\"check\":\"A\",\"http\":500}", "bad \"check\""},
    {GET ",\"check\":\"a b\",\"http\":500}", "bad \"check\""},
    {GET ",\"check\":7,\"http\":500}", "bad value of \"check\""},
    {GET ",\"check\":\"a\",\"part\":\"../a b\",\"http\":500}", "bad \"part\""},
    {GET ",\"check\":\"a\",\"attempt\":0,\"http\":500}",
     "bad value of \"attempt\": expected a number from 1 to 1000"},
    {GET ",\"attempt\":2,\"http\":500}", "only a \"check\" has"},
    {GET ",\"part\":\"1.1\",\"http\":500}", "only a \"check\" has"},
    {GET ",\"what\":\"x\",\"http\":500}", "only a wait has"},
    {GET ",\"looks\":1,\"http\":500}", "only a wait has"},
    {WAIT "}", "a wait, and it alone, has"},
    {WAIT ",\"what\":\"x\",\"looks\":-1}",
     "bad value of \"looks\": expected a number up to 100000"},
    {WAIT ",\"what\":\"x\",\"looks\":100001}", "bad value of \"looks\""},
    {WAIT ",\"what\":\"x\",\"transport\":\"refused\"}", "ends by itself"},
    {WAIT ",\"what\":\"x\",\"http\":200}", "has no answer"},
    {WAIT ",\"what\":\"x\",\"file\":\"a\"}", "has no answer"},
    {WAIT ",\"what\":\"x\",\"name\":\"a\"}", "asks for nothing"},
    {WAIT ",\"what\":\"x\",\"attempts\":2}", "has no answer"},
    {RUN ",\"what\":\"x\"}", "a wait, and it alone, has"},
    {RUN ",\"looks\":1}", "a wait, and it alone, has"},
    {RUN ",\"version\":\"v1\",\"resource\":\"nodes\"}", "asks for nothing"},
    {"{\"verb\":\"run\"}", "has a \"check\""},
    {"{\"verb\":\"wait\",\"what\":\"x\"}", "has a \"check\""},

    {"", "at byte 0"},
    {"{\"verb\":\"get_raw\",\"http\":500}", "a get_raw has a \"path\""},
    {"{\"verb\":\"get_raw\",\"path\":\"x\",\"http\":500}",
     "a get_raw has a \"path\""},
    {"{" NODES ",\"verb\":\"get_raw\",\"path\":\"/x\",\"http\":500}",
     "and no names"},
    {GET ",\"path\":\"/x\",\"http\":500}", "only a get_raw has a \"path\""},
    {GET ",\"attempts\":0,\"http\":500}", "bad value of \"attempts\""},
    {GET ",\"attempts\":1001,\"http\":500}", "bad value of \"attempts\""},
    {GET ",\"http\":500,\"reason\":\"tls\"}",
     "only a \"transport\" or a \"code\" has"},
    {GET ",\"transport\":\"tls\",\"reason\":\"No\"}", "bad \"reason\""},
    {"{" NODES ",\"verb\":\"watch\",\"name\":\"a\",\"http\":500}",
     "a list has no \"name\""},
    {"{", "at byte 1"},
    {"[]", "is a JSON object"},
    {"7", "is a JSON object"},
    {LIST ",\"http\":200} x", "at byte"},
    {LIST ",\"http\":200", "at byte"},
    {"{}", "\"verb\" is missing"},
    {"{" NODES ",\"http\":200}", "\"verb\" is missing"},
    {"{\"resource\":\"nodes\",\"verb\":\"list\",\"http\":500}",
     "bad API version"},
    {"{\"version\":\"v1\",\"verb\":\"list\",\"http\":500}", "bad resource"},
    {LIST "}", "one of \"http\", \"transport\" and \"code\""},
    {LIST ",\"http\":200,\"transport\":\"reset\"}",
     "one of \"http\", \"transport\" and \"code\""},
    {LIST ",\"http\":99}", "bad value of \"http\""},
    {LIST ",\"http\":600}", "bad value of \"http\""},
    {LIST ",\"http\":-1}", "bad value of \"http\""},
    {LIST ",\"http\":200.0}", "bad value of \"http\""},
    {LIST ",\"http\":\"200\"}", "bad \"http\""},
    {LIST ",\"http\":true}", "bad value of \"http\""},
    {LIST ",\"http\":500,\"http\":500}", "repeated member"},
    {LIST ",\"http\":500,\"namespace\":\"a\"}", "unknown member \"namespace\""},
    {LIST ",\"http\":500,\"Ns\":\"a\"}", "unknown member"},
    {LIST ",\"http\":500,\"ns\\u0000\":\"a\"}", "unknown member"},
    {LIST ",\"transport\":\"Refused\"}", "bad \"transport\""},
    {LIST ",\"transport\":\"\"}", "bad \"transport\""},
    {LIST ",\"transport\":\"reset\",\"file\":\"a\"}", "never came"},
    {"{" NODES ",\"verb\":\"lists\",\"http\":500}", "bad \"verb\""},
    {"{" NODES ",\"verb\":\"\",\"http\":500}", "bad \"verb\""},
    {"{" NODES ",\"verb\":\"get\",\"http\":500}", "a get has a \"name\""},
    {LIST ",\"name\":\"n\",\"http\":500}", "a list has no \"name\""},
    {GET ",\"label\":\"a\",\"http\":500}", "only a list"},
    {LIST ",\"ns\":\"A\",\"http\":500}", "bad namespace"},
    {LIST ",\"ns\":7,\"http\":500}", "bad value of \"ns\""},
    {LIST ",\"ns\":[\"a\"],\"http\":500}", "bad value of \"ns\""},
    {LIST ",\"ns\":{\"a\":{\"b\":1}},\"http\":500}", "bad value of \"ns\""},
    {LIST ",\"group\":\"a/b\",\"http\":500}", "bad API group"},
    {LIST ",\"label\":\"a\\u0000b\",\"http\":500}", "bad \"label\""},
    {LIST ",\"subresource\":\"x\",\"http\":500}", "needs a name"},
    {"{" NODES ",\"verb\":\"get\",\"name\":\"a/b\",\"http\":500}", "bad name"},
    {"{" NODES ",\"verb\":\"get\",\"name\":\"..\",\"http\":500}", "bad name"},
    {LIST ",\"http\":200,\"file\":\"../a\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"a/../b\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"a/..\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"/etc/passwd\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"a//b\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"a/\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\".\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"./a\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"a\\\\b\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"a\\nb\"}", "bad \"file\""},
    {LIST ",\"http\":200,\"file\":\"1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h\"}",
     "bad \"file\""},
    {LIST ",\"contentType\":"
          "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
          "\"http\":200}",
     "bad \"contentType\""},
    {LIST ",\"contentType\":\"\xff\",\"http\":200}", "at byte"},
};

static void test_line(void **state)
{
  const struct line *row = *state;
  struct kube_index_line line;
  struct aicr_error err;
  bool ok = kube_index_parse(row->text, strlen(row->text), &line, &err);
  if (row->why == NULL) {
    assert_true(ok);
    int ends = (line.http != 0) + (line.transport != KUBE_TRANSPORT_OK) +
               (line.code != AICR_CODE_NONE);
    assert_true(line.kind != KUBE_INDEX_ANSWER || ends == 1);
    return;
  }
  assert_false(ok);
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_string_equal(err.reason, "recording-invalid");
  if (strstr(err.message, row->why) == NULL) {
    fail_msg("%s lacks %s", err.message, row->why);
  }
}

static void test_members(void **state)
{
  static const char text[] =
      "{\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"deployments\","
      "\"ns\":\"a\",\"verb\":\"get\",\"name\":\"d\",\"subresource\":\"scale\","
      "\"http\":200,\"contentType\":\"application/json\",\"file\":\"x/y\"}";
  (void)state;
  struct kube_index_line l;
  assert_true(kube_index_parse(text, sizeof text - 1, &l, NULL));
  assert_string_equal(l.group, "apps");
  assert_string_equal(l.version, "v1");
  assert_string_equal(l.resource, "deployments");
  assert_string_equal(l.ns, "a");
  assert_int_equal(l.verb, KUBE_GET);
  assert_string_equal(l.name, "d");
  assert_string_equal(l.subresource, "scale");
  assert_int_equal(l.http, 200);
  assert_string_equal(l.content_type, "application/json");
  assert_string_equal(l.file, "x/y");
}

/* A recording with an index, and questions one after another. */
struct script {
  const char *what;
  struct file files[FILES_MAX];
  struct {
    const char *question, *answer;
  } steps[6];
};

#define NET                                                                    \
  "\"group\":\"networking.gke.io\",\"version\":\"v1\",\"resource\":"           \
  "\"networks\""
#define LINE(members) "{" NET "," members "}\n"
#define OK(file)                                                               \
  "\"http\":200,\"contentType\":\"application/json\",\"file\":\"" file "\""
#define POD_LINE(members)                                                      \
  "{\"version\":\"v1\",\"resource\":\"pods\"," members "}\n"

static const struct script scripts[] = {
    {"repeats in order, the last from then on",
     {{"index.jsonl",
       LINE("\"verb\":\"list\"," OK("1")) LINE("\"verb\":\"list\",\"http\":503")
           LINE("\"verb\":\"list\"," OK("2"))},
      {"1", NETWORK_LIST(NAMED("a"))},
      {"2", NETWORK_LIST(NAMED("b") "," NAMED("c"))}},
     {{"list networks", "a end 1"},
      {"list networks", "SERVICE_UNAVAILABLE/unavailable 503"},
      {"list networks limit=1", "b c end 2"},
      {"list networks", "b c end 1"}}},
    {"gets of a name, repeated",
     {{"index.jsonl",
       LINE("\"verb\":\"get\",\"name\":\"a\"," OK("1"))
           LINE("\"verb\":\"get\",\"name\":\"a\",\"transport\":\"reset\"")},
      {"1", NETWORK("a")}},
     {{"get networks name=a", "object " NETWORK("a")},
      {"get networks name=a", "SERVICE_UNAVAILABLE/connection-lost reset"},
      {"get networks name=a", "SERVICE_UNAVAILABLE/connection-lost reset"},
      {"get networks name=b", "INTERNAL/not-recorded served"},
      {"list networks", "INTERNAL/not-recorded served"}}},
    {"transports",
     {{"index.jsonl", LINE("\"verb\":\"list\",\"transport\":\"deadline\"")
                          LINE("\"verb\":\"list\",\"transport\":\"canceled\"")
                              LINE("\"verb\":\"list\",\"transport\":\"cut\"")}},
     {{"list networks", "TIMEOUT/deadline deadline"},
      {"list networks", "CANCELED/canceled canceled"},
      {"list networks", "SERVICE_UNAVAILABLE/connection-lost cut"}}},
    {"a list with a selector answers only that selector",
     {{"index.jsonl", LINE("\"verb\":\"list\",\"label\":\"a!=b\"," OK("1"))},
      {"1", NETWORK_LIST(NAMED("x"))}},
     {{"list networks label=a!=b", "x end 1"},
      {"list networks", "INTERNAL/not-recorded served"},
      {"list networks label=a=c", "INTERNAL/not-recorded served"},
      {"get networks name=x", "INTERNAL/not-recorded served"}}},
    {"a list without one answers every selector and every get",
     {{"index.jsonl", LINE("\"verb\":\"list\"," OK("1"))},
      {"1", NETWORK_LIST("{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":"
                         "\"b\"}}}," NAMED("y"))}},
     {{"list networks label=a=b", "x end 1"},
      {"list networks label=!a", "y end 1"},
      {"get networks name=y",
       "object {\"kind\":\"Network\",\"apiVersion\":\"networking.gke.io/v1\","
       "\"metadata\":{\"name\":\"y\"}}"},
      {"get networks name=z", "NOT_FOUND/not-found 404 served verdict"}}},
    {"an error only answers its verb and scope",
     {{"index.jsonl", POD_LINE("\"verb\":\"list\",\"ns\":\"a\",\"http\":403")}},
     {{"list pods ns=a", "UNAUTHORIZED/forbidden 403"},
      {"list pods ns=a label=x", "UNAUTHORIZED/forbidden 403"},
      {"list pods ns=b", "INTERNAL/not-recorded"},
      {"list pods", "INTERNAL/not-recorded"},
      {"get pods ns=a name=p", "INTERNAL/not-recorded"}}},
    {"one namespace of a list of all",
     {{"index.jsonl", POD_LINE("\"verb\":\"list\"," OK("1"))},
      {"1", POD_LIST(IN("b", "q") "," IN("a", "p"))}},
     {{"list pods ns=a", "a/p end 1"},
      {"list pods", "b/q a/p end 1"},
      {"get pods ns=b name=q",
       "object {\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
       "\"namespace\":\"b\",\"name\":\"q\"}}"}}},
    {"not all of a list of one namespace",
     {{"index.jsonl", POD_LINE("\"verb\":\"list\",\"ns\":\"a\"," OK("1"))},
      {"1", POD_LIST(IN("a", "p"))}},
     {{"list pods", "INTERNAL/not-recorded served"},
      {"get pods ns=b name=p", "INTERNAL/not-recorded served"},
      {"list pods ns=a", "a/p end 1"}}},
    {"a get of its own comes before the list",
     {{"index.jsonl", LINE("\"verb\":\"list\"," OK("1"))
                          LINE("\"verb\":\"get\",\"name\":\"a\",\"http\":403")},
      {"1", NETWORK_LIST(NAMED("a"))}},
     {{"get networks name=a", "UNAUTHORIZED/forbidden 403 served"}}},
    {"a wrapped error file",
     {{"index.jsonl",
       LINE("\"verb\":\"list\",\"http\":403,\"file\":\"errors/x.json\"")},
      {"errors/x.json", FORBIDDEN}},
     {{"list networks", "UNAUTHORIZED/forbidden 403"}}},
    {"a raw error body",
     {{"index.jsonl",
       LINE("\"verb\":\"list\",\"http\":404,\"contentType\":\"text/plain\","
            "\"file\":\"x\"")},
      {"x", "404 page not found\n"}},
     {{"list networks", "NOT_FOUND/api-not-served 404 not-served verdict"}}},
    {"a success that is not JSON",
     {{"index.jsonl", LINE("\"verb\":\"list\",\"http\":200,\"contentType\":"
                           "\"text/html\",\"file\":\"x\"")},
      {"x", "<html>log in</html>"}},
     {{"list networks", "INTERNAL/unexpected-response 200"}}},
    {"a success that is no list",
     {{"index.jsonl", LINE("\"verb\":\"list\"," OK("x"))},
      {"x", "{\"kind\":\"Table\",\"rows\":[]}"}},
     {{"list networks", "INTERNAL/unexpected-response 200"}}},
    {"objects and errors of the folder do not count",
     {{"index.jsonl", POD_LINE("\"verb\":\"list\"," OK("1"))},
      {"1", POD_LIST("")},
      {NETWORKS "list.json", NETWORK_LIST(NAMED("a"))},
      {"errors/core/v1/nodes.json", FORBIDDEN}},
     {{"list networks", "INTERNAL/not-recorded"},
      {"list nodes", "INTERNAL/not-recorded"}}},
    {"discovery does",
     {{"index.jsonl", "\n" POD_LINE("\"verb\":\"list\"," OK("1")) "  \r\n"},
      {"1", POD_LIST("")},
      {"discovery/apis.json", APIS("")}},
     {{"list networks", "NOT_FOUND/api-not-served 404 not-served verdict"}}},
    {"subresources",
     {{"index.jsonl",
       LINE("\"verb\":\"get\",\"name\":\"a\",\"subresource\":\"status\"," OK(
           "1"))},
      {"1", NETWORK("a")}},
     {{"get networks name=a sub=status", "object " NETWORK("a")},
      {"get networks name=a", "INTERNAL/not-recorded served"},
      {"get networks name=a sub=scale", "INTERNAL/not-recorded served"}}},
};

static void test_script(void **state)
{
  const struct script *row = *state;
  struct folder f;
  struct aicr_buf out;
  folder_make(&f);
  write_files(&f, row->files);
  struct kube_client *c = open_client(f.path, NULL);
  aicr_buf_init(&out, 1 << 20);
  for (size_t i = 0; i < COUNT(row->steps) && row->steps[i].question; i++) {
    aicr_buf_reset(&out);
    ask_text(c, row->steps[i].question, &out);
    assert_string_equal(out.data, row->steps[i].answer);
  }
  aicr_buf_free(&out);
  kube_client_close(c);
  folder_remove(&f);
}

/* Pages of one answer stay pages of it, whatever is asked in between. */
static void test_pages_between(void **state)
{
  static const struct file files[FILES_MAX] = {
      {"index.jsonl",
       LINE("\"verb\":\"list\"," OK("1")) LINE("\"verb\":\"list\"," OK("2"))},
      {"1", NETWORK_LIST(NAMED("a") "," NAMED("b") "," NAMED("c"))},
      {"2", NETWORK_LIST(NAMED("x"))}};
  (void)state;
  struct folder f;
  struct asked a;
  struct aicr_buf out;
  void *owner = NULL;
  const char *text = NULL;
  size_t len = 0;
  folder_make(&f);
  write_files(&f, files);
  struct kube_client *c = open_client(f.path, NULL);
  aicr_buf_init(&out, 1 << 20);
  read_question("list networks limit=1", &a);
  struct kube_call *call = kube_client_start(c, &a.spec, NULL);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_ITEM);
  ask_text(c, "list networks", &out);
  assert_string_equal(out.data, "x end 1");
  aicr_buf_reset(&out);
  for (enum kube_call_state s = kube_call_next(call, &text, &len);
       s != KUBE_CALL_END; s = kube_call_next(call, &text, &len)) {
    if (s == KUBE_CALL_WAIT) {
      assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
    } else {
      assert_int_equal(s, KUBE_CALL_ITEM);
      add_item(&out, call, text, len);
    }
  }
  assert_string_equal(out.data, "b c ");
  kube_call_close(call);
  aicr_buf_free(&out);
  kube_client_close(c);
  folder_remove(&f);
}

static bool parse_body(void *arg)
{
  struct kube_index_line line;
  struct aicr_error err;
  bool ok = kube_index_parse(arg, strlen(arg), &line, &err);
  (void)err;
  return ok;
}

static void test_without_memory(void **state)
{
  static char text[] =
      LIST ",\"ns\":\"\\u0061\",\"http\":200,\"file\":\"a.json\"}";
  (void)state;
  assert_true(torture(parse_body, text) > 1);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_members),
      cmocka_unit_test(test_pages_between),
      cmocka_unit_test(test_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(lines); i++) {
    add_row(&rows, "line", lines[i].text, test_line, &lines[i]);
  }
  for (size_t i = 0; i < COUNT(scripts); i++) {
    add_row(&rows, "script", scripts[i].what, test_script, &scripts[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "recording index");
}
