/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec_stream.h"

#include <string.h>

#include "core/text.h"
#include "kube/exec_status.h"

#define STATUS_MAX 65536
#define PIECE_MAX  32768 /* of stdin in a frame */

enum channel {
  CHANNEL_NONE = -1,
  CHANNEL_STDIN = 0,
  CHANNEL_STDOUT = 1,
  CHANNEL_STDERR = 2,
  CHANNEL_STATUS = 3,
  CHANNEL_CLOSE = 255
};

void kube_exec_stream_init(struct kube_exec_stream *s,
                           const struct kube_exec_options *options, int64_t now)
{
  memset(s, 0, sizeof *s);
  s->state = KUBE_EXEC_RUNNING;
  s->exit_code = -1;
  s->options = *options;
  if (s->options.random == NULL) {
    s->options.random = kube_websocket_random;
  }
  s->channel = CHANNEL_NONE;
  s->ping_at = now + KUBE_EXEC_PING_MS;
  s->give_up_at = now + KUBE_EXEC_GIVE_UP_MS;
  aicr_buf_init(&s->out, KUBE_EXEC_OUT_MAX);
  aicr_buf_init(&s->status, STATUS_MAX);
  kube_websocket_init(&s->reader);
}

void kube_exec_stream_free(struct kube_exec_stream *s)
{
  aicr_buf_free(&s->out);
  aicr_buf_free(&s->status);
}

/* Is there no room for so much payload? */
static bool is_full(const struct kube_exec_stream *s, size_t payload)
{
  return kube_websocket_size(payload) > s->out.max - s->out.len;
}

static bool send_frame(struct kube_exec_stream *s,
                       const struct kube_websocket_frame *frame)
{
  unsigned char mask[4];
  return s->options.random(mask, sizeof mask) &&
         kube_websocket_add(&s->out, frame, mask);
}

/* Tells the server why we go. Only a courtesy: it may fail. */
static void send_close(struct kube_exec_stream *s, unsigned code)
{
  char payload[2] = {(char)(code >> 8), (char)(code & 0xff)};
  struct kube_websocket_frame frame = {.opcode = KUBE_WEBSOCKET_CLOSE,
                                       .data = payload,
                                       .len = code == 0 ? 0 : 2};
  send_frame(s, &frame);
}

/* s->error is filled. */
static bool fail(struct kube_exec_stream *s, unsigned close_code)
{
  s->state = KUBE_EXEC_FAILED;
  send_close(s, close_code);
  return false;
}

static bool protocol(struct kube_exec_stream *s, const char *what)
{
  aicr_fail(&s->error, AICR_INTERNAL, "protocol",
            "the server broke the exec protocol v%u.channel.k8s.io: %s",
            s->options.version, what);
  return fail(s, 1002);
}

static bool no_memory(struct kube_exec_stream *s)
{
  aicr_fail(&s->error, AICR_INTERNAL, "memory",
            "no memory, or no random bytes, for the stream of a command");
  return fail(s, 1001);
}

/* No byte will come any more. False when nothing is known of the end: the
 * Status is missing, or output was cut. */
static bool conclude(struct kube_exec_stream *s)
{
  if (!s->status_ended || s->reader.in_message) {
    return false;
  }
  bool ok =
      kube_exec_status(s->status.data, s->status.len, &s->exit_code, &s->error);
  s->state = ok ? KUBE_EXEC_EXITED : KUBE_EXEC_FAILED;
  return true;
}

static bool add_output(struct kube_exec_stream *s, struct aicr_buf *b,
                       const char *name, const char *data, size_t len)
{
  size_t room = b->max - b->len, n = len < room ? len : room;
  if (b->failed || !aicr_buf_room(b, n)) {
    return no_memory(s);
  }
  aicr_buf_add(b, data, n);
  if (n == len) {
    return true;
  }
  aicr_fail(&s->error, AICR_INTERNAL, "response-too-large",
            "the %s of the command is larger than %zu bytes: let it write "
            "less, or to a file",
            name, b->max);
  return fail(s, 1009);
}

