/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_project.h"

#include "rows.h"
#include "torture.h"

#define POD                                                                    \
  "{ \"kind\": \"Pod\", \"metadata\": {\"labels\": {\"a.b/c\": \"x\", "        \
  "\"d\": 1}, \"name\": \"p\"}, \"spec\": {\"containers\": "                   \
  "[{\"name\":\"c1\",\"limits\":{\"nvidia.com/gpu\":\"8\",\"cpu\":\"1\"}}, "   \
  "{\"name\":\"c2\"}], \"nodeName\": null}}"

/* Paths, divided by blanks; the text; what is left of it, or !reason. */
static const struct row {
  const char *paths, *text, *left;
} rows[] = {
    {"metadata.name", POD, "{\"metadata\":{\"name\":\"p\"}}"},
    {"kind metadata.name", POD,
     "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}"},
    {"metadata.labels[\"a.b/c\"]", POD,
     "{\"metadata\":{\"labels\":{\"a.b/c\":\"x\"}}}"},
    {"metadata.labels['a.b/c'] metadata.labels.d", POD,
     "{\"metadata\":{\"labels\":{\"a.b/c\":\"x\",\"d\":1}}}"},
    {"spec.containers[*].limits['nvidia.com/gpu']", POD,
     "{\"spec\":{\"containers\":[{\"limits\":{\"nvidia.com/gpu\":\"8\"}},{}]}"
     "}"},
    {"spec.containers[*]['name']", POD,
     "{\"spec\":{\"containers\":[{\"name\":\"c1\"},{\"name\":\"c2\"}]}}"},
    {"spec.nodeName", POD, "{\"spec\":{\"nodeName\":null}}"},
    {"status.phase", POD, "{}"},
    /* All of a member is more than a part of it, whichever comes first. */
    {"metadata metadata.name", "{\"metadata\":{\"name\":1,\"b\":2}}",
     "{\"metadata\":{\"name\":1,\"b\":2}}"},
    {"metadata.name metadata", "{\"metadata\":{\"name\":1,\"b\":2}}",
     "{\"metadata\":{\"name\":1,\"b\":2}}"},
    {"a[*] a[*].b", "{\"a\":[{\"c\":1}]}", "{\"a\":[{\"c\":1}]}"},
    /* Another shape than the path's is seen as it is. */
    {"a.b", "{\"a\":[{\"b\":1,\"c\":2}]}", "{\"a\":[{\"b\":1,\"c\":2}]}"},
    {"a[*].b", "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1,\"c\":2}}"},
    {"a.b", "{\"a\":\"text\"}", "{\"a\":\"text\"}"},
    {"a.b", "{\"a\":null}", "{\"a\":null}"},
    {"a[*].b", "{\"a\":[1,null,[2],{\"b\":3}]}",
     "{\"a\":[1,null,[2],{\"b\":3}]}"},
    {"a.b a[*].c", "{\"a\":[{\"b\":1,\"c\":2}]}", "{\"a\":[{\"c\":2}]}"},
    {"a.b a[*].c", "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1}}"},
    {"a", "[{\"a\":1}]", "[{\"a\":1}]"},
    {"[*].a", "[{\"a\":1,\"b\":2},{}]", "[{\"a\":1},{}]"},
    {"[*][*].a", "[[{\"a\":1,\"b\":2}],[]]", "[[{\"a\":1}],[]]"},
    {"a", "17", "17"},
    /* Repeated keys stay: who reads them takes the last. */
    {"a.x", "{\"a\":{\"x\":1},\"b\":0,\"a\":{\"y\":2}}",
     "{\"a\":{\"x\":1},\"a\":{}}"},
    /* Keys are compared as what they say; text stays as it was written. */
    {"ab", "{\"\\u0061b\":\"\\u00e9\",\"b\":2}", "{\"\\u0061b\":\"\\u00e9\"}"},
    {"[\"a\\u0062\"]", "{\"ab\":1}", "{}"},
    {"['a\"b']", "{\"a\\\"b\":1,\"ab\":2}", "{\"a\\\"b\":1}"},
    {"a", "{\"a\":1e2,\"b\":12345678901234567890}", "{\"a\":1e2}"},
    {"a", "{\"a\": [ 1 , 2 ] , \"b\":3}", "{\"a\":[ 1 , 2 ]}"},
    /* What is left out is read all the same. */
    {"a", "{\"a\":1,\"b\":[1,}", "!malformed"},
    {"a", "{\"b\":01,\"a\":1}", "!malformed"},
    {"a", "{\"b\":\"\xff\",\"a\":1}", "!malformed"},
    {"a", "{\"a\":1} x", "!malformed"},
    {"a", "{\"a\":1", "!malformed"},
    {"a", "{\"a\":", "!malformed"},
    {"a.b", "{\"a\":{\"b\":[", "!malformed"},
    {"a[*].b", "{\"a\":[{\"b\":1}", "!malformed"},
    {"a", "", "!malformed"},
};

