/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential.h"

#include <malloc.h>

#include "plugin.h"
#include "torture.h"

#define TREE                                                                   \
  "sleep 1000 & echo $! >> $D/pids\n"                                          \
  "(sleep 1000 & echo $! >> $D/pids; wait) & echo $! >> $D/pids\n"             \
  "echo $$ >> $D/pids\n"
#define HANG "echo 'open the browser' >&2\n" TREE "wait; wait\n"

static void start_hanging(struct asker *a, const char *text, int64_t deadline)
{
  set_up(a);
  remove_file("pids");
  set_plugin(a, text);
  open_asker(a);
  assert_int_equal(
      kube_credential_get(a->c, a->now, deadline, &a->authorization, &a->err),
      KUBE_CREDENTIAL_WAIT);
  await_lines("pids", 4);
  assert_int_equal(count_alive("pids"), 4);
}

static enum kube_credential_state ask_at(struct asker *a, int64_t now,
                                         int64_t deadline)
{
  a->now = now;
  kube_credential_step(a->c, now);
  return kube_credential_get(a->c, now, deadline, &a->authorization, &a->err);
}

static void await_rest(struct asker *a)
{
  struct pollfd fds[4];

  for (int i = 0; kube_credential_descriptors(a->c, fds) > 0; i++) {
    assert_true(i < PATIENCE);
    await_news(a);
    kube_credential_step(a->c, a->now);
  }
  assert_int_equal(kube_credential_wake(a->c), 0);
  await_gone("pids");
}

static void test_k29(void **state)
{
  struct asker a;

  (void)state;
  start_hanging(&a, HANG, NOW + 2000);
  assert_int_equal(kube_credential_wake(a.c), NOW + 2000);
  assert_int_equal(ask_at(&a, NOW + 1999, NOW + 2000), KUBE_CREDENTIAL_WAIT);
  assert_int_equal(ask_at(&a, NOW + 2000, NOW + 2000), KUBE_CREDENTIAL_FAILED);
  assert_int_equal(a.err.code, AICR_TIMEOUT);
  assert_string_equal(a.err.reason, "deadline");
  assert_non_null(strstr(a.err.message, "no answer before the deadline; it "
                                        "said: open the browser; try: "));
  await_rest(&a);
  close_asker(&a);
}

static void test_k29_deaf(void **state)
{
  struct asker a;

  (void)state;
  start_hanging(&a, "trap '' TERM\n" HANG, NOW + 2000);
  assert_int_equal(ask_at(&a, NOW + 2000, NOW + 2000), KUBE_CREDENTIAL_FAILED);
  assert_int_equal(kube_credential_wake(a.c), NOW + 4000);
  kube_credential_step(a.c, NOW + 3999);
  assert_int_equal(count_alive("pids"), 4);
  a.now = NOW + 4000;
  kube_credential_step(a.c, a.now);
  await_rest(&a);
  close_asker(&a);
}

/* The next call waits until the old one is gone, then its own run begins. */
static void test_call_after_deadline(void **state)
{
  struct asker a;

  (void)state;
  start_hanging(&a, "trap '' TERM\n" HANG, NOW + 2000);
  assert_int_equal(ask_at(&a, NOW + 2000, NOW + 2000), KUBE_CREDENTIAL_FAILED);
  set_plugin(&a, PRINT(CREDENTIAL("\"token\":\"abc\"")));
  assert_int_equal(ask_at(&a, NOW + 2001, 0), KUBE_CREDENTIAL_WAIT);
  assert_int_equal(ask_at(&a, NOW + 3000, NOW + 2999), KUBE_CREDENTIAL_FAILED);
  assert_int_equal(a.err.code, AICR_TIMEOUT);
  a.now = NOW + 4000;
  assert_gives(&a, "Bearer abc");
  await_gone("pids");
  close_asker(&a);
}

/* What nobody took is no news for somebody else. */
static void test_old_failure(void **state)
{
  struct asker a;

  (void)state;
  start_hanging(&a, HANG, NOW + 2000);
  a.now = NOW + 2000;
  kube_credential_step(a.c, a.now);
  await_rest(&a);
  set_plugin(&a, PRINT(CREDENTIAL("\"token\":\"abc\"")));
  a.now = NOW + 5000;
  assert_gives(&a, "Bearer abc");
  close_asker(&a);
}

/* The one with less time gives up alone. */
static void test_two_deadlines(void **state)
{
  struct asker a;

  (void)state;
  start_hanging(&a, HANG, NOW + 2000);
  assert_int_equal(ask_at(&a, NOW + 1, NOW + 3000), KUBE_CREDENTIAL_WAIT);
  assert_int_equal(ask_at(&a, NOW + 2, NOW + 1000), KUBE_CREDENTIAL_WAIT);
  assert_int_equal(ask_at(&a, NOW + 2000, NOW + 2000), KUBE_CREDENTIAL_FAILED);
  assert_int_equal(a.err.code, AICR_TIMEOUT);
  assert_non_null(strstr(a.err.message, "it said: open the browser; try: "));
  assert_int_equal(ask_at(&a, NOW + 2001, NOW + 3000), KUBE_CREDENTIAL_WAIT);
  assert_int_equal(count_alive("pids"), 4);
  assert_int_equal(ask_at(&a, NOW + 2999, 0), KUBE_CREDENTIAL_WAIT);
  assert_int_equal(ask_at(&a, LATER, 0), KUBE_CREDENTIAL_WAIT);
  assert_int_equal(kube_credential_wake(a.c), 0);
  close_asker(&a);
  await_gone("pids");
}

