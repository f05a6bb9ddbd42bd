/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/number.h"
#include "core/text.h"
#include "kube/exec_request.h"
#include "kube/exec_stream.h"
#include "kube/live_internal.h"
#include "kube/retry.h"

/* A command in a container over the live client: curl makes the connection
 * (proxy, TLS, the server's identity) and then only carries bytes;
 * kubernetes-client.md 3.4. */

#define OUTPUT_MAX ((size_t)16 << 20) /* each of stdout and stderr */
#define CHUNK      16384u
#define CHUNKS_MAX 64u /* before others have their turn */
#define CONNECT_MS 10000
#define UPGRADE_MS 30000 /* until the answer to the request is there */

enum step { STEP_CONNECT, STEP_UPGRADE, STEP_STREAM };

struct live_exec {
  enum step step;
  curl_socket_t socket;
  struct aicr_buf request; /* holds the credential */
  size_t sent;             /* bytes of it */
  struct kube_upgrade upgrade;
  int64_t upgrade_by;
  struct kube_exec_stream stream;
  size_t stdin_taken;
  bool stdin_ended;
  bool unsendable; /* the server does not read any more */
  bool more;       /* curl may hold bytes that poll does not see */
};

/* Ends with what *err says, told with its pod. */
static bool fail(struct kube_transfer *t, const struct aicr_error *err)
{
  const struct kube_request *rq = &t->rq;
  const char *ns = rq->ns == NULL ? "" : rq->ns;
  struct aicr_quoted name, in;
  struct aicr_error inner = *err; /* may be the answer's own */
  aicr_buf_free(&t->answer.body);
  aicr_buf_free(&t->answer.stderr_text);
  t->answer.http = 0;
  return aicr_fail(&t->answer.error, inner.code, inner.reason,
                   "exec pods %s in namespace %s: %s",
                   aicr_quote(&name, rq->name, strlen(rq->name)),
                   aicr_quote(&in, ns, strlen(ns)), inner.message);
}

static bool no_memory(struct kube_transfer *t)
{
  struct aicr_error err;
  aicr_fail(&err, AICR_INTERNAL, "memory", "no memory for a command's stream");
  return fail(t, &err);
}

/* Is there stdin that the server has not taken? */
static bool leaves_stdin(const struct kube_transfer *t)
{
  const struct live_exec *e = t->exec;
  return e->step == STEP_STREAM && t->rq.body != NULL &&
         (!e->stdin_ended || e->stream.out.len > 0);
}

/* An end without an answer, as of other transfers. */
static void end_transport(struct kube_transfer *t, enum kube_transport how)
{
  const struct live_exec *e = t->exec;
  aicr_buf_free(&t->answer.body);
  aicr_buf_free(&t->answer.stderr_text);
  t->answer.transport = how;
  if (how == KUBE_TRANSPORT_DEADLINE && leaves_stdin(t)) {
    snprintf(t->answer.detail, sizeof t->answer.detail,
             "the server did not take all %zu bytes of stdin, and of a command "
             "that ends without reading them it tells no end: let it read all, "
             "with ; cat >/dev/null at its end",
             t->rq.body_len);
    return;
  }
  snprintf(t->answer.detail, sizeof t->answer.detail, "%s",
           e->step == STEP_STREAM ? "the command may still run"
           : e->sent > 0          ? "the command may have been started"
                                  : "the command was not started");
}

/* The words of the command: "a\0b\0". */
static const char **split_command(const struct kube_request *rq, size_t *count)
{
  size_t n = 0;
  for (size_t i = 0; i < rq->command_len; i++) {
    n += rq->command[i] == '\0';
  }
  const char **words = aicr_calloc(n + 1, sizeof *words);
  const char *at = rq->command;
  for (size_t i = 0; words != NULL && i < n; i++) {
    words[i] = at;
    at += strlen(at) + 1;
  }
  *count = n;
  return words;
}

/* What other requests send too: who asks, and as whom. */
static const char **collect_headers(const struct kube_transfer *t,
                                    const char *agent, size_t *count)
{
  size_t n = 1;
  for (const struct curl_slist *h = t->headers; h != NULL; h = h->next) {
    n++;
  }
  const char **lines = aicr_calloc(n, sizeof *lines);
  n = 0;
  if (lines != NULL) {
    lines[n++] = agent;
    for (const struct curl_slist *h = t->headers; h != NULL; h = h->next) {
      if (strncmp(h->data, "Host:", 5) != 0 &&
          strncmp(h->data, "Expect:", 7) != 0) {
        lines[n++] = h->data;
      }
    }
  }
  *count = n;
  return lines;
}

