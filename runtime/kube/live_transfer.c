/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "kube/gunzip.h"
#include "kube/live_internal.h"
#include "kube/retry.h"
#include "kube/url.h"

#define MIB               ((size_t)1 << 20)
#define OBJECT_MAX        (16 * MIB)
#define TEXT_MAX          (64 * MIB)
#define STREAM_CHUNK      MIB
#define CONNECT_MS        10000
#define GET_MS            30000
#define LIST_MS           60000
#define EARLY_MS          1 /* libcurl rounds what has passed up */
#define HEADER_TEXT_MAX   ((size_t)64 << 10)
#define RETRY_AFTER_MAX_S 3600 /* a server may say any number */

/* libcurl takes a head that the connection's end cuts for a whole one: an
 * answer is only what has the empty line behind its head. */
static size_t on_head(char *line, size_t size, size_t count, void *ud)
{
  struct kube_transfer *t = ud;
  size_t n = size * count;
  long http = 0;
  if (n > 5 && memcmp(line, "HTTP/", 5) == 0) {
    t->headed = false;
    t->encoding = LIVE_PLAIN;
  } else if (n > 0 && (line[0] == '\r' || line[0] == '\n')) {
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &http);
    t->headed = http >= 200;
  } else {
    kube_live_take_encoding(t, line, n);
    kube_server_warnings_take(&t->live->warnings, line, n);
  }
  return n;
}

/* Keeps the body within its bounds; what a gzip bomb unpacks to as well. */
static size_t on_body(char *data, size_t size, size_t count, void *ud)
{
  struct kube_transfer *t = ud;
  struct aicr_buf *body = &t->answer.body;
  size_t n = size * count, after = body->len + n;
  long http = 0;
  curl_off_t wire = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &http);
  curl_easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire);
  if (t->rq.stream && http < 300 && body->len > STREAM_CHUNK) {
    t->paused = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  t->unpacked += n;
  if (t->encoding == LIVE_UNKNOWN) {
    t->refused = "bad-encoding";
    return 0;
  }
  if (t->unpacked > KUBE_BOMB_FROM && wire > 0 &&
      t->unpacked / (size_t)wire > KUBE_BOMB_RATIO) {
    t->refused = "bad-encoding";
    return 0;
  }
  if (http >= 300 && (t->overlong || after > LIVE_ERROR_MAX)) {
    t->overlong = true; /* nothing after a gap is kept */
    return n;
  }
  if (after > t->body_max) {
    t->refused = "response-too-large";
    return 0;
  }
  return aicr_buf_add(body, data, n) ? n : 0;
}

const char *kube_live_user_agent(void)
{
  static char text[128];
  struct utsname u;
  if (text[0] == '\0') {
    const char *machine = uname(&u) == 0 ? u.machine : "unknown";
    snprintf(text, sizeof text, "aicr-run/%s (linux/%.32s)", AICR_VERSION,
             machine);
  }
  return text;
}

static bool add_header(struct kube_transfer *t, const char *name,
                       const char *value)
{
  struct aicr_buf b;
  aicr_buf_init(&b, HEADER_TEXT_MAX);
  for (const char *p = value; *p != '\0'; p++) {
    if ((unsigned char)*p < 0x20 || *p == 0x7f) {
      return false; /* it would begin another header */
    }
  }
  aicr_buf_addf(&b, "%s: ", name);
  aicr_buf_adds(&b, value);
  struct curl_slist *more =
      b.failed ? NULL : curl_slist_append(t->headers, b.data);
  if (b.data != NULL) {
    explicit_bzero(b.data, b.len);
  }
  aicr_buf_free(&b);
  if (more == NULL) {
    return false;
  }
  t->headers = more;
  return true;
}

static bool add_impersonation(struct kube_transfer *t)
{
  const struct kube_impersonation *as = &t->live->config.as;
  bool ok = as->user == NULL || add_header(t, "Impersonate-User", as->user);
  ok = ok && (as->uid == NULL || add_header(t, "Impersonate-Uid", as->uid));
  for (size_t i = 0; ok && i < as->group_count; i++) {
    ok = add_header(t, "Impersonate-Group", as->groups[i]);
  }
  for (size_t i = 0; ok && i < as->extra_count; i++) {
    struct aicr_buf name;
    aicr_buf_init(&name, HEADER_TEXT_MAX);
    aicr_buf_adds(&name, "Impersonate-Extra-");
    kube_url_escape(&name, as->extra[i].name, strlen(as->extra[i].name));
    ok = !name.failed && add_header(t, name.data, as->extra[i].value);
    aicr_buf_free(&name);
  }
  return ok;
}

