/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record_call.h"

#include <stdio.h>
#include <string.h>

#include "core/json_writer.h"
#include "core/text.h"
#include "kube/clock.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/record.h"
#include "kube/recording_access.h"
#include "kube/recording_log.h"

#define ERROR_BODY_MAX (1u << 20)

static bool is_resource(const struct kube_call *call, const char *group,
                        const char *plural)
{
  const struct kube_resource *r = &call->rq.resource;
  return strcmp(r->group, group) == 0 && strcmp(r->plural, plural) == 0;
}

static bool is_review(const struct kube_call *call)
{
  return call->rq.verb == KUBE_CREATE &&
         is_resource(call, "authorization.k8s.io", "selfsubjectaccessreviews");
}

/* Changes nothing but what a read was asked for is its key. */
static bool is_read(const struct kube_call *call)
{
  enum kube_verb v = call->rq.verb;
  return v == KUBE_GET || v == KUBE_LIST || v == KUBE_WATCH || v == KUBE_RAW;
}

/* Where the call is recorded, NULL: nowhere. A recording is read-only, so what
 * a write or a command was answered is of no use there, and may echo a secret.
 */
static struct kube_record *record_of(const struct kube_call *call)
{
  bool kept = !call->told && (is_read(call) || is_review(call));
  return kept ? call->client->record : NULL;
}

static bool is_log(const struct kube_call *call)
{
  const char *sub = call->rq.subresource;
  return call->rq.verb == KUBE_GET && is_resource(call, "", "pods") &&
         sub != NULL && strcmp(sub, "log") == 0;
}

static bool is_json(const struct kube_answer *a)
{
  return a->content_type[0] == '\0' || strstr(a->content_type, "json") != NULL;
}

static bool is_clean_text(const struct aicr_buf *b)
{
  return b->len <= ERROR_BODY_MAX && memchr(b->data, '\0', b->len) == NULL &&
         aicr_utf8_valid(b->data, b->len);
}

/* What a review asks; false: it asks nothing. */
static bool add_review(const struct kube_call *call, struct aicr_buf *out)
{
  const struct kube_request *rq = &call->rq;
  struct aicr_error ignored;
  cJSON *tree = rq->body == NULL
                    ? NULL
                    : kube_json_tree(rq->body, rq->body_len, &ignored);
  bool yes = kube_rec_review_key(tree, out);
  cJSON_Delete(tree);
  return yes;
}

/* What else is asked for. False: no memory, or more than fits() lets in. */
static bool add_query(const struct kube_call *call, struct aicr_buf *out)
{
  if (is_review(call)) {
    return add_review(call, out) && !out->failed;
  }
  /* What a watch asks for beside its key is where it goes on. */
  return call->rq.verb == KUBE_WATCH || kube_query_sort(call->rq.query, out);
}

static void fill_line(const struct kube_call *call, struct kube_index_line *l)
{
  const struct kube_request *rq = &call->rq;
  struct aicr_buf query;
  *l = (struct kube_index_line){
      .verb = rq->verb,
      .attempts = call->failure.attempts > 1 ? call->failure.attempts : 0};
  if (rq->verb == KUBE_RAW) {
    kube_set_text(l->path, sizeof l->path, rq->path);
  } else {
    memcpy(l->group, rq->resource.group, sizeof l->group);
    memcpy(l->version, rq->resource.version, sizeof l->version);
    memcpy(l->resource, rq->resource.plural, sizeof l->resource);
    kube_set_text(l->ns, sizeof l->ns, rq->ns);
    kube_set_text(l->name, sizeof l->name, rq->name);
    kube_set_text(l->subresource, sizeof l->subresource, rq->subresource);
    kube_set_text(l->label, sizeof l->label, rq->label);
    kube_set_text(l->field, sizeof l->field, rq->field);
  }
  if (rq->asker != NULL && rq->asker->check[0] != '\0') {
    l->asker = *rq->asker;
  }
  aicr_buf_init(&query, sizeof l->query - 1);
  if (!add_query(call, &query)) {
    kube_record_no_memory(call->client->record);
  } else if (query.len > 0) {
    kube_set_text(l->query, sizeof l->query, query.data);
  }
  aicr_buf_free(&query);
}

