/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"
#include "torture.h"

/* Recordings that are refused, and what is said of them. */
struct refused {
  const char *what;
  struct file files[FILES_MAX];
  const char *reason;
  const char *says; /* a part of the message */
};

#define INDEX_LINE                                                             \
  "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"list\",\"http\":200,"  \
  "\"file\":\"x\"}\n"

static const struct refused refused[] = {
    {"an empty folder", {{NULL, NULL}}, "recording-empty", "kubectl get"},
    {"only other files", {{"README.md", "x"}}, "recording-empty", "holds no"},
    {"an empty List", {{"a.json", KUBECTL("")}}, "recording-empty", "holds no"},
    {"an empty JSON file", {{"a.json", ""}}, "recording-empty", "holds no"},
    {"an empty YAML file", {{"a.yaml", ""}}, "recording-empty", "holds no"},
    {"a manifest alone",
     {{"aicr-recording.json", "{\"schema\":1}"}},
     "recording-empty",
     "holds no"},
    {"an empty index", {{"index.jsonl", "\n"}}, "recording-empty", "holds no"},
    {"a list of another kind",
     {{"objects/core/v1/nodes/list.json",
       "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[" NAMED(
           "a") "]}"}},
     "recording-invalid",
     "nodes is of kind \"Pod\", not Node"},
    {"an empty list of another kind",
     {{"aicr-recording.json", "{\"schema\":1,\"indexed\":true}"},
      {"index.jsonl", "{\"version\":\"v1\",\"resource\":\"nodes\",\"verb\":"
                      "\"list\",\"http\":200,"
                      "\"file\":\"a.json\"}\n"},
      {"a.json", "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[]}"}},
     "recording-invalid",
     "nodes is of kind \"Pod\", not Node"},
    {"cut list",
     {{NETWORKS "list.json",
       "{\"kind\":\"NetworkList\",\"items\":[" NAMED("a")}},
     "recording-invalid",
     "\"objects/networking.gke.io/v1/networks/list.json\": "},
    {"cut object",
     {{NETWORKS "a.json", "{\"metadata\":{\"name\":\"a"}},
     "recording-invalid",
     "at byte 22"},
    {"empty list file",
     {{NETWORKS "list.json", ""}},
     "recording-invalid",
     "the file is empty"},
    {"two documents in one file",
     {{NETWORKS "a.json", NETWORK("a") NETWORK("b")}},
     "recording-invalid",
     "more than one document"},
    {"trailing bytes",
     {{NETWORKS "a.json", NETWORK("a") "}"}},
     "recording-invalid",
     "which begins at byte"},
    {"cut kubectl file",
     {{"a.json", KUBECTL(NETWORK("a")) "\n{\"kind\":"}},
     "recording-invalid",
     "\"a.json\": document 2"},
    {"bad YAML",
     {{"a.yaml", "a: b\nc: [\n"}},
     "recording-invalid",
     "\"a.yaml\": line "},
    {"binary", {{"a.json", "\x01\x02"}}, "recording-invalid", "\"a.json\": "},
    {"UTF-16", {{"a.json", "\xff\xfe{"}}, "recording-invalid", "UTF-16"},
    {"bad UTF-8 in a text",
     {{NETWORKS "a.json", "{\"metadata\":{\"name\":\"\xff\"}}"}},
     "recording-invalid",
     "at byte"},
    {"a list that is no list",
     {{NETWORKS "list.json", NETWORK("a")}},
     "recording-invalid",
     "a list has \"items\""},
    {"items of a wrong type",
     {{NETWORKS "list.json", "{\"items\":{}}"}},
     "recording-invalid",
     "items"},
    {"one page of several",
     {{NETWORKS "list.json",
       "{\"items\":[],\"metadata\":{\"continue\":\"x\"}}"}},
     "recording-invalid",
     "one page of several"},
    {"one page of several, kubectl",
     {{"a.json", "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[],"
                 "\"metadata\":{\"continue\":\"x\"}}"}},
     "recording-invalid",
     "one page of several"},
    {"a page that does not say where the next one is",
     {{NETWORKS "list.json",
       "{\"items\":[],\"metadata\":{\"remainingItemCount\":3}}"}},
     "recording-invalid",
     "the list is not whole"},
    {"the same, kubectl",
     {{"a.json", "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[],"
                 "\"metadata\":{\"continue\":\"\","
                 "\"remainingItemCount\":3}}"}},
     "recording-invalid",
     "the list is not whole"},
    {"a count of what remains that is none",
     {{NETWORKS "list.json",
       "{\"items\":[],\"metadata\":{\"remainingItemCount\":\"3\"}}"}},
     "recording-invalid",
     "metadata.remainingItemCount is not an integer"},
    {"an item without a name",
     {{NETWORKS "list.json", NETWORK_LIST(NAMED("a") ",{}")}},
     "recording-invalid",
     "item 2 has no metadata.name"},
    {"an item that is no object",
     {{NETWORKS "list.json", NETWORK_LIST("7")}},
     "recording-invalid",
     "item 1: "},
    {"an item of another API",
     {{NETWORKS "list.json", KUBECTL(POD("a", "p"))}},
     "recording-invalid",
     "item 1 is of apiVersion \"v1\""},
    {"an item of another namespace",
     {{PODS "a/list.json", POD_LIST(IN("b", "p"))}},
     "recording-invalid",
     "item 1 is in namespace \"b\""},
    {"an item without type in a List",
     {{"a.json", KUBECTL(NAMED("a"))}},
     "recording-invalid",
     "no apiVersion and kind"},
    {"an object of another API",
     {{NETWORKS "a.json", POD("a", "a")}},
     "recording-invalid",
     "apiVersion is \"v1\""},
    {"an object of another namespace",
     {{PODS "a/p.json", POD("b", "p")}},
     "recording-invalid",
     "in namespace \"b\""},
    {"an object without a name",
     {{NETWORKS "a.json", "{}"}},
     "recording-invalid",
     "no metadata.name"},
    {"a bad apiVersion",
     {{"a.json", "{\"apiVersion\":\"a/b/c\",\"kind\":\"K\",\"metadata\":{"
                 "\"name\":\"n\"}}"}},
     "recording-invalid",
     "bad apiVersion"},
    {"a name that is too long",
     {{"a.json",
       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":"
       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""
       ","
       "\"name\":\"n\"}}"}},
     "recording-invalid",
     "metadata.namespace is longer"},
    {"a file beside the resources",
     {{"objects/core/v1/pods.json", POD_LIST("")}},
     "recording-invalid",
     "expected objects/GROUP/VERSION/RESOURCE"},
    {"a folder too many",
     {{PODS "a/b/list.json", POD_LIST("")}},
     "recording-invalid",
     "expected objects/GROUP/VERSION/RESOURCE"},
    {"a resource in capitals",
     {{"objects/core/v1/Pods/list.json", POD_LIST("")}},
     "recording-invalid",
     "bad resource"},
    {"an error file in a wrong place",
     {{"errors/nodes.json", FORBIDDEN}},
     "recording-invalid",
     "expected errors/GROUP"},
    {"an error file that is a Status",
     {{"errors/core/v1/nodes.json", "{\"kind\":\"Status\"}"}},
     "recording-invalid",
     "expected {http, contentType, body}"},
    {"an error that is a success",
     {{"errors/core/v1/nodes.json", "{\"http\":200,\"body\":\"\"}"}},
     "recording-invalid",
     "300 to 599"},
    {"an error whose body is no text",
     {{"errors/core/v1/nodes.json", "{\"http\":403,\"body\":{}}"}},
     "recording-invalid",
     "\"body\" is"},
    {"an error that is no JSON",
     {{"errors/core/v1/nodes.json", "403"}},
     "recording-invalid",
     "expected {http"},
    {"a newer schema",
     {{"aicr-recording.json", "{\"schema\":2}"}},
     "recording-invalid",
     "\"schema\" is not 1"},
    {"open that is neither true nor false",
     {{"aicr-recording.json", "{\"schema\":1,\"open\":\"true\"}"}},
     "recording-invalid",
     "\"open\" is not true or false"},
    {"indexed that is neither true nor false",
     {{"aicr-recording.json", "{\"schema\":1,\"indexed\":1}"}},
     "recording-invalid",
     "\"indexed\" is not true or false"},
    {"a run that is over twice",
     {{"aicr-recording.json", "{\"schema\":1,\"indexed\":true}"},
      {"index.jsonl",
       "{\"verb\":\"run\",\"check\":\"a\",\"attempt\":2}\n"
       "{\"verb\":\"run\",\"check\":\"a\"}\n"
       "{\"verb\":\"run\",\"check\":\"b\",\"attempt\":2}\n"
       "{\"verb\":\"run\",\"check\":\"a\",\"attempt\":2,\"transport\":"
       "\"canceled\"}\n"}},
     "recording-invalid",
     "attempt 2 of the check a is over twice"},
    {"no schema",
     {{"aicr-recording.json", "{}"}},
     "recording-invalid",
     "\"schema\" is not 1"},
    {"a bad time",
     {{"aicr-recording.json", "{\"schema\":1,\"capturedAt\":\"yesterday\"}"}},
     "recording-invalid",
     "capturedAt"},
    {"a cut manifest",
     {{"aicr-recording.json", "{\"schema\":1"}},
     "recording-invalid",
     "\"aicr-recording.json\": "},
    {"cut discovery",
     {{"discovery/apis.json", "{\"kind\":"}},
     "recording-invalid",
     "\"discovery/apis.json\": "},
    {"a bad line of the index",
     {{"index.jsonl", INDEX_LINE "{\"version\":\"v1\"}\n"},
      {"x", POD_LIST("")}},
     "recording-invalid",
     "\"index.jsonl\": line 2: "},
    {"a cut index",
     {{"index.jsonl", INDEX_LINE "{\"version\":\"v"}, {"x", POD_LIST("")}},
     "recording-invalid",
     "\"index.jsonl\": line 2: "},
    {"a file of the index is missing",
     {{"index.jsonl", INDEX_LINE}},
     "recording-invalid",
     "line 1: \"x\": the file is missing"},
    {"a file of the index is a folder",
     {{"index.jsonl", INDEX_LINE}, {"x/y", ""}},
     "recording-invalid",
     "not a plain file"},
    {"a file of the index is cut",
     {{"index.jsonl", INDEX_LINE}, {"x", "{\"items\":["}},
     "recording-invalid",
     "line 1: \"x\": "},
    {"a text that was cut",
     {{"index.jsonl",
       "{\"verb\":\"get_raw\",\"path\":\"/healthz\",\"http\":200,"
       "\"contentType\":\"text/plain\",\"file\":\"x\","
       "\"bytes\":2}"},
      {"x", "o"}},
     "recording-invalid",
     "it has 1 bytes, and \"bytes\" of the line says 2"},
    {"a success without a file",
     {{"index.jsonl", "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":"
                      "\"list\",\"http\":200}"}},
     "recording-invalid",
     "a success has a \"file\""},
    {"an index against an error file",
     {{"index.jsonl", "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":"
                      "\"list\",\"http\":500,\"file\":\"errors/x\"}"},
      {"errors/x", FORBIDDEN}},
     "recording-invalid",
     "http 403, but the index says 500"},
};

