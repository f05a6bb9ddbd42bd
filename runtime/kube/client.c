/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/call.h"
#include "kube/clock.h"
#include "kube/discovery.h"
#include "kube/fixed_text.h"
#include "kube/record.h"
#include "kube/record_call.h"
#include "kube/status.h"

struct kube_client *kube_client_open(struct kube_backend *backend)
{
  struct kube_client *c = aicr_calloc(1, sizeof *c);
  if (c == NULL) {
    backend->ops->close(backend);
    return NULL;
  }
  c->backend = backend;
  c->ready_end = &c->ready;
  return c;
}

void kube_client_on_secret(struct kube_client *c,
                           void (*tell)(void *owner, const char *text,
                                        size_t len))
{
  c->on_secret = tell;
}

struct kube_backend *kube_client_backend(struct kube_client *c)
{
  return c->backend;
}

void kube_client_record(struct kube_client *c, struct kube_record *record)
{
  kube_record_close(c->record);
  c->record = record;
}

struct kube_record *kube_client_recording(const struct kube_client *c)
{
  return c->record;
}

static void free_call(struct kube_call *call)
{
  kube_record_left(call);
  kube_call_end_page(call);
  kube_answer_free(&call->ahead);
  kube_selector_free(call->label);
  kube_selector_free(call->field);
  for (size_t i = 0; i < sizeof call->strings / sizeof call->strings[0]; i++) {
    aicr_free(call->strings[i]);
  }
  aicr_free(call->page);
  aicr_free(call->marked_page);
  aicr_buf_free(&call->path);
  aicr_buf_free(&call->group_path);
  aicr_buf_free(&call->lines);
  aicr_free(call);
}

static void unlink_ready(struct kube_client *c, struct kube_call *call)
{
  struct kube_call **p = &c->ready;
  while (*p != NULL && *p != call) {
    p = &(*p)->next_ready;
  }
  if (*p == NULL) {
    return;
  }
  *p = call->next_ready;
  call->next_ready = NULL;
  if (*p == NULL) {
    c->ready_end = p;
  }
}

void kube_call_close(struct kube_call *call)
{
  if (call == NULL) {
    return;
  }
  struct kube_client *c = call->client;
  if (call->transfer != NULL) {
    c->backend->ops->cancel(c->backend, call->transfer);
  } else if (call->phase == PHASE_QUEUED) {
    unlink_ready(c, call);
  }
  struct kube_call **p = &c->calls;
  while (*p != call) {
    p = &(*p)->next;
  }
  *p = call->next;
  free_call(call);
}

void kube_client_close(struct kube_client *c)
{
  if (c == NULL) {
    return;
  }
  while (c->calls != NULL) {
    kube_call_close(c->calls);
  }
  c->backend->ops->close(c->backend);
  kube_record_close(c->record);
  aicr_free(c);
}

size_t kube_client_pending(const struct kube_client *c)
{
  size_t n = 0;
  for (const struct kube_call *p = c->calls; p != NULL; p = p->next) {
    n += p->phase < PHASE_STREAM || p->transfer != NULL;
  }
  return n;
}

bool kube_call_no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory",
                   "no memory for a cluster request");
}

static void queue(struct kube_call *call)
{
  struct kube_client *c = call->client;
  call->phase = PHASE_QUEUED;
  *c->ready_end = call;
  c->ready_end = &call->next_ready;
}

struct kube_call *kube_client_start(struct kube_client *c,
                                    const struct kube_call_spec *spec,
                                    void *owner)
{
  struct kube_call *call = aicr_calloc(1, sizeof *call);
  if (call == NULL) {
    return NULL;
  }
  call->client = c;
  call->owner = owner;
  call->next = c->calls;
  c->calls = call;
  call->rq.verb = spec->verb;
  call->rq.limit = spec->page_size == 0 ? PAGE_SIZE : spec->page_size;
  call->rq.deadline_ms = spec->deadline_ms;
  if (spec->asker != NULL) {
    call->asker = *spec->asker;
    size_t len = strlen(call->asker.part);
    if (spec->aside && len + 1 < sizeof call->asker.part) {
      memcpy(call->asker.part + len, "~", 2);
    }
    call->rq.asker = &call->asker;
  }
  aicr_buf_init(&call->path, 4096);
  aicr_buf_init(&call->group_path, 4096);
  aicr_buf_init(&call->lines, KUBE_LINE_MAX + (4u << 20));
  call->rq.stream = spec->stream;
  kube_set_text(call->failure.verb, sizeof call->failure.verb,
                kube_verb_name(spec->verb));
  kube_set_text(call->failure.resource, sizeof call->failure.resource,
                spec->resource == NULL ? spec->kind : spec->resource);
  kube_set_text(call->failure.ns, sizeof call->failure.ns, spec->ns);
  kube_set_text(call->failure.name, sizeof call->failure.name, spec->name);
  if (!kube_call_copy(call, spec, &call->error) ||
      !kube_call_go_on(call, &call->error)) {
    queue(call);
  }
  return call;
}

