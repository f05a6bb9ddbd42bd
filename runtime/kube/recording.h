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

#endif
