/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_URL_H
#define AICR_KUBE_URL_H

#include "core/buffer.h"

/* Appends the text with everything percent-escaped but letters, digits, "-",
 * ".", "_", "~" and ':', which names of RBAC objects hold. */
bool kube_url_escape(struct aicr_buf *out, const char *text, size_t len);

/* Appends "&name=value" ("name=value" to an empty buffer), the value escaped.
 * A NULL value appends nothing. */
bool kube_url_param(struct aicr_buf *out, const char *name, const char *value);

#endif
