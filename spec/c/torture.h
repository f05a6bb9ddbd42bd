/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_TORTURE_H
#define SPEC_C_TORTURE_H

#include <stdbool.h>
#include <stdlib.h>

#include "core/buffer.h"

/* Makes the n-th allocation through aicr_realloc fail, for n = 1, 2, … until
 * the body needs fewer, and counts what was not released. */

static size_t torture_fail_at, torture_count, torture_live;

static inline void *torture_realloc(void *ptr, size_t size)
{
  void *p;

  if (size == 0) {
    torture_live -= ptr != NULL;
    free(ptr);
    return NULL;
  }
  if (++torture_count == torture_fail_at)
    return NULL;
  p = realloc(ptr, size);
  torture_live += p && !ptr;
  return p;
}

/* Calls body(arg) until no allocation fails any more. The body returns true
 * when it succeeded; it must fail in all runs before. Returns how many
 * allocations were made to fail. */
static inline size_t torture(bool (*body)(void *arg), void *arg)
{
  void *(*before)(void *, size_t) = aicr_realloc;
  size_t failed = 0;

  aicr_realloc = torture_realloc;
  for (;;) {
    bool ok;

    torture_fail_at = failed + 1;
    torture_count = 0;
    torture_live = 0;
    ok = body(arg);
    assert_int_equal(torture_live, 0);
    if (torture_count < torture_fail_at) {
      assert_true(ok);
      break;
    }
    assert_false(ok);
    failed++;
  }
  aicr_realloc = before;
  return failed;
}

#endif