static bool make_request(struct kube_transfer *t)
{
  struct live_exec *e = t->exec;
  const char *prefix = strstr(t->url.data, "://");
  char agent[160];
  struct aicr_error err;
  struct kube_exec_request rq = {.host = t->live->target.authority,
                                 .path = strchr(prefix + 3, '/'),
                                 .container = t->rq.container,
                                 .send_stdin = t->rq.body != NULL,
                                 .want_stdout = true,
                                 .want_stderr = true};
  snprintf(agent, sizeof agent, "User-Agent: %s", kube_live_user_agent());
  const char **words = split_command(&t->rq, &rq.command_count);
  const char **lines = collect_headers(t, agent, &rq.header_count);
  rq.command = words;
  rq.headers = lines;
  bool ok = words != NULL && lines != NULL &&
            kube_websocket_random(rq.key, sizeof rq.key);
  if (!ok) {
    no_memory(t);
  } else if (!kube_upgrade_init(&e->upgrade, rq.key, &err) ||
             !kube_exec_request(&rq, &e->request, &err)) {
    ok = fail(t, &err);
  }
  e->upgrade.warnings = &t->live->warnings;
  aicr_free(words);
  aicr_free(lines);
  return ok;
}

static bool set_options(struct kube_transfer *t, int64_t now_ms)
{
  CURL *c = t->easy;
  int64_t ms = CONNECT_MS, deadline = t->rq.deadline_ms;
  if (deadline != 0 && deadline - now_ms < ms) {
    ms = deadline - now_ms < 1 ? 1 : deadline - now_ms;
  }
  return curl_easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
         curl_easy_setopt(c, CURLOPT_HTTP_VERSION,
                          (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
         curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
         curl_easy_setopt(c, CURLOPT_PIPEWAIT, 0L) == CURLE_OK &&
         curl_easy_setopt(c, CURLOPT_HTTPPROXYTUNNEL, 1L) == CURLE_OK &&
         curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 0L) == CURLE_OK &&
         curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)ms) == CURLE_OK;
}

bool kube_live_exec_send(struct kube_transfer *t, const char *authorization,
                         int64_t now_ms)
{
  struct kube_live *l = t->live;
  struct live_exec *e = aicr_calloc(1, sizeof *e);
  if (e == NULL) {
    return no_memory(t);
  }
  t->exec = e;
  e->socket = CURL_SOCKET_BAD;
  aicr_buf_init(&e->request, KUBE_EXEC_REQUEST_MAX);
  e->request.secret = true;
  l->execs++;
  kube_live_set_room(l);
  if (kube_live_prepare(t, authorization, now_ms) && set_options(t, now_ms)) {
    aicr_buf_free(&t->answer.body);
    aicr_buf_init(&t->answer.body, OUTPUT_MAX);
    aicr_buf_init(&t->answer.stderr_text, OUTPUT_MAX);
    if (make_request(t) &&
        curl_multi_add_handle(l->multi, t->easy) == CURLM_OK) {
      t->attempts++;
      return true;
    }
  }
  kube_live_release(t);
  return t->answer.error.code != AICR_CODE_NONE ? false : no_memory(t);
}

void kube_live_exec_release(struct kube_transfer *t)
{
  struct live_exec *e = t->exec;
  if (e == NULL) {
    return;
  }
  if (t->easy != NULL) {
    /* With its connection: none that carried frames serves another. */
    curl_multi_remove_handle(t->live->multi, t->easy);
    curl_easy_cleanup(t->easy);
    t->easy = NULL;
  }
  t->exec = NULL;
  t->live->execs--;
  kube_live_set_room(t->live);
  aicr_buf_free(&e->request);
  kube_upgrade_free(&e->upgrade);
  kube_exec_stream_free(&e->stream);
  aicr_free(e);
}

int64_t kube_live_exec_retry_after(const struct kube_transfer *t)
{
  const char *text = t->exec->upgrade.head.retry_after;
  int64_t seconds = 0;
  if (t->answer.http < 400 || text[0] == '\0') {
    return kube_retry_after(&t->answer);
  }
  if (!aicr_parse_int64(text, strlen(text), &seconds)) {
    time_t at = curl_getdate(text, NULL), now = time(NULL);
    seconds = at == -1 ? -1 : at > now ? (int64_t)(at - now) : 0;
  }
  return seconds < 0               ? kube_retry_after(&t->answer)
         : seconds > INT64_C(3600) ? INT64_C(3600000)
                                   : seconds * 1000;
}

