/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_reader.h"
#include "core/text.h"

#include "rows.h"

#include "json_tokens.h"

/* What the reader says of a whole text. */
static void show(struct aicr_buf *out, const char *text, size_t len,
                 enum aicr_json_profile profile, unsigned depth)
{
  aicr_buf_init(out, SIZE_MAX);
  show_tokens(out, text, len, NULL, 0, profile, depth, false);
}

struct accepted {
  const char *text;
  size_t len;
  const char *tokens;
};

#define ACCEPT(text, tokens)                                                   \
  {                                                                            \
    text, sizeof(text) - 1, tokens                                             \
  }

/* RFC 8259, both profiles. */
static const struct accepted accepted[] = {
    ACCEPT("null", "null $"),
    ACCEPT("true", "true $"),
    ACCEPT("false", "false $"),
    ACCEPT(" \t\r\n null \n\r\t ", "null $"),
    ACCEPT("[]", "[ ] $"),
    ACCEPT("{}", "{ } $"),
    ACCEPT(" [ ] ", "[ ] $"),
    ACCEPT("[[],{}]", "[ [ ] { } ] $"),
    ACCEPT("[1,\"a\",null,[true],{\"k\":false}]",
           "[ 1 \"a\" null [ true ] { k\"k\" false } ] $"),
    ACCEPT("{\"a\":1,\"b\":{\"c\":[2]}}",
           "{ k\"a\" 1 k\"b\" { k\"c\" [ 2 ] } } $"),
    ACCEPT("{ \"a\" : 1 , \"a\" : 2 }", "{ k\"a\" 1 k\"a\" 2 } $"),
    ACCEPT("{\"\":0}", "{ k\"\" 0 } $"),
    ACCEPT("{\"a\\u0000b\":0}", "{ k\"a\\u0000b\" 0 } $"),
    ACCEPT("0", "0 $"),
    ACCEPT("-0", "0 $"),
    ACCEPT("-1", "-1 $"),
    ACCEPT("1234567890", "1234567890 $"),
    ACCEPT("9007199254740993", "9007199254740993 $"),
    ACCEPT("9223372036854775807", "9223372036854775807 $"),
    ACCEPT("-9223372036854775808", "-9223372036854775808 $"),
    ACCEPT("9223372036854775808", "9.223372036854776e+18 $"),
    ACCEPT("-9223372036854775809", "-9.223372036854776e+18 $"),
    ACCEPT("18446744073709551616", "1.8446744073709552e+19 $"),
    ACCEPT("-0.0", "-0.0 $"),
    ACCEPT("-0e1", "-0.0 $"),
    ACCEPT("1.5", "1.5 $"),
    ACCEPT("1.0", "1.0 $"),
    ACCEPT("1e3", "1000.0 $"),
    ACCEPT("1E3", "1000.0 $"),
    ACCEPT("1e+3", "1000.0 $"),
    ACCEPT("1e-3", "0.001 $"),
    ACCEPT("1.25e2", "125.0 $"),
    ACCEPT("0.1", "0.1 $"),
    ACCEPT("0e0", "0.0 $"),
    ACCEPT("1e00", "1.0 $"),
    ACCEPT("1e-400", "0.0 $"),
    ACCEPT("1.7976931348623157e308", "1.7976931348623157e+308 $"),
    ACCEPT("5e-324", "5e-324 $"),
    ACCEPT("\"\"", "\"\" $"),
    ACCEPT("\"plain text that is longer than one word\"",
           "\"plain text that is longer than one word\" $"),
    ACCEPT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\" $"),
    ACCEPT("\"\\u0000\\u0041\\u00e9\\u20AC\"", "\"\\u0000Aé€\" $"),
    ACCEPT("\"\\ud83d\\ude00\"", "\"😀\" $"),
    ACCEPT("\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\"𐀀\xF4\x8F\xBF\xBF\" $"),
    ACCEPT("\"\\uD7FF\\uE000\\uFFFF\"",
           "\"\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\" $"),
    ACCEPT("\"é→😀\"", "\"é→😀\" $"),
    ACCEPT("\"\x7F\"", "\"\\u007f\" $"),
    ACCEPT("\"\xEF\xBB\xBF\"", "\"\xEF\xBB\xBF\" $"),
    ACCEPT("\"\xE2\x80\xA8\"", "\"\xE2\x80\xA8\" $"),
    ACCEPT("\"a\\u005Cb\"", "\"a\\\\b\" $"),
};