static void check_refused(const char *path, const char *reason,
                          const char *says)
{
  struct aicr_error err;
  struct kube_backend *b = kube_recording_open(path, NULL, &err);
  assert_null(b);
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_string_equal(err.reason, reason);
  assert_false(err.verdict);
  if (strstr(err.message, says) == NULL) {
    fail_msg("%s lacks %s", err.message, says);
  }
}

static void test_refused(void **state)
{
  const struct refused *row = *state;
  struct folder f;
  folder_make(&f);
  write_files(&f, row->files);
  check_refused(f.path, row->reason, row->says);
  folder_remove(&f);
}

static void test_paths(void **state)
{
  struct folder f;
  char path[256];
  (void)state;
  folder_make(&f);
  check_refused("", "recording-missing", "empty");
  folder_path(&f, "nothing", path, sizeof path);
  check_refused(path, "recording-missing", "no such recording");
  folder_path(&f, "pipe", path, sizeof path);
  assert_int_equal(mkfifo(path, 0600), 0);
  check_refused(path, "recording-invalid", "a folder or a file");
  check_refused("/dev/null", "recording-invalid", "a folder or a file");
  folder_remove(&f);
}

static void test_links(void **state)
{
  static const char *const places[] = {"objects",
                                       NETWORKS "list.json",
                                       PODS "a",
                                       "index.jsonl",
                                       "aicr-recording.json",
                                       "discovery",
                                       "discovery/apis.json",
                                       "a.json"};
  (void)state;
  for (size_t i = 0; i < COUNT(places); i++) {
    struct folder f, other;
    char path[512];
    folder_make(&f);
    folder_make(&other);
    folder_text(&other, "list.json", POD_LIST(""));
    folder_text(&f, i == 7 ? "b.json" : "errors/core/v1/nodes.json",
                i == 7 ? NETWORK("n") : FORBIDDEN);
    folder_path(&f, places[i], path, sizeof path);
    assert_int_equal(symlink(other.path, path), 0);
    check_refused(f.path, "recording-invalid", "link");
    folder_remove(&f);
    folder_remove(&other);
  }
}

