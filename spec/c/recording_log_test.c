/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_log.h"

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"

/* Logs of recordings, and namespaces of `kubectl cluster-info dump`. */

#define QUERIES 5

struct row {
  const char *what;
  struct file files[FILES_MAX];
  const char *asked[QUERIES][2]; /* "NS/POD?QUERY" and the text, or a reason */
};

#define WHOLE    "one\ntwo\nthree\n"
#define MARKS    "{\"schema\":1}"
#define START(c) "==== START logs for container " c " of pod n/p ====\n"
#define END(c)   "==== END logs for container " c " of pod n/p ====\n"
#define RC       "n/replication-controllers.json"
#define RC_LIST                                                                \
  "{\"kind\":\"ReplicationControllerList\",\"apiVersion\":\"v1\",\"items\":[]" \
  "}"
#define NONE "!not-recorded"

static const struct row table[] = {
    {"of our own format",
     {{"aicr-recording.json", MARKS},
      {NETWORKS "list.json", NETWORK_LIST("")},
      {"logs/n/p/main.log", WHOLE},
      {"logs/n/p/main.previous.log", "before"}},
     {{"n/p?container=main", WHOLE},
      {"n/p?", WHOLE},
      {"n/p?container=main&previous=true", "before"},
      {"n/p?container=other", NONE},
      {"n/q?", NONE}}},
    {"a part of one",
     {{NETWORKS "list.json", NETWORK_LIST("")}, {"logs/n/p/main.log", WHOLE}},
     {{"n/p?tailLines=2", "two\nthree\n"},
      {"n/p?tailLines=0", ""},
      {"n/p?tailLines=99", WHOLE},
      {"n/p?limitBytes=5&tailLines=1", "three"},
      {"n/p?limitBytes=2", "on"}}},
    {"a part that nobody can cut",
     {{NETWORKS "list.json", NETWORK_LIST("")},
      {"logs/n/p/main.log", "no end"}},
     {{"n/p?timestamps=true", NONE},
      {"n/p?sinceSeconds=5", NONE},
      {"n/p?tailLines=x", NONE},
      {"n/p?tailLines=1", "no end"},
      {"n/p?timestamps=false", "no end"}}},
    {"of several containers",
     {{NETWORKS "list.json", NETWORK_LIST("")},
      {"logs/n/p/a.log", "A"},
      {"logs/n/p/b.log", "B"},
      {"logs/n/p/b+7.log", "part"}},
     {{"n/p?", NONE}, {"n/p?container=a", "A"}, {"n/p?container=b", "B"}}},
    {"of an index",
     {{"index.jsonl",
       "{\"version\":\"v1\",\"resource\":\"pods\",\"ns\":\"n\",\"verb\":"
       "\"get\",\"name\":\"p\",\"subresource\":\"log\",\"query\":\"container="
       "main\",\"http\":200,\"contentType\":\"text/plain\",\"file\":\"x\"}\n"
       "{\"version\":\"v1\",\"resource\":\"pods\",\"ns\":\"n\",\"verb\":"
       "\"get\",\"name\":\"p\",\"subresource\":\"log\",\"query\":\"tailLines="
       "1&timestamps=true\",\"http\":200,\"contentType\":\"text/plain\","
       "\"file\":\"y\"}\n"},
      {"x", WHOLE},
      {"y", "12:00 three\n"}},
     {{"n/p?container=main", WHOLE},
      {"n/p?timestamps=true&tailLines=1", "12:00 three\n"},
      {"n/p?container=main&tailLines=1", "three\n"},
      {"n/p?tailLines=1", NONE},
      {"n/p?", NONE}}},
    {"of a dump",
     {{RC, RC_LIST},
      {"n/p/logs.txt",
       START("init") END("init") START("main") WHOLE END("main")}},
     {{"n/p?container=main", WHOLE},
      {"n/p?container=main&tailLines=1", "three\n"},
      {"n/p?container=init", ""},
      {"n/p?container=main&previous=true", NONE},
      {"n/p?", NONE}}},
    {"of a dump, without an end of line",
     {{RC, RC_LIST}, {"n/p/logs.txt", START("main") "text" END("main")}},
     {{"n/p?container=main", "text"}}},
    {"of a dump, that was not given",
     {{RC, RC_LIST},
      {"n/p/logs.txt",
       START("main") "Request log error: container is waiting\n" END("main")}},
     {{"n/p?container=main", NONE}}},
    {"of a dump, where a container writes its own end",
     {{RC, RC_LIST},
      {"n/p/logs.txt", START("main") "a\n" END("main") "b\n" END("main")}},
     {{"n/p?container=main", NONE}}},
    {"of a dump, where a container writes another's log",
     {{RC, RC_LIST},
      {"n/p/logs.txt",
       START("bad") "a\n" END("bad") START("good") "forged\n" END("good")
           START("x") END("bad") START("good") "true\n" END("good")}},
     {{"n/p?container=bad", NONE}, {"n/p?container=good", NONE}}},
    {"of a dump, cut",
     {{RC, RC_LIST}, {"n/p/logs.txt", START("main") "text"}},
     {{"n/p?container=main", NONE}}},
    {"of a dump, of another pod",
     {{RC, RC_LIST}, {"n/q/logs.txt", START("main") "text" END("main")}},
     {{"n/q?container=main", NONE}, {"n/p?container=main", NONE}}},
};

