/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_ACCESS_H
#define AICR_KUBE_RECORDING_ACCESS_H

#include <cjson/cJSON.h>

#include "kube/recording_load.h"

/* Adds access.json, a list of SelfSubjectAccessReviews as a server answered
 * them, to the entries: each has as its query what it asked. */
bool kube_rec_load_access(struct kube_rec_loader *l, struct aicr_error *err);

/* Appends what a review asks as a query. False when it asks about neither a
 * resource nor a path, or about both: no server answers that. */
bool kube_rec_review_key(const cJSON *review, struct aicr_buf *out);

#endif
