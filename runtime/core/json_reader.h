/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_JSON_READER_H
#define AICR_CORE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buffer.h"

/* A strict pull reader of RFC 8259 text: the caller asks for the next token,
 * there are no callbacks. Input comes in chunks of any size. Integers without
 * '.', 'e' that fit int64_t stay integers, other numbers are doubles (overflow
 * is an error). Strings may hold NUL. One top-level value, then only white
 * space. A BOM is an error. */

enum aicr_json_token {
  AICR_JSON_ERROR, /* reader->error says what; the reader stays there */
  AICR_JSON_MORE,  /* feed another chunk or call aicr_json_finish() */
  AICR_JSON_END,   /* the top-level value is complete, input is used up */
  AICR_JSON_OBJECT_BEGIN,
  AICR_JSON_OBJECT_END,
  AICR_JSON_ARRAY_BEGIN,
  AICR_JSON_ARRAY_END,
  AICR_JSON_KEY,     /* text, text_len: unescaped */
  AICR_JSON_STRING,  /* text, text_len: unescaped */
  AICR_JSON_INTEGER, /* integer */
  AICR_JSON_DOUBLE,  /* number */
  AICR_JSON_TRUE,
  AICR_JSON_FALSE,
  AICR_JSON_NULL
};

enum aicr_json_profile {
  /* invalid UTF-8 and lone surrogate escapes are errors */
  AICR_JSON_STRICT,
  /* gke-tcpxo.md 3.1: each bad byte in a string and each lone surrogate
   * escape becomes one U+FFFD, as the decoder that the cluster's own
   * components use. Bad bytes outside strings stay errors. Also: a number out
   * of the range of a double is no error (token DOUBLE, HUGE_VAL). */
  AICR_JSON_GO
};

#define AICR_JSON_DEPTH            256 /* general limit */
#define AICR_JSON_DEPTH_ANNOTATION 64  /* gke-tcpxo.md 3.1, OURS */
#define AICR_JSON_STRING_MAX       (16u << 20)

struct aicr_json_reader {
  /* the current token; valid until the next call */
  const char *text;
  size_t text_len;
  int64_t integer;
  double number;
  size_t offset;           /* bytes consumed before the current token's end */
  unsigned depth;          /* containers open after the current token */
  struct aicr_error error; /* INVALID_REQUEST/"malformed", with the offset */

  /* private */
  enum aicr_json_profile profile;
  unsigned max_depth;
  unsigned state;
  const char *chunk;
  size_t chunk_len, chunk_pos;
  bool finished;
  struct aicr_buf scratch;
  unsigned char stack[AICR_JSON_DEPTH / 8 + 1];
  unsigned lex, lex_count;
  uint32_t lex_cp, lex_high;
  size_t base;               /* bytes in the chunks before this one */
  size_t token_pos, raw_pos; /* in the chunk; raw_pos is json_list's */
  bool discard;              /* texts with escapes are checked, not kept */
};

/* Begins a text. max_depth: containers that may be open at once, at most
 * AICR_JSON_DEPTH. Nothing is allocated yet. */
void aicr_json_init(struct aicr_json_reader *r, enum aicr_json_profile profile,
                    unsigned max_depth);
void aicr_json_free(struct aicr_json_reader *r);

/* After aicr_json_init(): what the reader keeps of the text is wiped. */
void aicr_json_secret(struct aicr_json_reader *r);

/* Hands in the next chunk; it must stay valid until the reader asks for MORE.
 * Only allowed at the beginning and after MORE. */
void aicr_json_feed(struct aicr_json_reader *r, const char *data, size_t len);

/* Says that no chunk follows: what is incomplete now is an error. */
void aicr_json_finish(struct aicr_json_reader *r);

enum aicr_json_token aicr_json_next(struct aicr_json_reader *r);

/* As aicr_json_next() until no more than `depth` containers are open, fewer
 * than now: the same checks, but nobody wants what is in between. The token
 * that ends the last of them, ERROR, or MORE: then call it again. */
enum aicr_json_token aicr_json_skip(struct aicr_json_reader *r, unsigned depth);

/* Reads a whole text and discards the values: the syntax check. */
bool aicr_json_check(const char *data, size_t len,
                     enum aicr_json_profile profile, unsigned max_depth,
                     struct aicr_error *err);

#endif
