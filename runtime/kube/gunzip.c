/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/gunzip.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "core/buffer.h"

#define GZIP_ONLY (16 + MAX_WBITS)

static void *allocate(void *opaque, unsigned count, unsigned size)
{
  (void)opaque;
  return aicr_calloc(count, size);
}

static void release(void *opaque, void *ptr)
{
  (void)opaque;
  aicr_free(ptr);
}

bool kube_gunzip_begin(struct kube_gunzip *g, const char *data, size_t len,
                       size_t max)
{
  kube_gunzip_end(g);
  z_stream *z = aicr_calloc(1, sizeof *z);
  if (z == NULL) {
    return false;
  }
  z->zalloc = allocate;
  z->zfree = release;
  if (inflateInit2(z, GZIP_ONLY) != Z_OK) {
    aicr_free(z);
    return false;
  }
  *g = (struct kube_gunzip){.z = z, .size = len, .max = max};
  z->next_in = (z_const Bytef *)data;
  return true;
}

/* zlib takes no more than an unsigned at once. */
static unsigned refill(struct kube_gunzip *g)
{
  size_t left = g->size - g->z->total_in;
  g->z->avail_in = left > UINT_MAX ? UINT_MAX : (unsigned)left;
  return g->z->avail_in;
}

static bool is_bomb(const struct kube_gunzip *g)
{
  return g->unpacked > KUBE_BOMB_FROM && g->z->total_in > 0 &&
         g->unpacked / g->z->total_in > KUBE_BOMB_RATIO;
}

enum kube_gunzip_result kube_gunzip_next(struct kube_gunzip *g, char *out,
                                         size_t size, size_t *len)
{
  *len = 0;
  if (g->ended) {
    return KUBE_GUNZIP_END;
  }
  z_stream *z = g->z;
  z->next_out = (Bytef *)out;
  z->avail_out = size > UINT_MAX ? UINT_MAX : (unsigned)size;
  unsigned room = z->avail_out;
  int result = Z_OK;
  while (result == Z_OK && z->avail_out > 0 && refill(g) > 0) {
    result = inflate(z, Z_NO_FLUSH);
  }
  *len = room - z->avail_out;
  g->unpacked += *len;
  if (result == Z_MEM_ERROR) {
    return KUBE_GUNZIP_NO_MEMORY;
  }
  g->ended = result == Z_STREAM_END;
  bool behind = g->ended && z->total_in < g->size;
  if ((result != Z_OK && !g->ended) || behind || is_bomb(g) ||
      (*len == 0 && !g->ended)) {
    return KUBE_GUNZIP_BAD;
  }
  if (g->unpacked > g->max) {
    return KUBE_GUNZIP_TOO_LARGE;
  }
  return *len > 0 ? KUBE_GUNZIP_PART : KUBE_GUNZIP_END;
}

void kube_gunzip_end(struct kube_gunzip *g)
{
  if (g->z != NULL) {
    inflateEnd(g->z);
    aicr_free(g->z);
  }
  memset(g, 0, sizeof *g);
}
