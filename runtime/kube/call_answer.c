/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/call.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/recording_facts.h"

/* Is a success the answer to what was asked for? A proxy, a gateway or another
 * API may answer any path with 200 and JSON: what is taken for an observation
 * has to say of itself that it is one. */

#define WHY_MAX 512

struct wanted {
  char api_version[320];
  const char *kind;
};

static struct wanted wanted_of(const struct kube_call *call)
{
  const struct kube_resource *r = &call->rq.resource;
  struct wanted w = {.kind = r->kind};
  snprintf(w.api_version, sizeof w.api_version, "%s%s%s", r->group,
           r->group[0] == '\0' ? "" : "/", r->version);
  return w;
}

static bool refuse(struct kube_call *call, const char *what, const char *got,
                   const char *wanted)
{
  char why[WHY_MAX];
  struct aicr_quoted is, not ;
  snprintf(why, sizeof why, "%.64s is %.200s, not %.200s", what,
           aicr_quote(&is, got, strlen(got)),
           aicr_quote(&not, wanted, strlen(wanted)));
  kube_call_unexpected(call, why);
  return false;
}

/* Is it said to be something else? */
static bool differs(const char *got, const char *wanted)
{
  return got[0] != '\0' && wanted[0] != '\0' && strcmp(got, wanted) != 0;
}

/* Does it not even say what it is, or something else than what is wanted ("":
 * anything)? */
static bool is_not(const char *got, const char *wanted)
{
  return got[0] == '\0' || differs(got, wanted);
}

/* A review (authentication.k8s.io, authorization.k8s.io) is answered and not
 * stored: no name is made for it, also where generateName asks for one. */
static bool is_review(const struct kube_resource *r)
{
  static const char end[] = "Review";
  size_t len = strlen(r->kind), tail = sizeof end - 1;
  return len > tail && strcmp(r->kind + len - tail, end) == 0;
}

/* What it has to be called: by what it was asked for, or by the text that it
 * was made from; what gets its name of the server has any. */
struct called {
  char name[KUBE_NAME_MAX + 1]; /* "": anything */
  bool none;
};

static bool is_called(const struct kube_request *rq, struct called *c,
                      struct aicr_error *err)
{
  *c = (struct called){.none = rq->name == NULL};
  kube_set_text(c->name, sizeof c->name, rq->name);
  if (rq->verb != KUBE_CREATE || rq->body == NULL) {
    return true;
  }
  cJSON *sent = kube_json_tree(rq->body, rq->body_len, err);
  const cJSON *meta = kube_json_member(sent, "metadata");
  kube_set_text(c->name, sizeof c->name, kube_json_text(meta, "name"));
  c->none =
      is_review(&rq->resource) ||
      (c->name[0] == '\0' && kube_json_text(meta, "generateName")[0] == '\0');
  bool ok = sent != NULL;
  cJSON_Delete(sent);
  return ok;
}

static bool has_name(struct kube_call *call, const struct kube_rec_facts *f)
{
  const struct kube_request *rq = &call->rq;
  struct called c;
  if (!is_called(rq, &c, &call->error)) {
    return false;
  }
  if (!c.none && is_not(f->name, c.name)) {
    return refuse(call, "metadata.name", f->name, c.name);
  }
  return rq->ns == NULL || !differs(f->ns, rq->ns) ||
         refuse(call, "metadata.namespace", f->ns, rq->ns);
}

/* A deletion may be answered with a Status too, and with one that says what
 * the HTTP code does not. */
static bool is_done(struct kube_call *call)
{
  const struct kube_answer *a = &call->answer;
  cJSON *tree = kube_json_tree(a->body.data, a->body.len, &call->error);
  if (tree == NULL) {
    return false;
  }
  bool done = strcmp(kube_json_text(tree, "status"), "Failure") != 0;
  cJSON_Delete(tree);
  return done || refuse(call, "status", "Failure", "Success");
}

bool kube_call_is_object(struct kube_call *call)
{
  const struct kube_answer *a = &call->answer;
  const struct kube_request *rq = &call->rq;
  struct wanted w = wanted_of(call);
  struct kube_rec_facts f;
  struct aicr_error bad;
  if (!kube_rec_read_facts(a->body.data, a->body.len, &f, &bad)) {
    if (bad.code == AICR_INTERNAL) {
      call->error = bad;
    } else {
      kube_call_unexpected(call, bad.message);
    }
    return false;
  }
  if (strcmp(f.kind, "Status") == 0) {
    return rq->verb == KUBE_DELETE ? is_done(call)
                                   : refuse(call, "kind", f.kind, w.kind);
  }
  bool any = rq->subresource != NULL; /* one may be of any kind and name */
  if (is_not(f.kind, any ? "" : w.kind)) {
    return refuse(call, "kind", f.kind, w.kind);
  }
  if (is_not(f.api_version, any ? "" : w.api_version)) {
    return refuse(call, "apiVersion", f.api_version, w.api_version);
  }
  return any || has_name(call, &f);
}

/* The kind of a list is told by no discovery: it is known of what every server
 * has, and can be anything else of what a definition brought. */
static bool is_list_kind(const struct kube_call *call, const char *kind)
{
  const struct kube_resource *r = &call->rq.resource;
  size_t len = strlen(r->kind);
  return kind[0] == '\0' || kube_builtin_by_name(r->group, r->plural) == NULL ||
         (strncmp(kind, r->kind, len) == 0 && strcmp(kind + len, "List") == 0);
}

