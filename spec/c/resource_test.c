/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/resource.h"

#include "rows.h"

#include "torture.h"

struct name {
  const char *text, *plural, *version, *group; /* plural NULL: refused */
};

static const struct name names[] = {
    {"pods", "pods", "", ""},
    {"po", "po", "", ""},
    {"pods.v1", "pods", "v1", ""},
    {"deployments.apps", "deployments", "", "apps"},
    {"networks.networking.gke.io", "networks", "", "networking.gke.io"},
    {"networks.v1.networking.gke.io", "networks", "v1", "networking.gke.io"},
    {"jobsets.v1alpha2.jobset.x-k8s.io", "jobsets", "v1alpha2",
     "jobset.x-k8s.io"},
    {"mpijobs.v2beta1.kubeflow.org", "mpijobs", "v2beta1", "kubeflow.org"},
    {"things.v1", "things", "v1", ""},
    {"things.version.io", "things", "", "version.io"},
    {"things.v.io", "things", "", "v.io"},
    {"things.v1x.io", "things", "", "v1x.io"},
    {"things.v1alpha.io", "things", "", "v1alpha.io"},
    {"things.v1beta1x.io", "things", "", "v1beta1x.io"},
    {"things.v1.v2", "things", "v1", "v2"},
    {"", NULL, NULL, NULL},
    {".", NULL, NULL, NULL},
    {"pods.", NULL, NULL, NULL},
    {".pods", NULL, NULL, NULL},
    {"pods..io", NULL, NULL, NULL},
    {"pods.v1.", NULL, NULL, NULL},
    {"Pods", NULL, NULL, NULL},
    {"pods/log", NULL, NULL, NULL},
    {"pods log", NULL, NULL, NULL},
    {"-pods", NULL, NULL, NULL},
    {"pods-", NULL, NULL, NULL},
    {"pods.-io", NULL, NULL, NULL},
    {"pods\n", NULL, NULL, NULL},
    {"p%6fds", NULL, NULL, NULL},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
     NULL, NULL},
};

static void test_name(void **state)
{
  const struct name *row = *state;
  struct kube_resource r;
  struct aicr_error err;
  bool ok = kube_resource_name(row->text, strlen(row->text), &r, &err);
  assert_int_equal(ok, row->plural != NULL);
  if (ok) {
    assert_string_equal(r.plural, row->plural);
    assert_string_equal(r.version, row->version);
    assert_string_equal(r.group, row->group);
  } else {
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_string_equal(err.reason, "bad-request");
    assert_false(err.verdict);
  }
}

static void test_name_with_nul(void **state)
{
  (void)state;
  struct kube_resource r;
  assert_false(kube_resource_name("pods\0x", 6, &r, NULL));
  assert_false(kube_resource_name("pods.a\0x", 8, &r, NULL));
}

struct path {
  const char *what;
  struct kube_resource r;
  const char *ns, *name, *subresource;
  const char *path; /* NULL: refused */
};

#define PODS                                                                   \
  {                                                                            \
    "", "v1", "pods", "Pod", true                                              \
  }
#define NODES                                                                  \
  {                                                                            \
    "", "v1", "nodes", "Node", false                                           \
  }
#define NETWORKS                                                               \
  {                                                                            \
    "networking.gke.io", "v1", "networks", "Network", false                    \
  }
#define ROLES                                                                  \
  {                                                                            \
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false    \
  }
#define DEPLOYMENTS                                                            \
  {                                                                            \
    "apps", "v1", "deployments", "Deployment", true                            \
  }

/* kubernetes-client.md 0.2, 2.3, 7 and W2, W42, W43. An empty segment turns a
 * get into a list and a delete into the deletion of a whole collection. */