struct rejected {
  const char *text;
  size_t len;
  size_t offset;
  const char *message; /* a part of it */
};

#define REJECT(text, offset, message)                                          \
  {                                                                            \
    text, sizeof(text) - 1, offset, message                                    \
  }

static const struct rejected rejected[] = {
    REJECT("", 0, "ends too early"),
    REJECT("  \n", 3, "ends too early"),
    REJECT("[", 1, "ends too early"),
    REJECT("{", 1, "ends too early"),
    REJECT("{\"a\"", 4, "ends too early"),
    REJECT("{\"a\":", 5, "ends too early"),
    REJECT("[1,", 3, "ends too early"),
    REJECT("\"abc", 4, "ends too early"),
    REJECT("\"\\", 2, "ends too early"),
    REJECT("\"\\u12", 5, "ends too early"),
    REJECT("\"\xE2\x82", 3, "ends too early"),
    REJECT("tru", 3, "ends too early"),
    REJECT("[1] x", 4, "the end of the text, found \"x\""),
    REJECT("1 2", 2, "the end of the text"),
    REJECT("[]]", 2, "the end of the text"),
    REJECT("nullnull", 4, "the end of the text"),
    REJECT("{}\0", 2, "the end of the text, found \"\\x00\""),
    REJECT("[1,]", 3, "expected a value, found \"]\""),
    REJECT("[,1]", 1, "expected a value, found \",\""),
    REJECT("[1,,2]", 3, "expected a value"),
    REJECT("[1 2]", 3, "expected ',' or ']'"),
    REJECT("[1}", 2, "expected ',' or ']', found \"}\""),
    REJECT("{\"a\":1]", 6, "expected ',' or '}', found \"]\""),
    REJECT("{\"a\":1,}", 7, "a key in quotes, found \"}\""),
    REJECT("{,}", 1, "a key in quotes"),
    REJECT("{a:1}", 1, "a key in quotes, found \"a\""),
    REJECT("{1:1}", 1, "a key in quotes"),
    REJECT("{'a':1}", 1, "a key in quotes, found \"'\""),
    REJECT("{\"a\" 1}", 5, "expected ':'"),
    REJECT("{\"a\":}", 5, "expected a value"),
    REJECT("{\"a\"}", 4, "expected ':'"),
    REJECT("{\"a\",\"b\"}", 4, "expected ':'"),
    REJECT("{\"a\":1 \"b\":2}", 7, "expected ',' or '}'"),
    REJECT("{[1]:2}", 1, "a key in quotes"),
    REJECT("]", 0, "expected a value"),
    REJECT("}", 0, "expected a value"),
    REJECT(":", 0, "expected a value"),
    REJECT("// x\n1", 0, "expected a value"),
    REJECT("/* x */1", 0, "expected a value"),
    REJECT("[1] // x", 4, "the end of the text"),
    REJECT("'a'", 0, "expected a value"),
    REJECT("NaN", 0, "expected a value"),
    REJECT("nan", 1, "expected null, found \"a\""),
    REJECT("Infinity", 0, "expected a value"),
    REJECT("-Infinity", 1, "not a number"),
    REJECT("True", 0, "expected a value"),
    REJECT("TRUE", 0, "expected a value"),
    REJECT("trux", 3, "expected true"),
    REJECT("fals\n", 4, "expected false"),
    REJECT("nul]", 3, "expected null"),
    REJECT("+1", 0, "expected a value"),
    REJECT("01", 1, "not a number"),
    REJECT("-01", 2, "not a number"),
    REJECT("00", 1, "not a number"),
    REJECT("1.", 2, "not a number"),
    REJECT("1.e3", 2, "not a number"),
    REJECT("[1.]", 3, "not a number"),
    REJECT(".5", 0, "expected a value"),
    REJECT("-", 1, "not a number"),
    REJECT("[-]", 2, "not a number"),
    REJECT("--1", 1, "not a number"),
    REJECT("1e", 2, "not a number"),
    REJECT("1e+", 3, "not a number"),
    REJECT("1e1.5", 3, "not a number"),
    REJECT("1.5.5", 3, "not a number"),
    REJECT("1-2", 1, "not a number"),
    REJECT("0x10", 1, "the end of the text"),
    REJECT("1_000", 1, "the end of the text"),
    REJECT("1f", 1, "the end of the text"),
    REJECT("\"\\x\"", 2, "an escape such as"),
    REJECT("\"\\'\"", 2, "an escape such as"),
    REJECT("\"\\0\"", 2, "an escape such as"),
    REJECT("\"\\U0041\"", 2, "an escape such as"),
    REJECT("\"\\\0\"", 2, "an escape such as"),
    REJECT("\"\\u00g0\"", 5, "four hexadecimal digits"),
    REJECT("\"\\u004\"", 6, "four hexadecimal digits"),
    REJECT("\"\\u+041\"", 3, "four hexadecimal digits"),
    REJECT("\"a\nb\"", 2, "no control character"),
    REJECT("\"a\tb\"", 2, "no control character"),
    REJECT("\"\0\"", 1, "no control character"),
    REJECT("\"\x1F\"", 1, "no control character"),
    REJECT("\"0123456789abcdef\x1F\"", 17, "no control character"),
    REJECT("\xEF\xBB\xBF[]", 0, "expected a value"),
    REJECT("\xFE\xFF", 0, "expected a value"),
    REJECT("[1\xC2\xA0]", 2, "expected ',' or ']'"),
    REJECT("\xE2\x80\xA8[]", 0, "expected a value"),
    REJECT("[\x0B]", 1, "expected a value"),
    REJECT("[\x0C]", 1, "expected a value"),
    REJECT("[\0]", 1, "expected a value"),
    REJECT("[1]\xFF", 3, "the end of the text"),
};

