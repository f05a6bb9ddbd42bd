/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_replay.h"

#include <stdio.h>
#include <string.h>

#include "kube/json_tree.h"
#include "kube/recording_access.h"
#include "kube/recording_give.h"
#include "kube/recording_index.h"
#include "kube/recording_log.h"
#include "kube/recording_run.h"
#include "kube/recording_same.h"

/* The lines of one key: [first, first + count) of the sorted entries. */
struct run {
  size_t first, count;
};

/* A request, and whose lines answer it. */
struct replay {
  struct kube_rec_store *s;
  const struct kube_request *rq;
  struct kube_answer *a;
  struct kube_asker asker; /* whose lines; check "": nobody's */
  bool own;                /* only theirs, in their order, else anybody's… */
  bool differ;             /* …of which there were some that differ */
  bool cut;         /* the run of the check was ended by a deadline or signal */
  unsigned attempt; /* that asks */
};

static int compare(const struct replay *r, const struct kube_rec_entry *a,
                   const struct kube_rec_entry *b)
{
  int c = kube_rec_entry_compare(a, b);
  return c != 0 || !r->own ? c : kube_rec_asker_compare(a, b);
}

static struct run find_run(const struct replay *r,
                           const struct kube_rec_entry *key)
{
  const struct kube_rec_store *s = r->s;
  size_t low = 0, high = s->entry_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (compare(r, &s->entries[mid], key) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  struct run run = {low, 0};
  while (low < s->entry_count && compare(r, &s->entries[low], key) == 0) {
    run.count++;
    low++;
  }
  return run;
}

/* Finds the lines of a key that may be given. Of those that others were given
 * nobody can say which is meant, unless they are all the same; and a watch goes
 * on from what its own check was given. */
static bool find(struct replay *r, const struct kube_rec_entry *key,
                 struct run *run)
{
  *run = find_run(r, key);
  if (run->count == 0 || r->own) {
    return run->count > 0;
  }
  if (key->verb == KUBE_WATCH) {
    return false;
  }
  bool same = kube_rec_same(r->s, run->first, run->count);
  r->differ = r->differ || !same;
  return same;
}

/* How many of these lines this attempt was given. */
static size_t *served(const struct replay *r, struct run run)
{
  struct kube_rec_entry *first = &r->s->entries[run.first];
  if (first->served_to != r->attempt) {
    first->served_to = r->attempt;
    first->served = 0;
  }
  return &first->served;
}

/* The answer whose turn it is. A later page belongs to the answer that its
 * token names. */
static const struct kube_rec_entry *take_turn(const struct replay *r,
                                              struct run run, bool advance)
{
  const struct kube_rec_entry *first = &r->s->entries[run.first];
  const struct kube_request *rq = r->rq;
  size_t serial = 0, at = 0, turn = 0;
  if (!r->own) {
    return first;
  }
  if (rq->page != NULL && kube_rec_read_token(rq->page, &serial, &at) &&
      serial < run.count) {
    return first + serial;
  }
  size_t *given = served(r, run);
  turn = *given;
  if (!advance && turn > 0) {
    turn--;
  }
  if (advance && *given < run.count) {
    ++*given;
  }
  return first + (turn < run.count ? turn : run.count - 1);
}

static bool is_success(const struct kube_rec_entry *e)
{
  return e->http >= 200 && e->http < 300;
}

/* as_recorded: the request has the selectors of the entry. */
static void give_entry(const struct replay *r, const struct kube_rec_entry *e,
                       size_t serial, bool as_recorded)
{
  struct kube_answer *a = r->a;
  a->attempts = e->attempts == 0 && e->code == AICR_CODE_NONE ? 1 : e->attempts;
  if (e->code != AICR_CODE_NONE) {
    aicr_fail(&a->error, e->code, e->reason, "%s", e->detail);
  } else if (e->http == 0) {
    a->transport = e->transport;
    a->reason = e->reason[0] == '\0' ? NULL : e->reason;
    snprintf(a->detail, sizeof a->detail, "%s", e->detail);
  } else if (e->holds == REC_HOLDS_BLOB) {
    kube_rec_give_blob(a, r->s, &e->blob, e->content_type, NULL);
    a->http = a->http == 0 ? 0 : e->http;
  } else if (e->holds == REC_HOLDS_BODY) {
    kube_rec_give_body(a, e->http, e->content_type, e->body, e->len);
  } else {
    const struct kube_rec_list_answer l = {.r = &r->s->types[e->type].r,
                                           .set = &e->set,
                                           .resource_version =
                                               e->resource_version,
                                           .serial = serial,
                                           .partial = e->partial,
                                           .as_recorded = as_recorded};
    kube_rec_give_page(a, r->s, r->rq, &l);
  }
}

/* The object of a get from a list of which it may be one. */
static bool derive_object(const struct replay *r,
                          const struct kube_rec_entry *e)
{
  const struct kube_request *rq = r->rq;
  const struct kube_rec_object *o =
      kube_rec_set_find(&e->set, rq->ns == NULL ? "" : rq->ns, rq->name);
  if (o == NULL && e->partial) {
    return false;
  }
  if (o != NULL) {
    kube_rec_give_object(r->a, r->s, &r->s->types[e->type].r, o);
  } else {
    kube_rec_give_absent(r->a, rq);
  }
  return true;
}

/* What a list of one scope says of another request. */
static bool derive_from(const struct replay *r, struct run run, bool same_scope)
{
  bool list = r->rq->verb == KUBE_LIST;
  const struct kube_rec_entry *e = take_turn(r, run, list);
  if (!is_success(e)) {
    if (!same_scope || !list) {
      return false;
    }
    give_entry(r, e, 0, false);
    return true;
  }
  if (e->holds != REC_HOLDS_SET) {
    return false;
  }
  if (!list) {
    return derive_object(r, e);
  }
  if (e->partial) {
    return false;
  }
  give_entry(r, e, (size_t)(e - &r->s->entries[run.first]), false);
  return true;
}

/* A complete list tells more than it was asked for: other selectors, one
 * namespace of all, single objects. An error of a list is one for every
 * selector of its scope. */
static bool derive(struct replay *r, const struct kube_rec_entry *asked)
{
  struct kube_rec_entry key = *asked;
  char *const ns[] = {key.ns, ""};
  key.verb = KUBE_LIST;
  key.name = key.label = key.field = "";
  for (size_t i = 0; i < 2; i++) {
    struct run run;
    key.ns = ns[i];
    if (find(r, &key, &run) && derive_from(r, run, i == 0)) {
      return true;
    }
  }
  return false;
}

/* A part of a log that was recorded whole. */
static bool derive_log(struct replay *r, const struct kube_rec_entry *key)
{
  struct kube_log_query q;
  char query[128];
  struct kube_rec_entry whole = *key;
  struct run run;
  kube_log_query_read(r->rq->query, &q);
  if (q.more) {
    return false;
  }
  snprintf(query, sizeof query, "%s%s%s%s",
           q.container[0] == '\0' ? "" : "container=", q.container,
           q.container[0] != '\0' && q.previous ? "&" : "",
           q.previous ? "previous=true" : "");
  whole.query = query;
  if (!find(r, &whole, &run)) {
    return false;
  }
  const struct kube_rec_entry *e = take_turn(r, run, true);
  if (is_success(e) && e->holds == REC_HOLDS_BLOB) {
    kube_rec_give_blob(r->a, r->s, &e->blob, e->content_type, &q);
  } else {
    give_entry(r, e, 0, true);
  }
  return true;
}

/* The key of a request; its texts are only compared with, never changed. */
static bool make_key(const struct replay *r, const char *query,
                     struct kube_rec_entry *key)
{
  const struct kube_request *rq = r->rq;
  const struct kube_resource *res = &rq->resource;
  bool raw = rq->verb == KUBE_RAW;
  const struct kube_rec_type *t =
      raw ? NULL
          : kube_rec_store_find(r->s, res->group, res->version, res->plural);
  *key = (struct kube_rec_entry){
      .type = t == NULL ? REC_NO_TYPE : (size_t)(t - r->s->types),
      .verb = rq->verb,
      .ns = (char *)(rq->ns == NULL ? "" : rq->ns),
      .name = (char *)(rq->name == NULL || raw ? "" : rq->name),
      .subresource = (char *)(rq->subresource == NULL ? "" : rq->subresource),
      .label = (char *)(rq->label == NULL ? "" : rq->label),
      .field = (char *)(rq->field == NULL ? "" : rq->field),
      .query = (char *)query,
      .path = (char *)(raw ? rq->path : ""),
      .check = (char *)r->asker.check,
      .part = (char *)r->asker.part,
      .attempt = r->asker.attempt};
  return raw || t != NULL;
}

/* A request that was on its way when the check was ended. */
static bool is_left(const struct kube_rec_entry *e)
{
  return e->http == 0 && (e->transport == KUBE_TRANSPORT_CANCELED ||
                          e->transport == KUBE_TRANSPORT_DEADLINE);
}

/* Has the run that was recorded got no further than this? */
static bool is_past_end(const struct replay *r, struct run run)
{
  size_t given = r->cut && r->rq->page == NULL ? *served(r, run) : 0;
  return r->cut && r->rq->page == NULL &&
         (given >= run.count || (given + 1 == run.count &&
                                 is_left(&r->s->entries[run.first + given])));
}

static void give_end(const struct replay *r)
{
  kube_rec_end_error(&r->a->error);
}

/* True when something is the answer. */
static bool answer(struct replay *r, const struct kube_rec_entry *key)
{
  const struct kube_request *rq = r->rq;
  struct run run;
  if (find(r, key, &run)) {
    if (is_past_end(r, run)) {
      give_end(r);
    } else if (r->own && rq->verb == KUBE_WATCH &&
               *served(r, run) >= run.count) {
      kube_rec_give_not_indexed(r->a, rq, "it was watched no longer");
    } else {
      const struct kube_rec_entry *e = take_turn(r, run, true);
      give_entry(r, e, (size_t)(e - &r->s->entries[run.first]), true);
    }
    return true;
  }
  if (r->own && r->cut) {
    give_end(r);
    return true;
  }
  if (kube_rec_is_log(rq)) {
    return derive_log(r, key);
  }
  bool whole = key->query[0] == '\0' && rq->subresource == NULL;
  return whole && (rq->verb == KUBE_GET || rq->verb == KUBE_LIST) &&
         derive(r, key);
}

static struct replay begin(struct kube_rec_store *s,
                           const struct kube_request *rq, struct kube_answer *a)
{
  struct kube_asker nobody = {.attempt = 1};
  const struct kube_asker *asker = rq->asker == NULL ? &nobody : rq->asker;
  struct replay r = {.s = s,
                     .rq = rq,
                     .a = a,
                     .asker = kube_rec_asker(s, asker),
                     .attempt = s->check_count == 0 ? 1 : asker->attempt};
  /* What nobody was answered is the own of whom the recording does not know,
   * where it knows of no checks or none of them asks. */
  r.own = r.asker.check[0] != '\0' || s->check_count == 0 ||
          asker->check[0] == '\0';
  r.cut = r.asker.check[0] != '\0' && !kube_rec_is_cleanup(asker) &&
          kube_rec_run_end(s, asker) != KUBE_TRANSPORT_OK;
  return r;
}

/* First from the asker's own lines, then from those of others. */
static bool answer_any(struct replay *r, const struct kube_rec_entry *key)
{
  if (r->own && answer(r, key)) {
    return true;
  }
  r->own = false;
  return r->s->check_count > 0 && answer(r, key);
}

/* A line of hand may be of all reviews: an error. */
static bool answer_review(struct replay *r, struct kube_rec_entry *key)
{
  bool own = r->own;
  if (answer_any(r, key)) {
    return true;
  }
  r->own = own;
  key->query = "";
  return answer_any(r, key);
}

static void give_none(const struct replay *r, const char *why)
{
  if (r->differ) {
    kube_rec_give_undecided(r->a, r->rq);
  } else {
    kube_rec_give_not_indexed(r->a, r->rq, why);
  }
}

/* A check of which a recording that was broken off has no line: it may be one
 * of that run. */
static bool is_lost(const struct replay *r)
{
  return r->s->open && r->rq->asker != NULL && r->rq->asker->check[0] != '\0' &&
         r->asker.check[0] == '\0';
}

void kube_rec_replay(struct kube_rec_store *s, const struct kube_request *rq,
                     struct kube_answer *a)
{
  struct replay r = begin(s, rq, a);
  struct kube_rec_entry key;
  struct aicr_buf query;
  aicr_buf_init(&query, 64u << 10);
  /* What a watch asks for beside its key is where it goes on. */
  bool keyed = rq->verb != KUBE_WATCH;
  if (is_lost(&r)) {
    give_end(&r);
  } else if (keyed && !kube_query_sort(rq->query, &query) && query.no_memory) {
    kube_rec_give_no_memory(a);
  } else if (!make_key(&r, query.len == 0 ? "" : query.data, &key)) {
    if (r.cut) {
      give_end(&r);
    } else {
      kube_rec_give_not_indexed(a, rq, "index.jsonl has no line of it");
    }
  } else if (!answer_any(&r, &key)) {
    give_none(&r, "index.jsonl has no line that answers it");
  }
  aicr_buf_free(&query);
}

void kube_rec_replay_review(struct kube_rec_store *s,
                            const struct kube_request *rq,
                            struct kube_answer *a)
{
  struct replay r = begin(s, rq, a);
  struct kube_rec_entry key;
  struct aicr_error bad;
  struct aicr_buf asked;
  aicr_buf_init(&asked, 64u << 10);
  cJSON *tree =
      rq->body == NULL ? NULL : kube_json_tree(rq->body, rq->body_len, &bad);
  bool is_one = kube_rec_review_key(tree, &asked);
  cJSON_Delete(tree);
  if (asked.failed) {
    kube_rec_give_no_memory(a);
  } else if (r.cut && !is_one) {
    give_end(&r);
  } else if (!is_one || !make_key(&r, asked.len == 0 ? "" : asked.data, &key) ||
             !answer_review(&r, &key)) {
    give_none(&r, "no such review was recorded");
  }
  aicr_buf_free(&asked);
}
