/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_EXEC_FRAMES_H
#define SPEC_C_EXEC_FRAMES_H

#include <stdint.h>
#include <string.h>

#include "core/buffer.h"

/* Frames as a server sends them, and what a client's frames say. */

#define FIN 0x80

static inline void add_server_head(struct aicr_buf *b, unsigned first,
                                   uint64_t len)
{
  unsigned size = len < 126 ? 0 : len <= UINT16_MAX ? 2 : 8;
  aicr_buf_addc(b, (char)first);
  aicr_buf_addc(b, (char)(size == 0 ? len : size == 2 ? 126 : 127));
  while (size > 0) {
    size--;
    aicr_buf_addc(b, (char)(len >> (8 * size) & 0xff));
  }
}

static inline void add_server_frame(struct aicr_buf *b, unsigned first,
                                    const char *data, size_t len)
{
  add_server_head(b, first, len);
  aicr_buf_add(b, data, len);
}

/* A whole message of a channel. */
static inline void add_message(struct aicr_buf *b, int channel,
                               const char *data, size_t len)
{
  add_server_head(b, FIN | 2, len + 1);
  aicr_buf_addc(b, (char)channel);
  aicr_buf_add(b, data, len);
}

static inline void add_close(struct aicr_buf *b, unsigned code)
{
  char payload[2] = {(char)(code >> 8), (char)code};
  add_server_frame(b, FIN | 8, payload, 2);
}

/* Takes one frame of a client from the front of the span: whole, masked, in
 * its shortest form. Its payload is unmasked in place. */
static inline bool take_client_frame(char **data, size_t *len, unsigned *opcode,
                                     char **payload, size_t *payload_len)
{
  unsigned char *p = (unsigned char *)*data;
  size_t head = 2;
  uint64_t n;
  if (*len < 2 || (p[0] & 0xf0) != FIN || (p[1] & 0x80) == 0) {
    return false;
  }
  n = p[1] & 0x7f;
  if (n >= 126) {
    size_t size = n == 126 ? 2 : 8;
    if (*len < 2 + size) {
      return false;
    }
    n = 0;
    for (size_t i = 0; i < size; i++) {
      n = n << 8 | p[2 + i];
    }
    if (n < 126 || (size == 8 && n <= UINT16_MAX)) {
      return false;
    }
    head += size;
  }
  if (*len < head + 4 || n > *len - head - 4) {
    return false;
  }
  *opcode = p[0] & 15;
  *payload = *data + head + 4;
  *payload_len = (size_t)n;
  for (size_t i = 0; i < n; i++) {
    (*payload)[i] = (char)((*payload)[i] ^ (char)p[head + (i & 3)]);
  }
  *data += head + 4 + n;
  *len -= head + 4 + (size_t)n;
  return true;
}

#endif
