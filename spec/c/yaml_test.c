/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"
#include "core/yaml.h"

#include "rows.h"

#include "yaml_show.h"

struct scalar {
  const char *text, *recipe, *kubernetes;
};

static const struct scalar scalars[] = {
    {"", "null", "null"},
    {"~", "null", "null"},
    {"null", "null", "null"},
    {"Null", "null", "null"},
    {"NULL", "null", "null"},
    {"nULL", "\"nULL\"", "\"nULL\""},
    {"true", "true", "true"},
    {"True", "true", "true"},
    {"TRUE", "true", "true"},
    {"tRUE", "\"tRUE\"", "\"tRUE\""},
    {"false", "false", "false"},
    {"False", "false", "false"},
    {"FALSE", "false", "false"},
    {"yes", "\"yes\"", "true"},
    {"Yes", "\"Yes\"", "true"},
    {"YES", "\"YES\"", "true"},
    {"yEs", "\"yEs\"", "\"yEs\""},
    {"y", "\"y\"", "true"},
    {"Y", "\"Y\"", "true"},
    {"on", "\"on\"", "true"},
    {"On", "\"On\"", "true"},
    {"ON", "\"ON\"", "true"},
    {"no", "\"no\"", "false"},
    {"No", "\"No\"", "false"},
    {"NO", "\"NO\"", "false"},
    {"n", "\"n\"", "false"},
    {"N", "\"N\"", "false"},
    {"off", "\"off\"", "false"},
    {"Off", "\"Off\"", "false"},
    {"OFF", "\"OFF\"", "false"},
    {"0", "0", "0"},
    {"-0", "0", "0"},
    {"+5", "5", "5"},
    {"-5", "-5", "-5"},
    {"010", "8", "8"},
    {"-010", "-8", "-8"},
    {"08", "8.0", "8"},
    {"0o17", "15", "15"},
    {"0x1f", "31", "31"},
    {"0X1F", "31", "31"},
    {"-0x1F", "-31", "-31"},
    {"0b101", "5", "5"},
    {"0b2", "\"0b2\"", "\"0b2\""},
    {"0o8", "\"0o8\"", "\"0o8\""},
    {"0xg", "\"0xg\"", "\"0xg\""},
    {"0x", "\"0x\"", "\"0x\""},
    {"1_000", "1000", "1000"},
    {"-1_0", "-10", "-10"},
    {"_1", "\"_1\"", "\"_1\""},
    {"9007199254740993", "9007199254740993", "9007199254740993"},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775808", "9223372036854775808", "9223372036854775808"},
    {"18446744073709551615", "18446744073709551615", "18446744073709551615"},
    {"18446744073709551616", "1.8446744073709552e+19",
     "1.8446744073709552e+19"},
    {"-9223372036854775809", "-9.223372036854776e+18",
     "-9.223372036854776e+18"},
    {"0xFFFFFFFFFFFFFFFF", "18446744073709551615", "18446744073709551615"},
    {"0x10000000000000000", "\"0x10000000000000000\"",
     "\"0x10000000000000000\""},
    {"1.5", "1.5", "1.5"},
    {"1.0", "1.0", "1"},
    {"1e3", "1000.0", "1000"},
    {"1E+3", "1000.0", "1000"},
    {"1e-3", "0.001", "0.001"},
    {".5", "0.5", "0.5"},
    {"-.5", "-0.5", "-0.5"},
    {"5.", "5.0", "5"},
    {".5_0", "0.5", "0.5"},
    {"._5", "\"._5\"", "\"._5\""},
    {".5_", "\".5_\"", "\".5_\""},
    {"1e16", "1e+16", "1e+16"},
    {"1e400", "\"1e400\"", "\"1e400\""},
    {".inf", "\".inf\"", "\".inf\""},
    {"-.inf", "\"-.inf\"", "\"-.inf\""},
    {".nan", "\".nan\"", "\".nan\""},
    {"inf", "\"inf\"", "\"inf\""},
    {"nan", "\"nan\"", "\"nan\""},
    {"0x1p3", "\"0x1p3\"", "\"0x1p3\""},
    {"1.2.3", "\"1.2.3\"", "\"1.2.3\""},
    {"1.30-gke", "\"1.30-gke\"", "\"1.30-gke\""},
    {"+", "\"+\"", "\"+\""},
    {".", "\".\"", "\".\""},
    {"12:30:45", "\"12:30:45\"", "\"12:30:45\""},
    {"2025-01-01", "\"2025-01-01\"", "\"2025-01-01\""},
    {"2025-01-01T00:00:00Z", "\"2025-01-01T00:00:00Z\"",
     "\"2025-01-01T00:00:00Z\""},
    {">= 1.32", "!", "!"},
    {"'>= 1.32'", "\">= 1.32\"", "\">= 1.32\""},
    {"<<", "\"<<\"", "\"<<\""},
    {"'5'", "\"5\"", "\"5\""},
    {"\"true\"", "\"true\"", "\"true\""},
    {"''", "\"\"", "\"\""},
    {"\"\\0\\u00e9\\U0001F600\"", "\"\\u0000é😀\"", "\"\\u0000é😀\""},
    {"!!str 5", "\"5\"", "\"5\""},
    {"!!str", "\"\"", "\"\""},
    {"! '5'", "\"5\"", "\"5\""},
    {"!!int '5'", "5", "5"},
    {"!!int 5.5", "!", "!"},
    {"!!int x", "!", "!"},
    {"!!float 5", "5.0", "5"},
    {"!!float 18446744073709551615", "1.8446744073709552e+19",
     "1.8446744073709552e+19"},
    {"!!float 1.5", "1.5", "1.5"},
    {"!!float x", "!", "!"},
    {"!!bool true", "true", "true"},
    {"!!bool yes", "!", "true"},
    {"!!bool 1", "!", "!"},
    {"!!null ~", "null", "null"},
    {"!!null x", "!", "!"},
    {"!!timestamp 2025-01-01", "\"2025-01-01\"", "\"2025-01-01\""},
    {"!!map x", "!", "!"},
    {"!!seq x", "!", "!"},
    {"!!binary aGk=", "!", "!"},
    {"!local x", "!", "!"},
    {"!<tag:yaml.org,2002:int> 7", "7", "7"},
};

