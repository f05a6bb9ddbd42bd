/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/live.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "kube/live_internal.h"
#include "kube/retry.h"

/* What curl may be late with a deadline. */
#define OVERDUE_MS 500

static struct kube_live *of(struct kube_backend *b)
{
  return (struct kube_live *)(void *)b;
}

static void append(struct kube_live *l, struct kube_transfer *t)
{
  *l->end = t;
  l->end = &t->next;
}

static void unlink_transfer(struct kube_live *l, struct kube_transfer *t)
{
  struct kube_transfer **p = &l->first;
  while (*p != t) {
    p = &(*p)->next;
  }
  *p = t->next;
  if (*p == NULL) {
    l->end = p;
  }
}

/* One that may last has no place among those that are in flight. */
static bool is_long(const struct kube_transfer *t)
{
  return t->rq.stream || t->rq.verb == KUBE_EXEC;
}

/* What lasts keeps a connection of its own, where they are not shared: the
 * others keep theirs. */
void kube_live_set_room(struct kube_live *l)
{
  curl_multi_setopt(l->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                    (long)(LIVE_HOST_MAX + l->execs + l->streams));
}

/* Counts a request that is in flight now, or is no more; a command counts
 * itself. */
static void count_flight(const struct kube_transfer *t, bool begins)
{
  struct kube_live *l = t->live;
  size_t *n = is_long(t) ? &l->streams : &l->in_flight;
  if (t->rq.verb == KUBE_EXEC) {
    return;
  }
  *n = begins ? *n + 1 : *n - 1;
  kube_live_set_room(l);
}

static void free_transfer(struct kube_transfer *t)
{
  if (t->state == LIVE_FLIGHT) {
    count_flight(t, false);
  }
  unlink_transfer(t->live, t);
  kube_live_release(t);
  aicr_buf_free(&t->url);
  kube_answer_free(&t->answer);
  aicr_free(t);
}

static struct kube_transfer *new_transfer(struct kube_live *l,
                                          struct aicr_error *err)
{
  struct kube_transfer *t = aicr_calloc(1, sizeof *t);
  if (t == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a cluster request");
    return NULL;
  }
  t->live = l;
  aicr_buf_init(&t->url, 1u << 20);
  append(l, t);
  return t;
}

struct kube_transfer *kube_live_ask(struct kube_live *l, const char *path,
                                    const char *accept, struct aicr_error *err)
{
  struct kube_transfer *t = new_transfer(l, err);
  if (t != NULL) {
    t->purpose = LIVE_FOR_DISCOVERY;
    snprintf(t->path, sizeof t->path, "%s", path);
    t->rq.verb = KUBE_RAW;
    t->rq.path = t->path;
    t->rq.accept = accept;
  }
  return t;
}

static void cancel(struct kube_backend *b, struct kube_transfer *t)
{
  (void)b;
  free_transfer(t);
}

static void hold(struct kube_backend *b, struct kube_transfer *t, bool held)
{
  (void)b;
  t->held = held;
}

static void done(struct kube_transfer *t)
{
  struct kube_live *l = t->live;
  t->state = LIVE_DONE;
  t->answer.attempts = t->attempts;
  if (t->purpose == LIVE_FOR_DISCOVERY) {
    kube_live_discovered(l, t);
    free_transfer(t);
  }
}

static bool send_request(struct kube_transfer *t, const char *authorization,
                         int64_t now_ms)
{
  return t->rq.verb == KUBE_EXEC ? kube_live_exec_send(t, authorization, now_ms)
                                 : kube_live_send(t, authorization, now_ms);
}

