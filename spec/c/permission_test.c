/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/permission.h"

#include <stdlib.h>

#include "rows.h"

#include "torture.h"

#define RUN "run-ns"

struct allow {
  const char *need; /* lines with ';' between them */
  const char *verb, *resource, *subresource, *ns;
  bool allowed;
};

static const struct allow allows[] = {
    {"list nodes", "list", "nodes", NULL, NULL, true},
    {"list nodes", "get", "nodes", NULL, NULL, false},
    {"get,list nodes", "get", "nodes", NULL, NULL, true},
    {"get,list nodes", "list", "nodes", NULL, NULL, true},
    {"get,list nodes", "watch", "nodes", NULL, NULL, false},
    {"list node", "list", "nodes", NULL, NULL, true},
    {"list no", "list", "nodes", NULL, NULL, true},
    {"  list   nodes  ", "list", "nodes", NULL, NULL, true},
    {"list networks.networking.gke.io", "list", "networks.networking.gke.io",
     NULL, NULL, true},
    {"list networks", "list", "networks.networking.gke.io", NULL, NULL, true},
    {"list networks.v1.networking.gke.io", "list", "networks.networking.gke.io",
     NULL, NULL, true},
    {"list networks.networking.gke.io", "list", "networks.other.io", NULL, NULL,
     false},
    {"list pods", "list", "pods.metrics.k8s.io", NULL, NULL, false},
    {"list deployments", "list", "deployments.apps", NULL, NULL, true},
    {"list things", "list", "things", NULL, NULL, true},
    {"list things", "list", "things.example.org", NULL, NULL, false},

    /* scopes of reads */
    {"list pods", "list", "pods", NULL, "a", true},
    {"list pods", "list", "pods", NULL, NULL, true},
    {"list pods anywhere", "list", "pods", NULL, NULL, true},
    {"list pods in a", "list", "pods", NULL, "a", true},
    {"list pods in a", "list", "pods", NULL, "b", false},
    {"list pods in a", "list", "pods", NULL, NULL, false},
    {"list pods in run", "list", "pods", NULL, RUN, true},
    {"list pods in run", "list", "pods", NULL, "a", false},
    {"list pods in run", "list", "pods", NULL, NULL, false},
    {"list pods in a;list pods in b", "list", "pods", NULL, "b", true},

    /* scopes of writes */
    {"create pods", "create", "pods", NULL, RUN, true},
    {"create pods", "create", "pods", NULL, "a", false},
    {"create namespaces", "create", "namespaces", NULL, NULL, false},
    {"create namespaces anywhere", "create", "namespaces", NULL, NULL, true},
    {"create pods in a", "create", "pods", NULL, "a", true},
    {"create pods in a", "create", "pods", NULL, RUN, false},
    {"get,create pods", "get", "pods", NULL, "a", true},
    {"get,create pods", "create", "pods", NULL, "a", false},

    /* that of a kind some may be created does not say that all may go */
    {"create pods", "delete", "pods", NULL, RUN, false},
    {"create pods in a", "delete", "pods", NULL, "a", false},
    {"apply pods", "delete", "pods", NULL, RUN, false},
    {"create pods anywhere", "delete", "pods", NULL, RUN, false},
    {"delete pods", "delete", "pods", NULL, RUN, true},
    {"delete pods", "create", "pods", NULL, RUN, false},
    {"patch pods", "delete", "pods", NULL, RUN, false},
    {"create pods", "deletecollection", "pods", NULL, RUN, false},
    {"deletecollection pods", "deletecollection", "pods", NULL, RUN, true},

    /* words that mean others */
    {"find pods", "get", "pods", NULL, "a", true},
    {"get pods", "find", "pods", NULL, "a", true},
    {"each pods", "list", "pods", NULL, "a", true},
    {"list pods", "each", "pods", NULL, "a", true},
    {"wait pods", "get", "pods", NULL, "a", true},
    {"wait pods", "list", "pods", NULL, "a", true},
    {"wait pods", "watch", "pods", NULL, "a", true},
    {"get,list pods", "wait", "pods", NULL, "a", false},
    {"get,list,watch pods", "wait", "pods", NULL, "a", true},
    {"apply pods", "apply", "pods", NULL, RUN, true},
    {"apply pods", "create", "pods", NULL, RUN, true},
    {"apply pods", "patch", "pods", NULL, RUN, true},
    {"patch pods", "apply", "pods", NULL, RUN, false},
    {"patch,create pods", "apply", "pods", NULL, RUN, true},
    {"update pods", "update", "pods", NULL, RUN, true},

    /* subresources */
    {"get pods", "get", "pods", "log", "a", false},
    {"get pods/log", "get", "pods", "log", "a", true},
    {"get pods/log", "get", "pods", NULL, "a", false},
    {"logs pods", "get", "pods", "log", "a", true},
    {"logs pods", "get", "pods", NULL, "a", false},
    {"get,logs pods", "get", "pods", NULL, "a", true},
    {"get pods/log", "logs", "pods", NULL, "a", true},
    {"logs pods/log", "get", "pods", "log", "a", true},
    {"exec pods", "get", "pods", "exec", RUN, true},
    {"exec pods", "create", "pods", "exec", RUN, true},
    {"exec pods", "exec", "pods", NULL, RUN, true},
    {"get pods/exec", "exec", "pods", NULL, RUN, false},
    {"get,create pods/exec", "exec", "pods", NULL, RUN, true},

    {"", "list", "pods", NULL, "a", false},
    {"get /version", "list", "pods", NULL, "a", false},
    {"list pods", "frobnicate", "pods", NULL, "a", false},
};

