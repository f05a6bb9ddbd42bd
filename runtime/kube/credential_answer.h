/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CREDENTIAL_ANSWER_H
#define AICR_KUBE_CREDENTIAL_ANSWER_H

#include <stdint.h>

#include "core/buffer.h"

/* What a credential plug-in prints: an ExecCredential (kubernetes-client.md
 * 1.5). The buffers are secret. */

struct kube_exec_answer {
  struct aicr_buf token;            /* empty: none */
  struct aicr_buf certificate, key; /* PEM, both or none */
  bool expires;
  int64_t expires_ms; /* since the epoch */
};

void kube_exec_answer_init(struct kube_exec_answer *a);
void kube_exec_answer_free(struct kube_exec_answer *a);

/* Reads and judges it. Fails with UNAUTHORIZED/"exec-plugin-failed", or
 * INTERNAL/"memory"; the message, such as "its answer has no status", goes on
 * with a sentence whose subject is the plug-in, and holds nothing of the answer
 * but its apiVersion and kind. */
bool kube_exec_answer_read(const char *data, size_t len,
                           const char *api_version, struct kube_exec_answer *a,
                           struct aicr_error *err);

/* A header can carry it: bytes 0x21 to 0x7e, at least one. */
bool kube_token_valid(const char *data, size_t len);

#endif