static void test_linked_file_of_the_index(void **state)
{
  (void)state;
  struct folder f;
  char path[512];
  folder_make(&f);
  folder_text(&f, "index.jsonl", INDEX_LINE);
  folder_path(&f, "x", path, sizeof path);
  assert_int_equal(symlink("/etc/hostname", path), 0);
  check_refused(f.path, "recording-invalid", "a link");
  folder_remove(&f);
}

static void test_special_file(void **state)
{
  (void)state;
  struct folder f;
  char path[512];
  folder_make(&f);
  folder_text(&f, "b.json", NETWORK("n"));
  folder_path(&f, "a.json", path, sizeof path);
  assert_int_equal(mkfifo(path, 0600), 0);
  check_refused(f.path, "recording-invalid", "not a plain file");
  folder_remove(&f);
}

/* The path that the user gives may be a link. */
static void test_link_to_a_recording(void **state)
{
  (void)state;
  struct folder f, links;
  char path[512];
  folder_make(&f);
  folder_make(&links);
  folder_text(&f, "b.json", NETWORK_LIST(NAMED("a")));
  folder_path(&links, "link", path, sizeof path);
  assert_int_equal(symlink(f.path, path), 0);
  kube_client_close(open_client(path, NULL));
  folder_remove(&f);
  folder_remove(&links);
}

