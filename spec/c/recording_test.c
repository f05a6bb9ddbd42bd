/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"
#include "torture.h"

static const struct question rows_own[] = {
    {"list of a cluster-scoped resource, sorted by bytes",
     {{NETWORKS "list.json", NETWORK_LIST(NAMED("b") "," NAMED("a-2") "," NAMED(
                                 "a") "," NAMED("B"))}},
     "list networks.networking.gke.io",
     "B a a-2 b end 1"},
    {"namespace, then name",
     {{PODS "list.json",
       POD_LIST(IN("b", "a") "," IN("a", "z") "," IN("a", "b"))}},
     "list pods",
     "a/b a/z b/a end 1"},
    {"one namespace of all",
     {{PODS "list.json", POD_LIST(IN("b", "a") "," IN("a", "z"))}},
     "list pods ns=b",
     "b/a end 1"},
    {"a namespace that is not there is empty",
     {{PODS "list.json", POD_LIST(IN("b", "a"))}},
     "list pods ns=c",
     "end 1"},
    {"O11 limit 2 over 5 objects",
     {{NETWORKS "list.json", NETWORK_LIST(NAMED("c") "," NAMED("a") "," NAMED(
                                 "b") "," NAMED("e") "," NAMED("d"))}},
     "list networks limit=2",
     "a b c d e end 3"},
    {"a full last page has no token",
     {{NETWORKS "list.json", NETWORK_LIST(NAMED("a") "," NAMED("b"))}},
     "list networks limit=1",
     "a b end 2"},
    {"empty list",
     {{NETWORKS "list.json", NETWORK_LIST("")}},
     "list networks",
     "end 1"},
    {"items null",
     {{NETWORKS "list.json", "{\"kind\":\"NetworkList\",\"items\":null}"}},
     "list networks",
     "end 1"},
    {"bare List of a folder that names the resource",
     {{NETWORKS "list.json", KUBECTL("")}},
     "list networks",
     "end 1"},
    {"YAML list",
     {{NETWORKS "list.yaml", "apiVersion: networking.gke.io/v1\nkind: "
                             "NetworkList\nitems:\n- metadata: "
                             "{name: net}\n"}},
     "list networks",
     "net end 1"},
    {"get from a typed list gets its type",
     {{NETWORKS "list.json",
       NETWORK_LIST(
           "{ \"metadata\":{\"name\":\"a\"},\"n\":9007199254740993}")}},
     "get networks name=a",
     "object {\"kind\":\"Network\",\"apiVersion\":\"networking.gke.io/v1\","
     "\"metadata\":{\"name\":\"a\"},\"n\":9007199254740993}"},
    {"get of an object that has its type, byte for byte",
     {{NETWORKS "a.json", "{\"kind\":\"Network\",\"apiVersion\":"
                          "\"networking.gke.io/v1\", \"metadata\":{\"name\":"
                          "\"a\"}, \"x\": 1e3}\n"}},
     "get networks name=a",
     "object {\"kind\":\"Network\",\"apiVersion\":\"networking.gke.io/v1\", "
     "\"metadata\":{\"name\":\"a\"}, \"x\": 1e3}"},
    {"get of what a complete list lacks",
     {{NETWORKS "list.json", NETWORK_LIST(NAMED("a"))}},
     "get networks name=b",
     "NOT_FOUND/not-found 404 served verdict"},
    {"get of what a complete namespace lacks",
     {{PODS "a/list.json", POD_LIST(IN("a", "p"))}},
     "get pods ns=a name=q",
     "NOT_FOUND/not-found 404 served verdict"},
    {"get in a namespace that was not recorded",
     {{PODS "a/list.json", POD_LIST(IN("a", "p"))}},
     "get pods ns=b name=p",
     "INTERNAL/not-recorded served"},
    {"list of a namespace that was recorded",
     {{PODS "a/list.json", POD_LIST(IN("a", "p"))},
      {PODS "b/list.json", POD_LIST("")}},
     "list pods ns=b",
     "end 1"},
    {"all namespaces of which some were recorded",
     {{PODS "a/list.json", POD_LIST(IN("a", "p"))}},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"item without namespace in a namespace's folder",
     {{PODS "a/list.json", POD_LIST(NAMED("p"))}},
     "get pods ns=a name=p",
     "object {\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
     "\"p\"}}"},
    {"a single object is no list",
     {{NETWORKS "a.json", NETWORK("a")}},
     "list networks",
     "INTERNAL/not-recorded served"},
    {"a single object is not the others",
     {{NETWORKS "a.json", NETWORK("a")}},
     "get networks name=b",
     "INTERNAL/not-recorded served"},
    {"single and list, the same object",
     {{NETWORKS "a.json", NETWORK("a")},
      {NETWORKS "list.json", NETWORK_LIST(NETWORK("a"))}},
     "list networks",
     "a end 1"},
    {"nothing recorded of it",
     {{NETWORKS "list.json", NETWORK_LIST("")}},
     "list nodes",
     "INTERNAL/not-recorded"},
    {"another version of it",
     {{NETWORKS "list.json", NETWORK_LIST("")}},
     "list networks.v2.networking.gke.io",
     "INTERNAL/not-recorded"},
    {"O2 no trace and no discovery",
     {{PODS "list.json", POD_LIST("")}},
     "list gizmos.example.org",
     "INTERNAL/not-recorded"},
    {"O3 discovery without the group",
     {{"discovery/apis.json", APIS("")}},
     "list networks.networking.gke.io",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"O3 get of it",
     {{"discovery/apis.json", APIS(GROUP("apps", ""))}},
     "get networks.networking.gke.io name=a",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"discovery of groups says nothing of the core",
     {{"discovery/apis.json", APIS(GKE_GROUP)}},
     "list nodes",
     "INTERNAL/not-recorded"},
    {"discovery lacks the version",
     {{"discovery/apis.json", APIS(GKE_GROUP)}},
     "list networks.v1beta1.networking.gke.io",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"discovery lacks a custom resource",
     {{"discovery/apis.json", APIS(GKE_GROUP)}},
     "list gizmos.example.org",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"O1 served by discovery, not listed: never an empty list",
     {{"discovery/apis.json", APIS(GKE_GROUP)}},
     "list networks.networking.gke.io",
     "INTERNAL/not-recorded served"},
    {"a group whose server was down",
     {{"discovery/apis.json", APIS(DOWN_GROUP)}},
     "list nodes.metrics.k8s.io",
     "INTERNAL/discovery-incomplete"},
    {"a name without a group may be of a group that was not recorded",
     {{"discovery/api.json", APIS(GROUP("", ""))}},
     "list gizmos",
     "INTERNAL/not-recorded"},
    {"a name without a group may be of one whose server was down",
     {{"discovery/api.json", APIS(GROUP("", ""))},
      {"discovery/apis.json", APIS(DOWN_GROUP)}},
     "list gizmos",
     "INTERNAL/discovery-incomplete"},
    {"a name without a group is of none",
     {{"discovery/api.json", APIS(GROUP("", ""))},
      {"discovery/apis.json", APIS(GKE_GROUP)}},
     "list gizmos",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"discovery gives other names",
     {{"discovery/apis.json",
       APIS(GROUP("example.org",
                  RESOURCE("gizmos", "gizmo", "Gizmo", "Cluster")))},
      {"objects/example.org/v1/gizmos/list.json",
       "{\"items\":[{\"metadata\":{\"name\":\"g\"}}]}"}},
     "list gizmo",
     "g end 1"},
    {"a definition gives other names",
     {{"objects/apiextensions.k8s.io/v1/customresourcedefinitions/list.json",
       KUBECTL(CRD)},
      {"objects/example.org/v1/gizmos/list.json",
       "{\"kind\":\"GizmoList\",\"items\":[" IN("a", "g") "]}"}},
     "list gz.example.org ns=a",
     "a/g end 1"},
    {"a definition proves that an API is served",
     {{"objects/apiextensions.k8s.io/v1/customresourcedefinitions/list.json",
       KUBECTL(CRD)}},
     "list gizmos.example.org",
     "INTERNAL/not-recorded served"},
    {"a name in two groups",
     {{"objects/a.example/v1/gizmos/list.json", "{\"items\":[]}"},
      {"objects/b.example/v1/gizmos/list.json", "{\"items\":[]}"}},
     "list gizmos",
     "INVALID_REQUEST/ambiguous"},
    {"the core wins over other groups",
     {{"objects/events.k8s.io/v1/events/list.json", "{\"items\":[]}"},
      {"objects/core/v1/events/list.json",
       "{\"kind\":\"EventList\",\"items\":[" IN("a", "e") "]}"}},
     "list events",
     "a/e end 1"},
    {"O4 an error for all reads: list",
     {{"errors/core/v1/nodes.json", FORBIDDEN}},
     "list nodes",
     "UNAUTHORIZED/forbidden 403"},
    {"O4 get",
     {{"errors/core/v1/nodes.json", FORBIDDEN}},
     "get nodes name=n",
     "UNAUTHORIZED/forbidden 403"},
    {"W8 forbidden, served",
     {{"errors/networking.gke.io/v1/networks.json", FORBIDDEN},
      {"discovery/apis.json", APIS(GKE_GROUP)}},
     "list networks",
     "UNAUTHORIZED/forbidden 403 served"},
    {"W9 forbidden, not served",
     {{"errors/networking.gke.io/v1/networks.json", FORBIDDEN},
      {"discovery/apis.json", APIS("")}},
     "list networks",
     "UNAUTHORIZED/forbidden 403 not-served"},
    {"an error of a namespace",
     {{"errors/core/v1/pods.b.json", FORBIDDEN},
      {PODS "a/list.json", POD_LIST(IN("a", "p"))}},
     "list pods ns=b",
     "UNAUTHORIZED/forbidden 403 served"},
    {"O6 all namespaces, one of them unreadable",
     {{"errors/core/v1/pods.b.json", FORBIDDEN},
      {PODS "list.json", POD_LIST(IN("a", "p"))}},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"an error of all, but a namespace that was read",
     {{"errors/core/v1/pods.json", FORBIDDEN},
      {PODS "a/list.json", POD_LIST(IN("a", "p"))}},
     "list pods ns=a",
     "a/p end 1"},
    {"an error of all, and another namespace",
     {{"errors/core/v1/pods.json", FORBIDDEN},
      {PODS "a/list.json", POD_LIST(IN("a", "p"))}},
     "list pods ns=b",
     "UNAUTHORIZED/forbidden 403 served"},
    {"W1 a recorded text 404 is a proof",
     {{"errors/networking.gke.io/v1/networks.json", NO_API}},
     "list networks",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"W1 get",
     {{"errors/networking.gke.io/v1/networks.json", NO_API}},
     "get networks name=a",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"a text 404 of another kind proves nothing",
     {{"errors/networking.gke.io/v1/networks.json",
       "{\"http\":404,\"contentType\":\"text/plain\",\"body\":\"gone\"}"}},
     "list networks",
     "INTERNAL/discovery-incomplete 404"},
    {"a text 404 against discovery",
     {{"errors/networking.gke.io/v1/networks.json", NO_API},
      {"discovery/apis.json", APIS(GKE_GROUP)}},
     "list networks",
     "INTERNAL/scope-mismatch 404 served"},
    {"W5 an HTML 404",
     {{"errors/networking.gke.io/v1/networks.json",
       "{\"http\":404,\"contentType\":\"text/html\",\"body\":\"404 page not "
       "found\"}"}},
     "list networks",
     "INTERNAL/unexpected-response 404"},
    {"O12 create",
     {{NETWORKS "list.json", NETWORK_LIST("")}},
     "create networks",
     "METHOD_NOT_ALLOWED/read-only served"},
    {"delete",
     {{NETWORKS "list.json", NETWORK_LIST(NAMED("a"))}},
     "delete networks name=a",
     "METHOD_NOT_ALLOWED/read-only served"},
    {"subresources are not objects",
     {{PODS "list.json", POD_LIST(IN("a", "p"))}},
     "get pods ns=a name=p sub=log",
     "INTERNAL/not-recorded served"},
    {"O8 a != b takes objects without a",
     {{NETWORKS "list.json",
       NETWORK_LIST(
           "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\"}}}," NAMED(
               "y"))}},
     "list networks label=a!=b",
     "y end 1"},
    {"selector over pages",
     {{NETWORKS "list.json",
       NETWORK_LIST(
           "{\"metadata\":{\"name\":\"3\",\"labels\":{\"a\":\"b\"}}}," NAMED(
               "2") ",{\"metadata\":{\"name\":\"1\",\"labels\":{\"a\":\"b\"}}},"
                    "{\"metadata\":{\"name\":\"4\",\"labels\":{\"a\":\"b\"}}"
                    "}")}},
     "list networks label=a=b limit=2",
     "1 3 4 end 2"},
    {"field selector",
     {{NETWORKS "list.json", NETWORK_LIST(NAMED("a") "," NAMED("b"))}},
     "list networks field=metadata.name=b",
     "b end 1"},
    {"a bad selector is the server's 400",
     {{NETWORKS "list.json", NETWORK_LIST("")}},
     "list networks label=a===b",
     "INVALID_REQUEST/bad-request 400"},
    {"an unsupported field is the server's 400",
     {{NETWORKS "list.json", NETWORK_LIST("")}},
     "list networks field=spec.x=1",
     "INVALID_REQUEST/bad-request 400"},
    {"hidden files are passed over",
     {{NETWORKS ".list.json", "{"}, {NETWORKS "list.json", NETWORK_LIST("")}},
     "list networks",
     "end 1"},
    {"a folder with only errors is a recording",
     {{"errors/core/v1/nodes.json", FORBIDDEN}, {"errors/README", "x"}},
     "list nodes",
     "UNAUTHORIZED/forbidden 403"},
};

