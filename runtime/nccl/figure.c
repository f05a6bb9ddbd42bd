/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/figure.h"

#include <math.h>
#include <string.h>

#include "core/number.h"

bool nccl_is_digit(char c)
{
  return c >= '0' && c <= '9';
}

bool nccl_is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

size_t nccl_digits(const char *text, size_t len)
{
  size_t n = 0;

  while (n < len && nccl_is_digit(text[n]))
    n++;
  return n;
}

void nccl_trim(const char **text, const char **end)
{
  while (*text < *end && nccl_is_blank(**text))
    (*text)++;
  while (*end > *text && nccl_is_blank((*end)[-1]))
    (*end)--;
}

bool nccl_next_word(const char **at, const char *end, struct nccl_word *word)
{
  const char *p = *at;

  while (p < end && nccl_is_blank(*p))
    p++;
  word->text = p;
  while (p < end && !nccl_is_blank(*p))
    p++;
  word->len = (size_t)(p - word->text);
  *at = p;
  return word->len > 0;
}

bool nccl_word_is(const struct nccl_word *word, const char *text)
{
  return strlen(text) == word->len && memcmp(text, word->text, word->len) == 0;
}

bool nccl_starts(const char *text, size_t len, const char *prefix)
{
  size_t n = strlen(prefix);

  return len >= n && memcmp(text, prefix, n) == 0;
}

/* The parts of a decimal at the beginning of a text. */
struct shape {
  size_t len;      /* 0: there is none */
  size_t whole;    /* digits before the point */
  size_t fraction; /* digits behind it */
  int exponent;
};

static struct shape shape_of(const char *text, size_t len)
{
  struct shape s = {0};
  size_t n;

  s.whole = nccl_digits(text, len);
  if (s.whole == 0)
    return s;
  s.len = s.whole;
  if (s.len < len && text[s.len] == '.') {
    s.fraction = nccl_digits(text + s.len + 1, len - s.len - 1);
    if (s.fraction > 0)
      s.len += 1 + s.fraction;
  }
  if (len - s.len < 4 || text[s.len] != 'e' ||
      (text[s.len + 1] != '+' && text[s.len + 1] != '-'))
    return s;
  n = nccl_digits(text + s.len + 2, len - s.len - 2);
  if (n < 2)
    return s;
  /* printf writes two digits, three only where it must. */
  if (n > 3)
    n = 3;
  for (size_t i = 0; i < n; i++)
    s.exponent = s.exponent * 10 + (text[s.len + 2 + i] - '0');
  if (text[s.len + 1] == '-')
    s.exponent = -s.exponent;
  s.len += 2 + n;
  return s;
}

bool nccl_decimal(const char *text, size_t len, double *value, double *half)
{
  struct shape s;

  *half = 0;
  if (len == 3 && memcmp(text, "inf", 3) == 0) {
    *value = INFINITY;
    return true;
  }
  if ((len == 3 && memcmp(text, "nan", 3) == 0) ||
      (len == 4 && memcmp(text, "-nan", 4) == 0)) {
    *value = NAN;
    return true;
  }
  s = shape_of(text, len);
  if (s.len == 0 || s.len != len || !aicr_parse_double(text, len, value))
    return false;
  *half = 0.5 * pow(10, s.exponent - (double)s.fraction);
  return true;
}

bool nccl_whole(const char *text, size_t len, int64_t *value)
{
  struct shape s = shape_of(text, len);
  size_t zeros;
  int64_t v = 0;

  if (s.len == 0 || s.len != len)
    return false;
  for (size_t i = 0; i < s.whole + (s.fraction ? 1 + s.fraction : 0); i++) {
    if (text[i] == '.')
      continue;
    v = v > (INT64_MAX - (text[i] - '0')) / 10 ? INT64_MAX
                                               : v * 10 + (text[i] - '0');
  }
  if (s.exponent < 0 || (size_t)s.exponent < s.fraction)
    return false;
  zeros = (size_t)s.exponent - s.fraction;
  for (; zeros > 0 && v != 0 && v != INT64_MAX; zeros--)
    v = v > INT64_MAX / 10 ? INT64_MAX : v * 10;
  *value = v;
  return true;
}

size_t nccl_glued(const char *text, size_t len)
{
  if (nccl_starts(text, len, "N/A"))
    return 3;
  if (nccl_starts(text, len, "-1"))
    return 2;
  if (len >= 8 && nccl_is_time(text, 8))
    return 8;
  if (len >= 2 && text[0] == '0' && nccl_is_digit(text[1]))
    return 1;
  return shape_of(text, len).len;
}

size_t nccl_bare_word(const char *p, const char *end)
{
  size_t sign = p < end && *p == '-', left = (size_t)(end - p) - sign;

  if (left < 3 ||
      (memcmp(p + sign, "inf", 3) != 0 && memcmp(p + sign, "nan", 3) != 0))
    return 0;
  return sign + 3;
}

static bool matches(const char *text, size_t len, const char *pattern)
{
  if (len != strlen(pattern))
    return false;
  for (size_t i = 0; i < len; i++)
    if (pattern[i] == '0' ? !nccl_is_digit(text[i]) : text[i] != pattern[i])
      return false;
  return true;
}

bool nccl_is_date(const char *text, size_t len)
{
  return matches(text, len, "0000-00-00");
}

bool nccl_is_time(const char *text, size_t len)
{
  return matches(text, len, "00:00:00");
}
