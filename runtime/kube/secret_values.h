/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_SECRET_VALUES_H
#define AICR_KUBE_SECRET_VALUES_H

#include <stdbool.h>
#include <stddef.h>

/* Gives what must not be shown of a Secret, or of a watch event about one: each
 * value of `data`, as it stands and decoded, and of `stringData`. False when
 * the text could not be read whole, or `take` said so. */
bool kube_secret_values(const char *text, size_t len,
                        bool (*take)(void *owner, const char *value,
                                     size_t len),
                        void *owner);

#endif
