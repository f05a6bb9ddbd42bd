/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_reader.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/json_internal.h"
#include "core/number.h"
#include "core/text.h"

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

void aicr_json_secret(struct aicr_json_reader *r)
{
  r->scratch.secret = true;
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
enum aicr_json_token aicr_json_malformed(struct aicr_json_reader *r,
                                         const char *what)
{
  return aicr_json_reject(r, AICR_INVALID_REQUEST, "malformed", what);
}

enum aicr_json_token aicr_json_unexpected(struct aicr_json_reader *r,
                                          const char *wanted)
{
  struct aicr_quoted q;
  const char *at = r->chunk + r->chunk_pos;

  aicr_json_malformed(r, "");
  aicr_fail(&r->error, AICR_INVALID_REQUEST, "malformed",
            "malformed JSON at byte %zu: expected %s, found %s", r->offset,
            wanted, aicr_quote(&q, at, 1));
  return AICR_JSON_ERROR;
}

enum aicr_json_token aicr_json_too_large(struct aicr_json_reader *r,
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

bool aicr_json_keep(struct aicr_json_reader *r, const char *data, size_t len)
{
  struct aicr_buf *b = &r->scratch;

  if (r->discard && r->lex != LEX_NUMBER)
    return true;
  if (!b->failed && len > b->max - b->len) {
    aicr_buf_free(b);
    aicr_json_too_large(r, "a string or number over 16 MiB");
    return false;
  }
  if (!aicr_buf_add(b, data, len)) {
    no_memory(r);
    return false;
  }
  return true;
}

const char *aicr_json_kept(const struct aicr_json_reader *r)
{
  return r->scratch.len > 0 ? r->scratch.data : "";
}

/* The chunk is used up. */
enum aicr_json_token aicr_json_more(struct aicr_json_reader *r)
{
  if (!r->finished)
    return AICR_JSON_MORE;
  if (r->state == ST_DONE && r->lex == LEX_NONE) {
    r->state = ST_END;
    return AICR_JSON_END;
  }
  return aicr_json_malformed(r, "the text ends too early");
}

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
    return aicr_json_malformed(r, "nested too deep");
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
    aicr_json_malformed(r, "");
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
    return aicr_json_malformed(r, "a number is out of range");
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
  if (!aicr_json_keep(r, p, n))
    return AICR_JSON_ERROR;
  if (stop == end && !r->finished)
    return AICR_JSON_MORE;
  return number_done(r, aicr_json_kept(r), r->scratch.len);
}

static enum aicr_json_token resume_word(struct aicr_json_reader *r)
{
  static const char *const words[] = {"true", "false", "null"};
  unsigned which = r->lex - LEX_TRUE;
  const char *word = words[which];

  while (word[r->lex_count] != '\0') {
    if (r->chunk_pos == r->chunk_len)
      return aicr_json_more(r);
    if (r->chunk[r->chunk_pos] != word[r->lex_count])
      return aicr_json_unexpected(r, word);
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

static enum aicr_json_token begin_value(struct aicr_json_reader *r, char c)
{
  switch (c) {
  case '{':
    return open_container(r, true);
  case '[':
    return open_container(r, false);
  case '"':
    after_value(r);
    return aicr_json_begin_string(r);
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
      return aicr_json_unexpected(r, "a value");
    after_value(r);
    return resume_number(r);
  }
}

const char *aicr_json_past_space(const char *p, const char *end)
{
  static const char blanks[8] = {' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '};

  for (; p < end; p++) {
    if (*p == '\n') {
      /* The indentation that follows. */
      while (end - p > 8 && memcmp(p + 1, blanks, sizeof(blanks)) == 0)
        p += 8;
    } else if (*p != ' ' && *p != '\t' && *p != '\r') {
      break;
    }
  }
  return p;
}

static void skip_space(struct aicr_json_reader *r)
{
  const char *p =
      aicr_json_past_space(r->chunk + r->chunk_pos, r->chunk + r->chunk_len);

  r->chunk_pos = (size_t)(p - r->chunk);
}

/* The next token, no token being cut. */
static enum aicr_json_token begin_token(struct aicr_json_reader *r)
{
  for (;;) {
    char c;

    skip_space(r);
    if (r->chunk_pos == r->chunk_len)
      return aicr_json_more(r);
    r->token_pos = r->chunk_pos;
    c = r->chunk[r->chunk_pos];
    switch (r->state) {
    case ST_AFTER:
      if (c == (in_object(r) ? '}' : ']'))
        return close_container(r);
      if (c != ',')
        return aicr_json_unexpected(r,
                                    in_object(r) ? "',' or '}'" : "',' or ']'");
      r->chunk_pos++;
      r->state = in_object(r) ? ST_KEY : ST_VALUE;
      break;
    case ST_COLON:
      if (c != ':')
        return aicr_json_unexpected(r, "':'");
      r->chunk_pos++;
      r->state = ST_VALUE;
      break;
    case ST_FIRST_KEY:
    case ST_KEY:
      if (c == '}' && r->state == ST_FIRST_KEY)
        return close_container(r);
      if (c != '"')
        return aicr_json_unexpected(r, "a key in quotes");
      r->state = ST_COLON;
      return aicr_json_begin_string(r);
    case ST_FIRST_ELEMENT:
      if (c == ']')
        return close_container(r);
      return begin_value(r, c);
    case ST_VALUE:
      return begin_value(r, c);
    default:
      return aicr_json_unexpected(r, "the end of the text");
    }
  }
}

static enum aicr_json_token resume_token(struct aicr_json_reader *r)
{
  if (r->lex == LEX_NUMBER)
    return resume_number(r);
  if (r->lex >= LEX_TRUE)
    return resume_word(r);
  return aicr_json_resume_string(r);
}

enum aicr_json_token aicr_json_next(struct aicr_json_reader *r)
{
  enum aicr_json_token token;

  if (r->state == ST_ERROR)
    return AICR_JSON_ERROR;
  if (r->state == ST_END)
    return AICR_JSON_END;
  token = r->lex == LEX_NONE ? begin_token(r) : resume_token(r);
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
