/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/json_reader.h"
#include "kube/recording_store.h"

enum member {
  OTHER,
  API_VERSION,
  KIND,
  METADATA,
  ITEMS,
  NAME,
  NAMESPACE,
  UID,
  RESOURCE_VERSION
};

static bool is(const struct aicr_json_reader *r, const char *word)
{
  return r->text_len == strlen(word) && memcmp(r->text, word, r->text_len) == 0;
}

static enum member top_member(const struct aicr_json_reader *r)
{
  return is(r, "apiVersion") ? API_VERSION
         : is(r, "kind")     ? KIND
         : is(r, "metadata") ? METADATA
         : is(r, "items")    ? ITEMS
                             : OTHER;
}

static enum member metadata_member(const struct aicr_json_reader *r)
{
  return is(r, "name")              ? NAME
         : is(r, "namespace")       ? NAMESPACE
         : is(r, "uid")             ? UID
         : is(r, "resourceVersion") ? RESOURCE_VERSION
                                    : OTHER;
}

struct slot {
  char *text;
  size_t size;
  const char *what;
};

static struct slot slot_of(struct kube_rec_facts *f, enum member m)
{
  switch (m) {
  case API_VERSION:
    return (struct slot){f->api_version, sizeof f->api_version, "apiVersion"};
  case KIND:
    return (struct slot){f->kind, sizeof f->kind, "kind"};
  case NAME:
    return (struct slot){f->name, sizeof f->name, "metadata.name"};
  case NAMESPACE:
    return (struct slot){f->ns, sizeof f->ns, "metadata.namespace"};
  case UID:
    return (struct slot){f->uid, sizeof f->uid, "metadata.uid"};
  case RESOURCE_VERSION:
    return (struct slot){f->rv, sizeof f->rv, "metadata.resourceVersion"};
  default:
    return (struct slot){0};
  }
}

static bool take_text(struct kube_rec_facts *f, enum member m,
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

/* What a token means for the facts. `top` and `inner` are the members of the
 * object and of its metadata whose values come next. */
static bool take_token(struct kube_rec_facts *f, enum aicr_json_token token,
                       const struct aicr_json_reader *r, enum member *top,
                       enum member *inner, struct aicr_error *err)
{
  switch (token) {
  case AICR_JSON_KEY:
    if (r->depth == 1) {
      *top = top_member(r);
    } else if (r->depth == 2 && *top == METADATA) {
      *inner = metadata_member(r);
    }
    return true;
  case AICR_JSON_STRING:
    if (r->depth == 1) {
      return take_text(f, *top, r, err);
    }
    return r->depth != 2 || *top != METADATA || take_text(f, *inner, r, err);
  case AICR_JSON_ARRAY_BEGIN:
    f->has_items = f->has_items || (r->depth == 2 && *top == ITEMS);
    if (r->depth == 2) {
      *top = OTHER;
    }
    *inner = OTHER;
    return true;
  case AICR_JSON_NULL:
    f->has_items = f->has_items || (r->depth == 1 && *top == ITEMS);
    return true;
  default:
    *inner = OTHER;
    return true;
  }
}

bool kube_rec_read_facts(const char *text, size_t len,
                         struct kube_rec_facts *out, struct aicr_error *err)
{
  struct aicr_json_reader r;
  enum member top = OTHER, inner = OTHER;
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
    ok = take_token(out, token, &r, &top, &inner, err);
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