static bool take_channel(struct kube_exec_stream *s, int channel)
{
  s->channel = channel;
  switch (channel) {
  case CHANNEL_STDOUT:
    return s->options.to_stdout != NULL ||
           protocol(s, "stdout came, which was not asked for");
  case CHANNEL_STDERR:
    return s->options.to_stderr != NULL ||
           protocol(s, "stderr came, which was not asked for");
  case CHANNEL_STATUS:
    return true;
  default:
    return protocol(s, "a message is of an unknown channel");
  }
}

static bool add_piece(struct kube_exec_stream *s, const char *data, size_t len)
{
  switch (s->channel) {
  case CHANNEL_STDOUT:
    return add_output(s, s->options.to_stdout, "stdout", data, len);
  case CHANNEL_STDERR:
    return add_output(s, s->options.to_stderr, "stderr", data, len);
  default:
    if (len > s->status.max - s->status.len) {
      return protocol(s, "the Status is larger than 64 KiB");
    }
    return aicr_buf_add(&s->status, data, len) || no_memory(s);
  }
}

static bool take_data(struct kube_exec_stream *s)
{
  const struct kube_websocket_reader *r = &s->reader;
  const char *data = r->data;
  size_t len = r->len;
  if (r->opcode != KUBE_WEBSOCKET_BINARY) {
    return protocol(s, "a message is text");
  }
  if (s->channel == CHANNEL_NONE && len > 0) {
    if (!take_channel(s, (unsigned char)*data)) {
      return false;
    }
    data++;
    len--;
  }
  if (len > 0 && !add_piece(s, data, len)) {
    return false;
  }
  if (!r->last) {
    return true;
  }
  if (s->channel == CHANNEL_NONE) {
    return protocol(s, "a message has no channel");
  }
  /* The server says that it is there with an empty message. */
  if (s->channel == CHANNEL_STATUS) {
    s->status_ended = s->status.len > 0;
  }
  s->channel = CHANNEL_NONE;
  return true;
}

static bool take_close(struct kube_exec_stream *s)
{
  const char *reason = NULL;
  size_t len = 0;
  struct aicr_quoted q;
  if (!kube_websocket_close_code(s->reader.data, s->reader.len, &s->close_code,
                                 &reason, &len, &s->error)) {
    return fail(s, 1002);
  }
  send_close(s, s->close_code);
  if (!conclude(s)) {
    s->state = KUBE_EXEC_FAILED;
    aicr_fail(&s->error, AICR_INTERNAL, "exec-unknown-exit",
              "how the command ended is not known, and it may still run: the "
              "server closed the stream (code %u, %s) %s",
              s->close_code, aicr_quote(&q, reason, len),
              s->status_ended ? "in the middle of a message"
                              : "without a Status");
  }
  return false;
}

static bool take_control(struct kube_exec_stream *s, int64_t now)
{
  struct kube_websocket_frame pong = {.opcode = KUBE_WEBSOCKET_PONG,
                                      .data = s->reader.data,
                                      .len = s->reader.len};
  if (s->reader.opcode == KUBE_WEBSOCKET_CLOSE) {
    return take_close(s);
  }
  if (s->reader.opcode == KUBE_WEBSOCKET_PONG) {
    s->give_up_at = now + KUBE_EXEC_GIVE_UP_MS;
    return true;
  }
  if (is_full(s, pong.len)) {
    return protocol(s, "more pings came than could be answered");
  }
  return send_frame(s, &pong) || no_memory(s);
}

enum kube_exec_state kube_exec_stream_feed(struct kube_exec_stream *s,
                                           const char *data, size_t len,
                                           int64_t now)
{
  bool more = s->state == KUBE_EXEC_RUNNING;
  while (more) {
    switch (kube_websocket_next(&s->reader, &data, &len, &s->error)) {
    case KUBE_WEBSOCKET_DATA:
      more = take_data(s);
      break;
    case KUBE_WEBSOCKET_CONTROL:
      more = take_control(s, now);
      break;
    case KUBE_WEBSOCKET_MORE:
      more = false;
      break;
    default:
      more = fail(s, 1002);
    }
  }
  return s->state;
}

