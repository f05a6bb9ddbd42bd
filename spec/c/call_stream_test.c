/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/call.h"

#include "rows.h"

#include "kube_fake.h"

/* The lines of a stream that is read slower than it comes. */

#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}"
#define NODE(name, more)                                                       \
  "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name    \
  "\"}" more "}"

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
  static const char two[] =
      EVENT("ADDED", NODE("n", "")) "\n" EVENT("DELETED", NODE("n", "")) "\n";
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
      assert_int_equal(text[9], "AD"[(k + (i > 0)) % 2]);
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
  static const char event[] = EVENT("ADDED", NODE("n", "")) "\n";
  struct fake f;
  (void)state;
  struct kube_client *c = kube_client_open(fake_init(&f, answers));
  struct kube_call *call = kube_client_start(c, &events, NULL);
  const char *text = NULL;
  size_t len = 0;
  memset(line, ' ', LINE);
  memcpy(line + LINE - (sizeof event - 1), event, sizeof event - 1);
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

/* What is no event of what is watched is none. */
static void test_events(void **state)
{
  static const struct {
    const char *line, *ns, *field;
    bool good;
  } rows[] = {
      {EVENT("ADDED", NODE("n", "")), NULL, NULL, true},
      {EVENT("DELETED", NODE("n", "")), NULL, "metadata.name=n", true},
      {EVENT("MODIFIED", NODE("n", "")), NULL, "metadata.name==n", true},
      {EVENT("MODIFIED", NODE("m", "")), NULL, "metadata.name!=n", true},
      {EVENT("MODIFIED", NODE("m", "")), NULL, "metadata.name=n,a=b", true},
      {EVENT("BOOKMARK", "{\"kind\":\"Node\",\"apiVersion\":\"v1\"}"), NULL,
       "metadata.name=n", true},
      {EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410}"), NULL, NULL, true},
      {EVENT("ADDED", NODE("n", ",\"metadata\":{\"name\":\"n\",\"namespace\":"
                                "\"a\"}")),
       "a", NULL, true},

      {EVENT("MODIFIED", NODE("m", "")), NULL, "metadata.name=n", false},
      {EVENT("ADDED", NODE("n", ",\"metadata\":{\"name\":\"n\",\"namespace\":"
                                "\"b\"}")),
       "a", NULL, false},
      {EVENT("ADDED", NODE("n", "")), "a", NULL, false},
      {EVENT("ADDED", NODE("", "")), NULL, NULL, false},
      {EVENT("ADDED", NODE("n", ",\"kind\":\"Pod\"")), NULL, NULL, false},
      {EVENT("ADDED", NODE("n", ",\"apiVersion\":\"v2\"")), NULL, NULL, false},
      {EVENT("BOOKMARK", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"), NULL,
       NULL, false},
      {EVENT("ADDED", "{}"), NULL, NULL, false},
      {EVENT("ADDED", "[]"), NULL, NULL, false},
      {EVENT("ADDED", "null"), NULL, NULL, false},
      {EVENT("ADDED", NODE("n", "") ",\"object\":7"), NULL, NULL, false},
      {EVENT("SHOUTED", NODE("n", "")), NULL, NULL, false},
      {EVENT("", NODE("n", "")), NULL, NULL, false},
      {"{\"object\":" NODE("n", "") "}", NULL, NULL, false},
      {"{\"type\":\"ADDED\"}", NULL, NULL, false},
      {NODE("n", ""), NULL, NULL, false},
      {"{", NULL, NULL, false},
      {"[]", NULL, NULL, false},
      {"", NULL, NULL, false},
  };
  static const struct fake_answer answers[] = {{0}};
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct kube_call_spec spec = events;
    const char *text = NULL;
    char line[512];
    struct fake f;
    size_t len = 0;
    spec.field = rows[i].field;
    struct kube_client *c = kube_client_open(fake_init(&f, answers));
    struct kube_call *call = kube_client_start(c, &spec, NULL);
    call->rq.ns = rows[i].ns;
    snprintf(line, sizeof line, "%s\n", rows[i].line);
    give_part(call, line);
    enum kube_call_state got = kube_call_next(call, &text, &len);
    if (rows[i].good ? got != KUBE_CALL_ITEM : got != KUBE_CALL_FAILED) {
      fail_msg("%s: %d", rows[i].line, (int)got);
    }
    if (!rows[i].good) {
      assert_string_equal(kube_call_error(call)->reason, "unexpected-response");
      assert_int_equal(kube_call_error(call)->code, AICR_INTERNAL);
      assert_null(text);
    }
    kube_client_close(c);
  }
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_never_drained),
      cmocka_unit_test(test_overflow),
  };
  return cmocka_run_group_tests_name("call_stream", tests, NULL, NULL);
}
