/* SPDX-License-Identifier: Apache-2.0 */
/* The reader and the pieces that a text comes in. */
#include "core/json_reader.h"
#include "core/text.h"

#include "rows.h"

#include "json_tokens.h"
#include "torture.h"

static const char every_token[] =
    "{\"apiVersion\":\"v1\",\"n\":[0,-1,2.5,1e3,9007199254740993],\"t\":true,"
    "\"f\":false,\"z\":null,\"s\":\"a\\u00e9\\ud83d\\ude00\\n\",\"e\":{}}";

/* Texts that have all kinds of tokens and all ways to end. */
static const char *const documents[] = {
    every_token,
    " [ \"é→😀\" , \"\\\\\\\"\" , [ ] , -0.5e-2 ] ",
    "\"\\u0000\\u001f\\/\"",
    "-12.5E+10",
    "123",
    "true",
    " null ",
    "{\"a\":{\"a\":{\"a\":[[[\"a\"]]]}}}",
    "[\"abcdefghijklmnop\",\"abcdefgh\\tijklmnop→qrstuvwxyz\"]",
    "[\"\\ud800\\u0041\xE2\x82\\ud800\\udbff\\udc00\xF0\x9F\"]",
    "[1,2,]",
    "{\"a\":tru}",
    "[\"\\ud83dx\"]",
    "[\"\xE2\x28\xA1\"]",
    "[-]",
    "[1e400]",
    "[1] 2",
    "\xEF\xBB\xBF[]",
    "[\"a\x01\"]",
    "{\"k\":\"\\u12G4\"}",
};

static void compare_cuts(const char *text, const size_t *cuts, size_t count,
                         enum aicr_json_profile profile, const char *wanted)
{
  struct aicr_buf out;

  aicr_buf_init(&out, SIZE_MAX);
  show_tokens(&out, text, strlen(text), cuts, count, profile, 64, true);
  if (strcmp(out.data, wanted) != 0)
    fail_msg("%s cut at %zu: %s, not %s", text, cuts[0], out.data, wanted);
  aicr_buf_free(&out);
}

/* The same tokens, offsets, depths and messages in one chunk, in any two, in
 * any three, and byte for byte. */
static void test_chunks_make_no_difference(void **state)
{
  const char *text = *state;
  size_t len = strlen(text);
  size_t each[256] = {0};

  for (int p = AICR_JSON_STRICT; p <= AICR_JSON_GO; p++) {
    enum aicr_json_profile profile = (enum aicr_json_profile)p;
    struct aicr_buf whole;

    aicr_buf_init(&whole, SIZE_MAX);
    show_tokens(&whole, text, len, NULL, 0, profile, 64, true);
    for (size_t a = 0; a <= len; a++) {
      for (size_t b = a; b <= len; b += len < 64 ? 1 : 7) {
        size_t cuts[] = {a, b};

        compare_cuts(text, cuts, 2, profile, whole.data);
      }
    }
    assert_true(len < COUNT(each));
    for (size_t i = 0; i < len; i++)
      each[i] = i;
    compare_cuts(text, each, len, profile, whole.data);
    aicr_buf_free(&whole);
  }
}

/* No prefix of a container or string is a text, but for white space cut from
 * its end. */
static void test_truncated_at_every_byte(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(documents); i++) {
    const char *text = documents[i];
    size_t len = strlen(text);

    if (!strchr("[{\"", text[strspn(text, " ")]) ||
        !aicr_json_check(text, len, AICR_JSON_GO, 64, NULL))
      continue;
    while (len > 0 && text[len - 1] == ' ')
      len--;
    for (size_t cut = 0; cut < len; cut++) {
      struct aicr_error err;
      char *part = malloc(cut ? cut : 1);
      char place[32];

      assert_non_null(part);
      memcpy(part, text, cut);
      if (aicr_json_check(part, cut, AICR_JSON_GO, 64, &err))
        fail_msg("%s cut to %zu", text, cut);
      snprintf(place, sizeof(place), "at byte %zu:", cut);
      assert_non_null(strstr(err.message, place));
      free(part);
    }
  }
}

