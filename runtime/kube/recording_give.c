/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_give.h"

#include <stdio.h>
#include <string.h>

#include "core/json_writer.h"
#include "core/number.h"
#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/recording_log.h"
#include "kube/selector.h"

#define JSON            "application/json"
#define BODY_MAX        (1u << 30)
#define PAGE_BYTES      (256u << 10)
#define PAGE_READ_BYTES (8u << 20)

void kube_rec_give_no_memory(struct kube_answer *a)
{
  aicr_buf_free(&a->body);
  a->http = 0;
  aicr_fail(&a->error, AICR_INTERNAL, "memory",
            "no memory for an answer of the recording");
}

static void set_head(struct kube_answer *a, int http, const char *type)
{
  a->http = http;
  snprintf(a->content_type, sizeof a->content_type, "%s", type);
  aicr_buf_init(&a->body, BODY_MAX);
}

void kube_rec_give_body(struct kube_answer *a, int http, const char *type,
                        const char *body, size_t len)
{
  set_head(a, http, type);
  aicr_buf_add(&a->body, body, len);
  if (a->body.failed) {
    kube_rec_give_no_memory(a);
  }
}

/* The Status that a server answers with. `name` NULL: no details. */
static void give_status(struct kube_answer *a, int http, const char *reason,
                        const char *message, const struct kube_resource *r,
                        const char *name)
{
  struct aicr_buf *b = &a->body;
  set_head(a, http, JSON);
  aicr_buf_adds(b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                   "\"status\":\"Failure\",\"message\":");
  aicr_json_write_string(b, message, strlen(message));
  aicr_buf_addf(b, ",\"reason\":\"%s\"", reason);
  if (name != NULL) {
    aicr_buf_adds(b, ",\"details\":{\"name\":");
    aicr_json_write_string(b, name, strlen(name));
    if (r->group[0] != '\0') {
      aicr_buf_addf(b, ",\"group\":\"%s\"", r->group);
    }
    aicr_buf_addf(b, ",\"kind\":\"%s\"}", r->plural);
  }
  aicr_buf_addf(b, ",\"code\":%d}", http);
  if (b->failed) {
    kube_rec_give_no_memory(a);
  }
}

void kube_rec_give_absent(struct kube_answer *a, const struct kube_request *rq)
{
  char message[1024];
  const struct kube_resource *r = &rq->resource;
  snprintf(message, sizeof message, "%s%s%s \"%s\" not found", r->plural,
           r->group[0] == '\0' ? "" : ".", r->group, rq->name);
  give_status(a, 404, "NotFound", message, r, rq->name);
}

static bool is_log(const struct kube_request *rq)
{
  return rq->subresource != NULL && strcmp(rq->subresource, "log") == 0;
}

static void give_refusal(struct kube_answer *a, const struct kube_request *rq,
                         const char *why, const char *advice)
{
  struct aicr_quoted name, ns;
  const struct kube_resource *r = &rq->resource;
  const char *dot = r->group[0] == '\0' ? "" : ".";
  bool has_name = rq->name != NULL, has_ns = rq->ns != NULL;
  char full[512];
  if (rq->verb == KUBE_RAW) {
    kube_set_text(full, sizeof full, rq->path);
  } else {
    snprintf(full, sizeof full, "%s%s%s%s%s", r->plural, dot, r->group,
             rq->subresource == NULL ? "" : "/",
             rq->subresource == NULL ? "" : rq->subresource);
  }
  aicr_fail(&a->error, AICR_INTERNAL, "not-recorded",
            "the recording cannot answer %s %s%s%s%s%s: %s; add it with: %s",
            kube_verb_name(rq->verb), full, has_name ? " " : "",
            has_name ? aicr_quote(&name, rq->name, strlen(rq->name)) : "",
            has_ns ? " in namespace " : "",
            has_ns ? aicr_quote(&ns, rq->ns, strlen(rq->ns)) : "", why, advice);
}

void kube_rec_give_not_recorded(struct kube_answer *a,
                                const struct kube_request *rq, const char *why)
{
  const struct kube_resource *r = &rq->resource;
  char advice[640] = "--record";
  if (is_log(rq)) {
    snprintf(advice, sizeof advice,
             "kubectl logs (as logs/NAMESPACE/POD/"
             "CONTAINER.log), or --record");
  } else if (rq->verb == KUBE_GET || rq->verb == KUBE_LIST) {
    snprintf(advice, sizeof advice, "kubectl get %s%s%s%s -o json", r->plural,
             r->group[0] == '\0' ? "" : ".", r->group,
             r->namespaced ? " -A" : "");
  }
  give_refusal(a, rq, why, advice);
}

