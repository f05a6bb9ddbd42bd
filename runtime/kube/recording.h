/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_H
#define AICR_KUBE_RECORDING_H

#include "kube/backend.h"

/* Opens a folder or a file as a backend that answers from it: design 9,
 * kubernetes-client.md 6. Formats: our own (aicr-recording.json, objects/,
 * errors/, discovery/, logs/, index.jsonl) and what `kubectl get -o json|yaml`
 * writes (List, typed list, single objects, several documents). Untrusted: no
 * link is followed, sizes and counts are bounded. NULL and *err:
 * INVALID_REQUEST, reasons "recording-missing", "recording-invalid",
 * "recording-too-large", …; the message names file and line. Warnings (a
 * duplicate object, a guessed plural, …) are appended to *warnings, a line
 * each.
 *
 * Objects in JSON stay in their files, which are read again when something is
 * asked for; memory holds their names. A file that was changed since is
 * INTERNAL/"recording-changed" for each request that needs it. Pages are
 * bounded in bytes too, so that one may hold less than its limit. */
struct kube_backend *kube_recording_open(const char *path,
                                         struct aicr_buf *warnings,
                                         struct aicr_error *err);

/* A recording that was written by a run (--record) knows how its checks went. A
 * replay of one of them is given what that attempt at it was given, and ends no
 * later. */

/* How a wait ended in the run that was recorded. */
enum kube_wait_end {
  KUBE_WAIT_UNKNOWN, /* the recording does not know the check */
  KUBE_WAIT_OVER,    /* after so many looks it came true, or raised an error */
  KUBE_WAIT_LATE,    /* after so many looks its time was over */
  KUBE_WAIT_CUT,     /* the check itself was ended before it */
  KUBE_WAIT_NONE     /* it did not wait for that, or not as often */
};

/* Tells of the asker's next wait for `what`, as kube_index_what() makes it; of
 * a backend that is a recording. */
enum kube_wait_end kube_recording_wait(struct kube_backend *b,
                                       const struct kube_asker *asker,
                                       const char *what, unsigned *looks);

/* How the asker's attempt ended there: DEADLINE, CANCELED (also where the run
 * broke off), OK: by itself, or the recording does not know. What such a one
 * asks after the last that it was answered is INTERNAL/"recorded-end". */
enum kube_transport kube_recording_end(struct kube_backend *b,
                                       const struct kube_asker *asker);

#endif
