/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_CONSTRAINT_H
#define AICR_CORE_CONSTRAINT_H

#include <stddef.h>

#include "core/error.h"

/* Constraint expressions and thresholds: validation-model.md 6.2, 6.4 and
 * section 0. Errors are verdicts: INVALID_REQUEST, reason "constraint". */

enum aicr_op {
  AICR_OP_NONE, /* exact match */
  AICR_OP_EQ,
  AICR_OP_NE,
  AICR_OP_GE,
  AICR_OP_GT,
  AICR_OP_LE,
  AICR_OP_LT
};

struct aicr_term {
  enum aicr_op op;
  const char *value; /* a span of the expression */
  size_t value_len;
  bool version; /* the value is compared as a version: see term.parse vectors */
};

const char *aicr_op_text(enum aicr_op op);

/* One term: [op] value (no AND, no ||). */
bool aicr_term_parse(const char *data, size_t len, struct aicr_term *out,
                     struct aicr_error *err);
bool aicr_term_eval(const struct aicr_term *t, const char *actual, size_t len,
                    bool *out, struct aicr_error *err);

/* A compound expression: an OR of ANDs. The terms stand one after another;
 * `first_of_group` marks where an OR branch begins. */
#define AICR_EXPR_TERMS 64
struct aicr_expr {
  size_t count;
  struct aicr_term terms[AICR_EXPR_TERMS];
  bool first_of_group[AICR_EXPR_TERMS];
};
bool aicr_expr_parse(const char *data, size_t len, struct aicr_expr *out,
                     struct aicr_error *err);
bool aicr_expr_eval(const struct aicr_expr *e, const char *actual, size_t len,
                    bool *out, struct aicr_error *err);

/* The number of a threshold such as ">= 300 GB/s": operator ignored, finite,
 * decimal, not negative (RT in section 0). */
bool aicr_threshold_parse(const char *data, size_t len, double *out,
                          struct aicr_error *err);

#endif
