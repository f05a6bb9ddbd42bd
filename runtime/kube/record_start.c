/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record_start.h"

#include <poll.h>
#include <string.h>

#include "kube/clock.h"
#include "kube/discovery.h"
#include "kube/json_tree.h"

#define LIMIT_MS 10000
#define TICK_MS  200

struct question {
  struct kube_request rq;
  const char *file; /* where the answer goes, NULL: into the manifest */
  struct kube_transfer *transfer; /* NULL: not, or no longer, in flight */
  struct kube_answer answer;
};

/* A signal waits to be looked at. */
static bool is_interrupted(const struct kube_backend *b)
{
  struct pollfd fd = {.fd = b->wake, .events = POLLIN};
  return b->wake >= 0 && poll(&fd, 1, 0) > 0;
}

static void wait_for(struct kube_backend *b, size_t pending, int64_t limit_ms)
{
  while (pending > 0 && aicr_monotonic_ms() < limit_ms && !is_interrupted(b)) {
    struct kube_answer answer = {0};
    void *owner = NULL;
    if (b->ops->poll(b, TICK_MS, &owner, &answer)) {
      struct question *q = owner;
      q->answer = answer;
      q->transfer = NULL;
      pending--;
    }
  }
}

static void ask(struct kube_backend *b, struct question *all, size_t count)
{
  int64_t limit_ms = aicr_monotonic_ms() + LIMIT_MS;
  size_t pending = 0;
  for (size_t i = 0; i < count; i++) {
    struct aicr_error ignored;
    all[i].rq.verb = KUBE_RAW;
    all[i].rq.text = true;
    all[i].rq.deadline_ms = limit_ms;
    all[i].transfer = b->ops->start(b, &all[i].rq, &all[i], &ignored);
    pending += all[i].transfer != NULL;
  }
  wait_for(b, pending, limit_ms);
  for (size_t i = 0; i < count; i++) {
    if (all[i].transfer != NULL) {
      b->ops->cancel(b, all[i].transfer);
    }
  }
}

/* True when the answer is what was asked for. */
static bool take(struct kube_record *r, const struct question *q)
{
  const struct kube_answer *a = &q->answer;
  struct aicr_error ignored;
  if (a->http != 200 || a->body.len == 0) {
    return false;
  }
  if (q->file == NULL) {
    return kube_record_version(r, a->body.data, a->body.len);
  }
  cJSON *tree = kube_json_tree(a->body.data, a->body.len, &ignored);
  bool good =
      strcmp(kube_json_text(tree, "kind"), "APIGroupDiscoveryList") == 0;
  cJSON_Delete(tree);
  if (good) {
    kube_record_plain(r, q->file, a->body.data, a->body.len);
  }
  return good;
}

static void warn(struct aicr_buf *warnings, const char *path)
{
  static const char text[] =
      "the recording lacks %s, which the server does not give: what was not "
      "asked for will be not-recorded there, not absent\n";
  if (warnings != NULL && warnings->len + sizeof text + 64 < warnings->max) {
    aicr_buf_addf(warnings, text, path);
  }
}

bool kube_record_start(struct kube_client *c, const char *folder,
                       const struct kube_record_facts *facts,
                       struct aicr_buf *warnings, struct aicr_error *err)
{
  struct question all[] = {
      {.rq = {.path = "/version"}},
      {.rq = {.path = "/api", .accept = KUBE_DISCOVERY_ACCEPT},
       .file = "discovery/api.json"},
      {.rq = {.path = "/apis", .accept = KUBE_DISCOVERY_ACCEPT},
       .file = "discovery/apis.json"}};
  size_t count = sizeof all / sizeof all[0];
  struct kube_record *r = kube_record_open(folder, facts, err);
  if (r == NULL) {
    return false;
  }
  ask(kube_client_backend(c), all, count);
  for (size_t i = 0; i < count; i++) {
    if (!take(r, &all[i])) {
      warn(warnings, all[i].rq.path);
    }
    kube_answer_free(&all[i].answer);
  }
  kube_client_record(c, r);
  return true;
}
