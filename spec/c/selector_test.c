/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/selector.h"

#include "rows.h"

#include "torture.h"

static const char object[] =
    "{\"type\":\"Opaque\",\"reason\":\"Started\","
    "\"metadata\":{\"name\":\"p1\",\"namespace\":\"a\",\"labels\":{"
    "\"app\":\"nccl\",\"empty\":\"\",\"cloud.google.com/gke-accelerator\":"
    "\"nvidia-h100-mega-80gb\",\"number\":7,\"twice\":\"first\","
    "\"twice\":\"last\",\"untold\":\"x\",\"untold\":null}},"
    "\"spec\":{\"nodeName\":\"n0\"},\"spec\":{\"nodeName\":\"n1\"},\"status\":{"
    "\"phase\":\"Running\"},"
    "\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"x=y,z\\\\\"}}";

enum { NO, YES, BAD };

struct row {
  const char *text;
  int wanted;
};

static const struct row labels[] = {
    {"", YES},
    {"  ", YES},
    {"app", YES},
    {"!app", NO},
    {"gone", NO},
    {"!gone", YES},
    {"! gone", YES},
    {"app=nccl", YES},
    {"app==nccl", YES},
    {"app = nccl", YES},
    {"app=other", NO},
    {"app!=nccl", NO},
    {"app!=other", YES},
    {"gone!=b", YES}, /* O8 */
    {"gone=b", NO},
    {"gone=", NO},
    {"empty=", YES},
    {"empty", YES},
    {"empty!=", NO},
    {"app=", NO},
    {"app in (nccl)", YES},
    {"app in (a,nccl , b)", YES},
    {"app in (a,b)", NO},
    {"gone in (a)", NO},
    {"app notin (nccl)", NO},
    {"app notin (a)", YES},
    {"gone notin (a)", YES},
    {"empty in ()", YES},
    {"app in (,nccl)", YES},
    {"app=nccl,!gone", YES},
    {"app=nccl, gone", NO},
    {"app=nccl,app=nccl", YES},
    {"cloud.google.com/gke-accelerator=nvidia-h100-mega-80gb", YES},
    {"cloud.google.com/gke-accelerator", YES},
    {"gke-accelerator", NO},
    {"twice=last", YES}, /* design 8: the last one wins */
    {"twice=first", NO},
    {"untold", NO},
    {"!untold", YES},
    {"number=7", NO}, /* no text, so no label */
    {"number", NO},
    {"in", NO},
    {"in in (in)", NO},
    {"App=nccl", NO},
    {"a===b", BAD},
    {"=a", BAD},
    {"a=b,", BAD},
    {",a", BAD},
    {"a b", BAD},
    {"a in", BAD},
    {"a in b", BAD},
    {"a in (b", BAD},
    {"a in (b))", BAD},
    {"a notin", BAD},
    {"!a=b", BAD},
    {"!", BAD},
    {"a>1", BAD},
    {"a<1", BAD},
    {"-a", BAD},
    {"a-", BAD},
    {"a=b/c", BAD},
    {"a=-b", BAD},
    {"/a", BAD},
    {"a/", BAD},
    {"a/b/c", BAD},
    {"A.B/c", BAD},
    {"a=\xc3\xa9", BAD},
    {"a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", BAD},
};

static const struct row fields[] = {
    {"", YES},
    {"metadata.name=p1", YES},
    {"metadata.name==p1", YES},
    {"metadata.name!=p1", NO},
    {"metadata.name=p2", NO},
    {"metadata.name!=p2", YES},
    {"metadata.name= p1", NO},
    {"metadata.namespace=a", YES},
    {"metadata.namespace=", NO},
    {"spec.nodeName=n1", YES},
    {"spec.nodeName!=", YES},
    {"status.phase=Running", YES},
    {"status.phase!=Running", NO},
    {"status.phase=Running,spec.nodeName=n1", YES},
    {"status.phase=Running,spec.nodeName=n2", NO},
    {"status.phase=Running,", YES},
    {"type=Opaque", YES},
    {"reason=Started", YES},
    {"involvedObject.kind=Pod", YES},
    {"involvedObject.name=x\\=y\\,z\\\\", YES},
    {"involvedObject.name=x", NO},
    {"involvedObject.uid=", YES},
    {"involvedObject.fieldPath!=x", YES},
    {"spec.foo=1", BAD},
    {"data.x=1", BAD},
    {"metadata.labels=1", BAD},
    {"involvedObject=1", BAD},
    {"involvedObject.other=1", BAD},
    {"Type=Opaque", BAD},
    {"metadata.name", BAD},
    {"metadata.name!p1", BAD},
    {"=p1", BAD},
    {"metadata.name=a=b", BAD},
    {"metadata.name=a\\b", BAD},
    {"metadata.name=a\\", BAD},
};

/* A resource that has the field: events for theirs, else pods. */
static const struct kube_resource *owner_of(const char *field)
{
  static const struct kube_resource pods = {.plural = "pods"};
  static const struct kube_resource events = {.plural = "events"};
  bool of_events = strncmp(field, "type", 4) == 0 ||
                   strncmp(field, "reason", 6) == 0 ||
                   strncmp(field, "involvedObject", 14) == 0;
  return of_events ? &events : &pods;
}

