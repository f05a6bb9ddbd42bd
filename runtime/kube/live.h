/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_LIVE_H
#define AICR_KUBE_LIVE_H

#include "kube/backend.h"
#include "kube/config.h"

/* The API server as a backend: one curl multi handle, HTTP/2, retries,
 * deadlines, credentials (kubernetes-client.md 4). Nothing is sent before the
 * first request. */

/* Takes over what *config holds, also when it fails (then it is freed).
 * INVALID_REQUEST/"config-invalid", INTERNAL/"memory". */
struct kube_backend *kube_live_open(struct kube_config *config,
                                    struct aicr_error *err);

#endif
