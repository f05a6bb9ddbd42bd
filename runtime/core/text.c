/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 64

static bool is_tail(unsigned char c)
{
  return (c & 0xC0) == 0x80;
}

size_t aicr_utf8_decode(const char *data, size_t len, uint32_t *cp)
{
  const unsigned char *s = (const unsigned char *)data;
  unsigned char low = 0x80, high = 0xBF;

  if (len == 0)
    return 0;
  if (s[0] < 0x80) {
    *cp = s[0];
    return 1;
  }
  if (s[0] < 0xC2 || s[0] > 0xF4)
    return 0;
  if (s[0] < 0xE0) {
    if (len < 2 || !is_tail(s[1]))
      return 0;
    *cp = (uint32_t)(s[0] & 0x1F) << 6 | (s[1] & 0x3F);
    return 2;
  }
  /* The second byte excludes overlong forms, surrogates and what is above
   * U+10FFFF. */
  if (s[0] == 0xE0)
    low = 0xA0;
  else if (s[0] == 0xED)
    high = 0x9F;
  else if (s[0] == 0xF0)
    low = 0x90;
  else if (s[0] == 0xF4)
    high = 0x8F;
  if (len < 3 || s[1] < low || s[1] > high || !is_tail(s[2]))
    return 0;
  if (s[0] < 0xF0) {
    *cp = (uint32_t)(s[0] & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 |
          (s[2] & 0x3F);
    return 3;
  }
  if (len < 4 || !is_tail(s[3]))
    return 0;
  *cp = (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3F) << 12 |
        (uint32_t)(s[2] & 0x3F) << 6 | (s[3] & 0x3F);
  return 4;
}

size_t aicr_utf8_encode(uint32_t cp, char *out)
{
  if (cp < 0x80) {
    out[0] = (char)cp;
    return 1;
  }
  if (cp < 0x800) {
    out[0] = (char)(0xC0 | cp >> 6);
    out[1] = (char)(0x80 | (cp & 0x3F));
    return 2;
  }
  if (cp < 0x10000) {
    out[0] = (char)(0xE0 | cp >> 12);
    out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[2] = (char)(0x80 | (cp & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | cp >> 18);
  out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
  out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
  out[3] = (char)(0x80 | (cp & 0x3F));
  return 4;
}

bool aicr_utf8_valid(const char *data, size_t len)
{
  size_t i = 0;
  uint32_t cp;

  while (i < len) {
    size_t n = aicr_utf8_decode(data + i, len - i, &cp);

    if (n == 0)
      return false;
    i += n;
  }
  return true;
}

static bool is_space(uint32_t cp)
{
  return (cp >= 0x09 && cp <= 0x0D) || cp == 0x20 || cp == 0x85 || cp == 0xA0 ||
         cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 ||
         cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

void aicr_trim(const char **data, size_t *len)
{
  const char *s = *data;
  size_t n = *len;
  uint32_t cp;

  while (n > 0) {
    size_t step = aicr_utf8_decode(s, n, &cp);

    if (step == 0 || !is_space(cp))
      break;
    s += step;
    n -= step;
  }
  while (n > 0) {
    size_t start = n - 1;

    while (start > 0 && n - start < 4 && is_tail((unsigned char)s[start]))
      start--;
    if (aicr_utf8_decode(s + start, n - start, &cp) != n - start ||
        !is_space(cp))
      break;
    n = start;
  }
  *data = s;
  *len = n;
}

/* Characters that move the cursor or reorder what a reader sees. */
static bool is_control(uint32_t cp)
{
  return cp < 0x20 || (cp >= 0x7F && cp <= 0x9F) || cp == 0x200E ||
         cp == 0x200F || (cp >= 0x2028 && cp <= 0x202E) ||
         (cp >= 0x2066 && cp <= 0x2069);
}

#define ESCAPE_MAX 8

static size_t escape(char out[ESCAPE_MAX], uint32_t cp)
{
  int n = snprintf(out, ESCAPE_MAX, cp <= 0xFF ? "\\x%02x" : "\\u%04x",
                   (unsigned)(cp & 0xFFFF));

  return n > 0 ? (size_t)n : 0;
}

/* How the character at data[0] is shown between quotes. Returns how many bytes
 * it has there. */
static size_t quote_one(const char *data, size_t len, char out[ESCAPE_MAX],
                        size_t *out_len)
{
  uint32_t cp = (unsigned char)data[0];
  size_t n = aicr_utf8_decode(data, len, &cp);
  const char *name = NULL;

  if (cp == '\n')
    name = "\\n";
  else if (cp == '\t')
    name = "\\t";
  else if (cp == '\r')
    name = "\\r";
  else if (cp == '"')
    name = "\\\"";
  else if (cp == '\\')
    name = "\\\\";
  if (name) {
    memcpy(out, name, 2);
    *out_len = 2;
  } else if (n == 0 || is_control(cp)) {
    *out_len = escape(out, cp);
  } else {
    memcpy(out, data, n);
    *out_len = n;
  }
  return n == 0 ? 1 : n;
}

const char *aicr_quote(struct aicr_quoted *q, const char *data, size_t len)
{
  static const char cut[] = "…";
  const size_t limit = 200;
  size_t used = 0, i = 0;
  char one[ESCAPE_MAX];

  q->text[used++] = '"';
  while (i < len) {
    size_t one_len;
    size_t step = quote_one(data + i, len - i, one, &one_len);

    if (used + one_len > limit)
      break;
    memcpy(q->text + used, one, one_len);
    used += one_len;
    i += step;
  }
  q->text[used++] = '"';
  if (i < len) {
    memcpy(q->text + used, cut, sizeof(cut) - 1);
    used += sizeof(cut) - 1;
  }
  q->text[used] = '\0';
  return q->text;
}

bool aicr_buf_add_printable(struct aicr_buf *b, const char *data, size_t len)
{
  size_t i = 0;

  while (i < len) {
    uint32_t cp = (unsigned char)data[i];
    size_t n = aicr_utf8_decode(data + i, len - i, &cp);

    if (n == 0 || (is_control(cp) && cp != '\n' && cp != '\t')) {
      char text[ESCAPE_MAX];

      aicr_buf_add(b, text, escape(text, cp));
    } else {
      aicr_buf_add(b, data + i, n);
    }
    i += n == 0 ? 1 : n;
  }
  return !b->failed;
}

/* How many bytes the escape sequence has whose introducer, ESC `kind` or the C1
 * character that stands for the two, ends at data: ECMA-48 5.4 and 5.6. */
static size_t sequence_length(uint32_t kind, const char *data, size_t len)
{
  size_t i = 0;

  if (kind == '[') {
    while (i < len && data[i] >= 0x20 && data[i] <= 0x3F)
      i++;
    return i < len && data[i] >= 0x40 && data[i] <= 0x7E ? i + 1 : i;
  }
  if (kind != ']' && kind != 'P' && kind != 'X' && kind != '^' && kind != '_')
    return 0;
  /* A string, which BEL or ST ends; never over a line, so that an introducer
   * alone does not swallow what follows. */
  for (; i < len && data[i] != '\n'; i++) {
    if (data[i] == '\a')
      return i + 1;
    if (len - i >= 2 && (memcmp(data + i, "\033\\", 2) == 0 ||
                         memcmp(data + i, "\xC2\x9C", 2) == 0))
      return i + 2;
  }
  return i;
}

/* The same for a sequence that starts with ESC or a C1 character of n bytes. */
static size_t skip_sequence(const char *data, size_t len, uint32_t cp, size_t n)
{
  if (cp >= 0x80)
    return n + sequence_length(cp - 0x40, data + n, len - n);
  while (n < len && data[n] >= 0x20 && data[n] <= 0x2F)
    n++;
  if (n == len || data[n] < 0x30 || data[n] > 0x7E)
    return n;
  if (n > 1)
    return n + 1;
  n++;
  return n + sequence_length((unsigned char)data[n - 1], data + n, len - n);
}

bool aicr_buf_add_plain(struct aicr_buf *b, const char *data, size_t len)
{
  size_t i = 0;

  while (i < len) {
    uint32_t cp = 0;
    size_t n = aicr_utf8_decode(data + i, len - i, &cp);

    if (n == 0)
      aicr_buf_adds(b, "\xEF\xBF\xBD");
    else if (cp == 0x1B || (cp >= 0x80 && cp <= 0x9F))
      n = skip_sequence(data + i, len - i, cp, n);
    else if (cp == '\t')
      aicr_buf_addc(b, ' ');
    else if (cp == '\n' || !is_control(cp))
      aicr_buf_add(b, data + i, n);
    i += n == 0 ? 1 : n;
  }
  return !b->failed;
}

bool aicr_buf_add_utf8(struct aicr_buf *b, const char *data, size_t len)
{
  size_t start = 0, i = 0;
  uint32_t cp;

  while (i < len) {
    size_t n = aicr_utf8_decode(data + i, len - i, &cp);

    if (n > 0) {
      i += n;
      continue;
    }
    aicr_buf_add(b, data + start, i - start);
    aicr_buf_adds(b, "\xEF\xBF\xBD");
    start = ++i;
  }
  return aicr_buf_add(b, data + start, len - start);
}

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

unsigned aicr_edit_distance(const char *a, const char *b, unsigned limit)
{
  size_t a_len = strnlen(a, WORD_MAX + 1), b_len = strnlen(b, WORD_MAX + 1);
  unsigned rows[3][WORD_MAX + 1];
  unsigned *before = rows[0], *last = rows[1], *now = rows[2];

  if (a_len > WORD_MAX || b_len > WORD_MAX)
    return limit + 1;
  for (size_t j = 0; j <= b_len; j++) {
    before[j] = 0;
    last[j] = (unsigned)j;
  }
  for (size_t i = 1; i <= a_len; i++) {
    unsigned *oldest = before;

    now[0] = (unsigned)i;
    for (size_t j = 1; j <= b_len; j++) {
      unsigned cost = a[i - 1] == b[j - 1] ? 0 : 1;

      now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = least(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
    now = oldest;
  }
  return least(last[b_len], limit + 1);
}

const char *aicr_nearest(const char *word, const char *const *words,
                         size_t count)
{
  const unsigned limit = 2;
  size_t half = (strlen(word) + 1) / 2;
  unsigned best = limit + 1;
  const char *found = NULL;

  for (size_t i = 0; i < count; i++) {
    unsigned d = aicr_edit_distance(word, words[i], limit);

    if (d < best && d < half) {
      best = d;
      found = words[i];
    }
  }
  return found;
}
