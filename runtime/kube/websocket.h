/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_WEBSOCKET_H
#define AICR_KUBE_WEBSOCKET_H

#include <stdint.h>

#include "core/buffer.h"

/* Frames of RFC 6455 as a client sees them, over bytes: no sockets. No
 * extension is ever offered, so the RSV bits are errors. */

#define KUBE_WEBSOCKET_FRAME_MAX   ((uint64_t)16 << 20) /* of the server */
#define KUBE_WEBSOCKET_CONTROL_MAX 125

enum kube_websocket_opcode {
  KUBE_WEBSOCKET_CONTINUATION = 0,
  KUBE_WEBSOCKET_TEXT = 1,
  KUBE_WEBSOCKET_BINARY = 2,
  KUBE_WEBSOCKET_CLOSE = 8,
  KUBE_WEBSOCKET_PING = 9,
  KUBE_WEBSOCKET_PONG = 10
};

enum kube_websocket_event {
  KUBE_WEBSOCKET_ERROR, /* what the server sent is no WebSocket: no way on */
  KUBE_WEBSOCKET_MORE,  /* the bytes are used up */
  KUBE_WEBSOCKET_DATA,  /* a piece of a message, maybe empty */
  KUBE_WEBSOCKET_CONTROL
};

/* Reads frames from chunks of any size. Messages come in pieces as they
 * arrive, so that no frame is ever held in memory. */
struct kube_websocket_reader {
  /* of the last event; valid until the next call */
  const char *data;
  size_t len;
  enum kube_websocket_opcode opcode; /* TEXT or BINARY of DATA's message */
  bool last;                         /* DATA: the message ends here */

  bool in_message; /* a message has begun and did not end yet */

  /* private */
  bool failed, in_frame, fin;
  unsigned char head[10];
  size_t have, need;
  uint64_t left;
  enum kube_websocket_opcode message, frame;
  char control[KUBE_WEBSOCKET_CONTROL_MAX];
  size_t control_len;
};

void kube_websocket_init(struct kube_websocket_reader *r);

/* Takes the next event from the front of the span, which it narrows. After
 * ERROR (INTERNAL/"protocol", filled the first time) it says only ERROR. */
enum kube_websocket_event kube_websocket_next(struct kube_websocket_reader *r,
                                              const char **data, size_t *len,
                                              struct aicr_error *err);

/* One whole frame of ours; the payload is `head` and then `data`. */
struct kube_websocket_frame {
  enum kube_websocket_opcode opcode;
  const char *head, *data;
  size_t head_len, len;
};

/* The bytes that kube_websocket_add() appends for so much payload. */
size_t kube_websocket_size(size_t payload);

/* Appends the frame, masked. False when the buffer has no room for it; then
 * nothing was appended and the buffer has not failed. */
bool kube_websocket_add(struct aicr_buf *out,
                        const struct kube_websocket_frame *frame,
                        const unsigned char mask[4]);

/* The code of a close frame's payload (0: it has none) and the span of its
 * reason. INTERNAL/"protocol" when RFC 6455 7.4 does not allow it. */
bool kube_websocket_close_code(const char *payload, size_t len, unsigned *code,
                               const char **reason, size_t *reason_len,
                               struct aicr_error *err);

/* Random bytes of the kernel, at most 256: keys and masks. */
bool kube_websocket_random(void *out, size_t len);

#endif
