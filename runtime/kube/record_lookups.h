/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORD_LOOKUPS_H
#define AICR_KUBE_RECORD_LOOKUPS_H

#include "kube/backend.h"

/* How often each asker looked for the resource of a name: a replay must fail
 * to find it at that lookup, and at no other. */

struct kube_lookup {
  char *key; /* asker and name */
  unsigned count;
};

struct kube_lookups {
  struct kube_lookup *items; /* sorted by key */
  size_t count, cap;
};

/* Counts a lookup; *before: those before it. False: no memory, or there are
 * more names than are counted. */
bool kube_lookups_add(struct kube_lookups *l, const struct kube_asker *asker,
                      const char *what, unsigned *before);
void kube_lookups_free(struct kube_lookups *l);

#endif