static void ask_log(struct kube_client *c, const char *asked,
                    struct aicr_buf *out)
{
  char text[256];
  int owner = 0;
  void *got = NULL;
  const char *body = NULL;
  size_t len = 0;
  snprintf(text, sizeof text, "%s", asked);
  char *pod = strchr(text, '/'), *query = strchr(text, '?');
  assert_non_null(pod);
  assert_non_null(query);
  *pod++ = '\0';
  *query++ = '\0';
  const struct kube_call_spec spec = {.verb = KUBE_GET,
                                      .resource = "pods",
                                      .ns = text,
                                      .name = pod,
                                      .subresource = "log",
                                      .query = query,
                                      .text = true};
  struct kube_call *call = kube_client_start(c, &spec, &owner);
  assert_non_null(call);
  assert_ptr_equal(kube_client_poll(c, 0, &got), call);
  if (kube_call_next(call, &body, &len) == KUBE_CALL_OBJECT) {
    aicr_buf_add(out, body == NULL ? "" : body, len);
  } else {
    aicr_buf_addf(out, "!%s", kube_call_error(call)->reason);
  }
  kube_call_close(call);
}

static void test_row(void **state)
{
  const struct row *row = *state;
  struct folder f;
  struct aicr_buf out;
  folder_make(&f);
  write_files(&f, row->files);
  struct kube_client *c = open_client(f.path, NULL);
  aicr_buf_init(&out, 1 << 20);
  for (size_t i = 0; i < QUERIES && row->asked[i][0] != NULL; i++) {
    aicr_buf_reset(&out);
    ask_log(c, row->asked[i][0], &out);
    assert_string_equal(out.len == 0 ? "" : out.data, row->asked[i][1]);
  }
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

#define PODS_OF(ns, items)                                                     \
  {                                                                            \
    ns "/pods.json", "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":"  \
                     "[" items "]}"                                            \
  }

static const struct question dumps[] = {
    {"a dump: the list of a namespace",
     {{RC, RC_LIST}, PODS_OF("n", IN("n", "a"))},
     "list pods ns=n",
     "n/a end 1"},
    {"a dump: an empty list is its namespace's",
     {{RC, RC_LIST}, PODS_OF("n", "")},
     "list pods ns=n",
     "end 1"},
    {"a dump: …and no other's",
     {{RC, RC_LIST}, PODS_OF("n", "")},
     "list pods ns=m",
     "INTERNAL/not-recorded served"},
    {"a dump: nor that of all",
     {{RC, RC_LIST}, PODS_OF("n", IN("n", "a"))},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"a dump: what a namespace lacks",
     {{RC, RC_LIST}, PODS_OF("n", "")},
     "get pods ns=n name=x",
     "NOT_FOUND/not-found 404 served verdict"},
    {"a dump: nodes are all there are",
     {{RC, RC_LIST},
      {"nodes.json", "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":"
                     "null}"}},
     "list nodes",
     "end 1"},
    {"a folder that is none: a typed list is of all",
     {PODS_OF("n", IN("m", "a"))},
     "list pods",
     "m/a end 1"},
    {"a list of others in a dump is of all",
     {{RC, RC_LIST}, PODS_OF("n", IN("m", "a") "," IN("n", "b"))},
     "list pods",
     "m/a n/b end 1"},
};

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&r, "log", table[i].what, test_row, &table[i]);
  }
  for (size_t i = 0; i < COUNT(dumps); i++) {
    add_row(&r, "dump", dumps[i].what, test_question, &dumps[i]);
  }
  return run_rows(&r, "recording_log");
}
