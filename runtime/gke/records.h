/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_GKE_RECORDS_H
#define AICR_GKE_RECORDS_H

#include "core/buffer.h"

/* The annotations of GKE multi-networking are all JSON lists of objects of
 * strings. Decoded as Go's encoding/json does it: gke-tcpxo.md 3.1. */

#define GKE_FIELDS_MAX 4

/* What the API server admits as all annotations of one object; it bounds the
 * searches that are quadratic. */
#define GKE_ANNOTATION_MAX ((size_t)256 << 10)

struct gke_record {
  char *field[GKE_FIELDS_MAX]; /* NULL: never set, that is empty */
  size_t len[GKE_FIELDS_MAX];
};

struct gke_records {
  struct gke_record *items;
  size_t count;
  size_t cap;
};

/* Which annotation is read: its fields in the order of gke_record. */
struct gke_shape {
  const char *annotation;
  const char *malformed; /* reason */
  const char *fields[GKE_FIELDS_MAX + 1];
};

/* Fills *out, to be freed in either case. Verdict INVALID_REQUEST with the
 * shape's reason, or INTERNAL/"memory". */
bool gke_records_decode(const char *text, size_t len,
                        const struct gke_shape *shape, struct gke_records *out,
                        struct aicr_error *err);
void gke_records_free(struct gke_records *r);

bool gke_no_memory(struct aicr_error *err);

/* Byte strings with lengths; data may be NULL when len is 0. */
bool gke_same(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
