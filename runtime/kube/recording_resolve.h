/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_RESOLVE_H
#define AICR_KUBE_RECORDING_RESOLVE_H

#include "kube/nearest.h"
#include "kube/recording_store.h"

/* backend->resolve and ->served of a recording. */
bool kube_rec_resolve(const struct kube_rec_store *s, struct kube_resource *r,
                      struct aicr_error *err);
enum kube_served kube_rec_served(const struct kube_rec_store *s,
                                 const struct kube_resource *r);

/* The resource that discovery or the recording has and whose name is nearest to
 * one that is neither. */
void kube_rec_nearest(const struct kube_rec_store *s,
                      const struct kube_resource *r, struct kube_nearest *out);

#endif
