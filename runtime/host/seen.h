/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_SEEN_H
#define AICR_HOST_SEEN_H

#include "core/buffer.h"

/* What a check got to see of the cluster: a pass needs something that was seen
 * or compared (design 4). */
struct aicr_seen {
  size_t asked;  /* requests */
  size_t found;  /* answers that hold something: objects, items, lines, waits */
  size_t empty;  /* of the check's own requests those that hold nothing… */
  size_t unread; /* …and those that failed otherwise */
  char first_empty[256];  /* what was asked for: "nodes with the label a=b" */
  char first_unread[768]; /* "pods in a, and went on: MESSAGE" */
};

/* Appends it as the member "seen" of an object that has others before. */
bool aicr_seen_write(const struct aicr_seen *seen, struct aicr_buf *out);

#endif