void kube_call_unexpected(struct kube_call *call, const char *what)
{
  const struct kube_answer *a = &call->answer;
  struct aicr_quoted q, type;
  size_t len = 0;
  const char *head = kube_call_head(call, &len);
  aicr_fail(&call->error, AICR_INTERNAL, "unexpected-response",
            "%s %s: unexpected response (HTTP %d, content type %s): %s: %s",
            call->failure.verb, call->failure.resource, a->http,
            aicr_quote(&type, a->content_type, strlen(a->content_type)), what,
            aicr_quote(&q, head, len));
  call->failure.http = a->http;
  call->failure.attempts = a->attempts;
}

void kube_call_fail(struct kube_call *call)
{
  kube_call_end_page(call);
  kube_call_drop_ahead(call);
  call->phase = PHASE_FAILED;
}

bool kube_is_object(const char *text)
{
  return text[strspn(text, " \t\r\n")] == '{';
}

/* An answer with a success status: an object, or a page of a list. */
static bool take_success(struct kube_call *call)
{
  const struct kube_answer *a = &call->answer;
  if (call->rq.text || call->rq.verb == KUBE_EXEC) {
    call->phase = PHASE_OBJECT;
    return true;
  }
  if (a->content_type[0] != '\0' && strstr(a->content_type, "json") == NULL) {
    kube_call_unexpected(call, "not JSON");
    return false;
  }
  if (a->body.data == NULL || a->body.len == 0) {
    kube_call_unexpected(call, "no body");
    return false;
  }
  if (!a->gzip && !kube_is_object(a->body.data)) {
    kube_call_unexpected(call, "not a JSON object");
    return false;
  }
  if (call->rq.verb == KUBE_LIST) {
    return kube_call_begin_page(call) || kube_call_no_memory(&call->error);
  }
  if (!kube_call_is_object(call)) {
    return false;
  }
  call->phase = PHASE_OBJECT;
  return true;
}

/* A continue token that is too old. What was handed out cannot be taken back,
 * so only a list of which nothing was seen begins again, and once. */
static bool may_restart(const struct kube_call *call)
{
  return call->answer.http == 410 && call->page != NULL && call->items == 0 &&
         !call->restarted;
}

static bool restart(struct kube_call *call)
{
  call->restarted = true;
  aicr_free(call->page);
  aicr_free(call->marked_page);
  call->page = NULL;
  call->marked_page = NULL;
  call->pages = call->next_mark = 0;
  kube_call_end_page(call);
  if (!kube_call_send(call, &call->error)) {
    kube_call_fail(call);
    return false;
  }
  return true;
}

/* The last answer of a stream: what came with it, or why it broke. Lines that
 * came before are still to be taken. */
static void end_stream(struct kube_call *call, bool success)
{
  struct kube_answer last = call->answer;
  memset(&call->answer, 0, sizeof call->answer);
  if (!success) {
    kube_status_error(&call->rq, &last, KUBE_SERVED_UNKNOWN, &call->error,
                      &call->failure);
    aicr_buf_free(&last.body);
    call->stream_failed = true;
  }
  kube_call_take_part(call, &last);
}

void kube_call_fail_answer(struct kube_call *call, enum kube_served served)
{
  kube_record_failure(call);
  kube_status_error(&call->rq, &call->answer, served, &call->error,
                    &call->failure);
  kube_call_fail(call);
}

/* Asks discovery what a refusal or an absence means. False when it cannot. */
static bool explain(struct kube_call *call)
{
  struct kube_backend *b = call->client->backend;
  struct aicr_error ignored;
  if (!kube_discovery_path(&call->rq.resource, &call->group_path)) {
    return false;
  }
  call->probe = (struct kube_request){.verb = KUBE_RAW,
                                      .path = call->group_path.data,
                                      .deadline_ms = call->rq.deadline_ms};
  call->transfer = b->ops->start(b, &call->probe, call, &ignored);
  if (call->transfer == NULL) {
    return false;
  }
  call->phase = PHASE_EXPLAIN;
  return true;
}

