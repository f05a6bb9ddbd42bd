/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORD_CALL_H
#define AICR_KUBE_RECORD_CALL_H

#include "kube/call.h"

/* What the client tells its recording of a call. Without a recording all of
 * these do nothing. What only the client itself can have refused or could not
 * send is not told: a replay refuses it again. */

/* The call has its object or text. */
void kube_record_object(struct kube_call *call);

/* An item of the list goes out; the list is complete. */
void kube_record_item(struct kube_call *call, const char *text, size_t len);
void kube_record_end(struct kube_call *call);

/* A line of the stream goes out, of `len` bytes; `all` counts its end too. */
void kube_record_event(struct kube_call *call, const char *text, size_t len,
                       size_t all);

/* The answer that is call->answer is an error, or there is none. */
void kube_record_failure(struct kube_call *call);

/* The resource that the call names was looked for; counted once a call. */
void kube_record_looked(struct kube_call *call);

/* The resource that the call names was not found, or not looked for: *err and
 * call->failure say why. */
void kube_record_unresolved(struct kube_call *call,
                            const struct aicr_error *err);

/* The call is about to be closed. A list or a stream that its owner left before
 * its end is recorded as what there was of it. */
void kube_record_left(struct kube_call *call);

#endif