/* Credentials go over TLS only. */
static bool set_headers(struct kube_transfer *t, const char *authorization)
{
  const struct kube_request *rq = &t->rq;
  const struct live_target *target = &t->live->target;
  bool ok = add_header(t, "Accept",
                       rq->accept != NULL ? rq->accept
                       : rq->text         ? "*/*"
                                          : "application/json") &&
            add_header(t, "Expect", "");
  if (rq->body != NULL && rq->content_type != NULL) {
    ok = ok && add_header(t, "Content-Type", rq->content_type);
  }
  if (target->connect_to != NULL) {
    ok = ok && add_header(t, "Host", target->authority);
  }
  if (authorization != NULL && target->tls) {
    ok = ok && add_header(t, "Authorization", authorization);
  }
  return ok && add_impersonation(t) &&
         curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) == 0;
}

/* Copied: a plug-in may bring another certificate while this one is in use. */
static bool set_blob(CURL *easy, CURLoption option, const struct aicr_buf *b)
{
  struct curl_blob blob = {b->data, b->len, CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

/* A private CA is the only one that may vouch for the server: the handle's
 * defaults, which name the system's, are taken away. */
static bool set_tls(struct kube_transfer *t)
{
  const struct kube_config *c = &t->live->config;
  const struct aicr_buf *certificate = NULL, *key = NULL;
  unsigned generation = 0;
  long verify = c->insecure ? 0 : 1;
  CURL *e = t->easy;
  /* A session would be the handle's; without memory libcurl frees it twice. */
  bool ok = curl_easy_setopt(e, CURLOPT_SSL_SESSIONID_CACHE, 0L) == CURLE_OK &&
            curl_easy_setopt(e, CURLOPT_SSLVERSION,
                             (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
            curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, verify) == CURLE_OK &&
            curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, verify * 2) == CURLE_OK;
  if (c->ca.len > 0) {
    ok = ok && set_blob(e, CURLOPT_CAINFO_BLOB, &c->ca) &&
         curl_easy_setopt(e, CURLOPT_CAINFO, NULL) == CURLE_OK &&
         curl_easy_setopt(e, CURLOPT_CAPATH, NULL) == CURLE_OK;
  }
  kube_credential_certificate(t->live->credential, &certificate, &key,
                              &generation);
  if (certificate != NULL && key != NULL) {
    ok = ok && set_blob(e, CURLOPT_SSLCERT_BLOB, certificate) &&
         set_blob(e, CURLOPT_SSLKEY_BLOB, key) &&
         curl_easy_setopt(e, CURLOPT_SSLCERTTYPE, "PEM") == CURLE_OK &&
         curl_easy_setopt(e, CURLOPT_SSLKEYTYPE, "PEM") == CURLE_OK;
  }
  return ok;
}

/* libcurl sends a request once more by itself when a connection that had been
 * idle ends without an answer. What a server may have carried out is not sent
 * twice: it gets a new connection. An access review changes nothing. */
static bool is_sent_once(const struct kube_request *rq)
{
  switch (rq->verb) {
  case KUBE_CREATE:
    return strcmp(rq->resource.group, "authorization.k8s.io") != 0;
  case KUBE_UPDATE:
  case KUBE_PATCH:
  case KUBE_APPLY:
  case KUBE_DELETE:
    return true;
  default:
    return false;
  }
}

/* A log that is read slowly keeps its server waiting. Over HTTP/2 libcurl would
 * keep all waiting that share the connection, so it has one of its own. */
static bool is_alone(const struct kube_request *rq)
{
  return rq->stream && rq->text;
}

static const char *proxy_of(const struct kube_transfer *t)
{
  const struct kube_config *c = &t->live->config;
  return c->proxy != NULL ? c->proxy : c->env_proxy;
}

/* What the environment says is not left to libcurl, which reads it otherwise
 * than kubectl: "" is none. */
static bool set_proxy(struct kube_transfer *t)
{
  const char *proxy = proxy_of(t);
  return curl_easy_setopt(t->easy, CURLOPT_PROXY, proxy == NULL ? "" : proxy) ==
             CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "") == CURLE_OK;
}

static bool set_connection(struct kube_transfer *t)
{
  const struct kube_live *l = t->live;
  CURL *e = t->easy;
  bool alone = is_alone(&t->rq);
  long http = l->target.tls && !alone ? (long)CURL_HTTP_VERSION_2TLS
                                      : (long)CURL_HTTP_VERSION_1_1;
  bool ok =
      curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, "https") == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) ==
          CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_HTTP_VERSION, http) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_FRESH_CONNECT,
                       is_sent_once(&t->rq) || alone ? 1L : 0L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_FORBID_REUSE, alone ? 1L : 0L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, 30L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, 15L) == CURLE_OK &&
      curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) ==
          CURLE_OK;
  if (!l->config.no_compression) {
    ok = ok &&
         curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "gzip") == CURLE_OK &&
         curl_easy_setopt(e, CURLOPT_HTTP_CONTENT_DECODING,
                          kube_live_keeps_packed(&t->rq) ? 0L : 1L) == CURLE_OK;
  }
  return ok && set_proxy(t) && set_tls(t);
}