static void check_scalar(const char *text, const char *wanted,
                         enum aicr_yaml_schema schema)
{
  struct aicr_buf out;
  char yaml[128], json[128];

  aicr_buf_init(&out, SIZE_MAX);
  snprintf(yaml, sizeof(yaml), "- %s\n", text);
  snprintf(json, sizeof(json), "[%s]", wanted);
  show_yaml(&out, yaml, strlen(yaml), schema);
  if (wanted[0] != '!')
    assert_string_equal(out.data, json);
  else if (strncmp(out.data, "!malformed line ", 16) != 0)
    fail_msg("%s", out.data);
  aicr_buf_free(&out);
}

static void test_scalars(void **state)
{
  const struct scalar *row = *state;

  check_scalar(row->text, row->recipe, AICR_YAML_RECIPE);
  check_scalar(row->text, row->kubernetes, AICR_YAML_KUBERNETES);
}

struct document {
  const char *text, *recipe;
  const char *kubernetes; /* NULL: the same */
};

static const struct document documents[] = {
    {"", "", NULL},
    {"# nothing\n", "", NULL},
    {"---\n", "null", NULL},
    {"--- a\n--- b\n...\n--- c\n", "\"a\" --- \"b\" --- \"c\"", NULL},
    {"a: 1\nb: [x, {c: d}]\n", "{\"a\":1,\"b\":[\"x\",{\"c\":\"d\"}]}", NULL},
    {"\xEF\xBB\xBF"
     "a: b\r\nc: d\r\n",
     "{\"a\":\"b\",\"c\":\"d\"}", NULL},
    {"\xEF\xBB\xBF", "", NULL},
    {"{\"a\": {\"b\": [1, 2.5, null, true, \"\\u00e9\"]}}",
     "{\"a\":{\"b\":[1,2.5,null,true,\"é\"]}}", NULL},
    {"a: |\n  x\n  y\nb: >-\n  x\n  y\nc: |\n  5\n",
     "{\"a\":\"x\\ny\\n\",\"b\":\"x y\",\"c\":\"5\\n\"}", NULL},
    {"z: 1\na: 2\nm: 3\n", "{\"z\":1,\"a\":2,\"m\":3}", NULL},
    {"[]", "[]", NULL},
    {"{}", "{}", NULL},
    {"- - 1\n  - 2\n- \n", "[[1,2],null]", NULL},
    {"!!map {a: !!seq [1]}", "{\"a\":[1]}", NULL},
    {"%YAML 1.1\n---\na: 1\n", "{\"a\":1}", NULL},
    {"enabled: no\n", "{\"enabled\":\"no\"}", "{\"enabled\":false}"},
    /* keys */
    {"1: a\n0x10: b\ntrue: c\n1.50: d\n2025-01-01: e\n",
     "{\"1\":\"a\",\"0x10\":\"b\",\"true\":\"c\",\"1.50\":\"d\","
     "\"2025-01-01\":\"e\"}",
     "{\"1\":\"a\",\"16\":\"b\",\"true\":\"c\",\"1.50\":\"d\","
     "\"2025-01-01\":\"e\"}"},
    {"yes: a\noff: b\n18446744073709551615: c\n",
     "{\"yes\":\"a\",\"off\":\"b\",\"18446744073709551615\":\"c\"}",
     "{\"true\":\"a\",\"false\":\"b\",\"18446744073709551615\":\"c\"}"},
    {"? a\n: 1\n? \"b\\0c\"\n: 2\n", "{\"a\":1,\"b\\u0000c\":2}", NULL},
    {"~: 1\n", "{\"~\":1}", "!malformed line 1: a key is null"},
    {"?\n: 1\n", "{\"\":1}", "!malformed line 1: a key is null"},
    {": 1\n",
     "!malformed line 1: while parsing a block mapping did not find expected "
     "key",
     NULL},
    {"x: 0\n? [1]\n: 2\n", "!malformed line 2: a key is not a scalar", NULL},
    {"? {a: 1}\n: 2\n", "!malformed line 1: a key is not a scalar", NULL},
    {"!!int x: 1\n", "!malformed line 1: \"x\" is not what its tag says", NULL},
    /* repeated keys */
    {"a: 1\nb: 2\na: 3\n",
     "!duplicate-key line 3: the key \"a\" is already on line 1",
     "{\"b\":2,\"a\":3}"},
    {"x:\n  a: 1\n  'a': 2\n",
     "!duplicate-key line 3: the key \"a\" is already on line 2",
     "{\"x\":{\"a\":2}}"},
    {"1: a\n'1': b\n",
     "!duplicate-key line 2: the key \"1\" is already on line 1",
     "{\"1\":\"b\"}"},
    {"8: a\n010: b\n", "{\"8\":\"a\",\"010\":\"b\"}", "{\"8\":\"b\"}"},
    {"a: 1\nA: 2\naa: 3\n", "{\"a\":1,\"A\":2,\"aa\":3}", NULL},
    {"\"a\\0\": 1\na: 2\n", "{\"a\\u0000\":1,\"a\":2}", NULL},
    /* anchors */
    {"a: &x [1, {b: c}]\nd: *x\n",
     "{\"a\":[1,{\"b\":\"c\"}],\"d\":[1,"
     "{\"b\":\"c\"}]}",
     NULL},
    {"a: &x 010\nb: *x\n*x : c\n", "{\"a\":8,\"b\":8,\"010\":\"c\"}",
     "{\"a\":8,\"b\":8,\"8\":\"c\"}"},
    {"a: &x 1\nb: *x\nc: &x 2\nd: *x\n", "{\"a\":1,\"b\":1,\"c\":2,\"d\":2}",
     NULL},
    {"a: &x\nb: *x\n", "{\"a\":null,\"b\":null}", NULL},
    {"a: *x\n", "!malformed line 1: no anchor \"x\" before this alias", NULL},
    {"a: &x 1\n---\nb: *x\n",
     "{\"a\":1}!malformed line 3: no anchor \"x\" before this alias", NULL},
    {"&x [*x]", "!malformed line 1: the alias \"x\" is part of its own value",
     NULL},
    {"a: &x\n  b: {c: *x}\n",
     "!malformed line 2: the alias \"x\" is part of its own value", NULL},
    /* merge keys */
    {"a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n",
     "{\"a\":{\"k\":1,\"l\":2},\"b\":{\"k\":3,\"l\":2}}", NULL},
    {"b: {k: 3, <<: {k: 1, l: 2}}\n", "{\"b\":{\"k\":3,\"l\":2}}", NULL},
    {"b: {<<: [{k: 1}, {k: 2, m: 3}], z: 0}\n",
     "{\"b\":{\"z\":0,\"k\":1,\"m\":3}}", NULL},
    {"a: &x {<<: {k: 1}, l: 2}\nb: {<<: *x}\n",
     "{\"a\":{\"l\":2,\"k\":1},\"b\":{\"l\":2,\"k\":1}}", NULL},
    {"b: {!!merge x: {k: 1}}\n", "{\"b\":{\"k\":1}}", NULL},
    {"b: {'<<': 1}\n", "{\"b\":{\"<<\":1}}", NULL},
    {"b: {<<: []}\n", "{\"b\":{}}", NULL},
    {"b: {<<: 1}\n", "!malformed line 1: only mappings can be merged", NULL},
    {"b:\n  <<: [1]\n", "!malformed line 2: only mappings can be merged", NULL},
    {"b: {<<: {k: 1},\n  <<: {l: 1}}\n",
     "!duplicate-key line 2: a second merge key \"<<\"",
     "{\"b\":{\"k\":1,\"l\":1}}"},
    /* what is no YAML */
    {"a: 1\nb: [1\n",
     "!malformed line 3: while parsing a flow sequence did "
     "not find expected ',' or ']'",
     NULL},
    {"a: b: c\n",
     "!malformed line 1: mapping values are not allowed in this context", NULL},
    {"a:\n\tb: 1\n",
     "!malformed line 2: while scanning for the next token "
     "found character that cannot start any token",
     NULL},
    {"a: 1\n- b\n",
     "!malformed line 2: while parsing a block mapping did not "
     "find expected key",
     NULL},
    {"a: \"x\n",
     "!malformed line 2: while scanning a quoted scalar found "
     "unexpected end of stream",
     NULL},
    {"a: 1\nb: \x01\n", "!malformed line 2: control characters are not allowed",
     NULL},
    {"a: 1\nb: \xFF\n", "!malformed line 2: the text is not valid UTF-8", NULL},
    {"a: \xED\xA0\x80\n", "!malformed line 1: the text is not valid UTF-8",
     NULL},
    {"\xFF\xFE-\0", "!malformed line 1: the text is not valid UTF-8", NULL},
    {"a: 1\nb: !foo 2\n", "!malformed line 2: unknown tag \"!foo\"", NULL},
    {"a: !!set {x}\n",
     "!malformed line 1: unknown tag \"tag:yaml.org,2002:set\"", NULL},
    {"a: !!seq {x: 1}\n",
     "!malformed line 1: another type's tag on a collection", NULL},
    {"a: !!str [1]\n", "!malformed line 1: another type's tag on a collection",
     NULL},
    {"a: @x\n",
     "!malformed line 1: while scanning for the next token found "
     "character that cannot start any token",
     NULL},
};

