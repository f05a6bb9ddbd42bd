/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"

/* What `kubectl get` writes. */
static const struct question questions[] = {
    {"O7 a List of three kinds: networks",
     {{"all.json",
       KUBECTL(NETWORK("n") "," POD("a", "p") ",{\"apiVersion\":\"apps/v1\","
                                              "\"kind\":\"Deployment\","
                                              "\"metadata\":{\"name\":\"d\","
                                              "\"namespace\":\"a\"}}")}},
     "list networks",
     "n end 1"},
    {"O7 pods",
     {{"all.json", KUBECTL(NETWORK("n") "," POD("a", "p"))}},
     "list pods ns=a",
     "a/p end 1"},
    {"one namespace is not all of them",
     {{"all.json", KUBECTL(NETWORK("n") "," POD("a", "p") "," POD("a", "q"))}},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"… nor another",
     {{"all.json", KUBECTL(POD("a", "p"))}},
     "list pods ns=b",
     "INTERNAL/not-recorded served"},
    {"… also for a get",
     {{"all.json", KUBECTL(POD("a", "p"))}},
     "get pods ns=b name=p",
     "INTERNAL/not-recorded served"},
    {"… but all of itself",
     {{"all.json", KUBECTL(POD("a", "p"))}},
     "get pods ns=a name=q",
     "NOT_FOUND/not-found 404 served verdict"},
    {"two namespaces, a file each",
     {{"a.json", KUBECTL(POD("a", "p"))}, {"b.json", KUBECTL(POD("b", "p"))}},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"… each for itself",
     {{"a.json", KUBECTL(POD("a", "p"))}, {"b.json", KUBECTL(POD("b", "p"))}},
     "list pods ns=b",
     "b/p end 1"},
    {"objects of two namespaces are of all",
     {{"all.json", KUBECTL(POD("a", "p") "," NETWORK("n") "," POD("b", "p"))}},
     "list pods ns=c",
     "end 1"},
    {"… whatever another file narrows",
     {{"1.json", KUBECTL(POD("a", "p"))},
      {"2.json", KUBECTL(POD("a", "q") "," POD("b", "p"))}},
     "list pods",
     "a/p a/q b/p end 1"},
    {"a typed list was asked for by its path",
     {{"pods.json", POD_LIST(IN("a", "p") "," IN("a", "q"))}},
     "list pods",
     "a/p a/q end 1"},
    {"one namespace in YAML",
     {{"x.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  "
                 "kind: Pod\n  metadata: {name: p, namespace: a}\n"}},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"objects/ says by its folders what is complete",
     {{PODS "list.json", KUBECTL(POD("a", "p"))}},
     "list pods",
     "a/p end 1"},
    {"O7 get of one that is absent",
     {{"all.json", KUBECTL(NETWORK("n") "," POD("a", "p"))}},
     "get networks name=m",
     "NOT_FOUND/not-found 404 served verdict"},
    {"other kinds are not there",
     {{"all.json", KUBECTL(NETWORK("n"))}},
     "list nodes",
     "INTERNAL/not-recorded"},
    {"a bare empty List proves nothing",
     {{"a.json", KUBECTL("")}, {"b.json", KUBECTL(POD("a", "p"))}},
     "list networks",
     "INTERNAL/not-recorded"},
    {"an empty typed list proves that the API is served",
     {{"networks.json", NETWORK_LIST("")}},
     "list networks",
     "end 1"},
    {"W24 a typed list, items without type",
     {{"pods.json", POD_LIST(IN("a", "p"))}},
     "get pods ns=a name=p",
     "object {\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
     "\"namespace\":\"a\",\"name\":\"p\"}}"},
    {"single objects answer only their gets",
     {{"n.json", NETWORK("n")}},
     "list networks",
     "INTERNAL/not-recorded served"},
    {"a single object",
     {{"n.json", NETWORK("n")}},
     "get networks name=n",
     "object " NETWORK("n")},
    {"YAML, several documents",
     {{"x.yml", "---\napiVersion: networking.gke.io/v1\nkind: Network\n"
                "metadata:\n  name: net\n---\n---\napiVersion: v1\nkind: List\n"
                "items:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p, "
                "namespace: a}\n"}},
     "list pods ns=a",
     "a/p end 1"},
    {"YAML, the other document",
     {{"x.yaml", "apiVersion: networking.gke.io/v1\nkind: Network\nmetadata: "
                 "{name: net}\n---\n{apiVersion: v1, kind: Pod, metadata: "
                 "{name: p}}\n"}},
     "get networks name=net",
     "object {\"apiVersion\":\"networking.gke.io/v1\",\"kind\":\"Network\","
     "\"metadata\":{\"name\":\"net\"}}"},
    {"JSON lines",
     {{"x.json", NETWORK("a") "\n" NETWORK("b") "\n"}},
     "get networks name=b",
     "object " NETWORK("b")},
    {"JSON values one after another, with braces in texts",
     {{"x.json",
       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
       "\"a\",\"namespace\":\"}{\\\"\"}}" NETWORK("b")}},
     "get networks name=b",
     "object " NETWORK("b")},
    {"BOM",
     {{"x.json", "\xef\xbb\xbf" NETWORK_LIST(NAMED("a"))}},
     "list networks",
     "a end 1"},
    {"folders in folders",
     {{"a/b/c/networks.json", NETWORK_LIST(NAMED("a"))},
      {"a/pods.yaml", "kind: PodList\napiVersion: v1\nitems: []\n"}},
     "list networks",
     "a end 1"},
    {"other files are passed over",
     {{"README.md", "{"}, {"pod.log", "{"}, {"n.json", NETWORK_LIST("")}},
     "list networks",
     "end 1"},
    {"documents that are no objects are passed over",
     {{"list.json", "[1,2]"},
      {"values.yaml", "replicas: 3\n"},
      {"n.json", NETWORK_LIST("")}},
     "list networks",
     "end 1"},
    {"a List and single objects of its kind",
     {{"a.json", KUBECTL(NETWORK("n"))}, {"b.json", NETWORK("m")}},
     "list networks",
     "m n end 1"},
    {"O10 an object in two files",
     {{"pods.json",
       POD_LIST("{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\","
                "\"uid\":\"u\",\"resourceVersion\":\"7\"}}")},
      {"pods/p.json",
       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
       "\"namespace\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}"}},
     "list pods",
     "a/p end 1"},
    {"the higher resourceVersion wins, also when it is first",
     {{"1.json",
       "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
       "\"n\",\"uid\":\"u\",\"resourceVersion\":\"10\"}}"},
      {"2.json",
       "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
       "\"n\",\"uid\":\"u\",\"resourceVersion\":\"9\"}}"}},
     "get nodes name=n",
     "object {\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
     "\"n\",\"uid\":\"u\",\"resourceVersion\":\"10\"}}"},
    {"the later file wins where that cannot tell",
     {{"1.json",
       "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
       "\"n\"},\"x\":1}"},
      {"2.json",
       "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
       "\"n\"},\"x\":2}"}},
     "get nodes name=n",
     "object {\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
     "\"n\"},\"x\":2}"},
    {"of a repeated member the last one counts",
     {{"p.json", "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"kind\":\"Pod\","
                 "\"metadata\":{\"name\":\"o\",\"namespace\":\"x\"},"
                 "\"metadata\":{\"name\":\"n\",\"namespace\":\"b\","
                 "\"name\":\"p\",\"namespace\":\"a\"}}"}},
     "get pods ns=a name=p",
     "object {\"apiVersion\":\"v1\",\"kind\":\"Node\",\"kind\":\"Pod\","
     "\"metadata\":{\"name\":\"o\",\"namespace\":\"x\"},"
     "\"metadata\":{\"name\":\"n\",\"namespace\":\"b\","
     "\"name\":\"p\",\"namespace\":\"a\"}}"},
    {"… also of a metadata that says less",
     {{"n.json", "{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                 "\"metadata\":{\"name\":\"o\",\"namespace\":\"x\"},"
                 "\"metadata\":{\"name\":\"n\"}}"}},
     "get nodes name=n",
     "object {\"apiVersion\":\"v1\",\"kind\":\"Node\","
     "\"metadata\":{\"name\":\"o\",\"namespace\":\"x\"},"
     "\"metadata\":{\"name\":\"n\"}}"},
    {"the plural of an unknown kind is guessed",
     {{"a.json",
       "{\"apiVersion\":\"example.org/v1\",\"kind\":\"FancyPolicyList\","
       "\"items\":[{\"metadata\":{\"name\":\"f\"}}]}"}},
     "list fancypolicies.example.org",
     "f end 1"},
    {"… or told by a definition",
     {{"a.json", "{\"apiVersion\":\"example.org/v1\",\"kind\":\"GizmoList\","
                 "\"items\":[" IN("a", "g") "]}"},
      {"crd.json", CRD}},
     "list gz ns=a",
     "a/g end 1"},
    {"discovery among the documents",
     {{"apis.json", APIS(GKE_GROUP)}, {"n.json", NETWORK_LIST(NAMED("a"))}},
     "list gizmos.example.org",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"a kind that ends in List and has no items is an object",
     {{"a.json", "{\"apiVersion\":\"example.org/v1\",\"kind\":\"AllowList\","
                 "\"metadata\":{\"name\":\"x\"}}"}},
     "get allowlists.example.org name=x",
     "object {\"apiVersion\":\"example.org/v1\",\"kind\":\"AllowList\","
     "\"metadata\":{\"name\":\"x\"}}"},
};