static void test_deep_folders(void **state)
{
  (void)state;
  struct folder f;
  folder_make(&f);
  folder_text(&f, "1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/n.json", NETWORK_LIST(""));
  kube_client_close(open_client(f.path, NULL));
  folder_text(&f, "1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/n.json", NETWORK_LIST(""));
  check_refused(f.path, "recording-too-large", "16 folders");
  folder_remove(&f);
}

static void test_deep_json(void **state)
{
  (void)state;
  struct folder f;
  char text[2048];
  size_t n = (size_t)snprintf(text, sizeof text,
                              "{\"metadata\":{\"name\":\"n\"},\"x\":");
  memset(text + n, '[', 300);
  memset(text + n + 300, ']', 300);
  text[n + 600] = '}';
  text[n + 601] = '\0';
  folder_make(&f);
  folder_text(&f, NETWORKS "n.json", text);
  check_refused(f.path, "recording-invalid", "\"objects/");
  folder_remove(&f);
}

/* A file may say that it is large without being so. */
static void test_large_file(void **state)
{
  (void)state;
  struct folder f;
  char path[512];
  folder_make(&f);
  folder_text(&f, "a.json", "{");
  folder_path(&f, "a.json", path, sizeof path);
  assert_int_equal(truncate(path, ((off_t)4 << 30) + 1), 0);
  check_refused(f.path, "recording-too-large", "4 GiB");
  assert_int_equal(remove(path), 0);
  folder_text(&f, "a.yaml", "{");
  folder_path(&f, "a.yaml", path, sizeof path);
  assert_int_equal(truncate(path, ((off_t)256 << 20) + 1), 0);
  check_refused(f.path, "recording-too-large", "256 MiB");
  folder_remove(&f);
}

static void test_long_line(void **state)
{
  (void)state;
  struct folder f;
  char *text = malloc((2 << 20) + 1);
  assert_non_null(text);
  memset(text, 'x', 2 << 20);
  text[2 << 20] = '\0';
  folder_make(&f);
  folder_text(&f, "index.jsonl", text);
  free(text);
  check_refused(f.path, "recording-invalid", "line 1 is longer than 1 MiB");
  folder_remove(&f);
}

/* Every prefix of a good file is refused or empty, never half a recording. */
static void test_cut_everywhere(void **state)
{
  static const char text[] = KUBECTL(NETWORK("a") "," POD("a", "p"));
  (void)state;
  struct folder f;
  folder_make(&f);
  for (size_t n = 0; n < sizeof text - 1; n++) {
    struct aicr_error err;
    folder_write(&f, "a.json", text, n);
    assert_null(kube_recording_open(f.path, NULL, &err));
    assert_string_equal(err.reason,
                        n == 0 ? "recording-empty" : "recording-invalid");
  }
  folder_remove(&f);
}

