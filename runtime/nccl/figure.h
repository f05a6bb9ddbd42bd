/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_FIGURE_H
#define AICR_NCCL_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words of a line and the figures in them. */

struct nccl_word {
  const char *text;
  size_t len;
};

/* The next word of [*at, end), words being apart by blanks; false at the end.
 * *at is then behind it. */
bool nccl_next_word(const char **at, const char *end, struct nccl_word *word);

bool nccl_word_is(const struct nccl_word *word, const char *text);

/* Does the text begin so? */
bool nccl_starts(const char *text, size_t len, const char *prefix);

/* A decimal as printf writes it: digits [. digits] [e(+|-) digits], inf, nan or
 * -nan. *half is half a unit of its last digit: how far the true value may be
 * away. */
bool nccl_decimal(const char *text, size_t len, double *value, double *half);

/* A count as %g or %d write it: digits, or an e-form of a whole number. Above
 * INT64_MAX it is INT64_MAX. */
bool nccl_whole(const char *text, size_t len, int64_t *value);

/* How many bytes at the beginning are a figure, "-1", "N/A" or a time of day: 0
 * when there is none. For figures that foreign text is glued to; no more digits
 * than one follow a leading 0. */
size_t nccl_glued(const char *text, size_t len);

/* A bare inf or nan, which printf wrote and JSON does not have, at p: its
 * length, else 0. */
size_t nccl_bare_word(const char *p, const char *end);

/* "YYYY-MM-DD" and "HH:MM:SS" of digits. */
bool nccl_is_date(const char *text, size_t len);
bool nccl_is_time(const char *text, size_t len);

bool nccl_is_digit(char c);
bool nccl_is_blank(char c);

/* How many digits the text begins with. */
size_t nccl_digits(const char *text, size_t len);

/* Takes the blanks off both ends of [*text, *end). */
void nccl_trim(const char **text, const char **end);

#endif
