/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include "rows.h"
#include "torture.h"

struct span {
  const char *data;
  size_t len;
};

#define SPAN(literal)                                                          \
  {                                                                            \
    literal, sizeof(literal) - 1                                               \
  }

static bool is_scalar(uint32_t cp)
{
  return cp <= 0x10FFFF && !(cp >= 0xD800 && cp <= 0xDFFF);
}

/* Every scalar value; cut short, its bytes are no sequence. */
static void test_every_character(void **state)
{
  (void)state;
  for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
    char bytes[4];
    uint32_t got = 0;
    size_t n;

    if (!is_scalar(cp))
      continue;
    n = aicr_utf8_encode(cp, bytes);
    if (aicr_utf8_decode(bytes, n, &got) != n || got != cp)
      fail_msg("U+%04X", (unsigned)cp);
    for (size_t cut = 0; cut < n; cut++)
      if (aicr_utf8_decode(bytes, cut, &got) != 0)
        fail_msg("U+%04X cut to %zu", (unsigned)cp, cut);
  }
}

/* All sequences of two bytes, and of three behind E0, ED and EF: decoded are
 * those that the encoder makes, no others. */
static void test_every_short_sequence(void **state)
{
  static const unsigned char leads[] = {0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF4};

  (void)state;
  for (unsigned i = 0; i < 0x10000 * COUNT(leads); i++) {
    char bytes[4] = {(char)leads[i >> 16], (char)(i >> 8 & 0xFF),
                     (char)(i & 0xFF), (char)0x80};
    char again[4];
    uint32_t cp = 0;
    size_t n = aicr_utf8_decode(bytes, 4, &cp);

    if (n == 0)
      continue;
    assert_true(is_scalar(cp));
    assert_int_equal(aicr_utf8_encode(cp, again), n);
    assert_memory_equal(again, bytes, n);
  }
  for (unsigned i = 0; i < 0x10000; i++) {
    char bytes[2] = {(char)(i >> 8), (char)(i & 0xFF)};
    uint32_t cp = 0;
    size_t n = aicr_utf8_decode(bytes, 2, &cp);
    unsigned lead = i >> 8, tail = i & 0xFF;
    size_t wanted = lead < 0x80 ? 1 : 0;

    if (lead >= 0xC2 && lead <= 0xDF && tail >= 0x80 && tail <= 0xBF)
      wanted = 2;
    assert_int_equal(n, wanted);
  }
}

static const struct span bad_sequences[] = {
    SPAN("\x80"),
    SPAN("\xBF"),
    SPAN("\xC0\x80"),
    SPAN("\xC1\xBF"),
    SPAN("\xE0\x9F\xBF"),
    SPAN("\xED\xA0\x80"),
    SPAN("\xED\xBF\xBF"),
    SPAN("\xE2\x82"),
    SPAN("\xE2\x82\x41"),
    SPAN("\xE2\x28\xA1"),
    SPAN("\xF0\x8F\xBF\xBF"),
    SPAN("\xF0\x9F\x98"),
    SPAN("\xF0\x9F\x98\x41"),
    SPAN("\xF4\x90\x80\x80"),
    SPAN("\xF5\x80\x80\x80"),
    SPAN("\xF8\x88\x80\x80\x80"),
    SPAN("\xFE"),
    SPAN("\xFF"),
};

static void test_bad_sequences(void **state)
{
  uint32_t cp;

  (void)state;
  for (size_t i = 0; i < COUNT(bad_sequences); i++) {
    const struct span *row = &bad_sequences[i];

    assert_int_equal(aicr_utf8_decode(row->data, row->len, &cp), 0);
    assert_false(aicr_utf8_valid(row->data, row->len));
  }
  assert_true(aicr_utf8_valid("", 0));
  assert_true(aicr_utf8_valid("a\0é→😀", 11));
  assert_false(aicr_utf8_valid("aé→😀", 9));
}

