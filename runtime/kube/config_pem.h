/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_PEM_H
#define AICR_KUBE_CONFIG_PEM_H

#include <stdbool.h>
#include <stddef.h>

/* Is this PEM of the sort that is wanted? The blocks' outlines only: what they
 * say is for the TLS library. */

enum kube_pem { KUBE_PEM_CERTIFICATE, KUBE_PEM_KEY };

/* NULL when it is, else why not ("holds no certificate"). A key under a
 * passphrase is refused: the TLS library would ask for it at the terminal. */
const char *kube_config_pem_problem(enum kube_pem kind, const char *data,
                                    size_t len);

#endif
