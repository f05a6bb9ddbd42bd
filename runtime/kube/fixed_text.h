/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_FIXED_TEXT_H
#define AICR_KUBE_FIXED_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies as much of a text as fits, cut between UTF-8 characters, and a NUL.
 * NULL is "". False when it was cut. */
bool kube_set_text(char *out, size_t size, const char *text);

/* Writes text of others on one line, trimmed, without what a terminal would
 * obey, and a NUL; of what does not fit its beginning and an ellipsis. The size
 * is at least 8. */
void kube_plain_text(char *out, size_t size, const char *text, size_t len);

/* Is `word` one of the words of a text that has single spaces between them? */
bool kube_has_word(const char *words, const char *word);

/* Copies the step of a path at *at and moves *at past it and past its '/'.
 * False where there is none, an empty one, or one that does not fit. */
bool kube_take_step(const char **at, char *out, size_t size);

/* Does a text end in another, with something before it? */
bool kube_ends_in(const char *text, const char *end);

#endif