static void test_more_is_asked_again(void **state)
{
  struct aicr_json_reader r;

  (void)state;
  aicr_json_init(&r, AICR_JSON_STRICT, 64);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_MORE);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_MORE);
  aicr_json_feed(&r, NULL, 0);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_MORE);
  aicr_json_feed(&r, "12", 2);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_MORE);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_MORE);
  aicr_json_feed(&r, "", 0);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_MORE);
  aicr_json_feed(&r, "3", 1);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_MORE);
  aicr_json_finish(&r);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_INTEGER);
  assert_int_equal(r.integer, 123);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_END);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_END);
  aicr_json_free(&r);
}

/* Strings at the limit and over it, whole and cut. */
static void test_longest_string(void **state)
{
  size_t size = AICR_JSON_STRING_MAX + 4;
  char *text = malloc(size);

  (void)state;
  assert_non_null(text);
  for (size_t extra = 0; extra < 2; extra++) {
    size_t len = AICR_JSON_STRING_MAX + extra + 2;

    memset(text, 'x', size);
    text[0] = text[len - 1] = '"';
    for (size_t cut = 0; cut < 2; cut++) {
      enum aicr_json_token token;
      struct aicr_json_reader r;

      aicr_json_init(&r, AICR_JSON_STRICT, 1);
      aicr_json_feed(&r, text, cut ? len / 2 : len);
      token = aicr_json_next(&r);
      if (cut) {
        assert_int_equal(token, AICR_JSON_MORE);
        aicr_json_feed(&r, text + len / 2, len - len / 2);
        token = aicr_json_next(&r);
      }
      assert_int_equal(token, extra ? AICR_JSON_ERROR : AICR_JSON_STRING);
      if (extra)
        assert_string_equal(r.error.reason, "too-large");
      else
        assert_int_equal(r.text_len, AICR_JSON_STRING_MAX);
      aicr_json_free(&r);
    }
  }
  free(text);
}

static bool read_all(void *arg)
{
  static const char text[] =
      "{\"escaped\\u0020key\":\"\\n0123456789012345678901234567890123456789"
      "01234567890123456789012345678901234567890123456789012345678901234567\","
      "\"n\":1.00000000000000000000000000000000000000000000000000000000000000"
      "000000000000000000000000000000000000000000000000000000000000000000}";
  size_t len = strlen(text), half = len - 100;
  struct aicr_json_reader r;
  enum aicr_json_token token;
  size_t fed = 0;

  (void)arg;
  aicr_json_init(&r, AICR_JSON_STRICT, 64);
  do {
    token = aicr_json_next(&r);
    if (token == AICR_JSON_MORE && fed == len) {
      aicr_json_finish(&r);
    } else if (token == AICR_JSON_MORE) {
      aicr_json_feed(&r, text + fed, fed ? len - half : half);
      fed = fed ? len : half;
    }
  } while (token != AICR_JSON_END && token != AICR_JSON_ERROR);
  if (token == AICR_JSON_ERROR) {
    assert_int_equal(r.error.code, AICR_INTERNAL);
    assert_string_equal(r.error.reason, "memory");
  }
  aicr_json_free(&r);
  return token == AICR_JSON_END;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_true(torture(read_all, NULL) >= 3);
}

int main(void)
{
  static const struct {
    const char *name;
    CMUnitTestFunction test;
  } tests[] = {
      {"truncated at every byte", test_truncated_at_every_byte},
      {"MORE is asked again", test_more_is_asked_again},
      {"longest string", test_longest_string},
      {"no memory", test_no_memory},
  };
  struct rows r = {NULL, 0};
  struct aicr_quoted q;

  for (size_t i = 0; i < COUNT(documents); i++)
    add_row(&r, "chunks", aicr_quote(&q, documents[i], strlen(documents[i])),
            test_chunks_make_no_difference, documents[i]);
  for (size_t i = 0; i < COUNT(tests); i++)
    add_row(&r, "chunks", tests[i].name, tests[i].test, NULL);
  return run_rows(&r, "json_chunks");
}
