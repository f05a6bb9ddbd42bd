/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/backend.h"

const char *kube_verb_name(enum kube_verb v)
{
  static const char *const names[KUBE_VERB_COUNT] = {
      [KUBE_GET] = "get",       [KUBE_LIST] = "list",
      [KUBE_CREATE] = "create", [KUBE_UPDATE] = "update",
      [KUBE_PATCH] = "patch",   [KUBE_APPLY] = "apply",
      [KUBE_DELETE] = "delete", [KUBE_WATCH] = "watch",
      [KUBE_EXEC] = "exec",     [KUBE_RAW] = "get_raw",
  };
  return (unsigned)v < KUBE_VERB_COUNT ? names[v] : "";
}

void kube_answer_free(struct kube_answer *a)
{
  aicr_buf_free(&a->body);
  aicr_buf_free(&a->stderr_text);
}