static void begin(struct kube_transfer *t, int64_t now_ms)
{
  struct kube_live *l = t->live;
  const char *authorization = NULL;
  if (t->rq.deadline_ms != 0 && now_ms >= t->rq.deadline_ms) {
    t->answer.transport = KUBE_TRANSPORT_DEADLINE;
    done(t);
    return;
  }
  if (t->rq.verb == KUBE_EXEC
          ? l->execs >= LIVE_EXEC_MAX
          : !is_long(t) && l->in_flight >= LIVE_FLIGHT_MAX) {
    return;
  }
  switch (kube_credential_get(l->credential, now_ms, t->rq.deadline_ms,
                              &authorization, &t->answer.error)) {
  case KUBE_CREDENTIAL_WAIT:
    return;
  case KUBE_CREDENTIAL_READY:
    if (send_request(t, authorization, now_ms)) {
      t->state = LIVE_FLIGHT;
      t->sent_ms = now_ms;
      count_flight(t, true);
      return;
    }
    break;
  default:
    break;
  }
  done(t);
}

/* An answer that is not the last one. */
static void again(struct kube_transfer *t, int64_t due_ms)
{
  t->before = t->answer.http;
  kube_answer_free(&t->answer);
  memset(&t->answer, 0, sizeof t->answer);
  t->due_ms = due_ms;
  t->state = due_ms == 0 ? LIVE_READY : LIVE_SLEEP;
}

static uint32_t random_number(void)
{
  uint32_t value = 0;
  return getrandom(&value, sizeof value, GRND_NONBLOCK) < 0 ? 0 : value;
}

/* An answer: the last one, or is there another attempt? */
static void settle(struct kube_transfer *t, int64_t retry_after_ms,
                   int64_t now_ms)
{
  struct kube_live *l = t->live;
  struct kube_try try = {.random = random_number(),
                         .retry_after_ms = retry_after_ms,
                         .backoff_ms = l->backoff_ms};
  try.unsent = kube_live_unsent(t);
  try.attempts = t->attempts;
  kube_live_trace(t, now_ms);
  kube_live_release(t);
  count_flight(t, false);
  t->state = LIVE_DONE;
  if (t->streamed) {
    done(t);
    return;
  }
  if (t->answer.http == 401 && !t->reauthenticated &&
      kube_credential_refused(l->credential)) {
    t->reauthenticated = true;
    again(t, 0);
    return;
  }
  int64_t delay = kube_retry_delay(&t->rq, &t->answer, &try);
  bool fits = t->rq.deadline_ms == 0 || now_ms + delay < t->rq.deadline_ms;
  if (delay >= 0 && fits) {
    again(t, now_ms + delay);
    return;
  }
  done(t);
}

static void finish(struct kube_transfer *t, CURLcode result, int64_t now_ms)
{
  bool connected = t->exec != NULL && result == CURLE_OK;
  if (!connected) {
    settle(t, kube_live_finish(t, result, now_ms), now_ms);
  } else if (kube_live_exec_connected(t, now_ms)) {
    settle(t, kube_live_exec_retry_after(t), now_ms);
  }
}

/* Returns how many requests ended. */
static unsigned take_results(struct kube_live *l, int64_t now_ms)
{
  int running = 0, left = 0;
  unsigned ended = 0;
  curl_multi_perform(l->multi, &running);
  now_ms = aicr_monotonic_ms(); /* a deadline may have passed meanwhile */
  for (CURLMsg *m = curl_multi_info_read(l->multi, &left); m != NULL;
       m = curl_multi_info_read(l->multi, &left)) {
    struct kube_transfer *t = NULL;
    if (m->msg == CURLMSG_DONE) {
      CURLcode result = m->data.result;
      curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
      finish(t, result, now_ms);
      ended++;
    }
  }
  return ended;
}

/* curl's own clock does not run for what waits for a connection. */
static bool is_overdue(const struct kube_transfer *t, int64_t now_ms)
{
  return t->state == LIVE_FLIGHT && t->exec == NULL && t->rq.deadline_ms != 0 &&
         now_ms > t->rq.deadline_ms + OVERDUE_MS;
}

