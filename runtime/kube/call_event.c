/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/call.h"
#include "kube/recording_facts.h"

/* Is a line of a watch an event of what is watched? A server that does not know
 * a field selector, or a proxy that loses the query, tells of every object. */

#define WHY_MAX 512

struct event {
  char type[16];
  struct kube_rec_facts object;
  bool has_object;
};

static bool is_text(const struct aicr_json_reader *r, const char *text)
{
  return r->text_len == strlen(text) && memcmp(r->text, text, r->text_len) == 0;
}

/* What a token of the event says; `top`: the member whose value this is. */
static bool take(struct event *e, const char *top,
                 struct kube_rec_fact_state *at, enum aicr_json_token token,
                 const struct aicr_json_reader *r, struct aicr_error *err)
{
  if (strcmp(top, "object") == 0) {
    e->has_object =
        e->has_object || (r->depth == 2 && token == AICR_JSON_OBJECT_BEGIN);
    return r->depth < 2 ||
           kube_rec_facts_take(&e->object, at, token, r, r->depth - 1, err);
  }
  if (strcmp(top, "type") == 0 && r->depth == 1) {
    bool fits = token == AICR_JSON_STRING && r->text_len < sizeof e->type;
    snprintf(e->type, sizeof e->type, "%.*s", fits ? (int)r->text_len : 0,
             fits ? r->text : "");
  }
  return true;
}

static bool read_event(const char *text, size_t len, struct event *e,
                       struct aicr_error *err)
{
  struct aicr_json_reader r;
  struct kube_rec_fact_state at = {REC_OTHER, REC_OTHER};
  const char *top = "";
  bool ok = true;
  *e = (struct event){.type = ""};
  aicr_json_init(&r, AICR_JSON_STRICT, AICR_JSON_DEPTH);
  aicr_json_feed(&r, text, len);
  aicr_json_finish(&r);
  enum aicr_json_token token = aicr_json_next(&r);
  while (ok && token != AICR_JSON_END && token != AICR_JSON_ERROR) {
    if (token == AICR_JSON_KEY && r.depth == 1) {
      top = is_text(&r, "object") ? "object"
            : is_text(&r, "type") ? "type"
                                  : "";
      if (top[0] == 'o') {
        e->object = (struct kube_rec_facts){.kind = ""};
        e->has_object = false;
      }
    } else {
      ok = take(e, top, &at, token, &r, err);
    }
    token = aicr_json_next(&r);
  }
  if (ok && token == AICR_JSON_ERROR) {
    *err = r.error;
    ok = false;
  }
  aicr_json_free(&r);
  return ok;
}

static bool refuse(struct kube_call *call, const char *what, const char *got,
                   const char *wanted)
{
  struct aicr_quoted is, not ;
  return aicr_fail(&call->error, AICR_INTERNAL, "unexpected-response",
                   "watch %s: unexpected event: %s is %s, not %s",
                   call->failure.resource, what,
                   aicr_quote(&is, got, strlen(got)),
                   aicr_quote(&not, wanted, strlen(wanted)));
}

/* Is it said to be something else, or nothing where something is wanted? */
static bool differs(const char *got, const char *wanted)
{
  return wanted[0] != '\0' && strcmp(got, wanted) != 0;
}

/* The name that a field selector wants, "": any. */
static const char *wanted_name(const struct kube_request *rq)
{
  static const char by_name[] = "metadata.name=";
  const char *f = rq->field == NULL ? "" : rq->field;
  if (strncmp(f, by_name, sizeof by_name - 1) != 0) {
    return "";
  }
  f += sizeof by_name - 1;
  f += *f == '=';
  return strpbrk(f, ",=!\\") == NULL ? f : "";
}

static bool is_of_watch(struct kube_call *call, const struct event *e)
{
  const struct kube_resource *r = &call->rq.resource;
  const struct kube_rec_facts *f = &e->object;
  const char *ns = call->rq.ns == NULL ? "" : call->rq.ns;
  char api_version[320];
  snprintf(api_version, sizeof api_version, "%s%s%s", r->group,
           r->group[0] == '\0' ? "" : "/", r->version);
  if (differs(f->kind, r->kind)) {
    return refuse(call, "kind", f->kind, r->kind);
  }
  if (differs(f->api_version, api_version)) {
    return refuse(call, "apiVersion", f->api_version, api_version);
  }
  if (strcmp(e->type, "BOOKMARK") == 0) {
    return true;
  }
  if (differs(f->ns, ns)) {
    return refuse(call, "metadata.namespace", f->ns, ns);
  }
  const char *name = wanted_name(&call->rq);
  if (f->name[0] == '\0' || differs(f->name, name)) {
    return refuse(call, "metadata.name", f->name,
                  name[0] == '\0' ? "a name" : name);
  }
  return true;
}

bool kube_call_is_event(struct kube_call *call, const char *text, size_t len)
{
  static const char *const types[] = {"ADDED", "MODIFIED", "DELETED",
                                      "BOOKMARK"};
  struct event e;
  struct aicr_error bad;
  if (!read_event(text, len, &e, &bad)) {
    if (bad.code == AICR_INTERNAL) {
      call->error = bad;
      return false;
    }
    return aicr_fail(&call->error, AICR_INTERNAL, "unexpected-response",
                     "watch %s: unexpected event: %.512s",
                     call->failure.resource, bad.message);
  }
  if (strcmp(e.type, "ERROR") == 0) {
    return true;
  }
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (strcmp(types[i], e.type) == 0 && e.has_object) {
      return is_of_watch(call, &e);
    }
  }
  return refuse(call, e.has_object ? "type" : "object",
                e.has_object ? e.type : "", e.has_object ? "ADDED" : "there");
}
