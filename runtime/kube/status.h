/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_STATUS_H
#define AICR_KUBE_STATUS_H

#include "kube/backend.h"

/* Turns an answer that is not a success into an error and its facts:
 * kubernetes-client.md 0.2, 2.4, 3.5. The reasons are the codes of 3.5 in
 * lower case with hyphens ("api-not-served", "not-found", "forbidden",
 * "unauthenticated", "throttled", "unavailable", "server-error", "deadline",
 * "canceled", …). `verdict` is true only for "not-found" and "api-not-served".
 * The request's verb, resource, ns, name must be in *failure already. A 404
 * whose Status names another known reason is never "not-found". */
void kube_status_error(const struct kube_request *rq,
                       const struct kube_answer *answer,
                       enum kube_served served, struct aicr_error *err,
                       struct kube_failure *failure);

#endif
