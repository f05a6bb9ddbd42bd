/* SPDX-License-Identifier: Apache-2.0 */
#include "core/version.h"

#include <string.h>

#include "core/gke_build.h"
#include "core/text.h"

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* [+-] digits with a value of 0 or more: "-0" is zero, "+5" is five. */
static bool read_natural(const char *s, size_t len, int64_t *out)
{
  bool negative = len > 0 && s[0] == '-';
  size_t i = len > 0 && (s[0] == '-' || s[0] == '+');
  int64_t v = 0;

  if (i == len)
    return false;
  for (; i < len; i++) {
    int digit = s[i] - '0';
    if (!is_digit(s[i]) || v > (INT64_MAX - digit) / 10)
      return false;
    v = v * 10 + digit;
  }
  *out = v;
  return !negative || v == 0;
}

static size_t extras_start(const char *s, size_t len)
{
  for (size_t i = 1; i < len; i++) {
    if ((s[i] == '-' || s[i] == '+') && is_digit(s[i - 1]))
      return i;
  }
  return len;
}

static bool read_parts(const char *s, size_t len, struct aicr_version *out)
{
  int64_t *const part[] = {&out->major, &out->minor, &out->patch};
  size_t begin = 0;

  for (out->precision = 0; out->precision < 3;) {
    const char *dot = memchr(s + begin, '.', len - begin);
    size_t end = dot ? (size_t)(dot - s) : len;

    if (!read_natural(s + begin, end - begin, part[out->precision]))
      return false;
    out->precision++;
    if (!dot)
      return true;
    begin = end + 1;
  }
  return false;
}

bool aicr_version_parse(const char *data, size_t len, struct aicr_version *out,
                        struct aicr_error *err)
{
  const char *s = data;
  size_t n = len;
  size_t extras;
  struct aicr_quoted q;

  memset(out, 0, sizeof(*out));
  if (n > 0 && s[0] == 'v') {
    s++;
    n--;
  }
  if (n == 0)
    goto bad;
  extras = extras_start(s, n);
  if (!read_parts(s, extras, out))
    goto bad;
  out->extras = s + extras;
  out->extras_len = n - extras;
  return true;

bad:
  return aicr_fail(err, AICR_INVALID_REQUEST, "version",
                   "%s is not a version of one to three numbers",
                   aicr_quote(&q, data, len));
}

enum aicr_gke_build aicr_version_gke_build(const struct aicr_version *v,
                                           int64_t *number)
{
  static const char prefix[] = "-gke.";
  const size_t n = sizeof(prefix) - 1;

  if (v->extras_len < n || memcmp(v->extras, prefix, n) != 0)
    return AICR_GKE_BUILD_NONE;
  if (!read_natural(v->extras + n, v->extras_len - n, number))
    return AICR_GKE_BUILD_MALFORMED;
  return AICR_GKE_BUILD_NUMBER;
}

static int order(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

/* A build that cannot be read counts as none; a build is newer than none. */
static int compare_builds(const struct aicr_version *a,
                          const struct aicr_version *b)
{
  int64_t na = 0;
  int64_t nb = 0;
  bool has_a = aicr_version_gke_build(a, &na) == AICR_GKE_BUILD_NUMBER;
  bool has_b = aicr_version_gke_build(b, &nb) == AICR_GKE_BUILD_NUMBER;

  if (has_a && has_b)
    return order(na, nb);
  return order(has_a, has_b);
}

int aicr_version_compare(const struct aicr_version *a,
                         const struct aicr_version *b)
{
  unsigned precision =
      a->precision < b->precision ? a->precision : b->precision;
  int diff = order(a->major, b->major);

  if (diff == 0 && precision >= 2)
    diff = order(a->minor, b->minor);
  if (diff == 0 && precision >= 3)
    diff = order(a->patch, b->patch);
  if (diff == 0 && precision >= 3)
    diff = compare_builds(a, b);
  return diff;
}

bool aicr_version_equal(const struct aicr_version *a,
                        const struct aicr_version *b)
{
  return a->major == b->major && a->minor == b->minor && a->patch == b->patch;
}