static void test_manifest(void **state)
{
  (void)state;
  struct folder f;
  folder_make(&f);
  folder_text(&f, "aicr-recording.json",
              "{\"schema\":1,\"capturedAt\":\"2026-03-10T20:10:44.5Z\","
              "\"server\":{\"gitVersion\":\"v1.34.4\"},\"context\":\"lyra\","
              "\"tool\":\"x\"}");
  folder_text(&f, NETWORKS "list.json", NETWORK_LIST(""));
  struct kube_client *c = open_client(f.path, NULL);
  struct kube_backend *b = kube_client_backend(c);
  assert_string_equal(b->ops->server_version(b), "v1.34.4");
  assert_string_equal(b->ops->context(b), "lyra");
  assert_int_equal(b->ops->time(b), 1773173444500);
  kube_client_close(c);
  char path[256];
  folder_path(&f, "aicr-recording.json", path, sizeof path);
  assert_int_equal(remove(path), 0);
  c = open_client(f.path, NULL);
  b = kube_client_backend(c);
  assert_null(b->ops->server_version(b));
  assert_null(b->ops->context(b));
  assert_int_equal(b->ops->time(b), 0);
  kube_client_close(c);
  folder_remove(&f);
}

struct warning {
  struct file files[FILES_MAX];
  const char *text;
};