/* A 404 that names the object: is it that, or a subresource which the object's
 * API does not have (2.4)? */
static bool may_lack(const struct kube_call *call)
{
  return call->rq.subresource != NULL && call->rq.resource.group[0] != '\0';
}

/* An answer 404 to what is served, or to a version that the check did not name:
 * is it another one by now, or did serving lag behind discovery? */
static bool may_be_elsewhere(const struct kube_call *call,
                             enum kube_served served)
{
  struct kube_resource named;
  struct aicr_error ignored;
  if (call->again || call->rq.resource.group[0] == '\0' ||
      call->answer.http != 404 || served == KUBE_SERVED_UNKNOWN) {
    return false;
  }
  return served == KUBE_SERVED_YES ||
         (call->spec.resource != NULL &&
          kube_resource_name(call->spec.resource, strlen(call->spec.resource),
                             &named, &ignored) &&
          named.version[0] == '\0');
}

/* False while there is nothing for the owner to see yet. */
static bool explained(struct kube_call *call, const struct kube_answer *answer)
{
  bool named = kube_status_names_object(&call->answer);
  enum kube_served served = kube_discovery_served(&call->rq.resource, answer);
  bool lacks = named && kube_discovery_lacks(&call->rq.resource,
                                             call->rq.subresource, answer);
  if (!named && may_be_elsewhere(call, served)) {
    if (kube_call_look_up(call, served, &call->error)) {
      return false;
    }
    kube_call_fail(call);
    return true;
  }
  kube_call_fail_answer(call, named ? KUBE_SERVED_YES : served);
  if (!named || strcmp(call->error.reason, "not-found") != 0) {
    return true;
  }
  if (served == KUBE_SERVED_UNKNOWN) {
    aicr_fail(&call->error, AICR_INTERNAL, "discovery-incomplete",
              "%s %s/%s: there is no such object or no subresource %s, and "
              "discovery cannot tell which",
              call->failure.verb, call->failure.resource, call->rq.subresource,
              call->rq.subresource);
  } else if (lacks) {
    aicr_fail(&call->error, AICR_NOT_FOUND, "subresource-not-served",
              "%s %s/%s: the API is served, but has no subresource %s",
              call->failure.verb, call->failure.resource, call->rq.subresource,
              call->rq.subresource);
  }
  return true;
}

/* … or to the question why it failed, or to the request for the next page. */
bool kube_call_take(struct kube_call *call, struct kube_answer *answer)
{
  struct kube_backend *b = call->client->backend;
  if (answer->more) {
    kube_call_take_part(call, answer);
    return true;
  }
  call->transfer = NULL;
  if (call->phase == PHASE_PAGE) {
    call->ahead = *answer;
    call->looks_ahead = AHEAD_CAME;
    return false;
  }
  call->looks_ahead = AHEAD_NONE;
  if (call->phase == PHASE_EXPLAIN) {
    bool told = explained(call, answer);
    kube_answer_free(answer);
    return told;
  }
  struct kube_answer *a = &call->answer;
  *a = *answer;
  call->failure.attempts = a->attempts;
  bool success = kube_status_success(&call->rq, a);
  if (call->rq.stream && (success || call->phase == PHASE_STREAM)) {
    end_stream(call, success);
    return true;
  }
  if (success) {
    if (!take_success(call)) {
      kube_record_failure(call);
      kube_call_fail(call);
    } else if (call->phase == PHASE_OBJECT) {
      kube_record_object(call);
    }
    return true;
  }
  if (may_restart(call)) {
    return !restart(call);
  }
  if (kube_call_lost_page(call)) {
    return true;
  }
  bool asks = call->rq.verb != KUBE_RAW && (a->http == 403 || a->http == 404 ||
                                            a->error.code != AICR_CODE_NONE);
  if (asks && b->ops->served == NULL) {
    if (kube_status_names_object(a)) {
      if (may_lack(call) && explain(call)) {
        return false;
      }
      kube_call_fail_answer(call, KUBE_SERVED_YES);
      return true;
    }
    if (a->error.code == AICR_CODE_NONE && explain(call)) {
      return false;
    }
    asks = false;
  }
  kube_call_fail_answer(call, asks ? b->ops->served(b, &call->rq.resource)
                                   : KUBE_SERVED_UNKNOWN);
  return true;
}

static struct kube_call *take_ready(struct kube_client *c)
{
  struct kube_call *call = c->ready;
  if (call != NULL) {
    unlink_ready(c, call);
    call->phase = call->resolved ? PHASE_OBJECT : PHASE_FAILED;
  }
  return call;
}