/* One that asks nothing has no key; whether there is no memory for it is
 * fill_line()'s to say. */
static bool review_fits(const struct kube_call *call)
{
  struct aicr_buf asked;
  aicr_buf_init(&asked, KUBE_QUERY_MAX);
  bool fits = add_review(call, &asked) && (!asked.failed || asked.no_memory);
  aicr_buf_free(&asked);
  return fits;
}

/* A key that does not fit its line would be another's. */
static bool fits(const struct kube_call *call)
{
  const struct kube_request *rq = &call->rq;
  const struct kube_index_line *l = NULL;
  const struct {
    const char *text;
    size_t size;
  } texts[] = {{rq->label, sizeof l->label},
               {rq->field, sizeof l->field},
               {rq->query, sizeof l->query},
               {rq->verb == KUBE_RAW ? rq->path : NULL, sizeof l->path}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (texts[i].text != NULL && strlen(texts[i].text) >= texts[i].size) {
      return false;
    }
  }
  return is_review(call) ? review_fits(call)
                         : kube_query_count(rq->query) <= KUBE_QUERY_PARAMS;
}

struct place {
  char folder[1024], name[KUBE_NAME_MAX + 64];
  const char *ending;
  bool plain; /* the name says all of what it is the answer to */
};

static void place_log(const struct kube_call *call, struct place *p)
{
  const struct kube_request *rq = &call->rq;
  struct kube_log_query q;
  kube_log_query_read(rq->query, &q);
  snprintf(p->folder, sizeof p->folder, "logs/%.63s/%.253s", rq->ns, rq->name);
  snprintf(p->name, sizeof p->name, "%s%s",
           q.container[0] == '\0' ? "_" : q.container,
           q.previous ? ".previous" : "");
  p->ending = "log";
  p->plain = q.container[0] != '\0' && kube_log_query_is_whole(&q);
}

static void place_resource(const struct kube_call *call, struct place *p,
                           const char *name)
{
  const struct kube_request *rq = &call->rq;
  const struct kube_resource *r = &rq->resource;
  bool in_ns = rq->ns != NULL;
  snprintf(p->folder, sizeof p->folder, "objects/%s/%.63s/%.63s%s%.63s",
           r->group[0] == '\0' ? "core" : r->group, r->version, r->plural,
           in_ns ? "/" : "", in_ns ? rq->ns : "");
  snprintf(p->name, sizeof p->name, "%.253s", name);
  p->ending = "json";
  p->plain = rq->verb == KUBE_LIST ? rq->label == NULL && rq->field == NULL
                                   : is_read(call) && rq->subresource == NULL;
}

static void find_place(const struct kube_call *call, bool json, struct place *p)
{
  const struct kube_request *rq = &call->rq;
  if (rq->verb == KUBE_RAW) {
    snprintf(p->folder, sizeof p->folder, "raw");
    snprintf(p->name, sizeof p->name, "%.253s", rq->path);
    p->ending = "txt";
    p->plain = false;
  } else if (is_log(call)) {
    place_log(call, p);
  } else if (rq->verb == KUBE_WATCH) {
    place_resource(call, p, "watch");
    p->ending = "jsonl";
    p->plain = false;
  } else {
    place_resource(call, p, rq->name != NULL ? rq->name : "answer");
    p->ending = json ? "json" : "txt";
  }
}

static void take_file(struct kube_call *call, struct kube_record_file *f,
                      int http, const char *type, const struct place *p)
{
  struct kube_index_line line;
  fill_line(call, &line);
  line.http = http;
  kube_set_text(line.content_type, sizeof line.content_type, type);
  kube_record_answer(f, &line, p->folder, p->name, p->ending, p->plain);
  call->told = true;
}

static void add_body(const struct kube_call *call, struct kube_record_file *f)
{
  const struct kube_answer *a = &call->answer;
  const char *text = a->body.data == NULL ? "" : a->body.data;
  struct aicr_error ignored;
  bool document = !is_log(call) && kube_is_object(text) &&
                  aicr_json_check(text, a->body.len, AICR_JSON_GO,
                                  AICR_JSON_DEPTH, &ignored);
  if (document) {
    kube_record_add_json(f, text, a->body.len,
                         is_resource(call, "", "secrets"));
  } else {
    kube_record_add_text(f, text, a->body.len);
  }
}