static size_t split(const char *need, char *copy, size_t size,
                    const char **lines)
{
  size_t count = 0;
  snprintf(copy, size, "%s", need);
  for (char *p = copy; *p != '\0'; count++) {
    size_t n = strcspn(p, ";");
    lines[count] = p;
    bool last = p[n] == '\0';
    p[n] = '\0';
    p += n + (last ? 0 : 1);
  }
  return count;
}

static struct kube_permissions *parse(const char *need, struct aicr_error *err)
{
  char copy[256];
  const char *lines[8];
  size_t count = split(need, copy, sizeof copy, lines);
  return kube_permissions_parse(lines, count, err);
}

static void test_allow(void **state)
{
  const struct allow *row = *state;
  struct kube_resource r;
  struct aicr_error err;
  struct kube_permissions *p = parse(row->need, &err);
  assert_non_null(p);
  assert_true(
      kube_resource_name(row->resource, strlen(row->resource), &r, &err));
  bool ok = kube_permissions_allow(p, row->verb, &r, row->subresource, row->ns,
                                   RUN, &err);
  assert_int_equal(ok, row->allowed);
  if (!ok) {
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_string_equal(err.reason, "undeclared-permission");
    assert_false(err.verdict);
  }
  kube_permissions_free(p);
}

/* A kind that no resource is known of: there is no line to add. */
static void test_allow_unknown(void **state)
{
  (void)state;
  struct kube_resource r = {.version = "v1", .kind = "Pot"};
  struct aicr_error err;
  struct kube_permissions *p = parse("create pods", &err);
  assert_non_null(p);
  assert_false(kube_permissions_allow(p, "create", &r, NULL, NULL, RUN, &err));
  assert_string_equal(err.reason, "undeclared-permission");
  assert_non_null(strstr(err.message, "kind \"Pot\" of v1: correct"));
  kube_permissions_free(p);
}

struct need {
  const char *line;
  const char *why; /* a part of the message */
};

static const struct need bad_needs[] = {
    {"", "expected VERB"},
    {"   ", "expected VERB"},
    {"list", "expected VERB"},
    {"nodes", "expected VERB"},
    {"lst nodes", "did you mean list"},
    {"frobnicate nodes", "unknown verb"},
    {"GET nodes", "unknown verb"},
    {"get,,list nodes", "unknown verb"},
    {"get, nodes", "unknown verb"},
    {",get nodes", "unknown verb"},
    {"* nodes", "unknown verb"},
    {"get *", "bad resource name"},
    {"get Nodes", "bad resource name"},
    {"get pods/", "subresource"},
    {"get pods/a/b", "subresource"},
    {"get pods.", "bad resource name"},
    {"get nodes everywhere", "anywhere is expected"},
    {"get nodes in", "expected after in"},
    {"get nodes in A", "bad namespace"},
    {"get nodes in ../x", "bad namespace"},
    {"get nodes in a b", "nothing may follow"},
    {"get nodes anywhere in a", "nothing may follow"},
    {"logs nodes", "of pods"},
    {"exec pods/log", "of pods"},
    {"list /version", "only be got"},
    {"get /api", "name the resource"},
    {"get /api/v1/pods", "name the resource"},
    {"get /apis/apps/v1", "name the resource"},
    {"get /apis*", "name the resource"},
    {"get /api*", "name the resource"},
    {"get /*", "name the resource"},
    {"get //version", "no //"},
    {"get /a/../b", "no segment . or .."},
    {"get /..", "no segment . or .."},
    {"get /a/./b", "no segment . or .."},
    {"get /a/.", "no segment . or .."},
    {"get /./api/v1/secrets", "no segment . or .."},
    {"get /a*b", "* only at its end"},
    {"get /version in a", "nothing may follow a path"},
    {"list nodes if", "nothing may follow the scope but"},
    {"list nodes if there", "nothing may follow the scope but"},
    {"list nodes if served anywhere", "nothing may follow the scope but"},
    {"list nodes served", "in NAMESPACE, in run or anywhere is expected"},
};

