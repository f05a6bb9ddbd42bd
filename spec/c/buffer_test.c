/* SPDX-License-Identifier: Apache-2.0 */
#include "core/buffer.h"

#include <malloc.h>

#include "rows.h"
#include "torture.h"

static void test_starts_empty(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, 10);
  assert_null(b.data);
  assert_int_equal(b.len, 0);
  assert_true(aicr_buf_add(&b, NULL, 0));
  assert_true(aicr_buf_adds(&b, ""));
  assert_false(b.failed);
  aicr_buf_free(&b);
  aicr_buf_free(&b);
}

static void test_appends(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, 1000);
  assert_true(aicr_buf_add(&b, "a\0b", 3));
  assert_true(aicr_buf_addc(&b, 'c'));
  assert_true(aicr_buf_adds(&b, "de"));
  assert_true(aicr_buf_addf(&b, "%d%s", 42, "x"));
  assert_int_equal(b.len, 9);
  assert_memory_equal(b.data, "a\0bcde42x", 10);
  aicr_buf_reset(&b);
  assert_int_equal(b.len, 0);
  assert_string_equal(b.data, "");
  assert_true(aicr_buf_adds(&b, "again"));
  assert_string_equal(b.data, "again");
  aicr_buf_free(&b);
  assert_true(aicr_buf_adds(&b, "used again"));
  assert_string_equal(b.data, "used again");
  aicr_buf_free(&b);
}

/* The bound and one more, by each way to append. */
static void test_bound(void **state)
{
  (void)state;
  for (size_t max = 0; max < 200; max++) {
    struct aicr_buf b;

    aicr_buf_init(&b, max);
    for (size_t i = 0; i < max; i++)
      assert_true(aicr_buf_addc(&b, 'x'));
    assert_int_equal(b.len, max);
    assert_true(b.cap <= max + 1);
    assert_true(aicr_buf_add(&b, "y", 0));
    assert_false(aicr_buf_addc(&b, 'y'));
    assert_true(b.failed);
    assert_null(b.data);
    assert_int_equal(b.len, 0);
    assert_false(aicr_buf_add(&b, "", 0));
    assert_false(aicr_buf_adds(&b, "z"));
    assert_false(aicr_buf_addf(&b, "%d", 1));
    aicr_buf_reset(&b);
    assert_int_equal(aicr_buf_adds(&b, "z"), max > 0);
    aicr_buf_free(&b);
  }
}

static void test_formats_of_any_length(void **state)
{
  (void)state;
  for (int n = 250; n < 262; n++) {
    struct aicr_buf b;

    aicr_buf_init(&b, (size_t)n);
    assert_true(aicr_buf_addf(&b, "%*d", n, 7));
    assert_int_equal(b.len, n);
    assert_int_equal(b.data[n - 1], '7');
    aicr_buf_reset(&b);
    assert_false(aicr_buf_addf(&b, "%*d", n + 1, 7));
    assert_true(b.failed);
    aicr_buf_free(&b);
  }
}

static void test_no_bound_overflows(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, SIZE_MAX);
  assert_true(aicr_buf_adds(&b, "x"));
  assert_false(aicr_buf_add(&b, "x", SIZE_MAX - 1));
  assert_true(b.failed);
  aicr_buf_free(&b);
}

static bool fill(void *arg)
{
  struct aicr_buf b;
  bool ok;

  (void)arg;
  aicr_buf_init(&b, SIZE_MAX);
  for (int i = 0; i < 100; i++) {
    aicr_buf_adds(&b, "some text ");
    aicr_buf_addf(&b, "%300d", i);
  }
  ok = !b.failed;
  assert_int_equal(b.len, ok ? 31000 : 0);
  aicr_buf_free(&b);
  return ok;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_true(torture(fill, NULL) > 3);
}

static void test_zeroed(void **state)
{
  char *p = aicr_calloc(3, 5);

  (void)state;
  assert_non_null(p);
  for (int i = 0; i < 15; i++)
    assert_int_equal(p[i], 0);
  aicr_free(p);
  p = aicr_calloc(0, 8);
  assert_non_null(p);
  aicr_free(p);
  assert_null(aicr_calloc(SIZE_MAX / 2, 3));
  assert_null(aicr_calloc(2, SIZE_MAX / 2 + 1));
}

