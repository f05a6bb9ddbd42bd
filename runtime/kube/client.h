/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CLIENT_H
#define AICR_KUBE_CLIENT_H

#include "core/json_list.h"
#include "kube/backend.h"
#include "kube/permission.h"

/* Logical calls of checks over a backend: resolve the name, test the
 * permission, build the path, page through lists, turn answers into results or
 * errors. Asynchronous: start, then poll. */

struct kube_client;
struct kube_call;
struct kube_record;

/* A line of a stream, at most: of text what is longer comes in pieces, an event
 * of a watch is an error. */
#define KUBE_TEXT_LINE_MAX (1u << 20)
#define KUBE_LINE_MAX      (8u << 20)

struct kube_call_spec {
  enum kube_verb verb;
  const char *resource; /* as the check wrote it; KUBE_RAW: the path */
  const char *api_version, *kind; /* without a resource: what an object says */
  const char *ns, *name, *subresource, *label, *field; /* or NULL */
  const char *query;        /* more of it, escaped, or NULL */
  const char *content_type; /* of the body; not copied: a literal */
  const char *body;         /* or NULL */
  size_t body_len;
  const char *command, *container; /* of KUBE_EXEC, as in struct kube_request */
  size_t command_len;
  bool stream; /* line by line, until the server or the deadline ends it */
  bool text;   /* not JSON */
  bool resolve_only;   /* no request: its object is kube_call_resource() */
  unsigned page_size;  /* 0: 500 */
  int64_t deadline_ms; /* monotonic, 0: none */
  const struct kube_asker *asker; /* copied; NULL: none of the checks */
  bool aside; /* a replay does not ask it: in a recording it stands apart */
  const struct kube_permissions *permissions; /* NULL: all allowed */
  const char *run_namespace;                  /* what "in run" means */
};

/* Takes over the backend. */
struct kube_client *kube_client_open(struct kube_backend *backend);
void kube_client_close(struct kube_client *c);
struct kube_backend *kube_client_backend(struct kube_client *c);

/* Records all answers from now on (kube/record.h); takes over the record. */
void kube_client_record(struct kube_client *c, struct kube_record *record);
struct kube_record *kube_client_recording(const struct kube_client *c);

/* From now on tells an owner of calls of each Secret that it gets, before it
 * gets it: the JSON text of the object or of the event. */
void kube_client_on_secret(struct kube_client *c,
                           void (*tell)(void *owner, const char *text,
                                        size_t len));

/* Begins a call; `owner` comes back from poll. A call that is refused or fails
 * at once is still returned (its error comes from poll); NULL only without
 * memory. All strings of the spec are copied. */
struct kube_call *kube_client_start(struct kube_client *c,
                                    const struct kube_call_spec *spec,
                                    void *owner);

/* Waits at most timeout_ms and returns a call that has news (a result, a page
 * of items, an error) and its owner, or NULL. */
struct kube_call *kube_client_poll(struct kube_client *c, int timeout_ms,
                                   void **owner);

/* How many calls poll has still to bring: in flight, or failed at once. */
size_t kube_client_pending(const struct kube_client *c);

enum kube_call_state {
  KUBE_CALL_WAIT,   /* nothing yet: poll */
  KUBE_CALL_OBJECT, /* get: text, len are the object */
  KUBE_CALL_ITEM,   /* list, stream: text, len are the next item or line */
  KUBE_CALL_END,    /* list, stream: no more */
  KUBE_CALL_FAILED  /* kube_call_error(), kube_call_failure() */
};

/* Takes the next result. For a list: ITEM … ITEM, WAIT between pages, END.
 * *text is valid until the next call of this function or of kube_client_poll().
 * Asks for the next page by itself, while items of this one are left. Items are
 * those of a page that has come whole. */
enum kube_call_state kube_call_next(struct kube_call *call, const char **text,
                                    size_t *len);

/* How the line that was given last ended. */
enum kube_line_end {
  KUBE_LINE_ENDED,  /* by a newline */
  KUBE_LINE_PIECE,  /* it was too long: the next one goes on with it */
  KUBE_LINE_UNENDED /* the text ended in it */
};
enum kube_line_end kube_call_line_end(const struct kube_call *call);

/* The resourceVersion of a list, "" before its end or where it has none. */
const char *kube_call_resource_version(const struct kube_call *call);

/* The resource of a call that has an object: as the server names it. */
const struct kube_resource *kube_call_resource(const struct kube_call *call);

/* The HTTP code of the answer that was the object, 0: none was needed. */
int kube_call_http(const struct kube_call *call);

/* Of KUBE_EXEC, whose object is what the command wrote to stdout: its exit code
 * and what it wrote to stderr (NULL: nothing). */
int kube_call_exit_code(const struct kube_call *call, const char **stderr_text,
                        size_t *len);

/* apiVersion and kind of a typed list's items that have none of their own. */
const char *kube_call_item_api_version(const struct kube_call *call);
const char *kube_call_item_kind(const struct kube_call *call);

const struct aicr_error *kube_call_error(const struct kube_call *call);
const struct kube_failure *kube_call_failure(const struct kube_call *call);

/* Ends the call (cancels what is in flight) and frees it. */
void kube_call_close(struct kube_call *call);

#endif
