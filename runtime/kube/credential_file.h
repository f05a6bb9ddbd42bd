/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CREDENTIAL_FILE_H
#define AICR_KUBE_CREDENTIAL_FILE_H

#include "core/buffer.h"

/* Appends the trimmed token of a file; `out` should be secret.
 * INVALID_REQUEST/"config-invalid" (it cannot be read, is empty, or no header
 * can carry it) or INTERNAL/"memory"; the message names the file. */
bool kube_token_file_read(const char *path, struct aicr_buf *out,
                          struct aicr_error *err);

#endif
