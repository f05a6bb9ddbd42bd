/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_KUBE_FAKE_H
#define SPEC_C_KUBE_FAKE_H

#include "kube/backend.h"

/* A backend that gives prepared answers in order and writes down what it was
 * asked. */

#define FAKE_UNSENT (-1) /* not sent: UNAUTHORIZED, for the reason `type` */
struct fake_answer {
  int http;
  const char *type, *body;
  enum kube_transport transport;
  bool refuse; /* start() itself fails */
};

struct kube_transfer {
  void *owner;
  const struct fake_answer *answer;
  struct kube_transfer *next;
};

struct fake {
  struct kube_backend base;
  const struct fake_answer *answers;
  const struct aicr_buf *packed[4]; /* the body of answer i, packed, or NULL */
  size_t used;
  enum kube_served served;
  const char *unresolved; /* reason with which resolve() fails */
  int unresolved_http;    /* … and what discovery was answered */
  bool waits;             /* discovery is on its way */
  struct kube_transfer *first;
  unsigned canceled, closed;
  struct aicr_buf log;
};

static struct kube_transfer *fake_start(struct kube_backend *b,
                                        const struct kube_request *rq,
                                        void *owner, struct aicr_error *err)
{
  struct fake *f = (struct fake *)(void *)b;
  const struct fake_answer *a = &f->answers[f->used];
  if (f->log.max > 0) {
    aicr_buf_addf(
        &f->log, "%s %s%s%s%s%s%s%s limit=%u\n", kube_verb_name(rq->verb),
        rq->path,
        rq->label == NULL ? "" : " label=", rq->label == NULL ? "" : rq->label,
        rq->field == NULL ? "" : " field=", rq->field == NULL ? "" : rq->field,
        rq->page == NULL ? "" : " page=", rq->page == NULL ? "" : rq->page,
        rq->limit);
  }
  if (a->refuse) {
    aicr_fail(err, AICR_SERVICE_UNAVAILABLE, "connect", "no socket");
    return NULL;
  }
  struct kube_transfer *t = aicr_calloc(1, sizeof *t);
  if (t == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory");
    return NULL;
  }
  f->used++;
  t->owner = owner;
  t->answer = a;
  struct kube_transfer **end = &f->first;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = t;
  return t;
}

static void fake_cancel(struct kube_backend *b, struct kube_transfer *t)
{
  struct fake *f = (struct fake *)(void *)b;
  struct kube_transfer **p = &f->first;
  while (*p != t) {
    assert_non_null(*p);
    p = &(*p)->next;
  }
  *p = t->next;
  aicr_free(t);
  f->canceled++;
}

static bool fake_poll(struct kube_backend *b, int timeout_ms, void **owner,
                      struct kube_answer *answer)
{
  struct fake *f = (struct fake *)(void *)b;
  struct kube_transfer *t = f->first;
  (void)timeout_ms;
  if (t == NULL) {
    return false;
  }
  f->first = t->next;
  *owner = t->owner;
  memset(answer, 0, sizeof *answer);
  answer->http = t->answer->http;
  answer->transport = t->answer->transport;
  answer->attempts = 2;
  snprintf(answer->content_type, sizeof answer->content_type, "%s",
           t->answer->type == NULL ? "" : t->answer->type);
  aicr_buf_init(&answer->body, 1 << 20);
  if (t->answer->http == FAKE_UNSENT) {
    answer->http = 0;
    answer->attempts = 0;
    aicr_fail(&answer->error, AICR_UNAUTHORIZED, t->answer->type,
              "no credential");
  }
  size_t at = (size_t)(t->answer - f->answers);
  const struct aicr_buf *packed =
      at < sizeof f->packed / sizeof f->packed[0] ? f->packed[at] : NULL;
  answer->gzip = packed != NULL;
  if ((t->answer->body != NULL &&
       !aicr_buf_adds(&answer->body, t->answer->body)) ||
      (packed != NULL &&
       !aicr_buf_add(&answer->body, packed->data, packed->len))) {
    answer->http = 0;
    aicr_fail(&answer->error, AICR_INTERNAL, "memory", "no memory");
  }
  aicr_free(t);
  return true;
}

static enum kube_resolved fake_resolve(struct kube_backend *b,
                                       struct kube_resource *r,
                                       struct kube_resolving *how,
                                       struct kube_failure *failure,
                                       struct aicr_error *err)
{
  const struct fake *f = (struct fake *)(void *)b;
  const struct kube_resource *known = kube_builtin_by_name(NULL, r->plural);
  (void)how;
  if (f->waits) {
    return KUBE_RESOLVE_WAIT;
  }
  failure->http = f->unresolved_http;
  if (f->unresolved != NULL && strcmp(f->unresolved, "api-not-served") == 0) {
    aicr_verdict(err, AICR_NOT_FOUND, f->unresolved, "not served");
    return KUBE_RESOLVE_FAILED;
  }
  if (f->unresolved != NULL || known == NULL) {
    aicr_fail(err, AICR_INTERNAL,
              f->unresolved == NULL ? "unknown" : f->unresolved, "cannot tell");
    return KUBE_RESOLVE_FAILED;
  }
  *r = *known;
  return KUBE_RESOLVED;
}

static enum kube_served fake_served(struct kube_backend *b,
                                    const struct kube_resource *r)
{
  (void)r;
  return ((struct fake *)(void *)b)->served;
}

static void fake_close(struct kube_backend *b)
{
  struct fake *f = (struct fake *)(void *)b;
  assert_null(f->first);
  f->closed++;
}

static inline struct kube_backend *fake_init(struct fake *f,
                                             const struct fake_answer *answers)
{
  static const struct kube_backend_ops ops = {.start = fake_start,
                                              .cancel = fake_cancel,
                                              .poll = fake_poll,
                                              .resolve = fake_resolve,
                                              .served = fake_served,
                                              .close = fake_close};
  memset(f, 0, sizeof *f);
  f->base.ops = &ops;
  f->base.wake = -1;
  f->answers = answers;
  return &f->base;
}

#endif
