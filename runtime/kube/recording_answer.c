/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_answer.h"

#include <stdio.h>
#include <string.h>

#include "kube/recording_give.h"
#include "kube/recording_log.h"
#include "kube/recording_replay.h"

static bool has_ns(const struct kube_rec_type *t, const char *ns)
{
  for (size_t i = 0; i < t->complete_ns_count; i++) {
    if (strcmp(t->complete_ns[i], ns) == 0) {
      return true;
    }
  }
  return false;
}

static const struct kube_rec_failure *failure_of(const struct kube_rec_type *t,
                                                 const char *ns)
{
  const struct kube_rec_failure *found = NULL;
  for (size_t i = 0; i < t->failure_count; i++) {
    const struct kube_rec_failure *f = &t->failures[i];
    bool same =
        ns == NULL ? f->ns == NULL : f->ns != NULL && strcmp(f->ns, ns) == 0;
    found = same ? f : found;
  }
  return found;
}

static void give_failure(struct kube_answer *a,
                         const struct kube_rec_failure *f)
{
  kube_rec_give_body(a, f->http, f->content_type, f->body, f->len);
}

/* Without an index: what is nearest to the request decides, errors first. True
 * when an error is the answer, or nothing is. */
static bool folder_refuses(const struct kube_rec_type *t,
                           const struct kube_request *rq, struct kube_answer *a)
{
  const struct kube_rec_failure *f =
      rq->ns == NULL ? NULL : failure_of(t, rq->ns);
  if (f != NULL) {
    give_failure(a, f);
    return true;
  }
  f = failure_of(t, NULL);
  if (f != NULL && (rq->ns == NULL || !has_ns(t, rq->ns))) {
    give_failure(a, f);
    return true;
  }
  if (rq->verb == KUBE_LIST && rq->ns == NULL && t->failure_count > 0) {
    char why[160];
    snprintf(why, sizeof why, "namespace %s could not be read (%s)",
             t->failures[0].ns, "see errors/");
    kube_rec_give_not_recorded(a, rq, why);
    return true;
  }
  return false;
}

static void answer_log(struct kube_rec_store *s, const struct kube_request *rq,
                       struct kube_answer *a)
{
  struct kube_log_query q;
  kube_log_query_read(rq->query, &q);
  const struct kube_rec_log *log =
      q.more ? NULL : kube_rec_find_log(s, rq->ns, rq->name, &q);
  if (log != NULL) {
    kube_rec_give_blob(a, s, &log->blob, "text/plain", &q);
  } else {
    kube_rec_give_not_recorded(a, rq,
                               q.more ? "only whole logs were recorded"
                                      : "this log was not recorded");
  }
}

static void answer_folder(struct kube_rec_store *s,
                          const struct kube_request *rq, struct kube_answer *a)
{
  const struct kube_resource *r = &rq->resource;
  const struct kube_rec_type *t =
      kube_rec_store_find(s, r->group, r->version, r->plural);
  if (kube_rec_is_log(rq)) {
    answer_log(s, rq, a);
    return;
  }
  if (t == NULL || rq->subresource != NULL) {
    kube_rec_give_not_recorded(a, rq, "nothing of it was recorded");
    return;
  }
  if (folder_refuses(t, rq, a)) {
    return;
  }
  bool complete = t->complete || (rq->ns != NULL && has_ns(t, rq->ns));
  if (rq->verb == KUBE_GET) {
    const struct kube_rec_object *o =
        kube_rec_set_find(&t->set, rq->ns == NULL ? "" : rq->ns, rq->name);
    if (o != NULL) {
      kube_rec_give_object(a, s, &t->r, o);
    } else if (complete) {
      kube_rec_give_absent(a, rq);
    } else {
      kube_rec_give_not_recorded(a, rq,
                                 "neither the object nor a complete list was "
                                 "recorded");
    }
    return;
  }
  if (!complete) {
    kube_rec_give_not_recorded(a, rq,
                               t->complete_ns_count > 0
                                   ? "only some namespaces were recorded"
                                   : "no complete list was recorded");
    return;
  }
  const struct kube_rec_list_answer l = {
      .r = &t->r, .set = &t->set, .resource_version = ""};
  kube_rec_give_page(a, s, rq, &l);
}

static bool is_review(const struct kube_request *rq)
{
  return rq->verb == KUBE_CREATE &&
         strcmp(rq->resource.group, "authorization.k8s.io") == 0 &&
         strcmp(rq->resource.plural, "selfsubjectaccessreviews") == 0;
}

static bool is_read(const struct kube_request *rq)
{
  return rq->verb == KUBE_GET || rq->verb == KUBE_LIST ||
         rq->verb == KUBE_WATCH || rq->verb == KUBE_RAW;
}

void kube_rec_answer(struct kube_rec_store *s, const struct kube_request *rq,
                     struct kube_answer *a)
{
  a->attempts = 1;
  if (is_review(rq)) {
    kube_rec_replay_review(s, rq, a);
  } else if (!is_read(rq)) {
    a->attempts = 0; /* nothing can have come of it */
    aicr_fail(&a->error, AICR_METHOD_NOT_ALLOWED, "read-only",
              "a recording cannot be changed: %s %s", kube_verb_name(rq->verb),
              rq->resource.plural);
  } else if (s->indexed) {
    kube_rec_replay(s, rq, a);
  } else if (rq->verb == KUBE_GET || rq->verb == KUBE_LIST) {
    answer_folder(s, rq, a);
  } else {
    kube_rec_give_not_recorded(a, rq, "the recording has no index.jsonl");
  }
}
