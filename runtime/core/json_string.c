/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of a JSON text, with escapes and cut by chunks' ends. */
#include <string.h>

#include "core/json_internal.h"
#include "core/text.h"

#define REPLACEMENT "\xEF\xBF\xBD"

static enum aicr_json_token string_done(struct aicr_json_reader *r,
                                        const char *text, size_t len)
{
  r->chunk_pos++;
  r->lex = LEX_NONE;
  if (len > AICR_JSON_STRING_MAX)
    return aicr_json_too_large(r, "a string over 16 MiB");
  r->text = text;
  r->text_len = len;
  return r->state == ST_COLON ? AICR_JSON_KEY : AICR_JSON_STRING;
}

/* A high surrogate that no low one follows. */
static bool lone_surrogate(struct aicr_json_reader *r)
{
  if (r->lex_high == 0)
    return true;
  r->lex_high = 0;
  if (r->profile == AICR_JSON_GO)
    return aicr_json_keep(r, REPLACEMENT, 3);
  aicr_json_malformed(r, "a lone surrogate escape");
  return false;
}

static bool keep_code_point(struct aicr_json_reader *r, uint32_t cp)
{
  char out[4];

  return aicr_json_keep(r, out, aicr_utf8_encode(cp, out));
}

/* The four digits of \u were read. */
static bool code_unit(struct aicr_json_reader *r, uint32_t unit)
{
  bool low = unit >= 0xDC00 && unit <= 0xDFFF;

  if (low && r->lex_high != 0) {
    uint32_t high = r->lex_high;

    r->lex_high = 0;
    return keep_code_point(r,
                           0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
  }
  if (!lone_surrogate(r))
    return false;
  if (unit >= 0xD800 && unit <= 0xDBFF) {
    r->lex_high = unit;
    return true;
  }
  if (!low)
    return keep_code_point(r, unit);
  r->lex_high = unit;
  return lone_surrogate(r);
}

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

static bool step_hex(struct aicr_json_reader *r)
{
  int digit = hex_digit(r->chunk[r->chunk_pos]);

  if (digit < 0) {
    aicr_json_unexpected(r, "four hexadecimal digits after \\u");
    return false;
  }
  r->chunk_pos++;
  r->lex_cp = r->lex_cp << 4 | (uint32_t)digit;
  if (++r->lex_count < 4)
    return true;
  r->lex = LEX_STRING;
  return code_unit(r, r->lex_cp);
}

static bool step_escape(struct aicr_json_reader *r)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char c = r->chunk[r->chunk_pos];
  const char *at;

  if (c == 'u') {
    r->lex = LEX_HEX;
    r->lex_count = 0;
    r->lex_cp = 0;
    r->chunk_pos++;
    return true;
  }
  at = memchr(from, c, sizeof(from) - 1);
  if (!at) {
    aicr_json_unexpected(r, "an escape such as \\n");
    return false;
  }
  if (!lone_surrogate(r))
    return false;
  r->chunk_pos++;
  r->lex = LEX_STRING;
  return aicr_json_keep(r, &to[at - from], 1);
}

/* True when more bytes could make the len bytes a well-formed sequence. */
static bool may_become_utf8(const char *data, size_t len)
{
  static const char *const tails[] = {"\x80\x80\x80", "\xBF\xBF\xBF"};
  uint32_t cp;

  /* The second byte's range is a matter of both its ends. */
  for (size_t i = 0; i < 2; i++) {
    char whole[8];

    memcpy(whole, data, len);
    memcpy(whole + len, tails[i], 3);
    if (aicr_utf8_decode(whole, len + 3, &cp) > len)
      return true;
  }
  return false;
}

/* `count` bytes were found bad; the reader stands `behind` bytes after the
 * first of them. */
