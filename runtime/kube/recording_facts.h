/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_FACTS_H
#define AICR_KUBE_RECORDING_FACTS_H

#include "core/json_reader.h"
#include "kube/resource.h"

/* What the reader finds at an object's top and in its metadata. */
struct kube_rec_facts {
  char api_version[320], kind[128];
  char name[KUBE_NAME_MAX + 1], ns[64], uid[64], rv[64];
  bool has_items; /* "items" is an array or null: a list */
};

enum kube_rec_member {
  REC_OTHER,
  REC_API_VERSION,
  REC_KIND,
  REC_METADATA,
  REC_ITEMS,
  REC_NAME,
  REC_NAMESPACE,
  REC_UID,
  REC_RESOURCE_VERSION,
  REC_CONTINUE,
  REC_REMAINING
};

/* The members of an object and of its metadata whose values come next. */
struct kube_rec_fact_state {
  enum kube_rec_member top, inner;
};

/* Takes what a token says of an object; `depth`: containers that are open
 * after it, the object counted as the first. Tokens deeper than 2 may be left
 * out. False when a text is too long or holds a NUL. */
bool kube_rec_facts_take(struct kube_rec_facts *f,
                         struct kube_rec_fact_state *at,
                         enum aicr_json_token token,
                         const struct aicr_json_reader *r, unsigned depth,
                         struct aicr_error *err);

/* Reads an object's identity; checks the whole text. */
bool kube_rec_read_facts(const char *text, size_t len,
                         struct kube_rec_facts *out, struct aicr_error *err);

#endif
