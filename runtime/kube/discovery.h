/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_DISCOVERY_H
#define AICR_KUBE_DISCOVERY_H

#include <cjson/cJSON.h>

#include "kube/backend.h"

/* What a server says it serves: kubernetes-client.md 2.1, 2.2. */

#define KUBE_DISCOVERY_V2(version)                                             \
  "application/json;g=apidiscovery.k8s.io;v=" version                          \
  ";as=APIGroupDiscoveryList"

/* The Accept of a request for all that is served: one document where the server
 * can. */
#define KUBE_DISCOVERY_ACCEPT                                                  \
  KUBE_DISCOVERY_V2("v2")                                                      \
  "," KUBE_DISCOVERY_V2("v2beta1") ",application/json"

struct kube_served_resource {
  struct kube_resource r;
  char names[256]; /* singular and short names, with spaces between */
};

enum kube_group_state {
  KUBE_GROUP_READ,   /* its resources are here */
  KUBE_GROUP_UNREAD, /* a legacy answer named it: its resources are to come */
  KUBE_GROUP_STALE   /* its server is down: nothing is known of it */
};

struct kube_group_version {
  char group[KUBE_NAME_MAX + 1], version[64];
  enum kube_group_state state;
};

struct kube_discovery {
  struct kube_served_resource *items;
  size_t count, cap;
  struct kube_group_version *versions; /* a group's preferred one first */
  size_t version_count, version_cap;
};

void kube_discovery_free(struct kube_discovery *d);

/* Adds a document: an APIGroupDiscoveryList (v2, v2beta1), or the legacy
 * APIVersions, APIGroupList and APIResourceList. False: INTERNAL/
 * "discovery-incomplete" when it is none of these, "memory". */
bool kube_discovery_add(struct kube_discovery *d, const char *text, size_t len,
                        struct aicr_error *err);

/* Adds the groups of an APIGroupDiscoveryList's tree. */
bool kube_discovery_add_groups(struct kube_discovery *d, const cJSON *list,
                               struct aicr_error *err);

/* Adds the versions that a CustomResourceDefinition serves and that are not
 * known yet. */
bool kube_discovery_add_definition(struct kube_discovery *d,
                                   const cJSON *definition,
                                   struct aicr_error *err);

/* The resource of that plural; version NULL: the first. NULL without one. */
const struct kube_served_resource *
kube_discovery_find(const struct kube_discovery *d, const char *group,
                    const char *version, const char *plural);

/* Is that its plural, its singular or a short name? */
bool kube_served_means(const struct kube_served_resource *s, const char *name);

/* Is something of the group (NULL: of any) in that version ("": in any) not
 * known? */
bool kube_discovery_is_dark(const struct kube_discovery *d, const char *group,
                            const char *version);

/* Is it of a group and version that every API server serves? */
bool kube_always_served(const struct kube_resource *r);

/* The next legacy group version whose resources are to be asked for; NULL when
 * there is none. */
struct kube_group_version *
kube_discovery_unread(const struct kube_discovery *d);

/* Finds what a name means: fills *r. False: NOT_FOUND/"api-not-served" (a
 * verdict), INTERNAL/"discovery-incomplete", INVALID_REQUEST/"ambiguous". */
bool kube_discovery_resolve(const struct kube_discovery *d,
                            struct kube_resource *r, struct aicr_error *err);

/* Makes *path the one that lists the resource's group version. */
bool kube_discovery_path(const struct kube_resource *r, struct aicr_buf *path);

/* Does that path's answer list the resource, and not this subresource of it? */
bool kube_discovery_lacks(const struct kube_resource *r,
                          const char *subresource,
                          const struct kube_answer *answer);

/* What the answer to that path says of the resource. A 404 that is not in the
 * API server's own words, or is of what every API server has, says nothing. */
enum kube_served kube_discovery_served(const struct kube_resource *r,
                                       const struct kube_answer *answer);

#endif
