/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_FILES_H
#define AICR_KUBE_RECORDING_FILES_H

#include <stdint.h>
#include <time.h>

#include "core/buffer.h"
#include "kube/archive.h"

/* Reading below a folder, or in an archive, that nobody vouches for: links and
 * special files are refused, sizes, counts and depth are bounded. Errors:
 * INVALID_REQUEST, "recording-missing", "recording-invalid",
 * "recording-changed" or "recording-too-large"; INTERNAL/"memory". File names
 * in them are relative to the folder. */

#define REC_FILE_MAX         (256u << 20) /* read as a whole */
#define REC_STREAM_MAX       ((uint64_t)4 << 30)
#define REC_FILES_MAX        100000u
#define REC_DEPTH_MAX        16u
#define REC_TOTAL_MAX        ((size_t)1 << 30)
#define REC_STREAM_TOTAL_MAX ((uint64_t)16 << 30)

/* A file that stays where it is: objects are read from it when they are asked
 * for. */
struct kube_rec_file {
  char *path;
  uint64_t dev, ino, size;
  struct timespec modified, changed;
  uint64_t base, len; /* as of kube_rec_input */
};

struct kube_rec_files {
  int root; /* the folder, or the file when it is one; -1: closed */
  bool is_folder, is_archive; /* of an archive both */
  struct kube_archive archive;
  size_t files, bytes; /* seen, and read as a whole so far */
  uint64_t streamed;
  struct kube_rec_file *kept;
  size_t kept_count, kept_cap;
};

/* The path itself may lead over links: the user named it. */
bool kube_rec_files_open(struct kube_rec_files *f, const char *path,
                         struct aicr_error *err);
void kube_rec_files_close(struct kube_rec_files *f);

/* An open plain file of a recording: len bytes from base on. */
struct kube_rec_input {
  const char *path;
  int fd;
  uint64_t base, len; /* 0, UINT64_MAX: all of the file behind fd */
};

/* Opens the recording's one file (is_folder false) or a file below the folder.
 * Absent: *found false and no error, when found is not NULL. `path` has no
 * empty, "." or ".." steps. */
bool kube_rec_files_input(struct kube_rec_files *f, const char *path,
                          bool *found, struct kube_rec_input *in,
                          struct aicr_error *err);
void kube_rec_input_close(struct kube_rec_input *in);

/* Reads all of a file into *text, which the caller frees, also on failure. */
bool kube_rec_files_text(struct kube_rec_files *f,
                         const struct kube_rec_input *in, struct aicr_buf *text,
                         struct aicr_error *err);

/* Both of these: a file of which only its text is wanted. */
bool kube_rec_files_read(struct kube_rec_files *f, const char *path,
                         bool *found, struct aicr_buf *text,
                         struct aicr_error *err);

/* Enters a file into `kept`, as it is now. */
bool kube_rec_files_keep(struct kube_rec_files *f,
                         const struct kube_rec_input *in, size_t *kept,
                         struct aicr_error *err);

/* Opens a kept file again. False and "recording-changed" when it is no longer
 * what it was: gone, another, of another size or time. */
bool kube_rec_files_reopen(const struct kube_rec_files *f, size_t kept,
                           struct kube_rec_input *in, struct aicr_error *err);

/* Whether a kept file that is open is still what it was. */
bool kube_rec_files_same(const struct kube_rec_files *f, size_t kept, int fd,
                         struct aicr_error *err);

/* Reads up to len bytes; *got is less at the end of the file only. */
bool kube_rec_pread(const struct kube_rec_input *in, void *data, size_t len,
                    uint64_t offset, size_t *got, struct aicr_error *err);

/* How many bytes it holds. */
bool kube_rec_size(const struct kube_rec_input *in, uint64_t *size,
                   struct aicr_error *err);

enum kube_rec_sort { REC_ABSENT, REC_FILE, REC_FOLDER };

/* What lies at a path of one step. */
bool kube_rec_files_sort(struct kube_rec_files *f, const char *name,
                         enum kube_rec_sort *out, struct aicr_error *err);

/* Called with an open file, which is closed afterwards. */
struct kube_rec_visitor {
  bool (*wants)(const char *path);
  bool (*visit)(void *ctx, const struct kube_rec_input *in,
                struct aicr_error *err);
  void *ctx;
};

/* Visits all files below a path of one step ("" for the whole folder), in the
 * order of their names' bytes. Names that begin with '.' are passed over. */
bool kube_rec_files_walk(struct kube_rec_files *f, const char *path,
                         const struct kube_rec_visitor *v,
                         struct aicr_error *err);

#endif
