/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_resolve.h"

void kube_rec_nearest(const struct kube_rec_store *store,
                      const struct kube_resource *r, struct kube_nearest *out)
{
  kube_nearest_begin(out, r);
  for (size_t i = 0; i < store->discovery.count; i++) {
    kube_nearest_consider(out, &store->discovery.items[i].r);
  }
  for (size_t i = 0; i < store->type_count; i++) {
    if (store->types[i].answered) {
      kube_nearest_consider(out, &store->types[i].r);
    }
  }
}