static void test_bad_need(void **state)
{
  const struct need *row = *state;
  struct aicr_error err;
  const char *const lines[] = {"list nodes", row->line};
  assert_null(kube_permissions_parse(lines, 2, &err));
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_string_equal(err.reason, "bad-need");
  assert_non_null(strstr(err.message, row->why));
}

static const char *const good_paths[] = {"get /version", "get /readyz",
                                         "get /readyz/*", "get /metrics",
                                         "get /apiary"};

static void test_good_path(void **state)
{
  const char *const line = *state;
  struct aicr_error err;
  struct kube_permissions *p = kube_permissions_parse(&line, 1, &err);
  assert_non_null(p);
  kube_permissions_free(p);
}

/* What a refusal tells to add. */
struct advice {
  const char *verb, *resource, *subresource, *ns, *line;
};

static const struct advice advices[] = {
    {"list", "networks.networking.gke.io", NULL, NULL,
     "\"list networks.networking.gke.io\""},
    {"get", "pods", NULL, "a", "\"get pods in a\""},
    {"get", "pods", NULL, RUN, "\"get pods in run\""},
    {"get", "pods", "log", "a", "\"get pods/log in a\""},
    {"create", "pods", NULL, RUN, "\"create pods\""},
    {"create", "pods", NULL, "a", "\"create pods in a\""},
    {"create", "namespaces", NULL, NULL, "\"create namespaces anywhere\""},
};

static void test_advice(void **state)
{
  const struct advice *row = *state;
  struct kube_resource r;
  struct aicr_error err;
  struct kube_permissions *p = kube_permissions_parse(NULL, 0, &err);
  assert_non_null(p);
  assert_true(
      kube_resource_name(row->resource, strlen(row->resource), &r, &err));
  assert_false(kube_permissions_allow(p, row->verb, &r, row->subresource,
                                      row->ns, RUN, &err));
  assert_non_null(strstr(err.message, row->line));
  kube_permissions_free(p);

  /* … and the line that it gives is enough. */
  char line[128];
  snprintf(line, sizeof line, "%s", row->line + 1);
  line[strlen(line) - 1] = '\0';
  p = parse(line, &err);
  assert_non_null(p);
  assert_true(kube_permissions_allow(p, row->verb, &r, row->subresource,
                                     row->ns, RUN, &err));
  kube_permissions_free(p);
}

static void test_no_run_namespace(void **state)
{
  (void)state;
  struct kube_resource pods = {"", "v1", "pods", "Pod", true};
  struct aicr_error err;
  struct kube_permissions *p = parse("create pods;get pods in run", &err);
  assert_non_null(p);
  assert_false(
      kube_permissions_allow(p, "create", &pods, NULL, "a", NULL, &err));
  assert_false(kube_permissions_allow(p, "get", &pods, NULL, "a", NULL, &err));
  assert_false(kube_permissions_allow(p, "get", &pods, NULL, NULL, NULL, &err));
  kube_permissions_free(p);
  kube_permissions_free(NULL);
}

static void test_long_line(void **state)
{
  (void)state;
  char line[1100];
  const char *const lines[] = {line};
  struct aicr_error err;
  snprintf(line, sizeof line, "list%1021s", "pods");
  assert_null(kube_permissions_parse(lines, 1, &err));
  assert_string_equal(err.reason, "bad-need");
  snprintf(line, sizeof line, "list%1020s", "pods");
  struct kube_permissions *p = kube_permissions_parse(lines, 1, &err);
  assert_non_null(p);
  kube_permissions_free(p);
}

struct sent {
  const char *need; /* lines with ';' between them */
  const char *sent; /* what the server is asked for, sorted */
};