static const struct bad_path {
  const char *path, *says;
} bad_paths[] = {
    {"", "a name is missing"},
    {".", "a name is missing"},
    {".a", "a name is missing"},
    {"a.", "a name is missing"},
    {"a..b", "a name is missing"},
    {"a b", "'.' or '['"},
    {"a]", "'.' or '['"},
    {"a.[*]", "a name is missing"},
    {"a[*]b", "'.' or '['"},
    {"metadata.labels.app.kubernetes.io/name", "'.' or '['"},
    {"a[", "after '['"},
    {"a[*", "after '['"},
    {"a[]", "after '['"},
    {"a[0]", "after '['"},
    {"a['b]", "after '['"},
    {"a['b'", "after '['"},
    {"a['']", "after '['"},
    {"a['b\"]", "after '['"},
    {"a\xc3\xa9", "'.' or '['"},
    {"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a",
     "more than 32 names"},
};

/* The tree of paths that are divided by blanks; NULL without memory. */
static struct aicr_json_field *parse(const char *paths, struct aicr_error *err)
{
  struct aicr_json_field *fields = NULL;

  while (*paths) {
    size_t len = strcspn(paths, " ");

    if (!aicr_json_fields_add(&fields, paths, len, err)) {
      aicr_json_fields_free(fields);
      return NULL;
    }
    paths += len + (paths[len] == ' ');
  }
  return fields;
}

static void test_row(void **state)
{
  const struct row *row = *state;
  struct aicr_error err = {0};
  struct aicr_json_field *fields = parse(row->paths, &err);
  struct aicr_buf out;

  assert_non_null(fields);
  aicr_buf_init(&out, 4096);
  if (!aicr_json_project(fields, row->text, strlen(row->text), &out, &err)) {
    aicr_buf_reset(&out);
    aicr_buf_addf(&out, "!%s", err.reason);
  }
  assert_string_equal(out.data, row->left);
  aicr_buf_free(&out);
  aicr_json_fields_free(fields);
}

static void test_bad_path(void **state)
{
  const struct bad_path *row = *state;
  struct aicr_json_field *fields = NULL;
  struct aicr_error err = {0};

  assert_false(
      aicr_json_fields_add(&fields, row->path, strlen(row->path), &err));
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_string_equal(err.reason, "field");
  if (!strstr(err.message, row->says))
    fail_msg("%s: %s", row->path, err.message);
  aicr_json_fields_free(fields);
}

static void test_bounds(void **state)
{
  struct aicr_json_field *fields = NULL;
  struct aicr_error err = {0};
  char path[AICR_FIELD_BYTES_MAX + 1];
  struct aicr_buf out;

  (void)state;
  memset(path, 'a', sizeof(path));
  assert_false(aicr_json_fields_add(&fields, path, sizeof(path), &err));
  assert_non_null(strstr(err.message, "over 1024 bytes"));
  assert_true(aicr_json_fields_add(&fields, path, sizeof(path) - 1, &err));
  assert_true(aicr_json_fields_add(&fields, "b", 1, &err));
  /* The buffer's bound, to the byte. */
  aicr_buf_init(&out, 7);
  assert_true(aicr_json_project(fields, "{\"b\":1}", 7, &out, &err));
  aicr_buf_free(&out);
  aicr_buf_init(&out, 6);
  assert_false(aicr_json_project(fields, "{\"b\":1}", 7, &out, &err));
  assert_string_equal(err.reason, "too-large");
  aicr_buf_free(&out);
  aicr_json_fields_free(fields);
}

static void test_members(void **state)
{
  struct aicr_error err = {0};
  struct aicr_json_field *fields = parse("a.b a[*].c d", &err);
  const struct aicr_json_field *a = aicr_json_fields_member(fields, "a", 1);

  (void)state;
  assert_non_null(a);
  assert_false(a->whole);
  assert_non_null(aicr_json_fields_member(a, "b", 1));
  assert_null(aicr_json_fields_member(a, "c", 1));
  assert_non_null(aicr_json_fields_member(a->element, "c", 1));
  assert_true(aicr_json_fields_member(fields, "d", 1)->whole);
  assert_null(aicr_json_fields_member(fields, "ab", 2));
  assert_int_equal(fields->id, 0);
  assert_int_equal(fields->count, 5);
  aicr_json_fields_free(fields);
}

static bool project_pod(void *arg)
{
  struct aicr_error err = {0};
  struct aicr_json_field *fields = parse(
      "metadata.name spec.containers[*].limits['nvidia.com/gpu'] x", &err);
  struct aicr_buf out;
  bool ok;

  (void)arg;
  aicr_buf_init(&out, 4096);
  ok = fields && aicr_json_project(fields, POD, strlen(POD), &out, &err);
  if (!ok) {
    assert_int_equal(err.code, AICR_INTERNAL);
    assert_string_equal(err.reason, "memory");
  }
  aicr_buf_free(&out);
  aicr_json_fields_free(fields);
  return ok;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_true(torture(project_pod, NULL) >= 8);
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(rows); i++)
    add_row(&r, rows[i].paths, rows[i].text, test_row, &rows[i]);
  for (size_t i = 0; i < COUNT(bad_paths); i++)
    add_row(&r, "bad path", bad_paths[i].path, test_bad_path, &bad_paths[i]);
  add_row(&r, "fields:", "bounds", test_bounds, rows);
  add_row(&r, "fields:", "members", test_members, rows);
  add_row(&r, "fields:", "no memory", test_no_memory, rows);
  return run_rows(&r, "json_project");
}
