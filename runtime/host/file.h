/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_FILE_H
#define AICR_HOST_FILE_H

#include "core/buffer.h"

/* Files for the engine and for require. */

/* Appends the content of a regular file. False with the reason in *message
 * (a static text or strerror; may be NULL when not wanted). */
bool aicr_file_read(const char *path, size_t max, struct aicr_buf *out,
                    const char **message);

/* Same for root/relative, where no component below root may be a link, "." or
 * "..". */
bool aicr_file_read_below(const char *root, const char *relative, size_t max,
                          struct aicr_buf *out, const char **message);

/* Calls `found` for each entry of a folder, in byte order of the names. type:
 * 'f' a regular file or a link to one, 'd' a folder, 'l' a link to a folder,
 * 'o' anything else. */
bool aicr_folder_list(const char *path,
                      bool (*found)(void *ud, const char *name, char type),
                      void *ud, const char **message);

/* Writes the whole text. "-" is stdout (a closed pipe there is no failure),
 * "stderr" is stderr; a path is written to a temporary file beside it and
 * renamed, or directly when it exists and is no regular file itself (a device,
 * a link). A reader of a pipe is waited for until a signal comes: *interrupt is
 * then its number (else 0), and it is taken. */
bool aicr_file_write(const char *target, const char *data, size_t len,
                     int *interrupt, const char **message);

/* Would aicr_file_write find the way to that target open? Nothing that is there
 * is changed: beside a regular file, and where there is none yet, a temporary
 * one is made and removed. */
bool aicr_file_can_write(const char *target, const char **message);

#endif
