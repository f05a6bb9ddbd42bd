/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quantity.h"

#include "rows.h"

#define NONE INT64_C(-4242424242)

struct quantity {
  const char *text;
  int64_t value; /* NONE: does not fit or is no quantity */
  int64_t milli;
};

static const struct quantity quantities[] = {
    {"0", 0, 0},
    {"-0", 0, 0},
    {"8", 8, 8000},
    {"+8", 8, 8000},
    {"08", 8, 8000},
    {"8.0", 8, 8000},
    {"5.", 5, 5000},
    {".5", 1, 500},
    {"500m", 1, 500},
    {"1500m", 2, 1500},
    {"999m", 1, 999},
    {"1001m", 2, 1001},
    {"100n", 1, 1},
    {"1u", 1, 1},
    {"1000u", 1, 1},
    {"1001u", 1, 2},
    {"-500m", -1, -500},
    {"-1500m", -2, -1500},
    {"0.0001", 1, 1},
    {"1e-12", 1, 1},
    {"0e99999", 0, 0},
    {"1k", 1000, 1000000},
    {"1K", NONE, NONE},
    {"1M", 1000000, 1000000000},
    {"1G", 1000000000, INT64_C(1000000000000)},
    {"1T", INT64_C(1000000000000), INT64_C(1000000000000000)},
    {"1P", INT64_C(1000000000000000), INT64_C(1000000000000000000)},
    {"1E", INT64_C(1000000000000000000), NONE},
    {"1Ki", 1024, 1024000},
    {"0.1Ki", 103, 102400},
    {"64Gi", INT64_C(68719476736), INT64_C(68719476736000)},
    {"1900Gi", INT64_C(2040109465600), INT64_C(2040109465600000)},
    {"1Ti", INT64_C(1099511627776), INT64_C(1099511627776000)},
    {"1Pi", INT64_C(1125899906842624), INT64_C(1125899906842624000)},
    {"7Ei", INT64_C(8070450532247928832), NONE},
    {"8Ei", NONE, NONE},
    {"-8Ei", INT64_MIN, NONE},
    {"9Ei", NONE, NONE},
    {"1e3", 1000, 1000000},
    {"1E3", 1000, 1000000},
    {"1e+3", 1000, 1000000},
    {"1e-3", 1, 1},
    {"12e6", 12000000, INT64_C(12000000000)},
    {"1e15", INT64_C(1000000000000000), INT64_C(1000000000000000000)},
    {"1e+15", INT64_C(1000000000000000), INT64_C(1000000000000000000)},
    {"9223372036854775807", INT64_MAX, NONE},
    {"9223372036854775807m", INT64_C(9223372036854776), INT64_MAX},
    {"9223372036854775808", NONE, NONE},
    {"-9223372036854775808", INT64_MIN, NONE},
    {"-9223372036854775809", NONE, NONE},
    {"9223372036854775806.5", INT64_MAX, NONE},
    {"9223372036854775807.5", NONE, NONE},
    {"99999999999999999999", NONE, NONE},
    {"9.999", 10, 9999},
    {"99.9999", 100, 100000},
    {"1e100000", NONE, NONE},
    {"1e-100000", 1, 1},
    {"1e100001", NONE, NONE},
    {"1e99999999999999999999", NONE, NONE},
    {"", NONE, NONE},
    {"+", NONE, NONE},
    {"-", NONE, NONE},
    {".", NONE, NONE},
    {"+.", NONE, NONE},
    {"m", NONE, NONE},
    {"Gi", NONE, NONE},
    {"1.1.1", NONE, NONE},
    {"1.1.M", NONE, NONE},
    {"1+1.0M", NONE, NONE},
    {"0.1mi", NONE, NONE},
    {"0.1am", NONE, NONE},
    {"1i", NONE, NONE},
    {"1ki", NONE, NONE},
    {"1Mi1", NONE, NONE},
    {"1MI", NONE, NONE},
    {"1e", NONE, NONE},
    {"1e+", NONE, NONE},
    {"-3.01e-", NONE, NONE},
    {"1e+-3", NONE, NONE},
    {"1e3.0", NONE, NONE},
    {"1e3k", NONE, NONE},
    {"1k3", NONE, NONE},
    {"--1", NONE, NONE},
    {"+-1", NONE, NONE},
    {" 1", NONE, NONE},
    {"1 ", NONE, NONE},
    {"1 Gi", NONE, NONE},
    {"0x10", NONE, NONE},
    {"1_000", NONE, NONE},
    {"inf", NONE, NONE},
    {"NaN", NONE, NONE},
    {"1,5", NONE, NONE},
};

