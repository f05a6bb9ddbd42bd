/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_JOURNAL_H
#define AICR_HOST_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

/* Finished results, a line each, in a file that is there only while the run
 * is: what is left when the process is ended from inside (design 3). */

struct aicr_journal {
  char *path; /* NULL: none is open */
  int fd;
};

/* Creates the file, which must not exist. False with a reason in *message. */
bool aicr_journal_open(struct aicr_journal *j, const char *path,
                       const char **message);

/* Appends one line; a failure is silent: the journal is a second chance. */
void aicr_journal_add(struct aicr_journal *j, const char *line, size_t len);

/* Closes the file and removes it; with `keep` it stays and stderr says where.
 * Idempotent. */
void aicr_journal_close(struct aicr_journal *j, bool keep);

#endif
