/* SPDX-License-Identifier: Apache-2.0 */
/* What is redacted is JSON again when it was, its own redaction changes nothing
 * more, and without a secret not a byte is written. */
#include <stdlib.h>
#include <string.h>

#include "core/json_reader.h"
#include "kube/record_redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct aicr_error err;
  struct aicr_buf once, twice;
  bool changed = false, again = false;
  bool secret = size > 0 && data[0] == 'S';
  const char *text = (const char *)data + (size > 0);
  size_t len = size - (size > 0);

  aicr_buf_init(&once, 8u << 20);
  aicr_buf_init(&twice, 8u << 20);
  if (!kube_redact(text, len, secret, NULL, &once, &changed, &err)) {
    require(!aicr_json_check(text, len, AICR_JSON_GO, AICR_JSON_DEPTH, &err));
  } else if (!changed) {
    require(once.len == 0);
  } else {
    require(
        kube_redact(once.data, once.len, secret, NULL, &twice, &again, &err));
    require(!again || (once.len == twice.len &&
                       memcmp(once.data, twice.data, once.len) == 0));
  }
  aicr_buf_free(&once);
  aicr_buf_free(&twice);
  return 0;
}