static void expect(bool ok, const struct aicr_error *err, int64_t got,
                   int64_t wanted)
{
  if (wanted != NONE) {
    assert_true(ok);
    assert_int_equal(got, wanted);
    return;
  }
  assert_false(ok);
  assert_int_equal(err->code, AICR_INVALID_REQUEST);
  assert_string_equal(err->reason, "quantity");
  assert_false(err->verdict);
}

static void test_quantity(void **state)
{
  const struct quantity *row = *state;
  size_t len = strlen(row->text);
  struct aicr_error err;
  int64_t got = 0;
  bool ok = aicr_quantity_value(row->text, len, &got, &err);

  expect(ok, &err, got, row->value);
  ok = aicr_quantity_milli(row->text, len, &got, &err);
  expect(ok, &err, got, row->milli);
}

struct pair {
  const char *a, *b;
  int order;
};

static const struct pair pairs[] = {
    {"1Gi", "1024Mi", 0},
    {"1G", "1Gi", -1},
    {"0.5", "500m", 0},
    {"8", "8.0", 0},
    {"8", "08", 0},
    {"1e3", "1k", 0},
    {"-1", "1", -1},
    {"1", "-1", 1},
    {"-2", "-1", -1},
    {"-1", "-1", 0},
    {"0", "-0", 0},
    {"0", "0Ei", 0},
    {"0", "1n", -1},
    {"-1n", "0", -1},
    /* Below 10^-9 everything is 10^-9, as Quantity rounds it. */
    {"1e-12", "1n", 0},
    {"0.1Ki", "102.4", 0},
    {"1e40", "1e41", -1},
    {"123456789012345678901", "123456789012345678902", -1},
    {"999999999999999999999999", "1e24", -1},
    {"16Ei", "18446744073709551616", 0},
    {"1.5Ei", "1729382256910270464", 0},
    {"100", "1000", -1},
    {"9", "10", -1},
    {"1e100000", "1e-100000", 1},
};

static void test_compare(void **state)
{
  const struct pair *row = *state;
  struct aicr_error err;
  int got = 7;

  assert_true(aicr_quantity_compare(row->a, strlen(row->a), row->b,
                                    strlen(row->b), &got, &err));
  assert_int_equal(got, row->order);
  assert_true(aicr_quantity_compare(row->b, strlen(row->b), row->a,
                                    strlen(row->a), &got, &err));
  assert_int_equal(got, -row->order);
}

static void test_compare_names_the_bad_side(void **state)
{
  struct aicr_error err;
  int got;

  (void)state;
  assert_false(aicr_quantity_compare("1", 1, "x2", 2, &got, &err));
  assert_non_null(strstr(err.message, "\"x2\""));
  assert_false(aicr_quantity_compare("x1", 2, "2", 1, &got, &err));
  assert_non_null(strstr(err.message, "\"x1\""));
}

/* The longest text that is read, and one more. */
static void test_length_limit(void **state)
{
  char text[129];
  struct aicr_error err;
  int64_t value;
  int order;

  (void)state;
  memset(text, '9', sizeof text);
  text[126] = 'E';
  text[127] = 'i';
  assert_true(aicr_quantity_compare(text, 128, text, 128, &order, &err));
  assert_int_equal(order, 0);
  assert_false(aicr_quantity_value(text, 128, &value, &err));
  assert_non_null(strstr(err.message, "64 bits"));
  memset(text, '0', sizeof text);
  text[127] = '7';
  assert_true(aicr_quantity_value(text, 128, &value, &err));
  assert_int_equal(value, 7);
  assert_false(aicr_quantity_value(text, 129, &value, &err));
}

static void test_nul_is_no_end(void **state)
{
  struct aicr_error err;
  int64_t value;

  (void)state;
  assert_false(aicr_quantity_value("8\0", 2, &value, &err));
  assert_true(aicr_quantity_value("8\0", 1, &value, &err));
  assert_false(aicr_quantity_value("8\0i", 3, &value, &err));
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(quantities); i++)
    add_row(&r, "quantity", quantities[i].text, test_quantity, &quantities[i]);
  for (size_t i = 0; i < COUNT(pairs); i++)
    add_row(&r, "compare", pairs[i].a, test_compare, &pairs[i]);
  add_row(&r, "compare", "names the bad side", test_compare_names_the_bad_side,
          NULL);
  add_row(&r, "quantity", "length limit", test_length_limit, NULL);
  add_row(&r, "quantity", "NUL is no end", test_nul_is_no_end, NULL);
  return run_rows(&r, "quantity");
}
