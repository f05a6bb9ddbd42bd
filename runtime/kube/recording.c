/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "kube/recording_answer.h"
#include "kube/recording_load.h"
#include "kube/recording_resolve.h"
#include "kube/recording_run.h"

/* Answers are made when a request starts and wait until they are polled, so
 * that the order is that of the requests. */
struct kube_transfer {
  struct kube_transfer *next;
  void *owner;
  struct kube_answer answer;
};

struct recording {
  struct kube_backend base;
  struct kube_rec_store store;
  struct kube_transfer *first, **end;
};

static struct recording *of(struct kube_backend *b)
{
  return (struct recording *)(void *)b;
}

static struct kube_transfer *start(struct kube_backend *b,
                                   const struct kube_request *rq, void *owner,
                                   struct aicr_error *err)
{
  struct recording *r = of(b);
  struct kube_transfer *t = aicr_calloc(1, sizeof *t);
  if (t == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a cluster request");
    return NULL;
  }
  t->owner = owner;
  kube_rec_answer(&r->store, rq, &t->answer);
  *r->end = t;
  r->end = &t->next;
  return t;
}

static void unlink_transfer(struct recording *r, struct kube_transfer *t)
{
  struct kube_transfer **p = &r->first;
  while (*p != t) {
    p = &(*p)->next;
  }
  *p = t->next;
  if (*p == NULL) {
    r->end = p;
  }
}

static void cancel(struct kube_backend *b, struct kube_transfer *t)
{
  unlink_transfer(of(b), t);
  kube_answer_free(&t->answer);
  aicr_free(t);
}

/* What was given up waiting for comes after all that was answered. */
static struct kube_transfer *next_answer(const struct recording *r)
{
  struct kube_transfer *t = r->first;
  while (t != NULL && (t->answer.transport == KUBE_TRANSPORT_CANCELED ||
                       t->answer.transport == KUBE_TRANSPORT_DEADLINE)) {
    t = t->next;
  }
  return t == NULL ? r->first : t;
}

static bool poll_answer(struct kube_backend *b, int timeout_ms, void **owner,
                        struct kube_answer *answer)
{
  struct recording *r = of(b);
  struct kube_transfer *t = next_answer(r);
  (void)timeout_ms; /* what is not here now will not come */
  if (t == NULL) {
    return false;
  }
  unlink_transfer(r, t);
  *owner = t->owner;
  *answer = t->answer;
  aicr_free(t);
  return true;
}

static enum kube_resolved resolve(struct kube_backend *b,
                                  struct kube_resource *r,
                                  struct kube_resolving *how,
                                  struct kube_failure *failure,
                                  struct aicr_error *err)
{
  struct kube_rec_store *s = &of(b)->store;
  if (kube_rec_unresolved(s, how->asker, how->named, failure, err)) {
    return KUBE_RESOLVE_FAILED;
  }
  if (r->plural[0] == '\0') {
    /* an object is only named to write it, which is refused later */
    const struct kube_resource *known =
        kube_builtin_by_kind(r->group, r->version, r->kind);
    if (known == NULL) {
      aicr_fail(err, AICR_METHOD_NOT_ALLOWED, "read-only",
                "a recording cannot be changed: %.127s", r->kind);
      return KUBE_RESOLVE_FAILED;
    }
    *r = *known;
    return KUBE_RESOLVED;
  }
  if (kube_rec_resolve(s, r, err)) {
    return KUBE_RESOLVED;
  }
  if (kube_rec_is_over(s, how->asker)) {
    kube_rec_end_error(err);
  }
  return KUBE_RESOLVE_FAILED;
}

static enum kube_served served(struct kube_backend *b,
                               const struct kube_resource *r)
{
  return kube_rec_served(&of(b)->store, r);
}

static const char *server_version(struct kube_backend *b)
{
  const char *text = of(b)->store.server_version;
  return text[0] == '\0' ? NULL : text;
}

static const char *context(struct kube_backend *b)
{
  const char *text = of(b)->store.context;
  return text[0] == '\0' ? NULL : text;
}

static int64_t captured(struct kube_backend *b)
{
  return of(b)->store.captured;
}

static void close_recording(struct kube_backend *b)
{
  struct recording *r = of(b);
  while (r->first != NULL) {
    cancel(b, r->first);
  }
  kube_rec_store_free(&r->store);
  aicr_free(r);
}

enum kube_wait_end kube_recording_wait(struct kube_backend *b,
                                       const struct kube_asker *asker,
                                       const char *what, unsigned *looks)
{
  return kube_rec_wait(&of(b)->store, asker, what, looks);
}

enum kube_transport kube_recording_end(struct kube_backend *b,
                                       const struct kube_asker *asker)
{
  return kube_rec_run_end(&of(b)->store, asker);
}

struct kube_backend *kube_recording_open(const char *path,
                                         struct aicr_buf *warnings,
                                         struct aicr_error *err)
{
  static const struct kube_backend_ops ops = {
      .start = start,
      .cancel = cancel,
      .poll = poll_answer,
      .resolve = resolve,
      .served = served,
      .server_version = server_version,
      .context = context,
      .time = captured,
      .close = close_recording,
  };
  struct recording *r = aicr_calloc(1, sizeof *r);
  if (r == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
    return NULL;
  }
  r->base.ops = &ops;
  r->base.wake = -1;
  r->end = &r->first;
  if (!kube_rec_load(&r->store, path, warnings, err)) {
    close_recording(&r->base);
    return NULL;
  }
  return &r->base;
}
