/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_list.h"
#include "core/text.h"

#include "rows.h"
#include "torture.h"

static bool says_something(const struct aicr_json_identity *id)
{
  return id->kind[0] || id->api_version[0] || id->ns[0] || id->name[0];
}

/* Cuts a text that comes in the chunks that end at cuts[0], cuts[1] and its
 * own end. Shown as items, each in <>, behind it in () what it says of itself,
 * then kind|apiVersion|resourceVersion|
 * continue|count, "none" without items; or !reason. */
static void show_list(struct aicr_buf *out, const char *text, size_t len,
                      const size_t cuts[2])
{
  size_t ends[3] = {cuts[0], cuts[1], len};
  enum aicr_json_list_result result;
  struct aicr_json_list l;
  char *chunk = NULL;
  size_t next = 0, at = 0;

  aicr_json_list_init(&l);
  do {
    result = aicr_json_list_next(&l);
    if (result == AICR_LIST_ITEM) {
      aicr_buf_addf(out, "<%.*s>", (int)l.item_len, l.item);
      if (says_something(&l.id))
        aicr_buf_addf(out, "(%s|%s|%s|%s)", l.id.kind, l.id.api_version,
                      l.id.ns, l.id.name);
    } else if (result == AICR_LIST_MORE && next == COUNT(ends)) {
      aicr_json_finish(&l.reader);
    } else if (result == AICR_LIST_MORE) {
      /* Asking again changes nothing. */
      assert_int_equal(aicr_json_list_next(&l), AICR_LIST_MORE);
      free(chunk);
      chunk = malloc(ends[next] - at + 1);
      assert_non_null(chunk);
      memcpy(chunk, text + at, ends[next] - at);
      aicr_json_feed(&l.reader, chunk, ends[next] - at);
      at = ends[next++];
    }
  } while (result == AICR_LIST_ITEM || result == AICR_LIST_MORE);
  if (result == AICR_LIST_ERROR)
    aicr_buf_addf(out, "!%s@%zu", l.reader.error.reason, l.reader.offset);
  else
    aicr_buf_addf(out, " %s|%s|%s|%s|%zu%s", l.kind, l.api_version,
                  l.resource_version, l.next_page ? l.next_page : "NULL",
                  l.count, l.has_items ? "" : " none");
  if (l.remaining != 0)
    aicr_buf_addf(out, " and %lld", (long long)l.remaining);
  assert_int_equal(aicr_json_list_next(&l), result);
  aicr_json_list_free(&l);
  free(chunk);
}

struct list {
  const char *text, *shown;
};

#define ITEM(text, id)                                                         \
  {                                                                            \
    "{\"items\":[" text "]}", "<" text ">" id " |||NULL|1"                     \
  }

