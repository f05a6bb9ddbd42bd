/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_SAME_H
#define AICR_KUBE_RECORDING_SAME_H

#include "kube/recording_store.h"

/* Do these answers of one key say the same? Lists are compared by their
 * objects. What cannot be read again is not the same. */
bool kube_rec_same(struct kube_rec_store *s, size_t first, size_t count);

#endif
