/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORD_REDACT_H
#define AICR_KUBE_RECORD_REDACT_H

#include "core/buffer.h"
#include "kube/record_secrets.h"

/* What stands in a recording where a secret stood. A replay does not give it
 * to a check as if it were the value. */
#define KUBE_REDACTED "[secret, not recorded]"

/* Writes a JSON text to *out with KUBE_REDACTED, a string, in the place of
 *   - `data` and `stringData` of a Secret, wherever one lies (is_secret: the
 *     text is one, though an item of a typed list does not say its kind);
 *   - the value of {name, value} where the name looks like a secret's
 * (HF_TOKEN, but not …_FILE), and of a member that is named so in capitals, or
 * is "token", "password", "clientSecret" and the like;
 *   - a text that holds a private key, is a JSON web token, or is a document
 *     in which any of these stand (last-applied-configuration);
 *   - each text, number and member's name that holds one of the secrets (NULL:
 *     none).
 * All other bytes stay. *changed false: there was nothing, *out is untouched.
 * False: the text is not JSON (INVALID_REQUEST) or INTERNAL/"memory". */
bool kube_redact(const char *text, size_t len, bool is_secret,
                 const struct kube_secrets *secrets, struct aicr_buf *out,
                 bool *changed, struct aicr_error *err);

#endif
