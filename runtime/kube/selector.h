/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_SELECTOR_H
#define AICR_KUBE_SELECTOR_H

#include <cjson/cJSON.h>

#include "core/error.h"
#include "kube/resource.h"

/* Label and field selectors evaluated on an object, for recordings:
 * kubernetes-client.md 6.1. Labels: = == != in notin key !key, joined by ',';
 * != and notin match objects that lack the key. Fields: metadata.name and
 * metadata.namespace of all resources; of pods spec.nodeName, status.phase; of
 * namespaces status.phase; of secrets type; of events type, reason,
 * involvedObject.*; with = == !=. Anything else is an error as the server's
 * (INVALID_REQUEST/"bad-request"). */

struct kube_selector;
struct kube_selector *kube_label_selector(const char *text,
                                          struct aicr_error *err);
struct kube_selector *kube_field_selector(const char *text,
                                          const struct kube_resource *r,
                                          struct aicr_error *err);
bool kube_selector_matches(const struct kube_selector *s, const cJSON *object);
void kube_selector_free(struct kube_selector *s);

#endif
