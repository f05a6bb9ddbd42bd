/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "core/json_writer.h"
#include "host/host.h"
#include "host/signal.h"

/* The loop: runs the tasks, waits for answers, timers and signals. */

#define EVENT_MAX (16u << 20)
/* Room for any event of the host's own, so that an end can always be told. */
#define EVENT_ROOM 256

bool aicr_host_start(struct aicr_host *h, const struct aicr_task_spec *spec,
                     struct aicr_error *err)
{
  struct aicr_task **end = &h->tasks;
  struct aicr_task *t;

  h->event.max = EVENT_MAX;
  aicr_buf_reset(&h->event);
  if (!aicr_buf_room(&h->event, EVENT_ROOM))
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a check");
  t = aicr_task_new(h, spec, err);
  if (!t)
    return false;
  while (*end)
    end = &(*end)->next;
  *end = t;
  return true;
}

bool aicr_host_cancel(struct aicr_host *h, int64_t id, const char *reason,
                      bool over)
{
  for (struct aicr_task *t = h->tasks; t; t = t->next)
    if (t->id == id) {
      /* Only its own time ends a clean-up. */
      aicr_task_stop(
          t, over && !t->cleaning ? AICR_END_DEADLINE : AICR_END_CANCELED,
          reason);
      return true;
    }
  return false;
}

/* Makes *text the event, if it and the memory for it are there; *text is
 * freed. */
static bool tell(struct aicr_host *h, struct aicr_buf *text)
{
  bool ok = !text->failed;

  aicr_buf_reset(&h->event);
  ok = ok && aicr_buf_room(&h->event, text->len) &&
       aicr_buf_add(&h->event, text->data, text->len);
  aicr_buf_free(text);
  return ok;
}

void aicr_host_progress(struct aicr_host *h, const struct aicr_task *t,
                        const char *text, size_t len)
{
  const struct aicr_buf *secrets = &t->record.list[AICR_REC_SECRETS].items;
  struct aicr_buf b;

  aicr_buf_init(&b, EVENT_MAX);
  aicr_buf_addf(
      &b, "{\"id\":%lld,\"kind\":\"progress\",\"text\":", (long long)t->id);
  aicr_json_write_string(&b, text, len);
  aicr_buf_adds(&b, ",\"secrets\":[");
  aicr_buf_add(&b, secrets->data, secrets->len);
  aicr_buf_adds(&b, "]}");
  tell(h, &b);
}

/* Takes an ended task out of the list and tells its end. */
static void tell_done(struct aicr_host *h, struct aicr_task *done)
{
  struct aicr_task **at = &h->tasks;
  struct aicr_buf b;

  while (*at != done)
    at = &(*at)->next;
  *at = done->next;
  aicr_buf_init(&b, EVENT_MAX);
  aicr_task_write_done(done, aicr_monotonic_ms(), &b);
  if (!tell(h, &b))
    aicr_buf_addf(&h->event,
                  "{\"id\":%lld,\"kind\":\"done\",\"started\":%lld,"
                  "\"duration_ms\":0,\"ending\":{\"how\":\"memory\"},"
                  "\"record\":{}}",
                  (long long)done->id, (long long)done->started_ms);
  aicr_task_free(done);
}

static void sooner(int64_t *nearest, int64_t due)
{
  if (due && (*nearest == 0 || due < *nearest))
    *nearest = due;
}

/* Stops tasks whose deadline passed, wakes strands whose timer did. Returns the
 * earliest monotonic time of these and of those to come, 0 when there is none:
 * what was woken is to run at once. */
static int64_t run_timers(struct aicr_host *h)
{
  int64_t now = aicr_monotonic_ms(), nearest = 0;

  for (struct aicr_task *t = h->tasks; t; t = t->next) {
    if (t->deadline_ms && t->stop == AICR_END_RUNNING) {
      sooner(&nearest, t->deadline_ms);
      if (now >= t->deadline_ms)
        aicr_task_stop(t, AICR_END_DEADLINE, NULL);
    }
    for (struct aicr_strand *s = t->strands; s; s = s->next) {
      if (s->wait != AICR_WAIT_UNTIL)
        continue;
      sooner(&nearest, s->until_ms);
      if (now >= s->until_ms)
        s->wait = AICR_WAIT_NONE;
    }
  }
  return nearest;
}

/* Runs every ready task once; false as soon as there is an event to tell. */
static bool run_ready(struct aicr_host *h, bool *ran)
{
  for (struct aicr_task *t = h->tasks; t; t = t->next) {
    *ran = aicr_task_run(t) || *ran;
    if (t->done) {
      if (h->event.len == 0)
        tell_done(h, t);
      return false;
    }
    if (h->event.len > 0)
      return false;
  }
  return true;
}

static void wake(struct aicr_task *t, const struct kube_call *call)
{
  for (struct aicr_strand *s = t->strands; s; s = s->next)
    if (s->wait == AICR_WAIT_CALL && s->call == call)
      s->wait = AICR_WAIT_NONE;
}

static void wait_for_news(struct aicr_host *h, int timeout_ms)
{
  void *owner = NULL;

  if (h->client && kube_client_pending(h->client) > 0) {
    struct kube_call *call = kube_client_poll(h->client, timeout_ms, &owner);

    if (call && owner)
      wake(owner, call);
    return;
  }
  if (timeout_ms != 0) {
    struct pollfd signal = {.fd = aicr_signal_descriptor(), .events = POLLIN};

    poll(&signal, signal.fd < 0 ? 0 : 1, timeout_ms);
  }
}

static bool tell_signal(struct aicr_host *h)
{
  int number = aicr_signal_take();

  if (!number)
    return false;
  aicr_buf_reset(&h->event);
  aicr_buf_addf(&h->event, "{\"kind\":\"signal\",\"signal\":\"%s\"}",
                aicr_signal_name(number));
  return true;
}

void aicr_host_next(struct aicr_host *h, int timeout_ms)
{
  int64_t end = timeout_ms < 0 ? INT64_MAX : aicr_monotonic_ms() + timeout_ms;

  aicr_buf_reset(&h->event);
  h->event.max = EVENT_MAX;
  while (!tell_signal(h)) {
    bool ran = false;
    int64_t left, nearest;

    if (!run_ready(h, &ran))
      return;
    nearest = run_timers(h);
    left = end - aicr_monotonic_ms();
    if (!h->tasks || (left <= 0 && !ran))
      break;
    if (nearest && nearest - aicr_monotonic_ms() < left)
      left = nearest - aicr_monotonic_ms();
    wait_for_news(h, ran || left <= 0 ? 0 : left > 1000 ? 1000 : (int)left);
  }
  if (h->event.len == 0)
    aicr_buf_adds(&h->event, "{\"kind\":\"tick\"}");
}
