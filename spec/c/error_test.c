/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"
#include "core/text.h"

#include "rows.h"

static const struct {
  const char *name;
  enum aicr_code code;
  bool stays_verdict; /* when a verdict is wrapped in it */
} codes[] = {
    {"NOT_FOUND", AICR_NOT_FOUND, true},
    {"UNAUTHORIZED", AICR_UNAUTHORIZED, false},
    {"TIMEOUT", AICR_TIMEOUT, false},
    {"INTERNAL", AICR_INTERNAL, false},
    {"INVALID_REQUEST", AICR_INVALID_REQUEST, true},
    {"SERVICE_UNAVAILABLE", AICR_SERVICE_UNAVAILABLE, false},
    {"CONFLICT", AICR_CONFLICT, true},
    {"CANCELED", AICR_CANCELED, false},
    {"RATE_LIMIT_EXCEEDED", AICR_RATE_LIMIT_EXCEEDED, false},
    {"METHOD_NOT_ALLOWED", AICR_METHOD_NOT_ALLOWED, false},
};

static void test_codes(void **state)
{
  (void)state;
  assert_int_equal(COUNT(codes), AICR_CODE_COUNT - 1);
  for (size_t i = 0; i < COUNT(codes); i++) {
    const char *name = codes[i].name;

    assert_string_equal(aicr_code_name(codes[i].code), name);
    assert_int_equal(aicr_code_from_name(name, strlen(name)), codes[i].code);
    assert_int_equal(aicr_code_from_name(name, strlen(name) - 1),
                     AICR_CODE_NONE);
  }
  assert_string_equal(aicr_code_name(AICR_CODE_NONE), "");
  assert_string_equal(aicr_code_name(AICR_CODE_COUNT), "");
  assert_string_equal(aicr_code_name((enum aicr_code) - 1), "");
  assert_int_equal(aicr_code_from_name("", 0), AICR_CODE_NONE);
  assert_int_equal(aicr_code_from_name("not_found", 9), AICR_CODE_NONE);
}

static void test_fail(void **state)
{
  struct aicr_error err;

  (void)state;
  memset(&err, 0xAA, sizeof(err));
  assert_false(aicr_fail(&err, AICR_TIMEOUT, "slow", "after %d s", 3));
  assert_int_equal(err.code, AICR_TIMEOUT);
  assert_false(err.verdict);
  assert_string_equal(err.reason, "slow");
  assert_string_equal(err.message, "after 3 s");
  assert_int_equal(err.cause.code, AICR_CODE_NONE);
  assert_string_equal(err.cause.message, "");
  assert_false(aicr_verdict(&err, AICR_CONFLICT, "differs", "%s", "x"));
  assert_true(err.verdict);
  assert_int_equal(err.code, AICR_CONFLICT);
}

static void test_without_error(void **state)
{
  (void)state;
  assert_false(aicr_fail(NULL, AICR_TIMEOUT, "slow", "x"));
  assert_false(aicr_verdict(NULL, AICR_CONFLICT, "differs", "x"));
  assert_false(aicr_wrap(NULL, AICR_CONFLICT, "x"));
}

static void test_wrap_keeps_the_cause(void **state)
{
  struct aicr_error err;

  (void)state;
  aicr_verdict(&err, AICR_INVALID_REQUEST, "annotation", "no list");
  assert_false(aicr_wrap(&err, AICR_CONFLICT, "node %s", "n1"));
  assert_int_equal(err.code, AICR_CONFLICT);
  assert_string_equal(err.reason, "annotation");
  assert_string_equal(err.message, "node n1");
  assert_int_equal(err.cause.code, AICR_INVALID_REQUEST);
  assert_string_equal(err.cause.reason, "annotation");
  assert_string_equal(err.cause.message, "no list");
  /* The layer that is nearest is the one that is kept. */
  aicr_wrap(&err, AICR_INTERNAL, "phase");
  assert_int_equal(err.cause.code, AICR_CONFLICT);
  assert_string_equal(err.cause.message, "node n1");
}

static void test_wrap_decides_the_verdict(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(codes); i++) {
    struct aicr_error err;

    aicr_verdict(&err, AICR_NOT_FOUND, "not-found", "x");
    aicr_wrap(&err, codes[i].code, "y");
    assert_int_equal(err.verdict, codes[i].stays_verdict);
    aicr_fail(&err, AICR_NOT_FOUND, "not-recorded", "x");
    aicr_wrap(&err, codes[i].code, "y");
    assert_false(err.verdict);
  }
}

static void test_message_may_repeat_the_one_before(void **state)
{
  struct aicr_error err;

  (void)state;
  aicr_fail(&err, AICR_INTERNAL, "inner", "a");
  aicr_fail(&err, AICR_INTERNAL, err.reason, "b: %s", err.message);
  assert_string_equal(err.message, "b: a");
  assert_string_equal(err.reason, "inner");
  aicr_wrap(&err, AICR_INTERNAL, "c: %s", err.message);
  assert_string_equal(err.message, "c: b: a");
  assert_string_equal(err.cause.message, "b: a");
}

/* Every length around the bound, with characters of 1 to 4 bytes at the cut. */
static void test_message_is_cut_at_a_character(void **state)
{
  static const char *const characters[] = {"a", "é", "→", "😀"};
  char text[AICR_MESSAGE_MAX + 64];
  struct aicr_error err;

  (void)state;
  for (size_t c = 0; c < COUNT(characters); c++) {
    size_t size = strlen(characters[c]);

    for (size_t pad = AICR_MESSAGE_MAX - 8; pad <= AICR_MESSAGE_MAX + 2;
         pad++) {
      size_t len, whole;

      memset(text, 'x', pad);
      for (size_t i = 0; i < 8; i++)
        memcpy(text + pad + i * size, characters[c], size);
      text[pad + 8 * size] = '\0';
      aicr_fail(&err, AICR_INTERNAL, "long", "%s", text);
      len = strlen(err.message);
      assert_true(aicr_utf8_valid(err.message, len));
      assert_memory_equal(err.message, text, len);
      whole = AICR_MESSAGE_MAX - 1;
      if (whole > pad)
        whole = pad + (whole - pad) / size * size;
      if (whole > pad + 8 * size)
        whole = pad + 8 * size;
      assert_int_equal(len, whole);
    }
  }
}

static void test_reason_is_cut(void **state)
{
  char reason[AICR_REASON_MAX + 1];
  struct aicr_error err;

  (void)state;
  memset(reason, 'r', AICR_REASON_MAX);
  reason[AICR_REASON_MAX] = '\0';
  aicr_fail(&err, AICR_INTERNAL, reason, "x");
  assert_int_equal(strlen(err.reason), AICR_REASON_MAX - 1);
  reason[AICR_REASON_MAX - 1] = '\0';
  aicr_fail(&err, AICR_INTERNAL, reason, "x");
  assert_string_equal(err.reason, reason);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_codes),
      cmocka_unit_test(test_fail),
      cmocka_unit_test(test_without_error),
      cmocka_unit_test(test_wrap_keeps_the_cause),
      cmocka_unit_test(test_wrap_decides_the_verdict),
      cmocka_unit_test(test_message_may_repeat_the_one_before),
      cmocka_unit_test(test_message_is_cut_at_a_character),
      cmocka_unit_test(test_reason_is_cut),
  };

  return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
