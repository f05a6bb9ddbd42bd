/* SPDX-License-Identifier: Apache-2.0 */
#include "core/time.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define MS_PER_DAY INT64_C(86400000)

/* What is left to read. */
struct cursor {
  const char *at;
  const char *end;
};

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Proleptic Gregorian calendar; the year begins in March, so that the leap
 * day is the last one. An era is 400 years. */
static int64_t days_from_civil(int64_t y, int m, int d)
{
  int64_t era, year_of_era, day_of_year;

  y -= m <= 2;
  era = (y >= 0 ? y : y - 399) / 400;
  year_of_era = y - era * 400;
  day_of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 -
         year_of_era / 100 + day_of_year - 719468;
}

static void civil_from_days(int64_t days, int64_t *y, int *m, int *d)
{
  int64_t era, day_of_era, year_of_era, day_of_year, month;

  days += 719468;
  era = (days >= 0 ? days : days - 146096) / 146097;
  day_of_era = days - era * 146097;
  year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                 day_of_era / 146096) /
                365;
  day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  month = (5 * day_of_year + 2) / 153;
  *d = (int)(day_of_year - (153 * month + 2) / 5 + 1);
  *m = (int)(month < 10 ? month + 3 : month - 9);
  *y = year_of_era + era * 400 + (*m <= 2);
}

static int days_in_month(int64_t y, int m)
{
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);

  return m == 2 && leap ? 29 : days[m - 1];
}

void aicr_time_format(int64_t ms, char out[AICR_RFC3339_TEXT])
{
  const int64_t first = INT64_C(-62167219200000); /* 0000-01-01 */
  const int64_t last = INT64_C(253402300799999);  /* 9999-12-31 */
  int64_t days, rest, y;
  int m, d;

  ms = ms < first ? first : ms > last ? last : ms;
  days = ms / MS_PER_DAY;
  rest = ms % MS_PER_DAY;
  if (rest < 0) {
    rest += MS_PER_DAY;
    days--;
  }
  civil_from_days(days, &y, &m, &d);
  /* The remainders tell the compiler how long the text can get. */
  snprintf(out, AICR_RFC3339_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
           (unsigned)y % 10000, (unsigned)m % 100, (unsigned)d % 100,
           (unsigned)(rest / 3600000) % 24, (unsigned)(rest / 60000) % 60,
           (unsigned)(rest / 1000) % 60, (unsigned)(rest % 1000));
}

static bool read_digits(struct cursor *c, int count, int *out)
{
  *out = 0;
  if (c->end - c->at < count)
    return false;
  for (; count > 0; count--, c->at++) {
    if (!is_digit(*c->at))
      return false;
    *out = *out * 10 + (*c->at - '0');
  }
  return true;
}

static bool read_char(struct cursor *c, const char *allowed)
{
  if (c->at == c->end || *c->at == '\0' || !strchr(allowed, *c->at))
    return false;
  c->at++;
  return true;
}

/* ".872913" in milliseconds; what is finer is cut. */
static bool read_fraction(struct cursor *c, int *ms)
{
  int scale = 100;

  *ms = 0;
  if (!read_char(c, "."))
    return true;
  if (c->at == c->end || !is_digit(*c->at))
    return false;
  for (; c->at < c->end && is_digit(*c->at); c->at++, scale /= 10)
    *ms += (*c->at - '0') * scale;
  return true;
}

static bool read_offset(struct cursor *c, int *minutes)
{
  int hh, mm;
  bool west;

  *minutes = 0;
  if (read_char(c, "Zz"))
    return true;
  if (c->at == c->end)
    return false;
  west = *c->at == '-';
  if (!read_char(c, "+-") || !read_digits(c, 2, &hh) || !read_char(c, ":") ||
      !read_digits(c, 2, &mm) || hh > 23 || mm > 59)
    return false;
  *minutes = (west ? -1 : 1) * (hh * 60 + mm);
  return true;
}

static bool read_instant(struct cursor *c, int64_t *ms)
{
  int year, month, day, hh, mm, ss, fraction, offset;

  if (!read_digits(c, 4, &year) || !read_char(c, "-") ||
      !read_digits(c, 2, &month) || !read_char(c, "-") ||
      !read_digits(c, 2, &day) || !read_char(c, "Tt") ||
      !read_digits(c, 2, &hh) || !read_char(c, ":") ||
      !read_digits(c, 2, &mm) || !read_char(c, ":") ||
      !read_digits(c, 2, &ss) || !read_fraction(c, &fraction) ||
      !read_offset(c, &offset) || c->at != c->end)
    return false;
  /* A leap second is the second before it. */
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) ||
      hh > 23 || mm > 59 || ss > 60)
    return false;
  if (ss == 60) {
    ss = 59;
    fraction = 999;
  }
  *ms = days_from_civil(year, month, day) * MS_PER_DAY +
        (int64_t)(hh * 60 + mm - offset) * 60000 + (int64_t)ss * 1000 +
        fraction;
  return true;
}