enum kube_exec_state kube_exec_stream_finish(struct kube_exec_stream *s)
{
  if (s->state == KUBE_EXEC_RUNNING && !conclude(s)) {
    s->state = KUBE_EXEC_FAILED;
    aicr_fail(&s->error, AICR_INTERNAL, "exec-unknown-exit",
              "how the command ended is not known, and it may still run: the "
              "connection ended %s",
              s->status_ended ? "in the middle of a message"
                              : "without a Status");
  }
  return s->state;
}

void kube_exec_stream_sent(struct kube_exec_stream *s, size_t n)
{
  if (n >= s->out.len) {
    aicr_buf_reset(&s->out);
    return;
  }
  memmove(s->out.data, s->out.data + n, s->out.len - n + 1);
  s->out.len -= n;
}

size_t kube_exec_stream_write(struct kube_exec_stream *s, const char *data,
                              size_t len)
{
  static const char channel[1] = {CHANNEL_STDIN};
  size_t taken = 0;
  if (s->state != KUBE_EXEC_RUNNING || !s->options.send_stdin ||
      s->stdin_ended) {
    return 0;
  }
  while (taken < len) {
    size_t n = len - taken < PIECE_MAX ? len - taken : PIECE_MAX;
    struct kube_websocket_frame frame = {.opcode = KUBE_WEBSOCKET_BINARY,
                                         .head = channel,
                                         .head_len = sizeof channel,
                                         .data = data + taken,
                                         .len = n};
    if (s->out.len + kube_websocket_size(1 + n) > KUBE_EXEC_STDIN_MAX) {
      break;
    }
    if (!send_frame(s, &frame)) {
      no_memory(s);
      break;
    }
    taken += n;
  }
  return taken;
}

bool kube_exec_stream_end_stdin(struct kube_exec_stream *s,
                                struct aicr_error *err)
{
  static const char payload[2] = {(char)CHANNEL_CLOSE, CHANNEL_STDIN};
  struct kube_websocket_frame frame = {
      .opcode = KUBE_WEBSOCKET_BINARY, .data = payload, .len = sizeof payload};
  if (s->state != KUBE_EXEC_RUNNING || !s->options.send_stdin ||
      s->stdin_ended) {
    return true;
  }
  if (s->options.version < 5) {
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "stdin cannot be ended: the server speaks "
                     "v4.channel.k8s.io, which needs v5 for that (Kubernetes "
                     "1.30 or newer)");
  }
  if (is_full(s, frame.len)) {
    return false;
  }
  s->stdin_ended = send_frame(s, &frame);
  return s->stdin_ended || no_memory(s);
}

int64_t kube_exec_stream_wake(const struct kube_exec_stream *s)
{
  return s->ping_at < s->give_up_at ? s->ping_at : s->give_up_at;
}

enum kube_exec_state kube_exec_stream_step(struct kube_exec_stream *s,
                                           int64_t now)
{
  struct kube_websocket_frame ping = {.opcode = KUBE_WEBSOCKET_PING};
  if (s->state != KUBE_EXEC_RUNNING) {
    return s->state;
  }
  if (now >= s->give_up_at) {
    if (!conclude(s)) {
      s->state = KUBE_EXEC_FAILED;
      aicr_fail(&s->error, AICR_SERVICE_UNAVAILABLE, "connection-lost",
                "the server answered no ping of the exec stream for %d s; the "
                "command may still run",
                KUBE_EXEC_GIVE_UP_MS / 1000);
    }
  } else if (now >= s->ping_at) {
    /* One that finds no room is missed: what waits has to go out first. */
    send_frame(s, &ping);
    s->ping_at = now + KUBE_EXEC_PING_MS;
  }
  return s->state;
}
