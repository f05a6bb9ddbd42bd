/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_SERVER_WARNING_H
#define AICR_KUBE_SERVER_WARNING_H

#include "core/buffer.h"

/* What an API server says beside its answers in Warning headers (RFC 7234, 5.5;
 * kubernetes-client.md 3): each text once, printable and bounded. */

#define KUBE_WARNINGS_MAX     64u
#define KUBE_WARNING_TEXT_MAX 500u /* bytes of a text that is told */

struct kube_server_warnings {
  char *texts[KUBE_WARNINGS_MAX];
  size_t count, told;
  bool full, full_told; /* there were more */
};
void kube_server_warnings_free(struct kube_server_warnings *w);

/* Takes a header line, "Warning: 299 - \"text\"" or any other. Only code 299 is
 * a server's own; of a line that is not as it should be the rest is left out.
 */
void kube_server_warnings_take(struct kube_server_warnings *w, const char *line,
                               size_t len);

/* Appends what has not been told yet, a line each. */
void kube_server_warnings_tell(struct kube_server_warnings *w,
                               struct aicr_buf *out);

#endif
