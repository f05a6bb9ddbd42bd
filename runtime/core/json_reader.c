/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_reader.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/json_internal.h"
#include "core/number.h"
#include "core/text.h"

#define REPLACEMENT "\xEF\xBF\xBD"

/* What may come next. */
enum {
  ST_VALUE,
  ST_FIRST_ELEMENT, /* or ']' */
  ST_FIRST_KEY,     /* or '}' */
  ST_KEY,
  ST_COLON,
  ST_AFTER, /* ',' or the end of the container */
  ST_DONE,  /* nothing but white space */
  ST_END,
  ST_ERROR
};

/* The token that a chunk's end has cut, if any. */
enum {
  LEX_NONE,
  LEX_STRING, /* the next byte is plain, '\\' or '"' */
  LEX_UTF8,   /* lex_count bytes of a sequence are in lex_cp */
  LEX_ESCAPE, /* after '\\' */
  LEX_HEX,    /* lex_count of the four digits are in lex_cp */
  LEX_NUMBER, /* its bytes are in scratch */
  LEX_TRUE,   /* lex_count bytes of the word were read */
  LEX_FALSE,
  LEX_NULL
};

void aicr_json_init(struct aicr_json_reader *r, enum aicr_json_profile profile,
                    unsigned max_depth)
{
  memset(r, 0, sizeof(*r));
  r->profile = profile;
  r->max_depth = max_depth < AICR_JSON_DEPTH ? max_depth : AICR_JSON_DEPTH;
  r->state = ST_VALUE;
  r->chunk = "";
  r->text = "";
  aicr_buf_init(&r->scratch, AICR_JSON_STRING_MAX);
}

void aicr_json_free(struct aicr_json_reader *r)
{
  aicr_buf_free(&r->scratch);
}

void aicr_json_feed(struct aicr_json_reader *r, const char *data, size_t len)
{
  assert(r->state >= ST_END || r->chunk_pos == r->chunk_len);
  assert(!r->finished);
  r->base += r->chunk_len;
  r->chunk = len > 0 ? data : "";
  r->chunk_len = len;
  r->chunk_pos = 0;
  r->token_pos = 0;
  r->raw_pos = 0;
}

void aicr_json_finish(struct aicr_json_reader *r)
{
  r->finished = true;
}

bool aicr_json_inside_token(const struct aicr_json_reader *r)
{
  return r->lex != LEX_NONE;
}

/* --- errors -------------------------------------------------------------- */

enum aicr_json_token aicr_json_reject(struct aicr_json_reader *r,
                                      enum aicr_code code, const char *reason,
                                      const char *what)
{
  r->state = ST_ERROR;
  r->lex = LEX_NONE;
  r->offset = r->base + r->chunk_pos;
  aicr_fail(&r->error, code, reason, "malformed JSON at byte %zu: %s",
            r->offset, what);
  return AICR_JSON_ERROR;
}

/* The byte at chunk_pos is the bad one. */
static enum aicr_json_token malformed(struct aicr_json_reader *r,
                                      const char *what)
{
  return aicr_json_reject(r, AICR_INVALID_REQUEST, "malformed", what);
}

static enum aicr_json_token unexpected(struct aicr_json_reader *r,
                                       const char *wanted)
{
  struct aicr_quoted q;
  const char *at = r->chunk + r->chunk_pos;

  malformed(r, "");
  aicr_fail(&r->error, AICR_INVALID_REQUEST, "malformed",
            "malformed JSON at byte %zu: expected %s, found %s", r->offset,
            wanted, aicr_quote(&q, at, 1));
  return AICR_JSON_ERROR;
}

static enum aicr_json_token too_large(struct aicr_json_reader *r,
                                      const char *what)
{
  aicr_json_reject(r, AICR_INVALID_REQUEST, "too-large", "");
  aicr_fail(&r->error, AICR_INVALID_REQUEST, "too-large",
            "JSON too large at byte %zu: %s", r->offset, what);
  return AICR_JSON_ERROR;
}

static enum aicr_json_token no_memory(struct aicr_json_reader *r)
{
  aicr_json_reject(r, AICR_INTERNAL, "memory", "");
  aicr_fail(&r->error, AICR_INTERNAL, "memory", "out of memory reading JSON");
  return AICR_JSON_ERROR;
}

/* Appends to a buffer; false after an error that has been recorded. */
static bool append(struct aicr_json_reader *r, struct aicr_buf *b,
                   const char *data, size_t len, const char *what)
{
  if (!b->failed && len > b->max - b->len) {
    aicr_buf_free(b);
    too_large(r, what);
    return false;
  }
  if (!aicr_buf_add(b, data, len)) {
    no_memory(r);
    return false;
  }
  return true;
}

