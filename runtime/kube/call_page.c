/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "kube/call.h"
#include "kube/fixed_text.h"
#include "kube/record_call.h"

#define PART ((size_t)16 << 10) /* of a page that is unpacked */
/* Whoever took so many items of a page will want the next one. */
#define AHEAD_AFTER 16

void kube_call_end_page(struct kube_call *call)
{
  if (call->list_open) {
    aicr_json_list_free(&call->list);
    call->list_open = false;
  }
  kube_gunzip_end(&call->gunzip);
  aicr_free(call->part);
  call->part = NULL;
  call->part_len = 0;
  kube_answer_free(&call->answer);
  memset(&call->answer, 0, sizeof call->answer);
}

bool kube_call_begin_page(struct kube_call *call)
{
  const struct kube_answer *a = &call->answer;
  aicr_json_list_init(&call->list);
  call->list_open = true;
  call->first_part = true;
  if (a->gzip) {
    call->part = aicr_calloc(1, PART);
    if (call->part == NULL || !kube_gunzip_begin(&call->gunzip, a->body.data,
                                                 a->body.len, KUBE_PAGE_MAX)) {
      return false;
    }
  } else {
    aicr_json_feed(&call->list.reader, a->body.data, a->body.len);
    aicr_json_finish(&call->list.reader);
  }
  call->pages++;
  call->phase = PHASE_PAGE;
  return true;
}

/* Only how the first part begins: what follows may be anything. */
const char *kube_call_head(const struct kube_call *call, size_t *len)
{
  const struct kube_answer *a = &call->answer;
  if (a->gzip) {
    *len = call->first_part ? call->part_len : 0;
    return *len == 0 ? "" : call->part;
  }
  *len = a->body.data == NULL ? 0 : a->body.len;
  return *len == 0 ? "" : a->body.data;
}

/* What came is no page: as if it had not come. */
static void fail_page(struct kube_call *call, const char *reason)
{
  struct kube_answer *a = &call->answer;
  a->http = 0;
  a->transport = KUBE_TRANSPORT_CUT;
  a->reason = reason;
  kube_call_fail_answer(call, KUBE_SERVED_UNKNOWN);
}

static void fail_packed(struct kube_call *call, enum kube_gunzip_result why)
{
  struct kube_answer *a = &call->answer;
  if (why == KUBE_GUNZIP_NO_MEMORY) {
    kube_call_no_memory(&call->error);
    kube_call_fail(call);
    return;
  }
  snprintf(a->detail, sizeof a->detail, "page %u, %zu bytes", call->pages,
           a->body.len);
  fail_page(call, why == KUBE_GUNZIP_TOO_LARGE ? "response-too-large"
                                               : "bad-encoding");
}

bool kube_call_lost_page(struct kube_call *call)
{
  struct kube_answer *a = &call->answer;
  if (call->rq.page == NULL || a->http != 404) {
    return false;
  }
  snprintf(a->detail, sizeof a->detail, "page %u, HTTP 404", call->pages + 1);
  fail_page(call, "page-not-found");
  return true;
}

/* Feeds the list with more of the page. False when the call failed. */
static bool unpack(struct kube_call *call)
{
  struct aicr_json_reader *r = &call->list.reader;
  size_t len = 0;
  enum kube_gunzip_result got =
      kube_gunzip_next(&call->gunzip, call->part, PART, &len);
  switch (got) {
  case KUBE_GUNZIP_PART:
    call->first_part = call->part_len == 0;
    call->part_len = len;
    aicr_json_feed(r, call->part, call->part_len);
    return true;
  case KUBE_GUNZIP_END:
    aicr_json_finish(r);
    return true;
  default:
    fail_packed(call, got);
    return false;
  }
}

/* Brent's way to see that tokens go round: compare each with one that is kept
 * and replaced at page 1, 2, 4, 8, … (next_token). */
static bool goes_round(const struct kube_call *call, const char *token)
{
  return (call->page != NULL && strcmp(call->page, token) == 0) ||
         (call->marked_page != NULL && strcmp(call->marked_page, token) == 0) ||
         call->pages >= PAGES_MAX;
}

static bool next_token(struct kube_call *call, const char *token)
{
  if (goes_round(call, token)) {
    return aicr_fail(&call->error, AICR_INTERNAL, "protocol",
                     "list %s: the server repeats its continue token after "
                     "%u pages",
                     call->failure.resource, call->pages);
  }
  char *copy = aicr_strndup(token, strlen(token));
  if (copy == NULL) {
    return kube_call_no_memory(&call->error);
  }
  if (call->pages >= call->next_mark) {
    aicr_free(call->marked_page);
    call->marked_page = call->page;
    call->next_mark = call->pages * 2;
  } else {
    aicr_free(call->page);
  }
  call->page = copy;
  return true;
}

void kube_call_drop_ahead(struct kube_call *call)
{
  struct kube_backend *b = call->client->backend;
  if (call->looks_ahead == AHEAD_ASKED) {
    b->ops->cancel(b, call->transfer);
    call->transfer = NULL;
  }
  kube_answer_free(&call->ahead);
  memset(&call->ahead, 0, sizeof call->ahead);
  call->looks_ahead = AHEAD_NONE;
}

/* Asks for the next page while the items of this one are taken. What is in the
 * way shows when that page is due. */
