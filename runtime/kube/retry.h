/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RETRY_H
#define AICR_KUBE_RETRY_H

#include "kube/backend.h"

/* When a request is made again: kubernetes-client.md 3.5, 4. */

#define KUBE_ATTEMPTS_MAX 5u
#define KUBE_BACKOFF_MS   250

struct kube_try {
  unsigned attempts;      /* made so far, this one too */
  int64_t retry_after_ms; /* what the server asked for, -1: nothing */
  bool unsent;            /* no byte of the request left */
  uint32_t random;
  int64_t backoff_ms; /* KUBE_BACKOFF_MS, a test's less */
};

/* Milliseconds to wait before the next attempt, -1: the answer stands. */
int64_t kube_retry_delay(const struct kube_request *rq,
                         const struct kube_answer *answer,
                         const struct kube_try *t);

/* details.retryAfterSeconds of a Status in milliseconds, -1: none. */
int64_t kube_retry_after(const struct kube_answer *answer);

#endif