static const struct list lists[] = {
    ITEM("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"namespace\":\"s\"}}",
         "(||s|n)"),
    ITEM("{\"kind\":\"K\",\"spec\":{\"name\":\"x\",\"kind\":\"y\"},"
         "\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"name\":\"x\"},"
         "\"name\":\"n\"}}",
         "(K|v1||n)"),
    ITEM("{\"m\\u0065tadata\":{\"name\":\"\\u006e\"},\"kind\":\"K\","
         "\"kind\":7}",
         "(|||n)"),
    ITEM("{\"metadata\":{\"name\":\"n\"},\"metadata\":{\"namespace\":\"s\"}}",
         "(||s|)"),
    ITEM("{\"metadata\":{\"name\":\"n\",\"name\":{\"name\":\"x\"}},"
         "\"kind\":{\"kind\":\"K\"}}",
         ""),
    ITEM("{\"metadata\":[{\"name\":\"n\"}],\"kind\":[\"K\"]}", ""),
    ITEM("[{\"metadata\":{\"name\":\"n\"}},\"kind\",\"K\"]", ""),
    {"{\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{}},{\"name\":"
     "\"b\","
     "\"kind\":\"K\"}]}",
     "<{\"metadata\":{\"name\":\"a\"}}>(|||a)<{\"metadata\":{}}><{\"name\":"
     "\"b\","
     "\"kind\":\"K\"}>(K|||) |||NULL|3"},
    {"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":"
     "{\"resourceVersion\":\"42\",\"continue\":\"abc\"},"
     "\"items\":[{\"a\":1},{\"b\":[{}]}]}",
     "<{\"a\":1}><{\"b\":[{}]}> PodList|v1|42|abc|2"},
    /* any order, W26 */
    {"{\"items\":[{}],\"metadata\":{\"continue\":\"x\"},\"kind\":\"L\"}",
     "<{}> L|||x|1"},
    {" { \"items\" : [ { \"a\" : [ 1 , 2 ] } , { } ] } ",
     "<{ \"a\" : [ 1 , 2 ] }><{ }> |||NULL|2"},
    {"{\"items\":[]}", " |||NULL|0"},
    {"{\"items\":null}", " |||NULL|0"},
    {"{}", " |||NULL|0 none"},
    {"{\"kind\":\"Status\"}", " Status|||NULL|0 none"},
    {"{\"kind\":null,\"apiVersion\":null,\"metadata\":null,\"items\":[]}",
     " |||NULL|0"},
    {"{\"metadata\":{\"resourceVersion\":null,\"continue\":null},"
     "\"items\":[]}",
     " |||NULL|0"},
    {"{\"metadata\":{\"continue\":\"\"},\"items\":[]}", " |||NULL|0"},
    {"{\"kind\":\"A\",\"kind\":\"B\",\"metadata\":{\"continue\":\"x\","
     "\"continue\":\"yz\"},\"items\":[]}",
     " B|||yz|0"},
    {"{\"metadata\":{\"continue\":\"x\",\"continue\":\"\"},\"items\":[]}",
     " |||NULL|0"},
    {"{\"metadata\":{\"continue\":\"x\"},\"metadata\":{\"resourceVersion\":"
     "\"7\"},\"items\":[]}",
     " ||7|x|0"},
    /* items that are no objects are cut as they are */
    {"{\"items\":[1,\"a]}\",null,true,[],[[1],2],-1.5e3]}",
     "<1><\"a]}\"><null><true><[]><[[1],2]><-1.5e3> |||NULL|7"},
    {"{\"items\":[12,345 , 6]}", "<12><345><6> |||NULL|3"},
    {"{\"items\":[{\"s\":\"\\\"}]\\u00e9é\"}]}",
     "<{\"s\":\"\\\"}]\\u00e9é\"}> |||NULL|1"},
    /* names of the list's members elsewhere mean nothing */
    {"{\"x\":{\"items\":[1],\"kind\":\"no\"},\"metadata\":{\"items\":[1],"
     "\"y\":{\"continue\":\"no\"},\"z\":[{}],\"n\":1},\"items\":[{\"items\":"
     "[1],\"kind\":\"no\"}],\"w\":[[]],\"v\":1}",
     "<{\"items\":[1],\"kind\":\"no\"}>(no|||) |||NULL|1"},
    {"{\"Items\":[1],\"KIND\":2,\"items\":[]}", " |||NULL|0"},
    {"{\"\\u0069tems\":[{}]}", "<{}> |||NULL|1"},
    {"{\"kind\":\"Pod\\u004cist\",\"items\":[]}", " PodList|||NULL|0"},

    {"{\"metadata\":{\"remainingItemCount\":null},\"items\":[]}", " |||NULL|0"},
    {"{\"metadata\":{\"remainingItemCount\":7},\"items\":[]}",
     " |||NULL|0 and 7"},
    {"{\"metadata\":{\"remainingItemCount\":1.5}}", "!malformed@37"},

    {"", "!malformed@0"},
    {"[]", "!malformed@1"},
    {"null", "!malformed@4"},
    {"\"items\"", "!malformed@7"},
    {"{\"items\":{}}", "!malformed@10"},
    {"{\"items\":\"x\"}", "!malformed@12"},
    {"{\"items\":false}", "!malformed@14"},
    {"{\"items\":[{}],\"items\":[{}]}", "<{}>!malformed@23"},
    {"{\"items\":null,\"items\":[]}", "!malformed@23"},
    {"{\"kind\":1}", "!malformed@9"},
    {"{\"kind\":\"a\\u0000b\"}", "!malformed@18"},
    {"{\"apiVersion\":[]}", "!malformed@15"},
    {"{\"metadata\":[]}", "!malformed@13"},
    {"{\"metadata\":{\"resourceVersion\":5}}", "!malformed@32"},
    {"{\"metadata\":{\"continue\":{}}}", "!malformed@25"},
    {"{\"metadata\":{\"continue\":\"a\\u0000\"}}", "!malformed@33"},
    /* what is complete is delivered, then the cut shows */
    {"{\"items\":[{\"a\":1},{\"b\"", "<{\"a\":1}>!malformed@22"},
    {"{\"items\":[{\"a\":1}", "<{\"a\":1}>!malformed@17"},
    {"{\"items\":[{\"a\":1}]", "<{\"a\":1}>!malformed@18"},
    {"{\"items\":[{}]}x", "<{}>!malformed@14"},
    {"{\"items\":[{},]}", "<{}>!malformed@13"},
    {"{\"items\":[{\"a\":01}]}", "!malformed@16"},
    {"{\"items\":[\"\xFF\"]}", "!malformed@11"},
};

