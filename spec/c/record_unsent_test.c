/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record.h"

#include "rows.h"

#include "kube_recorder.h"

/* What was never asked for, and why: the same in a replay. */

/* For want of a credential. */
static void test_unsent(void **state)
{
  static const struct fake_answer answers[] = {
      ANSWER(FAKE_UNSENT, "expired", NULL),
      ANSWER(FAKE_UNSENT, "exec-plugin-failed", NULL), PAGE(NODE("a"), "t"),
      ANSWER(FAKE_UNSENT, "expired", NULL), ANSWER(200, J, NODE_OF("a", "1"))};
  static const char *const rows[][2] = {
      {"get nodes name=a", "UNAUTHORIZED/expired"},
      {"list nodes label=x", "UNAUTHORIZED/exec-plugin-failed"},
      {"list nodes", "UNAUTHORIZED/expired"},
      {"get nodes name=a", "object " NODE_OF("a", "1")}};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  (void)state;
  folder_make(&f);
  aicr_buf_init(&out, 1 << 20);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct asked a;
    read_question(rows[i][0], &a);
    a.spec.asker = &askers[0];
    ask(c, &a.spec, &out);
  }
  kube_record_run(kube_client_recording(c), &askers[0], KUBE_TRANSPORT_OK);
  assert_null(kube_record_error(kube_client_recording(c)));
  kube_client_close(c);
  c = open_client(f.path, NULL);
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct asked a;
    read_question(rows[i][0], &a);
    a.spec.asker = &askers[0];
    aicr_buf_reset(&out);
    ask(c, &a.spec, &out);
    if (strncmp(out.data, rows[i][1], strlen(rows[i][1])) != 0) {
      fail_msg("%s", out.data);
    }
  }
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

/* A question of a check that is named like what discovery did not find, with
 * what is said of it, the code that discovery got and its end. */
static const struct unresolved {
  const char *reason;
  int http;
  const char *question, *told;
} unresolved[] = {
    {"discovery-incomplete", 503, "get nodes name=a",
     "INTERNAL/discovery-incomplete 503"},
    {"api-not-served", 0, "list nodes",
     "NOT_FOUND/api-not-served 404 not-served verdict"},
    {"forbidden", 403, "list networks.networking.gke.io",
     "INTERNAL/forbidden 403"},
};

/* What looked for its resource in vain does so again, though others found it.
 */
static void test_unresolved(void **state)
{
  static const struct fake_answer answers[] = {PAGE(NODE("a"), ""),
                                               PAGE(NODE("a"), "")};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  (void)state;
  folder_make(&f);
  aicr_buf_init(&out, 1 << 20);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  struct asked list;
  read_question("list nodes", &list);
  list.spec.asker = &askers[1];
  ask(c, &list.spec, &out);
  for (unsigned run = 0; run < 2; run++) {
    for (size_t i = 0; i < COUNT(unresolved); i++) {
      const struct unresolved *u = &unresolved[i];
      struct asked a;
      read_question(u->question, &a);
      a.spec.asker = &askers[0];
      fake.unresolved = u->reason;
      fake.unresolved_http = u->http;
      aicr_buf_reset(&out);
      ask(c, &a.spec, &out);
      assert_string_equal(out.data, u->told);
    }
    if (run == 0) {
      struct kube_record *r = kube_client_recording(c);
      kube_record_run(r, &askers[0], KUBE_TRANSPORT_OK);
      kube_record_run(r, &askers[1], KUBE_TRANSPORT_OK);
      assert_null(kube_record_error(r));
      kube_client_close(c);
      c = open_client(f.path, NULL);
    }
  }
  aicr_buf_reset(&out);
  ask(c, &list.spec, &out);
  assert_string_equal(out.data, "a end 1");
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

/* A name is not found at the lookup at which it was not, and at no other: one
 * whose failure is caught must not take over another's. */
static void test_found_between(void **state)
{
  static const struct fake_answer answers[] = {
      PAGE(NODE("a"), ""), PAGE(NODE("b"), ""), PAGE(NODE("c"), "")};
  static const char *const told[] = {"a end 1", NULL, "b end 1",
                                     NULL,      NULL, "c end 1"};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  struct asked list;
  (void)state;
  folder_make(&f);
  aicr_buf_init(&out, 1 << 20);
  struct kube_client *c = open_recording(&fake, f.path, answers);
  read_question("list nodes", &list);
  list.spec.asker = &askers[0];
  for (unsigned run = 0; run < 2; run++) {
    for (size_t i = 0; i < COUNT(told); i++) {
      fake.unresolved = told[i] == NULL ? "forbidden" : NULL;
      fake.unresolved_http = told[i] == NULL ? 403 : 0;
      aicr_buf_reset(&out);
      ask(c, &list.spec, &out);
      assert_string_equal(out.data,
                          told[i] == NULL ? "INTERNAL/forbidden 403" : told[i]);
    }
    if (run == 0) {
      struct kube_record *r = kube_client_recording(c);
      kube_record_run(r, &askers[0], KUBE_TRANSPORT_OK);
      assert_null(kube_record_error(r));
      kube_client_close(c);
      c = open_client(f.path, NULL);
    }
  }
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

/* A deadline, or its owner's leaving, while discovery is on its way. */
static void test_resolving(void **state)
{
  static const char apis[] =
      "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[]}";
  static const struct fake_answer answers[] = {PAGE(NODE("a"), "")};
  struct folder f;
  struct fake fake;
  struct aicr_buf out;
  struct asked late, left;
  void *owner = NULL;
  (void)state;
  folder_make(&f);
  aicr_buf_init(&out, 1 << 20);
  read_question("list foos.example.com", &late);
  read_question("list foos.example.com", &left);
  late.spec.asker = &askers[0];
  left.spec.asker = &askers[1];
  late.spec.deadline_ms = 1;
  struct kube_client *c = open_recording(&fake, f.path, answers);
  fake.waits = true;
  kube_call_close(kube_client_start(c, &left.spec, &f));
  ask(c, &late.spec, &out);
  assert_string_equal(out.data, "TIMEOUT/deadline deadline");
  struct kube_record *r = kube_client_recording(c);
  kube_record_plain(r, "discovery/apis.json", apis, strlen(apis));
  kube_record_run(r, &askers[0], KUBE_TRANSPORT_OK);
  kube_record_run(r, &askers[1], KUBE_TRANSPORT_CANCELED);
  assert_null(kube_record_error(r));
  kube_client_close(c);
  c = open_client(f.path, NULL);
  assert_null(kube_client_poll(c, 0, &owner));
  aicr_buf_reset(&out);
  ask(c, &late.spec, &out);
  assert_string_equal(out.data, "TIMEOUT/deadline deadline");
  aicr_buf_reset(&out);
  ask(c, &left.spec, &out);
  assert_string_equal(out.data, "CANCELED/recorded-end");
  kube_client_close(c);
  aicr_buf_free(&out);
  folder_remove(&f);
}

int main(void)
{
  struct rows r = {0};
  add_row(&r, "unsent", "for want of a credential", test_unsent, NULL);
  add_row(&r, "unsent", "for want of a resource", test_unresolved, NULL);
  add_row(&r, "unsent", "for want of it between", test_found_between, NULL);
  add_row(&r, "unsent", "what was still looked for", test_resolving, NULL);
  return run_rows(&r, "record_unsent");
}
