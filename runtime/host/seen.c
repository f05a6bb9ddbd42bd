/* SPDX-License-Identifier: Apache-2.0 */
#include "host/seen.h"

#include <string.h>

#include "core/json_writer.h"

bool aicr_seen_write(const struct aicr_seen *seen, struct aicr_buf *out)
{
  aicr_buf_addf(out,
                ",\"seen\":{\"asked\":%zu,\"found\":%zu,\"empty\":%zu,"
                "\"unread\":%zu,\"first_empty\":",
                seen->asked, seen->found, seen->empty, seen->unread);
  aicr_json_write_string(out, seen->first_empty, strlen(seen->first_empty));
  aicr_buf_adds(out, ",\"first_unread\":");
  aicr_json_write_string(out, seen->first_unread, strlen(seen->first_unread));
  return aicr_buf_addc(out, '}');
}