static bool bad_bytes(struct aicr_json_reader *r, size_t count, size_t behind)
{
  if (r->profile == AICR_JSON_STRICT) {
    aicr_json_malformed(r, "");
    r->offset -= behind;
    aicr_fail(&r->error, AICR_INVALID_REQUEST, "malformed",
              "malformed JSON at byte %zu: a string is not valid UTF-8",
              r->offset);
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (!aicr_json_keep(r, REPLACEMENT, 3))
      return false;
  return true;
}

static void stash(struct aicr_json_reader *r, const char *data, size_t len)
{
  r->lex = LEX_UTF8;
  r->lex_count = (unsigned)len;
  r->lex_cp = 0;
  for (size_t i = 0; i < len; i++)
    r->lex_cp |= (uint32_t)(unsigned char)data[i] << (8 * i);
}

/* One more byte for the sequence that a chunk's end has cut. */
static bool step_utf8(struct aicr_json_reader *r)
{
  size_t n = r->lex_count;
  char bytes[4];
  uint32_t cp;

  for (size_t i = 0; i < n; i++)
    bytes[i] = (char)(r->lex_cp >> (8 * i) & 0xFF);
  bytes[n] = r->chunk[r->chunk_pos];
  if (aicr_utf8_decode(bytes, n + 1, &cp) == n + 1) {
    r->chunk_pos++;
    r->lex = LEX_STRING;
    return aicr_json_keep(r, bytes, n + 1);
  }
  if (may_become_utf8(bytes, n + 1)) {
    r->chunk_pos++;
    stash(r, bytes, n + 1);
    return true;
  }
  r->lex = LEX_STRING;
  return bad_bytes(r, n, n);
}

static bool step_not_ascii(struct aicr_json_reader *r)
{
  const char *p = r->chunk + r->chunk_pos;
  size_t left = r->chunk_len - r->chunk_pos;
  uint32_t cp;
  size_t n = aicr_utf8_decode(p, left, &cp);

  if (n > 0) {
    r->chunk_pos += n;
    return aicr_json_keep(r, p, n);
  }
  if (left < 4 && may_become_utf8(p, left)) {
    stash(r, p, left);
    r->chunk_pos += left;
    return true;
  }
  if (!bad_bytes(r, 1, 0))
    return false;
  r->chunk_pos++;
  return true;
}

/* A run of plain bytes and what ends it. */
static bool step_plain(struct aicr_json_reader *r)
{
  const char *p = r->chunk + r->chunk_pos;
  const char *end = aicr_json_plain_end(p, r->chunk + r->chunk_len);
  size_t n = (size_t)(end - p);

  if (n > 0 && (!lone_surrogate(r) || !aicr_json_keep(r, p, n)))
    return false;
  r->chunk_pos += n;
  if (r->chunk_pos == r->chunk_len || *end == '"')
    return true;
  if (*end == '\\') {
    r->lex = LEX_ESCAPE;
    r->chunk_pos++;
    return true;
  }
  if ((unsigned char)*end < 0x20) {
    aicr_json_unexpected(r, "no control character in a string");
    return false;
  }
  return lone_surrogate(r) && step_not_ascii(r);
}

/* The part of a string that needs the scratch buffer. */
enum aicr_json_token aicr_json_resume_string(struct aicr_json_reader *r)
{
  while (r->chunk_pos < r->chunk_len) {
    bool ok;

    if (r->lex == LEX_STRING && r->chunk[r->chunk_pos] == '"') {
      if (!lone_surrogate(r))
        return AICR_JSON_ERROR;
      return string_done(r, aicr_json_kept(r), r->scratch.len);
    }
    if (r->lex == LEX_STRING)
      ok = step_plain(r);
    else if (r->lex == LEX_ESCAPE)
      ok = step_escape(r);
    else if (r->lex == LEX_HEX)
      ok = step_hex(r);
    else
      ok = step_utf8(r);
    if (!ok)
      return AICR_JSON_ERROR;
  }
  return aicr_json_more(r);
}

enum aicr_json_token aicr_json_begin_string(struct aicr_json_reader *r)
{
  const char *start = r->chunk + r->chunk_pos + 1;
  const char *end = r->chunk + r->chunk_len;
  const char *p = start;

  for (;;) {
    uint32_t cp;
    size_t n;

    p = aicr_json_plain_end(p, end);
    if (p == end || (unsigned char)*p < 0x80)
      break;
    n = aicr_utf8_decode(p, (size_t)(end - p), &cp);
    if (n == 0)
      break;
    p += n;
  }
  r->chunk_pos = (size_t)(p - r->chunk);
  if (p < end && *p == '"')
    return string_done(r, start, (size_t)(p - start));
  r->lex = LEX_STRING;
  r->lex_high = 0;
  aicr_buf_reset(&r->scratch);
  if (!aicr_json_keep(r, start, (size_t)(p - start)))
    return AICR_JSON_ERROR;
  return aicr_json_resume_string(r);
}
