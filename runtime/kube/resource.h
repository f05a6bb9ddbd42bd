/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RESOURCE_H
#define AICR_KUBE_RESOURCE_H

#include "core/buffer.h"

/* Which resource a name means. */

#define KUBE_NAME_MAX 253

struct kube_resource {
  char group[KUBE_NAME_MAX + 1]; /* "" is the core group */
  char version[64];
  char plural[64];
  char kind[128];
  bool namespaced;
};

/* Splits "pods", "networks.networking.gke.io" or
 * "networks.v1.networking.gke.io" (version only when the second part is v1,
 * v1alpha2, …). INVALID_REQUEST/"bad-request" when it is none of them. */
bool kube_resource_name(const char *text, size_t len, struct kube_resource *out,
                        struct aicr_error *err);

/* The built-in kinds (core, apps, batch, rbac, storage, … and the custom ones
 * that our checks read): looked up by plural, singular or short name in a
 * group (NULL: any, core first, a plural before other names), or by group and
 * kind (an entry of another version is better than none). NULL: unknown. */
const struct kube_resource *kube_builtin_by_name(const char *group,
                                                 const char *name);
const struct kube_resource *
kube_builtin_by_kind(const char *group, const char *version, const char *kind);

/* Appends the request path /api/v1/… or /apis/G/V/…. Refuses what must never
 * be sent: an empty segment, ".", "..", '/', '%', control characters, a
 * namespace for a cluster-scoped resource, none for a namespaced get
 * (INVALID_REQUEST/"bad-request"). `ns`, `name`, `subresource` may be NULL. */
bool kube_resource_path(const struct kube_resource *r, const char *ns,
                        const char *name, const char *subresource,
                        struct aicr_buf *out, struct aicr_error *err);

#endif
