/* SPDX-License-Identifier: Apache-2.0 */
#include "core/constraint.h"

#include <string.h>

#include "core/gke_build.h"
#include "core/number.h"
#include "core/text.h"
#include "core/version.h"

static const struct {
  const char *text;
  enum aicr_op op;
} operators[] = {
    /* In the order in which they are tried. */
    {">=", AICR_OP_GE}, {"<=", AICR_OP_LE}, {"!=", AICR_OP_NE},
    {"==", AICR_OP_EQ}, {">", AICR_OP_GT},  {"<", AICR_OP_LT},
    {"=", AICR_OP_EQ},
};

#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

const char *aicr_op_text(enum aicr_op op)
{
  for (size_t i = 0; i < OPERATORS; i++) {
    if (operators[i].op == op)
      return operators[i].text;
  }
  return "";
}

static bool is_ordering(enum aicr_op op)
{
  return op == AICR_OP_GE || op == AICR_OP_GT || op == AICR_OP_LE ||
         op == AICR_OP_LT;
}

static bool looks_like_version(const char *s, size_t len)
{
  bool digit = false;

  for (size_t i = 0; i < len; i++)
    digit = digit || (s[i] >= '0' && s[i] <= '9');
  return digit && memchr(s, '.', len);
}

/* "!x" is neither an operator nor a value anybody means; "!" and "! x" are
 * values. */
static bool is_stray_negation(const char *s, size_t len)
{
  const char *rest = s + 1;
  size_t rest_len = len - 1;

  if (s[0] != '!' || len < 2)
    return false;
  aicr_trim(&rest, &rest_len);
  return rest == s + 1;
}

static bool bad(struct aicr_error *err, const char *data, size_t len,
                const char *what)
{
  struct aicr_quoted q;

  return aicr_verdict(err, AICR_INVALID_REQUEST, "constraint",
                      "constraint %s: %s", aicr_quote(&q, data, len), what);
}

bool aicr_term_parse(const char *data, size_t len, struct aicr_term *out,
                     struct aicr_error *err)
{
  const char *s = data;
  size_t n = len;
  struct aicr_version version;
  int64_t build;

  memset(out, 0, sizeof(*out));
  aicr_trim(&s, &n);
  if (n == 0)
    return bad(err, data, len, "the expression is empty");
  for (size_t i = 0; i < OPERATORS; i++) {
    size_t op_len = strlen(operators[i].text);
    if (n >= op_len && memcmp(s, operators[i].text, op_len) == 0) {
      out->op = operators[i].op;
      s += op_len;
      n -= op_len;
      break;
    }
  }
  if (out->op == AICR_OP_NONE && is_stray_negation(s, n))
    return bad(err, data, len, "'!' is no operator, use '!='");
  if (out->op != AICR_OP_NONE)
    aicr_trim(&s, &n);
  if (n == 0)
    return bad(err, data, len, "there is no value after the operator");
  out->value = s;
  out->value_len = n;
  out->version = is_ordering(out->op) || looks_like_version(s, n);
  if (is_ordering(out->op) && aicr_version_parse(s, n, &version, NULL) &&
      aicr_version_gke_build(&version, &build) == AICR_GKE_BUILD_MALFORMED)
    return bad(err, data, len, "the number after -gke. is malformed");
  return true;
}

static bool not_a_version(struct aicr_error *err, const struct aicr_term *t,
                          const char *which, const char *s, size_t len)
{
  struct aicr_quoted value;
  struct aicr_quoted culprit;

  return aicr_verdict(err, AICR_INVALID_REQUEST, "constraint",
                      "constraint %s %s: the %s value %s is no version",
                      aicr_op_text(t->op),
                      aicr_quote(&value, t->value, t->value_len), which,
                      aicr_quote(&culprit, s, len));
}

static bool eval_ordering(const struct aicr_term *t, const char *actual,
                          size_t len, bool *out, struct aicr_error *err)
{
  struct aicr_version have, want;
  int diff;

  if (!aicr_version_parse(actual, len, &have, NULL))
    return not_a_version(err, t, "actual", actual, len);
  if (!aicr_version_parse(t->value, t->value_len, &want, NULL))
    return not_a_version(err, t, "expected", t->value, t->value_len);
  diff = aicr_version_compare(&have, &want);
  switch (t->op) {
  case AICR_OP_GE:
    *out = diff >= 0;
    break;
  case AICR_OP_GT:
    *out = diff > 0;
    break;
  case AICR_OP_LE:
    *out = diff <= 0;
    break;
  default:
    *out = diff < 0;
    break;
  }
  return true;
}

