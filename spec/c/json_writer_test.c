/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_reader.h"
#include "core/json_writer.h"

#include <math.h>

#include "rows.h"
#include "torture.h"

static const struct {
  const char *data;
  size_t len;
  const char *text;
} strings[] = {
    {"", 0, "\"\""},
    {"abc", 3, "\"abc\""},
    {"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
    {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
    {"\0\x01\x1f", 3, "\"\\u0000\\u0001\\u001f\""},
    {"\x7f<>&", 4, "\"\\u007f<>&\""},
    {"\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0", 8,
     "\"\\u0080\\u009b\\u009f\xC2\xA0\""},
    {"é→😀", 9, "\"é→😀\""},
    {"\xFF", 1, "\"�\""},
    {"a\xE2\x82z", 4, "\"a��z\""},
    {"\xED\xA0\x80", 3, "\"���\""},
    {"\xE2\x80\xA8", 3, "\"\xE2\x80\xA8\""},
};

static void test_strings(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(strings); i++) {
    struct aicr_buf b;

    aicr_buf_init(&b, 1000);
    assert_true(aicr_json_write_string(&b, strings[i].data, strings[i].len));
    assert_string_equal(b.data, strings[i].text);
    aicr_buf_free(&b);
  }
}

/* Every byte between two others is read back by the reader as it was, or as
 * U+FFFD. */
static void test_every_byte_reads_back(void **state)
{
  (void)state;
  for (int c = 0; c < 256; c++) {
    char text[3] = {'a', (char)c, 'z'};
    struct aicr_json_reader r;
    struct aicr_buf b;

    aicr_buf_init(&b, 1000);
    assert_true(aicr_json_write_string(&b, text, 3));
    aicr_json_init(&r, AICR_JSON_STRICT, 1);
    aicr_json_feed(&r, b.data, b.len);
    aicr_json_finish(&r);
    assert_int_equal(aicr_json_next(&r), AICR_JSON_STRING);
    if (c < 0x80) {
      assert_int_equal(r.text_len, 3);
      assert_memory_equal(r.text, text, 3);
    } else {
      assert_int_equal(r.text_len, 5);
      assert_memory_equal(r.text, "a�z", 5);
    }
    assert_int_equal(aicr_json_next(&r), AICR_JSON_END);
    aicr_json_free(&r);
    aicr_buf_free(&b);
  }
}

static void test_integers(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, 1000);
  assert_true(aicr_json_write_integer(&b, 0));
  assert_true(aicr_buf_addc(&b, ' '));
  assert_true(aicr_json_write_integer(&b, INT64_MAX));
  assert_true(aicr_buf_addc(&b, ' '));
  assert_true(aicr_json_write_integer(&b, INT64_MIN));
  assert_string_equal(b.data, "0 9223372036854775807 -9223372036854775808");
  aicr_buf_free(&b);
}

static void test_doubles(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, 1000);
  assert_true(aicr_json_write_double(&b, 3));
  assert_true(aicr_buf_addc(&b, ' '));
  assert_true(aicr_json_write_double(&b, -0.1));
  assert_true(aicr_buf_addc(&b, ' '));
  assert_true(aicr_json_write_double(&b, 1e300));
  assert_string_equal(b.data, "3.0 -0.1 1e+300");
  assert_false(aicr_json_write_double(&b, NAN));
  assert_false(aicr_json_write_double(&b, INFINITY));
  assert_false(aicr_json_write_double(&b, -INFINITY));
  assert_false(b.failed);
  assert_string_equal(b.data, "3.0 -0.1 1e+300");
  aicr_buf_free(&b);
}

static void test_bound(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, 5);
  assert_true(aicr_json_write_string(&b, "abc", 3));
  aicr_buf_reset(&b);
  assert_false(aicr_json_write_string(&b, "abcd", 4));
  assert_true(b.failed);
  aicr_buf_reset(&b);
  assert_false(aicr_json_write_string(&b, "ab\n", 3) &&
               aicr_json_write_integer(&b, 1));
  aicr_buf_free(&b);
}

static bool write_all(void *arg)
{
  struct aicr_buf b;
  bool ok = true;

  (void)arg;
  aicr_buf_init(&b, 100000);
  for (int i = 0; i < 20; i++) {
    ok = aicr_json_write_string(&b, "text \x01\xFF text", 12) && ok;
    ok = aicr_json_write_integer(&b, INT64_MIN) && ok;
    ok = aicr_json_write_double(&b, 0.1) && ok;
  }
  aicr_buf_free(&b);
  return ok;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_true(torture(write_all, NULL) > 3);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_every_byte_reads_back),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_doubles),
      cmocka_unit_test(test_bound),
      cmocka_unit_test(test_no_memory),
  };

  return cmocka_run_group_tests_name("json_writer", tests, NULL, NULL);
}
