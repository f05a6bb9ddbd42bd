/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CREDENTIAL_EXEC_H
#define AICR_KUBE_CREDENTIAL_EXEC_H

#include "kube/config.h"
#include "kube/credential_answer.h"
#include "kube/process.h"

/* One run of a credential plug-in (kubernetes-client.md 1.5): its words, its
 * environment, what its end means. config->exec is not NULL. */

/* NULL with INVALID_REQUEST/"exec-plugin-not-found",
 * UNAUTHORIZED/"exec-plugin-failed" or INTERNAL/"memory". */
struct kube_process *kube_exec_start(const struct kube_config *config,
                                     int64_t deadline_ms,
                                     struct aicr_error *err);

/* Of a process that ended or is stopping: what it answered, or
 * UNAUTHORIZED/"exec-plugin-failed", TIMEOUT/"deadline", INTERNAL/"memory". */
bool kube_exec_finish(const struct kube_config *config,
                      const struct kube_process *p, struct kube_exec_answer *a,
                      struct aicr_error *err);

/* TIMEOUT/"deadline"; `p` may be NULL. Returns false. */
bool kube_exec_late(const struct kube_config *config,
                    const struct kube_process *p, struct aicr_error *err);

#endif