static const struct {
  struct span text, wanted;
} trims[] = {
    {SPAN(""), SPAN("")},
    {SPAN(" "), SPAN("")},
    {SPAN("a"), SPAN("a")},
    {SPAN(" \t\n\v\f\ra b \r\f\v\n\t "), SPAN("a b")},
    {SPAN("\xC2\x85x\xC2\xA0"), SPAN("x")},
    {SPAN("\xE1\x9A\x80x\xE3\x80\x80"), SPAN("x")},
    {SPAN("\xE2\x80\x80\xE2\x80\x8Ax\xE2\x80\xA8\xE2\x80\xA9"), SPAN("x")},
    {SPAN("\xE2\x80\xAF\xE2\x81\x9F"), SPAN("")},
    /* no white space: zero width space, BOM, lone bytes, NUL, U+001F */
    {SPAN("\xE2\x80\x8B"), SPAN("\xE2\x80\x8B")},
    {SPAN("\xEF\xBB\xBFx"), SPAN("\xEF\xBB\xBFx")},
    {SPAN("\x85x\xA0"), SPAN("\x85x\xA0")},
    {SPAN("x\xC2"), SPAN("x\xC2")},
    {SPAN("x\xC2\xC2\x85"), SPAN("x\xC2")},
    {SPAN("x\x80\x80\x85"), SPAN("x\x80\x80\x85")},
    {SPAN("\0 \0"), SPAN("\0 \0")},
    {SPAN("\x1F"), SPAN("\x1F")},
    {SPAN("\x80\x80\x80\x80\x80"), SPAN("\x80\x80\x80\x80\x80")},
    {SPAN("\xE1\xA0\x8E"), SPAN("\xE1\xA0\x8E")},
};

static void test_trim(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(trims); i++) {
    const char *data = trims[i].text.data;
    size_t len = trims[i].text.len;

    aicr_trim(&data, &len);
    assert_int_equal(len, trims[i].wanted.len);
    assert_memory_equal(data, trims[i].wanted.data, len);
  }
}

static const struct {
  struct span text;
  const char *quoted, *printable;
} escapes[] = {
    {SPAN(""), "\"\"", ""},
    {SPAN("eth0"), "\"eth0\"", "eth0"},
    {SPAN("a b"), "\"a b\"", "a b"},
    {SPAN("é→😀"), "\"é→😀\"", "é→😀"},
    {SPAN("say \"x\""), "\"say \\\"x\\\"\"", "say \"x\""},
    {SPAN("a\\b"), "\"a\\\\b\"", "a\\b"},
    {SPAN("a\nb\tc\rd"), "\"a\\nb\\tc\\rd\"", "a\nb\tc\\x0dd"},
    {SPAN("\x1b[31m"), "\"\\x1b[31m\"", "\\x1b[31m"},
    {SPAN("a\0b"), "\"a\\x00b\"", "a\\x00b"},
    {SPAN("\x7F"), "\"\\x7f\"", "\\x7f"},
    {SPAN("\xC2\x9B"), "\"\\x9b\"", "\\x9b"},
    {SPAN("\xFF\xE2\x82"), "\"\\xff\\xe2\\x82\"", "\\xff\\xe2\\x82"},
    /* what would turn the reader's line around */
    {SPAN("\xE2\x80\xAEx"), "\"\\u202ex\"", "\\u202ex"},
    {SPAN("\xE2\x81\xA6x"), "\"\\u2066x\"", "\\u2066x"},
    {SPAN("\xE2\x80\xA8x"), "\"\\u2028x\"", "\\u2028x"},
};

static void test_escapes(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(escapes); i++) {
    const struct span *text = &escapes[i].text;
    struct aicr_quoted q;
    struct aicr_buf b;

    assert_string_equal(aicr_quote(&q, text->data, text->len),
                        escapes[i].quoted);
    aicr_buf_init(&b, 1000);
    assert_true(aicr_buf_add_printable(&b, text->data, text->len));
    assert_string_equal(b.data ? b.data : "", escapes[i].printable);
    aicr_buf_free(&b);
  }
}

/* Long texts of characters of every width: the quote is whole characters,
 * short, and says that it was cut. */
static void test_quote_is_cut(void **state)
{
  static const char *const units[] = {"x",    "é",  "→",           "😀",
                                      "\xFF", "\"", "\xE2\x80\xAE"};
  char text[4096];

  (void)state;
  for (size_t u = 0; u < COUNT(units); u++) {
    size_t unit = strlen(units[u]);

    for (size_t count = 1; count * unit < 600; count++) {
      struct aicr_quoted q;
      size_t len;

      for (size_t i = 0; i < count; i++)
        memcpy(text + i * unit, units[u], unit);
      aicr_quote(&q, text, count * unit);
      len = strlen(q.text);
      assert_true(len < 210);
      assert_true(aicr_utf8_valid(q.text, len));
      if (strcmp(q.text + len - strlen("…"), "…") == 0)
        assert_true(len > 190);
      else
        assert_int_equal(q.text[len - 1], '"');
    }
  }
}

