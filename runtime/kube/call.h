/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CALL_H
#define AICR_KUBE_CALL_H

#include "kube/client.h"
#include "kube/gunzip.h"
#include "kube/selector.h"

/* What the files of the client share: one logical call. */

#define PAGE_SIZE    500u
#define PAGES_MAX    100000u
#define CALL_STRINGS 13

struct kube_client {
  struct kube_backend *backend;
  void (*on_secret)(void *owner, const char *text, size_t len); /* or NULL */
  struct kube_call *calls;              /* all that are open */
  struct kube_call *ready, **ready_end; /* failed before a request was sent */
  struct kube_record *record;           /* NULL: nothing is recorded */
};

enum kube_phase {
  PHASE_QUEUED,  /* in client->ready: poll has to bring it */
  PHASE_RESOLVE, /* the backend looks its resource up */
  PHASE_FLIGHT,  /* a request is on its way: poll has to bring it */
  PHASE_EXPLAIN, /* the same for the question why it failed */
  PHASE_STREAM,  /* lines are being taken, poll may bring more */
  PHASE_OBJECT,
  PHASE_PAGE, /* items of a page are being taken */
  PHASE_END,
  PHASE_FAILED
};

struct kube_call {
  struct kube_client *client;
  struct kube_call *next, *next_ready;
  void *owner;
  struct kube_request rq; /* its strings are ours */
  struct kube_asker asker;
  char *strings[CALL_STRINGS];
  struct kube_call_spec spec; /* the same */
  struct aicr_buf path, group_path;
  char named[512]; /* as in struct kube_resolving */
  struct kube_request probe;
  struct kube_resolving resolving;
  struct kube_resource was; /* before it was looked up anew */
  enum kube_served explained;
  bool waited; /* discovery was read for it */
  bool in_run; /* the namespace is the run's, by default */
  bool again;  /* it was looked up anew, for it was answered 404 */
  enum kube_phase phase;
  enum {
    AHEAD_NONE,
    AHEAD_NAMED, /* call->page is its token already */
    AHEAD_ASKED,
    AHEAD_CAME
  } looks_ahead;
  struct kube_transfer *transfer;
  struct kube_answer answer;
  struct aicr_json_list list;
  bool list_open, first_part, restarted;
  struct kube_gunzip gunzip; /* of a packed page */
  char *part;                /* what was unpacked of it and is cut now */
  size_t part_len;
  char item_api_version[320], item_kind[128];
  struct kube_selector *label, *field; /* NULL: nothing can be held to it */
  bool selects;                        /* they were read */
  struct {                             /* the item before this one */
    char ns[64], name[KUBE_NAME_MAX + 1];
  } before;
  enum {
    ORDER_UNKNOWN,
    ORDER_SORTED, /* so far, as the server keeps its objects */
    ORDER_NONE
  } order;

  char *page, *marked_page; /* the token asked for; an earlier one */
  unsigned pages, next_mark;
  size_t items;
  struct kube_answer ahead;  /* to the request for the next page */
  char resource_version[64]; /* of the first page */

  struct aicr_buf lines; /* of a stream */
  size_t lines_taken;    /* bytes of them that were given out */
  bool stream_ended, stream_failed, held;
  enum kube_line_end line_end;
  bool resolved; /* all that was asked for */

  struct kube_record_file *recorded; /* what is being written of it */
  bool told;                         /* its answer is recorded */
  bool looked;                       /* … and that its name was looked for */
  unsigned lookup; /* … so many times before by this asker */

  struct aicr_error error;
  struct kube_failure failure;
};

bool kube_call_no_memory(struct aicr_error *err);

/* Does a JSON text begin an object? */
bool kube_is_object(const char *text);

/* Looks the resource up anew, for the request was answered 404 and discovery
 * says `served` of it. */
bool kube_call_look_up(struct kube_call *call, enum kube_served served,
                       struct aicr_error *err);

/* Ends the call with what was put into call->error. */
void kube_call_fail(struct kube_call *call);

/* The same for call->answer, which is none. */
void kube_call_fail_answer(struct kube_call *call, enum kube_served served);

/* Fails it because the answer is not what a server would say. */
void kube_call_unexpected(struct kube_call *call, const char *what);

/* call_request.c: makes the spec's strings the call's own; sends the request
 * once its resource is known; sends it (again). */
bool kube_call_copy(struct kube_call *call, const struct kube_call_spec *spec,
                    struct aicr_error *err);
bool kube_call_go_on(struct kube_call *call, struct aicr_error *err);
bool kube_call_send(struct kube_call *call, struct aicr_error *err);

/* client.c: takes the answer to the request of the call. False while there is
 * nothing for the owner to see yet. */
bool kube_call_take(struct kube_call *call, struct kube_answer *answer);

/* call_answer.c: is a success what was asked for? False: call->error. The last
 * one says so of a page that names no next one. */
bool kube_call_is_object(struct kube_call *call);
bool kube_call_is_list(struct kube_call *call);
bool kube_call_is_last_page(struct kube_call *call);

/* … of a list's next item: one of its objects, and in its place; of a page that
 * is over: of the same state of the server as the first. */
bool kube_call_is_item(struct kube_call *call);
bool kube_call_is_page(struct kube_call *call);

/* call_event.c: is a line of a watch an event of what is watched? False:
 * call->error. */
bool kube_call_is_event(struct kube_call *call, const char *text, size_t len);

/* call_page.c: the pages of a list. False without memory. */
bool kube_call_begin_page(struct kube_call *call);
void kube_call_end_page(struct kube_call *call);
/* Is the answer a 404 to a further page? Then the call fails. The resource was
 * there a page ago, so this proves no absence; and a list of which something
 * was given out does not begin again, elsewhere or here. */
bool kube_call_lost_page(struct kube_call *call);
/* Gives up what was asked for ahead. */
void kube_call_drop_ahead(struct kube_call *call);
/* What may be shown of the answer: how it begins. */
const char *kube_call_head(const struct kube_call *call, size_t *len);
enum kube_call_state kube_call_next_item(struct kube_call *call,
                                         const char **text, size_t *len);

/* call_stream.c: takes a part of a stream, or its end. */
void kube_call_take_part(struct kube_call *call, struct kube_answer *answer);
enum kube_call_state kube_call_next_line(struct kube_call *call,
                                         const char **text, size_t *len);

#endif
