/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_writer.h"

#include <inttypes.h>
#include <math.h>

#include "core/number.h"
#include "core/text.h"

static void add_escape(struct aicr_buf *b, unsigned char c)
{
  switch (c) {
  case '"':
    aicr_buf_adds(b, "\\\"");
    break;
  case '\\':
    aicr_buf_adds(b, "\\\\");
    break;
  case '\b':
    aicr_buf_adds(b, "\\b");
    break;
  case '\f':
    aicr_buf_adds(b, "\\f");
    break;
  case '\n':
    aicr_buf_adds(b, "\\n");
    break;
  case '\r':
    aicr_buf_adds(b, "\\r");
    break;
  case '\t':
    aicr_buf_adds(b, "\\t");
    break;
  default:
    aicr_buf_addf(b, "\\u%04x", (unsigned)c);
  }
}

bool aicr_json_write_string(struct aicr_buf *b, const char *data, size_t len)
{
  size_t start = 0, i = 0;
  uint32_t cp;

  aicr_buf_addc(b, '"');
  while (i < len) {
    unsigned char c = (unsigned char)data[i];
    size_t n = 1;

    cp = c;
    if (c >= 0x80)
      n = aicr_utf8_decode(data + i, len - i, &cp);
    if (n > 0 && cp >= 0x20 && cp != '"' && cp != '\\' &&
        !(cp >= 0x7F && cp <= 0x9F)) {
      i += n;
      continue;
    }
    aicr_buf_add(b, data + start, i - start);
    if (n == 0)
      aicr_buf_adds(b, "\xEF\xBF\xBD");
    else
      add_escape(b, (unsigned char)cp);
    i += n > 0 ? n : 1;
    start = i;
  }
  aicr_buf_add(b, data + start, len - start);
  return aicr_buf_addc(b, '"');
}

bool aicr_json_write_integer(struct aicr_buf *b, int64_t value)
{
  return aicr_buf_addf(b, "%" PRId64, value);
}

bool aicr_json_write_double(struct aicr_buf *b, double value)
{
  char text[AICR_DOUBLE_TEXT];

  if (!isfinite(value))
    return false;
  aicr_format_double(value, text);
  return aicr_buf_adds(b, text);
}
