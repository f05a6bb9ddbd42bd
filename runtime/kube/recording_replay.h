/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_REPLAY_H
#define AICR_KUBE_RECORDING_REPLAY_H

#include "kube/recording_store.h"

/* Answers a read from the lines of index.jsonl. Repeats of a key are answered
 * in their order, the last one from then on; a watch is answered once a line.
 */
void kube_rec_replay(struct kube_rec_store *s, const struct kube_request *rq,
                     struct kube_answer *a);

/* Answers a SelfSubjectAccessReview, as access.json has it. */
void kube_rec_replay_review(struct kube_rec_store *s,
                            const struct kube_request *rq,
                            struct kube_answer *a);

#endif
