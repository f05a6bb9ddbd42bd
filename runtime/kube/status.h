/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_STATUS_H
#define AICR_KUBE_STATUS_H

#include "kube/backend.h"

/* Is the answer what was asked for? A 2xx, or for KUBE_EXEC the end of a
 * command (101); no log is 204, or kube_status_no_log(). */
bool kube_status_success(const struct kube_request *rq,
                         const struct kube_answer *answer);

/* Is it no log but the kubelet's words, with 200, that it could not read it, as
 * right after a crash (0.2)? Another attempt may bring it. */
bool kube_status_no_log(const struct kube_request *rq,
                        const struct kube_answer *answer);

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

/* Does a 404 name an object? Then it is that which is absent, and its API is
 * served. */
bool kube_status_names_object(const struct kube_answer *answer);

#endif