void kube_record_object(struct kube_call *call)
{
  const struct kube_answer *a = &call->answer;
  struct kube_record *r = record_of(call);
  struct place p;
  if (r == NULL || !fits(call)) {
    return;
  }
  if (call->rq.verb == KUBE_RAW && strcmp(call->rq.path, "/version") == 0) {
    kube_record_version(r, a->body.data, a->body.len);
  }
  find_place(call, is_json(a), &p);
  struct kube_record_file *f = kube_record_begin(r);
  add_body(call, f);
  take_file(call, f, a->http, a->content_type, &p);
}

void kube_record_item(struct kube_call *call, const char *text, size_t len)
{
  struct kube_record *r = record_of(call);
  if (r == NULL) {
    return;
  }
  if (call->recorded == NULL) {
    call->recorded = kube_record_begin(r);
    kube_record_add(call->recorded, "{\"items\":[\n", 11);
  } else {
    kube_record_add(call->recorded, ",\n", 2);
  }
  kube_record_add_json(call->recorded, text, len,
                       is_resource(call, "", "secrets"));
}

/* What stands beside the items of a list. */
static void write_rest(const struct kube_call *call, bool partial,
                       struct aicr_buf *b)
{
  const struct kube_resource *r = &call->rq.resource;
  const struct aicr_json_list *l = &call->list;
  bool said = call->list_open && l->kind[0] != '\0';
  char kind[160], version[400];
  snprintf(kind, sizeof kind, "%.127s%s", said ? l->kind : r->kind,
           said ? "" : "List");
  snprintf(version, sizeof version, "%s%s%s", r->group,
           r->group[0] == '\0' ? "" : "/", r->version);
  aicr_buf_adds(b, "\n],\"apiVersion\":");
  aicr_json_write_string(b, version, strlen(version));
  aicr_buf_adds(b, ",\"kind\":");
  aicr_json_write_string(b, kind, strlen(kind));
  aicr_buf_adds(b, ",\"metadata\":{\"resourceVersion\":");
  aicr_json_write_string(b, call->resource_version,
                         strlen(call->resource_version));
  aicr_buf_adds(b, partial ? ",\"continue\":\"not recorded\"}}\n" : "}}\n");
}

static void end_list(struct kube_call *call, bool partial)
{
  struct kube_record *r = record_of(call);
  struct kube_record_file *f = call->recorded;
  struct aicr_buf rest;
  struct place p;
  if (r == NULL) {
    return;
  }
  if (!fits(call)) {
    kube_record_drop(f);
    call->recorded = NULL;
    return;
  }
  if (f == NULL) {
    f = kube_record_begin(r);
    kube_record_add(f, "{\"items\":[\n", 11);
  }
  aicr_buf_init(&rest, 4096);
  write_rest(call, partial, &rest);
  kube_record_add_buf(f, &rest);
  aicr_buf_free(&rest);
  place_resource(call, &p, "list");
  p.plain = p.plain && !partial;
  take_file(call, f, 200, "application/json", &p);
  call->recorded = NULL;
}

void kube_record_end(struct kube_call *call)
{
  end_list(call, false);
}

void kube_record_event(struct kube_call *call, const char *text, size_t len,
                       size_t all)
{
  struct kube_record *r = record_of(call);
  struct aicr_error ignored;
  if (r == NULL) {
    return;
  }
  if (call->recorded == NULL) {
    call->recorded = kube_record_begin(r);
  }
  if (call->rq.verb == KUBE_WATCH &&
      aicr_json_check(text, len, AICR_JSON_GO, AICR_JSON_DEPTH, &ignored)) {
    kube_record_add_json(call->recorded, text, len, false);
    kube_record_add(call->recorded, "\n", 1);
  } else {
    kube_record_add_text(call->recorded, text, all);
  }
}

static void end_stream(struct kube_call *call)
{
  struct kube_record *r = record_of(call);
  struct place p;
  if (r == NULL || !fits(call)) {
    kube_record_drop(call->recorded);
  } else {
    find_place(call, false, &p);
    take_file(call,
              call->recorded == NULL ? kube_record_begin(r) : call->recorded,
              200, call->rq.text ? "text/plain" : "application/json", &p);
  }
  call->recorded = NULL;
}