void kube_rec_give_not_indexed(struct kube_answer *a,
                               const struct kube_request *rq, const char *why)
{
  give_refusal(a, rq, why, "--record, in a run of this check");
}

void kube_rec_give_undecided(struct kube_answer *a,
                             const struct kube_request *rq)
{
  kube_rec_give_not_indexed(
      a, rq, "others were given answers that differ, and none to this check");
}

/* What was recorded cannot be read any more. */
static void give_unreadable(struct kube_answer *a, const struct aicr_error *why)
{
  aicr_buf_free(&a->body);
  a->http = 0;
  a->error = *why;
  a->error.code = AICR_INTERNAL;
}

/* An object as a get gives it: items of a typed list lack their type. */
static void write_object(struct aicr_buf *b, const struct kube_resource *r,
                         const struct kube_rec_object *o, const char *text)
{
  const char *rest = text + 1 + strspn(text + 1, " \t\r\n");
  aicr_buf_addc(b, '{');
  if (!o->has_kind && r->kind[0] != '\0') {
    aicr_buf_adds(b, "\"kind\":");
    aicr_json_write_string(b, r->kind, strlen(r->kind));
    aicr_buf_addc(b, ',');
  }
  if (!o->has_api_version) {
    aicr_buf_addf(b, "\"apiVersion\":\"%s%s%s\",", r->group,
                  r->group[0] == '\0' ? "" : "/", r->version);
  }
  /* An object without any member has no name, so there is a next one. */
  aicr_buf_add(b, rest, o->len - (size_t)(rest - text));
}

void kube_rec_give_object(struct kube_answer *a, const struct kube_rec_store *s,
                          const struct kube_resource *r,
                          const struct kube_rec_object *o)
{
  struct kube_rec_texts texts;
  struct aicr_error bad;
  kube_rec_texts_begin(&texts, s);
  const char *text = kube_rec_text(&texts, o, &bad);
  set_head(a, 200, JSON);
  if (text != NULL) {
    write_object(&a->body, r, o, text);
  }
  bool same = kube_rec_texts_end(&texts, text == NULL ? NULL : &bad);
  if (text == NULL || !same) {
    give_unreadable(a, &bad);
  } else if (a->body.failed) {
    kube_rec_give_no_memory(a);
  }
}

/* A list request over a set: what it selects, and where its page begins. */
struct query {
  const char *ns;
  struct kube_selector *label, *field;
  size_t serial, at; /* of the continue token */
};

static void free_query(struct query *q)
{
  kube_selector_free(q->label);
  kube_selector_free(q->field);
}

bool kube_rec_read_token(const char *token, size_t *serial, size_t *at)
{
  int64_t a = 0, b = 0;
  if (strncmp(token, "rec.", 4) != 0) {
    return false;
  }
  const char *first = token + 4;
  const char *dot = strchr(first, '.');
  if (dot == NULL || !aicr_parse_int64(first, (size_t)(dot - first), &a) ||
      !aicr_parse_int64(dot + 1, strlen(dot + 1), &b) || a < 0 || b < 0) {
    return false;
  }
  *serial = (size_t)a;
  *at = (size_t)b;
  return true;
}

/* False when the answer is given already: a selector or token is bad. */
static bool make_query(struct query *q, const struct kube_request *rq,
                       struct kube_answer *a)
{
  struct aicr_error bad;
  *q = (struct query){.ns = rq->ns};
  if (rq->page != NULL && !kube_rec_read_token(rq->page, &q->serial, &q->at)) {
    give_status(a, 400, "BadRequest",
                "invalid continue token: not one of this recording", NULL,
                NULL);
    return false;
  }
  bool ok = true;
  if (rq->label != NULL) {
    q->label = kube_label_selector(rq->label, &bad);
    ok = q->label != NULL;
  }
  if (ok && rq->field != NULL) {
    q->field = kube_field_selector(rq->field, &rq->resource, &bad);
    ok = q->field != NULL;
  }
  if (!ok) {
    free_query(q);
    if (bad.code == AICR_INTERNAL) {
      a->error = bad;
    } else {
      give_status(a, 400, "BadRequest", bad.message, NULL, NULL);
    }
  }
  return ok;
}

static bool has_selector(const struct query *q)
{
  return q->label != NULL || q->field != NULL;
}

/* Does what an object's text says fit? */
static bool selects(const struct query *q, const char *text, size_t len,
                    bool *yes, struct aicr_error *err)
{
  cJSON *tree = cJSON_ParseWithLength(text, len);
  if (tree == NULL) {
    return aicr_fail(err, AICR_INTERNAL, "memory",
                     "no memory to select objects");
  }
  *yes = (q->label == NULL || kube_selector_matches(q->label, tree)) &&
         (q->field == NULL || kube_selector_matches(q->field, tree));
  cJSON_Delete(tree);
  return true;
}

