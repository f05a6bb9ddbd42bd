/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_JSON_INTERNAL_H
#define AICR_CORE_JSON_INTERNAL_H

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/json_reader.h"

/* What the files of the reader share, and the one that cuts lists with it. */

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

/* Errors. Each stops the reader, fills r->error with the offset of chunk_pos
 * and returns AICR_JSON_ERROR. */
enum aicr_json_token aicr_json_reject(struct aicr_json_reader *r,
                                      enum aicr_code code, const char *reason,
                                      const char *what);
enum aicr_json_token aicr_json_malformed(struct aicr_json_reader *r,
                                         const char *what);
enum aicr_json_token aicr_json_too_large(struct aicr_json_reader *r,
                                         const char *what);

/* Names the byte at chunk_pos, too. */
enum aicr_json_token aicr_json_unexpected(struct aicr_json_reader *r,
                                          const char *wanted);

/* The chunk is used up: MORE, END, or an error if no other follows. */
enum aicr_json_token aicr_json_more(struct aicr_json_reader *r);

/* Appends to the token's text in scratch; false after an error. */
bool aicr_json_keep(struct aicr_json_reader *r, const char *data, size_t len);
const char *aicr_json_kept(const struct aicr_json_reader *r);

/* A string whose opening quote is at chunk_pos, and one that was cut. It is a
 * key when the state is ST_COLON. */
enum aicr_json_token aicr_json_begin_string(struct aicr_json_reader *r);
enum aicr_json_token aicr_json_resume_string(struct aicr_json_reader *r);

/* Behind white space. */
const char *aicr_json_past_space(const char *p, const char *end);

#define AICR_BYTES(c) (UINT64_C(0x0101010101010101) * (c))

/* The first byte of [p, end) that is '"', '\\', a control character or not
 * ASCII. */
static inline const char *aicr_json_plain_end(const char *p, const char *end)
{
#ifdef __SSE2__
  const __m128i quotes = _mm_set1_epi8('"'), slashes = _mm_set1_epi8('\\');
  const __m128i blank = _mm_set1_epi8(0x20);

  /* A byte that is not ASCII is negative, and so below a blank. */
  while (end - p >= 16) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i bad = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(v, quotes), _mm_cmpeq_epi8(v, slashes)),
        _mm_cmplt_epi8(v, blank));
    int mask = _mm_movemask_epi8(bad);

    if (mask)
      return p + __builtin_ctz((unsigned)mask);
    p += 16;
  }
#endif
  while (end - p >= 8) {
    uint64_t w, quote, slash, hit;

    memcpy(&w, p, sizeof(w));
    quote = w ^ AICR_BYTES('"');
    slash = w ^ AICR_BYTES('\\');
    /* x - 1 & ~x has its high bit set where x is 0; the lowest such byte is
     * exact, which is the one that counts. */
    hit = ((quote - AICR_BYTES(1)) & ~quote) |
          ((slash - AICR_BYTES(1)) & ~slash) | ((w - AICR_BYTES(0x20)) & ~w) |
          w;
    hit &= AICR_BYTES(0x80);
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

#endif
