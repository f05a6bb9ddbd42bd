/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_JSON_TOKENS_H
#define SPEC_C_JSON_TOKENS_H

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_reader.h"
#include "core/json_writer.h"

/* What the reader says of a text, as one line: { } [ ] for containers, k"key",
 * "string", 1, 1.5, true, false, null, $ at the end, !reason@offset. */

static inline void show_token(struct aicr_buf *out,
                              const struct aicr_json_reader *r,
                              enum aicr_json_token token)
{
  static const char *const fixed[] = {
      [AICR_JSON_END] = "$",        [AICR_JSON_OBJECT_BEGIN] = "{",
      [AICR_JSON_OBJECT_END] = "}", [AICR_JSON_ARRAY_BEGIN] = "[",
      [AICR_JSON_ARRAY_END] = "]",  [AICR_JSON_KEY] = "k",
      [AICR_JSON_TRUE] = "true",    [AICR_JSON_FALSE] = "false",
      [AICR_JSON_NULL] = "null",
  };

  if (out->len > 0)
    aicr_buf_addc(out, ' ');
  if (token == AICR_JSON_ERROR)
    aicr_buf_addf(out, "!%s@%zu", r->error.reason, r->offset);
  else if (token == AICR_JSON_INTEGER)
    aicr_buf_addf(out, "%" PRId64, r->integer);
  else if (token == AICR_JSON_DOUBLE && isinf(r->number))
    aicr_buf_adds(out, r->number > 0 ? "inf" : "-inf");
  else if (token == AICR_JSON_DOUBLE)
    aicr_json_write_double(out, r->number);
  else if (token != AICR_JSON_STRING)
    aicr_buf_adds(out, fixed[token]);
  if (token == AICR_JSON_KEY || token == AICR_JSON_STRING)
    aicr_json_write_string(out, r->text, r->text_len);
}

/* Reads text[0..len) in the chunks that end at cuts[0..count) and at len, each
 * in memory of exactly its size that is gone when the next one comes. With
 * `places` every token is followed by its offset and depth, an error by its
 * message. */
static inline void show_tokens(struct aicr_buf *out, const char *text,
                               size_t len, const size_t *cuts, size_t count,
                               enum aicr_json_profile profile, unsigned depth,
                               bool places)
{
  struct aicr_json_reader r;
  enum aicr_json_token token;
  char *chunk = NULL;
  size_t at = 0, next = 0;

  aicr_json_init(&r, profile, depth);
  do {
    token = aicr_json_next(&r);
    if (token == AICR_JSON_MORE) {
      size_t end = next < count ? cuts[next] : len;

      free(chunk);
      chunk = malloc(end > at ? end - at : 1);
      if (!chunk)
        abort();
      if (next > count) {
        aicr_json_finish(&r);
      } else {
        memcpy(chunk, text + at, end - at);
        aicr_json_feed(&r, chunk, end - at);
      }
      at = end;
      next++;
      continue;
    }
    show_token(out, &r, token);
    if (places && token == AICR_JSON_ERROR)
      aicr_buf_addf(out, " %s", r.error.message);
    else if (places)
      aicr_buf_addf(out, "@%zu/%u", r.offset, r.depth);
  } while (token != AICR_JSON_END && token != AICR_JSON_ERROR);
  if (aicr_json_next(&r) != token)
    abort();
  aicr_json_free(&r);
  free(chunk);
}

#endif
