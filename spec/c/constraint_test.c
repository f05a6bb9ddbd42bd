/* SPDX-License-Identifier: Apache-2.0 */
#include "core/constraint.h"

#include "core/gke_build.h"
#include "rows.h"

struct op {
  enum aicr_op op;
  const char *text;
};

static const struct op ops[] = {
    {AICR_OP_NONE, ""}, {AICR_OP_EQ, "=="}, {AICR_OP_NE, "!="},
    {AICR_OP_GE, ">="}, {AICR_OP_GT, ">"},  {AICR_OP_LE, "<="},
    {AICR_OP_LT, "<"},
};

static void test_op(void **state)
{
  const struct op *row = *state;
  char expr[16];
  struct aicr_term t;
  struct aicr_error err;

  assert_string_equal(aicr_op_text(row->op), row->text);
  snprintf(expr, sizeof(expr), "%s1.5", row->text);
  assert_true(aicr_term_parse(expr, strlen(expr), &t, &err));
  assert_int_equal(t.op, row->op);
  assert_int_equal(t.value_len, 3);
  assert_true(t.value == expr + strlen(row->text));
}

/* What each operator answers for 1.4, 1.5 and 1.6 against 1.5. */
struct truth {
  const char *expr;
  bool below, same, above;
};

static const struct truth truths[] = {
    {"1.5", false, true, false},   {"== 1.5", false, true, false},
    {"!= 1.5", true, false, true}, {">= 1.5", false, true, true},
    {"> 1.5", false, false, true}, {"<= 1.5", true, true, false},
    {"< 1.5", true, false, false},
};

static void test_truth(void **state)
{
  const struct truth *row = *state;
  const char *const actual[] = {"1.4", "1.5", "1.6"};
  const bool wanted[] = {row->below, row->same, row->above};
  struct aicr_expr e;
  struct aicr_error err;

  assert_true(aicr_expr_parse(row->expr, strlen(row->expr), &e, &err));
  for (size_t i = 0; i < 3; i++) {
    bool holds = !wanted[i];

    assert_true(aicr_expr_eval(&e, actual[i], 3, &holds, &err));
    assert_int_equal(holds, wanted[i]);
  }
}

/* An exact match compares bytes beyond a NUL. */
static void test_nul_in_values(void **state)
{
  struct aicr_expr e;
  struct aicr_error err;
  bool holds;

  (void)state;
  assert_true(aicr_expr_parse("a\0b", 3, &e, &err));
  assert_true(aicr_expr_eval(&e, "a\0b", 3, &holds, &err) && holds);
  assert_true(aicr_expr_eval(&e, "a\0c", 3, &holds, &err) && !holds);
  assert_true(aicr_expr_eval(&e, "a", 1, &holds, &err) && !holds);
}

static void test_without_error(void **state)
{
  struct aicr_expr e;
  struct aicr_term t;
  double number;
  bool holds;

  (void)state;
  assert_false(aicr_expr_parse("", 0, &e, NULL));
  assert_false(aicr_term_parse("!x", 2, &t, NULL));
  assert_false(aicr_threshold_parse("x", 1, &number, NULL));
  assert_true(aicr_term_parse("> 1", 3, &t, NULL));
  assert_false(aicr_term_eval(&t, "x", 1, &holds, NULL));
}

struct build {
  const char *version;
  enum aicr_gke_build kind;
  int64_t number;
};

static const struct build builds[] = {
    {"1.35.0", AICR_GKE_BUILD_NONE, 0},
    {"1.35.0-gke", AICR_GKE_BUILD_NONE, 0},
    {"1.35.0-GKE.5", AICR_GKE_BUILD_NONE, 0},
    {"1.35.0+gke.5", AICR_GKE_BUILD_NONE, 0},
    {"1.35.0-eks-1-gke.5", AICR_GKE_BUILD_NONE, 0},
    {"1.35.0-gke.", AICR_GKE_BUILD_MALFORMED, 0},
    {"1.35.0-gke.x", AICR_GKE_BUILD_MALFORMED, 0},
    {"1.35.0-gke.5x", AICR_GKE_BUILD_MALFORMED, 0},
    {"1.35.0-gke.5.1", AICR_GKE_BUILD_MALFORMED, 0},
    {"1.35.0-gke.-1", AICR_GKE_BUILD_MALFORMED, 0},
    {"1.35.0-gke.9223372036854775808", AICR_GKE_BUILD_MALFORMED, 0},
    {"1.35.0-gke.0", AICR_GKE_BUILD_NUMBER, 0},
    {"1.35.0-gke.-0", AICR_GKE_BUILD_NUMBER, 0},
    {"1.35.0-gke.+5", AICR_GKE_BUILD_NUMBER, 5},
    {"1.35.0-gke.007", AICR_GKE_BUILD_NUMBER, 7},
    {"1-gke.9223372036854775807", AICR_GKE_BUILD_NUMBER, INT64_MAX},
};

static void test_build(void **state)
{
  const struct build *row = *state;
  struct aicr_version v;
  struct aicr_error err;
  int64_t number = 0;

  assert_true(aicr_version_parse(row->version, strlen(row->version), &v, &err));
  assert_int_equal(aicr_version_gke_build(&v, &number), row->kind);
  if (row->kind == AICR_GKE_BUILD_NUMBER)
    assert_int_equal(number, row->number);
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(ops); i++)
    add_row(&r, "operator", ops[i].text, test_op, &ops[i]);
  for (size_t i = 0; i < COUNT(truths); i++)
    add_row(&r, "truth of", truths[i].expr, test_truth, &truths[i]);
  add_row(&r, "values", "NUL is no end", test_nul_in_values, NULL);
  add_row(&r, "errors", "are not needed", test_without_error, NULL);
  for (size_t i = 0; i < COUNT(builds); i++)
    add_row(&r, "build of", builds[i].version, test_build, &builds[i]);
  return run_rows(&r, "constraint");
}