static void test_documents(void **state)
{
  const struct document *row = *state;

  for (int s = AICR_YAML_RECIPE; s <= AICR_YAML_KUBERNETES; s++) {
    const char *wanted = row->recipe;
    size_t len = strlen(row->text);
    char *copy = malloc(len + 1);
    struct aicr_buf out;

    /* An exact copy, so that a read past the end is seen. */
    assert_non_null(copy);
    memcpy(copy, row->text, len);
    if (s == AICR_YAML_KUBERNETES && row->kubernetes)
      wanted = row->kubernetes;
    aicr_buf_init(&out, SIZE_MAX);
    show_yaml(&out, copy, len, (enum aicr_yaml_schema)s);
    assert_string_equal(out.data ? out.data : "", wanted);
    aicr_buf_free(&out);
    free(copy);
  }
}

/* Whatever a text is cut to, the answer is JSON or an error with a line. */
static void test_truncated_at_every_byte(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(documents); i++) {
    for (size_t cut = 0; cut < strlen(documents[i].text); cut++) {
      struct aicr_buf out;
      const char *error;

      aicr_buf_init(&out, SIZE_MAX);
      show_yaml(&out, documents[i].text, cut, AICR_YAML_RECIPE);
      error = out.data ? strchr(out.data, '!') : NULL;
      if (error && strncmp(error, "!malformed line ", 16) != 0 &&
          strncmp(error, "!duplicate-key line ", 20) != 0)
        fail_msg("%s", out.data);
      aicr_buf_free(&out);
    }
  }
}

int main(void)
{
  struct rows r = {NULL, 0};
  struct aicr_quoted q;

  for (size_t i = 0; i < COUNT(scalars); i++)
    add_row(&r, "scalar",
            aicr_quote(&q, scalars[i].text, strlen(scalars[i].text)),
            test_scalars, &scalars[i]);
  for (size_t i = 0; i < COUNT(documents); i++)
    add_row(&r, "document",
            aicr_quote(&q, documents[i].text, strlen(documents[i].text)),
            test_documents, &documents[i]);
  add_row(&r, "yaml", "truncated at every byte", test_truncated_at_every_byte,
          NULL);
  return run_rows(&r, "yaml");
}