static void look_ahead(struct kube_call *call)
{
  struct kube_backend *b = call->client->backend;
  const struct aicr_json_list *l = &call->list;
  struct aicr_error ignored;
  if (call->looks_ahead != AHEAD_NONE || l->next_page == NULL ||
      l->count < AHEAD_AFTER || goes_round(call, l->next_page) ||
      !next_token(call, l->next_page)) {
    return;
  }
  call->rq.page = call->page;
  call->transfer = b->ops->start(b, &call->rq, call, &ignored);
  call->looks_ahead = call->transfer == NULL ? AHEAD_NAMED : AHEAD_ASKED;
}

/* Goes on with the next page. */
static bool next_page(struct kube_call *call)
{
  const char *token = call->list.next_page;
  struct kube_answer answer = call->ahead;
  if (call->looks_ahead != AHEAD_NONE && strcmp(token, call->page) != 0) {
    kube_call_drop_ahead(call); /* the list named another one later */
  }
  switch (call->looks_ahead) {
  case AHEAD_ASKED:
    kube_call_end_page(call);
    call->phase = PHASE_FLIGHT;
    return true;
  case AHEAD_CAME:
    memset(&call->ahead, 0, sizeof call->ahead);
    kube_call_end_page(call);
    call->phase = PHASE_FLIGHT;
    kube_call_take(call, &answer);
    return call->phase != PHASE_FAILED;
  case AHEAD_NONE:
    if (!next_token(call, token)) {
      return false;
    }
    break;
  case AHEAD_NAMED:
    call->looks_ahead = AHEAD_NONE;
    break;
  }
  kube_call_end_page(call);
  return kube_call_send(call, &call->error);
}

static enum kube_call_state finish_page(struct kube_call *call)
{
  if (!call->list.has_items) {
    kube_call_unexpected(call, "no list: it has no items");
    kube_call_fail(call);
    return KUBE_CALL_FAILED;
  }
  if (!kube_call_is_list(call) ||
      (call->list.next_page == NULL && !kube_call_is_last_page(call))) {
    kube_call_fail(call);
    return KUBE_CALL_FAILED;
  }
  if (!kube_call_is_page(call)) {
    kube_call_fail(call);
    return KUBE_CALL_FAILED;
  }
  if (call->pages == 1) {
    kube_set_text(call->resource_version, sizeof call->resource_version,
                  call->list.resource_version);
  }
  if (call->list.next_page == NULL) {
    kube_record_end(call);
    kube_call_end_page(call);
    kube_call_drop_ahead(call); /* the list took its token back */
    call->phase = PHASE_END;
    return KUBE_CALL_END;
  }
  if (!next_page(call)) {
    kube_call_fail(call);
    return KUBE_CALL_FAILED;
  }
  return KUBE_CALL_WAIT;
}

/* apiVersion and kind for items of a typed list, from the list when it already
 * said them, else from the resource. */
static void describe_items(struct kube_call *call)
{
  const struct kube_resource *r = &call->rq.resource;
  const struct aicr_json_list *l = &call->list;
  size_t len = strlen(l->kind);
  bool typed = len > 4 && strcmp(l->kind + len - 4, "List") == 0;
  if (typed) {
    memcpy(call->item_kind, l->kind, len - 4);
    call->item_kind[len - 4] = '\0';
  } else {
    kube_set_text(call->item_kind, sizeof call->item_kind, r->kind);
  }
  if (typed && l->api_version[0] != '\0') {
    kube_set_text(call->item_api_version, sizeof call->item_api_version,
                  l->api_version);
  } else {
    snprintf(call->item_api_version, sizeof call->item_api_version, "%s%s%s",
             r->group, r->group[0] == '\0' ? "" : "/", r->version);
  }
}

/* ERROR: the list's, or the call failed. */
static enum aicr_json_list_result cut_item(struct kube_call *call)
{
  enum aicr_json_list_result result = aicr_json_list_next(&call->list);
  while (result == AICR_LIST_MORE) {
    if (!unpack(call)) {
      return AICR_LIST_ERROR;
    }
    result = aicr_json_list_next(&call->list);
  }
  return result;
}

enum kube_call_state kube_call_next_item(struct kube_call *call,
                                         const char **text, size_t *len)
{
  switch (cut_item(call)) {
  case AICR_LIST_ITEM:
    if (call->list.item_len == 0 || !kube_is_object(call->list.item)) {
      kube_call_unexpected(call, "an item is no object");
      break;
    }
    if (!kube_call_is_list(call) || !kube_call_is_item(call)) {
      break;
    }
    call->items++;
    look_ahead(call);
    describe_items(call);
    *text = call->list.item;
    *len = call->list.item_len;
    kube_record_item(call, *text, *len);
    return KUBE_CALL_ITEM;
  case AICR_LIST_END:
    return finish_page(call);
  default:
    if (call->phase == PHASE_FAILED) {
      return KUBE_CALL_FAILED;
    }
    if (call->list.reader.error.code == AICR_INTERNAL) {
      call->error = call->list.reader.error;
    } else {
      kube_call_unexpected(call, call->list.reader.error.message);
    }
    break;
  }
  kube_call_fail(call);
  return KUBE_CALL_FAILED;
}
