/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash.h"

#include "rows.h"

struct digest {
  const char *text;
  const char *hex;
};

/* FIPS 180-4 examples. */
static const struct digest digests[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void test_digest(void **state)
{
  const struct digest *row = *state;
  char hex[AICR_SHA256_TEXT];

  assert_true(aicr_sha256_hex(row->text, strlen(row->text), hex));
  assert_string_equal(hex, row->hex);
}

/* FIPS 180-4 examples. */
static const struct digest sha1_digests[] = {
    {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
};

static void test_sha1(void **state)
{
  const struct digest *row = *state;
  unsigned char bytes[AICR_SHA1_SIZE];
  char hex[2 * AICR_SHA1_SIZE + 1];

  assert_true(aicr_sha1(row->text, strlen(row->text), bytes));
  for (size_t i = 0; i < AICR_SHA1_SIZE; i++)
    snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
  assert_string_equal(hex, row->hex);
}

static void test_pieces(void **state)
{
  const struct digest *row = &digests[2];
  struct aicr_sha256 hash, none = {NULL};
  char hex[AICR_SHA256_TEXT];

  (void)state;
  aicr_sha256_begin(&hash);
  assert_true(aicr_sha256_text(&hash, hex));
  assert_string_equal(hex, digests[0].hex);
  aicr_sha256_add(&hash, row->text, 3);
  assert_true(aicr_sha256_text(&hash, hex));
  assert_string_equal(hex, digests[1].hex);
  for (const char *p = row->text + 3; *p != '\0'; p++)
    aicr_sha256_add(&hash, p, 1);
  assert_true(aicr_sha256_text(&hash, hex));
  assert_string_not_equal(hex, digests[1].hex);
  aicr_sha256_free(&hash);
  aicr_sha256_add(&none, "abc", 3);
  assert_false(aicr_sha256_text(&none, hex));
  aicr_sha256_free(&none);
}

static void test_no_data(void **state)
{
  char hex[AICR_SHA256_TEXT];

  (void)state;
  assert_true(aicr_sha256_hex(NULL, 0, hex));
  assert_string_equal(hex, digests[0].hex);
}

static void test_nul_counts(void **state)
{
  char one[AICR_SHA256_TEXT];
  char two[AICR_SHA256_TEXT];

  (void)state;
  assert_true(aicr_sha256_hex("a\0b", 3, one));
  assert_true(aicr_sha256_hex("a\0c", 3, two));
  assert_string_not_equal(one, two);
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(digests); i++)
    add_row(&r, "sha256 of", digests[i].text, test_digest, &digests[i]);
  for (size_t i = 0; i < COUNT(sha1_digests); i++)
    add_row(&r, "sha1 of", sha1_digests[i].text, test_sha1, &sha1_digests[i]);
  add_row(&r, "sha256 of", "pieces", test_pieces, NULL);
  add_row(&r, "sha256 of", "no data", test_no_data, NULL);
  add_row(&r, "sha256:", "NUL counts", test_nul_counts, NULL);
  return run_rows(&r, "hash");
}