/* {http, contentType, body} in errors/, or the bare body where it is no text
 * that JSON could hold. */
static void record_error(struct kube_call *call, struct kube_record *r)
{
  const struct kube_answer *a = &call->answer;
  const struct kube_resource *res = &call->rq.resource;
  struct kube_record_file *f = kube_record_begin(r);
  struct place p = {.ending = "json", .plain = call->rq.verb == KUBE_LIST};
  bool named = call->rq.verb != KUBE_RAW;
  if (a->body.len > 0 && !is_clean_text(&a->body)) {
    find_place(call, false, &p);
    p.ending = "txt";
    p.plain = false;
    kube_record_add_text(f, a->body.data, a->body.len);
    take_file(call, f, a->http, a->content_type, &p);
    return;
  }
  struct aicr_buf head;
  aicr_buf_init(&head, 8u << 20);
  aicr_buf_addf(&head, "{\"http\":%d,\"contentType\":", a->http);
  aicr_json_write_string(&head, a->content_type, strlen(a->content_type));
  aicr_buf_adds(&head, ",\"body\":");
  aicr_json_write_string(&head, a->body.len == 0 ? "" : a->body.data,
                         a->body.len);
  aicr_buf_adds(&head, "}\n");
  if (head.failed) {
    kube_record_no_memory(r);
  } else {
    kube_record_add_json(f, head.data, head.len, false);
  }
  aicr_buf_free(&head);
  snprintf(p.folder, sizeof p.folder, "errors/%s%s%.63s",
           !named                  ? "raw"
           : res->group[0] == '\0' ? "core"
                                   : res->group,
           named ? "/" : "", named ? res->version : "");
  snprintf(p.name, sizeof p.name, "%.63s%s%.63s", named ? res->plural : "raw",
           call->rq.ns == NULL ? "" : ".",
           call->rq.ns == NULL ? "" : call->rq.ns);
  take_file(call, f, a->http, a->content_type, &p);
}

static void record_transport(struct kube_call *call, struct kube_record *r,
                             enum kube_transport transport)
{
  const struct kube_answer *a = &call->answer;
  struct kube_index_line line;
  fill_line(call, &line);
  line.transport = transport;
  kube_set_text(line.reason, sizeof line.reason, a->reason);
  kube_set_text(line.detail, sizeof line.detail, a->detail);
  kube_record_line(r, &line);
  call->told = true;
}

/* A replay may have the memory that was wanting. */
static bool is_ours(const struct aicr_error *err)
{
  return strcmp(err->reason, "memory") == 0;
}

/* It was not even sent, for want of a credential. */
static void record_unsent(struct kube_call *call, struct kube_record *r,
                          const struct aicr_error *err)
{
  struct kube_index_line line;
  if (is_ours(err)) {
    return;
  }
  fill_line(call, &line);
  line.attempts = call->answer.attempts;
  line.code = err->code;
  kube_set_text(line.reason, sizeof line.reason, err->reason);
  kube_set_text(line.detail, sizeof line.detail, err->message);
  kube_record_line(r, &line);
  call->told = true;
}

void kube_record_looked(struct kube_call *call)
{
  struct kube_record *r = call->client->record;
  char what[1024];
  if (r == NULL || call->looked || call->asker.check[0] == '\0') {
    return;
  }
  kube_index_what(call->named, strlen(call->named), what);
  call->lookup = kube_record_lookup(r, &call->asker, what);
  call->looked = true;
}

void kube_record_unresolved(struct kube_call *call,
                            const struct aicr_error *err)
{
  struct kube_record *r = call->told ? NULL : call->client->record;
  const struct kube_failure *f = &call->failure;
  struct kube_index_line line = {.kind = KUBE_INDEX_RESOLVE, .code = err->code};
  if (r == NULL || call->asker.check[0] == '\0' || is_ours(err)) {
    return;
  }
  kube_record_looked(call);
  line.looks = call->lookup;
  line.asker = call->asker;
  kube_index_what(call->named, strlen(call->named), line.what);
  line.http = f->transport == KUBE_TRANSPORT_OK ? f->http : 0;
  line.transport = f->transport;
  line.attempts = f->attempts;
  kube_set_text(line.reason, sizeof line.reason, err->reason);
  kube_set_text(line.detail, sizeof line.detail, err->message);
  kube_record_line(r, &line);
  call->told = true;
}

