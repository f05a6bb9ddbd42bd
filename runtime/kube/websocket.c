/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/websocket.h"

#include <string.h>
#include <sys/random.h>

#include "core/text.h"

void kube_websocket_init(struct kube_websocket_reader *r)
{
  memset(r, 0, sizeof *r);
  r->need = 2;
}

static bool is_control(unsigned opcode)
{
  return opcode >= KUBE_WEBSOCKET_CLOSE;
}

static bool bad(struct aicr_error *err, const char *what)
{
  return aicr_fail(err, AICR_INTERNAL, "protocol",
                   "the server broke the WebSocket protocol: %s", what);
}

static bool read_first(struct kube_websocket_reader *r, struct aicr_error *err)
{
  unsigned byte = r->head[0], opcode = byte & 15;
  r->fin = (byte & 0x80) != 0;
  r->frame = (enum kube_websocket_opcode)opcode;
  if ((byte & 0x70) != 0) {
    return bad(err, "a frame has reserved bits set");
  }
  switch (opcode) {
  case KUBE_WEBSOCKET_CONTINUATION:
    if (!r->in_message) {
      return bad(err, "a continuation frame continues nothing");
    }
    return true;
  case KUBE_WEBSOCKET_TEXT:
  case KUBE_WEBSOCKET_BINARY:
    if (r->in_message) {
      return bad(err, "a message begins inside another");
    }
    r->in_message = true;
    r->message = r->frame;
    return true;
  case KUBE_WEBSOCKET_CLOSE:
  case KUBE_WEBSOCKET_PING:
  case KUBE_WEBSOCKET_PONG:
    return r->fin || bad(err, "a control frame is fragmented");
  default:
    return bad(err, "a frame has an unknown opcode");
  }
}

static bool read_second(struct kube_websocket_reader *r, struct aicr_error *err)
{
  unsigned byte = r->head[1], len = byte & 0x7f;
  if ((byte & 0x80) != 0) {
    return bad(err, "a frame of the server is masked");
  }
  if (is_control(r->frame) && len > KUBE_WEBSOCKET_CONTROL_MAX) {
    return bad(err, "a control frame is longer than 125 bytes");
  }
  r->left = len;
  r->need = len == 126 ? 4 : len == 127 ? 10 : 2;
  return true;
}

/* The extended length: big-endian, in the shortest form, 63 bits. */
static bool read_length(struct kube_websocket_reader *r, struct aicr_error *err)
{
  if (r->need == 2) {
    return true;
  }
  uint64_t len = 0;
  for (size_t i = 2; i < r->need; i++) {
    len = len << 8 | r->head[i];
  }
  if (len < 126 || (r->need == 10 && len <= UINT16_MAX)) {
    return bad(err, "a frame's length is not in its shortest form");
  }
  if (len > INT64_MAX) {
    return bad(err, "a frame's length has 64 bits");
  }
  if (len > KUBE_WEBSOCKET_FRAME_MAX) {
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "a WebSocket frame of the server has %llu bytes, at most "
                     "%llu are taken",
                     (unsigned long long)len,
                     (unsigned long long)KUBE_WEBSOCKET_FRAME_MAX);
  }
  r->left = len;
  return true;
}

/* False when bytes are missing, or with `failed`. */
static bool read_head(struct kube_websocket_reader *r, const char **data,
                      size_t *len, struct aicr_error *err)
{
  bool ok = true;
  while (ok && r->have < r->need) {
    if (*len == 0) {
      return false;
    }
    r->head[r->have++] = (unsigned char)**data;
    ++*data;
    --*len;
    if (r->have <= 2) {
      ok = r->have == 1 ? read_first(r, err) : read_second(r, err);
    }
  }
  ok = ok && read_length(r, err);
  r->failed = !ok;
  r->in_frame = ok;
  r->have = 0;
  r->need = 2;
  r->control_len = 0;
  return ok;
}