static const struct {
  struct span text, wanted;
} repairs[] = {
    {SPAN(""), SPAN("")},
    {SPAN("abc"), SPAN("abc")},
    {SPAN("a\0\x1b\n"), SPAN("a\0\x1b\n")},
    {SPAN("é→😀"), SPAN("é→😀")},
    {SPAN("\xE2\x82"), SPAN("��")},
    {SPAN("\xED\xA0\x80"), SPAN("���")},
    {SPAN("\xC0\x80"), SPAN("��")},
    {SPAN("\xF0\x9F\x98"), SPAN("���")},
    {SPAN("a\xFFz\xFE"), SPAN("a�z�")},
};

static const struct {
  struct span text, wanted;
} plain[] = {
    {SPAN(""), SPAN("")},
    {SPAN("é\tb\nc"), SPAN("é b\nc")},
    {SPAN("\x1b[1mbold\x1b[0m"), SPAN("bold")},
    {SPAN("\x1b[38;5;1mred"), SPAN("red")},
    {SPAN("\x1b[?25lx\x1b[ qy"), SPAN("xy")},
    {SPAN("\x1b]0;title\ax"), SPAN("x")},
    {SPAN("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), SPAN("link")},
    {SPAN("\x1bPq#0\x1b\\x\x1b_a\xC2\x9Cy"), SPAN("xy")},
    {SPAN("\x1b(Bx\x1b=y\x1b"
          "7z"),
     SPAN("xyz")},
    {SPAN("\xC2\x9B"
          "1mx\xC2\x9D"
          "0;t\ay\xC2\x85z"),
     SPAN("xyz")},
    {SPAN("\x1b[1"), SPAN("")},
    {SPAN("\x1b"), SPAN("")},
    {SPAN("\x1b\x1b[1mx"), SPAN("x")},
    {SPAN("\x1b[1\x01x"), SPAN("x")},
    {SPAN("\x1b]0;open\nnext"), SPAN("\nnext")},
    {SPAN("\x1b\nx"), SPAN("\nx")},
    {SPAN("a\0b\rc\x7F"
          "d\xE2\x80\xAE"
          "e"),
     SPAN("abcde")},
    {SPAN("a\xFFz\x9B"), SPAN("a\xEF\xBF\xBDz\xEF\xBF\xBD")},
};

static void test_plain(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(plain); i++) {
    struct aicr_buf b;

    aicr_buf_init(&b, 1000);
    assert_true(aicr_buf_add_plain(&b, plain[i].text.data, plain[i].text.len));
    assert_int_equal(b.len, plain[i].wanted.len);
    if (b.len > 0)
      assert_memory_equal(b.data, plain[i].wanted.data, b.len);
    aicr_buf_free(&b);
  }
}

/* Whatever is cut or put together of these pieces: valid, and nothing left that
 * steers. */
static void test_plain_steers_nothing(void **state)
{
  static const char *const pieces[] = {
      "\x1b", "[", "]",    "1;2",  "m", "\xC2\x9B",    "\\",
      "\a",   "é", "\xC2", "\x9C", "(", "\xE2\x80\xAE"};
  const size_t base = COUNT(pieces);

  (void)state;
  for (size_t n = 0; n < base * base * base * base; n++) {
    struct aicr_buf in, out;
    uint32_t cp = 0;

    aicr_buf_init(&in, 100);
    aicr_buf_init(&out, 1000);
    for (size_t i = 0, left = n; i < 4; i++, left /= base)
      aicr_buf_adds(&in, pieces[left % base]);
    assert_true(aicr_buf_add_plain(&out, in.data, in.len));
    for (size_t i = 0; i < out.len;) {
      size_t step = aicr_utf8_decode(out.data + i, out.len - i, &cp);

      assert_true(step > 0);
      assert_true(cp >= 0x20 && !(cp >= 0x7F && cp <= 0x9F) && cp != 0x202E);
      i += step;
    }
    aicr_buf_free(&in);
    aicr_buf_free(&out);
  }
}

static void test_repairs(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(repairs); i++) {
    struct aicr_buf b;

    aicr_buf_init(&b, 1000);
    assert_true(
        aicr_buf_add_utf8(&b, repairs[i].text.data, repairs[i].text.len));
    assert_int_equal(b.len, repairs[i].wanted.len);
    if (b.len > 0)
      assert_memory_equal(b.data, repairs[i].wanted.data, b.len);
    aicr_buf_free(&b);
  }
}

