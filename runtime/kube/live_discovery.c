/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "kube/live_internal.h"
#include "kube/status.h"

/* That discovery failed, which is no verdict, is believed for so long. */
#define FRESH_MS 1000

/* What every server serves: no discovery needed. */
static const struct kube_resource *always_served(const struct kube_resource *r)
{
  bool bare = r->group[0] == '\0' && r->version[0] == '\0';
  const struct kube_resource *b =
      r->plural[0] == '\0'
          ? kube_builtin_by_kind(r->group, r->version, r->kind)
          : kube_builtin_by_name(bare ? NULL : r->group, r->plural);
  bool other =
      b != NULL && r->version[0] != '\0' && strcmp(r->version, b->version) != 0;
  return b != NULL && !other && kube_always_served(b) ? b : NULL;
}

static bool ask(struct kube_live *l, const char *path, struct aicr_error *err)
{
  if (kube_live_ask(l, path, KUBE_DISCOVERY_ACCEPT, err) == NULL) {
    return false;
  }
  l->discovery_asked++;
  return true;
}

static bool begin(struct kube_live *l, struct aicr_error *err)
{
  kube_discovery_free(&l->discovery);
  l->discovery_error.code = AICR_CODE_NONE;
  l->discovered = DISCOVERY_ASKED;
  l->discovery_round++;
  if (ask(l, "/api", err) && ask(l, "/apis", err)) {
    return true;
  }
  l->discovered = DISCOVERY_DONE;
  l->discovery_error = *err;
  return false;
}

/* What may be asked for without discovery when that is forbidden. */
static bool known_anyway(const struct kube_live *l, struct kube_resource *r)
{
  const struct kube_resource *b =
      r->plural[0] == '\0' ? kube_builtin_by_kind(r->group, r->version, r->kind)
                           : kube_builtin_by_name(r->group, r->plural);
  if (l->discovery_failure.http != 403 || b == NULL || r->group[0] == '\0' ||
      (r->version[0] != '\0' && strcmp(r->version, b->version) != 0)) {
    return false;
  }
  *r = *b;
  return true;
}

enum kube_resolved kube_live_resolve(struct kube_backend *backend,
                                     struct kube_resource *r,
                                     struct kube_resolving *how,
                                     struct kube_failure *failure,
                                     struct aicr_error *err)
{
  struct kube_live *l = (struct kube_live *)(void *)backend;
  const struct kube_resource *b = always_served(r);
  bool old = aicr_monotonic_ms() - l->discovered_ms > FRESH_MS;
  if (b != NULL) {
    *r = *b;
    return KUBE_RESOLVED;
  }
  if (how->after == 0) {
    how->after = l->discovery_round + 1;
  }
  /* What has come just now is missing in an answer from before. */
  bool asked = l->discovery_round >= how->after;
  if (l->discovered == DISCOVERY_DONE && l->discovery_error.code == 0) {
    if ((asked || !how->anew) &&
        kube_discovery_resolve(&l->discovery, r, err)) {
      return KUBE_RESOLVED;
    }
    if (asked) {
      return KUBE_RESOLVE_FAILED;
    }
  } else if (l->discovered == DISCOVERY_DONE && (asked || !old)) {
    if (known_anyway(l, r)) {
      return KUBE_RESOLVED;
    }
    failure->http = l->discovery_failure.http;
    failure->transport = l->discovery_failure.transport;
    failure->attempts = l->discovery_failure.attempts;
    *err = l->discovery_error;
    return KUBE_RESOLVE_FAILED;
  }
  return l->discovered == DISCOVERY_ASKED || begin(l, err)
             ? KUBE_RESOLVE_WAIT
             : KUBE_RESOLVE_FAILED;
}

/* The reasons stay what they are, but nothing that is said of discovery itself
 * is a verdict on what was looked for: that it was not there (404) least of
 * all, for then no API server has answered. */
static void note_failure(struct kube_live *l, const struct kube_transfer *t)
{
  struct kube_failure *f = &l->discovery_failure;
  struct aicr_error *err = &l->discovery_error;
  *f = (struct kube_failure){.verb = "get"};
  snprintf(f->resource, sizeof f->resource, "%.250s", t->path);
  kube_status_error(&t->rq, &t->answer, KUBE_SERVED_UNKNOWN, err, f);
  if (f->http == 404) {
    f->http = 0;
  }
  if (err->verdict) {
    err->verdict = false;
    err->code = AICR_INTERNAL;
    snprintf(err->reason, sizeof err->reason, "discovery-incomplete");
  }
}

static bool is_root(const struct kube_transfer *t)
{
  return strcmp(t->path, "/api") == 0 || strcmp(t->path, "/apis") == 0;
}

void kube_live_discovered(struct kube_live *l, struct kube_transfer *t)
{
  const struct kube_answer *a = &t->answer;
  struct kube_group_version *next = NULL;
  struct aicr_error bad = {.code = AICR_CODE_NONE};
  bool ok = a->http == 200 && a->body.data != NULL;
  l->discovery_asked--;
  if (ok &&
      !kube_discovery_add(&l->discovery, a->body.data, a->body.len, &bad) &&
      (is_root(t) || strcmp(bad.reason, "memory") == 0)) {
    l->discovery_error = bad;
  } else if (!ok && (is_root(t) || a->error.code != AICR_CODE_NONE)) {
    note_failure(l, t);
  }
  if (l->discovery_asked > 0) {
    return;
  }
  if (l->discovery_error.code == AICR_CODE_NONE) {
    next = kube_discovery_unread(&l->discovery);
  }
  if (next != NULL) {
    struct kube_resource r = {.plural = ""};
    struct aicr_buf path;
    snprintf(r.group, sizeof r.group, "%s", next->group);
    snprintf(r.version, sizeof r.version, "%s", next->version);
    next->state = KUBE_GROUP_STALE; /* until its resources are here */
    aicr_buf_init(&path, sizeof t->path);
    bool asked = kube_discovery_path(&r, &path) && ask(l, path.data, &bad);
    aicr_buf_free(&path);
    if (asked) {
      return;
    }
    if (bad.code == AICR_CODE_NONE) {
      aicr_fail(&bad, AICR_INTERNAL, "memory", "no memory for discovery");
    }
    l->discovery_error = bad;
  }
  l->discovered = DISCOVERY_DONE;
  l->discovered_ms = aicr_monotonic_ms();
}