static const struct path paths[] = {
    {"core, all", PODS, NULL, NULL, NULL, "/api/v1/pods"},
    {"core, namespace", PODS, "a", NULL, NULL, "/api/v1/namespaces/a/pods"},
    {"core, name", PODS, "a", "p", NULL, "/api/v1/namespaces/a/pods/p"},
    {"subresource", PODS, "a", "p", "log", "/api/v1/namespaces/a/pods/p/log"},
    {"cluster scope", NODES, NULL, "n1", NULL, "/api/v1/nodes/n1"},
    {"group", NETWORKS, NULL, NULL, NULL,
     "/apis/networking.gke.io/v1/networks"},
    {"group, name", NETWORKS, NULL, "gpu-nic0", NULL,
     "/apis/networking.gke.io/v1/networks/gpu-nic0"},
    {"group, namespace", DEPLOYMENTS, "a", "d", NULL,
     "/apis/apps/v1/namespaces/a/deployments/d"},
    {"W43 colon stays", ROLES, NULL, "system:node", NULL,
     "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"},
    {"escaped", ROLES, NULL, "a?b&c=d+e", NULL,
     "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Fb%26c%3Dd%2Be"},
    {"UTF-8 escaped", NODES, NULL, "\xc3\xa9", NULL, "/api/v1/nodes/%C3%A9"},

    {"empty name", PODS, "a", "", NULL, NULL},
    {"empty name, cluster scope", NODES, NULL, "", NULL, NULL},
    {"empty namespace", PODS, "", NULL, NULL, NULL},
    {"empty namespace and a name", PODS, "", "p", NULL, NULL},
    {"empty subresource", PODS, "a", "p", "", NULL},
    {"empty plural", {"", "v1", "", "", false}, NULL, NULL, NULL, NULL},
    {"empty version", {"", "", "pods", "", false}, NULL, NULL, NULL, NULL},
    {"empty version in a group",
     {"apps", "", "deployments", "", false},
     NULL,
     NULL,
     NULL,
     NULL},
    {"W2 namespace for cluster scope", NODES, "a", NULL, NULL, NULL},
    {"no namespace for a namespaced get", PODS, NULL, "p", NULL, NULL},
    {"subresource without name", PODS, "a", NULL, "log", NULL},
    {"W42 steps", NODES, NULL, "../../secrets/x", NULL, NULL},
    {"W42 percent", NODES, NULL, "a%2fb", NULL, NULL},
    {"W42 space", NODES, NULL, "a b", NULL, NULL},
    {"W42 header", NODES, NULL, "a\r\nX: y", NULL, NULL},
    {"dot", NODES, NULL, ".", NULL, NULL},
    {"dots", NODES, NULL, "..", NULL, NULL},
    {"slash", NODES, NULL, "a/b", NULL, NULL},
    {"backslash", NODES, NULL, "a\\b", NULL, NULL},
    {"delete character", NODES, NULL, "a\x7f", NULL, NULL},
    {"not UTF-8", NODES, NULL, "a\xff", NULL, NULL},
    {"namespace of steps", PODS, "..", NULL, NULL, NULL},
    {"namespace with a slash", PODS, "a/pods", NULL, NULL, NULL},
    {"namespace in capitals", PODS, "A", NULL, NULL, NULL},
    {"namespace with a dot", PODS, "a.b", NULL, NULL, NULL},
    {"namespace too long", PODS,
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
     NULL, NULL},
    {"subresource with a slash", PODS, "a", "p", "log/x", NULL},
    {"group with a slash",
     {"a/b", "v1", "x", "", false},
     NULL,
     NULL,
     NULL,
     NULL},
    {"group with an empty part",
     {"a..b", "v1", "x", "", false},
     NULL,
     NULL,
     NULL,
     NULL},
    {"version with a slash",
     {"", "v1/x", "pods", "", false},
     NULL,
     NULL,
     NULL,
     NULL},
    {"plural of steps", {"", "v1", "..", "", false}, NULL, NULL, NULL, NULL},
};

static void test_path(void **state)
{
  const struct path *row = *state;
  struct aicr_buf out;
  struct aicr_error err;
  aicr_buf_init(&out, 4096);
  bool ok = kube_resource_path(&row->r, row->ns, row->name, row->subresource,
                               &out, &err);
  assert_int_equal(ok, row->path != NULL);
  if (ok) {
    assert_string_equal(out.data, row->path);
    assert_null(strstr(out.data, "//"));
  } else {
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_string_equal(err.reason, "bad-request");
    assert_int_equal(out.len, 0);
  }
  aicr_buf_free(&out);
}

