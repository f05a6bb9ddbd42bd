/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_RUN_H
#define AICR_KUBE_RECORDING_RUN_H

#include "kube/recording.h"
#include "kube/recording_store.h"

/* What a recording knows of the checks that were run when it was made: a replay
 * of one of them ends where that run ended. */

/* Adds a line that is no answer. */
bool kube_rec_event_add(struct kube_rec_store *s,
                        const struct kube_index_line *line,
                        struct aicr_error *err);

/* After all lines: is no run over twice? Else "recording-invalid". */
bool kube_rec_check_runs(const struct kube_rec_store *s,
                         struct aicr_error *err);

/* Which checks there are. */
bool kube_rec_list_checks(struct kube_rec_store *s, struct aicr_error *err);

/* Whose lines an asker is given: its attempt is one that was recorded, the last
 * of them where there were no more. Check "": the recording does not know it,
 * or knows of no checks at all. NULL: none of the checks asks. */
struct kube_asker kube_rec_asker(const struct kube_rec_store *s,
                                 const struct kube_asker *asker);

/* As kube_recording_wait() and kube_recording_end(). */
enum kube_wait_end kube_rec_wait(struct kube_rec_store *s,
                                 const struct kube_asker *asker,
                                 const char *what, unsigned *looks);
enum kube_transport kube_rec_run_end(const struct kube_rec_store *s,
                                     const struct kube_asker *asker);

/* Could the resource that the asker names not be found, or not be looked for?
 * Then *failure and *err say why, as they did. */
bool kube_rec_unresolved(struct kube_rec_store *s,
                         const struct kube_asker *asker, const char *named,
                         struct kube_failure *failure, struct aicr_error *err);

/* Was the run of the asker's check ended by its deadline or a signal, or broken
 * off? What has no line then was not answered any more: CANCELED/
 * "recorded-end". */
bool kube_rec_is_over(const struct kube_rec_store *s,
                      const struct kube_asker *asker);
void kube_rec_end_error(struct aicr_error *err);

/* Is it asked by what was deferred, after the check? */
bool kube_rec_is_cleanup(const struct kube_asker *asker);

#endif
