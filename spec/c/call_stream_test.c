/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/call.h"

#include "rows.h"

#include "kube_fake.h"

/* The lines of a stream that is read slower than it comes. */

static const struct kube_call_spec events = {
    .verb = KUBE_WATCH, .resource = "nodes", .stream = true};

static void give_part(struct kube_call *call, const char *text)
{
  struct kube_answer part = {.http = 200, .attempts = 1, .more = true};
  aicr_buf_init(&part.body, 4u << 20);
  assert_true(aicr_buf_adds(&part.body, text));
  assert_true(kube_call_take(call, &part));
}

/* A stream of which something always waits: what was taken is given up. */
static void test_never_drained(void **state)
{
  static const char two[] = "{\"a\":1}\n{\"a\":2}\n";
  static const struct fake_answer answers[] = {{0}};
  struct fake f;
  (void)state;
  struct kube_client *c = kube_client_open(fake_init(&f, answers));
  struct kube_call *call = kube_client_start(c, &events, NULL);
  const char *text = NULL;
  size_t len = 0;
  for (unsigned i = 0; i < 10000; i++) {
    give_part(call, two);
    for (unsigned k = 0; k < (i == 0 ? 1 : 2); k++) {
      assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_ITEM);
      assert_int_equal(text[5], "12"[(k + (i > 0)) % 2]);
    }
    assert_true(call->lines.len < 8 * sizeof two);
  }
  kube_client_close(c);
}

/* More comes than is read: what came before is given out, then it fails. */
static void test_overflow(void **state)
{
  enum { LINE = 3 << 20, FIT = 4 }; /* of 12 MiB */
  static const struct fake_answer answers[] = {{0}};
  static char line[LINE + 1];
  struct fake f;
  (void)state;
  struct kube_client *c = kube_client_open(fake_init(&f, answers));
  struct kube_call *call = kube_client_start(c, &events, NULL);
  const char *text = NULL;
  size_t len = 0;
  memset(line, ' ', LINE);
  line[LINE - 1] = '\n';
  for (unsigned i = 0; i < FIT + 2; i++) {
    give_part(call, line);
    if (i == 1) {
      assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_ITEM);
    }
  }
  for (unsigned i = 0; i < FIT; i++) {
    assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_ITEM);
    assert_int_equal(len, LINE - 1);
  }
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_FAILED);
  assert_string_equal(kube_call_error(call)->reason, "stream-overflow");
  kube_client_close(c);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_never_drained),
      cmocka_unit_test(test_overflow),
  };
  return cmocka_run_group_tests_name("call_stream", tests, NULL, NULL);
}
