/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kube/record_call.h"

/* The lines of a stream: events of a watch, a log that is followed. */

/* Of a text no more is taken while so much of it waits. */
#define TEXT_AHEAD_MAX (1u << 20)

static void drop_transfer(struct kube_call *call)
{
  struct kube_backend *b = call->client->backend;
  if (call->transfer != NULL) {
    b->ops->cancel(b, call->transfer);
    call->transfer = NULL;
  }
}

/* Whoever follows can go on from the last line that he took. */
static bool fall_behind(struct kube_call *call)
{
  call->failure.transport = KUBE_TRANSPORT_CUT;
  return aicr_fail(
      &call->error, AICR_SERVICE_UNAVAILABLE, "stream-overflow",
      "%s %s: more came than was read, the connection was given up",
      call->failure.verb, call->failure.resource);
}

static void hold(struct kube_call *call, bool held)
{
  struct kube_backend *b = call->client->backend;
  if (call->rq.text && call->transfer != NULL && b->ops->hold != NULL &&
      call->held != held) {
    b->ops->hold(b, call->transfer, held);
    call->held = held;
  }
}

/* Moves what was not taken yet to the front. */
static void compact(struct kube_call *call)
{
  struct aicr_buf *b = &call->lines;
  if (call->lines_taken > 0) {
    memmove(b->data, b->data + call->lines_taken, b->len - call->lines_taken);
    b->len -= call->lines_taken;
    call->lines_taken = 0;
  }
}

/* What came is put behind what waits, which stays when there is no room. A
 * recording gives a text whole. */
static bool add_part(struct kube_call *call, struct aicr_buf *body)
{
  struct aicr_buf *b = &call->lines;
  bool fits = body->len <= b->max - b->len;
  if (!fits || call->lines_taken >= b->len - call->lines_taken) {
    compact(call); /* each byte is moved once for each that was taken */
  }
  if (call->rq.text && b->len == 0) {
    struct aicr_buf empty = *b;
    *b = *body;
    b->max = body->max > empty.max ? body->max : empty.max;
    *body = empty;
    return true;
  }
  if (body->len > b->max - b->len) {
    return fall_behind(call);
  }
  return aicr_buf_room(b, body->len) ? aicr_buf_add(b, body->data, body->len)
                                     : kube_call_no_memory(&call->error);
}

void kube_call_take_part(struct kube_call *call, struct kube_answer *answer)
{
  call->phase = PHASE_STREAM;
  call->stream_ended = !answer->more;
  call->failure.attempts = answer->attempts;
  if (answer->body.len > 0 && !add_part(call, &answer->body)) {
    drop_transfer(call);
    call->stream_failed = true;
  }
  kube_answer_free(answer);
  hold(call, call->lines.len - call->lines_taken > TEXT_AHEAD_MAX);
}

static enum kube_call_state give(struct kube_call *call, size_t line_len,
                                 size_t end, const char **text, size_t *len)
{
  call->line_end = end > line_len ? KUBE_LINE_ENDED : KUBE_LINE_PIECE;
  *text = call->lines.data + call->lines_taken;
  *len = line_len;
  call->lines_taken += end;
  kube_record_event(call, *text, *len, end);
  if (!call->rq.text && !kube_call_is_event(call, *text, *len)) {
    *text = NULL;
    *len = 0;
    drop_transfer(call);
    kube_call_fail(call);
    return KUBE_CALL_FAILED;
  }
  return KUBE_CALL_ITEM;
}

enum kube_call_state kube_call_next_line(struct kube_call *call,
                                         const char **text, size_t *len)
{
  struct aicr_buf *b = &call->lines;
  size_t left = b->len - call->lines_taken;
  size_t max = call->rq.text ? KUBE_TEXT_LINE_MAX : KUBE_LINE_MAX;
  const char *begin = left == 0 ? NULL : b->data + call->lines_taken;
  size_t seen = left > max && call->rq.text ? max + 1 : left;
  const char *nl = left == 0 ? NULL : memchr(begin, '\n', seen);
  if (nl != NULL) {
    size_t n = (size_t)(nl - begin);
    return give(call, n, n + 1, text, len);
  }
  if (left > max && call->rq.text) {
    return give(call, max, max, text, len);
  }
  compact(call);
  if (left > max) {
    drop_transfer(call);
    aicr_fail(&call->error, AICR_INTERNAL, "response-too-large",
              "%s %s: an event is larger than %u MiB", call->failure.verb,
              call->failure.resource, KUBE_LINE_MAX >> 20);
    kube_call_fail(call);
    return KUBE_CALL_FAILED;
  }
  if (call->stream_failed) {
    kube_call_fail(call);
    return KUBE_CALL_FAILED;
  }
  if (!call->stream_ended) {
    hold(call, false);
    return KUBE_CALL_WAIT;
  }
  /* The last line of a text may have no end; part of an event is none. */
  if (call->rq.text && b->len > 0) {
    enum kube_call_state state = give(call, b->len, b->len, text, len);
    call->line_end = KUBE_LINE_UNENDED;
    return state;
  }
  call->phase = PHASE_END;
  return KUBE_CALL_END;
}

enum kube_line_end kube_call_line_end(const struct kube_call *call)
{
  return call->line_end;
}