static const struct sent sents[] = {
    {"find nodes", "get nodes"},
    {"list nodes if served", "list nodes if served"},
    {"list pods in a if served", "list pods in a if served"},
    {"create pods anywhere if served",
     "create pods if served;delete pods if served;get pods if served"},
    {"each pods in a", "list pods in a"},
    {"each pods in run", "list pods in run"},
    {"wait jobs.batch in run",
     "get jobs.batch in run;list jobs.batch in run;watch jobs.batch in run"},
    {"create pods", "create pods in run;delete pods in run;get pods in run"},
    {"create pods in a", "create pods in a;delete pods in a;get pods in a"},
    {"get,create pods", "create pods in run;delete pods in run;get pods;get "
                        "pods in run"},
    {"create namespaces anywhere",
     "create namespaces;delete namespaces;get namespaces"},
    {"apply configmaps", "create configmaps in run;delete configmaps in "
                         "run;get configmaps in run;patch configmaps in run"},
    {"patch nodes anywhere", "patch nodes"},
    {"patch deployments/scale in a", "patch deployments.apps/scale in a"},
    {"delete pods in a", "delete pods in a;get pods in a"},
    {"deletecollection pods in a", "deletecollection pods in a"},
    {"update pods in a", "update pods in a"},
    {"logs pods in a", "get pods/log in a"},
    {"exec pods in run", "create pods/exec in run;get pods/exec in run"},
    {"exec pods in a", "create pods/exec in a;get pods/exec in a"},
    {"list networks.v1.networking.gke.io", "list networks.networking.gke.io"},
    {"get /version;get /healthz/*", "get /healthz/*;get /version"},
};

struct seen {
  char lines[16][128];
  size_t count;
};

static void note_need(void *ud, const struct kube_need *n)
{
  struct seen *seen = ud;
  char *line = seen->lines[seen->count++];
  static const char *const in[] = {"", " in run", " in "};
  assert_true(seen->count <= COUNT(seen->lines));
  assert_true(n->scope == KUBE_NEED_NAMESPACE || n->ns[0] == '\0');
  snprintf(line, sizeof seen->lines[0], "%s %s%s%s%s%s%s%s%s%s", n->verb,
           n->path == NULL ? "" : n->path, n->plural,
           n->group[0] == '\0' ? "" : ".", n->group,
           n->subresource[0] == '\0' ? "" : "/", n->subresource, in[n->scope],
           n->ns, n->if_served ? " if served" : "");
}

static int by_text(const void *a, const void *b)
{
  return strcmp(a, b);
}

static void test_sent(void **state)
{
  const struct sent *row = *state;
  struct aicr_error err;
  struct kube_permissions *p = parse(row->need, &err);
  struct seen seen = {.count = 0};
  char text[2048] = "";
  assert_non_null(p);
  kube_permissions_each(p, note_need, &seen);
  kube_permissions_free(p);
  qsort(seen.lines, seen.count, sizeof seen.lines[0], by_text);
  for (size_t i = 0; i < seen.count; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
             i == 0 ? "" : ";", seen.lines[i]);
  }
  assert_string_equal(text, row->sent);
}

static bool parse_body(void *arg)
{
  struct aicr_error err;
  struct kube_permissions *p = parse(arg, &err);
  assert_true(p != NULL || strcmp(err.reason, "memory") == 0);
  kube_permissions_free(p);
  return p != NULL;
}

static void test_without_memory(void **state)
{
  static char need[] = "get,list,watch,create,update,patch,delete,find,each "
                       "pods in a;list nodes";
  (void)state;
  assert_true(torture(parse_body, need) > 2);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_allow_unknown),
      cmocka_unit_test(test_no_run_namespace),
      cmocka_unit_test(test_long_line),
      cmocka_unit_test(test_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(allows); i++) {
    char name[256];
    snprintf(name, sizeof name, "[%s] %s %s%s%s in %s", allows[i].need,
             allows[i].verb, allows[i].resource,
             allows[i].subresource == NULL ? "" : "/",
             allows[i].subresource == NULL ? "" : allows[i].subresource,
             allows[i].ns == NULL ? "all" : allows[i].ns);
    add_row(&rows, "allow", name, test_allow, &allows[i]);
  }
  for (size_t i = 0; i < COUNT(bad_needs); i++) {
    add_row(&rows, "bad need", bad_needs[i].line, test_bad_need, &bad_needs[i]);
  }
  for (size_t i = 0; i < COUNT(good_paths); i++) {
    add_row(&rows, "path", good_paths[i], test_good_path, good_paths[i]);
  }
  for (size_t i = 0; i < COUNT(advices); i++) {
    add_row(&rows, "advice", advices[i].line, test_advice, &advices[i]);
  }
  for (size_t i = 0; i < COUNT(sents); i++) {
    add_row(&rows, "sent", sents[i].need, test_sent, &sents[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "permission");
}
