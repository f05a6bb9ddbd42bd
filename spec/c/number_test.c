/* SPDX-License-Identifier: Apache-2.0 */
#include "core/number.h"
#include "core/text.h"

#include <float.h>
#include <math.h>

#include "rows.h"

#define BAD INT64_C(-4242424242)

static const struct {
  const char *text;
  int64_t value;
} integers[] = {
    {"0", 0},
    {"-0", 0},
    {"7", 7},
    {"-7", -7},
    {"007", 7},
    {"9007199254740993", INT64_C(9007199254740993)},
    {"9223372036854775806", INT64_MAX - 1},
    {"9223372036854775807", INT64_MAX},
    {"9223372036854775808", BAD},
    {"9223372036854775810", BAD},
    {"18446744073709551617", BAD},
    {"92233720368547758070", BAD},
    {"-9223372036854775807", INT64_MIN + 1},
    {"-9223372036854775808", INT64_MIN},
    {"-9223372036854775809", BAD},
    {"-92233720368547758080", BAD},
    {"000000000000000000000000000000000000001", 1},
    {"", BAD},
    {"-", BAD},
    {"+1", BAD},
    {"--1", BAD},
    {" 1", BAD},
    {"1 ", BAD},
    {"1.0", BAD},
    {"1e3", BAD},
    {"0x1", BAD},
    {"1_0", BAD},
    {"/", BAD},
    {":", BAD},
    {"٣", BAD},
};

static void test_integers(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(integers); i++) {
    int64_t got = BAD;
    bool ok =
        aicr_parse_int64(integers[i].text, strlen(integers[i].text), &got);

    assert_int_equal(got, integers[i].value);
    assert_int_equal(ok, integers[i].value != BAD);
  }
}

static void test_integers_are_spans(void **state)
{
  int64_t got = 0;

  (void)state;
  assert_true(aicr_parse_int64("12345", 2, &got));
  assert_int_equal(got, 12);
  assert_false(aicr_parse_int64("1\0002", 3, &got));
}

static const struct {
  const char *text;
  double value; /* NAN: none */
} doubles[] = {
    {"0", 0.0},
    {"-0", -0.0},
    {"-0.0e5", -0.0},
    {"0e999999999999999999999", 0.0},
    {"1", 1},
    {"+1", 1},
    {"-1.5", -1.5},
    {"1.", 1},
    {".5", 0.5},
    {"-.5", -0.5},
    {"1e3", 1000},
    {"1E+3", 1000},
    {"1e-3", 0.001},
    {"0.1", 0.1},
    {"00012.50", 12.5},
    {"0.000001e6", 1},
    {"9007199254740993", 9007199254740992.0},
    {"9007199254740993.0000000000000000000000000000000001", 9007199254740994.0},
    {"1.7976931348623157e308", DBL_MAX},
    {"179769313486231570000000000000e279", DBL_MAX},
    {"1.7976931348623159e308", NAN},
    {"1e309", NAN},
    {"-1e309", NAN},
    {"1e400", NAN},
    {"1e99999999999999999999", NAN},
    {"2.2250738585072014e-308", DBL_MIN},
    {"2.2250738585072011e-308", 2.225073858507201e-308},
    {"5e-324", 5e-324},
    {"4.9406564584124654e-324", 5e-324},
    {"2e-324", 0.0},
    {"1e-400", 0.0},
    {"-1e-400", -0.0},
    {"1e-99999999999999999999", 0.0},
    {"", NAN},
    {".", NAN},
    {"+", NAN},
    {"-", NAN},
    {"-.", NAN},
    {"e5", NAN},
    {".e5", NAN},
    {"1e", NAN},
    {"1e+", NAN},
    {"1e5.0", NAN},
    {"1.2.3", NAN},
    {"+-1", NAN},
    {"1 ", NAN},
    {" 1", NAN},
    {"1_0", NAN},
    {"0x10", NAN},
    {"0x1p3", NAN},
    {"1d3", NAN},
    {"1f", NAN},
    {"inf", NAN},
    {"-inf", NAN},
    {"nan", NAN},
    {"infinity", NAN},
    {"1,5", NAN},
};

static void test_doubles(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(doubles); i++) {
    double got = 77;
    bool ok = aicr_parse_double(doubles[i].text, strlen(doubles[i].text), &got);

    if (ok == isnan(doubles[i].value))
      fail_msg("%s: %d", doubles[i].text, ok);
    if (ok &&
        (got != doubles[i].value || signbit(got) != signbit(doubles[i].value)))
      fail_msg("%s: got %.17g", doubles[i].text, got);
  }
}