/* Discovery is everybody's and has no deadline: who waits for it has. */
static bool is_waiting(const struct kube_call *call)
{
  return call->phase == PHASE_RESOLVE && call->rq.deadline_ms != 0;
}

/* The time to the first of these deadlines, at most timeout_ms. */
static int time_to_wait(const struct kube_client *c, int timeout_ms)
{
  for (const struct kube_call *call = c->calls; call != NULL;
       call = call->next) {
    if (is_waiting(call)) {
      int64_t left = call->rq.deadline_ms - aicr_monotonic_ms();
      timeout_ms = left < timeout_ms ? (int)(left < 0 ? 0 : left) : timeout_ms;
    }
  }
  return timeout_ms;
}

/* Goes on with the calls that waited for discovery. */
static void resolve_again(struct kube_client *c)
{
  for (struct kube_call *call = c->calls; call != NULL; call = call->next) {
    if (call->phase == PHASE_RESOLVE && !kube_call_go_on(call, &call->error)) {
      queue(call);
    } else if (is_waiting(call) &&
               aicr_monotonic_ms() >= call->rq.deadline_ms) {
      call->answer.transport = KUBE_TRANSPORT_DEADLINE;
      kube_status_error(&call->rq, &call->answer, KUBE_SERVED_UNKNOWN,
                        &call->error, &call->failure);
      kube_record_unresolved(call, &call->error);
      kube_call_fail(call);
      queue(call);
    }
  }
}

struct kube_call *kube_client_poll(struct kube_client *c, int timeout_ms,
                                   void **owner)
{
  struct kube_backend *b = c->backend;
  struct kube_call *call = take_ready(c);
  bool news = true;
  while (call == NULL && news) {
    struct kube_answer answer = {0};
    void *done = NULL;
    news = b->ops->poll(b, time_to_wait(c, timeout_ms), &done, &answer);
    resolve_again(c);
    call = news && kube_call_take(done, &answer) ? done : take_ready(c);
  }
  if (call != NULL) {
    *owner = call->owner;
  }
  return call;
}

static enum kube_call_state next_result(struct kube_call *call,
                                        const char **text, size_t *len)
{
  switch (call->phase) {
  case PHASE_OBJECT:
    *text = call->answer.body.data;
    *len = call->answer.body.len;
    return KUBE_CALL_OBJECT;
  case PHASE_PAGE: {
    enum kube_call_state state = KUBE_CALL_WAIT;
    do {
      state = kube_call_next_item(call, text, len);
    } while (state == KUBE_CALL_WAIT && call->phase == PHASE_PAGE);
    return state;
  }
  case PHASE_STREAM:
    return kube_call_next_line(call, text, len);
  case PHASE_END:
    return KUBE_CALL_END;
  case PHASE_FAILED:
    return KUBE_CALL_FAILED;
  default:
    return KUBE_CALL_WAIT;
  }
}

enum kube_call_state kube_call_next(struct kube_call *call, const char **text,
                                    size_t *len)
{
  const struct kube_resource *r = &call->rq.resource;
  *text = NULL;
  *len = 0;
  enum kube_call_state state = next_result(call, text, len);
  if (*text != NULL && call->client->on_secret != NULL &&
      (state == KUBE_CALL_OBJECT || state == KUBE_CALL_ITEM) &&
      r->group[0] == '\0' && strcmp(r->plural, "secrets") == 0) {
    call->client->on_secret(call->owner, *text, *len);
  }
  return state;
}

const char *kube_call_resource_version(const struct kube_call *call)
{
  return call->resource_version;
}

const struct kube_resource *kube_call_resource(const struct kube_call *call)
{
  return &call->rq.resource;
}

int kube_call_http(const struct kube_call *call)
{
  return call->answer.http;
}

int kube_call_exit_code(const struct kube_call *call, const char **stderr_text,
                        size_t *len)
{
  const struct aicr_buf *b = &call->answer.stderr_text;
  *stderr_text = b->data;
  *len = b->data == NULL ? 0 : b->len;
  return call->answer.exit_code;
}

const char *kube_call_item_api_version(const struct kube_call *call)
{
  return call->item_api_version;
}

const char *kube_call_item_kind(const struct kube_call *call)
{
  return call->item_kind;
}

const struct aicr_error *kube_call_error(const struct kube_call *call)
{
  return &call->error;
}

const struct kube_failure *kube_call_failure(const struct kube_call *call)
{
  return &call->failure;
}
