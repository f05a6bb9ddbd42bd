/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_ROWS_H
#define SPEC_C_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Tables of rows for cmocka: one row, one test case. */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct rows {
  struct CMUnitTest *tests;
  size_t count;
};

/* Adds one test case for a row; the test finds the row in *state. */
static inline void add_row(struct rows *r, const char *prefix, const char *name,
                           CMUnitTestFunction test, const void *row)
{
  size_t size = strlen(prefix) + strlen(name) + 16;
  char *full = malloc(size);

  r->tests = realloc(r->tests, (r->count + 1) * sizeof(*r->tests));
  if (!full || !r->tests)
    abort();
  snprintf(full, size, "%s %02zu %s", prefix, r->count + 1, name);
  /* TAP is a line a row. */
  for (char *p = full; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == '#')
      *p = '?';
  memset(&r->tests[r->count], 0, sizeof(*r->tests));
  r->tests[r->count].name = full;
  r->tests[r->count].test_func = test;
  r->tests[r->count].initial_state = (void *)(uintptr_t)row;
  r->count++;
}

static inline int run_rows_with(struct rows *r, const char *group,
                                CMFixtureFunction setup,
                                CMFixtureFunction teardown)
{
  int failed =
      _cmocka_run_group_tests(group, r->tests, r->count, setup, teardown);

  for (size_t i = 0; i < r->count; i++)
    free((void *)(uintptr_t)r->tests[i].name);
  free(r->tests);
  return failed;
}

static inline int run_rows(struct rows *r, const char *group)
{
  return run_rows_with(r, group, NULL, NULL);
}

#endif
