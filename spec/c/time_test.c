/* SPDX-License-Identifier: Apache-2.0 */
#include "core/time.h"

#include "rows.h"

#define DAY INT64_C(86400000)

struct instant {
  const char *text;
  int64_t ms;
  const char *formatted; /* NULL: is refused */
};

static const struct instant instants[] = {
    {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000Z"},
    {"2026-03-10T20:10:44.872Z", INT64_C(1773173444872),
     "2026-03-10T20:10:44.872Z"},
    {"2026-03-10t20:10:44z", INT64_C(1773173444000),
     "2026-03-10T20:10:44.000Z"},
    {"2026-03-10T20:10:44+02:00", INT64_C(1773166244000),
     "2026-03-10T18:10:44.000Z"},
    {"2026-03-10T20:10:44-00:30", INT64_C(1773175244000),
     "2026-03-10T20:40:44.000Z"},
    {"2026-01-01T00:00:00+23:59", INT64_C(1767139260000),
     "2025-12-31T00:01:00.000Z"},
    {"2000-02-29T12:00:00.5Z", INT64_C(951825600500),
     "2000-02-29T12:00:00.500Z"},
    {"2024-12-31T23:59:60Z", INT64_C(1735689599999),
     "2024-12-31T23:59:59.999Z"},
    {"1969-12-31T23:59:59.999Z", -1, "1969-12-31T23:59:59.999Z"},
    {"1900-03-01T00:00:00Z", INT64_C(-2203891200000),
     "1900-03-01T00:00:00.000Z"},
    {"0000-01-01T00:00:00Z", INT64_C(-62167219200000),
     "0000-01-01T00:00:00.000Z"},
    {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999),
     "9999-12-31T23:59:59.999Z"},
    {"2026-03-10T20:10:44.0005999999999999999999Z", INT64_C(1773173444000),
     "2026-03-10T20:10:44.000Z"},
    {"", 0, NULL},
    {"2026-03-10", 0, NULL},
    {"2026-03-10T20:10:44", 0, NULL},
    {"2026-03-10 20:10:44Z", 0, NULL},
    {"2026-03-10T20:10Z", 0, NULL},
    {"2026-03-10T20:10:44.Z", 0, NULL},
    {"2026-03-10T20:10:44,5Z", 0, NULL},
    {"2026-03-10T24:00:00Z", 0, NULL},
    {"2026-03-10T20:60:00Z", 0, NULL},
    {"2026-03-10T20:10:61Z", 0, NULL},
    {"2026-02-29T00:00:00Z", 0, NULL},
    {"1900-02-29T00:00:00Z", 0, NULL},
    {"2026-04-31T00:00:00Z", 0, NULL},
    {"2026-00-10T00:00:00Z", 0, NULL},
    {"2026-13-10T00:00:00Z", 0, NULL},
    {"2026-03-00T00:00:00Z", 0, NULL},
    {"2026-03-10T20:10:44+24:00", 0, NULL},
    {"2026-03-10T20:10:44+00:60", 0, NULL},
    {"2026-03-10T20:10:44+0200", 0, NULL},
    {"2026-03-10T20:10:44Zx", 0, NULL},
    {"+026-03-10T20:10:44Z", 0, NULL},
    {"26-03-10T20:10:44Z", 0, NULL},
};

static void test_instant(void **state)
{
  const struct instant *row = *state;
  size_t len = strlen(row->text);
  char text[AICR_RFC3339_TEXT];
  struct aicr_error err;
  int64_t ms = 7;

  if (!row->formatted) {
    assert_false(aicr_time_parse(row->text, len, &ms, &err));
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_string_equal(err.reason, "time");
    assert_false(err.verdict);
    return;
  }
  assert_true(aicr_time_parse(row->text, len, &ms, &err));
  assert_int_equal(ms, row->ms);
  aicr_time_format(ms, text);
  assert_string_equal(text, row->formatted);
}

static void test_instant_ends_at_its_length(void **state)
{
  struct aicr_error err;
  int64_t ms;

  (void)state;
  assert_false(aicr_time_parse("2026-03-10T20:10:44Z", 19, &ms, &err));
  assert_false(aicr_time_parse("2026-03-10T20:10:44Z\0", 21, &ms, &err));
}

static void test_every_day_comes_back(void **state)
{
  char text[AICR_RFC3339_TEXT];
  struct aicr_error err;

  (void)state;
  for (int64_t day = -800000; day < 800000; day += 13) {
    int64_t ms = day * DAY + (day & 0xffff) * 1000;
    int64_t back;

    if (ms < INT64_C(-62167219200000))
      continue;
    aicr_time_format(ms, text);
    assert_true(aicr_time_parse(text, strlen(text), &back, &err));
    assert_int_equal(back, ms);
  }
}

