/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of credential plug-ins: what is taken is complete and can go into a
 * header, what is refused says so. */
#include "kube/credential_answer.h"

#include <stdlib.h>
#include <string.h>

#define VERSION "client.authentication.k8s.io/v1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *copy = malloc(size ? size : 1);
  struct kube_exec_answer a;
  struct aicr_error err;

  require(copy != NULL);
  if (size)
    memcpy(copy, data, size);
  kube_exec_answer_init(&a);
  memset(&err, 0, sizeof(err));
  if (kube_exec_answer_read(copy, size, VERSION, &a, &err)) {
    require((a.certificate.len > 0) == (a.key.len > 0));
    require(a.token.len > 0 || a.key.len > 0);
    require(a.token.len == 0 || kube_token_valid(a.token.data, a.token.len));
    require(a.certificate.len == 0 ||
            strlen(a.certificate.data) == a.certificate.len);
    require(a.key.len == 0 || strlen(a.key.data) == a.key.len);
  } else {
    require(err.code == AICR_UNAUTHORIZED && !err.verdict);
    require(strcmp(err.reason, "exec-plugin-failed") == 0);
    require(strncmp(err.message, "it", 2) == 0);
  }
  kube_exec_answer_free(&a);
  free(copy);
  return 0;
}
