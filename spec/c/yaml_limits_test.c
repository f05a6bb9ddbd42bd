/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds a YAML text: depth, aliases, lengths, memory. */
#include "core/yaml.h"

#include "rows.h"

#include "torture.h"
#include "yaml_show.h"

static void repeat(struct aicr_buf *b, const char *text, size_t times)
{
  for (size_t i = 0; i < times; i++)
    aicr_buf_adds(b, text);
}

static void expect_yaml(const struct aicr_buf *text, const char *prefix)
{
  for (int s = AICR_YAML_RECIPE; s <= AICR_YAML_KUBERNETES; s++) {
    struct aicr_buf out;

    aicr_buf_init(&out, SIZE_MAX);
    show_yaml(&out, text->data, text->len, (enum aicr_yaml_schema)s);
    if (strncmp(out.data, prefix, strlen(prefix)) != 0)
      fail_msg("%.200s", out.data);
    aicr_buf_free(&out);
  }
}

static void test_depth(void **state)
{
  static const struct {
    const char *open, *value, *close;
  } kinds[] = {
      {"[", "1", "]"},
      {"{a: ", "1", "}"},
      {"- ", "1\n", ""},
      {"? ", "1\n", ""},
  };

  (void)state;
  for (size_t k = 0; k < 2; k++) {
    for (size_t depth = 99; depth <= 101; depth++) {
      struct aicr_buf text;

      aicr_buf_init(&text, SIZE_MAX);
      repeat(&text, kinds[k].open, depth);
      aicr_buf_adds(&text, kinds[k].value);
      repeat(&text, kinds[k].close, depth);
      if (depth > AICR_YAML_DEPTH)
        expect_yaml(&text, "!too-deep line 1: ");
      else
        expect_yaml(&text, k ? "{\"a\":{" : "[[[");
      aicr_buf_free(&text);
    }
  }
  /* Given up before it costs. */
  for (size_t k = 0; k < COUNT(kinds); k++) {
    struct aicr_buf text;

    aicr_buf_init(&text, SIZE_MAX);
    repeat(&text, kinds[k].open, 1000000);
    expect_yaml(&text, "!too-deep line 1: ");
    aicr_buf_free(&text);
  }
}

/* Aliases that add up to more levels than a text may have. */
static void test_depth_through_aliases(void **state)
{
  (void)state;
  for (size_t depth = 49; depth <= 51; depth++) {
    struct aicr_buf text;

    aicr_buf_init(&text, SIZE_MAX);
    aicr_buf_adds(&text, "- &x ");
    repeat(&text, "[", 50);
    repeat(&text, "]", 50);
    aicr_buf_adds(&text, "\n- ");
    repeat(&text, "[", depth - 1);
    aicr_buf_adds(&text, "*x");
    repeat(&text, "]", depth - 1);
    expect_yaml(&text, depth > 50 ? "!too-deep line 1: " : "[[");
    aicr_buf_free(&text);
  }
}

/* Mappings that merge one another count as levels, too. */
static void test_depth_through_merges(void **state)
{
  (void)state;
  for (int count = 99; count <= 101; count++) {
    struct aicr_buf text;

    aicr_buf_init(&text, SIZE_MAX);
    aicr_buf_adds(&text, "- &a1 {k: 1}\n");
    for (int i = 2; i < count; i++)
      aicr_buf_addf(&text, "- &a%d {<<: *a%d}\n", i, i - 1);
    expect_yaml(&text,
                count > 100 ? "!too-deep line 1: " : "[{\"k\":1},{\"k\":1},");
    aicr_buf_free(&text);
  }
}

/* K40: nine levels of nine, as sequences, mappings and merges. */
static void test_alias_bombs(void **state)
{
  static const struct {
    const char *first, *open, *close;
  } bombs[] = {
      {"[x,x,x,x,x,x,x,x,x]", "[", "]"},
      {"{a: 1}", "{", "}"},
      {"{a: 1}", "{<<: [", "]}"},
      {"{}", "{<<: [", "]}"},
  };

  (void)state;
  for (size_t b = 0; b < COUNT(bombs); b++) {
    struct aicr_buf text;

    aicr_buf_init(&text, SIZE_MAX);
    aicr_buf_addf(&text, "a0: &a0 %s\n", bombs[b].first);
    for (int level = 1; level <= 9; level++) {
      aicr_buf_addf(&text, "a%d: &a%d %s", level, level, bombs[b].open);
      for (int i = 0; i < 9; i++) {
        if (strcmp(bombs[b].open, "{") == 0)
          aicr_buf_addf(&text, "k%d: *a%d,", i, level - 1);
        else
          aicr_buf_addf(&text, "*a%d,", level - 1);
      }
      aicr_buf_addf(&text, "%s\n", bombs[b].close);
    }
    expect_yaml(&text, "!alias-bomb line ");
    aicr_buf_free(&text);
  }
}

