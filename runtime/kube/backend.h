/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_BACKEND_H
#define AICR_KUBE_BACKEND_H

#include <stdint.h>

#include "core/buffer.h"
#include "kube/failure.h"
#include "kube/resource.h"

/* Where answers come from: a live API server or a recording. Everything above
 * (paths, paging, error shapes) is the same code for both. A backend speaks
 * HTTP answers: status, content type, body. */

enum kube_verb {
  KUBE_GET,
  KUBE_LIST,
  KUBE_CREATE,
  KUBE_UPDATE,
  KUBE_PATCH,
  KUBE_APPLY,
  KUBE_DELETE,
  KUBE_WATCH, /* of a collection, as a stream */
  KUBE_EXEC,  /* a command in a pod; body is its stdin */
  KUBE_RAW,   /* GET of a path that is no resource's; the answer is any text */
  KUBE_VERB_COUNT
};
const char *kube_verb_name(enum kube_verb v); /* "get", "list", … */

/* Who asks: what a recording has to know, so that a replay gives each check its
 * own answers. */
#define KUBE_CHECK_MAX 63
struct kube_asker {
  char check[KUBE_CHECK_MAX + 1]; /* its name, "": none of the checks */
  unsigned attempt;               /* from 1 */
  /* the way to the function of ctx:all that asks ("2.1": of the second ctx:all
   * the first), "": the check itself; begun with "end" while it cleans up,
   * ended with "~" for what a replay will not ask */
  char part[64];
};

/* One request. The strings belong to the caller until the answer came. */
struct kube_request {
  enum kube_verb verb;
  struct kube_resource resource;
  const char *ns, *name, *subresource; /* NULL: none */
  const char *label, *field;           /* selectors, NULL: none */
  const char *page;                    /* continue token, NULL: first page */
  unsigned limit;                      /* page size */
  const char *path;                    /* from kube_resource_path() */
  const char *query;                   /* escaped "a=b&c=d" more, or NULL */
  const char *accept;                  /* NULL: application/json */
  const char *content_type;            /* of the body */
  const char *body;                    /* NULL: none */
  size_t body_len;
  /* of KUBE_EXEC: the words, each ended by a NUL; NULL: the only container */
  const char *command, *container;
  size_t command_len;
  bool text;   /* the answer is any text, not JSON */
  bool stream; /* the body is told as it comes; only the deadline ends it */
  int64_t deadline_ms;            /* monotonic, 0: none */
  const struct kube_asker *asker; /* NULL: none of the checks */
};

struct kube_answer {
  int http; /* 0: see transport */
  enum kube_transport transport;
  unsigned attempts;
  const char *reason; /* of a transport's failure, NULL: its usual one */
  char detail[256];   /* more of it, without secrets */
  char content_type[128];
  struct aicr_buf body; /* of KUBE_EXEC: stdout */
  bool gzip; /* of a page of a list: the body is packed (kube/gunzip.h) */
  struct aicr_buf stderr_text;
  int exit_code; /* of KUBE_EXEC, with http 101 */
  bool more;     /* part of a stream: the transfer goes on */
  /* The backend itself could not answer (reason "not-recorded", "read-only",
   * …): code is set, the rest is empty. */
  struct aicr_error error;
};
void kube_answer_free(struct kube_answer *a);

enum kube_resolved {
  KUBE_RESOLVE_FAILED,
  KUBE_RESOLVED,
  KUBE_RESOLVE_WAIT /* discovery is on its way: again after a poll */
};

/* What a call that looks for its resource has asked. All zero at its begin. */
struct kube_resolving {
  uint64_t after;                 /* the first discovery that began after it */
  bool anew;                      /* what is known from before has misled it */
  const struct kube_asker *asker; /* NULL: none of the checks */
  const char *named; /* the resource as it was written, or "VERSION KIND" */
};

struct kube_backend;
struct kube_transfer; /* one request in flight, owned by the backend */

struct kube_backend_ops {
  /* Begins a request. NULL and *err when it could not even begin. */
  struct kube_transfer *(*start)(struct kube_backend *b,
                                 const struct kube_request *rq, void *owner,
                                 struct aicr_error *err);
  /* Ends a request without an answer. The handle is gone afterwards. */
  void (*cancel)(struct kube_backend *b, struct kube_transfer *t);
  /* Waits at most timeout_ms (0: not at all) and takes one finished request:
   * true, its owner and its answer (the caller frees it). The handle is gone,
   * unless the answer says more. */
  bool (*poll)(struct kube_backend *b, int timeout_ms, void **owner,
               struct kube_answer *answer);
  /* Keeps back what comes of a stream, or no more; no further than a bound the
   * server can then send. NULL: all of it comes at once. */
  void (*hold)(struct kube_backend *b, struct kube_transfer *t, bool held);
  /* Finds the resource that a name from kube_resource_name() means (plural,
   * singular, short name; version empty: the preferred one), or, where plural
   * is empty, that a group, version and kind mean; fills *r.
   * NOT_FOUND/"api-not-served" (a verdict) only when that was proved by what
   * was asked after *how was begun;
   * INTERNAL/"not-recorded" when a recording cannot tell;
   * INVALID_REQUEST/"ambiguous"; or why discovery failed, with its facts in
   * *failure. */
  enum kube_resolved (*resolve)(struct kube_backend *b, struct kube_resource *r,
                                struct kube_resolving *how,
                                struct kube_failure *failure,
                                struct aicr_error *err);
  /* What is known here of a resource: for `served` of a failure. NULL: it has
   * to be asked for (kube_discovery_path). */
  enum kube_served (*served)(struct kube_backend *b,
                             const struct kube_resource *r);
  /* gitVersion of the server, NULL when not known without asking. */
  const char *(*server_version)(struct kube_backend *b);
  /* The context's name, NULL when not known. */
  const char *(*context)(struct kube_backend *b);
  /* Milliseconds since the epoch at which the answers are true: now for a live
   * server, the capture time of a recording (0: not known). */
  int64_t (*time)(struct kube_backend *b);
  /* Appends what came up since the last call, a line each. NULL: nothing ever
   * does. */
  void (*warnings)(struct kube_backend *b, struct aicr_buf *out);
  void (*close)(struct kube_backend *b);
};

struct kube_backend {
  const struct kube_backend_ops *ops;
  int wake; /* a descriptor whose input ends a poll, -1: none */
  /* Told of each exchange in a line: verb, address, outcome; never headers or
   * bodies. NULL: nobody listens. */
  void (*trace)(const char *line);
};

#endif
