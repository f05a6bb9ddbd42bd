/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a server sends as a header, what is told of it is whole lines of
 * printable text within their bounds, once. */
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "kube/server_warning.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct kube_server_warnings w = {0};
  struct aicr_buf out;
  size_t line = 0;

  aicr_buf_init(&out, 1u << 20);
  kube_server_warnings_take(&w, (const char *)data, size);
  kube_server_warnings_take(&w, (const char *)data, size);
  kube_server_warnings_tell(&w, &out);
  const char *told = out.data ? out.data : "";
  require(!out.failed && aicr_utf8_valid(told, out.len));
  for (size_t i = 0; i < out.len; i++) {
    unsigned char c = (unsigned char)told[i];

    require(c == '\n' || (c >= 0x20 && c != 0x7f));
    line = c == '\n' ? 0 : line + 1;
    require(line < KUBE_WARNING_TEXT_MAX + 30);
  }
  require(line == 0 && w.count <= KUBE_WARNINGS_MAX);
  aicr_buf_free(&out);
  kube_server_warnings_free(&w);
  return 0;
}