/* A document of n nodes may expand to 100 n, not to more. */
static void test_alias_budget(void **state)
{
  (void)state;
  for (int extra = 0; extra < 2; extra++) {
    /* n aliases: 397 + n nodes, 397 + 396 n of which are visited. */
    struct aicr_buf text;

    aicr_buf_init(&text, SIZE_MAX);
    aicr_buf_adds(&text, "[&x [");
    repeat(&text, "1,", 395);
    aicr_buf_adds(&text, "],");
    repeat(&text, "*x,", extra ? 133 : 132);
    aicr_buf_adds(&text, "]");
    expect_yaml(&text, extra ? "!alias-bomb line 1: " : "[[1,1,");
    aicr_buf_free(&text);
  }
}

static void test_many_anchors(void **state)
{
  struct aicr_buf text;

  (void)state;
  aicr_buf_init(&text, SIZE_MAX);
  for (int i = 0; i < 20000; i++)
    aicr_buf_addf(&text, "- &a%d %d\n- *a%d\n", i, i, i / 2);
  expect_yaml(&text, "[0,0,1,0,2,1,3,1,4,2,");
  aicr_buf_free(&text);
}

/* A mapping with many keys, in the worst order for a naive look-up. */
static void test_many_keys(void **state)
{
  struct aicr_buf text;

  (void)state;
  aicr_buf_init(&text, SIZE_MAX);
  for (int i = 100000; i > 0; i--)
    aicr_buf_addf(&text, "k%d: 1\n", i);
  expect_yaml(&text, "{\"k100000\":1,\"k99999\":1,");
  aicr_buf_free(&text);
}

static void test_too_large(void **state)
{
  struct aicr_yaml y;
  struct aicr_error err;

  (void)state;
  /* Refused by its length: no byte is looked at. */
  assert_false(aicr_yaml_open(&y, "", (size_t)AICR_YAML_SIZE_MAX + 1,
                              AICR_YAML_RECIPE, &err));
  assert_string_equal(err.reason, "malformed");
  aicr_yaml_close(&y);
}

/* The bound of the buffer, and one less; what was there before stays. */
static void test_output_bound(void **state)
{
  static const char text[] = "a: [xx, 1]";
  static const char wanted[] = "before{\"a\":[\"xx\",1]}";

  (void)state;
  for (size_t max = 6; max <= strlen(wanted); max++) {
    struct aicr_yaml y;
    struct aicr_error err;
    struct aicr_buf json;
    bool end = true, ok;

    aicr_buf_init(&json, max);
    aicr_buf_adds(&json, "before");
    assert_true(aicr_yaml_open(&y, text, strlen(text), AICR_YAML_RECIPE, &err));
    ok = aicr_yaml_next(&y, &json, &end, &err);
    assert_int_equal(ok, max == strlen(wanted));
    assert_false(end);
    if (!ok) {
      assert_string_equal(err.reason, "too-large");
      assert_string_equal(json.data, "before");
    } else {
      assert_string_equal(json.data, wanted);
    }
    aicr_yaml_close(&y);
    aicr_buf_free(&json);
  }
}

static void test_end_is_said_again(void **state)
{
  struct aicr_yaml y;
  struct aicr_error err;
  struct aicr_buf json;
  bool end = false;

  (void)state;
  aicr_buf_init(&json, 100);
  assert_true(aicr_yaml_open(&y, "a", 1, AICR_YAML_RECIPE, &err));
  assert_true(aicr_yaml_next(&y, &json, &end, &err));
  assert_false(end);
  for (int i = 0; i < 3; i++) {
    assert_true(aicr_yaml_next(&y, &json, &end, &err));
    assert_true(end);
  }
  assert_string_equal(json.data, "\"a\"");
  assert_int_equal(y.documents, 1);
  aicr_yaml_close(&y);
  aicr_yaml_close(&y);
  aicr_buf_free(&json);
}

static bool read_all(void *arg)
{
  static const char text[] =
      "a: &a {x: 1, y: [1, 2.5, long text that needs its own memory]}\n"
      "1: {<<: *a, true: b, c: d, e: f}\n"
      "anchors: [&b 1, &c 1, &d 1, &e 1, &f 1, &g 1, &h 1, &i 1, &j 1]\n"
      "many: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,"
      " 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  enum aicr_yaml_schema schema = AICR_YAML_KUBERNETES;
  struct aicr_yaml y;
  struct aicr_error err;
  struct aicr_buf json;
  bool end = false, ok;

  (void)arg;
  aicr_buf_init(&json, 10000);
  ok = aicr_yaml_open(&y, text, strlen(text), schema, &err) &&
       aicr_yaml_next(&y, &json, &end, &err);
  if (!ok) {
    assert_int_equal(err.code, AICR_INTERNAL);
    assert_string_equal(err.reason, "memory");
  }
  aicr_yaml_close(&y);
  aicr_buf_free(&json);
  return ok;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_true(torture(read_all, NULL) >= 8);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_depth_through_aliases),
      cmocka_unit_test(test_depth_through_merges),
      cmocka_unit_test(test_alias_bombs),
      cmocka_unit_test(test_alias_budget),
      cmocka_unit_test(test_many_anchors),
      cmocka_unit_test(test_many_keys),
      cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_output_bound),
      cmocka_unit_test(test_end_is_said_again),
      cmocka_unit_test(test_no_memory),
  };

  return cmocka_run_group_tests_name("yaml_limits", tests, NULL, NULL);
}
