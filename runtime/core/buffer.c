/* SPDX-License-Identifier: Apache-2.0 */
#include "core/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64

static void *default_realloc(void *ptr, size_t size)
{
  /* realloc(ptr, 0) is not the same in every libc. */
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

void *(*aicr_realloc)(void *ptr, size_t size) = default_realloc;

void *aicr_calloc(size_t count, size_t size)
{
  size_t bytes;
  void *p;

  if (size != 0 && count > SIZE_MAX / size)
    return NULL;
  bytes = count * size;
  if (bytes == 0)
    bytes = 1;
  p = aicr_realloc(NULL, bytes);
  if (p)
    memset(p, 0, bytes);
  return p;
}

void *aicr_grow(void *items, size_t *cap, size_t count, size_t size)
{
  size_t more = *cap ? *cap * 2 : 8;
  void *grown;

  if (count < *cap)
    return items;
  grown = more > SIZE_MAX / size ? NULL : aicr_realloc(items, more * size);
  if (grown)
    *cap = more;
  return grown;
}

char *aicr_strndup(const char *data, size_t len)
{
  char *copy;

  if (len == SIZE_MAX)
    return NULL;
  copy = aicr_realloc(NULL, len + 1);
  if (!copy)
    return NULL;
  if (len > 0)
    memcpy(copy, data, len);
  copy[len] = '\0';
  return copy;
}

void aicr_free(void *ptr)
{
  if (ptr)
    aicr_realloc(ptr, 0);
}

void aicr_buf_init(struct aicr_buf *b, size_t max)
{
  memset(b, 0, sizeof(*b));
  /* One byte is for the NUL. */
  b->max = max < SIZE_MAX ? max : SIZE_MAX - 1;
}

void aicr_buf_free(struct aicr_buf *b)
{
  size_t max = b->max;
  bool secret = b->secret;

  if (secret && b->data)
    explicit_bzero(b->data, b->cap);
  aicr_free(b->data);
  aicr_buf_init(b, max);
  b->secret = secret;
}

void aicr_buf_reset(struct aicr_buf *b)
{
  if (b->secret && b->data)
    explicit_bzero(b->data, b->len);
  b->len = 0;
  b->failed = false;
  b->no_memory = false;
  if (b->data)
    b->data[0] = '\0';
}

static bool give_up(struct aicr_buf *b, bool no_memory)
{
  aicr_buf_free(b);
  b->failed = true;
  b->no_memory = no_memory;
  return false;
}

/* realloc() would leave a copy behind where it moves a block. */
static char *move_secret(const struct aicr_buf *b, size_t cap)
{
  char *data = aicr_realloc(NULL, cap);

  if (data && b->data) {
    memcpy(data, b->data, b->len + 1);
    explicit_bzero(b->data, b->cap);
    aicr_free(b->data);
  }
  return data;
}

/* The NUL has room too. */
bool aicr_buf_room(struct aicr_buf *b, size_t len)
{
  size_t need, cap;
  char *data;

  if (b->failed || len > b->max - b->len)
    return false;
  need = b->len + len + 1;
  if (need <= b->cap)
    return true;
  cap = b->cap > SIZE_MAX / 2 ? SIZE_MAX : b->cap * 2;
  if (cap < FIRST_CAPACITY)
    cap = FIRST_CAPACITY;
  if (cap < need)
    cap = need;
  if (cap > b->max + 1)
    cap = b->max + 1;
  data = b->secret ? move_secret(b, cap) : aicr_realloc(b->data, cap);
  if (!data)
    return false;
  b->data = data;
  b->cap = cap;
  return true;
}

/* The same for an append: a failure is for good. */
static bool reserve(struct aicr_buf *b, size_t len)
{
  return aicr_buf_room(b, len) ||
         (!b->failed && give_up(b, len <= b->max - b->len));
}

bool aicr_buf_add(struct aicr_buf *b, const void *data, size_t len)
{
  if (len == 0)
    return !b->failed;
  if (!reserve(b, len))
    return false;
  memcpy(b->data + b->len, data, len);
  b->len += len;
  b->data[b->len] = '\0';
  return true;
}

bool aicr_buf_addc(struct aicr_buf *b, char c)
{
  return aicr_buf_add(b, &c, 1);
}

bool aicr_buf_adds(struct aicr_buf *b, const char *text)
{
  return aicr_buf_add(b, text, strlen(text));
}

bool aicr_buf_addf(struct aicr_buf *b, const char *fmt, ...)
{
  char text[256];
  va_list ap;
  bool fits, ok;
  int n;

  va_start(ap, fmt);
  n = vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  if (n < 0)
    return give_up(b, false);
  fits = (size_t)n < sizeof(text);
  ok = fits ? aicr_buf_add(b, text, (size_t)n) : reserve(b, (size_t)n);
  if (b->secret)
    explicit_bzero(text, sizeof(text));
  if (fits || !ok)
    return ok;
  va_start(ap, fmt);
  vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
  va_end(ap);
  b->len += (size_t)n;
  return true;
}
