/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/retry.h"

#include <string.h>

#include "kube/json_tree.h"
#include "kube/status.h"

#define RETRY_AFTER_MAX_MS 30000
#define BACKOFF_MAX_MS     8000
#define STATUS_MAX         (64u << 10)

static bool is_read(const struct kube_request *rq)
{
  return rq->verb == KUBE_GET || rq->verb == KUBE_LIST || rq->verb == KUBE_RAW;
}

/* 0.25 · 2^n seconds with full jitter. */
static int64_t backoff(const struct kube_try *t)
{
  int64_t most = t->backoff_ms;
  for (unsigned i = 1; i < t->attempts && most < BACKOFF_MAX_MS; i++) {
    most *= 2;
  }
  return most == 0 ? 0 : 1 + (int64_t)t->random % most;
}

static int64_t asked(const struct kube_try *t)
{
  return t->retry_after_ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS
                                                : t->retry_after_ms;
}

static bool transport_may_heal(enum kube_transport t)
{
  switch (t) {
  case KUBE_TRANSPORT_OK:
  case KUBE_TRANSPORT_DEADLINE:
  case KUBE_TRANSPORT_CANCELED:
  case KUBE_TRANSPORT_TLS:
    return false;
  default:
    return true;
  }
}

static bool http_may_heal(int http)
{
  return http == 500 || http == 502 || http == 503 || http == 504;
}

/* A budget that blocks an eviction says 429 too, and no time will help. */
static bool is_blocked(const struct kube_answer *answer)
{
  return answer->body.data != NULL &&
         strstr(answer->body.data, "DisruptionBudget") != NULL;
}

int64_t kube_retry_delay(const struct kube_request *rq,
                         const struct kube_answer *answer,
                         const struct kube_try *t)
{
  bool read = is_read(rq), told = t->retry_after_ms >= 0;
  if (t->attempts >= KUBE_ATTEMPTS_MAX ||
      answer->error.code != AICR_CODE_NONE) {
    return -1;
  }
  if (answer->http == 0) {
    bool again = transport_may_heal(answer->transport) &&
                 answer->reason == NULL && (read || t->unsent);
    return again ? backoff(t) : -1;
  }
  if (answer->http == 429) {
    return told ? asked(t) : is_blocked(answer) ? -1 : backoff(t);
  }
  if (!http_may_heal(answer->http) && !kube_status_no_log(rq, answer)) {
    return -1;
  }
  if (read) {
    return told ? asked(t) : backoff(t);
  }
  return answer->http == 503 && told ? asked(t) : -1;
}

int64_t kube_retry_after(const struct kube_answer *answer)
{
  struct aicr_error ignored;
  if (answer->http < 400 || answer->body.data == NULL ||
      answer->body.len > STATUS_MAX) {
    return -1;
  }
  cJSON *tree = kube_json_tree(answer->body.data, answer->body.len, &ignored);
  const cJSON *seconds =
      kube_json_member(kube_json_member(tree, "details"), "retryAfterSeconds");
  int64_t ms = -1;
  if (cJSON_IsNumber(seconds) && seconds->valuedouble >= 0) {
    ms = seconds->valuedouble > RETRY_AFTER_MAX_MS / 1e3
             ? RETRY_AFTER_MAX_MS
             : (int64_t)(seconds->valuedouble * 1000);
  }
  cJSON_Delete(tree);
  return ms;
}