static void *refuse(void *ptr, size_t size)
{
  (void)ptr;
  (void)size;
  return NULL;
}

static void test_grows(void **state)
{
  size_t cap = 0, full;
  int *items = NULL, *grown;
  void *(*before)(void *, size_t) = aicr_realloc;

  (void)state;
  for (int i = 0; i < 100; i++) {
    items = aicr_grow(items, &cap, (size_t)i, sizeof(*items));
    assert_non_null(items);
    assert_true(cap > (size_t)i);
    items[i] = i;
  }
  for (int i = 0; i < 100; i++)
    assert_int_equal(items[i], i);
  full = cap;
  assert_null(aicr_grow(items, &full, full, SIZE_MAX / cap));
  aicr_realloc = refuse;
  grown = aicr_grow(items, &full, full, sizeof(*items));
  aicr_realloc = before;
  assert_null(grown);
  assert_int_equal(full, cap);
  assert_int_equal(items[99], 99);
  aicr_free(items);
}

static void test_strndup(void **state)
{
  char *p = aicr_strndup("a\0bc", 3);

  (void)state;
  assert_memory_equal(p, "a\0b", 4);
  aicr_free(p);
  p = aicr_strndup(NULL, 0);
  assert_string_equal(p, "");
  aicr_free(p);
  assert_null(aicr_strndup("", SIZE_MAX));
  aicr_free(NULL);
}

static bool allocate(void *arg)
{
  char *a = aicr_calloc(4, 4), *b = aicr_strndup("text", 4);
  bool ok = a && b;

  (void)arg;
  aicr_free(a);
  aicr_free(b);
  return ok;
}

static void test_allocations_fail(void **state)
{
  (void)state;
  assert_int_equal(torture(allocate, NULL), 2);
}

static void test_realloc_of_nothing(void **state)
{
  void *p = aicr_realloc(NULL, 8);

  (void)state;
  assert_non_null(p);
  assert_null(aicr_realloc(p, 0));
  assert_null(aicr_realloc(NULL, 0));
}

#define SECRET "hunter2-hunter2"

static size_t given_back;

static bool holds_secret(const char *data, size_t len)
{
  for (size_t i = 0; i + strlen(SECRET) <= len; i++)
    if (memcmp(data + i, SECRET, strlen(SECRET)) == 0)
      return true;
  return false;
}

/* Looks into each block that is given back. */
static void *looking_realloc(void *ptr, size_t size)
{
  if (ptr) {
    assert_false(holds_secret(ptr, malloc_usable_size(ptr)));
    given_back++;
  }
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

/* Grown by every way to append, emptied, overflowed, released. */
static void test_secret_is_wiped(void **state)
{
  void *(*before)(void *, size_t) = aicr_realloc;
  struct aicr_buf b;

  (void)state;
  aicr_realloc = looking_realloc;
  given_back = 0;
  aicr_buf_init(&b, 8192);
  b.secret = true;
  assert_true(aicr_buf_adds(&b, SECRET));
  for (int i = 0; i < 60; i++)
    assert_true(aicr_buf_addf(&b, SECRET "%*d", i * 2, i));
  assert_int_equal(memcmp(b.data, SECRET, strlen(SECRET)), 0);
  assert_true(given_back > 3);
  aicr_buf_reset(&b);
  assert_false(holds_secret(b.data, b.cap));
  assert_true(aicr_buf_adds(&b, SECRET));
  assert_false(aicr_buf_addf(&b, "%9000d", 1));
  assert_true(b.failed);
  aicr_buf_reset(&b);
  assert_true(b.secret);
  assert_true(aicr_buf_adds(&b, SECRET));
  aicr_buf_free(&b);
  assert_true(b.secret);
  aicr_realloc = before;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_starts_empty),
      cmocka_unit_test(test_appends),
      cmocka_unit_test(test_bound),
      cmocka_unit_test(test_formats_of_any_length),
      cmocka_unit_test(test_no_bound_overflows),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_zeroed),
      cmocka_unit_test(test_grows),
      cmocka_unit_test(test_strndup),
      cmocka_unit_test(test_allocations_fail),
      cmocka_unit_test(test_realloc_of_nothing),
      cmocka_unit_test(test_secret_is_wiped),
  };

  return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