bool kube_live_exec_unsent(const struct kube_transfer *t)
{
  return t->exec->sent == 0;
}

bool kube_live_exec_connected(struct kube_transfer *t, int64_t now_ms)
{
  struct live_exec *e = t->exec;
  curl_easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &e->socket);
  e->step = STEP_UPGRADE;
  e->upgrade_by = now_ms + UPGRADE_MS;
  return kube_live_exec_step(t, now_ms);
}

/* Sends as much as goes; how much of it went. */
static size_t send_some(struct kube_transfer *t, const char *data, size_t len)
{
  size_t all = 0;
  while (all < len && !t->exec->unsendable) {
    size_t n = 0;
    CURLcode r = curl_easy_send(t->easy, data + all, len - all, &n);
    all += n;
    if (r == CURLE_AGAIN) {
      break;
    }
    t->exec->unsendable = r != CURLE_OK || n == 0;
  }
  return all;
}

static void send_request(struct kube_transfer *t)
{
  struct live_exec *e = t->exec;
  e->sent += send_some(t, e->request.data + e->sent, e->request.len - e->sent);
  if (e->sent == e->request.len) {
    aicr_buf_free(&e->request); /* wiped; `sent` stays */
  }
}

static void send_frames(struct kube_transfer *t)
{
  struct aicr_buf *out = &t->exec->stream.out;
  if (out->len > 0) {
    kube_exec_stream_sent(&t->exec->stream, send_some(t, out->data, out->len));
  }
}

/* Takes of stdin what finds room. False with the answer's error. */
static bool take_stdin(struct kube_transfer *t)
{
  struct live_exec *e = t->exec;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  if (e->stream.options.version >= 5) {
    e->stdin_taken +=
        kube_exec_stream_write(&e->stream, t->rq.body + e->stdin_taken,
                               t->rq.body_len - e->stdin_taken);
  } else {
    e->stdin_taken = t->rq.body_len; /* it could not be ended */
  }
  if (e->stdin_taken == t->rq.body_len) {
    e->stdin_ended = kube_exec_stream_end_stdin(&e->stream, &err);
  }
  return err.code == AICR_CODE_NONE || fail(t, &err);
}

/* Sends frames and stdin until the server has to read first. False with the
 * answer's error. */
static bool send_stream(struct kube_transfer *t)
{
  struct live_exec *e = t->exec;
  for (unsigned i = 0; i < CHUNKS_MAX; i++) {
    bool waits = t->rq.body != NULL && !e->stdin_ended;
    if (waits && !take_stdin(t)) {
      return false;
    }
    send_frames(t);
    if (!waits || e->unsendable || e->stream.out.len > 0 ||
        e->stream.state != KUBE_EXEC_RUNNING) {
      return true;
    }
  }
  e->more = true;
  return true;
}

/* The stream has ended: what of it is the answer? */
static void end_stream(struct kube_transfer *t)
{
  const struct kube_exec_stream *s = &t->exec->stream;
  send_frames(t); /* the close, if it goes at once */
  if (s->state == KUBE_EXEC_EXITED) {
    t->answer.http = 101;
    t->answer.exit_code = s->exit_code;
  } else {
    fail(t, &s->error);
  }
}

static bool take_frames(struct kube_transfer *t, const char *data, size_t len,
                        int64_t now_ms)
{
  return kube_exec_stream_feed(&t->exec->stream, data, len, now_ms) !=
         KUBE_EXEC_RUNNING;
}

static bool begin_stream(struct kube_transfer *t, const char *data, size_t len,
                         int64_t now_ms)
{
  struct live_exec *e = t->exec;
  struct kube_exec_options options = {.version = e->upgrade.head.version,
                                      .send_stdin = t->rq.body != NULL,
                                      .to_stdout = &t->answer.body,
                                      .to_stderr = &t->answer.stderr_text};
  e->step = STEP_STREAM;
  kube_exec_stream_init(&e->stream, &options, now_ms);
  return take_frames(t, data, len, now_ms);
}

/* True when the answer is complete. */
static bool take_upgrade(struct kube_transfer *t, enum kube_upgrade_state state,
                         const struct aicr_error *err)
{
  if (state == KUBE_UPGRADE_FAILED) {
    fail(t, err);
  } else if (state == KUBE_UPGRADE_REFUSED) {
    kube_upgrade_answer(&t->exec->upgrade, &t->answer);
  }
  return state == KUBE_UPGRADE_FAILED || state == KUBE_UPGRADE_REFUSED;
}

