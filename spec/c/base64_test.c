/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base64.h"

#include "rows.h"

#include "torture.h"

/* `bytes` NULL: refused. */
struct row {
  const char *text;
  const char *bytes;
  size_t len;
};

/* RFC 4648 section 10, and all digits. */
static const struct row both[] = {
    {"", "", 0},
    {"Zg==", "f", 1},
    {"Zm8=", "fo", 2},
    {"Zm9v", "foo", 3},
    {"Zm9vYg==", "foob", 4},
    {"Zm9vYmE=", "fooba", 5},
    {"Zm9vYmFy", "foobar", 6},
    {"AAAA", "\0\0\0", 3},
    {"AA==", "\0", 1},
    {"//79", "\xff\xfe\xfd", 3},
    {"+/+/", "\xfb\xff\xbf", 3},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
     "\x00\x10\x83\x10\x51\x87\x20\x92\x8b\x30\xd3\x8f\x41\x14\x93\x51"
     "\x55\x97\x61\x96\x9b\x71\xd7\x9f\x82\x18\xa3\x92\x59\xa7\xa2\x9a"
     "\xab\xb2\xdb\xaf\xc3\x1c\xb3\xd3\x5d\xb7\xe3\x9e\xbb\xf3\xdf\xbf",
     48},
};

static const struct row decoded[] = {
    {"Zm9v\nYmFy\n", "foobar", 6},
    {"Zm9v\r\nYmFy\r\n", "foobar", 6},
    {"Z\nm\n9\nv", "foo", 3},
    {"Zg=\n=\n", "f", 1},
    {"\n", "", 0},
    {"Z", NULL, 0},
    {"Zg", NULL, 0},
    {"Zg=", NULL, 0},
    {"Zm9vY", NULL, 0},
    {"=", NULL, 0},
    {"====", NULL, 0},
    {"Z===", NULL, 0},
    {"Zg==Zg==", NULL, 0},
    {"Zg==\nZg==", NULL, 0},
    {"Zg==Z", NULL, 0},
    {"Zg===", NULL, 0},
    {"Zm8=Zm9v", NULL, 0},
    {"Z=g=", NULL, 0},
    {"Zh==", NULL, 0}, /* bits left over */
    {"Zm9=", NULL, 0},
    {" Zm9v", NULL, 0},
    {"Zm9v ", NULL, 0},
    {"Zm\t9v", NULL, 0},
    {"Zm-v", NULL, 0}, /* the alphabet of URLs */
    {"Zm_v", NULL, 0},
    {"Zm9v!", NULL, 0},
    {"Zm9\xc3", NULL, 0},
};

static void test_decode(void **state)
{
  const struct row *row = *state;
  struct aicr_buf b;

  aicr_buf_init(&b, 100);
  aicr_buf_adds(&b, "<");
  if (row->bytes) {
    assert_true(aicr_base64_decode(row->text, strlen(row->text), &b));
    assert_int_equal(b.len, 1 + row->len);
    assert_memory_equal(b.data + 1, row->bytes, row->len);
  } else {
    assert_false(aicr_base64_decode(row->text, strlen(row->text), &b));
    assert_false(b.failed);
    assert_int_equal(b.len, 1);
  }
  assert_memory_equal(b.data, "<", 1);
  aicr_buf_free(&b);
}

static void test_encode(void **state)
{
  const struct row *row = *state;
  struct aicr_buf b;

  aicr_buf_init(&b, 100);
  aicr_buf_adds(&b, "<");
  assert_true(aicr_base64_encode(row->bytes, row->len, &b));
  assert_string_equal(b.data + 1, row->text);
  aicr_buf_free(&b);
}

static void test_nul(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, 100);
  assert_false(aicr_base64_decode("Zm9\0", 4, &b));
  assert_false(aicr_base64_decode("Zg==\0", 5, &b));
  aicr_buf_free(&b);
}

/* Every byte in every place of a group comes back. */
static void test_round_trip(void **state)
{
  char data[256 + 2];
  struct aicr_buf text, bytes;

  (void)state;
  for (size_t i = 0; i < sizeof(data); i++)
    data[i] = (char)i;
  aicr_buf_init(&text, 1000);
  aicr_buf_init(&bytes, 1000);
  for (size_t from = 0; from < 3; from++) {
    for (size_t len = 0; len + from <= sizeof(data); len++) {
      aicr_buf_reset(&text);
      aicr_buf_reset(&bytes);
      assert_true(aicr_base64_encode(data + from, len, &text));
      assert_int_equal(text.len, (len + 2) / 3 * 4);
      assert_true(
          aicr_base64_decode(text.data ? text.data : "", text.len, &bytes));
      assert_int_equal(bytes.len, len);
      if (len > 0)
        assert_memory_equal(bytes.data, data + from, len);
    }
  }
  aicr_buf_free(&text);
  aicr_buf_free(&bytes);
}

static void test_no_room(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, 5);
  assert_false(aicr_base64_decode("Zm9vYmFy", 8, &b));
  assert_true(b.failed && !b.no_memory);
  aicr_buf_free(&b);
  aicr_buf_init(&b, 7);
  assert_false(aicr_base64_encode("foobar", 6, &b));
  assert_true(b.failed && !b.no_memory);
  aicr_buf_free(&b);
}

static bool there_and_back(void *arg)
{
  struct aicr_buf text, bytes;
  bool ok;

  (void)arg;
  aicr_buf_init(&text, 1000);
  aicr_buf_init(&bytes, 1000);
  ok = aicr_base64_encode("foobar", 6, &text) &&
       aicr_base64_decode(text.data, text.len, &bytes);
  aicr_buf_free(&text);
  aicr_buf_free(&bytes);
  return ok;
}

static void test_without_memory(void **state)
{
  (void)state;
  assert_int_equal(torture(there_and_back, NULL), 2);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_nul),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_without_memory),
  };
  struct rows rows = {0};

  for (size_t i = 0; i < COUNT(both); i++) {
    add_row(&rows, "decode", both[i].text, test_decode, &both[i]);
    add_row(&rows, "encode", both[i].text, test_encode, &both[i]);
  }
  for (size_t i = 0; i < COUNT(decoded); i++)
    add_row(&rows, "decode", decoded[i].text, test_decode, &decoded[i]);
  for (size_t i = 0; i < COUNT(single); i++)
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  return run_rows(&rows, "base64");
}