static bool keep(struct aicr_json_reader *r, const char *data, size_t len)
{
  return append(r, &r->scratch, data, len, "a string or number over 16 MiB");
}

static const char *kept(const struct aicr_json_reader *r)
{
  return r->scratch.len > 0 ? r->scratch.data : "";
}

/* --- structure ----------------------------------------------------------- */

static bool in_object(const struct aicr_json_reader *r)
{
  unsigned top = r->depth - 1;

  return (r->stack[top / 8] >> (top % 8) & 1) != 0;
}

static void after_value(struct aicr_json_reader *r)
{
  r->state = r->depth > 0 ? ST_AFTER : ST_DONE;
}

static enum aicr_json_token open_container(struct aicr_json_reader *r,
                                           bool object)
{
  unsigned bit;

  if (r->depth >= r->max_depth)
    return malformed(r, "nested too deep");
  bit = 1u << (r->depth % 8);
  if (object)
    r->stack[r->depth / 8] |= (unsigned char)bit;
  else
    r->stack[r->depth / 8] &= (unsigned char)~bit;
  r->depth++;
  r->chunk_pos++;
  r->state = object ? ST_FIRST_KEY : ST_FIRST_ELEMENT;
  return object ? AICR_JSON_OBJECT_BEGIN : AICR_JSON_ARRAY_BEGIN;
}

static enum aicr_json_token close_container(struct aicr_json_reader *r)
{
  bool object = in_object(r);

  r->depth--;
  r->chunk_pos++;
  after_value(r);
  return object ? AICR_JSON_OBJECT_END : AICR_JSON_ARRAY_END;
}

/* The chunk is used up. */
static enum aicr_json_token more(struct aicr_json_reader *r)
{
  if (!r->finished)
    return AICR_JSON_MORE;
  if (r->state == ST_DONE && r->lex == LEX_NONE) {
    r->state = ST_END;
    return AICR_JSON_END;
  }
  return malformed(r, "the text ends too early");
}

/* --- strings ------------------------------------------------------------- */

#define BYTES(c) (UINT64_C(0x0101010101010101) * (c))

/* The first byte of [p, end) that is '"', '\\', a control character or not
 * ASCII. */
static const char *plain_end(const char *p, const char *end)
{
  while (end - p >= 8) {
    uint64_t w, quote, slash, hit;

    memcpy(&w, p, sizeof(w));
    quote = w ^ BYTES('"');
    slash = w ^ BYTES('\\');
    /* x - 1 & ~x has its high bit set where x is 0; the lowest such byte is
     * exact, which is the one that counts. */
    hit = ((quote - BYTES(1)) & ~quote) | ((slash - BYTES(1)) & ~slash) |
          ((w - BYTES(0x20)) & ~w) | w;
    hit &= BYTES(0x80);
    if (hit) {
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
      return p + __builtin_ctzll(hit) / 8;
#else
      break;
#endif
    }
    p += 8;
  }
  while (p < end) {
    unsigned char c = (unsigned char)*p;

    if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
      break;
    p++;
  }
  return p;
}

static enum aicr_json_token string_done(struct aicr_json_reader *r,
                                        const char *text, size_t len)
{
  r->chunk_pos++;
  r->lex = LEX_NONE;
  if (len > AICR_JSON_STRING_MAX)
    return too_large(r, "a string over 16 MiB");
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
    return keep(r, REPLACEMENT, 3);
  malformed(r, "a lone surrogate escape");
  return false;
}

static bool keep_code_point(struct aicr_json_reader *r, uint32_t cp)
{
  char out[4];

  return keep(r, out, aicr_utf8_encode(cp, out));
}

/* The four digits of \u were read. */
static bool code_unit(struct aicr_json_reader *r, uint32_t unit)
{
  bool low = unit >= 0xDC00 && unit <= 0xDFFF;

  if (low && r->lex_high != 0) {
    uint32_t high = r->lex_high;

    r->lex_high = 0;
    return keep_code_point(
      r, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
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
    unexpected(r, "four hexadecimal digits after \\u");
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
    unexpected(r, "an escape such as \\n");
    return false;
  }
  if (!lone_surrogate(r))
    return false;
  r->chunk_pos++;
  r->lex = LEX_STRING;
  return keep(r, &to[at - from], 1);
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
    malformed(r, "");
    r->offset -= behind;
    aicr_fail(&r->error, AICR_INVALID_REQUEST, "malformed",
              "malformed JSON at byte %zu: a string is not valid UTF-8",
              r->offset);
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (!keep(r, REPLACEMENT, 3))
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
    return keep(r, bytes, n + 1);
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
    return keep(r, p, n);
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
  const char *end = plain_end(p, r->chunk + r->chunk_len);
  size_t n = (size_t)(end - p);

  if (n > 0 && (!lone_surrogate(r) || !keep(r, p, n)))
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
    unexpected(r, "no control character in a string");
    return false;
  }
  return lone_surrogate(r) && step_not_ascii(r);
}

