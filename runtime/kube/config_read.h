/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_READ_H
#define AICR_KUBE_CONFIG_READ_H

#include "core/buffer.h"

/* Small files that may hold secrets, and memory that does. */

#define KUBE_CONFIG_FILE_MAX ((size_t)1 << 20)

enum kube_config_found {
  KUBE_CONFIG_READ,
  KUBE_CONFIG_ABSENT, /* *problem says that too */
  KUBE_CONFIG_BAD,    /* *problem says why: fit for a message */
  KUBE_CONFIG_NO_MEMORY
};

/* Reads all of a plain file of at most 1 MiB (or /dev/null) into *text, which
 * is made a secret by this call and which the caller frees, also after a
 * failure. Links are followed: the user or the kubelet made them. *exposed: its
 * group or everybody may read it; may be NULL. */
enum kube_config_found kube_config_read(const char *path, struct aicr_buf *text,
                                        bool *exposed, const char **problem);

/* Overwrites the text before the memory is given back. */
void kube_config_wipe_text(char **text);

/* Replaces *out by a copy of the text; false (INTERNAL/"memory"). */
bool kube_config_copy(char **out, const char *text, struct aicr_error *err);

bool kube_config_no_memory(struct aicr_error *err);

#endif
