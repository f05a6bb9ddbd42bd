/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_LIBARCHIVE_H
#define AICR_KUBE_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>

#include "core/error.h"

/* libarchive, opened when an archive is: it brings nine libraries, 2 MiB and
 * 2 ms, which no other run has a use for. */

/* Its functions that are used, without "archive_". */
struct libarchive {
  __typeof__(archive_read_new) *read_new;
  __typeof__(archive_read_free) *read_free;
  __typeof__(archive_read_support_format_tar) *read_support_format_tar;
  __typeof__(archive_read_support_filter_gzip) *read_support_filter_gzip;
  __typeof__(archive_read_open_fd) *read_open_fd;
  __typeof__(archive_read_next_header) *read_next_header;
  __typeof__(archive_read_data_block) *read_data_block;
  __typeof__(archive_filter_bytes) *filter_bytes;
  __typeof__(archive_errno) *error_number;
  __typeof__(archive_error_string) *error_string;
  __typeof__(archive_entry_pathname) *entry_pathname;
  __typeof__(archive_entry_hardlink) *entry_hardlink;
  __typeof__(archive_entry_symlink) *entry_symlink;
  __typeof__(archive_entry_filetype) *entry_filetype;
  __typeof__(archive_entry_size) *entry_size;
};

/* Opens it, once a process. NULL with INTERNAL/"no-libarchive" and the package
 * to install. */
const struct libarchive *kube_libarchive(struct aicr_error *err);

#endif
