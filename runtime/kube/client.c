/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/status.h"

#define PAGE_SIZE 500u
#define PAGES_MAX 100000u

struct kube_client {
  struct kube_backend *backend;
  struct kube_call *calls;              /* all that are open */
  struct kube_call *ready, **ready_end; /* failed before a request was sent */
};

enum phase {
  PHASE_QUEUED, /* in client->ready: poll has to bring it */
  PHASE_FLIGHT, /* a request is on its way: poll has to bring it */
  PHASE_OBJECT,
  PHASE_PAGE, /* items of a page are being taken */
  PHASE_END,
  PHASE_FAILED
};

struct kube_call {
  struct kube_client *client;
  struct kube_call *next, *next_ready;
  void *owner;
  struct kube_request rq; /* its strings are ours */
  char *strings[6];       /* name, ns, subresource, label, field, resource */
  struct aicr_buf path;
  enum phase phase;
  struct kube_transfer *transfer;
  struct kube_answer answer;
  struct aicr_json_list list;
  bool list_open;
  char item_api_version[320], item_kind[128];

  char *page, *marked_page; /* the token asked for; an earlier one */
  unsigned pages, next_mark;
  size_t items;
  bool restarted;

  struct aicr_error error;
  struct kube_failure failure;
};

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

struct kube_backend *kube_client_backend(struct kube_client *c)
{
  return c->backend;
}

static void end_page(struct kube_call *call)
{
  if (call->list_open) {
    aicr_json_list_free(&call->list);
    call->list_open = false;
  }
  kube_answer_free(&call->answer);
  memset(&call->answer, 0, sizeof call->answer);
}

static void free_call(struct kube_call *call)
{
  end_page(call);
  for (size_t i = 0; i < sizeof call->strings / sizeof call->strings[0]; i++) {
    aicr_free(call->strings[i]);
  }
  aicr_free(call->page);
  aicr_free(call->marked_page);
  aicr_buf_free(&call->path);
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
  if (call->phase == PHASE_FLIGHT) {
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
  aicr_free(c);
}

size_t kube_client_pending(const struct kube_client *c)
{
  size_t n = 0;
  for (const struct kube_call *p = c->calls; p != NULL; p = p->next) {
    n += p->phase == PHASE_QUEUED || p->phase == PHASE_FLIGHT;
  }
  return n;
}

static bool no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory",
                   "no memory for a cluster request");
}

static void set_resource(struct kube_failure *f, const struct kube_resource *r)
{
  snprintf(f->resource, sizeof f->resource, "%.63s%s%.190s", r->plural,
           r->group[0] == '\0' ? "" : ".", r->group);
}

/* A name that cannot be resolved is still judged by what was asked for, so
 * that an undeclared request is always refused as that. */
static void canonical(struct kube_resource *r)
{
  bool bare = r->group[0] == '\0' && r->version[0] == '\0';
  const struct kube_resource *b =
      kube_builtin_by_name(bare ? NULL : r->group, r->plural);
  if (b != NULL) {
    kube_set_text(r->group, sizeof r->group, b->group);
    kube_set_text(r->plural, sizeof r->plural, b->plural);
  }
}

static bool resolve(struct kube_call *call, const struct kube_call_spec *spec,
                    struct aicr_error *err)
{
  struct kube_backend *b = call->client->backend;
  struct kube_resource *r = &call->rq.resource;
  if (!kube_resource_name(spec->resource, strlen(spec->resource), r, err)) {
    return false;
  }
  struct kube_resource written = *r;
  bool found = b->ops->resolve(b, r, err);
  if (!found) {
    canonical(&written);
    *r = written;
  }
  set_resource(&call->failure, r);
  struct aicr_error refused;
  if (spec->permissions != NULL &&
      !kube_permissions_allow(spec->permissions, kube_verb_name(spec->verb), r,
                              spec->subresource, spec->ns, spec->run_namespace,
                              &refused)) {
    *err = refused;
    return false;
  }
  if (!found && strcmp(err->reason, "api-not-served") == 0) {
    /* the answer that the server would have given */
    call->failure.http = 404;
    call->failure.served = KUBE_SERVED_NO;
  }
  return found;
}

static bool check_shape(const struct kube_call_spec *spec,
                        struct aicr_error *err)
{
  bool collection = spec->verb == KUBE_LIST || spec->verb == KUBE_CREATE;
  if (!collection && spec->name == NULL) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "%s needs a name", kube_verb_name(spec->verb));
  }
  if (spec->verb == KUBE_LIST && spec->name != NULL) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "list takes no name; use get");
  }
  return true;
}

