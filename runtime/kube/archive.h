/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_ARCHIVE_H
#define AICR_KUBE_ARCHIVE_H

#include <stdint.h>

#include "core/buffer.h"

/* An archive that nobody vouches for: .tar, .tar.gz, .tgz. Its files are
 * unpacked one after another into a single temporary file without a name, and
 * a table says where each lies: nothing an archive names is ever made, nothing
 * is left however the process ends, and memory holds only the table.
 *
 * Refused as a whole, INVALID_REQUEST/"recording-invalid": a member that leads
 * out of the archive, is named twice, has a control character or a backslash in
 * its name, is a link, a device, a sparse file; an archive that is cut, also
 * one that lacks its end mark. "recording-too-large": more than
 * KUBE_ARCHIVE_FILES members, KUBE_ARCHIVE_MAX bytes, or 200 times what the
 * archive itself takes. */

#define KUBE_ARCHIVE_FILES 100000u
#define KUBE_ARCHIVE_MAX   ((uint64_t)4 << 30)

struct kube_archive_member {
  char *path; /* steps that are not empty, "." or ".." */
  uint64_t offset, size;
};

struct kube_archive {
  int fd;                              /* what was unpacked; -1: closed */
  struct kube_archive_member *members; /* files, in the order of a walk */
  size_t count, cap;
};

/* Does the file look like an archive, by its name or its first bytes? */
bool kube_archive_is(int fd, const char *name);

/* Reads the archive that an open file holds, from its beginning. A folder that
 * all members lie in is left out of their paths, unless its name is of our own
 * format. `name` is for messages. */
bool kube_archive_open(struct kube_archive *a, int fd, const char *name,
                       struct aicr_error *err);
void kube_archive_close(struct kube_archive *a);

/* NULL: there is no such file. */
const struct kube_archive_member *
kube_archive_find(const struct kube_archive *a, const char *path);

/* Do members lie in a folder of that path? */
bool kube_archive_has_folder(const struct kube_archive *a, const char *path);

#endif
