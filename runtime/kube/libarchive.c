/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/libarchive.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define SONAME "libarchive.so.13"

static const struct {
  const char *name;
  size_t at;
} calls[] = {
    {"archive_read_new", offsetof(struct libarchive, read_new)},
    {"archive_read_free", offsetof(struct libarchive, read_free)},
    {"archive_read_support_format_tar",
     offsetof(struct libarchive, read_support_format_tar)},
    {"archive_read_support_filter_gzip",
     offsetof(struct libarchive, read_support_filter_gzip)},
    {"archive_read_open_fd", offsetof(struct libarchive, read_open_fd)},
    {"archive_read_next_header", offsetof(struct libarchive, read_next_header)},
    {"archive_read_data_block", offsetof(struct libarchive, read_data_block)},
    {"archive_filter_bytes", offsetof(struct libarchive, filter_bytes)},
    {"archive_errno", offsetof(struct libarchive, error_number)},
    {"archive_error_string", offsetof(struct libarchive, error_string)},
    {"archive_entry_pathname", offsetof(struct libarchive, entry_pathname)},
    {"archive_entry_hardlink", offsetof(struct libarchive, entry_hardlink)},
    {"archive_entry_symlink", offsetof(struct libarchive, entry_symlink)},
    {"archive_entry_filetype", offsetof(struct libarchive, entry_filetype)},
    {"archive_entry_size", offsetof(struct libarchive, entry_size)},
};

const struct libarchive *kube_libarchive(struct aicr_error *err)
{
  static struct libarchive library;
  static bool ready;
  if (ready) {
    return &library;
  }
  void *handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
  bool all = handle != NULL;
  for (size_t i = 0; all && i < sizeof calls / sizeof calls[0]; i++) {
    void *function = dlsym(handle, calls[i].name);
    memcpy((char *)&library + calls[i].at, &function, sizeof function);
    all = function != NULL;
  }
  ready = all;
  if (all) {
    return &library;
  }
  aicr_fail(err, AICR_INTERNAL, "no-libarchive",
            "archives are read with " SONAME
            ", which is not there: apt-get install libarchive13");
  return NULL;
}
