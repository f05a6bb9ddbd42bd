/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_scan.h"

#include <string.h>

/* Containers that are open between items, in an item and in its metadata. */
#define DEPTH_ITEMS    2u
#define DEPTH_ITEM     3u
#define DEPTH_METADATA 4u

void kube_rec_scan_init(struct kube_rec_scan *s, bool whole)
{
  memset(s, 0, sizeof *s);
  aicr_json_init(&s->reader, AICR_JSON_STRICT, AICR_JSON_DEPTH);
  s->whole = whole;
}

void kube_rec_scan_free(struct kube_rec_scan *s)
{
  aicr_json_free(&s->reader);
}

static void bad_list(struct kube_rec_scan *s, const char *what)
{
  if (!s->bad_list) {
    s->bad_list = true;
    aicr_fail(&s->list_error, AICR_INVALID_REQUEST, "malformed",
              "malformed JSON at byte %zu: %s", s->reader.offset, what);
  }
}

static void bad_item(struct kube_rec_scan *s, const char *what)
{
  if (!s->bad_list) {
    s->bad_list = true;
    aicr_fail(&s->list_error, AICR_INVALID_REQUEST, "malformed", "item %zu: %s",
              s->items, what);
  }
}

static bool is_begin(enum aicr_json_token token)
{
  return token == AICR_JSON_OBJECT_BEGIN || token == AICR_JSON_ARRAY_BEGIN;
}

static bool is_end(enum aicr_json_token token)
{
  return token == AICR_JSON_OBJECT_END || token == AICR_JSON_ARRAY_END;
}

/* True when the token completes an item that the caller wants. */
static bool take_item(struct kube_rec_scan *s, enum aicr_json_token token)
{
  struct aicr_json_reader *r = &s->reader;
  struct aicr_error bad;
  if (r->depth == DEPTH_ITEM && is_begin(token)) {
    s->items++;
    s->item_offset = r->offset - 1;
    s->item = (struct kube_rec_facts){0};
    s->inner = (struct kube_rec_fact_state){REC_OTHER, REC_OTHER};
  }
  bool scalar = r->depth == DEPTH_ITEMS && !is_end(token);
  s->items += scalar;
  if (scalar || (r->depth == DEPTH_ITEM && token == AICR_JSON_ARRAY_BEGIN)) {
    bad_item(s, "a Kubernetes object is a JSON object");
    return false;
  }
  if (r->depth > DEPTH_ITEMS) {
    if (!kube_rec_facts_take(&s->item, &s->inner, token, r,
                             r->depth - DEPTH_ITEMS, &bad)) {
      bad_item(s, bad.message);
    }
    return false;
  }
  s->item_len = r->offset - s->item_offset;
  if (s->item_len > REC_ITEM_MAX && !s->bad_list) {
    s->bad_list = true;
    aicr_fail(&s->list_error, AICR_INVALID_REQUEST, "too-large",
              "JSON too large at byte %zu: an item over 16 MiB", r->offset);
  }
  return !s->bad_list && !s->muted;
}

static bool is_text(enum aicr_json_token token,
                    const struct aicr_json_reader *r, size_t max)
{
  return token == AICR_JSON_NULL ||
         (token == AICR_JSON_STRING && r->text_len <= max &&
          memchr(r->text, '\0', r->text_len) == NULL);
}

static void check_items(struct kube_rec_scan *s, enum aicr_json_token token)
{
  s->in_items = token == AICR_JSON_ARRAY_BEGIN;
  if (s->facts.has_items) {
    bad_list(s, "the list has \"items\" twice");
  } else if (!s->in_items && token != AICR_JSON_NULL) {
    bad_list(s, "\"items\" is not an array");
  }
}

/* What a list's members must be. */
static void check_member(struct kube_rec_scan *s, enum aicr_json_token token)
{
  const struct aicr_json_reader *r = &s->reader;
  switch (s->top.top) {
  case REC_KIND:
    if (!is_text(token, r, 127)) {
      bad_list(s, "\"kind\" is not a text of at most 127 bytes");
    }
    break;
  case REC_API_VERSION:
    if (!is_text(token, r, 191)) {
      bad_list(s, "\"apiVersion\" is not a text of at most 191 bytes");
    }
    break;
  case REC_METADATA:
    if (token != AICR_JSON_OBJECT_BEGIN && token != AICR_JSON_NULL) {
      bad_list(s, "\"metadata\" is not an object");
    }
    break;
  case REC_ITEMS:
    check_items(s, token);
    break;
  default:
    break;
  }
}

static void check_metadata(struct kube_rec_scan *s, enum aicr_json_token token)
{
  const struct aicr_json_reader *r = &s->reader;
  if (s->top.inner == REC_RESOURCE_VERSION && !is_text(token, r, 63)) {
    bad_list(s, "metadata.resourceVersion is not a text of at most 63 bytes");
  } else if (s->top.inner == REC_CONTINUE) {
    if (!is_text(token, r, AICR_JSON_STRING_MAX)) {
      bad_list(s, "metadata.continue is not a text");
    } else if (token == AICR_JSON_STRING) {
      s->next_page = r->text_len > 0;
    }
  } else if (s->top.inner == REC_REMAINING && token != AICR_JSON_NULL) {
    if (token != AICR_JSON_INTEGER) {
      bad_list(s, "metadata.remainingItemCount is not an integer");
    }
    s->remaining = token == AICR_JSON_INTEGER && r->integer > 0;
  }
}

/* A token outside items. False when the document's identity cannot be read. */
static bool take_top(struct kube_rec_scan *s, enum aicr_json_token token)
{
  struct aicr_json_reader *r = &s->reader;
  if (!s->begun) {
    s->begun = true;
    s->is_object = token == AICR_JSON_OBJECT_BEGIN;
  } else if (!s->is_object) {
    return true;
  } else if (token != AICR_JSON_KEY && !is_end(token)) {
    unsigned level = r->depth - (is_begin(token) ? 1 : 0);
    if (level == 1) {
      check_member(s, token);
    } else if (level == 2 && s->top.top == REC_METADATA) {
      check_metadata(s, token);
    }
  }
  return r->depth > 2 ||
         kube_rec_facts_take(&s->facts, &s->top, token, r, r->depth, &r->error);
}

enum kube_rec_scan_result kube_rec_scan_next(struct kube_rec_scan *s)
{
  struct aicr_json_reader *r = &s->reader;
  for (;;) {
    enum aicr_json_token token = s->in_items && r->depth > DEPTH_METADATA
                                     ? aicr_json_skip(r, DEPTH_METADATA)
                                     : aicr_json_next(r);
    if (token == AICR_JSON_ERROR) {
      return REC_SCAN_ERROR;
    }
    if (token == AICR_JSON_MORE) {
      return REC_SCAN_MORE;
    }
    if (token == AICR_JSON_END) {
      return REC_SCAN_DOCUMENT;
    }
    if (s->in_items && r->depth > DEPTH_METADATA) {
      continue;
    }
    if (s->in_items && r->depth >= DEPTH_ITEMS) {
      if (take_item(s, token)) {
        return REC_SCAN_ITEM;
      }
      continue;
    }
    s->in_items = false;
    if (!take_top(s, token)) {
      return REC_SCAN_ERROR;
    }
    if (r->depth == 0) {
      s->len = r->offset;
      if (is_end(token) && !s->whole) {
        return REC_SCAN_DOCUMENT;
      }
    }
  }
}
