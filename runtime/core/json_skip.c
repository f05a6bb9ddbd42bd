/* SPDX-License-Identifier: Apache-2.0 */
/* Looks over what nobody wants of a JSON text: what is plain in one loop, all
 * else a token at a time as ever. */
#include <string.h>

#include "core/json_internal.h"

/* Digits that fit int64_t whatever they are. */
#define SHORT_INTEGER 18

static bool in_object(const struct aicr_json_reader *r)
{
  unsigned top = r->depth - 1;

  return (r->stack[top / 8] >> (top % 8) & 1) != 0;
}

/* Each of these gives where a token ends that begins at p, NULL where it is
 * not plain, not whole in the chunk or wrong. */

static const char *past_string(const char *p, const char *end)
{
  const char *close = aicr_json_plain_end(p + 1, end);

  return close < end && *close == '"' &&
                 close - p <= (ptrdiff_t)AICR_JSON_STRING_MAX
             ? close + 1
             : NULL;
}

static const char *past_word(const char *p, const char *end, const char *word)
{
  size_t len = strlen(word);

  return (size_t)(end - p) >= len && memcmp(p, word, len) == 0 ? p + len : NULL;
}

static const char *past_integer(const char *p, const char *end)
{
  const char *from = p;

  while (p < end && *p >= '0' && *p <= '9')
    p++;
  if (p == from || p == end || p - from > SHORT_INTEGER ||
      (*from == '0' && p - from > 1) || *p == '.' || *p == 'e' || *p == 'E' ||
      *p == '+' || *p == '-')
    return NULL;
  return p;
}

static const char *past_scalar(const char *p, const char *end)
{
  switch (*p) {
  case '"':
    return past_string(p, end);
  case 't':
    return past_word(p, end, "true");
  case 'f':
    return past_word(p, end, "false");
  case 'n':
    return past_word(p, end, "null");
  default:
    return past_integer(p, end);
  }
}

static const char *open_container(struct aicr_json_reader *r, const char *p)
{
  unsigned bit = 1u << (r->depth % 8);

  if (r->depth >= r->max_depth)
    return NULL;
  if (*p == '{')
    r->stack[r->depth / 8] |= (unsigned char)bit;
  else
    r->stack[r->depth / 8] &= (unsigned char)~bit;
  r->depth++;
  r->state = *p == '{' ? ST_FIRST_KEY : ST_FIRST_ELEMENT;
  return p + 1;
}

static const char *past_value(struct aicr_json_reader *r, const char *p,
                              const char *end)
{
  if (*p == '{' || *p == '[')
    return open_container(r, p);
  p = past_scalar(p, end);
  if (p)
    r->state = ST_AFTER;
  return p;
}

/* The end of the container that is open, unless it is the one whose end the
 * caller gets. */
static const char *close_container(struct aicr_json_reader *r, const char *p,
                                   unsigned depth)
{
  if (*p != (in_object(r) ? '}' : ']') || r->depth == depth + 1)
    return NULL;
  r->depth--;
  r->state = ST_AFTER;
  return p + 1;
}

static const char *past_key(struct aicr_json_reader *r, const char *p,
                            const char *end)
{
  p = *p == '"' ? past_string(p, end) : NULL;
  if (p)
    r->state = ST_COLON;
  return p;
}

/* Behind the next token or what stands between two; NULL: see above. */
static const char *past_token(struct aicr_json_reader *r, const char *p,
                              const char *end, unsigned depth)
{
  switch (r->state) {
  case ST_AFTER:
    if (*p != ',')
      return close_container(r, p, depth);
    r->state = in_object(r) ? ST_KEY : ST_VALUE;
    return p + 1;
  case ST_COLON:
    if (*p != ':')
      return NULL;
    r->state = ST_VALUE;
    return p + 1;
  case ST_FIRST_KEY:
    return *p == '}' ? close_container(r, p, depth) : past_key(r, p, end);
  case ST_KEY:
    return past_key(r, p, end);
  case ST_FIRST_ELEMENT:
    return *p == ']' ? close_container(r, p, depth) : past_value(r, p, end);
  default:
    return past_value(r, p, end);
  }
}

static void skip_plain(struct aicr_json_reader *r, unsigned depth)
{
  const char *end = r->chunk + r->chunk_len;
  const char *p = r->chunk + r->chunk_pos, *next = p;

  while (next) {
    p = next;
    if (p < end && (unsigned char)*p <= ' ')
      p = aicr_json_past_space(p, end);
    next = p < end ? past_token(r, p, end, depth) : NULL;
  }
  r->chunk_pos = (size_t)(p - r->chunk);
}

enum aicr_json_token aicr_json_skip(struct aicr_json_reader *r, unsigned depth)
{
  bool discard = r->discard;
  enum aicr_json_token token;

  r->discard = true;
  do {
    if (r->lex == LEX_NONE && r->state < ST_DONE)
      skip_plain(r, depth);
    token = aicr_json_next(r);
  } while (token > AICR_JSON_END && r->depth > depth);
  r->discard = discard;
  return token;
}
