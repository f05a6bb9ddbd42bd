/* SPDX-License-Identifier: Apache-2.0 */
#include "core/number.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

bool aicr_parse_int64(const char *data, size_t len, int64_t *out)
{
  bool negative = len > 0 && data[0] == '-';
  uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
  uint64_t value = 0;
  size_t i = negative ? 1 : 0;

  if (i == len)
    return false;
  for (; i < len; i++) {
    uint64_t digit;

    if (!is_digit(data[i]))
      return false;
    digit = (uint64_t)(data[i] - '0');
    if (value > (limit - digit) / 10)
      return false;
    value = value * 10 + digit;
  }
  if (negative)
    *out = value > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)value;
  else
    *out = (int64_t)value;
  return true;
}

/* No double needs more than 767 significant digits to be decided; one more
 * that is not zero stands for all that follow. */
#define DIGITS_MAX   800
#define EXPONENT_MAX 1000000000

/* A decimal as 0.DIGITS * 10^exponent. */
struct decimal {
  bool negative, sticky;
  size_t count;
  int64_t exponent;
  char digits[DIGITS_MAX + 1];
};

static void add_digit(struct decimal *d, char c, bool fraction)
{
  if (d->count == 0 && c == '0') {
    if (fraction)
      d->exponent--;
    return;
  }
  if (d->count < DIGITS_MAX)
    d->digits[d->count++] = c;
  else if (c != '0')
    d->sticky = true;
  if (!fraction)
    d->exponent++;
}

/* The exponent part that starts at data[i], the 'e'. */
static bool read_exponent(struct decimal *d, const char *data, size_t len,
                          size_t i)
{
  bool negative = false;
  int64_t value = 0;

  i++;
  if (i < len && (data[i] == '+' || data[i] == '-'))
    negative = data[i++] == '-';
  if (i == len)
    return false;
  for (; i < len; i++) {
    if (!is_digit(data[i]))
      return false;
    if (value < EXPONENT_MAX)
      value = value * 10 + (data[i] - '0');
  }
  d->exponent += negative ? -value : value;
  return true;
}

static bool read_decimal(struct decimal *d, const char *data, size_t len)
{
  bool point = false, any = false;
  size_t i = 0;

  d->negative = d->sticky = false;
  d->count = 0;
  d->exponent = 0;
  if (i < len && (data[i] == '+' || data[i] == '-'))
    d->negative = data[i++] == '-';
  for (; i < len; i++) {
    if (is_digit(data[i])) {
      any = true;
      add_digit(d, data[i], point);
    } else if (data[i] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (!any)
    return false;
  if (i == len)
    return true;
  return (data[i] == 'e' || data[i] == 'E') && read_exponent(d, data, len, i);
}

bool aicr_parse_double(const char *data, size_t len, double *out)
{
  char text[DIGITS_MAX + 32];
  struct decimal d;
  double value = 0;

  if (!read_decimal(&d, data, len))
    return false;
  if (d.count > 0) {
    if (d.sticky)
      d.digits[d.count++] = '1';
    snprintf(text, sizeof(text), ".%.*se%lld", (int)d.count, d.digits,
             (long long)d.exponent);
    value = strtod(text, NULL);
  }
  if (isinf(value))
    return false;
  *out = d.negative ? -value : value;
  return true;
}

void aicr_format_double(double value, char out[AICR_DOUBLE_TEXT])
{
  /* A decimal of DBL_DIG digits survives the way through a normal double, so
   * no shorter try is needed there. */
  int precision = fabs(value) < DBL_MIN ? 1 : DBL_DIG;

  assert(isfinite(value));
  for (; precision < DBL_DECIMAL_DIG; precision++) {
    snprintf(out, AICR_DOUBLE_TEXT, "%.*g", precision, value);
    if (strtod(out, NULL) == value)
      break;
  }
  if (precision == DBL_DECIMAL_DIG)
    snprintf(out, AICR_DOUBLE_TEXT, "%.*g", precision, value);
  if (!strpbrk(out, ".e")) {
    size_t len = strlen(out);

    memcpy(out + len, ".0", 3);
  }
}