static void test_format_stays_in_four_digit_years(void **state)
{
  char text[AICR_RFC3339_TEXT];

  (void)state;
  aicr_time_format(INT64_MAX, text);
  assert_string_equal(text, "9999-12-31T23:59:59.999Z");
  aicr_time_format(INT64_MIN, text);
  assert_string_equal(text, "0000-01-01T00:00:00.000Z");
}

struct duration {
  const char *text;
  int64_t ms;       /* -1: is refused */
  const char *says; /* in the message */
};

static const struct duration durations[] = {
    {"0", 0, NULL},
    {"0s", 0, NULL},
    {"300ms", 300, NULL},
    {"90s", 90000, NULL},
    {"5m", 300000, NULL},
    {"1h30m", 5400000, NULL},
    {"1h30m5s7ms", 5405007, NULL},
    {"1.5h", 5400000, NULL},
    {".5s", 500, NULL},
    {"0.0001s", 1, NULL},
    {"0.5ms", 1, NULL},
    {"0.0000000000001h", 1, NULL},
    {"1.000000000000h", 3600000, NULL},
    {"0.999999999h", 3600000, NULL},
    {"366h", 366 * INT64_C(3600000), NULL},
    {"8784h", 366 * DAY, NULL},
    {"31622400000ms", 366 * DAY, NULL},
    {"8784h1ms", -1, "366 days"},
    {"8785h", -1, "366 days"},
    {"31622400001ms", -1, "366 days"},
    {"99999999999999999999999999h", -1, "366 days"},
    {"8784h8784h", -1, "366 days"},
    {"90", -1, "lacks a unit"},
    {"1h30", -1, "lacks a unit"},
    {"1.5", -1, "lacks a unit"},
    {"", -1, "not a duration"},
    {"s", -1, "not a duration"},
    {"1.s", -1, "not a duration"},
    {".", -1, "not a duration"},
    {"-5s", -1, "not a duration"},
    {"+5s", -1, "not a duration"},
    {"5 s", -1, "not a duration"},
    {" 5s", -1, "not a duration"},
    {"5s ", -1, "not a duration"},
    {"5d", -1, "not a duration"},
    {"5M", -1, "not a duration"},
    {"1e3s", -1, "not a duration"},
    {"1h,5m", -1, "not a duration"},
};

static void test_duration(void **state)
{
  const struct duration *row = *state;
  struct aicr_error err;
  int64_t ms = 7;
  bool ok = aicr_duration_parse(row->text, strlen(row->text), &ms, &err);

  if (row->ms >= 0) {
    assert_true(ok);
    assert_int_equal(ms, row->ms);
    return;
  }
  assert_false(ok);
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_string_equal(err.reason, "duration");
  assert_non_null(strstr(err.message, row->says));
}

struct shown {
  int64_t ms;
  const char *text;
};

static const struct shown shown[] = {
    {-5, "0.0s"},          {0, "0.0s"},           {99, "0.0s"},
    {402, "0.4s"},         {702, "0.7s"},         {9999, "9.9s"},
    {10000, "10s"},        {12000, "12s"},        {59999, "59s"},
    {60000, "1m 00s"},     {112000, "1m 52s"},    {281000, "4m 41s"},
    {3599999, "59m 59s"},  {3600000, "1h 00m"},   {3780000, "1h 03m"},
    {366 * DAY, "8784h 00m"},
};

static void test_shown(void **state)
{
  const struct shown *row = *state;
  char text[AICR_DURATION_TEXT];

  aicr_duration_format(row->ms, text);
  assert_string_equal(text, row->text);
}

static void test_shown_fits(void **state)
{
  char text[AICR_DURATION_TEXT];

  (void)state;
  aicr_duration_format(INT64_MAX, text);
  assert_string_equal(text, "2562047788015h 12m");
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(instants); i++)
    add_row(&r, "instant", instants[i].text, test_instant, &instants[i]);
  add_row(&r, "instant", "ends at its length", test_instant_ends_at_its_length,
          NULL);
  add_row(&r, "instant", "every day comes back", test_every_day_comes_back,
          NULL);
  add_row(&r, "instant", "format stays in four-digit years",
          test_format_stays_in_four_digit_years, NULL);
  for (size_t i = 0; i < COUNT(durations); i++)
    add_row(&r, "duration", durations[i].text, test_duration, &durations[i]);
  for (size_t i = 0; i < COUNT(shown); i++)
    add_row(&r, "shown", shown[i].text, test_shown, &shown[i]);
  add_row(&r, "shown", "the longest fits", test_shown_fits, NULL);
  return run_rows(&r, "time");
}
