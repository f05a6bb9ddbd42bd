/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"

/* What a name means that no resource has. */
struct row {
  const char *what;
  struct file files[FILES_MAX];
  const char *name, *message;
};

#define NOT_SERVED ": the API is not served (discovery lacks it)"
#define ADD(name)                                                              \
  name " was not recorded; add it with: kubectl get " name " -A -o json"
#define DISCOVERED                                                             \
  {                                                                            \
    {"apis.json", APIS(GKE_GROUP)},                                            \
    {                                                                          \
      "n.json", NETWORK_LIST(NAMED("a"))                                       \
    }                                                                          \
  }
#define DUMP                                                                   \
  {                                                                            \
    {"a.json", KUBECTL(NETWORK("n") "," POD("a", "p") "," POD("b", "p"))},     \
    {                                                                          \
      "nodes.json", "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":"  \
                    "[]}"                                                      \
    }                                                                          \
  }

static const struct row rows_of[] = {
    {"a plural, in discovery", DISCOVERED, "networkz.networking.gke.io",
     "networkz.networking.gke.io" NOT_SERVED
     "; did you mean \"networks.networking.gke.io\"?"},
    {"a group, in discovery", DISCOVERED, "networks.networking.gke.oi",
     "networks.networking.gke.oi" NOT_SERVED
     "; did you mean \"networks.networking.gke.io\"?"},
    {"another group that serves it", DISCOVERED, "networks.example.org",
     "networks.example.org" NOT_SERVED
     "; did you mean \"networks.networking.gke.io\"?"},
    {"nothing near, in discovery", DISCOVERED, "gizmos.example.org",
     "gizmos.example.org" NOT_SERVED},
    {"a version, in discovery", DISCOVERED, "networks.v9.networking.gke.io",
     "networks.networking.gke.io: the API is not served in version v9 "
     "(discovery lacks it), but in v1"},
    {"a bare plural, where all that is served is known",
     {{"api.json", "{\"kind\":\"APIGroupDiscoveryList\",\"items\":"
                   "[{\"metadata\":{\"name\":\"\"},\"versions\":[]}]}"},
      {"apis.json", APIS(GKE_GROUP)}},
     "networkz",
     "no group of the server has a resource networkz, and without its group "
     "nobody knows which API is meant; did you mean "
     "\"networks.networking.gke.io\"?"},
    {"a bare plural", DUMP, "networkz",
     "networkz was not recorded; did you mean \"networks.networking.gke.io\"?"},
    {"a bare singular", DUMP, "netwrok",
     "netwrok was not recorded; did you mean \"networks.networking.gke.io\"?"},
    {"a core resource", DUMP, "nodez",
     "nodez was not recorded; did you mean \"nodes\"?"},
    {"the nearer of two", DUMP, "podss",
     "podss was not recorded; did you mean \"pods\"?"},
    {"nothing near", DUMP, "gizmos", ADD("gizmos")},
    {"a name too short to be near", DUMP, "pq", ADD("pq")},
    {"what is not recorded is not proposed",
     {{"n.json", NETWORK_LIST("")}},
     "nodez",
     ADD("nodez")},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct folder f;
  struct kube_resource r = {0};
  struct kube_resolving how = {0};
  struct kube_failure failure = {0};
  struct aicr_error err = {.code = AICR_CODE_NONE};
  folder_make(&f);
  write_files(&f, row->files);
  struct kube_client *c = open_client(f.path, NULL);
  struct kube_backend *b = kube_client_backend(c);
  assert_true(kube_resource_name(row->name, strlen(row->name), &r, &err));
  assert_int_equal(b->ops->resolve(b, &r, &how, &failure, &err),
                   KUBE_RESOLVE_FAILED);
  assert_string_equal(err.message, row->message);
  kube_client_close(c);
  folder_remove(&f);
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(rows_of); i++) {
    add_row(&rows, "nearest", rows_of[i].what, test_row, &rows_of[i]);
  }
  return run_rows(&rows, "recording_nearest");
}
