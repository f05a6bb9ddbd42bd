/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_LIVE_INTERNAL_H
#define AICR_KUBE_LIVE_INTERNAL_H

#include <curl/curl.h>

#include "kube/clock.h"
#include "kube/credential.h"
#include "kube/discovery.h"
#include "kube/live.h"
#include "kube/server_warning.h"

#define LIVE_FLIGHT_MAX 8
#define LIVE_ERROR_MAX  ((size_t)64 << 10) /* kept of an error's body */
#define LIVE_EXEC_MAX   16                 /* commands at a time */
#define LIVE_HOST_MAX   4                  /* connections, without what lasts */

/* Where the server is, taken apart once. */
struct live_target {
  bool tls;
  char *base;       /* what requests begin with: "https://host:port/prefix" */
  char *authority;  /* "host:port" of the server itself: Host, messages */
  char *connect_to; /* "name:port:host:port" for a tls-server-name, or NULL */
};

enum live_state {
  LIVE_READY,  /* waits for a place and its credential */
  LIVE_FLIGHT, /* curl has it */
  LIVE_SLEEP,  /* until due_ms */
  LIVE_DONE    /* poll has to bring it */
};

enum live_purpose {
  LIVE_FOR_OWNER,
  LIVE_FOR_DISCOVERY /* the client itself asked */
};

struct kube_live;
struct live_exec;

struct kube_transfer {
  struct kube_transfer *next;
  struct kube_live *live;
  enum live_purpose purpose;
  void *owner;
  enum live_state state;
  struct kube_request rq; /* its strings belong to the owner */
  char path[512];         /* the path of a request of our own */
  CURL *easy;
  struct curl_slist *headers, connect_to;
  struct aicr_buf url;
  char curl_text[CURL_ERROR_SIZE];
  struct live_exec *exec; /* of KUBE_EXEC in flight */
  struct kube_answer answer;
  bool headed;     /* the head of the answer came to its end */
  bool overlong;   /* of an error's body not all is kept */
  size_t unpacked; /* bytes of the body */
  enum { LIVE_PLAIN, LIVE_GZIP, LIVE_UNKNOWN } encoding; /* of a list's body */
  size_t body_max;
  const char *refused; /* the reason for which we ended it */
  int64_t due_ms, sent_ms;
  unsigned attempts;
  int before; /* HTTP status of the attempt before, 0: none */
  bool reauthenticated;
  bool paused, streamed; /* of a stream: curl waits; some of it was told */
  bool held;             /* nobody wants more of it now */
};

struct kube_live {
  struct kube_backend base;
  struct kube_config config;
  struct live_target target;
  struct kube_credential *credential;
  CURLM *multi;
  struct kube_transfer *first, **end;
  size_t in_flight, execs, streams;
  int64_t backoff_ms; /* of the first attempt */
  struct kube_server_warnings warnings;

  struct kube_discovery discovery;
  enum { DISCOVERY_NONE, DISCOVERY_ASKED, DISCOVERY_DONE } discovered;
  unsigned discovery_asked;
  uint64_t discovery_round;          /* how often it was begun */
  struct aicr_error discovery_error; /* code NONE: it was read */
  struct kube_failure discovery_failure;
  int64_t discovered_ms;
};

/* live_target.c */
bool kube_live_target(const struct kube_config *config, struct live_target *t,
                      struct aicr_error *err);
void kube_live_target_free(struct live_target *t);

/* live_transfer.c: one exchange over curl. Sets the handle up and gives it to
 * the multi handle; false with the answer's error set. */
bool kube_live_send(struct kube_transfer *t, const char *authorization,
                    int64_t now_ms);
/* Takes the result of curl; returns what the server asked to wait in
 * milliseconds, -1: nothing. */
int64_t kube_live_finish(struct kube_transfer *t, CURLcode result,
                         int64_t now_ms);
/* Takes the handle away. */
void kube_live_release(struct kube_transfer *t);
/* May the request, which failed, have reached the server? */
bool kube_live_unsent(const struct kube_transfer *t);

/* The handle with all that every request has in common. */
bool kube_live_prepare(struct kube_transfer *t, const char *authorization,
                       int64_t now_ms);
const char *kube_live_user_agent(void);

/* live_exec.c: a command. send as kube_live_send(). */
bool kube_live_exec_send(struct kube_transfer *t, const char *authorization,
                         int64_t now_ms);
/* The connection is there; then whenever its socket or its time has news. True
 * when the answer is complete. */
bool kube_live_exec_connected(struct kube_transfer *t, int64_t now_ms);
bool kube_live_exec_step(struct kube_transfer *t, int64_t now_ms);
/* What it waits for; false while curl connects. */
bool kube_live_exec_wait(const struct kube_transfer *t, struct curl_waitfd *fd,
                         int64_t *due_ms);
/* What the server that refused it asked to wait in milliseconds, -1: nothing.
 */
int64_t kube_live_exec_retry_after(const struct kube_transfer *t);
bool kube_live_exec_unsent(const struct kube_transfer *t);
void kube_live_exec_release(struct kube_transfer *t);

/* live_encoding.c: is a body kept as it comes? Then a line of the head may say
 * its encoding. */
bool kube_live_keeps_packed(const struct kube_request *rq);
void kube_live_take_encoding(struct kube_transfer *t, const char *line,
                             size_t len);
/* Unpacks what is no page, or says that the page is packed. */
CURLcode kube_live_unpack(struct kube_transfer *t);

/* live_trace.c: tells who listens of an exchange that ended. */
void kube_live_trace(const struct kube_transfer *t, int64_t now_ms);

/* live_discovery.c */
enum kube_resolved kube_live_resolve(struct kube_backend *b,
                                     struct kube_resource *r,
                                     struct kube_resolving *how,
                                     struct kube_failure *failure,
                                     struct aicr_error *err);
void kube_live_discovered(struct kube_live *l, struct kube_transfer *t);

/* live.c: as many connections as what lasts and what does not may need. */
void kube_live_set_room(struct kube_live *l);
struct kube_transfer *kube_live_ask(struct kube_live *l, const char *path,
                                    const char *accept, struct aicr_error *err);

#endif
