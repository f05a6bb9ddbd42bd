/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_BUFFER_H
#define AICR_CORE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* A growing byte string with an upper bound. `data` is NUL-terminated whenever
 * it is not NULL, but may hold NUL bytes itself. After an append that did not
 * fit or found no memory `failed` is set, the content is gone and every later
 * append fails too: callers may append freely and look once at the end. */
struct aicr_buf {
  char *data;
  size_t len;
  size_t cap;
  size_t max;
  bool failed;
  bool no_memory; /* …because there was no memory */
  bool secret;    /* set after init: no memory is given back unwiped */
};

/* Makes *b empty with room for at most `max` bytes. Allocates nothing. */
void aicr_buf_init(struct aicr_buf *b, size_t max);

/* Releases the memory; the buffer is empty and may be used again. */
void aicr_buf_free(struct aicr_buf *b);

/* Empties the buffer, keeps its memory, clears `failed`. */
void aicr_buf_reset(struct aicr_buf *b);

/* Makes room for len more bytes. False, with the buffer as it was, when the
 * bound or the memory is exceeded. */
bool aicr_buf_room(struct aicr_buf *b, size_t len);

/* Append; false when the bound or the memory is exceeded. */
bool aicr_buf_add(struct aicr_buf *b, const void *data, size_t len);
bool aicr_buf_addc(struct aicr_buf *b, char c);
bool aicr_buf_adds(struct aicr_buf *b, const char *text);
bool aicr_buf_addf(struct aicr_buf *b, const char *fmt, ...) AICR_PRINTF(2, 3);

/* The one allocator of core, gke and kube: realloc() semantics, size 0 frees
 * and gives NULL. Tests replace it to make the n-th allocation fail. */
extern void *(*aicr_realloc)(void *ptr, size_t size);

/* Zeroed memory for count * size bytes, NULL on overflow or no memory. */
void *aicr_calloc(size_t count, size_t size);

/* The items with room for one more behind the `count` that are there, moved
 * where *cap of them was full. NULL on overflow or no memory: they stay. */
void *aicr_grow(void *items, size_t *cap, size_t count, size_t size);

/* A NUL-terminated copy of len bytes. */
char *aicr_strndup(const char *data, size_t len);

void aicr_free(void *ptr);

#endif