static void test_one_file(void **state)
{
  static const struct file files[] = {
      {"networks.json", NETWORK_LIST(NAMED("a"))},
      {"networks.yaml", "kind: NetworkList\napiVersion: "
                        "networking.gke.io/v1\nitems: [{metadata: "
                        "{name: a}}]\n"},
      {"networks", NETWORK_LIST(NAMED("a"))},
      {"noending",
       "kind: NetworkList\napiVersion: networking.gke.io/v1\nitems:\n"
       "- metadata:\n    name: a\n"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(files); i++) {
    struct folder f;
    struct aicr_buf out;
    char path[256];
    folder_make(&f);
    folder_text(&f, files[i].path, files[i].text);
    folder_path(&f, files[i].path, path, sizeof path);
    struct kube_client *c = open_client(path, NULL);
    aicr_buf_init(&out, 1 << 20);
    ask_text(c, "list networks", &out);
    assert_string_equal(out.data, "a end 1");
    aicr_buf_free(&out);
    kube_client_close(c);
    folder_remove(&f);
  }
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(questions); i++) {
    add_row(&rows, "kubectl", questions[i].what, test_question, &questions[i]);
  }
  add_row(&rows, "kubectl", "one file", test_one_file, NULL);
  return run_rows(&rows, "kubectl");
}
