/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quantity.h"

#include <string.h>

#include "core/number.h"
#include "core/text.h"

/* Written digits, and room for the 19 more that times 2^60 can add. */
#define TEXT_MAX     128
#define DIGITS_MAX   (TEXT_MAX + 20)
#define EXPONENT_MAX 100000

/* A magnitude of digit[0..count) * 10^exponent, without zeros in front or
 * behind; zero has no digits. Decimal digits and not an integer because
 * quantities of any size must compare exactly. */
struct decimal {
  bool negative;
  int count;
  int exponent;
  unsigned char digit[DIGITS_MAX];
};

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static void normalize(struct decimal *d)
{
  int lead = 0;

  while (d->count > 0 && d->digit[d->count - 1] == 0) {
    d->count--;
    d->exponent++;
  }
  while (lead < d->count && d->digit[lead] == 0)
    lead++;
  d->count -= lead;
  if (d->count > 0) {
    memmove(d->digit, d->digit + lead, (size_t)d->count);
    return;
  }
  d->exponent = 0;
  d->negative = false;
}

static void multiply_1024(struct decimal *d)
{
  unsigned carry = 0;
  unsigned char high[4];
  int extra = 0;

  for (int i = d->count - 1; i >= 0; i--) {
    unsigned v = d->digit[i] * 1024u + carry;
    d->digit[i] = (unsigned char)(v % 10);
    carry = v / 10;
  }
  for (; carry; carry /= 10)
    high[extra++] = (unsigned char)(carry % 10);
  memmove(d->digit + extra, d->digit, (size_t)d->count);
  for (int i = 0; i < extra; i++)
    d->digit[i] = high[extra - 1 - i];
  d->count += extra;
}

/* Makes d a multiple of 10^unit, away from zero: Quantity never rounds a
 * request down, and keeps nothing below 10^-9. */
static void round_away(struct decimal *d, int unit)
{
  int keep = d->count + d->exponent - unit;

  if (d->count == 0 || d->exponent >= unit)
    return;
  if (keep <= 0) {
    d->digit[0] = 1;
    d->count = 1;
    d->exponent = unit;
    return;
  }
  /* Normalized: the digits dropped here are not all zero. */
  d->count = keep;
  d->exponent = unit;
  for (int i = keep - 1; i >= 0; i--) {
    if (d->digit[i] < 9) {
      d->digit[i]++;
      normalize(d);
      return;
    }
    d->digit[i] = 0;
  }
  d->digit[0] = 1;
  d->exponent += keep;
  d->count = 1;
}

/* The effect of a suffix: times 10^*exponent times 1024^*power. */
static bool read_suffix(const char *s, size_t len, int *exponent, int *power)
{
  static const char decimal[] = "num.kMGTPE";
  static const char binary[] = "KMGTPE";
  const char *at;
  int64_t e;

  *exponent = 0;
  *power = 0;
  if (len == 0)
    return true;
  if (len == 2 && s[1] == 'i') {
    at = memchr(binary, s[0], sizeof(binary) - 1);
    if (!at)
      return false;
    *power = (int)(at - binary) + 1;
    return true;
  }
  if (len == 1) {
    at = s[0] == '.' ? NULL : memchr(decimal, s[0], sizeof(decimal) - 1);
    if (!at)
      return false;
    *exponent = 3 * (int)(at - decimal) - 9;
    return true;
  }
  if (s[0] != 'e' && s[0] != 'E')
    return false;
  s++;
  len--;
  if (*s == '+' && len > 1 && is_digit(s[1])) {
    s++;
    len--;
  }
  if (!aicr_parse_int64(s, len, &e) || e > EXPONENT_MAX || e < -EXPONENT_MAX)
    return false;
  *exponent = (int)e;
  return true;
}

static bool read_decimal(const char *s, size_t len, struct decimal *d)
{
  size_t i = 0;
  bool point = false;
  int exponent, power;

  memset(d, 0, sizeof(*d));
  if (len > TEXT_MAX)
    return false;
  if (i < len && (s[i] == '-' || s[i] == '+'))
    d->negative = s[i++] == '-';
  for (; i < len && (is_digit(s[i]) || (s[i] == '.' && !point)); i++) {
    if (s[i] == '.') {
      point = true;
      continue;
    }
    d->digit[d->count++] = (unsigned char)(s[i] - '0');
    d->exponent -= point;
  }
  if (d->count == 0 || !read_suffix(s + i, len - i, &exponent, &power))
    return false;
  d->exponent += exponent;
  normalize(d);
  for (; power > 0 && d->count > 0; power--)
    multiply_1024(d);
  normalize(d);
  round_away(d, -9);
  return true;
}

static bool parse(const char *data, size_t len, struct decimal *out,
                  struct aicr_error *err)
{
  struct aicr_quoted q;

  if (read_decimal(data, len, out))
    return true;
  return aicr_fail(err, AICR_INVALID_REQUEST, "quantity",
                   "%s is not a quantity such as 8, 500m, 64Gi or 1e3",
                   aicr_quote(&q, data, len));
}

/* d / 10^unit as an integer, away from zero. */
static bool to_int64(struct decimal *d, int unit, int64_t *out)
{
  uint64_t limit = d->negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
  uint64_t v = 0;
  int places;

  round_away(d, unit);
  places = d->count ? d->count + d->exponent - unit : 0;
  if (places > 19)
    return false;
  for (int i = 0; i < places; i++) {
    unsigned digit = i < d->count ? d->digit[i] : 0;
    if (v > (limit - digit) / 10)
      return false;
    v = v * 10 + digit;
  }
  if (!d->negative)
    *out = (int64_t)v;
  else
    *out = v == limit ? INT64_MIN : -(int64_t)v;
  return true;
}

static bool scaled(const char *data, size_t len, int unit, int64_t *out,
                   struct aicr_error *err)
{
  struct decimal d;
  struct aicr_quoted q;

  if (!parse(data, len, &d, err))
    return false;
  if (to_int64(&d, unit, out))
    return true;
  return aicr_fail(err, AICR_INVALID_REQUEST, "quantity",
                   "quantity %s does not fit into 64 bits%s",
                   aicr_quote(&q, data, len),
                   unit < 0 ? " in thousandths" : "");
}

bool aicr_quantity_value(const char *data, size_t len, int64_t *out,
                         struct aicr_error *err)
{
  return scaled(data, len, 0, out, err);
}

bool aicr_quantity_milli(const char *data, size_t len, int64_t *out,
                         struct aicr_error *err)
{
  return scaled(data, len, -3, out, err);
}

static int compare_magnitudes(const struct decimal *a, const struct decimal *b)
{
  int shared = a->count < b->count ? a->count : b->count;
  int a_top = a->count + a->exponent;
  int b_top = b->count + b->exponent;
  int diff;

  if (a->count == 0 || b->count == 0)
    return (a->count > 0) - (b->count > 0);
  if (a_top != b_top)
    return a_top < b_top ? -1 : 1;
  diff = memcmp(a->digit, b->digit, (size_t)shared);
  if (diff == 0)
    diff = a->count - b->count;
  return (diff > 0) - (diff < 0);
}

bool aicr_quantity_compare(const char *a, size_t a_len, const char *b,
                           size_t b_len, int *out, struct aicr_error *err)
{
  struct decimal da, db;

  if (!parse(a, a_len, &da, err) || !parse(b, b_len, &db, err))
    return false;
  if (da.negative != db.negative)
    *out = da.negative ? -1 : 1;
  else
    *out = da.negative ? compare_magnitudes(&db, &da)
                       : compare_magnitudes(&da, &db);
  return true;
}
