/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_GIVE_H
#define AICR_KUBE_RECORDING_GIVE_H

#include "kube/recording_store.h"

/* The answers that a recording makes. Without memory, or when a file was
 * changed, each of these becomes an error of the answer. */

void kube_rec_give_body(struct kube_answer *a, int http, const char *type,
                        const char *body, size_t len);
void kube_rec_give_no_memory(struct kube_answer *a);

/* INTERNAL/"not-recorded", which names the request and how to add it. */
void kube_rec_give_not_recorded(struct kube_answer *a,
                                const struct kube_request *rq, const char *why);

/* The same in a recording of --record, where only another run of the check adds
 * an answer. */
void kube_rec_give_not_indexed(struct kube_answer *a,
                               const struct kube_request *rq, const char *why);

/* The same where others were answered, and not always alike. */
void kube_rec_give_undecided(struct kube_answer *a,
                             const struct kube_request *rq);

/* The 404 of an object that is not there. */
void kube_rec_give_absent(struct kube_answer *a, const struct kube_request *rq);

/* An object as a get gives it. */
void kube_rec_give_object(struct kube_answer *a, const struct kube_rec_store *s,
                          const struct kube_resource *r,
                          const struct kube_rec_object *o);

/* A text that lies in a file, cut as the request for a log says (query NULL: it
 * is none). */
struct kube_log_query;
void kube_rec_give_blob(struct kube_answer *a, const struct kube_rec_store *s,
                        const struct kube_rec_blob *blob, const char *type,
                        const struct kube_log_query *q);

/* A page of a list: of these objects, those that the request selects. */
struct kube_rec_list_answer {
  const struct kube_resource *r;
  const struct kube_rec_set *set;
  const char *resource_version; /* "": "1" */
  size_t serial;                /* which of several answers it is */
  bool partial;                 /* nobody knows how it goes on */
  bool as_recorded;             /* the selectors are those of the recording */
};
void kube_rec_give_page(struct kube_answer *a, const struct kube_rec_store *s,
                        const struct kube_request *rq,
                        const struct kube_rec_list_answer *l);

/* Takes apart a continue token of ours: "rec.SERIAL.AT". */
bool kube_rec_read_token(const char *token, size_t *serial, size_t *at);

#endif
