/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_SOURCES_H
#define AICR_KUBE_CONFIG_SOURCES_H

#include "kube/config.h"
#include "kube/config_file.h"

/* Which kubeconfig files there are, and what they say together: the first
 * definition of a name wins whole (kubernetes-client.md 1.1, 1.2). */

#define KUBE_CONFIG_FILES_MAX 64

struct kube_config_sources {
  struct kube_config_file *files; /* those that exist */
  size_t count;
  struct aicr_buf looked; /* for a message: what was looked at, and found */
  bool cut;               /* not all of it */
};

/* --kubeconfig, or KUBECONFIG, or ~/.kube/config. A file of a list that does
 * not exist is noted; one that cannot be read or understood is an error. */
bool kube_config_sources_open(struct kube_config_sources *s,
                              const struct kube_config_options *o,
                              struct aicr_buf *warnings,
                              struct aicr_error *err);
void kube_config_sources_close(struct kube_config_sources *s);

/* No cluster with a server, no context, no current-context. */
bool kube_config_sources_empty(const struct kube_config_sources *s);

bool kube_config_sources_find(const struct kube_config_sources *s,
                              enum kube_config_list list, const char *name,
                              struct kube_config_entry *out);

/* The first current-context that is not empty, or "". */
const char *kube_config_sources_current(const struct kube_config_sources *s);

/* Appends the names of contexts in quotes, 20 at most. */
void kube_config_sources_contexts(const struct kube_config_sources *s,
                                  struct aicr_buf *out);

/* The files' paths with ':' between them. */
bool kube_config_sources_name(const struct kube_config_sources *s, char **out,
                              struct aicr_error *err);

#endif