void kube_record_failure(struct kube_call *call)
{
  const struct kube_answer *a = &call->answer;
  struct kube_record *r = record_of(call);
  struct place p;
  if (r == NULL) {
    return;
  }
  kube_record_drop(call->recorded);
  call->recorded = NULL;
  if (!fits(call)) {
    return;
  }
  if (a->error.code != AICR_CODE_NONE) {
    record_unsent(call, r, &a->error);
  } else if (a->http == 0 && a->transport != KUBE_TRANSPORT_OK) {
    record_transport(call, r, a->transport);
  } else if (a->http >= 300) {
    record_error(call, r);
  } else if (a->http >= 200 && !is_json(a)) {
    struct kube_record_file *f = kube_record_begin(r);
    find_place(call, false, &p);
    p.plain = false;
    kube_record_add_text(f, a->body.data == NULL ? "" : a->body.data,
                         a->body.len);
    take_file(call, f, a->http, a->content_type, &p);
  }
}

/* Its owner wanted the answer no more before it came. */
static void record_unanswered(struct kube_call *call, struct kube_record *r)
{
  bool late =
      call->rq.deadline_ms != 0 && aicr_monotonic_ms() >= call->rq.deadline_ms;
  if (fits(call)) {
    record_transport(call, r,
                     late ? KUBE_TRANSPORT_DEADLINE : KUBE_TRANSPORT_CANCELED);
  }
}

/* A text whose end is missing must not be taken for one that is whole. Whoever
 * reads it asks for all of it again. */
static void record_broken(struct kube_call *call, struct kube_record *r)
{
  kube_record_drop(call->recorded);
  call->recorded = NULL;
  if (fits(call) && call->failure.transport != KUBE_TRANSPORT_OK) {
    record_transport(call, r, call->failure.transport);
  }
}

/* An answer came that is none. It is a failure of its own: from what else was
 * recorded a replay would make up one. Its text may be a secret's. */
static bool record_refused(struct kube_call *call, struct kube_record *r)
{
  const char *reason = call->error.reason;
  struct kube_index_line line;
  if (call->phase != PHASE_FAILED || call->rq.stream || !fits(call) ||
      (strcmp(reason, "unexpected-response") != 0 &&
       strcmp(reason, "protocol") != 0)) {
    return false;
  }
  kube_record_drop(call->recorded);
  call->recorded = NULL;
  fill_line(call, &line);
  line.transport = KUBE_TRANSPORT_CUT;
  kube_set_text(line.reason, sizeof line.reason, reason);
  if (call->failure.http != 0) {
    snprintf(line.detail, sizeof line.detail, "HTTP %d", call->failure.http);
  }
  kube_record_line(r, &line);
  call->told = true;
  return true;
}

/* Some of a list or a stream was given out, and no end. */
static bool is_part(const struct kube_call *call)
{
  if (call->rq.stream) {
    return call->phase == PHASE_STREAM || call->phase == PHASE_END ||
           call->recorded != NULL;
  }
  return (call->phase == PHASE_PAGE || call->phase == PHASE_FLIGHT) &&
         call->pages > 0;
}

void kube_record_left(struct kube_call *call)
{
  struct kube_record *r = record_of(call);
  if (call->phase == PHASE_RESOLVE) {
    kube_record_looked(call);
  }
  if (r != NULL && record_refused(call, r)) {
    return;
  }
  if (r != NULL && is_part(call)) {
    if (call->rq.text && call->stream_failed) {
      record_broken(call, r);
    } else if (call->rq.stream) {
      end_stream(call);
    } else {
      end_list(call, true);
    }
    return;
  }
  if (r != NULL && call->phase == PHASE_EXPLAIN) {
    kube_record_failure(call);
  } else if (r != NULL && call->phase == PHASE_FLIGHT) {
    record_unanswered(call, r);
  }
  kube_record_drop(call->recorded);
  call->recorded = NULL;
}
