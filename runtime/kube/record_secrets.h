/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORD_SECRETS_H
#define AICR_KUBE_RECORD_SECRETS_H

#include "core/buffer.h"

/* Values that must not stand in a recording: those of parameters that a check
 * declares secret (design 11). Zero is none of them; so is NULL where a set is
 * only asked. */
struct kube_secret {
  char *text;
  size_t len;
};
struct kube_secrets {
  struct kube_secret *list;
  size_t count, cap;
};

/* Adds a value, and what it is in a URL; "" is none. False: no memory. */
bool kube_secrets_add(struct kube_secrets *s, const char *text, size_t len);

/* Does one of them stand anywhere in a text; is the text one of them? */
bool kube_secrets_in(const struct kube_secrets *s, const char *text,
                     size_t len);
bool kube_secrets_are(const struct kube_secrets *s, const char *text,
                      size_t len);

/* Appends a text with `mask` in the place of each. */
void kube_secrets_mask(const struct kube_secrets *s, const char *text,
                       size_t len, const char *mask, struct aicr_buf *out);

/* Wipes and frees them. */
void kube_secrets_free(struct kube_secrets *s);

#endif
