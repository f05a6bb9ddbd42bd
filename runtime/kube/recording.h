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
 * each. */
struct kube_backend *kube_recording_open(const char *path,
                                         struct aicr_buf *warnings,
                                         struct aicr_error *err);

#endif
