/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_replay.h"

#include <stdio.h>
#include <string.h>

#include "kube/json_tree.h"
#include "kube/recording_access.h"
#include "kube/recording_give.h"
#include "kube/recording_index.h"
#include "kube/recording_log.h"

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
  if (rq->page != NULL && kube_rec_read_token(rq->page, &serial, &at) &&
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

static bool is_success(const struct kube_rec_entry *e)
{
  return e->http >= 200 && e->http < 300;
}

/* as_recorded: the request has the selectors of the entry. */
static void give_entry(struct kube_rec_store *s, const struct kube_rec_entry *e,
                       size_t serial, const struct kube_request *rq,
                       bool as_recorded, struct kube_answer *a)
{
  a->attempts = e->attempts == 0 ? 1 : e->attempts;
  if (e->http == 0) {
    a->transport = e->transport;
    a->reason = e->reason[0] == '\0' ? NULL : e->reason;
    snprintf(a->detail, sizeof a->detail, "%s", e->detail);
  } else if (e->holds == REC_HOLDS_BLOB) {
    kube_rec_give_blob(a, s, &e->blob, e->content_type, NULL);
    a->http = a->http == 0 ? 0 : e->http;
  } else if (e->holds == REC_HOLDS_BODY) {
    kube_rec_give_body(a, e->http, e->content_type, e->body, e->len);
  } else {
    const struct kube_rec_list_answer l = {.r = &s->types[e->type].r,
                                           .set = &e->set,
                                           .resource_version =
                                               e->resource_version,
                                           .serial = serial,
                                           .partial = e->partial,
                                           .as_recorded = as_recorded};
    kube_rec_give_page(a, s, rq, &l);
  }
}

/* The object of a get from a list of which it may be one. */
static bool derive_object(struct kube_rec_store *s,
                          const struct kube_rec_entry *e,
                          const struct kube_request *rq, struct kube_answer *a)
{
  const struct kube_rec_object *o =
      kube_rec_set_find(&e->set, rq->ns == NULL ? "" : rq->ns, rq->name);
  if (o == NULL && e->partial) {
    return false;
  }
  if (o != NULL) {
    kube_rec_give_object(a, s, &s->types[e->type].r, o);
  } else {
    kube_rec_give_absent(a, rq);
  }
  return true;
}

/* What a list of one scope says of another request. */
static bool derive_from(struct kube_rec_store *s, struct run run,
                        const struct kube_request *rq, bool same_scope,
                        struct kube_answer *a)
{
  bool list = rq->verb == KUBE_LIST;
  struct kube_rec_entry *e = take_turn(s, run, rq, list);
  if (!is_success(e)) {
    if (!same_scope || !list) {
      return false;
    }
    give_entry(s, e, 0, rq, false, a);
    return true;
  }
  if (e->holds != REC_HOLDS_SET) {
    return false;
  }
  if (!list) {
    return derive_object(s, e, rq, a);
  }
  if (e->partial) {
    return false;
  }
  give_entry(s, e, (size_t)(e - &s->entries[run.first]), rq, false, a);
  return true;
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
    if (run.count > 0 && derive_from(s, run, rq, i == 0, a)) {
      return true;
    }
  }
  return false;
}

/* A part of a log that was recorded whole. */
static bool derive_log(struct kube_rec_store *s,
                       const struct kube_rec_entry *key,
                       const struct kube_request *rq, struct kube_answer *a)
{
  struct kube_log_query q;
  char query[128];
  struct kube_rec_entry whole = *key;
  kube_log_query_read(rq->query, &q);
  if (q.more) {
    return false;
  }
  snprintf(query, sizeof query, "%s%s%s%s",
           q.container[0] == '\0' ? "" : "container=", q.container,
           q.container[0] != '\0' && q.previous ? "&" : "",
           q.previous ? "previous=true" : "");
  whole.query = query;
  struct run run = find_run(s, &whole);
  if (run.count == 0) {
    return false;
  }
  const struct kube_rec_entry *e = take_turn(s, run, rq, true);
  if (is_success(e) && e->holds == REC_HOLDS_BLOB) {
    kube_rec_give_blob(a, s, &e->blob, e->content_type, &q);
  } else {
    give_entry(s, e, 0, rq, true, a);
  }
  return true;
}

