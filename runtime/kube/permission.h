/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_PERMISSION_H
#define AICR_KUBE_PERMISSION_H

#include "kube/resource.h"

/* A check's `needs` (design 6), enforced before a request is sent.
 *   verb[,verb] resource[.group][/subresource] [in NS | in run | anywhere]
 *   [if served]
 * Default scope: anywhere for get, list, watch; the run's namespace for
 * writes. find counts as get, each as list, wait as get+list+watch, apply as
 * patch+create, logs as get pods/log, exec as get,create pods/exec. That
 * what was created may be deleted is up to who knows what was created.
 * "if served" changes nothing of that: it says that some clusters need not
 * serve the resource.
 * `get /path` is for get_raw. */

struct kube_permissions;

/* INVALID_REQUEST/"bad-need"; the message quotes the line and says what is
 * wrong with it. */
struct kube_permissions *kube_permissions_parse(const char *const *lines,
                                                size_t count,
                                                struct aicr_error *err);
void kube_permissions_free(struct kube_permissions *p);

/* verb: "get", "list", … ; r->group, r->plural are looked at. False:
 * INVALID_REQUEST/"undeclared-permission" (no verdict); the message gives the
 * line to add to `needs`. */
bool kube_permissions_allow(const struct kube_permissions *p, const char *verb,
                            const struct kube_resource *r,
                            const char *subresource, const char *ns,
                            const char *run_namespace, struct aicr_error *err);

/* The same for get_raw. NULL permissions allow any path that can be sent. A
 * path has only what URLs have in paths, begins with '/', holds no "//", no
 * segment "." or ".." and is none of the API's (INVALID_REQUEST/"bad-request").
 */
bool kube_permissions_allow_path(const struct kube_permissions *p,
                                 const char *path, struct aicr_error *err);

enum kube_need_scope { KUBE_NEED_ANYWHERE, KUBE_NEED_RUN, KUBE_NEED_NAMESPACE };

/* One verb that the server will be asked for. */
struct kube_need {
  const char *verb;                         /* as RBAC spells it */
  const char *group, *plural, *subresource; /* "" where there is none */
  enum kube_need_scope scope;
  const char *ns;   /* of KUBE_NEED_NAMESPACE, else "" */
  const char *path; /* of get_raw, else NULL; then all above but verb is "" */
  bool if_served;   /* a cluster that does not serve it lacks nothing */
};

/* Tells fn each verb that the client sends where a check does what its needs
 * allow, in no order, some twice. That is more than the check may ask for by
 * itself: what was made is read again and removed, apply looks first, delete
 * looks whether the object is gone. */
void kube_permissions_each(const struct kube_permissions *p,
                           void (*fn)(void *ud, const struct kube_need *need),
                           void *ud);

#endif
