/* SPDX-License-Identifier: Apache-2.0 */
/* aicr_json_skip() must end as aicr_json_next() in a loop would: the same
 * token, place, depth and error, however the text is cut. */
#include <string.h>

#include "core/json_reader.h"

#include "rows.h"

static const char *const texts[] = {
    "{\"a\":1,\"b\":[true,false,null,\"x\"],\"c\":{\"d\":{},\"e\":[]}} ",
    " { \"a\" : [ 1 , -2 , 3.5e+7 , 0 ] ,\n          \"b\" : { } } ",
    "[\"plain text of more than sixteen bytes\",\"esc\\n\\u00e9 \xc3\xa9\"]",
    "[[[[[[[[[[1]]]]]]]],{\"k\":[{\"k\":[{}]}]}]]",
    "[9223372036854775807,9223372036854775808,123456789012345678,1234567]",
    "[\"\",\"\x7f\",{\"\":\"\"}]",
    "[01]",
    "[1.]",
    "[-]",
    "[1e999]",
    "[00]",
    "[1 2]",
    "[1,]",
    "[,1]",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{\"a\":}",
    "{a:1}",
    "{1:1}",
    "[tru]",
    "[truex]",
    "[nulL]",
    "[falsefalse]",
    "[\"a\tb\"]",
    "[\"a\x01 and sixteen more bytes\"]",
    "[\"\xff\"]",
    "[\"\\x\"]",
    "[\"\\ud800\"]",
    "[\"open",
    "[1}",
    "{\"a\":[}]",
    "[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]",
    "[{\"a\":[1,2,{\"b\":\"c\"}]}] x",
};

struct end {
  enum aicr_json_token token;
  size_t offset;
  unsigned depth;
  char message[256];
};

/* Feeds the text in chunks, cut every `step` bytes, until the container that
 * was opened `depth` deep is closed. */
static struct end read_past(const char *text, size_t step, unsigned depth,
                            bool skip)
{
  struct aicr_json_reader r;
  size_t len = strlen(text), at = 0;
  bool open = false;
  struct end e = {AICR_JSON_MORE, 0, 0, ""};

  aicr_json_init(&r, AICR_JSON_STRICT, 16);
  for (;;) {
    e.token = open && skip ? aicr_json_skip(&r, depth) : aicr_json_next(&r);
    open = open || (e.token > AICR_JSON_END && r.depth > depth);
    if (e.token == AICR_JSON_MORE && at == len) {
      aicr_json_finish(&r);
    } else if (e.token == AICR_JSON_MORE) {
      size_t n = step < len - at ? step : len - at;

      aicr_json_feed(&r, text + at, n);
      at += n;
    } else if (e.token <= AICR_JSON_END || (open && r.depth == depth)) {
      break;
    }
  }
  e.offset = r.offset;
  e.depth = r.depth;
  if (e.token == AICR_JSON_ERROR)
    memcpy(e.message, r.error.message, sizeof(e.message) - 1);
  aicr_json_free(&r);
  return e;
}

static void compare(const char *text, size_t step, unsigned depth)
{
  struct end a = read_past(text, step, depth, false);
  struct end b = read_past(text, step, depth, true);

  if (a.token != b.token || a.offset != b.offset || a.depth != b.depth ||
      strcmp(a.message, b.message) != 0)
    fail_msg("%s, cut every %zu bytes, depth %u: %d at %zu (%s), not %d at "
             "%zu (%s)",
             text, step, depth, (int)b.token, b.offset, b.message, (int)a.token,
             a.offset, a.message);
}

static void test_same_as_next(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(texts); i++)
    for (size_t step = 1; step <= strlen(texts[i]); step++)
      for (unsigned depth = 0; depth < 5; depth++)
        compare(texts[i], step, depth);
}

/* Every byte of a text in turn replaced by what may be wrong there. */
static void test_same_on_damage(void **state)
{
  static const char bad[] = "\"\\{}[],:0-e.t \n\x01\xc3";
  char text[256];

  (void)state;
  for (size_t i = 0; i < 6; i++)
    for (size_t at = 0; at < strlen(texts[i]); at++)
      for (size_t j = 0; j < sizeof(bad) - 1; j++) {
        memcpy(text, texts[i], strlen(texts[i]) + 1);
        text[at] = bad[j];
        compare(text, 7, 0);
        compare(text, sizeof(text), 1);
      }
}

/* What is not wanted is checked, and costs no copy. */
static void test_keeps_nothing(void **state)
{
  struct aicr_json_reader r;
  const char *text = "[[\"an escape \\n in a string\",12345678901234567890]]";

  (void)state;
  aicr_json_init(&r, AICR_JSON_STRICT, 16);
  aicr_json_feed(&r, text, strlen(text));
  aicr_json_finish(&r);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_ARRAY_BEGIN);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_ARRAY_BEGIN);
  assert_int_equal(aicr_json_skip(&r, 1), AICR_JSON_ARRAY_END);
  assert_int_equal(r.depth, 1);
  assert_int_equal(r.scratch.len, 0);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_ARRAY_END);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_END);
  aicr_json_free(&r);
}

int main(void)
{
  struct rows r = {NULL, 0};

  add_row(&r, "skip", "ends as next does", test_same_as_next, NULL);
  add_row(&r, "skip", "ends as next does on damage", test_same_on_damage, NULL);
  add_row(&r, "skip", "keeps nothing", test_keeps_nothing, NULL);
  return run_rows(&r, "json_skip");
}