/* Without memory libcurl leaves the query out of what it sends, and a list is
 * one of everything. So it is told what to send; not over http, where a proxy
 * needs all of the URL. */
static bool set_request_target(struct kube_transfer *t)
{
  const char *path = strchr(t->url.data + strlen("https://"), '/');
  return !t->live->target.tls ||
         curl_easy_setopt(t->easy, CURLOPT_REQUEST_TARGET, path) == CURLE_OK;
}

static bool set_url(struct kube_transfer *t)
{
  const struct kube_request *rq = &t->rq;
  struct aicr_buf query;
  char limit[16];
  aicr_buf_init(&query, MIB);
  if (rq->verb == KUBE_LIST) {
    snprintf(limit, sizeof limit, "%u", rq->limit);
    kube_url_param(&query, "limit", limit);
    kube_url_param(&query, "continue", rq->page);
  }
  if (rq->verb == KUBE_LIST || rq->verb == KUBE_WATCH) {
    kube_url_param(&query, "labelSelector", rq->label);
    kube_url_param(&query, "fieldSelector", rq->field);
  }
  if (rq->query != NULL) {
    aicr_buf_adds(&query, query.len > 0 ? "&" : "");
    aicr_buf_adds(&query, rq->query);
  }
  aicr_buf_reset(&t->url);
  aicr_buf_adds(&t->url, t->live->target.base);
  aicr_buf_adds(&t->url, rq->path);
  if (query.len > 0) {
    aicr_buf_adds(&t->url, "?");
    aicr_buf_add(&t->url, query.data, query.len);
  }
  bool ok = !query.failed && !t->url.failed &&
            curl_easy_setopt(t->easy, CURLOPT_URL, t->url.data) == CURLE_OK &&
            set_request_target(t);
  aicr_buf_free(&query);
  return ok;
}

static bool set_method(struct kube_transfer *t)
{
  static const char *const methods[KUBE_VERB_COUNT] = {[KUBE_CREATE] = "POST",
                                                       [KUBE_UPDATE] = "PUT",
                                                       [KUBE_PATCH] = "PATCH",
                                                       [KUBE_APPLY] = "PATCH",
                                                       [KUBE_DELETE] =
                                                           "DELETE"};
  const struct kube_request *rq = &t->rq;
  const char *method = methods[rq->verb];
  if (method == NULL) {
    return curl_easy_setopt(t->easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
  }
  const char *body = rq->body == NULL ? "" : rq->body;
  return curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, body) == CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                          (curl_off_t)(rq->body == NULL ? 0 : rq->body_len)) ==
             CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
}

static bool set_limits(struct kube_transfer *t, int64_t now_ms)
{
  int64_t ms = t->rq.verb == KUBE_LIST ? LIST_MS : GET_MS;
  if (t->rq.deadline_ms != 0 &&
      (t->rq.stream || t->rq.deadline_ms - now_ms < ms)) {
    ms = t->rq.deadline_ms - now_ms;
  } else if (t->rq.stream) {
    ms = 0;
  }
  t->body_max = t->rq.verb == KUBE_LIST ? KUBE_PAGE_MAX
                : t->rq.text            ? TEXT_MAX
                                        : OBJECT_MAX;
  aicr_buf_free(&t->answer.body);
  aicr_buf_init(&t->answer.body, t->body_max);
  return curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS,
                          ms == 0  ? 0L
                          : ms < 1 ? 1L
                                   : (long)ms) == CURLE_OK;
}

static bool set_target(struct kube_transfer *t)
{
  t->connect_to.data = t->live->target.connect_to;
  return t->connect_to.data == NULL ||
         curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, &t->connect_to) ==
             CURLE_OK;
}