static enum kube_websocket_event end_data(struct kube_websocket_reader *r)
{
  r->in_frame = r->left > 0;
  r->opcode = r->message;
  r->last = r->fin && r->left == 0;
  if (r->last) {
    r->in_message = false;
  }
  return KUBE_WEBSOCKET_DATA;
}

enum kube_websocket_event kube_websocket_next(struct kube_websocket_reader *r,
                                              const char **data, size_t *len,
                                              struct aicr_error *err)
{
  if (r->failed) {
    return KUBE_WEBSOCKET_ERROR;
  }
  if (!r->in_frame && !read_head(r, data, len, err)) {
    return r->failed ? KUBE_WEBSOCKET_ERROR : KUBE_WEBSOCKET_MORE;
  }
  size_t n = r->left < *len ? (size_t)r->left : *len;
  if (n == 0 && r->left > 0) {
    return KUBE_WEBSOCKET_MORE;
  }
  r->data = *data;
  r->len = n;
  *data += n;
  *len -= n;
  r->left -= n;
  if (!is_control(r->frame)) {
    return end_data(r);
  }
  if (n > 0) {
    memcpy(r->control + r->control_len, r->data, n);
    r->control_len += n;
  }
  if (r->left > 0) {
    return KUBE_WEBSOCKET_MORE;
  }
  r->in_frame = false;
  r->opcode = r->frame;
  r->data = r->control;
  r->len = r->control_len;
  return KUBE_WEBSOCKET_CONTROL;
}

size_t kube_websocket_size(size_t payload)
{
  size_t extended = payload < 126 ? 0 : payload <= UINT16_MAX ? 2 : 8;
  return 2 + extended + 4 + payload;
}

bool kube_websocket_add(struct aicr_buf *out,
                        const struct kube_websocket_frame *frame,
                        const unsigned char mask[4])
{
  size_t len = frame->head_len + frame->len;
  size_t size = kube_websocket_size(len), extended = size - len - 6;
  unsigned char head[14] = {(unsigned char)(0x80 | frame->opcode),
                            (unsigned char)(0x80 | (extended == 0   ? len
                                                    : extended == 2 ? 126
                                                                    : 127))};
  if (!aicr_buf_room(out, size)) {
    return false;
  }
  for (size_t i = 0; i < extended; i++) {
    head[2 + i] =
        (unsigned char)((uint64_t)len >> (8 * (extended - 1 - i)) & 0xff);
  }
  memcpy(head + 2 + extended, mask, 4);
  aicr_buf_add(out, head, 6 + extended);
  size_t start = out->len;
  aicr_buf_add(out, frame->head, frame->head_len);
  aicr_buf_add(out, frame->data, frame->len);
  for (size_t i = 0; i < len; i++) {
    out->data[start + i] = (char)(out->data[start + i] ^ mask[i & 3]);
  }
  return true;
}

bool kube_websocket_close_code(const char *payload, size_t len, unsigned *code,
                               const char **reason, size_t *reason_len,
                               struct aicr_error *err)
{
  *code = 0;
  *reason = "";
  *reason_len = 0;
  if (len == 0) {
    return true;
  }
  if (len == 1) {
    return bad(err, "a close frame has half a code");
  }
  unsigned n = (unsigned)(unsigned char)payload[0] << 8 |
               (unsigned)(unsigned char)payload[1];
  bool named = n >= 1000 && n <= 1014 && (n < 1004 || n > 1006);
  if (!named && (n < 3000 || n > 4999)) {
    return bad(err, "a close frame has a code that is never sent");
  }
  if (!aicr_utf8_valid(payload + 2, len - 2)) {
    return bad(err, "the reason of a close frame is not UTF-8");
  }
  *code = n;
  *reason = payload + 2;
  *reason_len = len - 2;
  return true;
}

bool kube_websocket_random(void *out, size_t len)
{
  return len <= 256 && getrandom(out, len, 0) == (ssize_t)len;
}
