/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_UPGRADE_H
#define AICR_KUBE_UPGRADE_H

#include "kube/backend.h"
#include "kube/server_warning.h"
#include "kube/upgrade_head.h"

/* The HTTP/1.1 answer to a WebSocket upgrade, from chunks of any size: either
 * 101 with the right Accept and a channel protocol, or an answer for
 * kube_status_error(). */

#define KUBE_UPGRADE_HEAD_MAX                                                  \
  65536 /* bytes of all lines, interim heads too                               \
         */
#define KUBE_UPGRADE_BODY_MAX 65536

#define KUBE_UPGRADE_KEY 16 /* random bytes: RFC 6455 4.1 */

enum kube_upgrade_state {
  KUBE_UPGRADE_FAILED,   /* the error was given once */
  KUBE_UPGRADE_MORE,     /* feed more, or finish */
  KUBE_UPGRADE_SWITCHED, /* what is left of the span are frames */
  KUBE_UPGRADE_REFUSED   /* kube_upgrade_answer() */
};

struct kube_upgrade {
  struct kube_upgrade_head head;         /* version: of the channel protocol */
  struct kube_server_warnings *warnings; /* set by the caller; NULL: unheard */

  /* private */
  enum kube_upgrade_state state;
  int step;
  struct aicr_buf accept, line, body;
  size_t line_bytes;
  uint64_t left; /* of the body or the chunk */
};

/* Begins the answer to a request with that key. False only without memory
 * (INTERNAL/"memory"). Freed by the caller in any case. */
bool kube_upgrade_init(struct kube_upgrade *u,
                       const unsigned char key[KUBE_UPGRADE_KEY],
                       struct aicr_error *err);
void kube_upgrade_free(struct kube_upgrade *u);

/* Takes from the front of the span what belongs to the answer. *err with
 * FAILED: INTERNAL/"protocol" (a wrong Accept, no subprotocol, 2xx in place of
 * 101, 403 without a body: an unsupported subprotocol; not HTTP),
 * INTERNAL/"response-too-large", "bad-encoding" or "memory". */
enum kube_upgrade_state kube_upgrade_feed(struct kube_upgrade *u,
                                          const char **data, size_t *len,
                                          struct aicr_error *err);

/* The server closed the connection. An answer without a length ends here, an
 * incomplete one is SERVICE_UNAVAILABLE/"connection-lost". */
enum kube_upgrade_state kube_upgrade_finish(struct kube_upgrade *u,
                                            struct aicr_error *err);

/* Moves a REFUSED answer, http, content type and body, to *a. */
void kube_upgrade_answer(struct kube_upgrade *u, struct kube_answer *a);

#endif