static void test_accepted(void **state)
{
  const struct accepted *row = *state;

  for (int profile = AICR_JSON_STRICT; profile <= AICR_JSON_GO; profile++) {
    struct aicr_error err;
    struct aicr_buf out;

    show(&out, row->text, row->len, (enum aicr_json_profile)profile, 64);
    assert_string_equal(out.data, row->tokens);
    aicr_buf_free(&out);
    assert_true(aicr_json_check(row->text, row->len,
                                (enum aicr_json_profile)profile, 64, &err));
  }
}

static void test_rejected(void **state)
{
  const struct rejected *row = *state;

  for (int profile = AICR_JSON_STRICT; profile <= AICR_JSON_GO; profile++) {
    struct aicr_error err;
    char place[32];

    assert_false(aicr_json_check(row->text, row->len,
                                 (enum aicr_json_profile)profile, 64, &err));
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_string_equal(err.reason, "malformed");
    assert_false(err.verdict);
    snprintf(place, sizeof(place), "at byte %zu:", row->offset);
    if (!strstr(err.message, place) || !strstr(err.message, row->message))
      fail_msg("%s", err.message);
    assert_false(aicr_json_check(row->text, row->len,
                                 (enum aicr_json_profile)profile, 64, NULL));
  }
}

struct unicode {
  const char *text;
  size_t len;
  const char *go;  /* the string, JSON-escaped */
  size_t offset;   /* of the strict profile's error */
  const char *why; /* a part of its message */
};

#define UNICODE(text, go, offset, why)                                         \
  {                                                                            \
    "\"" text "\"", sizeof(text) + 1, "\"" go "\" $", offset, why              \
  }
#define UTF8 "not valid UTF-8"
#define LONE "lone surrogate"

