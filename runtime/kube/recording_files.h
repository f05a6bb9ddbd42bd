/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_FILES_H
#define AICR_KUBE_RECORDING_FILES_H

#include "core/buffer.h"

/* Reading below a folder that nobody vouches for: links and special files are
 * refused, sizes, counts and depth are bounded. Errors: INVALID_REQUEST,
 * "recording-missing", "recording-invalid" or "recording-too-large"; INTERNAL/
 * "memory". File names in them are relative to the folder. */

#define REC_FILE_MAX  (256u << 20)
#define REC_FILES_MAX 100000u
#define REC_DEPTH_MAX 16u
#define REC_TOTAL_MAX ((size_t)1 << 30)

struct kube_rec_files {
  int root; /* the folder, or the file when it is one; -1: closed */
  bool is_folder;
  size_t files, bytes; /* seen and read so far */
};

/* The path itself may lead over links: the user named it. */
bool kube_rec_files_open(struct kube_rec_files *f, const char *path,
                         struct aicr_error *err);
void kube_rec_files_close(struct kube_rec_files *f);

/* Reads the recording's one file (is_folder false) or a file below the folder
 * into *text, which the caller frees. Absent: *found false and no error, when
 * found is not NULL. `path` has no empty, "." or ".." steps. */
bool kube_rec_files_read(struct kube_rec_files *f, const char *path,
                         bool *found, struct aicr_buf *text,
                         struct aicr_error *err);

enum kube_rec_sort { REC_ABSENT, REC_FILE, REC_FOLDER };

/* What lies at a path of one step. */
bool kube_rec_files_sort(struct kube_rec_files *f, const char *name,
                         enum kube_rec_sort *out, struct aicr_error *err);

/* Called with a file's path and content; it may keep nothing of them. */
struct kube_rec_visitor {
  bool (*wants)(const char *path);
  bool (*visit)(void *ctx, const char *path, const struct aicr_buf *text,
                struct aicr_error *err);
  void *ctx;
};

/* Visits all files below a path of one step ("" for the whole folder), in the
 * order of their names' bytes. Names that begin with '.' are passed over. */
bool kube_rec_files_walk(struct kube_rec_files *f, const char *path,
                         const struct kube_rec_visitor *v,
                         struct aicr_error *err);

#endif