/* 1 and 2^-53 is the middle between two doubles; what stands thousands of
 * digits later decides. */
static void test_digits_far_behind_decide(void **state)
{
  static const char half[] =
      "1.00000000000000011102230246251565404236316680908203125";
  static char text[20000];
  double got = 0;

  (void)state;
  memset(text, '0', sizeof(text));
  memcpy(text, half, sizeof(half) - 1);
  assert_true(aicr_parse_double(text, sizeof(text), &got));
  assert_true(got == 1.0);
  text[sizeof(text) - 1] = '1';
  assert_true(aicr_parse_double(text, sizeof(text), &got));
  assert_true(got == 1.0 + DBL_EPSILON);
}

static void test_long_digits(void **state)
{
  static char text[5000];
  double got = 0;

  (void)state;
  memset(text, '0', sizeof(text));
  text[0] = '1';
  assert_true(aicr_parse_double(text, 309, &got));
  assert_true(got == 1e308);
  assert_false(aicr_parse_double(text, 310, &got));
  assert_false(aicr_parse_double(text, sizeof(text), &got));
  /* 1 and 4992 zeros, then e-4990. */
  snprintf(text + sizeof(text) - 7, 7, "e-4990");
  assert_true(aicr_parse_double(text, sizeof(text) - 1, &got));
  assert_true(got == 100.0);
  /* 4991 zeros behind the point, 1, then e4993. */
  memset(text, '0', sizeof(text));
  text[1] = '.';
  snprintf(text + sizeof(text) - 7, 7, "1e4993");
  assert_true(aicr_parse_double(text, sizeof(text) - 1, &got));
  assert_true(got == 10.0);
}

static const struct {
  double value;
  const char *text;
} formats[] = {
    {0.0, "0.0"},
    {-0.0, "-0.0"},
    {3, "3.0"},
    {-1, "-1.0"},
    {0.1, "0.1"},
    {0.1 + 0.2, "0.30000000000000004"},
    {1.0 / 3, "0.3333333333333333"},
    {100000, "100000.0"},
    {123456789012345.0, "123456789012345.0"},
    {1e15, "1e+15"},
    {1e22, "1e+22"},
    {1e300, "1e+300"},
    {1e-5, "1e-05"},
    {335.25, "335.25"},
    {9007199254740992.0, "9007199254740992.0"},
    {9007199254740994.0, "9007199254740994.0"},
    {DBL_MAX, "1.7976931348623157e+308"},
    {-DBL_MAX, "-1.7976931348623157e+308"},
    {DBL_MIN, "2.2250738585072014e-308"},
    {5e-324, "5e-324"},
    {-5e-324, "-5e-324"},
    {1.5e-323, "1.5e-323"},
};

static void test_formats(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(formats); i++) {
    char text[AICR_DOUBLE_TEXT];

    aicr_format_double(formats[i].value, text);
    assert_string_equal(text, formats[i].text);
  }
}

static uint64_t random_bits(uint64_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

/* Random bit patterns, every exponent: what is written reads back the same,
 * and no shorter text does. */
static void test_shortest_text_reads_back(void **state)
{
  uint64_t seed = 0x9E3779B97F4A7C15u;

  (void)state;
  for (uint64_t i = 0; i < 20000; i++) {
    uint64_t bits = random_bits(&seed);
    char text[AICR_DOUBLE_TEXT], shorter[AICR_DOUBLE_TEXT];
    double value, got = 0;
    int digits = 0;

    bits = (bits & ~(UINT64_C(0x7FF) << 52)) | (i % 0x7FF) << 52;
    memcpy(&value, &bits, sizeof(value));
    aicr_format_double(value, text);
    assert_true(aicr_parse_double(text, strlen(text), &got));
    assert_memory_equal(&got, &value, sizeof(value));
    assert_non_null(strpbrk(text, ".e"));
    for (const char *p = text; *p && *p != 'e'; p++)
      digits += *p >= '0' && *p <= '9';
    snprintf(shorter, sizeof(shorter), "%.*e", digits > 2 ? digits - 2 : 0,
             value);
    if (digits > 2 && aicr_parse_double(shorter, strlen(shorter), &got) &&
        strchr(text, 'e'))
      assert_true(got != value);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_integers_are_spans),
      cmocka_unit_test(test_doubles),
      cmocka_unit_test(test_digits_far_behind_decide),
      cmocka_unit_test(test_long_digits),
      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_shortest_text_reads_back),
  };

  return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
