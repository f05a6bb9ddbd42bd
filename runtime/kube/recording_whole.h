/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_WHOLE_H
#define AICR_KUBE_RECORDING_WHOLE_H

#include <cjson/cJSON.h>

#include "core/hash.h"
#include "kube/recording_files.h"

/* Is a recording still what the run that wrote it left? Its manifest says how
 * many lines the index has and which sums it and the files of discovery have;
 * a line of the index which its file has. What was lost, added or came from
 * another recording is refused: INVALID_REQUEST/"recording-invalid". */

#define REC_WHOLE_FILES 3u

struct kube_rec_whole {
  bool said; /* else nothing is known: an older one, or one of hand */
  bool open; /* the index may go on after these lines */
  uint64_t lines;
  char sums[REC_WHOLE_FILES][AICR_SHA256_TEXT]; /* "": no such file */
};

/* Takes "lines" and "sha256" of a manifest. */
bool kube_rec_whole_take(struct kube_rec_whole *w, const cJSON *manifest,
                         bool open, struct aicr_error *err);

/* The text of a file of discovery; found false: it is not there. */
bool kube_rec_whole_text(const struct kube_rec_whole *w, const char *file,
                         bool found, const char *data, size_t len,
                         struct aicr_error *err);

/* The text of the index. */
bool kube_rec_whole_index(const struct kube_rec_whole *w, const char *data,
                          size_t len, struct aicr_error *err);

/* A file that a line names with "bytes" (0: not said) and "sha256" ("": not
 * said). */
bool kube_rec_whole_file(const struct kube_rec_input *in, int64_t bytes,
                         const char *sha256, struct aicr_error *err);

#endif