/* Takes bytes of the server; true when no more are wanted. */
static bool take(struct kube_transfer *t, const char *data, size_t len,
                 int64_t now_ms)
{
  struct live_exec *e = t->exec;
  struct aicr_error err;
  if (e->step == STEP_STREAM) {
    return take_frames(t, data, len, now_ms);
  }
  enum kube_upgrade_state state =
      kube_upgrade_feed(&e->upgrade, &data, &len, &err);
  return state == KUBE_UPGRADE_SWITCHED ? begin_stream(t, data, len, now_ms)
                                        : take_upgrade(t, state, &err);
}

/* The connection has ended. */
static void take_end(struct kube_transfer *t)
{
  struct live_exec *e = t->exec;
  struct aicr_error err;
  if (e->step == STEP_STREAM) {
    kube_exec_stream_finish(&e->stream);
  } else if (e->sent == 0) {
    end_transport(t, KUBE_TRANSPORT_RESET);
  } else {
    take_upgrade(t, kube_upgrade_finish(&e->upgrade, &err), &err);
  }
}

/* Reads what there is; true when no more is wanted or comes. */
static bool receive(struct kube_transfer *t, int64_t now_ms)
{
  struct live_exec *e = t->exec;
  char chunk[CHUNK];
  for (unsigned i = 0; i < CHUNKS_MAX; i++) {
    size_t n = 0;
    CURLcode r = curl_easy_recv(t->easy, chunk, sizeof chunk, &n);
    if (r == CURLE_AGAIN && !e->unsendable) {
      e->more = false;
      return false;
    }
    if (r != CURLE_OK || n == 0) {
      take_end(t);
      return true;
    }
    if (take(t, chunk, n, now_ms)) {
      return true;
    }
  }
  e->more = true;
  return false;
}

/* True with a transport's failure when the time is over. */
static bool is_late(struct kube_transfer *t, int64_t now_ms)
{
  const struct live_exec *e = t->exec;
  if (t->rq.deadline_ms != 0 && now_ms >= t->rq.deadline_ms) {
    end_transport(t, KUBE_TRANSPORT_DEADLINE);
    return true;
  }
  if (e->step == STEP_UPGRADE && now_ms >= e->upgrade_by) {
    end_transport(t, KUBE_TRANSPORT_SOCKET_TIMEOUT);
    return true;
  }
  return false;
}

bool kube_live_exec_step(struct kube_transfer *t, int64_t now_ms)
{
  struct live_exec *e = t->exec;
  if (e->step == STEP_CONNECT) {
    return false;
  }
  if (e->request.len > 0) {
    send_request(t);
  }
  bool over = receive(t, now_ms);
  /* The Status is the last that comes: nobody reads the rest of stdin. */
  if (!over && leaves_stdin(t) && e->stream.status_ended &&
      !e->stream.reader.in_message) {
    kube_exec_stream_finish(&e->stream);
    over = true;
  }
  if (!over && e->step == STEP_STREAM) {
    over = kube_exec_stream_step(&e->stream, now_ms) != KUBE_EXEC_RUNNING;
    if (!over && !send_stream(t)) {
      return true;
    }
    over = over || e->stream.state != KUBE_EXEC_RUNNING;
  }
  if (!over) {
    return is_late(t, now_ms);
  }
  if (e->step == STEP_STREAM) {
    end_stream(t);
  }
  return true;
}

bool kube_live_exec_wait(const struct kube_transfer *t, struct curl_waitfd *fd,
                         int64_t *due_ms)
{
  const struct live_exec *e = t->exec;
  if (e->step == STEP_CONNECT) {
    return false;
  }
  bool sends = !e->unsendable && (e->request.len > 0 || e->stream.out.len > 0);
  *fd = (struct curl_waitfd){
      e->socket, (short)(CURL_WAIT_POLLIN | (sends ? CURL_WAIT_POLLOUT : 0)),
      0};
  *due_ms = e->more                   ? 1
            : e->step == STEP_UPGRADE ? e->upgrade_by
                                      : kube_exec_stream_wake(&e->stream);
  if (t->rq.deadline_ms != 0 && t->rq.deadline_ms < *due_ms) {
    *due_ms = t->rq.deadline_ms;
  }
  return true;
}