/* The key of a request; its texts are only compared with, never changed. */
static bool make_key(const struct kube_rec_store *s,
                     const struct kube_request *rq, const char *query,
                     struct kube_rec_entry *key)
{
  const struct kube_resource *r = &rq->resource;
  bool raw = rq->verb == KUBE_RAW;
  const struct kube_rec_type *t =
      raw ? NULL : kube_rec_store_find(s, r->group, r->version, r->plural);
  *key = (struct kube_rec_entry){
      .type = t == NULL ? REC_NO_TYPE : (size_t)(t - s->types),
      .verb = rq->verb,
      .ns = (char *)(rq->ns == NULL ? "" : rq->ns),
      .name = (char *)(rq->name == NULL || raw ? "" : rq->name),
      .subresource = (char *)(rq->subresource == NULL ? "" : rq->subresource),
      .label = (char *)(rq->label == NULL ? "" : rq->label),
      .field = (char *)(rq->field == NULL ? "" : rq->field),
      .query = (char *)query,
      .path = (char *)(raw ? rq->path : "")};
  return raw || t != NULL;
}

static void replay(struct kube_rec_store *s, const struct kube_request *rq,
                   const char *query, struct kube_answer *a)
{
  static const char none[] = "index.jsonl has no line that answers it";
  struct kube_rec_entry key;
  if (!make_key(s, rq, query, &key)) {
    kube_rec_give_not_recorded(a, rq, "index.jsonl has no line of it");
    return;
  }
  struct run run = find_run(s, &key);
  bool over = run.count > 0 && rq->verb == KUBE_WATCH &&
              s->entries[run.first].served >= run.count;
  if (over) {
    kube_rec_give_not_recorded(a, rq, "it was watched no longer");
  } else if (run.count > 0) {
    const struct kube_rec_entry *e = take_turn(s, run, rq, true);
    give_entry(s, e, (size_t)(e - &s->entries[run.first]), rq, true, a);
  } else if (kube_rec_is_log(rq)) {
    if (!derive_log(s, &key, rq, a)) {
      kube_rec_give_not_recorded(a, rq, none);
    }
  } else if (query[0] != '\0' || rq->subresource != NULL ||
             (rq->verb != KUBE_GET && rq->verb != KUBE_LIST) ||
             !derive(s, &key, rq, a)) {
    kube_rec_give_not_recorded(a, rq, none);
  }
}

void kube_rec_replay(struct kube_rec_store *s, const struct kube_request *rq,
                     struct kube_answer *a)
{
  struct aicr_buf query;
  aicr_buf_init(&query, 64u << 10);
  /* What a watch asks for beside its key is where it goes on. */
  bool keyed = rq->verb != KUBE_WATCH;
  if (keyed && !kube_query_sort(rq->query, &query) && query.no_memory) {
    kube_rec_give_no_memory(a);
  } else {
    replay(s, rq, query.len == 0 ? "" : query.data, a);
  }
  aicr_buf_free(&query);
}

void kube_rec_replay_review(struct kube_rec_store *s,
                            const struct kube_request *rq,
                            struct kube_answer *a)
{
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
    aicr_buf_free(&asked);
    return;
  }
  struct run run = {0};
  if (is_one && make_key(s, rq, asked.data, &key)) {
    run = find_run(s, &key);
    key.query = ""; /* an answer that was an error */
    run = run.count > 0 ? run : find_run(s, &key);
  }
  if (run.count > 0) {
    const struct kube_rec_entry *e = take_turn(s, run, rq, true);
    give_entry(s, e, 0, rq, true, a);
  } else {
    kube_rec_give_not_recorded(a, rq, "access.json has no such review");
  }
  aicr_buf_free(&asked);
}