bool kube_live_prepare(struct kube_transfer *t, const char *authorization,
                       int64_t now_ms)
{
  t->easy = curl_easy_init();
  if (t->easy == NULL) {
    return false;
  }
  t->curl_text[0] = '\0';
  t->refused = NULL;
  t->headed = false;
  t->unpacked = 0;
  t->encoding = LIVE_PLAIN;
  t->overlong = false;
  return curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->curl_text) ==
             CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t) == CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_head) ==
             CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t) == CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body) ==
             CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t) == CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_USERAGENT, kube_live_user_agent()) ==
             CURLE_OK &&
         set_connection(t) && set_target(t) && set_url(t) && set_method(t) &&
         set_headers(t, authorization) && set_limits(t, now_ms);
}

bool kube_live_send(struct kube_transfer *t, const char *authorization,
                    int64_t now_ms)
{
  if (kube_live_prepare(t, authorization, now_ms) &&
      curl_multi_add_handle(t->live->multi, t->easy) == CURLM_OK) {
    t->attempts++;
    return true;
  }
  kube_live_release(t);
  return aicr_fail(&t->answer.error, AICR_INTERNAL, "transport",
                   "the request could not be set up: no memory, or this "
                   "libcurl lacks what it needs (see aicr-run --version)");
}

void kube_live_release(struct kube_transfer *t)
{
  struct kube_live *l = t->live;
  kube_live_exec_release(t);
  for (struct curl_slist *h = t->headers; h != NULL; h = h->next) {
    explicit_bzero(h->data, strlen(h->data));
  }
  curl_slist_free_all(t->headers);
  t->headers = NULL;
  if (t->easy == NULL) {
    return;
  }
  /* It is not kept: curl_easy_reset() does not say when it lacks memory for a
   * handle's defaults, and connections are the multi handle's. */
  curl_multi_remove_handle(l->multi, t->easy);
  curl_easy_cleanup(t->easy);
  t->easy = NULL;
}

static enum kube_transport connect_failure(const struct kube_transfer *t)
{
  long number = 0;
  curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &number);
  return number == ECONNREFUSED ? KUBE_TRANSPORT_REFUSED
                                : KUBE_TRANSPORT_UNREACHABLE;
}

static enum kube_transport timed_out(const struct kube_transfer *t,
                                     int64_t now_ms)
{
  curl_off_t lookup = 0;
  if (t->rq.deadline_ms != 0 && now_ms >= t->rq.deadline_ms - EARLY_MS) {
    return KUBE_TRANSPORT_DEADLINE;
  }
  curl_easy_getinfo(t->easy, CURLINFO_NAMELOOKUP_TIME_T, &lookup);
  return lookup == 0 ? KUBE_TRANSPORT_DNS_TIMEOUT
                     : KUBE_TRANSPORT_SOCKET_TIMEOUT;
}

static void classify(struct kube_transfer *t, CURLcode result, int64_t now_ms)
{
  static const struct {
    CURLcode code;
    enum kube_transport transport;
    const char *reason;
  } rows[] = {
      {CURLE_COULDNT_RESOLVE_HOST, KUBE_TRANSPORT_DNS, NULL},
      {CURLE_COULDNT_RESOLVE_PROXY, KUBE_TRANSPORT_DNS, "proxy-dns"},
      {CURLE_SSL_CONNECT_ERROR, KUBE_TRANSPORT_TLS, "tls-handshake"},
      {CURLE_PEER_FAILED_VERIFICATION, KUBE_TRANSPORT_TLS, NULL},
      {CURLE_SSL_CERTPROBLEM, KUBE_TRANSPORT_TLS, "tls-config"},
      {CURLE_SSL_CACERT_BADFILE, KUBE_TRANSPORT_TLS, "tls-config"},
      {CURLE_SSL_CRL_BADFILE, KUBE_TRANSPORT_TLS, "tls-config"},
      {CURLE_SSL_CIPHER, KUBE_TRANSPORT_TLS, "tls-config"},
      {CURLE_PARTIAL_FILE, KUBE_TRANSPORT_CUT, NULL},
      {CURLE_GOT_NOTHING, KUBE_TRANSPORT_CUT, NULL},
      {CURLE_SEND_ERROR, KUBE_TRANSPORT_PIPE, NULL},
      {CURLE_RECV_ERROR, KUBE_TRANSPORT_RESET, NULL},
      {CURLE_HTTP2, KUBE_TRANSPORT_HTTP2_LOST, NULL},
      {CURLE_HTTP2_STREAM, KUBE_TRANSPORT_HTTP2_LOST, NULL},
      {CURLE_BAD_CONTENT_ENCODING, KUBE_TRANSPORT_CUT, "bad-encoding"},
      {CURLE_FILESIZE_EXCEEDED, KUBE_TRANSPORT_CUT, "response-too-large"},
  };
  struct kube_answer *a = &t->answer;
  long proxy = 0;
  curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
  if (result == CURLE_RECV_ERROR && proxy >= 300) {
    a->transport = KUBE_TRANSPORT_RESET;
    a->reason = "proxy-refused";
    return;
  }
  if (result == CURLE_OPERATION_TIMEDOUT) {
    a->transport = timed_out(t, now_ms);
    return;
  }
  if (result == CURLE_COULDNT_CONNECT) {
    a->transport = connect_failure(t);
    return;
  }
  a->transport = KUBE_TRANSPORT_RESET;
  a->reason = "protocol";
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].code == result) {
      a->transport = rows[i].transport;
      a->reason = rows[i].reason;
    }
  }
  if (t->refused != NULL) {
    a->transport = KUBE_TRANSPORT_CUT;
    a->reason = t->refused;
  }
}

