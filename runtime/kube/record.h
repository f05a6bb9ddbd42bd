/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORD_H
#define AICR_KUBE_RECORD_H

#include <stdint.h>

#include "core/buffer.h"
#include "kube/recording_index.h"

/* Writes a recording (design 9): files of answers and, after each, its line in
 * index.jsonl. A file gets its name when it is complete, so that a run that is
 * killed leaves a recording of what it had until then. Secrets are redacted
 * (record_redact.h); what a container wrote to its log is kept as it is.
 *
 * The first write that fails ends the recording, and kube_record_error() says
 * so; what is called after it does nothing. */

struct kube_record;

struct kube_record_facts {
  const char *context, *tool; /* NULL: not known */
  int64_t captured_ms;        /* since the epoch */
};

/* The folder must be new or empty. NULL and INVALID_REQUEST, reasons
 * "record-not-empty", "record-failed". */
struct kube_record *kube_record_open(const char *folder,
                                     const struct kube_record_facts *facts,
                                     struct aicr_error *err);

/* Notes the server's answer to /version; the first that is one counts. */
bool kube_record_version(struct kube_record *r, const char *text, size_t len);

/* NULL: all was written, else INTERNAL/"record-failed". */
const struct aicr_error *kube_record_error(const struct kube_record *r);
void kube_record_close(struct kube_record *r);

/* Keeps a value out of all that is written from now on. */
void kube_record_secret(struct kube_record *r, const char *text, size_t len);

/* Ends the recording for want of memory. */
void kube_record_no_memory(struct kube_record *r);

/* A file that is being written. */
struct kube_record_file;
struct kube_record_file *kube_record_begin(struct kube_record *r);
void kube_record_add(struct kube_record_file *f, const char *data, size_t len);
/* The same of a text that is no JSON, without the secrets. */
void kube_record_add_text(struct kube_record_file *f, const char *text,
                          size_t len);
/* …of a buffer, whose failure is one of the recording. */
void kube_record_add_buf(struct kube_record_file *f, const struct aicr_buf *b);
/* The same of a JSON text, redacted. */
void kube_record_add_json(struct kube_record_file *f, const char *text,
                          size_t len, bool is_secret);
void kube_record_drop(struct kube_record_file *f);

/* An answer whose key holds a secret is dropped. Gives the file its place,
 * FOLDER/NAME.ENDING or, where that is taken or `plain` is not set,
 * FOLDER/NAME+N.ENDING, and adds the line that names it. The folder's steps are
 * safe, the name is made so. */
void kube_record_answer(struct kube_record_file *f,
                        const struct kube_index_line *line, const char *folder,
                        const char *name, const char *ending, bool plain);

/* Adds a line without a file. */
void kube_record_line(struct kube_record *r,
                      const struct kube_index_line *line);

/* The whole of a file that no line names. */
void kube_record_plain(struct kube_record *r, const char *path,
                       const char *data, size_t len);

/* Counts a lookup of the resource `what`, as kube_index_what() makes it, by a
 * check; gives how many were before it. */
unsigned kube_record_lookup(struct kube_record *r,
                            const struct kube_asker *asker, const char *what);

/* A wait is over: it came true or raised an error after so many looks, or
 * (late) its time was over. `what` as kube_index_what() makes it. */
void kube_record_wait(struct kube_record *r, const struct kube_asker *asker,
                      const char *what, unsigned looks, bool late);

/* An attempt at a check is over: by itself (OK), by its DEADLINE or a signal
 * (CANCELED). One without this was broken off. */
void kube_record_run(struct kube_record *r, const struct kube_asker *asker,
                     enum kube_transport how);

#endif