/* What would take hours if each item were compared with all others. */
static void test_many_of_all(void **state)
{
  (void)state;
  struct folder f;
  struct aicr_buf text;
  folder_make(&f);
  aicr_buf_init(&text, (size_t)64 << 20);
  aicr_buf_adds(&text, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
  for (int i = 0; i < 40000; i++) {
    aicr_buf_addf(&text,
                  "%s{\"apiVersion\":\"g%d/v1\",\"kind\":\"K\",\"metadata\":{"
                  "\"name\":\"n%d\"}}",
                  i == 0 ? "" : ",", i % 4000, i);
  }
  assert_true(aicr_buf_adds(&text, "]}"));
  folder_write(&f, "a.json", text.data, text.len);
  kube_client_close(open_client(f.path, NULL));
  aicr_buf_reset(&text);
  aicr_buf_adds(&text, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
  for (int i = 0; i < 5000; i++) {
    aicr_buf_addf(&text,
                  "%s{\"apiVersion\":\"g%d/v1\",\"kind\":\"K\",\"metadata\":{"
                  "\"name\":\"n\"}}",
                  i == 0 ? "" : ",", i);
  }
  assert_true(aicr_buf_adds(&text, "]}"));
  folder_write(&f, "a.json", text.data, text.len);
  check_refused(f.path, "recording-too-large", "more than 4096");
  aicr_buf_reset(&text);
  aicr_buf_adds(&text, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
                       "\"CustomResourceDefinition\",\"metadata\":{\"name\":"
                       "\"x\"},\"spec\":{\"versions\":[");
  for (int i = 0; i < 60000; i++) {
    aicr_buf_addf(&text, "%s{\"name\":\"v%d\",\"served\":true}",
                  i == 0 ? "" : ",", i);
  }
  assert_true(aicr_buf_adds(&text, "]}}"));
  folder_write(&f, "a.json", text.data, text.len);
  check_refused(f.path, "recording-invalid", "more than 100 versions");
  aicr_buf_free(&text);
  folder_remove(&f);
}

/* cJSON asks libc otherwise. */
static void *cjson_malloc(size_t size)
{
  return aicr_realloc(NULL, size);
}

static bool open_body(void *arg)
{
  struct aicr_error err;
  struct kube_backend *b = kube_recording_open(arg, NULL, &err);
  if (b == NULL) {
    assert_string_equal(err.reason, "memory");
    assert_int_equal(err.code, AICR_INTERNAL);
    return false;
  }
  b->ops->close(b);
  return true;
}

static const struct file own_files[FILES_MAX] = {
    {"aicr-recording.json", "{\"schema\":1,\"context\":\"\\u0061\"}"},
    {"discovery/apis.json", APIS(GKE_GROUP)},
    {NETWORKS "list.json", NETWORK_LIST(NAMED("b") "," NAMED("a"))},
    {PODS "a/list.json", POD_LIST(IN("a", "p"))},
    {PODS "b/p.json", POD("b", "p")},
    {"errors/core/v1/pods.c.json", FORBIDDEN}};
static const struct file index_files[FILES_MAX] = {
    {"index.jsonl", INDEX_LINE INDEX_LINE
     "{\"version\":\"v1\",\"resource\":\"nodes\",\"verb\":\"list\",\"http\":"
     "403,"
     "\"file\":\"errors/e.json\"}\n"
     "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"get\",\"ns\":\"a\","
     "\"name\":\"p\",\"http\":200,\"file\":\"y\"}\n"},
    {"x", POD_LIST(IN("a", "p"))},
    {"y", POD("a", "p")},
    {"errors/e.json", FORBIDDEN}};
static const struct file kubectl_files[FILES_MAX] = {
    {"a.json", KUBECTL(NETWORK("a") "," POD("a", "p")) NETWORK("c")},
    {"b.json", NETWORK_LIST(NAMED("a"))},
    {"c.yaml", "kind: NodeList\napiVersion: v1\nitems: []\n"},
    {"crd.json", CRD}};

static void test_open_without_memory(void **state)
{
  const struct file *const sets[] = {own_files, index_files, kubectl_files};
  cJSON_Hooks hooks = {cjson_malloc, aicr_free};
  (void)state;
  cJSON_InitHooks(&hooks);
  for (size_t i = 0; i < COUNT(sets); i++) {
    struct folder f;
    folder_make(&f);
    write_files(&f, sets[i]);
    assert_true(torture(open_body, f.path) > 50);
    folder_remove(&f);
  }
  cJSON_InitHooks(NULL);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_paths),
      cmocka_unit_test(test_links),
      cmocka_unit_test(test_linked_file_of_the_index),
      cmocka_unit_test(test_special_file),
      cmocka_unit_test(test_link_to_a_recording),
      cmocka_unit_test(test_deep_folders),
      cmocka_unit_test(test_deep_json),
      cmocka_unit_test(test_large_file),
      cmocka_unit_test(test_long_line),
      cmocka_unit_test(test_cut_everywhere),
      cmocka_unit_test(test_many_of_all),
      cmocka_unit_test(test_open_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(refused); i++) {
    add_row(&rows, "refused", refused[i].what, test_refused, &refused[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "recording, hostile");
}
