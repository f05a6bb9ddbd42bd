/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_GUNZIP_H
#define AICR_KUBE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>

/* Unpacks a gzip text that is in memory, a part at a time. */

/* More than so many times what came is a bomb, once there is so much of it
 * (kubernetes-client.md 4). */
#define KUBE_BOMB_RATIO 200
#define KUBE_BOMB_FROM  ((size_t)1 << 20)

/* A page of a list, at most: as it comes, and unpacked. */
#define KUBE_PAGE_MAX ((size_t)256 << 20)

struct kube_gunzip {
  struct z_stream_s *z; /* NULL: not begun */
  size_t size;          /* bytes of the text */
  size_t unpacked, max;
  bool ended;
};

enum kube_gunzip_result {
  KUBE_GUNZIP_PART,
  KUBE_GUNZIP_END,
  KUBE_GUNZIP_BAD,       /* no gzip, cut, or a bomb */
  KUBE_GUNZIP_TOO_LARGE, /* more than max bytes */
  KUBE_GUNZIP_NO_MEMORY
};

/* Begins a text, which must stay as it is; max bounds what comes out. False
 * without memory. */
bool kube_gunzip_begin(struct kube_gunzip *g, const char *data, size_t len,
                       size_t max);

/* Unpacks the next bytes, at most size. PART has at least one. */
enum kube_gunzip_result kube_gunzip_next(struct kube_gunzip *g, char *out,
                                         size_t size, size_t *len);
void kube_gunzip_end(struct kube_gunzip *g);

#endif
