/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_UPGRADE_HEAD_H
#define AICR_KUBE_UPGRADE_HEAD_H

#include <stdint.h>

#include "core/error.h"

/* The lines of an HTTP/1 response head, as far as an upgrade to a WebSocket
 * needs them. All errors are INTERNAL/"protocol". */

struct kube_upgrade_head {
  int http, minor;
  char content_type[128];
  char retry_after[64];     /* seconds or a date, "": not said */
  bool upgrade, connection; /* Upgrade: websocket, Connection: Upgrade */
  bool extension;           /* one that was never offered */
  unsigned accepts;         /* how often Sec-WebSocket-Accept came */
  bool accepted;            /* … with the right value */
  unsigned protocols;       /* how often Sec-WebSocket-Protocol came */
  unsigned version;         /* of the channel protocol, 0: none that we know */
  bool has_length;
  uint64_t length; /* Content-Length */
  unsigned codings;
  bool chunked; /* Transfer-Encoding, alone */
  bool encoded; /* Content-Encoding other than identity */
};

/* "HTTP/1.1 101 Switching Protocols". Begins *h anew. */
bool kube_upgrade_status_line(struct kube_upgrade_head *h, const char *line,
                              size_t len, struct aicr_error *err);

/* A header field; `accept` is what Sec-WebSocket-Accept has to be. */
bool kube_upgrade_field(struct kube_upgrade_head *h, const char *accept,
                        const char *line, size_t len, struct aicr_error *err);

/* The whole head of a 101: did the server switch to what was offered? */
bool kube_upgrade_verify(const struct kube_upgrade_head *h,
                         struct aicr_error *err);

#endif