static void test_deadline_has_passed(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, COUNTED);
  open_asker(&a);
  assert_int_equal(ask_until(&a, NOW), KUBE_CREDENTIAL_FAILED);
  assert_int_equal(a.err.code, AICR_TIMEOUT);
  assert_int_equal(count_lines("runs"), 0);
  close_asker(&a);
}

static void test_close_ends_it(void **state)
{
  struct asker a;

  (void)state;
  start_hanging(&a, "trap '' TERM\n" HANG, 0);
  close_asker(&a);
  await_gone("pids");
  kube_credential_close(NULL);
}

static void test_200_runs(void **state)
{
  size_t before = count_descriptors();
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, "read -r n < $D/n\n"
                 "test $((n % 3)) = 0 && exit 1\n"
                 "test $((n % 3)) = 1 && kill -9 $$\n" PRINT(
                     CREDENTIAL("\"token\":\"abc\"")));
  open_asker(&a);
  for (int i = 0; i < 200; i++) {
    char number[16];

    snprintf(number, sizeof(number), "%d\n", i);
    write_file("n", number);
    kube_credential_refused(a.c);
    if (i % 3 == 2)
      assert_gives(&a, "Bearer abc");
    else
      assert_int_equal(ask(&a), KUBE_CREDENTIAL_FAILED);
    assert_int_equal(count_descriptors(), before);
  }
  close_asker(&a);
  assert_int_equal(count_descriptors(), before);
}

static bool give_once(void *arg)
{
  struct asker *a = arg;
  bool ok;

  a->c = kube_credential_open(&a->config);
  if (!a->c)
    return false;
  ok = ask(a) == KUBE_CREDENTIAL_READY;
  if (!ok) {
    assert_int_equal(a->err.code, AICR_INTERNAL);
    assert_string_equal(a->err.reason, "memory");
  }
  kube_credential_close(a->c);
  return ok;
}

/* Each way to a credential; with a plug-in that gives all there is. */
static void set_way(struct asker *a, int way)
{
  static struct kube_exec_env env[] = {{"WORD", "hunter2-word"}};

  set_up(a);
  if (way == 0)
    a->config.token = "hunter2";
  if (way == 1)
    set_file(a, " hunter2\n");
  if (way == 2) {
    a->config.username = "hunter2";
    a->config.password = "hunter2";
  }
  if (way == 3) {
    set_plugin(a, PRINT(CREDENTIAL(
                      "\"clientCertificateData\":\"-----BEGIN hunter2\\n\","
                      "\"clientKeyData\":\"-----BEGIN hunter2\\n\","
                      "\"expirationTimestamp\":\"2999-01-01T00:00:00Z\","
                      "\"token\":\"hunter2\"")));
    a->exec.env = env;
    a->exec.env_count = COUNT(env);
    a->exec.provide_cluster_info = true;
    a->config.proxy = "http://u:hunter2@p";
  }
}

static void test_allocations_fail(void **state)
{
  (void)state;
  for (int way = 0; way < 4; way++) {
    struct asker a;

    set_way(&a, way);
    assert_in_range(torture(give_once, &a), 2, 200);
  }
  assert_no_children();
}

/* Failures without memory for the words: still a failure with its reason. */
static bool fail_once(void *arg)
{
  struct asker *a = arg;
  bool ok;

  a->c = kube_credential_open(&a->config);
  if (!a->c)
    return false;
  assert_int_equal(ask(a), KUBE_CREDENTIAL_FAILED);
  ok = strcmp(a->err.reason, "memory") != 0;
  if (ok)
    assert_string_equal(a->err.reason, "exec-plugin-failed");
  kube_credential_close(a->c);
  /* The words are no part of the result. */
  return ok && strstr(a->err.message, "it said: no");
}

static void test_allocations_of_a_failure(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, "echo no >&2; exit 1");
  assert_in_range(torture(fail_once, &a), 2, 200);
  assert_no_children();
}

static size_t blocks_given_back;

/* Looks for what is secret in each block that is given back. */
static void *looking_realloc(void *ptr, size_t size)
{
  static const char secret[] = "hunter2", encoded[] = "aHVudGVyM";
  size_t len = ptr ? malloc_usable_size(ptr) : 0;
  const char *data = ptr;

  for (size_t i = 0; i + 9 <= len; i++)
    assert_true(memcmp(data + i, secret, 7) != 0 &&
                memcmp(data + i, encoded, 9) != 0);
  blocks_given_back += ptr != NULL;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

static void test_wiped(void **state)
{
  void *(*before)(void *, size_t) = aicr_realloc;

  (void)state;
  for (int way = 0; way < 4; way++) {
    struct asker a;

    set_way(&a, way);
    aicr_realloc = looking_realloc;
    blocks_given_back = 0;
    open_asker(&a);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(ask(&a), KUBE_CREDENTIAL_READY);
      assert_non_null(a.authorization);
      kube_credential_refused(a.c);
    }
    close_asker(&a);
    aicr_realloc = before;
    assert_true(blocks_given_back >= 2);
  }
}

#define ADD(name, test) add_row(&r, "credential", name, test, NULL)

int main(void)
{
  struct rows r = {NULL, 0};

  ADD("K29 a tree hangs", test_k29);
  ADD("K29 a tree hangs and does not listen", test_k29_deaf);
  ADD("a call after a deadline", test_call_after_deadline);
  ADD("an old failure", test_old_failure);
  ADD("two deadlines", test_two_deadlines);
  ADD("a deadline that has passed", test_deadline_has_passed);
  ADD("close ends it", test_close_ends_it);
  ADD("200 runs", test_200_runs);
  ADD("allocations fail", test_allocations_fail);
  ADD("allocations of a failure", test_allocations_of_a_failure);
  ADD("secrets are wiped", test_wiped);
  return run_rows_with(&r, "kube_plugin_end", make_folder, remove_folder);
}
