/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_JSON_INTERNAL_H
#define AICR_CORE_JSON_INTERNAL_H

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

#endif
