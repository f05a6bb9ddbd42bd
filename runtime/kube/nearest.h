/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_NEAREST_H
#define AICR_KUBE_NEAREST_H

#include "kube/discovery.h"

/* The resource whose name is nearest to one that is nowhere. */

struct kube_nearest {
  char wanted[KUBE_NAME_MAX + 140];
  const struct kube_resource *of; /* what is looked for */
  bool with_group;
  unsigned best;
  const struct kube_resource *found; /* NULL: none is near */
};

/* *r has to outlive *n. */
void kube_nearest_begin(struct kube_nearest *n, const struct kube_resource *r);

/* By its plural and its singular, which is the kind in lower case; a name with
 * a group by both together, else the same plural of another group. */
void kube_nearest_consider(struct kube_nearest *n,
                           const struct kube_resource *r);

/* "PLURAL.GROUP", "PLURAL" in the core group. */
void kube_full_name(const struct kube_resource *r, char *out, size_t size);

/* NOT_FOUND/"api-not-served" (a verdict), with what is near. A name without a
 * group that is nearly another's is more likely misspelt than of an API that is
 * absent: INVALID_REQUEST/"bad-request", no verdict. `bare`: no group was
 * named. */
bool kube_fail_not_served(const struct kube_nearest *n, bool bare,
                          struct aicr_error *err);

#endif