bool kube_call_is_list(struct kube_call *call)
{
  const struct aicr_json_list *l = &call->list;
  struct wanted w = wanted_of(call);
  char list_kind[160];
  if (!is_list_kind(call, l->kind)) {
    snprintf(list_kind, sizeof list_kind, "%.150sList", w.kind);
    return refuse(call, "kind", l->kind, list_kind);
  }
  return !differs(l->api_version, w.api_version) ||
         refuse(call, "apiVersion", l->api_version, w.api_version);
}

/* Objects are kept by namespace/name, which some take for two texts. */
static bool is_behind(const struct kube_call *call,
                      const struct aicr_json_identity *id)
{
  char left[KUBE_NAME_MAX + 66], right[sizeof left];
  int c = strcmp(id->ns, call->before.ns);
  snprintf(left, sizeof left, "%s/%s", call->before.ns, call->before.name);
  snprintf(right, sizeof right, "%s/%s", id->ns, id->name);
  return strcmp(right, left) > 0 || c > 0 ||
         (c == 0 && strcmp(id->name, call->before.name) > 0);
}

/* The same object twice, or a page that begins before the end of the one before
 * it: the pages are not of one list, and what is counted is no count. Where a
 * server keeps no order nobody can tell. */
static bool is_next(struct kube_call *call)
{
  const struct aicr_json_identity *id = &call->list.id;
  bool first = call->items == 0;
  bool same = strcmp(id->name, call->before.name) == 0 &&
              strcmp(id->ns, call->before.ns) == 0;
  bool behind = first || is_behind(call, id);
  bool back = !behind && call->order == ORDER_SORTED && call->list.count == 1;
  if (!first && (same || back)) {
    char why[WHY_MAX];
    struct aicr_quoted name, before;
    snprintf(why, sizeof why, "page %u has %.200s behind %.200s", call->pages,
             aicr_quote(&name, id->name, strlen(id->name)),
             aicr_quote(&before, call->before.name, strlen(call->before.name)));
    kube_call_unexpected(call, why);
    return false;
  }
  if (!first && call->order != ORDER_NONE) {
    call->order = behind ? ORDER_SORTED : ORDER_NONE;
  }
  memcpy(call->before.ns, id->ns, sizeof call->before.ns);
  memcpy(call->before.name, id->name, sizeof call->before.name);
  return true;
}

/* A selector that is not understood here is the server's alone. */
static bool read_selectors(struct kube_call *call)
{
  const struct kube_request *rq = &call->rq;
  struct aicr_error bad = {.code = AICR_CODE_NONE};
  bool events = strcmp(rq->resource.group, "events.k8s.io") == 0;
  call->selects = true;
  if (rq->label != NULL) {
    call->label = kube_label_selector(rq->label, &bad);
  }
  /* those know other names of their fields */
  if (rq->field != NULL && !events && bad.code != AICR_INTERNAL) {
    call->field = kube_field_selector(rq->field, &rq->resource, &bad);
  }
  if (bad.code == AICR_INTERNAL) {
    call->error = bad;
  }
  return bad.code != AICR_INTERNAL;
}

/* What loses a request's query, or does not know it, gives every object. */
static bool is_selected(struct kube_call *call)
{
  const struct aicr_json_list *l = &call->list;
  const struct kube_request *rq = &call->rq;
  if (rq->label == NULL && rq->field == NULL) {
    return true;
  }
  if (!call->selects && !read_selectors(call)) {
    return false;
  }
  if (call->label == NULL && call->field == NULL) {
    return true;
  }
  cJSON *tree = cJSON_ParseWithLength(l->item, l->item_len);
  if (tree == NULL) {
    return kube_call_no_memory(&call->error);
  }
  bool label = call->label == NULL || kube_selector_matches(call->label, tree);
  bool field = call->field == NULL || kube_selector_matches(call->field, tree);
  cJSON_Delete(tree);
  const char *by = label ? rq->field : rq->label;
  return (label && field) || refuse(call, "an item that was not selected",
                                    l->id.name, by == NULL ? "" : by);
}

bool kube_call_is_item(struct kube_call *call)
{
  const struct aicr_json_identity *id = &call->list.id;
  const char *ns = call->rq.ns;
  struct wanted w = wanted_of(call);
  if (differs(id->kind, w.kind)) {
    return refuse(call, "an item's kind", id->kind, w.kind);
  }
  if (differs(id->api_version, w.api_version)) {
    return refuse(call, "an item's apiVersion", id->api_version, w.api_version);
  }
  if (id->name[0] == '\0') {
    kube_call_unexpected(call, "an item has no metadata.name");
    return false;
  }
  if (ns != NULL && differs(id->ns, ns)) {
    return refuse(call, "an item's metadata.namespace", id->ns, ns);
  }
  return is_selected(call) && is_next(call);
}

bool kube_call_is_page(struct kube_call *call)
{
  const char *rv = call->list.resource_version;
  return call->pages == 1 || strcmp(rv, call->resource_version) == 0 ||
         refuse(call, "metadata.resourceVersion of a further page", rv,
                call->resource_version);
}

bool kube_call_is_last_page(struct kube_call *call)
{
  char why[WHY_MAX];
  if (call->list.remaining <= 0) {
    return true;
  }
  snprintf(why, sizeof why,
           "metadata.remainingItemCount is %lld, and there is no "
           "metadata.continue",
           (long long)call->list.remaining);
  kube_call_unexpected(call, why);
  return false;
}
