/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_EXEC_STREAM_H
#define AICR_KUBE_EXEC_STREAM_H

#include "kube/websocket.h"

/* A command in a container, from the first frame to its exit code: the channel
 * protocols v4 and v5 of kubernetes-client.md 3.4 over bytes that somebody else
 * receives and sends. Times are monotonic milliseconds. */

#define KUBE_EXEC_PING_MS    5000
#define KUBE_EXEC_GIVE_UP_MS 61000

/* Bytes that wait to be sent, at most; stdin leaves room for pongs. */
#define KUBE_EXEC_OUT_MAX   ((size_t)256 << 10)
#define KUBE_EXEC_STDIN_MAX ((size_t)128 << 10)

struct kube_exec_options {
  unsigned version; /* 4 or 5: of struct kube_upgrade_head */
  bool send_stdin;
  /* Where the output goes, up to each buffer's bound; NULL: not asked for. */
  struct aicr_buf *to_stdout, *to_stderr;
  /* Gives the masks; NULL: kube_websocket_random. */
  bool (*random)(void *out, size_t len);
};

enum kube_exec_state {
  KUBE_EXEC_RUNNING,
  KUBE_EXEC_EXITED, /* exit_code, all output is there */
  KUBE_EXEC_FAILED  /* error */
};

struct kube_exec_stream {
  enum kube_exec_state state;
  int exit_code;           /* 0-255 when EXITED, else -1 */
  struct aicr_error error; /* of FAILED */
  unsigned close_code;     /* of the server's close frame, 0: none */
  struct aicr_buf out;     /* to be sent, in any state */

  /* private */
  struct kube_exec_options options;
  struct kube_websocket_reader reader;
  struct aicr_buf status; /* channel 3 */
  bool status_ended;
  int channel; /* of the message that comes in, -1: not known yet */
  bool stdin_ended;
  int64_t ping_at, give_up_at;
};

/* Begins after the 101. Freed by the caller; the output buffers stay his. */
void kube_exec_stream_init(struct kube_exec_stream *s,
                           const struct kube_exec_options *options,
                           int64_t now);
void kube_exec_stream_free(struct kube_exec_stream *s);

/* Takes bytes of the server; all of them, whatever comes of it. Pings are
 * answered into `out`, so is a close. The command has ended when a close frame
 * came. FAILED is INTERNAL with "protocol", "response-too-large" (an output
 * buffer is full; what fits is in it), "memory", or a reason of
 * kube_exec_status(); "exec-unknown-exit" when the close came without a whole
 * Status or in the middle of output: never a success. */
enum kube_exec_state kube_exec_stream_feed(struct kube_exec_stream *s,
                                           const char *data, size_t len,
                                           int64_t now);

/* The connection ended. With a whole Status the command has ended as it says,
 * else "exec-unknown-exit". */
enum kube_exec_state kube_exec_stream_finish(struct kube_exec_stream *s);

/* The first n bytes of `out` were sent. */
void kube_exec_stream_sent(struct kube_exec_stream *s, size_t n);

/* Appends stdin to `out`; returns how many bytes were taken, fewer while much
 * waits to be sent, none when there is no stdin or the command has ended.
 * Without memory the stream is FAILED. */
size_t kube_exec_stream_write(struct kube_exec_stream *s, const char *data,
                              size_t len);

/* Appends the end of stdin. False while `out` has no room (try again), without
 * memory (the stream is FAILED), and for good in v4, which has no such message:
 * only then *err is filled, INTERNAL/"protocol". */
bool kube_exec_stream_end_stdin(struct kube_exec_stream *s,
                                struct aicr_error *err);

/* When kube_exec_stream_step() has something to do next. */
int64_t kube_exec_stream_wake(const struct kube_exec_stream *s);

/* Appends a ping when one is due, every 5 s. 61 s after the last pong (or the
 * beginning) the connection counts as gone: as kube_exec_stream_finish(), but
 * SERVICE_UNAVAILABLE/"connection-lost". */
enum kube_exec_state kube_exec_stream_step(struct kube_exec_stream *s,
                                           int64_t now);

#endif