static const struct unicode unicode[] = {
    UNICODE("\\ud800\\u0041", "�A", 13, LONE),
    UNICODE("\\ud800\\udbff\\udc00", "�\xF4\x8F\xB0\x80", 13, LONE),
    UNICODE("\\ud800", "�", 7, LONE),
    UNICODE("\\udc00", "�", 7, LONE),
    UNICODE("\\udfff\\ud800", "��", 7, LONE),
    UNICODE("\\udc00\\ud800\\udc00", "�𐀀", 7, LONE),
    UNICODE("\\ud800\\ud800", "��", 13, LONE),
    UNICODE("\\ud800\\ud800\\udc00", "�𐀀", 13, LONE),
    UNICODE("\\ud800x", "�x", 7, LONE),
    UNICODE("\\ud800é", "�é", 7, LONE),
    UNICODE("\\ud800\xFF", "��", 7, LONE),
    UNICODE("\\ud800\\n", "�\\n", 8, LONE),
    UNICODE("\\ud800\\\\udc00", "�\\\\udc00", 8, LONE),
    UNICODE("a\\udbffb", "a�b", 8, LONE),
    UNICODE("\xE2\x82", "��", 1, UTF8),
    UNICODE("\xED\xA0\x80", "���", 1, UTF8),
    UNICODE("\xC0\x80", "��", 1, UTF8),
    UNICODE("\xF0\x9F\x98", "���", 1, UTF8),
    UNICODE("\xF4\x90\x80\x80", "����", 1, UTF8),
    UNICODE("\xE2\x82x", "��x", 1, UTF8),
    UNICODE("\xE2\x82\\n", "��\\n", 1, UTF8),
    UNICODE("\xE2\x82\xE2\x82\xAC", "��€", 1, UTF8),
    UNICODE("\xF0\x9F\xF0\x9F\x98\x80", "��😀", 1, UTF8),
    UNICODE("é\x80", "é�", 3, UTF8),
    UNICODE("\x85\xA0", "��", 1, UTF8),
    UNICODE("\xFF", "�", 1, UTF8),
    UNICODE("0123456789\xFE"
            "0123456789",
            "0123456789�0123456789", 11, UTF8),
};

/* gke-tcpxo.md 3.1, "bad Unicode", and the strict profile's errors; at every
 * chunk split. */
static void test_unicode(void **state)
{
  const struct unicode *row = *state;

  for (size_t cut = 0; cut <= row->len; cut++) {
    char wanted[64];
    struct aicr_buf out;

    aicr_buf_init(&out, SIZE_MAX);
    show_tokens(&out, row->text, row->len, &cut, 1, AICR_JSON_GO, 64, false);
    assert_string_equal(out.data, row->go);
    aicr_buf_reset(&out);
    show_tokens(&out, row->text, row->len, &cut, 1, AICR_JSON_STRICT, 64,
                false);
    snprintf(wanted, sizeof(wanted), "!malformed@%zu", row->offset);
    assert_string_equal(out.data, wanted);
    aicr_buf_free(&out);
  }
  for (int key = 0; key < 2; key++) {
    struct aicr_error err;
    char text[80];

    snprintf(text, sizeof(text), key ? "{%.*s:1}" : "[%.*s]", (int)row->len,
             row->text);
    assert_true(aicr_json_check(text, strlen(text), AICR_JSON_GO, 64, &err));
    assert_false(
        aicr_json_check(text, strlen(text), AICR_JSON_STRICT, 64, &err));
    assert_non_null(strstr(err.message, row->why));
  }
}

static const struct {
  const char *text, *go;
} ranges[] = {
    {"1e400", "inf $"},
    {"-1e400", "-inf $"},
    {"1e309", "inf $"},
    {"1.7976931348623159e308", "inf $"},
    {"1e99999999999999999999", "inf $"},
    {"[1e400,2]", "[ inf 2 ] $"},
};

static void test_numbers_out_of_range(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(ranges); i++) {
    size_t len = strlen(ranges[i].text);
    struct aicr_error err;
    struct aicr_buf out;

    show(&out, ranges[i].text, len, AICR_JSON_GO, 64);
    assert_string_equal(out.data, ranges[i].go);
    aicr_buf_free(&out);
    assert_false(
        aicr_json_check(ranges[i].text, len, AICR_JSON_STRICT, 64, &err));
    assert_non_null(strstr(err.message, "out of range"));
  }
}

/* depth containers around a value, arrays and objects in turn if mixed. */
static void nest(struct aicr_buf *b, size_t depth, bool mixed)
{
  aicr_buf_init(b, SIZE_MAX);
  for (size_t i = 0; i < depth; i++)
    aicr_buf_adds(b, mixed && i % 2 ? "{\"k\":" : "[");
  aicr_buf_adds(b, "1");
  for (size_t i = depth; i > 0; i--)
    aicr_buf_addc(b, mixed && (i - 1) % 2 ? '}' : ']');
  assert_false(b->failed);
}