static bool eval_equality(const struct aicr_term *t, const char *actual,
                          size_t len)
{
  struct aicr_version have, want;

  if (t->op != AICR_OP_NONE && t->version &&
      aicr_version_parse(actual, len, &have, NULL) &&
      aicr_version_parse(t->value, t->value_len, &want, NULL))
    return aicr_version_equal(&have, &want);
  return len == t->value_len &&
         (len == 0 || memcmp(actual, t->value, len) == 0);
}

bool aicr_term_eval(const struct aicr_term *t, const char *actual, size_t len,
                    bool *out, struct aicr_error *err)
{
  aicr_trim(&actual, &len);
  if (is_ordering(t->op))
    return eval_ordering(t, actual, len, out, err);
  *out = eval_equality(t, actual, len) != (t->op == AICR_OP_NE);
  return true;
}

static bool begins_operator(char c)
{
  return c == '>' || c == '<' || c == '=' || c == '!';
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t';
}

/* Where the term that begins at s ends: at blanks that an operator character
 * follows. Other white space never separates terms. */
static size_t term_length(const char *s, size_t len)
{
  for (size_t i = 0; i + 1 < len; i++) {
    if (is_blank(s[i]) && begins_operator(s[i + 1]))
      return i;
  }
  return len;
}

static size_t clause_length(const char *s, size_t len)
{
  for (size_t i = 0; i + 1 < len; i++) {
    if (s[i] == '|' && s[i + 1] == '|')
      return i;
  }
  return len;
}

/* Appends the terms of one AND group; data, len is the whole expression. */
static bool add_group(struct aicr_expr *out, const char *s, size_t n,
                      const char *data, size_t len, struct aicr_error *err)
{
  bool first = true;

  aicr_trim(&s, &n);
  if (n == 0)
    return bad(err, data, len, "there is nothing on one side of ||");
  while (n > 0) {
    size_t part = term_length(s, n);

    if (out->count == AICR_EXPR_TERMS)
      return bad(err, data, len, "there are over 64 terms");
    if (!aicr_term_parse(s, part, &out->terms[out->count], err))
      return false;
    out->first_of_group[out->count++] = first;
    first = false;
    s += part;
    n -= part;
    while (n > 0 && is_blank(*s)) {
      s++;
      n--;
    }
  }
  return true;
}

bool aicr_expr_parse(const char *data, size_t len, struct aicr_expr *out,
                     struct aicr_error *err)
{
  const char *s = data;
  size_t n = len;

  out->count = 0;
  aicr_trim(&s, &n);
  if (n == 0)
    return bad(err, data, len, "the expression is empty");
  for (;;) {
    size_t part = clause_length(s, n);

    if (!add_group(out, s, part, data, len, err))
      return false;
    if (part == n)
      return true;
    s += part + 2;
    n -= part + 2;
  }
}

bool aicr_expr_eval(const struct aicr_expr *e, const char *actual, size_t len,
                    bool *out, struct aicr_error *err)
{
  size_t i = 0;

  while (i < e->count) {
    bool holds = true;

    do {
      if (holds && !aicr_term_eval(&e->terms[i], actual, len, &holds, err))
        return false;
      i++;
    } while (i < e->count && !e->first_of_group[i]);
    if (holds) {
      *out = true;
      return true;
    }
  }
  *out = false;
  return true;
}

bool aicr_threshold_parse(const char *data, size_t len, double *out,
                          struct aicr_error *err)
{
  const char *s = data;
  size_t n = len;
  const char *end;
  double v;
  struct aicr_quoted q;

  aicr_trim(&s, &n);
  while (n > 0 && (begins_operator(*s) || *s == ' ')) {
    s++;
    n--;
  }
  aicr_trim(&s, &n);
  end = n ? memchr(s, ' ', n) : NULL;
  if (end)
    n = (size_t)(end - s);
  if (!aicr_parse_double(s, n, &v) || v < 0)
    return aicr_verdict(
        err, AICR_INVALID_REQUEST, "constraint",
        "threshold %s is not a decimal number of zero or more, such as "
        "\">= 300\" or \"300 GB/s\"",
        aicr_quote(&q, data, len));
  *out = v + 0.0; /* -0 becomes 0 */
  return true;
}
