/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints: what was parsed, written out and parsed again is the same, a
 * negation answers the opposite, and a threshold is a number of zero or more.
 * The part after the first NUL is the actual value. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/constraint.h"
#include "core/version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

static void check_term(const struct aicr_term *t, const char *actual,
                       size_t len)
{
  struct aicr_term opposite = *t;
  struct aicr_error err;
  bool holds, negated;
  bool ok = aicr_term_eval(t, actual, len, &holds, &err);

  switch (t->op) {
  case AICR_OP_EQ:
    opposite.op = AICR_OP_NE;
    break;
  case AICR_OP_GE:
    opposite.op = AICR_OP_LT;
    break;
  case AICR_OP_GT:
    opposite.op = AICR_OP_LE;
    break;
  default:
    return;
  }
  require(aicr_term_eval(&opposite, actual, len, &negated, &err) == ok);
  require(!ok || holds != negated);
}

static void write_expr(struct aicr_buf *b, const struct aicr_expr *e)
{
  for (size_t i = 0; i < e->count; i++) {
    if (i > 0)
      aicr_buf_adds(b, e->first_of_group[i] ? " || " : "\t");
    aicr_buf_adds(b, aicr_op_text(e->terms[i].op));
    /* A value may begin like an operator; only blanks and tabs part terms. */
    if (e->terms[i].op != AICR_OP_NONE)
      aicr_buf_addc(b, '\n');
    aicr_buf_add(b, e->terms[i].value, e->terms[i].value_len);
  }
}

static void check_expr(const struct aicr_expr *e, const char *actual,
                       size_t len)
{
  struct aicr_expr again;
  struct aicr_error err;
  struct aicr_buf text;
  bool first, second;

  aicr_buf_init(&text, (size_t)16 << 20);
  write_expr(&text, e);
  require(e->count > 0 && e->first_of_group[0] && !text.failed);
  require(aicr_expr_parse(text.data, text.len, &again, &err));
  require(again.count == e->count);
  for (size_t i = 0; i < e->count; i++) {
    const struct aicr_term *a = &e->terms[i];
    const struct aicr_term *b = &again.terms[i];

    require(a->op == b->op && a->version == b->version);
    require(a->value_len == b->value_len &&
            memcmp(a->value, b->value, a->value_len) == 0);
    require(e->first_of_group[i] == again.first_of_group[i]);
    check_term(a, actual, len);
  }
  require(aicr_expr_eval(e, actual, len, &first, &err) ==
          aicr_expr_eval(&again, actual, len, &second, &err));
  aicr_buf_free(&text);
}

static void check_version(const char *text, size_t len)
{
  struct aicr_version v;
  struct aicr_error err;

  if (!aicr_version_parse(text, len, &v, &err))
    return;
  require(v.precision >= 1 && v.precision <= 3);
  require(v.major >= 0 && v.minor >= 0 && v.patch >= 0);
  require(v.extras + v.extras_len == text + len);
  require(aicr_version_compare(&v, &v) == 0 && aicr_version_equal(&v, &v));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *copy = malloc(size ? size : 1);
  const char *cut;
  const char *actual;
  size_t head, rest;
  struct aicr_expr e;
  struct aicr_term t;
  struct aicr_error err;
  double number;

  require(copy != NULL);
  if (size)
    memcpy(copy, data, size);
  cut = size ? memchr(copy, '\0', size) : NULL;
  head = cut ? (size_t)(cut - copy) : size;
  actual = cut ? cut + 1 : copy;
  rest = cut ? size - head - 1 : size;
  if (aicr_expr_parse(copy, head, &e, &err))
    check_expr(&e, actual, rest);
  else
    require(err.code == AICR_INVALID_REQUEST && err.verdict);
  if (aicr_term_parse(copy, head, &t, &err))
    check_term(&t, actual, rest);
  if (aicr_threshold_parse(copy, head, &number, &err))
    require(isfinite(number) && number >= 0 && !signbit(number));
  check_version(actual, rest);
  free(copy);
  return 0;
}
