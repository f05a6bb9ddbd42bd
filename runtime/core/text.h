/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_TEXT_H
#define AICR_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buffer.h"

/* UTF-8, escaping of text from outside, and the nearest known word. */

/* Decodes the sequence that starts at data[0]. Returns its length and the code
 * point, or 0 when the byte does not start a well-formed sequence (overlong,
 * surrogate, above U+10FFFF, cut short: as Unicode 3.9 D92). */
size_t aicr_utf8_decode(const char *data, size_t len, uint32_t *cp);

/* Writes the encoding of cp (a scalar value) to out[4], returns its length. */
size_t aicr_utf8_encode(uint32_t cp, char *out);

bool aicr_utf8_valid(const char *data, size_t len);

/* Unicode White_Space as Go's unicode.IsSpace sees it: U+0009-U+000D, U+0020,
 * U+0085, U+00A0, U+1680, U+2000-U+200A, U+2028, U+2029, U+202F, U+205F,
 * U+3000. Narrows the span [*data, *data + *len). Works on decoded characters:
 * a lone byte 0x85 or 0xA0 is not white space (gke-tcpxo.md 3.4). */
void aicr_trim(const char **data, size_t *len);

/* A span of outside text made fit for a message: in double quotes, control
 * characters, quotes, backslashes and invalid bytes as \n \x1b \" escapes,
 * cut to about 200 bytes with "…". Lives in the caller's frame:
 *   struct aicr_quoted q;
 *   aicr_fail(err, …, "bad name %s", aicr_quote(&q, data, len)); */
struct aicr_quoted {
  char text[256];
};
const char *aicr_quote(struct aicr_quoted *q, const char *data, size_t len);

/* Appends text for a terminal: control characters (also C1) and invalid bytes
 * as \x1b-style escapes; newline and tab stay. */
bool aicr_buf_add_printable(struct aicr_buf *b, const char *data, size_t len);

/* Appends text without what steers a terminal: escape sequences (ECMA-48, also
 * with C1 introducers, also cut short) and control characters are left out, a
 * newline stays, a tab becomes a blank, a bad byte U+FFFD. */
bool aicr_buf_add_plain(struct aicr_buf *b, const char *data, size_t len);

/* Appends text as valid UTF-8: each bad byte becomes U+FFFD. */
bool aicr_buf_add_utf8(struct aicr_buf *b, const char *data, size_t len);

/* Damerau-Levenshtein distance (optimal string alignment), at most `limit`
 * (then limit + 1 is returned). ASCII case counts. Words over 64 bytes are
 * never near. */
unsigned aicr_edit_distance(const char *a, const char *b, unsigned limit);

/* The nearest of words[0..count) within distance 2 (and less than half of the
 * word's length, rounded up), the first of equals; NULL if none is near. */
const char *aicr_nearest(const char *word, const char *const *words,
                         size_t count);

#endif