static void test_warnings(void **state)
{
  static const struct warning rows[] = {
      {{{"1.json", NETWORK("n")},
        {"2.json",
         "{\"apiVersion\":\"networking.gke.io/v1\",\"kind\":\"Network\","
         "\"metadata\":{\"name\":\"n\"},\"x\":1}"}},
       "networks \"n\" in namespace \"\" was recorded twice"},
      {{{"a.json",
         "{\"apiVersion\":\"example.org/v1\",\"kind\":\"Gizmo\\u001b\","
         "\"metadata\":{\"name\":\"x\"}}"}},
       "the resource's name is guessed"},
      {{{"a.json", NETWORK("n")}, {"values.yaml", "a: 1\n"}},
       "\"values.yaml\": holds a document that is no Kubernetes object"},
      {{{"discovery/apis.json", "{\"kind\":\"APIGroupList\",\"groups\":[]}"},
        {NETWORKS "list.json", NETWORK_LIST("")}},
       "\"discovery/apis.json\": no aggregated discovery"},
      {{{"a.json", NETWORK("n")}, {"pods.json", ""}},
       "\"pods.json\": is empty; it is ignored"},
      {{{"a.json", NETWORK("n")}, {"pods.yaml", "# nothing\n---\n"}},
       "\"pods.yaml\": is empty; it is ignored"},
      {{{"a.json", NETWORK("n")}, {"deep/pods.json", " \n\t"}},
       "\"deep/pods.json\": is empty; it is ignored"},
      {{{"a.json", NETWORK("n")}, {"pods.json", KUBECTL("")}},
       "\"pods.json\": is an empty List, which does not say what there is none "
       "of; it is ignored (kubectl get --raw PATH says it)"},
      {{{"pods.json", KUBECTL(POD("a", "p") "," POD("a", "q"))}},
       "\"pods.json\": its \"pods\" are all in namespace \"a\", so they count "
       "as all of that one only; where there are no others, record that: "
       "kubectl get --raw /api/v1/pods\n"},
      {{{"g.json",
         KUBECTL("{\"apiVersion\":\"example.org/v1\",\"kind\":\"Gizmo\","
                 "\"metadata\":{\"name\":\"x\",\"namespace\":\"a\"}}")},
        {"crd.json", CRD}},
       "record that: kubectl get --raw /apis/example.org/v1/gizmos\n"},
      {{{"g.json",
         KUBECTL("{\"apiVersion\":\"ex\\u001b/v1\",\"kind\":\"Gizmo\","
                 "\"metadata\":{\"name\":\"x\",\"namespace\":\"a\"}}")}},
       "where there are no others, record that\n"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct folder f;
    struct aicr_buf warnings;
    folder_make(&f);
    write_files(&f, rows[i].files);
    aicr_buf_init(&warnings, 1 << 16);
    kube_client_close(open_client(f.path, &warnings));
    assert_non_null(warnings.data);
    assert_non_null(strstr(warnings.data, rows[i].text));
    assert_null(strchr(warnings.data, '\x1b'));
    aicr_buf_free(&warnings);
    folder_remove(&f);
  }
}

/* What a whole recording holds draws none. */
static void test_no_warning(void **state)
{
  static const struct file rows[][FILES_MAX] = {
      {{"all.json", KUBECTL(POD("a", "p") "," POD("b", "p"))}},
      {{"1.json", KUBECTL(POD("a", "p"))},
       {"2.json", KUBECTL(POD("a", "q") "," POD("b", "p"))}},
      {{"pods.json", POD_LIST(IN("a", "p"))}},
      {{"pods.json", POD_LIST("")}},
      {{"n.json", KUBECTL(NETWORK("n"))}},
      {{"n.json", NETWORK_LIST("") "\n\n"}},
      {{"p.yaml", "---\n---\nkind: PodList\napiVersion: v1\nitems: []\n"}},
      {{PODS "a/list.json", KUBECTL(POD("a", "p"))}},
      {{PODS "list.json", KUBECTL(POD("a", "p"))}},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct folder f;
    struct aicr_buf warnings;
    folder_make(&f);
    write_files(&f, rows[i]);
    aicr_buf_init(&warnings, 1 << 16);
    kube_client_close(open_client(f.path, &warnings));
    assert_int_equal(warnings.len, 0);
    aicr_buf_free(&warnings);
    folder_remove(&f);
  }
}

/* One kind draws one line, however many namespaces were recorded. */
static void test_one_warning(void **state)
{
  (void)state;
  struct folder f;
  struct aicr_buf warnings;
  folder_make(&f);
  folder_text(&f, "a.json", KUBECTL(POD("a", "p")));
  folder_text(&f, "b.json", KUBECTL(POD("b", "p") "," POD("b", "q")));
  aicr_buf_init(&warnings, 1 << 16);
  kube_client_close(open_client(f.path, &warnings));
  assert_int_equal(memcmp(warnings.data, "\"a.json\": ", 10), 0);
  assert_ptr_equal(strchr(warnings.data, '\n'),
                   warnings.data + warnings.len - 1);
  aicr_buf_free(&warnings);
  folder_remove(&f);
}

/* More warnings than there is room for leave the first ones. */
static void test_many_warnings(void **state)
{
  (void)state;
  struct folder f;
  struct aicr_buf warnings;
  folder_make(&f);
  folder_text(&f, "n.json", NETWORK_LIST(""));
  for (int i = 0; i < 20; i++) {
    char name[32];
    snprintf(name, sizeof name, "v%02d.yaml", i);
    folder_text(&f, name, "a: 1\n");
  }
  aicr_buf_init(&warnings, 256);
  kube_client_close(open_client(f.path, &warnings));
  assert_false(warnings.failed);
  assert_non_null(strstr(warnings.data, "v00.yaml"));
  assert_null(strstr(warnings.data, "v19.yaml"));
  aicr_buf_free(&warnings);
  folder_remove(&f);
}

/* cJSON asks libc otherwise. */
static void *cjson_malloc(size_t size)
{
  return aicr_realloc(NULL, size);
}

struct torment {
  const char *path, *question;
};

static bool ask_body(void *arg)
{
  const struct torment *t = arg;
  struct aicr_error err;
  struct asked a;
  const char *text = NULL;
  size_t len = 0;
  void *owner = NULL;
  bool done = false;
  struct kube_backend *b = kube_recording_open(t->path, NULL, &err);
  struct kube_client *c = b == NULL ? NULL : kube_client_open(b);
  if (c == NULL) {
    return false;
  }
  read_question(t->question, &a);
  struct kube_call *call = kube_client_start(c, &a.spec, NULL);
  for (bool more = call != NULL; more;) {
    enum kube_call_state s = kube_call_next(call, &text, &len);
    more = s == KUBE_CALL_WAIT || s == KUBE_CALL_ITEM;
    if (s == KUBE_CALL_WAIT) {
      assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
    } else if (s == KUBE_CALL_FAILED) {
      const char *reason = kube_call_error(call)->reason;
      done = strcmp(reason, "not-found") == 0;
      assert_true(done || strcmp(reason, "memory") == 0);
    } else if (s != KUBE_CALL_ITEM) {
      done = true;
    }
  }
  kube_client_close(c);
  return done;
}

/* Without memory a list is not shorter and nothing is absent. */
static void test_asking_without_memory(void **state)
{
  static const struct file files[FILES_MAX] = {
      {NETWORKS "list.json", NETWORK_LIST(NAMED("a") "," NAMED("b"))}};
  static const char *const questions[] = {
      "list networks limit=1", "list networks label=!x field=metadata.name=b",
      "get networks name=a", "get networks name=z"};
  cJSON_Hooks hooks = {cjson_malloc, aicr_free};
  (void)state;
  struct folder f;
  folder_make(&f);
  write_files(&f, files);
  cJSON_InitHooks(&hooks);
  for (size_t i = 0; i < COUNT(questions); i++) {
    struct torment t = {f.path, questions[i]};
    assert_true(torture(ask_body, &t) > 20);
  }
  cJSON_InitHooks(NULL);
  folder_remove(&f);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_manifest),
      cmocka_unit_test(test_warnings),
      cmocka_unit_test(test_no_warning),
      cmocka_unit_test(test_one_warning),
      cmocka_unit_test(test_many_warnings),
      cmocka_unit_test(test_asking_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(rows_own); i++) {
    add_row(&rows, "own", rows_own[i].what, test_question, &rows_own[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "recording");
}
