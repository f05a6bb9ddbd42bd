/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_POD_H
#define AICR_KUBE_CONFIG_POD_H

#include "kube/config.h"

/* The service account of the pod that this runs in (kubernetes-client.md 1.4).
 */

/* Is there one? If not, *why says why not ("KUBERNETES_SERVICE_HOST is not
 * set"). False with why->failed without memory. */
bool kube_config_pod_is(const struct kube_config_options *o,
                        struct aicr_buf *why);

/* Server, CA and token into *c. */
bool kube_config_pod_load(const struct kube_config_options *o,
                          struct kube_config *c, struct aicr_error *err);

/* The pod's namespace into c->ns: POD_NAMESPACE, the file, "default". */
bool kube_config_pod_namespace(const struct kube_config_options *o,
                               struct kube_config *c, struct aicr_error *err);

/* An environment variable, "" when it is not set. */
const char *kube_config_env(const struct kube_config_options *o,
                            const char *name);

#endif
