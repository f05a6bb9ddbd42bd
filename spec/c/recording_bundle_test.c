/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"

/* Support bundles of Troubleshoot. */

#define R          "cluster-resources/"
#define BARE(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define FORBIDDEN_TEXT                                                         \
  "pods is forbidden: User \\\"jane\\\" cannot list resource"

static const struct question rows[] = {
    {"O5 a bare array of a namespace",
     {{R "pods/ns1.json", "[" BARE("b") ", " BARE("a") "]\n"}},
     "list pods ns=ns1",
     "a b end 1"},
    {"O5 …gives objects their type",
     {{R "pods/ns1.json", " [" BARE("b") "]"}},
     "get pods ns=ns1 name=b",
     "object {\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
     "\"b\"}}"},
    {"O5 …and says what is not there",
     {{R "pods/ns1.json", "[]"}},
     "get pods ns=ns1 name=b",
     "NOT_FOUND/not-found 404 served verdict"},
    {"another namespace",
     {{R "pods/ns1.json", "[]"}},
     "list pods ns=ns2",
     "INTERNAL/not-recorded served"},
    {"all namespaces",
     {{R "pods/ns1.json", "[]"}},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"a typed list of a namespace is no more than that",
     {{R "pods/ns1.json", POD_LIST("")}},
     "list pods ns=ns2",
     "INTERNAL/not-recorded served"},
    {"…but that",
     {{R "pods/ns1.json", POD_LIST("")}},
     "list pods ns=ns1",
     "end 1"},
    {"a resource without namespaces",
     {{R "nodes.json", "[" BARE("n") "]"}},
     "list nodes",
     "n end 1"},
    {"a name with a hyphen",
     {{R "storage-classes.json", "[" BARE("s") "]"}},
     "list storageclasses.storage.k8s.io",
     "s end 1"},
    {"O6 a namespace that was forbidden",
     {{R "pods/ns1.json", "[]"},
      {R "pods-errors.json", "{\"ns2\":\"" FORBIDDEN_TEXT "\"}"}},
     "list pods ns=ns2",
     "UNAUTHORIZED/forbidden 403 served"},
    {"O6 all of them is incomplete",
     {{R "pods/ns1.json", "[]"},
      {R "pods-errors.json", "{\"ns2\":\"" FORBIDDEN_TEXT "\"}"}},
     "list pods",
     "INTERNAL/not-recorded served"},
    {"all that was forbidden",
     {{R "nodes-errors.json", "[\"nodes is forbidden: no\"]"}},
     "list nodes",
     "UNAUTHORIZED/forbidden 403"},
    {"an error of another kind",
     {{R "nodes-errors.json", "[\"etcd is away\"]"}},
     "list nodes",
     "INTERNAL/server-error 500"},
};

struct refused {
  const char *what;
  struct file files[FILES_MAX];
  const char *why;
};

static const struct refused bad[] = {
    {"an array that is cut",
     {{R "pods/ns1.json", "[" BARE("a") ","}},
     "\"cluster-resources/pods/ns1.json\": it is not one JSON array"},
    {"an array with more behind it",
     {{R "pods/ns1.json", "[]}"}},
     "\"cluster-resources/pods/ns1.json\": it is not one JSON array"},
    {"an array with another's items",
     {{R "pods/ns1.json", "[" IN("ns2", "a") "]"}},
     "item 1 is in namespace \"ns2\", but is recorded in ns1"},
    {"an array of texts",
     {{R "pods/ns1.json", "[\"a\"]"}},
     "\"cluster-resources/pods/ns1.json\": "},
};

static void test_bad(void **state)
{
  const struct refused *row = *state;
  struct folder f;
  struct aicr_error err;
  folder_make(&f);
  write_files(&f, row->files);
  assert_null(kube_recording_open(f.path, NULL, &err));
  if (strstr(err.message, row->why) == NULL) {
    fail_msg("%s", err.message);
  }
  folder_remove(&f);
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    add_row(&r, "bundle", rows[i].what, test_question, &rows[i]);
  }
  for (size_t i = 0; i < COUNT(bad); i++) {
    add_row(&r, "refused", bad[i].what, test_bad, &bad[i]);
  }
  return run_rows(&r, "recording_bundle");
}
