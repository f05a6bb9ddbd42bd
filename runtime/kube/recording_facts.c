/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kube/recording_facts.h"

static bool is(const struct aicr_json_reader *r, const char *word)
{
  return r->text_len == strlen(word) && memcmp(r->text, word, r->text_len) == 0;
}

static enum kube_rec_member top_member(const struct aicr_json_reader *r)
{
  return is(r, "apiVersion") ? REC_API_VERSION
         : is(r, "kind")     ? REC_KIND
         : is(r, "metadata") ? REC_METADATA
         : is(r, "items")    ? REC_ITEMS
                             : REC_OTHER;
}

static enum kube_rec_member metadata_member(const struct aicr_json_reader *r)
{
  return is(r, "name")                 ? REC_NAME
         : is(r, "namespace")          ? REC_NAMESPACE
         : is(r, "uid")                ? REC_UID
         : is(r, "resourceVersion")    ? REC_RESOURCE_VERSION
         : is(r, "continue")           ? REC_CONTINUE
         : is(r, "remainingItemCount") ? REC_REMAINING
                                       : REC_OTHER;
}

struct slot {
  char *text;
  size_t size;
  const char *what;
};

static struct slot slot_of(struct kube_rec_facts *f, enum kube_rec_member m)
{
  switch (m) {
  case REC_API_VERSION:
    return (struct slot){f->api_version, sizeof f->api_version, "apiVersion"};
  case REC_KIND:
    return (struct slot){f->kind, sizeof f->kind, "kind"};
  case REC_NAME:
    return (struct slot){f->name, sizeof f->name, "metadata.name"};
  case REC_NAMESPACE:
    return (struct slot){f->ns, sizeof f->ns, "metadata.namespace"};
  case REC_UID:
    return (struct slot){f->uid, sizeof f->uid, "metadata.uid"};
  case REC_RESOURCE_VERSION:
    return (struct slot){f->rv, sizeof f->rv, "metadata.resourceVersion"};
  default:
    return (struct slot){0};
  }
}

static bool take_text(struct kube_rec_facts *f, enum kube_rec_member m,
                      const struct aicr_json_reader *r, struct aicr_error *err)
{
  struct slot s = slot_of(f, m);
  if (s.text == NULL) {
    return true;
  }
  if (r->text_len >= s.size || memchr(r->text, '\0', r->text_len) != NULL) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "malformed",
                     "%s is longer than %zu bytes or holds a NUL", s.what,
                     s.size - 1);
  }
  memcpy(s.text, r->text, r->text_len);
  s.text[r->text_len] = '\0';
  return true;
}

/* A repeated member takes the place of the one before, whatever it is: what
 * Lua is given is the last one. */
static void forget(struct kube_rec_facts *f, enum kube_rec_member m)
{
  static const enum kube_rec_member inner[] = {REC_NAME, REC_NAMESPACE, REC_UID,
                                               REC_RESOURCE_VERSION};
  struct slot s = slot_of(f, m);
  if (s.text != NULL) {
    s.text[0] = '\0';
  }
  if (m == REC_METADATA) {
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
      forget(f, inner[i]);
    }
  }
}

bool kube_rec_facts_take(struct kube_rec_facts *f,
                         struct kube_rec_fact_state *at,
                         enum aicr_json_token token,
                         const struct aicr_json_reader *r, unsigned depth,
                         struct aicr_error *err)
{
  switch (token) {
  case AICR_JSON_KEY:
    if (depth == 1) {
      at->top = top_member(r);
      forget(f, at->top);
    } else if (depth == 2 && at->top == REC_METADATA) {
      at->inner = metadata_member(r);
      forget(f, at->inner);
    }
    return true;
  case AICR_JSON_STRING:
    if (depth == 1) {
      return take_text(f, at->top, r, err);
    }
    return depth != 2 || at->top != REC_METADATA ||
           take_text(f, at->inner, r, err);
  case AICR_JSON_ARRAY_BEGIN:
    f->has_items = f->has_items || (depth == 2 && at->top == REC_ITEMS);
    if (depth == 2) {
      at->top = REC_OTHER;
    }
    at->inner = REC_OTHER;
    return true;
  case AICR_JSON_NULL:
    f->has_items = f->has_items || (depth == 1 && at->top == REC_ITEMS);
    return true;
  default:
    at->inner = REC_OTHER;
    return true;
  }
}

bool kube_rec_read_facts(const char *text, size_t len,
                         struct kube_rec_facts *out, struct aicr_error *err)
{
  struct aicr_json_reader r;
  struct kube_rec_fact_state at = {REC_OTHER, REC_OTHER};
  bool ok = true;
  *out = (struct kube_rec_facts){0};
  aicr_json_init(&r, AICR_JSON_STRICT, AICR_JSON_DEPTH);
  aicr_json_feed(&r, text, len);
  aicr_json_finish(&r);
  enum aicr_json_token token = aicr_json_next(&r);
  if (token != AICR_JSON_OBJECT_BEGIN && token != AICR_JSON_ERROR) {
    ok = aicr_fail(err, AICR_INVALID_REQUEST, "malformed",
                   "a Kubernetes object is a JSON object");
  }
  while (ok && token != AICR_JSON_END && token != AICR_JSON_ERROR) {
    ok = kube_rec_facts_take(out, &at, token, &r, r.depth, err);
    token = aicr_json_next(&r);
  }
  if (ok && token == AICR_JSON_ERROR) {
    if (err != NULL) {
      *err = r.error;
    }
    ok = false;
  }
  aicr_json_free(&r);
  return ok;
}
