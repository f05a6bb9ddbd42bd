/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/status.h"

#include "status_files.h"

/* Errors of admission. */

#define J "application/json"

/* W11: what admission refuses is told apart from what RBAC refuses. */
static const struct refusal {
  const char *file;
  enum kube_verb verb;
  bool admission;
} refusals[] = {
    {"403-admission-no-serviceaccount", KUBE_CREATE, true},
    {"403-admission-psa", KUBE_CREATE, true},
    {"403-admission-quota", KUBE_CREATE, true},
    {"403-admission-webhook-jobset", KUBE_CREATE, true},
    {"403-admission-webhook-trainjob", KUBE_APPLY, true},
    {"403-crd-terminating-create", KUBE_CREATE, true},
    {"403-crd-terminating-apply", KUBE_APPLY, true},
    {"403-namespace-terminating-create", KUBE_CREATE, true},
    {"422-admission-policy-deny", KUBE_CREATE, true},
    {"500-admission-webhook-unreachable", KUBE_CREATE, true},
    {"403-nobody-namespaced", KUBE_CREATE, false},
    {"403-nobody-subresource", KUBE_PATCH, false},
    {"403-anonymous", KUBE_CREATE, false},
    {"403-nobody-impersonate", KUBE_DELETE, false},
    {"403-exec-nobody", KUBE_EXEC, false},
    {"403-exec-create-only", KUBE_EXEC, false},
    {"403-admission-quota", KUBE_GET, false},
    {"422-annotations-too-long", KUBE_CREATE, false},
};

static void test_refusal(void **state)
{
  const struct refusal *row = *state;
  struct http h;
  read_http(row->file, &h);
  struct kube_request rq = {.verb = row->verb, .name = "x"};
  struct kube_answer a;
  struct aicr_error err;
  struct kube_failure f = facts;
  fill(&a, h.status, h.content_type, h.body, h.len);
  kube_status_error(&rq, &a, KUBE_SERVED_UNKNOWN, &err, &f);
  assert_int_equal(f.admission, row->admission);
  bool said = strstr(err.message, "refused by admission control") != NULL;
  assert_int_equal(said, row->admission && h.status == 403);
  kube_answer_free(&a);
  free(h.text);
}

/* A webhook that says "not found" does not make an API absent. */
static void test_webhook_codes(void **state)
{
  static const int codes[] = {400, 401, 403, 404, 409, 410, 422, 429, 451};
  static const char body[] =
      "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
      "\"message\":\"admission webhook \\\"w\\\" denied the request: User "
      "\\\"x\\\" cannot\",\"reason\":\"NotFound\",\"code\":404}";
  (void)state;
  for (size_t i = 0; i < COUNT(codes); i++) {
    struct kube_request rq = {.verb = KUBE_CREATE};
    struct kube_answer a;
    struct aicr_error err;
    struct kube_failure f = facts;
    fill(&a, codes[i], J, body, strlen(body));
    kube_status_error(&rq, &a, KUBE_SERVED_NO, &err, &f);
    assert_string_equal(err.reason, "forbidden");
    assert_int_equal(err.code, AICR_UNAUTHORIZED);
    assert_true(f.admission);
    rq.verb = KUBE_GET;
    kube_status_error(&rq, &a, KUBE_SERVED_NO, &err, &f);
    assert_false(f.admission);
    kube_answer_free(&a);
  }
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(refusals); i++) {
    add_row(&rows, "refusal", refusals[i].file, test_refusal, &refusals[i]);
  }
  add_row(&rows, "case", "any code", test_webhook_codes, NULL);
  return run_rows(&rows, "admission");
}