/* Which of the two it was that could not be reached? */
static const char *by_proxy(const struct kube_transfer *t)
{
  const struct kube_config *c = &t->live->config;
  return c->proxy != NULL       ? " by the proxy of proxy-url"
         : c->env_proxy == NULL ? ""
         : t->live->target.tls  ? " by the proxy of HTTPS_PROXY"
                                : " by the proxy of HTTP_PROXY";
}

static void take_head(struct kube_transfer *t)
{
  struct kube_answer *a = &t->answer;
  const char *type = NULL;
  long http = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &http);
  curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
  a->http = (int)http;
  snprintf(a->content_type, sizeof a->content_type, "%s",
           type == NULL ? "" : type);
}

/* A server that refuses a user need not read the request's body; where it then
 * resets the stream, libcurl may lose the body of the answer that came before.
 * The refusal stands by its number. */
static bool refused_early(const struct kube_transfer *t, CURLcode result)
{
  long http = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &http);
  return t->rq.body != NULL && (http == 401 || http == 403) &&
         (result == CURLE_PARTIAL_FILE || result == CURLE_HTTP2_STREAM ||
          result == CURLE_SEND_ERROR);
}

int64_t kube_live_finish(struct kube_transfer *t, CURLcode result,
                         int64_t now_ms)
{
  struct kube_answer *a = &t->answer;
  curl_off_t seconds = 0;
  a->attempts = t->attempts;
  if (refused_early(t, result)) {
    aicr_buf_reset(&a->body);
    take_head(t);
    a->content_type[0] = '\0';
    return -1;
  }
  if (result == CURLE_OK && !t->headed) {
    result = CURLE_GOT_NOTHING;
  }
  if (result == CURLE_OK) {
    take_head(t);
    result = kube_live_unpack(t);
  }
  if (result != CURLE_OK) {
    a->http = 0;
    a->content_type[0] = '\0';
    bool no_memory = a->body.no_memory;
    aicr_buf_free(&a->body); /* part of an answer is none */
    if (no_memory || result == CURLE_OUT_OF_MEMORY) {
      aicr_fail(&a->error, AICR_INTERNAL, "memory", "no memory for an answer");
      return -1;
    }
    classify(t, result, now_ms);
    const char *text =
        t->curl_text[0] == '\0' ? curl_easy_strerror(result) : t->curl_text;
    snprintf(a->detail, sizeof a->detail, "%.100s%s: %.150s",
             t->live->target.authority, by_proxy(t), text);
    size_t len = strlen(a->detail);
    if (t->before != 0) {
      snprintf(a->detail + len, sizeof a->detail - len,
               "; the attempt before was answered HTTP %d", t->before);
    }
    return -1;
  }
  if (a->http < 400) {
    return -1;
  }
  curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &seconds);
  return seconds <= 0                  ? kube_retry_after(a)
         : seconds > RETRY_AFTER_MAX_S ? (int64_t)RETRY_AFTER_MAX_S * 1000
                                       : (int64_t)seconds * 1000;
}

bool kube_live_unsent(const struct kube_transfer *t)
{
  long sent = 0;
  if (t->exec != NULL) {
    return kube_live_exec_unsent(t);
  }
  curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
  return sent == 0;
}
