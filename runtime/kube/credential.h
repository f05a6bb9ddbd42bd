/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CREDENTIAL_H
#define AICR_KUBE_CREDENTIAL_H

#include <poll.h>
#include <stdint.h>

#include "kube/config.h"

/* What a request proves its identity with, now: a token, a token file that is
 * re-read, basic, or what a credential plug-in gives. A plug-in runs as a child
 * process beside everything else: ask, and ask again after news. */

struct kube_credential;

enum kube_credential_state {
  KUBE_CREDENTIAL_READY,
  KUBE_CREDENTIAL_WAIT, /* a plug-in runs */
  KUBE_CREDENTIAL_FAILED
};

/* The config must outlive it. NULL without memory. */
struct kube_credential *kube_credential_open(const struct kube_config *config);

/* Ends a plug-in that runs (its whole process group), wipes what it holds. */
void kube_credential_close(struct kube_credential *c);

/* READY: *authorization is the value of the Authorization header ("Bearer …"),
 * NULL for none (always over http: a credential is only sent through TLS);
 * valid until the next call of a function here. The deadline (monotonic ms, 0:
 * none) bounds a plug-in that this call starts; while others wait for the same
 * run, the latest of theirs does. What a run gave, a credential or a failure,
 * is given at least once, and to everybody who asks with the now_ms of the
 * kube_credential_step() that saw its end: also one that has expired by then.
 * FAILED: INVALID_REQUEST/"config-invalid", UNAUTHORIZED/"exec-plugin-failed",
 * INVALID_REQUEST/"exec-plugin-not-found", TIMEOUT/"deadline". */
enum kube_credential_state kube_credential_get(struct kube_credential *c,
                                               int64_t now_ms,
                                               int64_t deadline_ms,
                                               const char **authorization,
                                               struct aicr_error *err);

/* The client certificate in force: the plug-in's when it gave one, else the
 * config's; both buffers NULL when there is none. *generation changes when the
 * certificate did: connections made with an older one must go. The buffers live
 * until the next kube_credential_step(), the config's until the end. */
void kube_credential_certificate(const struct kube_credential *c,
                                 const struct aicr_buf **certificate,
                                 const struct aicr_buf **key,
                                 unsigned *generation);

/* The server answered 401: what is cached is dropped. False when nothing else
 * could be offered (a fixed token). */
bool kube_credential_refused(struct kube_credential *c);

/* Descriptors that bring news of a plug-in; returns how many (at most 4). */
size_t kube_credential_descriptors(const struct kube_credential *c,
                                   struct pollfd *out);

/* The monotonic time at which kube_credential_step has to be called even
 * without news of a descriptor (0: none). */
int64_t kube_credential_wake(const struct kube_credential *c);

/* Takes what a plug-in wrote, sees its end, ends it (SIGTERM, 2 s, SIGKILL) at
 * its deadline. Never waits. */
void kube_credential_step(struct kube_credential *c, int64_t now_ms);

/* Appends the warnings that came up since the last call, a line each: a token
 * file that cannot be re-read, a plug-in whose credentials have expired when
 * they come, credentials kept back over http. Each once, until it was well in
 * between. Holds nothing secret. */
void kube_credential_warnings(struct kube_credential *c, struct aicr_buf *out);

#endif