static void write_tail(struct aicr_buf *b, const struct kube_resource *r,
                       const struct query *q, const char *rv, size_t next)
{
  aicr_buf_adds(b, "],\"metadata\":{\"resourceVersion\":");
  aicr_json_write_string(b, rv, strlen(rv));
  if (next != 0) {
    aicr_buf_addf(b, ",\"continue\":\"rec.%zu.%zu\"", q->serial, next);
  }
  aicr_buf_addf(b, "},\"apiVersion\":\"%s%s%s\",\"kind\":", r->group,
                r->group[0] == '\0' ? "" : "/", r->version);
  char kind[160];
  snprintf(kind, sizeof kind, "%sList", r->kind);
  aicr_json_write_string(b, kind, strlen(kind));
  aicr_buf_addc(b, '}');
}

/* A page that is being filled. */
struct page {
  struct kube_rec_texts texts;
  const struct query *q;
  struct aicr_buf *body;
  unsigned limit; /* 0: none */
  size_t given, read;
};

/* Adds an object when it is selected and there is room for it; *full when
 * there is none. */
static bool add_to_page(struct page *p, const struct kube_rec_object *o,
                        bool *full, struct aicr_error *err)
{
  const struct query *q = p->q;
  const char *text = NULL;
  bool yes = q->ns == NULL || strcmp(kube_rec_ns(o), q->ns) == 0;
  if (yes && has_selector(q)) {
    text = kube_rec_text(&p->texts, o, err);
    p->read += o->len;
    if (text == NULL || !selects(q, text, o->len, &yes, err)) {
      return false;
    }
  }
  *full = yes && p->given > 0 &&
          (p->given == p->limit || p->body->len + o->len > PAGE_BYTES);
  if (!yes || *full) {
    return true;
  }
  text = text != NULL ? text : kube_rec_text(&p->texts, o, err);
  if (text == NULL) {
    return false;
  }
  if (p->given++ > 0) {
    aicr_buf_addc(p->body, ',');
  }
  aicr_buf_add(p->body, text, o->len);
  return true;
}

/* The objects of a page: it ends at the limit, when the next object would make
 * it too large, or when much was read of which little was selected. *next is
 * where the one after it begins. */
static bool fill_page(struct page *p, const struct kube_rec_set *set,
                      size_t *next, struct aicr_error *err)
{
  bool ok = true, full = false;
  size_t i = p->q->at;
  while (ok && !full && i < set->count && p->read < PAGE_READ_BYTES) {
    ok = add_to_page(p, &set->items[i], &full, err);
    i += !full;
  }
  *next = i;
  return kube_rec_texts_end(&p->texts, ok ? err : NULL) && ok;
}

static void write_page(struct kube_answer *a, const struct kube_rec_store *s,
                       const struct kube_rec_list_answer *l,
                       const struct query *q, unsigned limit)
{
  struct page p = {.q = q, .body = &a->body, .limit = limit};
  struct aicr_error bad;
  const char *rv = l->resource_version[0] == '\0' ? "1" : l->resource_version;
  size_t next = 0;
  kube_rec_texts_begin(&p.texts, s);
  set_head(a, 200, JSON);
  aicr_buf_adds(&a->body, "{\"items\":[");
  if (!fill_page(&p, l->set, &next, &bad)) {
    give_unreadable(a, &bad);
    return;
  }
  bool last = next >= l->set->count && !l->partial;
  write_tail(&a->body, l->r, q, rv, last ? 0 : next);
  if (a->body.failed) {
    kube_rec_give_no_memory(a);
  }
}

void kube_rec_give_page(struct kube_answer *a, const struct kube_rec_store *s,
                        const struct kube_request *rq,
                        const struct kube_rec_list_answer *l)
{
  struct query q;
  struct kube_request plain = *rq;
  if (l->as_recorded) {
    plain.label = NULL;
    plain.field = NULL;
  }
  if (!make_query(&q, &plain, a)) {
    return;
  }
  q.serial = l->serial;
  if (l->partial && q.at >= l->set->count) {
    kube_rec_give_not_recorded(a, rq,
                               "the run that recorded it took no more of it");
  } else {
    write_page(a, s, l, &q, rq->limit);
  }
  free_query(&q);
}

void kube_rec_give_blob(struct kube_answer *a, const struct kube_rec_store *s,
                        const struct kube_rec_blob *blob, const char *type,
                        const struct kube_log_query *q)
{
  struct aicr_error bad;
  set_head(a, 200, type);
  if (!kube_rec_blob_read(s, blob, &a->body, &bad)) {
    give_unreadable(a, &bad);
  } else if (q != NULL) {
    kube_log_cut(q, &a->body);
  }
}
