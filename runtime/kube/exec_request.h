/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_EXEC_REQUEST_H
#define AICR_KUBE_EXEC_REQUEST_H

#include "kube/upgrade.h"

/* The request that starts a command in a container over a WebSocket:
 * kubernetes-client.md 3.4. */

#define KUBE_EXEC_REQUEST_MAX ((size_t)512 << 10)

/* The strings belong to the caller. */
struct kube_exec_request {
  const char *host;           /* authority, for Host */
  const char *path;           /* the server's prefix and kube_resource_path() */
  const char *const *command; /* argv: a word cannot hold a NUL */
  size_t command_count;
  const char *container; /* NULL: the only one of the pod */
  bool send_stdin, want_stdout, want_stderr, tty;
  const char *const *headers; /* more lines, "Authorization: Bearer …" */
  size_t header_count;
  unsigned char key[KUBE_UPGRADE_KEY]; /* of kube_websocket_random() */
};

/* Appends the request to a buffer with that bound. It may hold credentials,
 * which never get into a message: the caller makes the buffer a secret.
 * INVALID_REQUEST/"bad-request" when it must not be sent (no command, no
 * stream, a tty with a stderr of its own, a path or header that is none), or
 * "too-large"; INTERNAL/"memory". */
bool kube_exec_request(const struct kube_exec_request *rq, struct aicr_buf *out,
                       struct aicr_error *err);

#endif
