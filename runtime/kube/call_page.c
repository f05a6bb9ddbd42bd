/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "kube/call.h"
#include "kube/fixed_text.h"
#include "kube/record_call.h"

#define PAGES_MAX 100000u

void kube_call_end_page(struct kube_call *call)
{
  if (call->list_open) {
    aicr_json_list_free(&call->list);
    call->list_open = false;
  }
  kube_answer_free(&call->answer);
  memset(&call->answer, 0, sizeof call->answer);
}

void kube_call_begin_page(struct kube_call *call)
{
  aicr_json_list_init(&call->list);
  call->list_open = true;
  aicr_json_feed(&call->list.reader, call->answer.body.data,
                 call->answer.body.len);
  aicr_json_finish(&call->list.reader);
  call->pages++;
  call->phase = PHASE_PAGE;
}

/* Brent's way to see that tokens go round: compare each with one that is kept
 * and replaced at page 1, 2, 4, 8, … */
static bool next_token(struct kube_call *call, const char *token)
{
  if ((call->page != NULL && strcmp(call->page, token) == 0) ||
      (call->marked_page != NULL && strcmp(call->marked_page, token) == 0) ||
      call->pages >= PAGES_MAX) {
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

static enum kube_call_state finish_page(struct kube_call *call)
{
  if (!call->list.has_items) {
    kube_call_unexpected(call, "no list: it has no items");
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
    call->phase = PHASE_END;
    return KUBE_CALL_END;
  }
  bool sent = next_token(call, call->list.next_page);
  kube_call_end_page(call);
  if (!sent || !kube_call_send(call, &call->error)) {
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

enum kube_call_state kube_call_next_item(struct kube_call *call,
                                         const char **text, size_t *len)
{
  switch (aicr_json_list_next(&call->list)) {
  case AICR_LIST_ITEM:
    if (call->list.item_len == 0 || !kube_is_object(call->list.item)) {
      kube_call_unexpected(call, "an item is no object");
      break;
    }
    call->items++;
    describe_items(call);
    *text = call->list.item;
    *len = call->list.item_len;
    kube_record_item(call, *text, *len);
    return KUBE_CALL_ITEM;
  case AICR_LIST_END:
    return finish_page(call);
  default:
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