static void begin_ready(struct kube_live *l, int64_t now_ms)
{
  for (struct kube_transfer *t = l->first, *next; t != NULL; t = next) {
    next = t->next;
    if (t->state == LIVE_SLEEP && now_ms >= t->due_ms) {
      t->state = LIVE_READY;
    }
    if (t->state == LIVE_READY) {
      begin(t, now_ms);
    } else if (is_overdue(t, now_ms)) {
      finish(t, CURLE_OPERATION_TIMEDOUT, now_ms);
    }
  }
}

/* A further page is asked for while its list is read: what reads may not come
 * to a poll soon. */
static struct kube_transfer *start(struct kube_backend *b,
                                   const struct kube_request *rq, void *owner,
                                   struct aicr_error *err)
{
  struct kube_live *l = of(b);
  struct kube_transfer *t = new_transfer(l, err);
  int running = 0;
  if (t != NULL) {
    t->rq = *rq;
    t->owner = owner;
    if (rq->page != NULL) {
      begin_ready(l, aicr_monotonic_ms());
      curl_multi_perform(l->multi, &running);
    }
  }
  return t;
}

static void step_execs(struct kube_live *l, int64_t now_ms)
{
  for (struct kube_transfer *t = l->first; t != NULL; t = t->next) {
    if (t->exec != NULL && kube_live_exec_step(t, now_ms)) {
      settle(t, kube_live_exec_retry_after(t), now_ms);
    }
  }
}

/* Moves on what can move without waiting. What ended may have made room for
 * others, or asked for more. */
static void advance(struct kube_live *l)
{
  int64_t now_ms = aicr_monotonic_ms();
  kube_credential_step(l->credential, now_ms);
  step_execs(l, now_ms);
  do {
    begin_ready(l, now_ms);
  } while (take_results(l, now_ms) > 0);
}

/* Hands out what came of a stream. */
static bool take_part(struct kube_transfer *t, struct kube_answer *answer)
{
  long http = 0;
  const char *type = NULL;
  if (t->state != LIVE_FLIGHT || !t->rq.stream || t->held ||
      t->answer.body.len == 0) {
    return false;
  }
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &http);
  if (http < 200 || http >= 300) {
    return false;
  }
  curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
  *answer = (struct kube_answer){.http = (int)http, .more = true};
  snprintf(answer->content_type, sizeof answer->content_type, "%s",
           type == NULL ? "" : type);
  answer->attempts = t->attempts;
  answer->body = t->answer.body;
  aicr_buf_init(&t->answer.body, t->body_max);
  t->streamed = true;
  if (t->paused) {
    t->paused = false;
    curl_easy_pause(t->easy, CURLPAUSE_CONT);
  }
  return true;
}

static bool take_done(struct kube_live *l, void **owner,
                      struct kube_answer *answer)
{
  for (struct kube_transfer *t = l->first; t != NULL; t = t->next) {
    if (take_part(t, answer)) {
      *owner = t->owner;
      unlink_transfer(l, t); /* a busy stream lets the others come first */
      t->next = NULL;
      append(l, t);
      return true;
    }
    if (t->state == LIVE_DONE) {
      *owner = t->owner;
      *answer = t->answer;
      memset(&t->answer, 0, sizeof t->answer);
      free_transfer(t);
      return true;
    }
  }
  return false;
}

static int sooner(int timeout_ms, int64_t due_ms, int64_t now_ms)
{
  int64_t left = due_ms > now_ms ? due_ms - now_ms : 0;
  return left < timeout_ms ? (int)left : timeout_ms;
}