static void test_path_of_long_names(void **state)
{
  (void)state;
  const struct kube_resource nodes = NODES;
  char name[300];
  struct aicr_buf out;
  struct aicr_error err;
  memset(name, 'a', sizeof name);
  name[KUBE_NAME_MAX] = '\0';
  aicr_buf_init(&out, 4096);
  assert_true(kube_resource_path(&nodes, NULL, name, NULL, &out, &err));
  assert_int_equal(out.len, strlen("/api/v1/nodes/") + KUBE_NAME_MAX);
  aicr_buf_reset(&out);
  name[KUBE_NAME_MAX] = 'a';
  name[KUBE_NAME_MAX + 1] = '\0';
  assert_false(kube_resource_path(&nodes, NULL, name, NULL, &out, &err));
  aicr_buf_free(&out);
}

static bool path_body(void *arg)
{
  const struct kube_resource pods = PODS;
  struct aicr_buf out;
  struct aicr_error err;
  (void)arg;
  aicr_buf_init(&out, 4096);
  bool ok = kube_resource_path(&pods, "kube-system", "a-rather-long-name",
                               "log", &out, &err);
  assert_true(ok || strcmp(err.reason, "memory") == 0);
  aicr_buf_free(&out);
  return ok;
}

static void test_path_without_memory(void **state)
{
  (void)state;
  assert_true(torture(path_body, NULL) > 0);
}

struct builtin {
  const char *group, *name, *plural, *found_group; /* plural NULL: unknown */
};

static const struct builtin builtins[] = {
    {NULL, "pods", "pods", ""},
    {NULL, "pod", "pods", ""},
    {NULL, "po", "pods", ""},
    {"", "svc", "services", ""},
    {NULL, "deploy", "deployments", "apps"},
    {"", "deployments", NULL, NULL},
    {"apps", "ds", "daemonsets", "apps"},
    {NULL, "events", "events", ""},
    {"events.k8s.io", "ev", "events", "events.k8s.io"},
    {NULL, "networks", "networks", "networking.gke.io"},
    {NULL, "network", "networks", "networking.gke.io"},
    {NULL, "clustertrainingruntimes", "clustertrainingruntimes",
     "trainer.kubeflow.org"},
    {NULL, "crds", "customresourcedefinitions", "apiextensions.k8s.io"},
    {"metrics.k8s.io", "nodes", "nodes", "metrics.k8s.io"},
    {NULL, "Pod", NULL, NULL},
    {NULL, "", NULL, NULL},
    {NULL, "gadgets", NULL, NULL},
    {"no.such.group", "pods", NULL, NULL},
};

static void test_builtin(void **state)
{
  const struct builtin *row = *state;
  const struct kube_resource *r = kube_builtin_by_name(row->group, row->name);
  assert_int_equal(r != NULL, row->plural != NULL);
  if (r != NULL) {
    assert_string_equal(r->plural, row->plural);
    assert_string_equal(r->group, row->found_group);
  }
}

static void test_builtin_by_kind(void **state)
{
  (void)state;
  const struct kube_resource *r =
      kube_builtin_by_kind("networking.gke.io", "v1", "Network");
  assert_non_null(r);
  assert_string_equal(r->plural, "networks");
  assert_false(r->namespaced);
  r = kube_builtin_by_kind("apps", "v1beta9", "Deployment");
  assert_non_null(r);
  assert_string_equal(r->plural, "deployments");
  assert_true(r->namespaced);
  assert_non_null(kube_builtin_by_kind("", NULL, "Node"));
  assert_null(kube_builtin_by_kind("", "v1", "Network"));
  assert_null(kube_builtin_by_kind("", "v1", "node"));
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_name_with_nul),
      cmocka_unit_test(test_path_of_long_names),
      cmocka_unit_test(test_path_without_memory),
      cmocka_unit_test(test_builtin_by_kind),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(names); i++) {
    add_row(&rows, "name", names[i].text, test_name, &names[i]);
  }
  for (size_t i = 0; i < COUNT(paths); i++) {
    add_row(&rows, "path", paths[i].what, test_path, &paths[i]);
  }
  for (size_t i = 0; i < COUNT(builtins); i++) {
    add_row(&rows, "builtin", builtins[i].name, test_builtin, &builtins[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "resource");
}
