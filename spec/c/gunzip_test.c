/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/gunzip.h"

#include "rows.h"

#include "gzip.h"
#include "torture.h"

/* A text of 3,000 bytes that does not repeat itself at once. */
static const char *sample(void)
{
  static char text[3001];
  uint32_t x = 1;
  for (size_t i = 0; i < sizeof text - 1; i++) {
    x = x * 1664525u + 1013904223u;
    text[i] = (char)('a' + (x >> 24) % 16);
  }
  return text;
}

/* What came out, in parts of `size` bytes; how it ended. */
static enum kube_gunzip_result unpack(struct aicr_buf *out, const char *data,
                                      size_t len, size_t size, size_t max)
{
  struct kube_gunzip g = {0};
  char part[4096];
  size_t got = 0;
  enum kube_gunzip_result result = KUBE_GUNZIP_PART;
  aicr_buf_init(out, SIZE_MAX);
  if (!kube_gunzip_begin(&g, data, len, max)) {
    return KUBE_GUNZIP_NO_MEMORY;
  }
  while (result == KUBE_GUNZIP_PART) {
    result = kube_gunzip_next(&g, part, size, &got);
    assert_true(got <= size);
    if (result == KUBE_GUNZIP_PART) {
      assert_true(got > 0);
      assert_true(aicr_buf_add(out, part, got));
    }
  }
  kube_gunzip_end(&g);
  kube_gunzip_end(&g);
  return result;
}

static void test_whole(void **state)
{
  static const size_t sizes[] = {1, 2, 7, 100, 4096};
  struct aicr_buf packed, out;
  (void)state;
  pack(&packed, sample(), 3000);
  for (size_t i = 0; i < COUNT(sizes); i++) {
    assert_int_equal(unpack(&out, packed.data, packed.len, sizes[i], 3000),
                     KUBE_GUNZIP_END);
    assert_int_equal(out.len, 3000);
    assert_memory_equal(out.data, sample(), 3000);
    aicr_buf_free(&out);
  }
  aicr_buf_free(&packed);
}

/* Cut after every byte: never an end. What came is how the text begins. */
static void test_cut(void **state)
{
  struct aicr_buf packed, out;
  (void)state;
  pack(&packed, sample(), 3000);
  for (size_t n = 0; n < packed.len; n++) {
    assert_int_equal(unpack(&out, packed.data, n, 100, 3000), KUBE_GUNZIP_BAD);
    assert_true(out.len <= 3000);
    assert_memory_equal(out.len == 0 ? "" : out.data, sample(), out.len);
    aicr_buf_free(&out);
  }
  aicr_buf_free(&packed);
}

/* Each byte of the checksum, the length and the head's magic. */
static void test_damaged(void **state)
{
  struct aicr_buf packed, out;
  (void)state;
  pack(&packed, sample(), 3000);
  for (size_t i = 0; i < 11; i++) {
    size_t at = i < 3 ? i : packed.len - 1 - (i - 3);
    packed.data[at] ^= 0x11;
    assert_int_equal(unpack(&out, packed.data, packed.len, 4096, 3000),
                     KUBE_GUNZIP_BAD);
    aicr_buf_free(&out);
    packed.data[at] ^= 0x11;
  }
  assert_true(aicr_buf_addc(&packed, 'x'));
  assert_int_equal(unpack(&out, packed.data, packed.len, 4096, 3000),
                   KUBE_GUNZIP_BAD);
  aicr_buf_free(&out);
  aicr_buf_free(&packed);
}

static void test_limits(void **state)
{
  struct aicr_buf packed, out;
  (void)state;
  pack(&packed, sample(), 3000);
  assert_int_equal(unpack(&out, packed.data, packed.len, 100, 2999),
                   KUBE_GUNZIP_TOO_LARGE);
  aicr_buf_free(&out);
  aicr_buf_free(&packed);

  char *blanks = malloc(4u << 20);
  assert_non_null(blanks);
  memset(blanks, ' ', 4u << 20);
  pack(&packed, blanks, 4u << 20);
  assert_int_equal(unpack(&out, packed.data, packed.len, 4096, SIZE_MAX),
                   KUBE_GUNZIP_BAD);
  assert_true(out.len < (2u << 20));
  aicr_buf_free(&out);
  aicr_buf_free(&packed);
  free(blanks);
}

static bool unpack_body(void *arg)
{
  const struct aicr_buf *packed = arg;
  struct aicr_buf out;
  bool whole =
      unpack(&out, packed->data, packed->len, 500, 3000) == KUBE_GUNZIP_END;
  aicr_buf_free(&out);
  return whole;
}

/* zlib's memory is ours. */
static bool begin_body(void *arg)
{
  const struct aicr_buf *packed = arg;
  struct kube_gunzip g = {0};
  char part[4096];
  size_t len = 0;
  bool ok = kube_gunzip_begin(&g, packed->data, packed->len, 3000) &&
            kube_gunzip_next(&g, part, 1000, &len) == KUBE_GUNZIP_PART &&
            len == 1000;
  kube_gunzip_end(&g);
  return ok;
}

static void test_without_memory(void **state)
{
  struct aicr_buf packed;
  (void)state;
  pack(&packed, sample(), 3000);
  assert_true(unpack_body(&packed));
  assert_true(torture(begin_body, &packed) >= 3);
  aicr_buf_free(&packed);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),          cmocka_unit_test(test_cut),
      cmocka_unit_test(test_damaged),        cmocka_unit_test(test_limits),
      cmocka_unit_test(test_without_memory),
  };
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests_name("gunzip", tests, NULL, NULL);
}