static void wait_for_news(struct kube_live *l, int timeout_ms)
{
  struct pollfd plain[4];
  struct curl_waitfd fds[5 + LIVE_EXEC_MAX];
  unsigned n = 0;
  int64_t now_ms = aicr_monotonic_ms();
  int64_t wake = kube_credential_wake(l->credential);
  size_t count = kube_credential_descriptors(l->credential, plain);
  for (size_t i = 0; i < count; i++) {
    fds[n++] = (struct curl_waitfd){plain[i].fd, CURL_WAIT_POLLIN, 0};
  }
  if (l->base.wake >= 0) {
    fds[n++] = (struct curl_waitfd){l->base.wake, CURL_WAIT_POLLIN, 0};
  }
  timeout_ms = wake == 0 ? timeout_ms : sooner(timeout_ms, wake, now_ms);
  for (const struct kube_transfer *t = l->first; t != NULL; t = t->next) {
    int64_t due = 0;
    if (t->exec != NULL && kube_live_exec_wait(t, &fds[n], &due)) {
      n++;
      timeout_ms = sooner(timeout_ms, due, now_ms);
    }
    if (t->state == LIVE_SLEEP) {
      timeout_ms = sooner(timeout_ms, t->due_ms, now_ms);
    }
    if (t->state != LIVE_FLIGHT && t->rq.deadline_ms != 0) {
      timeout_ms = sooner(timeout_ms, t->rq.deadline_ms, now_ms);
    }
  }
  curl_multi_poll(l->multi, fds, n, timeout_ms, NULL);
}

static bool poll_answer(struct kube_backend *b, int timeout_ms, void **owner,
                        struct kube_answer *answer)
{
  struct kube_live *l = of(b);
  bool discovered = l->discovered == DISCOVERY_DONE;
  advance(l);
  if (take_done(l, owner, answer)) {
    return true;
  }
  if (timeout_ms > 0 && l->first != NULL &&
      discovered == (l->discovered == DISCOVERY_DONE)) {
    wait_for_news(l, timeout_ms);
    advance(l);
  }
  return take_done(l, owner, answer);
}

static const char *server_version(struct kube_backend *b)
{
  (void)b;
  return NULL;
}

static const char *context(struct kube_backend *b)
{
  return of(b)->config.context;
}

static int64_t wall_time(struct kube_backend *b)
{
  (void)b;
  return aicr_now_ms();
}

static void warnings(struct kube_backend *b, struct aicr_buf *out)
{
  kube_credential_warnings(of(b)->credential, out);
  kube_server_warnings_tell(&of(b)->warnings, out);
}

static void close_live(struct kube_backend *b)
{
  struct kube_live *l = of(b);
  while (l->first != NULL) {
    free_transfer(l->first);
  }
  curl_multi_cleanup(l->multi);
  kube_discovery_free(&l->discovery);
  kube_server_warnings_free(&l->warnings);
  kube_credential_close(l->credential);
  kube_live_target_free(&l->target);
  kube_config_free(&l->config);
  aicr_free(l);
}

static bool open_multi(struct kube_live *l)
{
  static bool ready;
  ready = ready || curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  l->multi = ready ? curl_multi_init() : NULL;
  return l->multi != NULL &&
         curl_multi_setopt(l->multi, CURLMOPT_PIPELINING,
                           (long)CURLPIPE_MULTIPLEX) == CURLM_OK &&
         curl_multi_setopt(l->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                           (long)LIVE_HOST_MAX) == CURLM_OK;
}

struct kube_backend *kube_live_open(struct kube_config *config,
                                    struct aicr_error *err)
{
  static const struct kube_backend_ops ops = {
      .start = start,
      .cancel = cancel,
      .poll = poll_answer,
      .hold = hold,
      .resolve = kube_live_resolve,
      .server_version = server_version,
      .context = context,
      .time = wall_time,
      .warnings = warnings,
      .close = close_live,
  };
  struct kube_live *l = aicr_calloc(1, sizeof *l);
  if (l == NULL) {
    kube_config_free(config);
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a cluster");
    return NULL;
  }
  l->base.ops = &ops;
  l->base.wake = -1;
  l->backoff_ms = KUBE_BACKOFF_MS;
  l->end = &l->first;
  l->config = *config;
  memset(config, 0, sizeof *config);
  l->credential = kube_credential_open(&l->config);
  if (l->credential == NULL || !open_multi(l)) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a cluster");
  } else if (kube_live_target(&l->config, &l->target, err)) {
    return &l->base;
  }
  close_live(&l->base);
  return NULL;
}
