/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/json_reader.h"
#include "host/record.h"

static char *text_of(const struct aicr_record *r)
{
  struct aicr_buf out;
  struct aicr_error err;

  aicr_buf_init(&out, 64u << 20);
  assert_true(aicr_record_write(r, &out));
  assert_true(aicr_json_check(out.data, out.len, AICR_JSON_STRICT,
                              AICR_JSON_DEPTH, &err));
  return out.data;
}

static void add(struct aicr_record *r, const char *kind, const char *json)
{
  assert_true(aicr_record_add(r, aicr_record_kind(kind), json, strlen(json)));
}

static void test_empty(void **state)
{
  struct aicr_record r;
  char *text;

  (void)state;
  aicr_record_init(&r);
  text = text_of(&r);
  assert_non_null(strstr(text, "\"endings\":[]"));
  assert_null(strstr(text, "coverage"));
  aicr_free(text);
  aicr_record_free(&r);
}

static void test_items(void **state)
{
  struct aicr_record r;
  char *text;

  (void)state;
  aicr_record_init(&r);
  add(&r, "evidence", "\"a\"");
  add(&r, "evidence", "\"b\"");
  add(&r, "endings", "{\"kind\":\"fail\"}");
  assert_true(aicr_record_extra(&r, "\"k\"", "1"));
  assert_true(aicr_record_extra(&r, "\"l\"", "2"));
  assert_true(aicr_record_extra(&r, "\"k\"", "3"));
  assert_true(aicr_record_set(&r, &r.coverage, "{}", 2));
  text = text_of(&r);
  assert_non_null(strstr(text, "\"evidence\":[\"a\",\"b\"]"));
  assert_non_null(strstr(text, "\"endings\":[{\"kind\":\"fail\"}]"));
  assert_non_null(strstr(text, "\"extra\":{\"k\":3,\"l\":2}"));
  assert_non_null(strstr(text, "\"coverage\":{}"));
  aicr_free(text);
  aicr_record_free(&r);
}

static void test_unknown_kind(void **state)
{
  (void)state;
  assert_int_equal(aicr_record_kind("verdicts"), AICR_REC_KINDS);
  assert_int_equal(aicr_record_kind(""), AICR_REC_KINDS);
}

static void test_count_is_bounded(void **state)
{
  struct aicr_record r;
  char *text;

  (void)state;
  aicr_record_init(&r);
  for (int i = 0; i < AICR_RECORD_ITEMS_MAX; i++)
    add(&r, "evidence", "1");
  assert_false(aicr_record_add(&r, AICR_REC_EVIDENCE, "1", 1));
  assert_false(aicr_record_add(&r, AICR_REC_EVIDENCE, "1", 1));
  text = text_of(&r);
  assert_non_null(strstr(text, "\"dropped\":{\"evidence\":2}"));
  aicr_free(text);
  aicr_record_free(&r);
}

/* However much else was recorded, the ending is kept. */
static void test_endings_have_room(void **state)
{
  static char big[AICR_RECORD_ITEM_MAX];
  struct aicr_record r;
  char *text;

  (void)state;
  memset(big, 'x', sizeof(big));
  big[0] = big[sizeof(big) - 1] = '"';
  aicr_record_init(&r);
  while (aicr_record_add(&r, AICR_REC_EVIDENCE, big, sizeof(big)))
    ;
  while (aicr_record_add(&r, AICR_REC_SERIES, big, sizeof(big)))
    ;
  assert_true(r.total <= AICR_RECORD_TOTAL_MAX);
  add(&r, "endings", "{\"kind\":\"fail\"}");
  text = text_of(&r);
  assert_non_null(strstr(text, "\"endings\":[{\"kind\":\"fail\"}]"));
  aicr_free(text);
  aicr_record_free(&r);
}

static void test_item_is_bounded(void **state)
{
  static char big[AICR_RECORD_ITEM_MAX + 1];
  struct aicr_record r;

  (void)state;
  memset(big, '1', sizeof(big));
  aicr_record_init(&r);
  assert_false(aicr_record_add(&r, AICR_REC_EVIDENCE, big, sizeof(big)));
  assert_false(aicr_record_set(&r, &r.coverage, big, sizeof(big)));
  aicr_record_free(&r);
}

static void test_extra_is_bounded(void **state)
{
  struct aicr_record r;
  char key[32];

  (void)state;
  aicr_record_init(&r);
  for (int i = 0; i < AICR_RECORD_KEYS_MAX; i++) {
    snprintf(key, sizeof(key), "\"k%d\"", i);
    assert_true(aicr_record_extra(&r, key, "1"));
  }
  assert_false(aicr_record_extra(&r, "\"one more\"", "1"));
  assert_true(aicr_record_extra(&r, "\"k0\"", "2"));
  aicr_record_free(&r);
}

static size_t calls, fail_at;

static void *failing_realloc(void *ptr, size_t size)
{
  if (size && ++calls == fail_at)
    return NULL;
  if (!size) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

/* Each allocation fails in turn: nothing leaks, nothing crashes. */
static void test_no_memory(void **state)
{
  void *(*saved)(void *, size_t) = aicr_realloc;
  bool ok = false;

  (void)state;
  for (fail_at = 1; !ok; fail_at++) {
    struct aicr_record r;
    struct aicr_buf out;

    aicr_realloc = failing_realloc;
    calls = 0;
    aicr_record_init(&r);
    aicr_buf_init(&out, 1u << 20);
    ok = aicr_record_add(&r, AICR_REC_EVIDENCE, "1", 1) &&
         aicr_record_extra(&r, "\"k\"", "1") &&
         aicr_record_set(&r, &r.cleanup, "{}", 2) &&
         aicr_record_write(&r, &out);
    aicr_buf_free(&out);
    aicr_record_free(&r);
    aicr_realloc = saved;
    assert_true(fail_at < 100);
  }
  assert_true(fail_at > 4);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_items),
      cmocka_unit_test(test_unknown_kind),
      cmocka_unit_test(test_count_is_bounded),
      cmocka_unit_test(test_endings_have_room),
      cmocka_unit_test(test_item_is_bounded),
      cmocka_unit_test(test_extra_is_bounded),
      cmocka_unit_test(test_no_memory),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