static const struct {
  size_t depth;
  unsigned limit;
  bool ok;
} depths[] = {
    {63, AICR_JSON_DEPTH_ANNOTATION, true},
    {64, AICR_JSON_DEPTH_ANNOTATION, true},
    {65, AICR_JSON_DEPTH_ANNOTATION, false},
    {255, AICR_JSON_DEPTH, true},
    {256, AICR_JSON_DEPTH, true},
    {257, AICR_JSON_DEPTH, false},
    {300, AICR_JSON_DEPTH, false},
    {10000, AICR_JSON_DEPTH, false},
    {10000, AICR_JSON_DEPTH_ANNOTATION, false},
    /* a higher limit than there is room for */
    {256, 10000, true},
    {257, 10000, false},
    {1, 1, true},
    {2, 1, false},
    {0, 0, true},
    {1, 0, false},
};

static void test_depths(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(depths); i++) {
    for (int mixed = 0; mixed < 2; mixed++) {
      struct aicr_error err;
      struct aicr_buf b;

      nest(&b, depths[i].depth, mixed);
      assert_int_equal(aicr_json_check(b.data, b.len, AICR_JSON_STRICT,
                                       depths[i].limit, &err),
                       depths[i].ok);
      if (!depths[i].ok) {
        assert_string_equal(err.reason, "malformed");
        assert_non_null(strstr(err.message, "nested too deep"));
      }
      aicr_buf_free(&b);
    }
  }
}

static void test_depth_is_counted(void **state)
{
  static const unsigned wanted[] = {1, 1, 2, 2, 1, 1, 0, 0};
  static const char text[] = "[1,[2],3]";
  struct aicr_json_reader r;

  (void)state;
  aicr_json_init(&r, AICR_JSON_STRICT, 64);
  aicr_json_feed(&r, text, strlen(text));
  aicr_json_finish(&r);
  for (size_t i = 0; i < COUNT(wanted); i++) {
    aicr_json_next(&r);
    assert_int_equal(r.depth, wanted[i]);
  }
  assert_int_equal(aicr_json_next(&r), AICR_JSON_END);
  assert_int_equal(r.offset, strlen(text));
  aicr_json_free(&r);
}

static void test_plain_strings_are_not_copied(void **state)
{
  static const char text[] = "[\"plain\",\"é→😀\"]";
  struct aicr_json_reader r;

  (void)state;
  aicr_json_init(&r, AICR_JSON_STRICT, 64);
  aicr_json_feed(&r, text, strlen(text));
  aicr_json_finish(&r);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_ARRAY_BEGIN);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_STRING);
  assert_ptr_equal(r.text, text + 2);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_STRING);
  assert_ptr_equal(r.text, text + 10);
  assert_int_equal(aicr_json_next(&r), AICR_JSON_ARRAY_END);
  assert_null(r.scratch.data);
  aicr_json_free(&r);
}

static void add_texts(struct rows *r)
{
  struct aicr_quoted q;

  for (size_t i = 0; i < COUNT(accepted); i++)
    add_row(r, "accepts", aicr_quote(&q, accepted[i].text, accepted[i].len),
            test_accepted, &accepted[i]);
  for (size_t i = 0; i < COUNT(rejected); i++)
    add_row(r, "rejects", aicr_quote(&q, rejected[i].text, rejected[i].len),
            test_rejected, &rejected[i]);
  for (size_t i = 0; i < COUNT(unicode); i++)
    add_row(r, "bad unicode", aicr_quote(&q, unicode[i].text, unicode[i].len),
            test_unicode, &unicode[i]);
}

int main(void)
{
  static const struct {
    const char *name;
    CMUnitTestFunction test;
  } tests[] = {
      {"numbers out of range", test_numbers_out_of_range},
      {"depth limits", test_depths},
      {"depth is counted", test_depth_is_counted},
      {"plain strings are not copied", test_plain_strings_are_not_copied},
  };
  struct rows r = {NULL, 0};

  add_texts(&r);
  for (size_t i = 0; i < COUNT(tests); i++)
    add_row(&r, "reader", tests[i].name, tests[i].test, NULL);
  return run_rows(&r, "json_reader");
}