/* Every cut in two, and cuts in three. */
static void test_lists(void **state)
{
  const struct list *row = *state;
  size_t len = strlen(row->text);
  size_t step = len < 60 ? 1 : 5;

  for (size_t a = 0; a <= len; a++) {
    for (size_t b = a; b <= len; b += step) {
      size_t cuts[2] = {a, b};
      struct aicr_buf out;

      aicr_buf_init(&out, SIZE_MAX);
      show_list(&out, row->text, len, cuts);
      if (strcmp(out.data, row->shown) != 0)
        fail_msg("cut at %zu and %zu: %s, not %s", a, b, out.data, row->shown);
      aicr_buf_free(&out);
    }
  }
}

/* The longest texts of the fixed members, and one byte more. */
static void test_longest_members(void **state)
{
  static const struct {
    const char *format;
    size_t longest;
  } members[] = {
      {"{\"kind\":\"%s\",\"items\":[]}", 127},
      {"{\"apiVersion\":\"%s\",\"items\":[]}", 191},
      {"{\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[]}", 63},
      {"{\"items\":[{\"kind\":\"%s\"}]}", 127},
      {"{\"items\":[{\"apiVersion\":\"%s\"}]}", 191},
      {"{\"items\":[{\"metadata\":{\"name\":\"%s\"}}]}", 253},
      {"{\"items\":[{\"metadata\":{\"namespace\":\"%s\"}}]}", 63},
  };

  (void)state;
  for (size_t i = 0; i < COUNT(members); i++) {
    for (size_t extra = 0; extra < 2; extra++) {
      char value[256], text[512];
      const size_t whole[2] = {0, 0};
      struct aicr_buf out;
      const char *format = members[i].format;
      size_t at = (size_t)(strstr(format, "%s") - format);

      memset(value, 'v', sizeof(value));
      value[members[i].longest + extra] = '\0';
      snprintf(text, sizeof(text), "%.*s%s%s", (int)at, format, value,
               format + at + 2);
      aicr_buf_init(&out, SIZE_MAX);
      show_list(&out, text, strlen(text), whole);
      assert_int_equal(out.data[0] == '!', extra);
      assert_int_equal(strstr(out.data, value) == NULL, extra);
      aicr_buf_free(&out);
    }
  }
}

/* An item at the limit and over it, in one chunk and cut in two. */
static void test_longest_item(void **state)
{
  static const char head[] = "{\"items\":[[", tail[] = "]]}";
  size_t size = AICR_LIST_ITEM_MAX + 64;
  char *text = malloc(size);

  (void)state;
  assert_non_null(text);
  for (size_t extra = 0; extra < 2; extra++) {
    size_t blanks = AICR_LIST_ITEM_MAX - 2 + extra;
    size_t len = sizeof(head) - 1 + blanks + sizeof(tail) - 1;

    memset(text, ' ', size);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + sizeof(head) - 1 + blanks, tail, sizeof(tail) - 1);
    for (size_t cut = 0; cut < 2; cut++) {
      enum aicr_json_list_result result;
      struct aicr_json_list l;

      aicr_json_list_init(&l);
      aicr_json_feed(&l.reader, text, cut ? len / 2 : len);
      result = aicr_json_list_next(&l);
      if (cut) {
        assert_int_equal(result, AICR_LIST_MORE);
        aicr_json_feed(&l.reader, text + len / 2, len - len / 2);
        result = aicr_json_list_next(&l);
      }
      assert_int_equal(result, extra ? AICR_LIST_ERROR : AICR_LIST_ITEM);
      if (extra)
        assert_string_equal(l.reader.error.reason, "too-large");
      else
        assert_int_equal(l.item_len, AICR_LIST_ITEM_MAX);
      aicr_json_list_free(&l);
    }
  }
  free(text);
}