static int judge(struct kube_selector *s, const char *text)
{
  cJSON *tree = cJSON_Parse(text);
  assert_non_null(tree);
  int got = kube_selector_matches(s, tree) ? YES : NO;
  cJSON_Delete(tree);
  return got;
}

static void check(struct kube_selector *s, const struct row *row,
                  const struct aicr_error *err)
{
  assert_int_equal(s == NULL, row->wanted == BAD);
  if (s == NULL) {
    assert_int_equal(err->code, AICR_INVALID_REQUEST);
    assert_string_equal(err->reason, "bad-request");
  } else {
    assert_int_equal(judge(s, object), row->wanted);
  }
  kube_selector_free(s);
}

static void test_label(void **state)
{
  const struct row *row = *state;
  struct aicr_error err;
  check(kube_label_selector(row->text, &err), row, &err);
}

static void test_field(void **state)
{
  const struct row *row = *state;
  struct aicr_error err;
  check(kube_field_selector(row->text, owner_of(row->text), &err), row, &err);
}

static void test_odd_objects(void **state)
{
  static const char *const odd[] = {
      "{}",
      "[]",
      "7",
      "{\"metadata\":[]}",
      "{\"metadata\":{\"labels\":[]}}",
      "{\"metadata\":{\"labels\":{\"app\":null}},\"status\":\"Running\"}"};
  (void)state;
  struct aicr_error err;
  struct kube_selector *label = kube_label_selector("app=nccl", &err);
  struct kube_selector *none = kube_label_selector("!app,x!=y", &err);
  struct kube_selector *field =
      kube_field_selector("status.phase=", owner_of("status"), &err);
  for (size_t i = 0; i < COUNT(odd); i++) {
    assert_int_equal(judge(label, odd[i]), NO);
    assert_int_equal(judge(none, odd[i]), YES);
    assert_int_equal(judge(field, odd[i]), YES);
  }
  kube_selector_free(label);
  kube_selector_free(none);
  kube_selector_free(field);
  kube_selector_free(NULL);
}

static void test_unsupported_field(void **state)
{
  (void)state;
  struct aicr_error err;
  assert_null(kube_field_selector("spec.foo=1", owner_of("spec.foo"), &err));
  assert_string_equal(err.message, "field label not supported: \"spec.foo\"");
}

/* A field of one resource is none of another, as on a live server. */
static void test_field_of_another(void **state)
{
  static const struct {
    const char *text;
    struct kube_resource r;
    bool accepted;
  } rows[] = {
      {"status.phase=Failed", {.plural = "nodes"}, false},
      {"metadata.name=a", {.plural = "nodes"}, true},
      {"status.phase=Active", {.plural = "namespaces"}, true},
      {"type=Opaque", {.plural = "secrets"}, true},
      {"type=Opaque", {.plural = "pods"}, false},
      {"status.phase=Failed", {.plural = "events"}, false},
      {"status.phase=Ready",
       {.plural = "networks", .group = "networking.gke.io"},
       false},
      {"status.phase=a", {.plural = "pods", .group = "metrics.k8s.io"}, false},
      {"metadata.name=a",
       {.plural = "networks", .group = "networking.gke.io"},
       true},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct aicr_error err;
    struct kube_selector *s =
        kube_field_selector(rows[i].text, &rows[i].r, &err);
    assert_int_equal(s != NULL, rows[i].accepted);
    kube_selector_free(s);
  }
}

static void test_too_many(void **state)
{
  (void)state;
  char text[65 * 2 + 1];
  struct aicr_error err;
  for (size_t i = 0; i < 65; i++) {
    memcpy(text + 2 * i, "a,", 2);
  }
  text[65 * 2 - 1] = '\0';
  assert_null(kube_label_selector(text, &err));
  text[64 * 2 - 1] = '\0';
  struct kube_selector *s = kube_label_selector(text, &err);
  assert_non_null(s);
  kube_selector_free(s);
}

static bool label_body(void *arg)
{
  struct aicr_error err;
  struct kube_selector *s = kube_label_selector(arg, &err);
  assert_true(s != NULL || strcmp(err.reason, "memory") == 0);
  kube_selector_free(s);
  return s != NULL;
}

static bool field_body(void *arg)
{
  struct aicr_error err;
  struct kube_selector *s = kube_field_selector(arg, owner_of(arg), &err);
  assert_true(s != NULL || strcmp(err.reason, "memory") == 0);
  kube_selector_free(s);
  return s != NULL;
}

static void test_without_memory(void **state)
{
  static char label[] = "a=b,c in (d,e),!f", field[] = "type=a\\,b,reason!=c";
  (void)state;
  assert_true(torture(label_body, label) > 5);
  assert_true(torture(field_body, field) > 5);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_odd_objects),
      cmocka_unit_test(test_unsupported_field),
      cmocka_unit_test(test_field_of_another),
      cmocka_unit_test(test_too_many),
      cmocka_unit_test(test_without_memory),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(labels); i++) {
    add_row(&rows, "label", labels[i].text, test_label, &labels[i]);
  }
  for (size_t i = 0; i < COUNT(fields); i++) {
    add_row(&rows, "field", fields[i].text, test_field, &fields[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "selector");
}