bool aicr_time_parse(const char *data, size_t len, int64_t *ms,
                     struct aicr_error *err)
{
  struct cursor c = {data, data + len};
  struct aicr_quoted q;

  if (read_instant(&c, ms))
    return true;
  return aicr_fail(err, AICR_INVALID_REQUEST, "time",
                   "%s is not a time such as 2026-03-10T20:10:44Z (RFC 3339)",
                   aicr_quote(&q, data, len));
}

static const struct {
  const char *name;
  int64_t ms;
} units[] = {{"ms", 1}, {"h", 3600000}, {"m", 60000}, {"s", 1000}};

static bool read_unit(struct cursor *c, int64_t *ms)
{
  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
    size_t n = strlen(units[i].name);

    if ((size_t)(c->end - c->at) >= n && !memcmp(c->at, units[i].name, n)) {
      c->at += n;
      *ms = units[i].ms;
      return true;
    }
  }
  return false;
}

#define DURATION_MAX (366 * MS_PER_DAY)

enum duration_result {
  DURATION_OK,
  DURATION_BAD,
  DURATION_NO_UNIT,
  DURATION_LONG
};

/* One NUMBER UNIT, added to *total. Parts of a millisecond count as a whole
 * one: a limit is never shorter than it was written. */
static enum duration_result add_part(struct cursor *c, int64_t *total)
{
  int64_t whole = 0;
  int64_t fraction = 0;
  int64_t scale = 1;
  int64_t unit;
  bool digits = false;
  bool more = false;

  for (; c->at < c->end && is_digit(*c->at); c->at++, digits = true)
    whole = whole > DURATION_MAX ? whole : whole * 10 + (*c->at - '0');
  if (read_char(c, ".")) {
    if (c->at == c->end || !is_digit(*c->at))
      return DURATION_BAD;
    for (; c->at < c->end && is_digit(*c->at); c->at++, digits = true) {
      if (scale < INT64_C(1000000000)) {
        fraction = fraction * 10 + (*c->at - '0');
        scale *= 10;
      } else {
        more = more || *c->at != '0';
      }
    }
  }
  if (!digits)
    return DURATION_BAD;
  if (!read_unit(c, &unit))
    return c->at == c->end ? DURATION_NO_UNIT : DURATION_BAD;
  if (whole > DURATION_MAX / unit)
    return DURATION_LONG;
  *total += whole * unit + ((fraction + more) * unit + scale - 1) / scale;
  return *total > DURATION_MAX ? DURATION_LONG : DURATION_OK;
}

bool aicr_duration_parse(const char *data, size_t len, int64_t *ms,
                         struct aicr_error *err)
{
  struct cursor c = {data, data + len};
  enum duration_result result = len ? DURATION_OK : DURATION_BAD;
  int64_t total = 0;
  struct aicr_quoted q;

  if (len == 1 && data[0] == '0') {
    *ms = 0;
    return true;
  }
  while (result == DURATION_OK && c.at < c.end)
    result = add_part(&c, &total);
  switch (result) {
  case DURATION_OK:
    *ms = total;
    return true;
  case DURATION_NO_UNIT:
    return aicr_fail(err, AICR_INVALID_REQUEST, "duration",
                     "duration %s lacks a unit: write h, m, s or ms after "
                     "the number, such as 90s",
                     aicr_quote(&q, data, len));
  case DURATION_LONG:
    return aicr_fail(err, AICR_INVALID_REQUEST, "duration",
                     "duration %s is over 366 days", aicr_quote(&q, data, len));
  default:
    return aicr_fail(err, AICR_INVALID_REQUEST, "duration",
                     "%s is not a duration such as 300ms, 90s, 5m or 1h30m",
                     aicr_quote(&q, data, len));
  }
}

void aicr_duration_format(int64_t ms, char out[AICR_DURATION_TEXT])
{
  int64_t tenths, seconds;

  if (ms < 0)
    ms = 0;
  tenths = ms / 100;
  seconds = ms / 1000;
  if (tenths < 100)
    snprintf(out, AICR_DURATION_TEXT, "%d.%ds", (int)(tenths / 10),
             (int)(tenths % 10));
  else if (seconds < 60)
    snprintf(out, AICR_DURATION_TEXT, "%ds", (int)seconds);
  else if (seconds < 3600)
    snprintf(out, AICR_DURATION_TEXT, "%dm %02ds", (int)(seconds / 60),
             (int)(seconds % 60));
  else
    snprintf(out, AICR_DURATION_TEXT, "%lldh %02dm",
             (long long)(seconds / 3600), (int)(seconds / 60 % 60));
}