static void test_items_in_one_chunk_are_not_copied(void **state)
{
  static const char text[] = "{\"items\":[{\"a\":1}]}";
  struct aicr_json_list l;

  (void)state;
  aicr_json_list_init(&l);
  aicr_json_feed(&l.reader, text, strlen(text));
  assert_int_equal(aicr_json_list_next(&l), AICR_LIST_ITEM);
  assert_ptr_equal(l.item, text + 10);
  assert_null(l.raw.data);
  aicr_json_list_free(&l);
}

/* The list itself takes two of the levels. */
static void test_depth(void **state)
{
  (void)state;
  for (size_t depth = AICR_JSON_DEPTH - 3; depth < AICR_JSON_DEPTH; depth++) {
    const size_t whole[2] = {0, 0};
    struct aicr_buf text, out;

    aicr_buf_init(&text, SIZE_MAX);
    aicr_buf_init(&out, SIZE_MAX);
    aicr_buf_adds(&text, "{\"items\":[");
    for (size_t i = 0; i < depth; i++)
      aicr_buf_addc(&text, '[');
    for (size_t i = 0; i < depth; i++)
      aicr_buf_addc(&text, ']');
    aicr_buf_adds(&text, "]}");
    show_list(&out, text.data, text.len, whole);
    assert_int_equal(out.data[0], depth + 2 <= AICR_JSON_DEPTH ? '<' : '!');
    aicr_buf_free(&text);
    aicr_buf_free(&out);
  }
}

static bool cut_all(void *arg)
{
  static const char *const parts[] = {
      "{\"metadata\":{\"continue\":\"abc",
      "def\"},\"items\":[{\"key\":\"text that is cut",
      " here, and then goes on for more than the first capacity of a buffer",
      "\"}]}",
  };
  enum aicr_json_list_result result;
  struct aicr_json_list l;
  size_t next = 0;

  (void)arg;
  aicr_json_list_init(&l);
  do {
    result = aicr_json_list_next(&l);
    if (result == AICR_LIST_MORE && next == COUNT(parts)) {
      aicr_json_finish(&l.reader);
    } else if (result == AICR_LIST_MORE) {
      aicr_json_feed(&l.reader, parts[next], strlen(parts[next]));
      next++;
    }
  } while (result == AICR_LIST_ITEM || result == AICR_LIST_MORE);
  if (result == AICR_LIST_ERROR) {
    assert_int_equal(l.reader.error.code, AICR_INTERNAL);
    assert_string_equal(l.reader.error.reason, "memory");
  }
  aicr_json_list_free(&l);
  return result == AICR_LIST_END;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_true(torture(cut_all, NULL) >= 3);
}

int main(void)
{
  static const struct {
    const char *name;
    CMUnitTestFunction test;
  } tests[] = {
      {"longest members", test_longest_members},
      {"longest item", test_longest_item},
      {"items in one chunk are not copied",
       test_items_in_one_chunk_are_not_copied},
      {"depth", test_depth},
      {"no memory", test_no_memory},
  };
  struct rows r = {NULL, 0};
  struct aicr_quoted q;

  for (size_t i = 0; i < COUNT(lists); i++)
    add_row(&r, "cuts", aicr_quote(&q, lists[i].text, strlen(lists[i].text)),
            test_lists, &lists[i]);
  for (size_t i = 0; i < COUNT(tests); i++)
    add_row(&r, "list", tests[i].name, tests[i].test, NULL);
  return run_rows(&r, "json_list");
}
