/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_answer.h"

#include <stdio.h>
#include <string.h>

#include "core/json_writer.h"
#include "core/number.h"
#include "core/text.h"
#include "kube/json_tree.h"
#include "kube/selector.h"

#define JSON            "application/json"
#define BODY_MAX        (1u << 30)
#define PAGE_BYTES      (256u << 10)
#define PAGE_READ_BYTES (8u << 20)

static void no_memory(struct kube_answer *a)
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

static void give_body(struct kube_answer *a, int http, const char *type,
                      const char *body, size_t len)
{
  set_head(a, http, type);
  aicr_buf_add(&a->body, body, len);
  if (a->body.failed) {
    no_memory(a);
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
    no_memory(a);
  }
}

static void give_absent(struct kube_answer *a, const struct kube_request *rq)
{
  char message[1024];
  const struct kube_resource *r = &rq->resource;
  snprintf(message, sizeof message, "%s%s%s \"%s\" not found", r->plural,
           r->group[0] == '\0' ? "" : ".", r->group, rq->name);
  give_status(a, 404, "NotFound", message, r, rq->name);
}

static void give_not_recorded(struct kube_answer *a,
                              const struct kube_request *rq, const char *why)
{
  struct aicr_quoted name, ns;
  const struct kube_resource *r = &rq->resource;
  const char *dot = r->group[0] == '\0' ? "" : ".";
  bool has_name = rq->name != NULL, has_ns = rq->ns != NULL;
  aicr_fail(&a->error, AICR_INTERNAL, "not-recorded",
            "the recording cannot answer %s %s%s%s%s%s%s%s%s%s: %s; add it "
            "with: kubectl get %s%s%s%s -o json",
            kube_verb_name(rq->verb), r->plural, dot, r->group,
            rq->subresource == NULL ? "" : "/",
            rq->subresource == NULL ? "" : rq->subresource, has_name ? " " : "",
            has_name ? aicr_quote(&name, rq->name, strlen(rq->name)) : "",
            has_ns ? " in namespace " : "",
            has_ns ? aicr_quote(&ns, rq->ns, strlen(rq->ns)) : "", why,
            r->plural, dot, r->group, r->namespaced ? " -A" : "");
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

static void give_object(struct kube_answer *a, const struct kube_rec_store *s,
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
    no_memory(a);
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

static bool read_token(const char *token, size_t *serial, size_t *at)
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
  if (rq->page != NULL && !read_token(rq->page, &q->serial, &q->at)) {
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
                       const struct query *q, size_t next)
{
  aicr_buf_adds(b, "],\"metadata\":{\"resourceVersion\":\"1\"");
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

/* One page. It ends at the limit, when the next object would make it too
 * large, or when much was read of which little was selected. */
static void give_page(struct kube_answer *a, const struct kube_rec_store *s,
                      const struct kube_resource *r,
                      const struct kube_rec_set *set, const struct query *q,
                      unsigned limit)
{
  struct page p = {.q = q, .body = &a->body, .limit = limit};
  struct aicr_error bad;
  size_t i = q->at;
  bool ok = true, full = false;
  kube_rec_texts_begin(&p.texts, s);
  set_head(a, 200, JSON);
  aicr_buf_adds(&a->body, "{\"items\":[");
  while (ok && i < set->count && p.read < PAGE_READ_BYTES) {
    ok = add_to_page(&p, &set->items[i], &full, &bad);
    if (full) {
      break;
    }
    i++;
  }
  ok = kube_rec_texts_end(&p.texts, ok ? &bad : NULL) && ok;
  if (!ok) {
    give_unreadable(a, &bad);
    return;
  }
  write_tail(&a->body, r, q, i < set->count ? i : 0);
  if (a->body.failed) {
    no_memory(a);
  }
}

static bool has_ns(const struct kube_rec_type *t, const char *ns)
{
  for (size_t i = 0; i < t->complete_ns_count; i++) {
    if (strcmp(t->complete_ns[i], ns) == 0) {
      return true;
    }
  }
  return false;
}

static const struct kube_rec_failure *failure_of(const struct kube_rec_type *t,
                                                 const char *ns)
{
  const struct kube_rec_failure *found = NULL;
  for (size_t i = 0; i < t->failure_count; i++) {
    const struct kube_rec_failure *f = &t->failures[i];
    bool same =
        ns == NULL ? f->ns == NULL : f->ns != NULL && strcmp(f->ns, ns) == 0;
    found = same ? f : found;
  }
  return found;
}

static void give_failure(struct kube_answer *a,
                         const struct kube_rec_failure *f)
{
  give_body(a, f->http, f->content_type, f->body, f->len);
}

/* Without an index: what is nearest to the request decides, errors first. True
 * when an error is the answer, or nothing is. */
static bool folder_refuses(const struct kube_rec_type *t,
                           const struct kube_request *rq, struct kube_answer *a)
{
  const struct kube_rec_failure *f =
      rq->ns == NULL ? NULL : failure_of(t, rq->ns);
  if (f != NULL) {
    give_failure(a, f);
    return true;
  }
  f = failure_of(t, NULL);
  if (f != NULL && (rq->ns == NULL || !has_ns(t, rq->ns))) {
    give_failure(a, f);
    return true;
  }
  if (rq->verb == KUBE_LIST && rq->ns == NULL && t->failure_count > 0) {
    char why[160];
    snprintf(why, sizeof why, "namespace %s could not be read (%s)",
             t->failures[0].ns, "see errors/");
    give_not_recorded(a, rq, why);
    return true;
  }
  return false;
}

static void answer_folder(struct kube_rec_store *s,
                          const struct kube_request *rq, struct kube_answer *a)
{
  const struct kube_resource *r = &rq->resource;
  const struct kube_rec_type *t =
      kube_rec_store_find(s, r->group, r->version, r->plural);
  if (t == NULL || rq->subresource != NULL) {
    give_not_recorded(a, rq, "nothing of it was recorded");
    return;
  }
  if (folder_refuses(t, rq, a)) {
    return;
  }
  bool complete = t->complete || (rq->ns != NULL && has_ns(t, rq->ns));
  if (rq->verb == KUBE_GET) {
    const struct kube_rec_object *o =
        kube_rec_set_find(&t->set, rq->ns == NULL ? "" : rq->ns, rq->name);
    if (o != NULL) {
      give_object(a, s, &t->r, o);
    } else if (complete) {
      give_absent(a, rq);
    } else {
      give_not_recorded(a, rq,
                        "neither the object nor a complete list was "
                        "recorded");
    }
    return;
  }
  if (!complete) {
    give_not_recorded(a, rq,
                      t->complete_ns_count > 0
                          ? "only some namespaces were recorded"
                          : "no complete list was recorded");
    return;
  }
  struct query q;
  if (make_query(&q, rq, a)) {
    give_page(a, s, &t->r, &t->set, &q, rq->limit);
    free_query(&q);
  }
}

/* The lines of one key: [first, first + count) of the sorted entries. */
struct run {
  size_t first, count;
};

static struct run find_run(const struct kube_rec_store *s,
                           const struct kube_rec_entry *key)
{
  size_t low = 0, high = s->entry_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (kube_rec_entry_compare(&s->entries[mid], key) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  struct run run = {low, 0};
  while (low < s->entry_count &&
         kube_rec_entry_compare(&s->entries[low], key) == 0) {
    run.count++;
    low++;
  }
  return run;
}

/* The answer whose turn it is. A later page belongs to the answer that its
 * token names. */
static struct kube_rec_entry *take_turn(struct kube_rec_store *s,
                                        struct run run,
                                        const struct kube_request *rq,
                                        bool advance)
{
  struct kube_rec_entry *first = &s->entries[run.first];
  size_t serial = 0, at = 0, turn = first->served;
  if (rq->page != NULL && read_token(rq->page, &serial, &at) &&
      serial < run.count) {
    return &s->entries[run.first + serial];
  }
  if (!advance && turn > 0) {
    turn--;
  }
  turn = turn < run.count ? turn : run.count - 1;
  if (advance && first->served < run.count) {
    first->served++;
  }
  return &s->entries[run.first + turn];
}

static void give_entry(struct kube_rec_store *s, const struct kube_rec_entry *e,
                       size_t serial, const struct kube_request *rq,
                       bool select, struct kube_answer *a)
{
  if (e->http == 0) {
    a->transport = e->transport;
    return;
  }
  if (e->body != NULL) {
    give_body(a, e->http, e->content_type, e->body, e->len);
    return;
  }
  struct query q;
  struct kube_request plain = *rq;
  if (!select) {
    plain.label = NULL;
    plain.field = NULL;
  }
  if (make_query(&q, &plain, a)) {
    q.serial = serial;
    give_page(a, s, &s->types[e->type].r, &e->set, &q, rq->limit);
    free_query(&q);
  }
}

/* A complete list tells more than it was asked for: other selectors, one
 * namespace of all, single objects. An error of a list is one for every
 * selector of its scope. */
static bool derive(struct kube_rec_store *s, struct kube_rec_entry *key,
                   const struct kube_request *rq, struct kube_answer *a)
{
  char *const ns[] = {key->ns, ""};
  key->verb = KUBE_LIST;
  key->name = key->label = key->field = "";
  for (size_t i = 0; i < 2; i++) {
    key->ns = ns[i];
    struct run run = find_run(s, key);
    if (run.count == 0) {
      continue;
    }
    struct kube_rec_entry *e = take_turn(s, run, rq, rq->verb == KUBE_LIST);
    bool failed = e->http < 200 || e->http >= 300;
    if (failed && i == 0 && rq->verb == KUBE_LIST) {
      give_entry(s, e, 0, rq, false, a);
      return true;
    }
    if (failed || e->body != NULL) {
      continue;
    }
    if (rq->verb == KUBE_LIST) {
      give_entry(s, e, (size_t)(e - &s->entries[run.first]), rq, true, a);
      return true;
    }
    const struct kube_rec_object *o =
        kube_rec_set_find(&e->set, rq->ns == NULL ? "" : rq->ns, rq->name);
    if (o != NULL) {
      give_object(a, s, &s->types[e->type].r, o);
    } else {
      give_absent(a, rq);
    }
    return true;
  }
  return false;
}

static void answer_index(struct kube_rec_store *s,
                         const struct kube_request *rq, struct kube_answer *a)
{
  const struct kube_resource *r = &rq->resource;
  const struct kube_rec_type *t =
      kube_rec_store_find(s, r->group, r->version, r->plural);
  if (t == NULL) {
    give_not_recorded(a, rq, "index.jsonl has no line of it");
    return;
  }
  /* only compared with, never changed */
  struct kube_rec_entry key = {
      .type = (size_t)(t - s->types),
      .verb = rq->verb,
      .ns = (char *)(rq->ns == NULL ? "" : rq->ns),
      .name = (char *)(rq->name == NULL ? "" : rq->name),
      .subresource = (char *)(rq->subresource == NULL ? "" : rq->subresource),
      .label = (char *)(rq->label == NULL ? "" : rq->label),
      .field = (char *)(rq->field == NULL ? "" : rq->field)};
  struct run run = find_run(s, &key);
  if (run.count > 0) {
    struct kube_rec_entry *e = take_turn(s, run, rq, true);
    give_entry(s, e, (size_t)(e - &s->entries[run.first]), rq, false, a);
  } else if (rq->subresource != NULL || !derive(s, &key, rq, a)) {
    give_not_recorded(a, rq, "index.jsonl has no line that answers it");
  }
}

void kube_rec_answer(struct kube_rec_store *s, const struct kube_request *rq,
                     struct kube_answer *a)
{
  a->attempts = 1;
  if (rq->verb != KUBE_GET && rq->verb != KUBE_LIST) {
    aicr_fail(&a->error, AICR_METHOD_NOT_ALLOWED, "read-only",
              "a recording cannot be changed: %s %s", kube_verb_name(rq->verb),
              rq->resource.plural);
    return;
  }
  if (s->indexed) {
    answer_index(s, rq, a);
  } else {
    answer_folder(s, rq, a);
  }
}