static bool copy_strings(struct kube_call *call,
                         const struct kube_call_spec *spec,
                         struct aicr_error *err)
{
  const char *const from[] = {spec->name,  spec->ns,    spec->subresource,
                              spec->label, spec->field, spec->resource};
  for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
    if (from[i] == NULL) {
      continue;
    }
    call->strings[i] = aicr_strndup(from[i], strlen(from[i]));
    if (call->strings[i] == NULL) {
      return no_memory(err);
    }
  }
  call->rq.name = call->strings[0];
  call->rq.ns = call->strings[1];
  call->rq.subresource = call->strings[2];
  call->rq.label = call->strings[3];
  call->rq.field = call->strings[4];
  return true;
}

static bool send(struct kube_call *call, struct aicr_error *err)
{
  struct kube_backend *b = call->client->backend;
  call->rq.page = call->page;
  call->transfer = b->ops->start(b, &call->rq, call, err);
  if (call->transfer == NULL) {
    return false;
  }
  call->phase = PHASE_FLIGHT;
  return true;
}

static bool prepare(struct kube_call *call, const struct kube_call_spec *spec,
                    struct aicr_error *err)
{
  if (!copy_strings(call, spec, err) || !resolve(call, spec, err) ||
      !check_shape(spec, err) ||
      !kube_resource_path(&call->rq.resource, spec->ns, spec->name,
                          spec->subresource, &call->path, err)) {
    return false;
  }
  call->rq.path = call->path.data;
  return send(call, err);
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
  aicr_buf_init(&call->path, 4096);
  kube_set_text(call->failure.verb, sizeof call->failure.verb,
                kube_verb_name(spec->verb));
  kube_set_text(call->failure.resource, sizeof call->failure.resource,
                spec->resource);
  kube_set_text(call->failure.ns, sizeof call->failure.ns, spec->ns);
  kube_set_text(call->failure.name, sizeof call->failure.name, spec->name);
  if (!prepare(call, spec, &call->error)) {
    call->phase = PHASE_QUEUED;
    *c->ready_end = call;
    c->ready_end = &call->next_ready;
  }
  return call;
}

static void unexpected(struct kube_call *call, const char *what)
{
  const struct kube_answer *a = &call->answer;
  struct aicr_quoted q, type;
  size_t len = a->body.data == NULL ? 0 : a->body.len;
  aicr_fail(&call->error, AICR_INTERNAL, "unexpected-response",
            "%s %s: unexpected response (HTTP %d, content type %s): %s: %s",
            call->failure.verb, call->failure.resource, a->http,
            aicr_quote(&type, a->content_type, strlen(a->content_type)), what,
            aicr_quote(&q, len == 0 ? "" : a->body.data, len));
  call->failure.http = a->http;
  call->failure.attempts = a->attempts;
}

static void fail_call(struct kube_call *call)
{
  end_page(call);
  call->phase = PHASE_FAILED;
}

static void begin_list(struct kube_call *call)
{
  aicr_json_list_init(&call->list);
  call->list_open = true;
  aicr_json_feed(&call->list.reader, call->answer.body.data,
                 call->answer.body.len);
  aicr_json_finish(&call->list.reader);
  call->pages++;
  call->phase = PHASE_PAGE;
}

static const char *skip_space(const char *text)
{
  return text + strspn(text, " \t\r\n");
}