/* The part of a string that needs the scratch buffer. */
static enum aicr_json_token resume_string(struct aicr_json_reader *r)
{
  while (r->chunk_pos < r->chunk_len) {
    bool ok;

    if (r->lex == LEX_STRING && r->chunk[r->chunk_pos] == '"') {
      if (!lone_surrogate(r))
        return AICR_JSON_ERROR;
      return string_done(r, kept(r), r->scratch.len);
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
  return more(r);
}

static enum aicr_json_token begin_string(struct aicr_json_reader *r)
{
  const char *start = r->chunk + r->chunk_pos + 1;
  const char *end = r->chunk + r->chunk_len;
  const char *p = start;

  for (;;) {
    uint32_t cp;
    size_t n;

    p = plain_end(p, end);
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
  if (!keep(r, start, (size_t)(p - start)))
    return AICR_JSON_ERROR;
  return resume_string(r);
}

/* --- numbers and words --------------------------------------------------- */

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static size_t digits_end(const char *s, size_t len, size_t i)
{
  while (i < len && is_digit(s[i]))
    i++;
  return i;
}

/* How many bytes follow RFC 8259's grammar; len if all and it is complete. */
static size_t number_grammar(const char *s, size_t len, bool *integer)
{
  size_t i = len > 0 && s[0] == '-' ? 1 : 0;
  size_t from = i;

  *integer = true;
  i = digits_end(s, len, i);
  if (i == from)
    return i < len ? i : len + 1;
  if (i - from > 1 && s[from] == '0')
    return from + 1;
  if (i < len && s[i] == '.') {
    *integer = false;
    from = ++i;
    i = digits_end(s, len, i);
    if (i == from)
      return i < len ? i : len + 1;
  }
  if (i < len && (s[i] == 'e' || s[i] == 'E')) {
    *integer = false;
    i++;
    if (i < len && (s[i] == '+' || s[i] == '-'))
      i++;
    from = i;
    i = digits_end(s, len, i);
    if (i == from)
      return i < len ? i : len + 1;
  }
  return i;
}

/* The whole number is at hand; chunk_pos is behind it. */
static enum aicr_json_token number_done(struct aicr_json_reader *r,
                                        const char *s, size_t len)
{
  bool integer;
  size_t good = number_grammar(s, len, &integer);

  r->lex = LEX_NONE;
  if (good != len) {
    malformed(r, "");
    r->offset = r->offset - len + (good < len ? good : len);
    aicr_fail(&r->error, AICR_INVALID_REQUEST, "malformed",
              "malformed JSON at byte %zu: not a number", r->offset);
    return AICR_JSON_ERROR;
  }
  if (integer && aicr_parse_int64(s, len, &r->integer))
    return AICR_JSON_INTEGER;
  if (aicr_parse_double(s, len, &r->number))
    return AICR_JSON_DOUBLE;
  if (r->profile == AICR_JSON_STRICT)
    return malformed(r, "a number is out of range");
  r->number = s[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  return AICR_JSON_DOUBLE;
}

/* Takes the bytes that can be part of a number. */
static enum aicr_json_token resume_number(struct aicr_json_reader *r)
{
  const char *p = r->chunk + r->chunk_pos;
  const char *end = r->chunk + r->chunk_len;
  const char *stop = p;
  size_t n;

  while (stop < end && (is_digit(*stop) || *stop == '.' || *stop == 'e' ||
                        *stop == 'E' || *stop == '+' || *stop == '-'))
    stop++;
  n = (size_t)(stop - p);
  r->chunk_pos += n;
  if (r->lex == LEX_NONE) {
    if (stop < end || r->finished)
      return number_done(r, p, n);
    r->lex = LEX_NUMBER;
    aicr_buf_reset(&r->scratch);
  }
  if (!keep(r, p, n))
    return AICR_JSON_ERROR;
  if (stop == end && !r->finished)
    return AICR_JSON_MORE;
  return number_done(r, kept(r), r->scratch.len);
}

static enum aicr_json_token resume_word(struct aicr_json_reader *r)
{
  static const char *const words[] = {"true", "false", "null"};
  unsigned which = r->lex - LEX_TRUE;
  const char *word = words[which];

  while (word[r->lex_count] != '\0') {
    if (r->chunk_pos == r->chunk_len)
      return more(r);
    if (r->chunk[r->chunk_pos] != word[r->lex_count])
      return unexpected(r, word);
    r->chunk_pos++;
    r->lex_count++;
  }
  r->lex = LEX_NONE;
  return (enum aicr_json_token)(AICR_JSON_TRUE + which);
}

static enum aicr_json_token begin_word(struct aicr_json_reader *r, unsigned lex)
{
  r->lex = lex;
  r->lex_count = 0;
  return resume_word(r);
}

/* --- tokens -------------------------------------------------------------- */

static enum aicr_json_token begin_value(struct aicr_json_reader *r, char c)
{
  switch (c) {
  case '{':
    return open_container(r, true);
  case '[':
    return open_container(r, false);
  case '"':
    after_value(r);
    return begin_string(r);
  case 't':
    after_value(r);
    return begin_word(r, LEX_TRUE);
  case 'f':
    after_value(r);
    return begin_word(r, LEX_FALSE);
  case 'n':
    after_value(r);
    return begin_word(r, LEX_NULL);
  default:
    if (c != '-' && !is_digit(c))
      return unexpected(r, "a value");
    after_value(r);
    return resume_number(r);
  }
}

static void skip_space(struct aicr_json_reader *r)
{
  const char *p = r->chunk + r->chunk_pos;
  const char *end = r->chunk + r->chunk_len;

  while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
    p++;
  r->chunk_pos = (size_t)(p - r->chunk);
}

/* The next token, no token being cut. */
static enum aicr_json_token begin_token(struct aicr_json_reader *r)
{
  for (;;) {
    char c;

    skip_space(r);
    if (r->chunk_pos == r->chunk_len)
      return more(r);
    r->token_pos = r->chunk_pos;
    c = r->chunk[r->chunk_pos];
    switch (r->state) {
    case ST_AFTER:
      if (c == (in_object(r) ? '}' : ']'))
        return close_container(r);
      if (c != ',')
        return unexpected(r, in_object(r) ? "',' or '}'" : "',' or ']'");
      r->chunk_pos++;
      r->state = in_object(r) ? ST_KEY : ST_VALUE;
      break;
    case ST_COLON:
      if (c != ':')
        return unexpected(r, "':'");
      r->chunk_pos++;
      r->state = ST_VALUE;
      break;
    case ST_FIRST_KEY:
    case ST_KEY:
      if (c == '}' && r->state == ST_FIRST_KEY)
        return close_container(r);
      if (c != '"')
        return unexpected(r, "a key in quotes");
      r->state = ST_COLON;
      return begin_string(r);
    case ST_FIRST_ELEMENT:
      if (c == ']')
        return close_container(r);
      return begin_value(r, c);
    case ST_VALUE:
      return begin_value(r, c);
    default:
      return unexpected(r, "the end of the text");
    }
  }
}

static enum aicr_json_token resume_token(struct aicr_json_reader *r)
{
  if (r->lex == LEX_NUMBER)
    return resume_number(r);
  if (r->lex >= LEX_TRUE)
    return resume_word(r);
  return resume_string(r);
}

/* --- capture ------------------------------------------------------------- */

void aicr_json_capture(struct aicr_json_reader *r, struct aicr_buf *raw)
{
  r->capture = raw;
  r->raw_started = false;
}

static enum aicr_json_token captured(struct aicr_json_reader *r,
                                     enum aicr_json_token token)
{
  if (token == AICR_JSON_ERROR)
    return token;
  if (!r->raw_started) {
    if (token == AICR_JSON_END ||
        (token == AICR_JSON_MORE && r->lex == LEX_NONE))
      return token;
    r->raw_started = true;
    r->raw_pos = r->token_pos;
  }
  if (!append(r, r->capture, r->chunk + r->raw_pos, r->chunk_pos - r->raw_pos,
              "more than the caller takes"))
    return AICR_JSON_ERROR;
  r->raw_pos = r->chunk_pos;
  return token;
}

enum aicr_json_token aicr_json_next(struct aicr_json_reader *r)
{
  enum aicr_json_token token;

  if (r->state == ST_ERROR)
    return AICR_JSON_ERROR;
  if (r->state == ST_END)
    return AICR_JSON_END;
  token = r->lex == LEX_NONE ? begin_token(r) : resume_token(r);
  if (r->capture)
    token = captured(r, token);
  if (token != AICR_JSON_ERROR)
    r->offset = r->base + r->chunk_pos;
  return token;
}

bool aicr_json_check(const char *data, size_t len,
                     enum aicr_json_profile profile, unsigned max_depth,
                     struct aicr_error *err)
{
  struct aicr_json_reader r;
  enum aicr_json_token token;

  aicr_json_init(&r, profile, max_depth);
  aicr_json_feed(&r, data, len);
  aicr_json_finish(&r);
  do {
    token = aicr_json_next(&r);
  } while (token != AICR_JSON_END && token != AICR_JSON_ERROR);
  if (token == AICR_JSON_ERROR && err)
    *err = r.error;
  aicr_json_free(&r);
  return token == AICR_JSON_END;
}
