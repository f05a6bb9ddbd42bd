/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_ANSWER_H
#define AICR_KUBE_RECORDING_ANSWER_H

#include "kube/recording_store.h"

/* Makes the HTTP answer that the recorded server gave, or would have given, to
 * a request. `answer` is zeroed. What a recording cannot know is answer->error
 * INTERNAL/"not-recorded", a write METHOD_NOT_ALLOWED/"read-only". Advances
 * through the repeats of an indexed answer. */
void kube_rec_answer(struct kube_rec_store *s, const struct kube_request *rq,
                     struct kube_answer *answer);

#endif