/* An answer with a success status: an object, or a page of a list. */
static bool take_success(struct kube_call *call)
{
  const struct kube_answer *a = &call->answer;
  if (a->content_type[0] != '\0' && strstr(a->content_type, "json") == NULL) {
    unexpected(call, "not JSON");
    return false;
  }
  if (a->body.data == NULL || a->body.len == 0) {
    unexpected(call, "no body");
    return false;
  }
  if (skip_space(a->body.data)[0] != '{') {
    unexpected(call, "not a JSON object");
    return false;
  }
  if (call->rq.verb == KUBE_LIST) {
    begin_list(call);
    return true;
  }
  struct aicr_error bad;
  if (!aicr_json_check(a->body.data, a->body.len, AICR_JSON_STRICT,
                       AICR_JSON_DEPTH, &bad)) {
    if (bad.code == AICR_INTERNAL) {
      call->error = bad;
    } else {
      unexpected(call, bad.message);
    }
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
  call->next_mark = 0;
  end_page(call);
  if (!send(call, &call->error)) {
    fail_call(call);
    return false;
  }
  return true;
}

/* False while there is nothing for the owner to see yet. */
static bool take_answer(struct kube_call *call)
{
  struct kube_backend *b = call->client->backend;
  struct kube_answer *a = &call->answer;
  call->transfer = NULL;
  call->failure.attempts = a->attempts;
  bool success =
      a->error.code == AICR_CODE_NONE && a->http >= 200 && a->http < 300;
  if (success) {
    if (!take_success(call)) {
      fail_call(call);
    }
    return true;
  }
  if (may_restart(call)) {
    return !restart(call);
  }
  enum kube_served served = KUBE_SERVED_UNKNOWN;
  bool asks =
      a->http == 403 || a->http == 404 || a->error.code != AICR_CODE_NONE;
  if (asks) {
    served = b->ops->served(b, &call->rq.resource);
  }
  kube_status_error(&call->rq, a, served, &call->error, &call->failure);
  fail_call(call);
  return true;
}

static struct kube_call *take_ready(struct kube_client *c)
{
  struct kube_call *call = c->ready;
  if (call != NULL) {
    unlink_ready(c, call);
    call->phase = PHASE_FAILED;
  }
  return call;
}

struct kube_call *kube_client_poll(struct kube_client *c, int timeout_ms,
                                   void **owner)
{
  struct kube_backend *b = c->backend;
  struct kube_call *call = take_ready(c);
  while (call == NULL) {
    struct kube_answer answer = {0};
    void *done = NULL;
    if (!b->ops->poll(b, timeout_ms, &done, &answer)) {
      return NULL;
    }
    struct kube_call *candidate = done;
    candidate->answer = answer;
    if (take_answer(candidate)) {
      call = candidate;
    }
  }
  *owner = call->owner;
  return call;
}

/* Brent's way to see that tokens go round: compare each with one that is kept
 * and replaced at page 1, 2, 4, 8, … */
static bool next_token(struct kube_call *call, const char *token)
{
  if ((call->page != NULL && strcmp(call->page, token) == 0) ||
      (call->marked_page != NULL && strcmp(call->marked_page, token) == 0) ||
      call->pages >= PAGES_MAX) {
    return aicr_fail(&call->error, AICR_INTERNAL, "protocol",
                     "list %s: the server repeats its continue token after "
                     "%u pages",
                     call->failure.resource, call->pages);
  }
  char *copy = aicr_strndup(token, strlen(token));
  if (copy == NULL) {
    return no_memory(&call->error);
  }
  if (call->pages >= call->next_mark) {
    aicr_free(call->marked_page);
    call->marked_page = call->page;
    call->next_mark = call->pages * 2;
  } else {
    aicr_free(call->page);
  }
  call->page = copy;
  return true;
}

static enum kube_call_state finish_page(struct kube_call *call)
{
  if (!call->list.has_items) {
    unexpected(call, "no list: it has no items");
    fail_call(call);
    return KUBE_CALL_FAILED;
  }
  if (call->list.next_page == NULL) {
    end_page(call);
    call->phase = PHASE_END;
    return KUBE_CALL_END;
  }
  bool sent = next_token(call, call->list.next_page);
  end_page(call);
  if (!sent || !send(call, &call->error)) {
    fail_call(call);
    return KUBE_CALL_FAILED;
  }
  return KUBE_CALL_WAIT;
}

/* apiVersion and kind for items of a typed list, from the list when it already
 * said them, else from the resource. */
static void describe_items(struct kube_call *call)
{
  const struct kube_resource *r = &call->rq.resource;
  const struct aicr_json_list *l = &call->list;
  size_t len = strlen(l->kind);
  bool typed = len > 4 && strcmp(l->kind + len - 4, "List") == 0;
  if (typed) {
    memcpy(call->item_kind, l->kind, len - 4);
    call->item_kind[len - 4] = '\0';
  } else {
    kube_set_text(call->item_kind, sizeof call->item_kind, r->kind);
  }
  if (typed && l->api_version[0] != '\0') {
    kube_set_text(call->item_api_version, sizeof call->item_api_version,
                  l->api_version);
  } else {
    snprintf(call->item_api_version, sizeof call->item_api_version, "%s%s%s",
             r->group, r->group[0] == '\0' ? "" : "/", r->version);
  }
}

static enum kube_call_state next_item(struct kube_call *call, const char **text,
                                      size_t *len)
{
  switch (aicr_json_list_next(&call->list)) {
  case AICR_LIST_ITEM:
    if (call->list.item_len == 0 || skip_space(call->list.item)[0] != '{') {
      unexpected(call, "an item is no object");
      break;
    }
    call->items++;
    describe_items(call);
    *text = call->list.item;
    *len = call->list.item_len;
    return KUBE_CALL_ITEM;
  case AICR_LIST_END:
    return finish_page(call);
  default:
    if (call->list.reader.error.code == AICR_INTERNAL) {
      call->error = call->list.reader.error;
    } else {
      unexpected(call, call->list.reader.error.message);
    }
    break;
  }
  fail_call(call);
  return KUBE_CALL_FAILED;
}

enum kube_call_state kube_call_next(struct kube_call *call, const char **text,
                                    size_t *len)
{
  *text = NULL;
  *len = 0;
  switch (call->phase) {
  case PHASE_OBJECT:
    *text = call->answer.body.data;
    *len = call->answer.body.len;
    return KUBE_CALL_OBJECT;
  case PHASE_PAGE:
    return next_item(call, text, len);
  case PHASE_END:
    return KUBE_CALL_END;
  case PHASE_FAILED:
    return KUBE_CALL_FAILED;
  default:
    return KUBE_CALL_WAIT;
  }
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