static bool append_all(void *arg)
{
  struct aicr_buf b;
  bool ok;

  (void)arg;
  aicr_buf_init(&b, 1000);
  ok = aicr_buf_add_printable(&b, "\x1b\x1b\x1b", 3) &&
       aicr_buf_add_utf8(&b,
                         "\xFFxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xFF",
                         79);
  aicr_buf_free(&b);
  return ok;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_true(torture(append_all, NULL) >= 2);
}

static const struct {
  const char *a, *b;
  unsigned distance; /* 4: over the limit of 3 */
} distances[] = {
    {"", "", 0},
    {"", "abc", 3},
    {"", "abcd", 4},
    {"abc", "abc", 0},
    {"abc", "abd", 1},
    {"abc", "ab", 1},
    {"abc", "abcd", 1},
    {"abc", "acb", 1},
    {"ca", "abc", 3}, /* optimal string alignment, not the full distance */
    {"kitten", "sitting", 3},
    {"sunday", "saturday", 3},
    {"Timeout", "timeout", 1},
    {"namespace", "namepsace", 1},
    {"abcdef", "ghijkl", 4},
};

static void test_distances(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(distances); i++) {
    const char *a = distances[i].a, *b = distances[i].b;

    assert_int_equal(aicr_edit_distance(a, b, 3), distances[i].distance);
    assert_int_equal(aicr_edit_distance(b, a, 3), distances[i].distance);
    if (distances[i].distance > 0)
      assert_int_equal(aicr_edit_distance(a, b, 0), 1);
  }
}

static void test_long_words_are_never_near(void **state)
{
  char a[66], b[66];

  (void)state;
  memset(a, 'a', sizeof(a));
  memset(b, 'a', sizeof(b));
  a[65] = b[65] = '\0';
  assert_int_equal(aicr_edit_distance(a, b, 2), 3);
  a[64] = '\0';
  assert_int_equal(aicr_edit_distance(a, b, 2), 3);
  b[64] = '\0';
  assert_int_equal(aicr_edit_distance(a, b, 2), 0);
  b[63] = '\0';
  assert_int_equal(aicr_edit_distance(a, b, 2), 1);
}

static const char *const options[] = {
    "phase", "platform", "recipe", "recording", "record", "ns", "np", "a"};

static const struct {
  const char *word, *found;
} nearest[] = {
    {"phase", "phase"},    {"phsae", "phase"},   {"platfrom", "platform"},
    {"recip", "recipe"},   {"recrod", "record"}, {"recordings", "recording"},
    {"xyzzy", NULL},       {"", NULL},           {"nx", NULL},
    {"nss", "ns"},         {"a", "a"},           {"b", NULL},
    {"platformxyz", NULL},
};

static void test_nearest(void **state)
{
  static const char *const same[] = {"abcx", "abcy"};

  (void)state;
  for (size_t i = 0; i < COUNT(nearest); i++) {
    const char *got = aicr_nearest(nearest[i].word, options, COUNT(options));

    if (!nearest[i].found)
      assert_null(got);
    else
      assert_string_equal(got, nearest[i].found);
  }
  assert_null(aicr_nearest("phase", options, 0));
  assert_ptr_equal(aicr_nearest("abcz", same, 2), same[0]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_character),
      cmocka_unit_test(test_every_short_sequence),
      cmocka_unit_test(test_bad_sequences),
      cmocka_unit_test(test_trim),
      cmocka_unit_test(test_escapes),
      cmocka_unit_test(test_quote_is_cut),
      cmocka_unit_test(test_plain),
      cmocka_unit_test(test_plain_steers_nothing),
      cmocka_unit_test(test_repairs),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_distances),
      cmocka_unit_test(test_long_words_are_never_near),
      cmocka_unit_test(test_nearest),
  };

  return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
