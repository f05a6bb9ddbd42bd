/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/status.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"

#define STATUS_MAX  (1u << 20)
#define MESSAGE_MAX 1200 /* of the server's text in one of our messages */
#define TEXT_MAX    208  /* of a body that is no Status */

struct row {
  int http;
  enum aicr_code code;
  const char *reason;
};

static const struct row by_http[] = {
    {400, AICR_INVALID_REQUEST, "bad-request"},
    {401, AICR_UNAUTHORIZED, "unauthenticated"},
    {403, AICR_UNAUTHORIZED, "forbidden"},
    {405, AICR_METHOD_NOT_ALLOWED, "method-not-allowed"},
    {406, AICR_INVALID_REQUEST, "not-acceptable"},
    {408, AICR_TIMEOUT, "server-timeout"},
    {409, AICR_CONFLICT, "conflict"},
    {410, AICR_INTERNAL, "expired"},
    {413, AICR_INVALID_REQUEST, "too-large"},
    {415, AICR_INVALID_REQUEST, "unsupported-media"},
    {422, AICR_INVALID_REQUEST, "invalid"},
    {429, AICR_RATE_LIMIT_EXCEEDED, "throttled"},
    {502, AICR_SERVICE_UNAVAILABLE, "unavailable"},
    {503, AICR_SERVICE_UNAVAILABLE, "unavailable"},
    {504, AICR_TIMEOUT, "server-timeout"},
};

/* The reasons that Kubernetes knows and the HTTP code that belongs to each. */
static const struct {
  const char *name;
  int http;
} known_reasons[] = {
    {"Unauthorized", 401},
    {"Forbidden", 403},
    {"NotFound", 404},
    {"AlreadyExists", 409},
    {"Conflict", 409},
    {"Gone", 410},
    {"Expired", 410},
    {"Invalid", 422},
    {"ServerTimeout", 504},
    {"StorageReadError", 500},
    {"Timeout", 504},
    {"TooManyRequests", 429},
    {"BadRequest", 400},
    {"MethodNotAllowed", 405},
    {"NotAcceptable", 406},
    {"RequestEntityTooLarge", 413},
    {"UnsupportedMediaType", 415},
    {"InternalError", 500},
    {"ServiceUnavailable", 503},
};

struct transport_row {
  enum aicr_code code;
  const char *reason, *text;
};

static const struct transport_row by_transport[KUBE_TRANSPORT_COUNT] = {
    [KUBE_TRANSPORT_OK] = {AICR_INTERNAL, "unexpected-response",
                           "no answer and no cause"},
    [KUBE_TRANSPORT_DEADLINE] = {AICR_TIMEOUT, "deadline",
                                 "the deadline passed before the answer came"},
    [KUBE_TRANSPORT_CANCELED] = {AICR_CANCELED, "canceled",
                                 "the request was canceled"},
    [KUBE_TRANSPORT_SOCKET_TIMEOUT] = {AICR_TIMEOUT, "timeout",
                                       "the server did not answer in time"},
    [KUBE_TRANSPORT_DNS_TIMEOUT] = {AICR_TIMEOUT, "timeout",
                                    "looking up the server's name timed out"},
    [KUBE_TRANSPORT_REFUSED] = {AICR_SERVICE_UNAVAILABLE, "connect",
                                "connection refused"},
    [KUBE_TRANSPORT_RESET] = {AICR_SERVICE_UNAVAILABLE, "connection-lost",
                              "connection reset"},
    [KUBE_TRANSPORT_HTTP2_LOST] = {AICR_SERVICE_UNAVAILABLE, "connection-lost",
                                   "HTTP/2 connection lost"},
    [KUBE_TRANSPORT_UNREACHABLE] = {AICR_SERVICE_UNAVAILABLE, "connect",
                                    "no route to the server"},
    [KUBE_TRANSPORT_PIPE] = {AICR_SERVICE_UNAVAILABLE, "connection-lost",
                             "broken pipe"},
    [KUBE_TRANSPORT_DNS] = {AICR_SERVICE_UNAVAILABLE, "dns",
                            "the server's name is not known"},
    [KUBE_TRANSPORT_TLS] = {AICR_INTERNAL, "tls-verify",
                            "the TLS connection could not be verified"},
    [KUBE_TRANSPORT_CUT] = {AICR_SERVICE_UNAVAILABLE, "connection-lost",
                            "the answer was cut before its end"},
};

/* The Status of an answer, as far as it is one. */
struct status {
  cJSON *tree;        /* NULL: the body is no Status */
  const char *reason; /* "" when absent */
  const char *message;
  const char *name, *kind; /* of details */
};

static bool has_word(const char *text, const char *word)
{
  return strstr(text, word) != NULL;
}

/* False only without memory: then nothing may be concluded from the body. */
static bool read_status(const struct kube_answer *answer, struct status *s,
                        struct aicr_error *err)
{
  struct aicr_error bad = {.code = AICR_CODE_NONE};
  *s = (struct status){.reason = "", .message = "", .name = "", .kind = ""};
  if (answer->body.data == NULL || answer->body.len > STATUS_MAX) {
    return true;
  }
  cJSON *tree = kube_json_tree(answer->body.data, answer->body.len, &bad);
  if (bad.code == AICR_INTERNAL) {
    *err = bad;
    return false;
  }
  if (strcmp(kube_json_text(tree, "kind"), "Status") != 0) {
    cJSON_Delete(tree);
    return true;
  }
  const cJSON *details = kube_json_member(tree, "details");
  s->tree = tree;
  s->reason = kube_json_text(tree, "reason");
  s->message = kube_json_text(tree, "message");
  s->name = kube_json_text(details, "name");
  s->kind = kube_json_text(details, "kind");
  return true;
}

static void keep_facts(const struct status *s, struct kube_failure *f)
{
  kube_set_text(f->status_reason, sizeof f->status_reason, s->reason);
  const cJSON *causes =
      kube_json_member(kube_json_member(s->tree, "details"), "causes");
  const cJSON *cause = NULL;
  cJSON_ArrayForEach(cause, causes)
  {
    if (f->cause_count == sizeof f->causes / sizeof f->causes[0]) {
      return;
    }
    size_t i = f->cause_count++;
    kube_set_text(f->causes[i].reason, sizeof f->causes[i].reason,
                  kube_json_text(cause, "reason"));
    kube_set_text(f->causes[i].field, sizeof f->causes[i].field,
                  kube_json_text(cause, "field"));
    kube_set_text(f->causes[i].message, sizeof f->causes[i].message,
                  kube_json_text(cause, "message"));
  }
}

/* "get pods/log "x" in namespace "y"" */
static void describe(const struct kube_request *rq,
                     const struct kube_failure *f, char *out, size_t size)
{
  struct aicr_quoted name, ns;
  const char *sub = rq->subresource == NULL ? "" : rq->subresource;
  if (strcmp(sub, f->verb) == 0) {
    sub = ""; /* exec of pods */
  }
  snprintf(out, size, "%s %s%s%s%s%s%s%s", f->verb, f->resource,
           sub[0] == '\0' ? "" : "/", sub, f->name[0] == '\0' ? "" : " ",
           f->name[0] == '\0' ? ""
                              : aicr_quote(&name, f->name, strlen(f->name)),
           f->ns[0] == '\0' ? "" : " in namespace ",
           f->ns[0] == '\0' ? "" : aicr_quote(&ns, f->ns, strlen(f->ns)));
}

static const struct row *row_of(int http)
{
  static const struct row redirect = {300, AICR_INTERNAL, "redirect-refused"};
  static const struct row client = {400, AICR_INVALID_REQUEST, "bad-request"};
  static const struct row server = {500, AICR_INTERNAL, "server-error"};
  static const struct row other = {0, AICR_INTERNAL, "unexpected-response"};
  for (size_t i = 0; i < sizeof by_http / sizeof by_http[0]; i++) {
    if (by_http[i].http == http) {
      return &by_http[i];
    }
  }
  if (http >= 500 && http < 600) {
    return &server;
  }
  if (http >= 400 && http < 500) {
    return &client;
  }
  return http >= 300 && http < 400 ? &redirect : &other;
}

static int http_of_reason(const char *reason)
{
  size_t n = sizeof known_reasons / sizeof known_reasons[0];
  for (size_t i = 0; i < n; i++) {
    if (strcmp(known_reasons[i].name, reason) == 0) {
      return known_reasons[i].http;
    }
  }
  return 0;
}

static bool is_log(const struct kube_request *rq)
{
  return rq->subresource != NULL && strcmp(rq->subresource, "log") == 0;
}

/* A log, or a command: what the kubelet of the pod's node has to give. */
static bool is_of_kubelet(const struct kube_request *rq)
{
  return is_log(rq) ||
         (rq->subresource != NULL && strcmp(rq->subresource, "exec") == 0);
}

bool kube_status_no_log(const struct kube_request *rq,
                        const struct kube_answer *a)
{
  static const char begin[] = "unable to retrieve container logs for ";
  const char *body = a->body.data;
  if (!is_log(rq) || a->http != 200 || body == NULL ||
      a->body.len > STATUS_MAX) {
    return false;
  }
  return strncmp(body, begin, sizeof begin - 1) == 0 &&
         strlen(body) == a->body.len &&
         strpbrk(body + sizeof begin - 1, " \t\r\n") == NULL;
}

static bool is_write(const struct kube_request *rq)
{
  return rq->verb != KUBE_GET && rq->verb != KUBE_LIST &&
         rq->verb != KUBE_WATCH && rq->verb != KUBE_RAW;
}

bool kube_status_success(const struct kube_request *rq,
                         const struct kube_answer *a)
{
  if (a->error.code != AICR_CODE_NONE) {
    return false;
  }
  if (rq->verb == KUBE_EXEC) {
    return a->http == 101;
  }
  /* What is only a part of it, or accepted for later, was not read. */
  if (!is_write(rq)) {
    return a->http == 200 && !kube_status_no_log(rq, a);
  }
  return a->http >= 200 && a->http < 300;
}

static bool is_json(const char *content_type)
{
  return has_word(content_type, "json");
}

static bool is_html(const struct kube_answer *a)
{
  const char *body = a->body.data;
  size_t len = body == NULL ? 0 : a->body.len;
  if (has_word(a->content_type, "text/html")) {
    return true;
  }
  aicr_trim(&body, &len);
  return a->content_type[0] == '\0' && len > 0 && body[0] == '<';
}

/* A 404 has four meanings: the body's shape and discovery tell which. */
static struct row read_404(const struct kube_request *rq,
                           const struct kube_answer *a, const struct status *s,
                           enum kube_served served)
{
  static const struct row no_api = {404, AICR_NOT_FOUND, "api-not-served"};
  static const struct row absent = {404, AICR_NOT_FOUND, "not-found"};
  static const struct row scope = {404, AICR_INTERNAL, "scope-mismatch"};
  static const struct row unknown = {404, AICR_INTERNAL,
                                     "discovery-incomplete"};
  if (s->tree == NULL) {
    /* Of a path that is no resource's discovery has nothing to tell. */
    if (is_json(a->content_type) || rq->verb == KUBE_RAW) {
      return *row_of(0);
    }
    return served == KUBE_SERVED_NO    ? no_api
           : served == KUBE_SERVED_YES ? scope
                                       : unknown;
  }
  int http = http_of_reason(s->reason);
  if (http != 0 && http != 404) {
    return *row_of(http);
  }
  if (s->name[0] == '\0') {
    /* Where discovery cannot tell, only the server's own words do: a gateway
     * writes such a Status, too. */
    bool own = strcmp(s->message,
                      "the server could not find the requested resource") == 0;
    return served == KUBE_SERVED_YES               ? scope
           : served == KUBE_SERVED_UNKNOWN && !own ? unknown
                                                   : no_api;
  }
  /* The kubelet's own 404, which the server hands on with the subresource for a
   * kind: a kubelet that has just begun does not know its pods yet. */
  if (is_log(rq) && strcmp(s->kind, "pods/log") == 0) {
    return (struct row){404, AICR_SERVICE_UNAVAILABLE, "log-unavailable"};
  }
  /* The log of a pod on a node that is gone: the server names the node. */
  if (is_of_kubelet(rq) && strcmp(s->kind, "pods") == 0 && rq->name != NULL &&
      strcmp(s->name, rq->name) != 0) {
    return (struct row){404, AICR_SERVICE_UNAVAILABLE, "node-gone"};
  }
  /* Nothing can be made in it, which says nothing of what was to be made. */
  if (strcmp(s->kind, "namespaces") == 0 &&
      strcmp(rq->resource.plural, "namespaces") != 0) {
    return (struct row){404, AICR_NOT_FOUND, "namespace-not-found"};
  }
  return absent;
}

/* What the server says without a reason in a 500, though it is our fault. */
static struct row read_500(const struct status *s)
{
  static const char typed[] = "failed to create typed patch object";
  if (s->reason[0] == '\0' && strstr(s->message, typed) == s->message) {
    return (struct row){500, AICR_INVALID_REQUEST, "invalid"};
  }
  if (s->reason[0] == '\0' &&
      has_word(s->message, "etcdserver: request is too large")) {
    return (struct row){500, AICR_INVALID_REQUEST, "too-large"};
  }
  return *row_of(500);
}

/* Did the API server not get through to the kubelet? Its own words, and those
 * of the proxies that it may use. */
static bool is_unreachable(const struct kube_answer *a, const struct status *s)
{
  static const char *const begins[] = {"Get \"https://", "Post \"https://",
                                       "error dialing backend",
                                       "proxy error from "};
  const char *text = s->tree != NULL ? s->message : a->body.data;
  bool found = false;
  for (size_t i = 0; text != NULL && i < sizeof begins / sizeof begins[0];
       i++) {
    found = found || strncmp(text, begins[i], strlen(begins[i])) == 0;
  }
  return found && s->reason[0] == '\0';
}

/* What is said of a pod's log, or before a command in it runs: by its words
 * only, the Status has the reason of a wrong request or none. False: nothing
 * of its own. */
static bool read_pod(const struct kube_request *rq, const struct kube_answer *a,
                     const struct status *s, struct row *row)
{
  static const char previous[] = "previous terminated container ";
  *row = (struct row){a->http, AICR_SERVICE_UNAVAILABLE, "not-ready"};
  switch (a->http) {
  case 200:
    row->reason = "log-unavailable";
    return kube_status_no_log(rq, a);
  case 204:
    return is_log(rq);
  case 400:
    if (is_log(rq) && strncmp(s->message, previous, sizeof previous - 1) == 0) {
      *row = (struct row){400, AICR_NOT_FOUND, "no-previous"};
      return true;
    }
    return has_word(s->message, " is waiting to start: ") ||
           has_word(s->message, " does not have a host assigned");
  case 500:
  case 502:
  case 503:
  case 504:
    row->reason = "node-unreachable";
    return is_unreachable(a, s);
  default:
    return false;
  }
}

/* A webhook may refuse with any code, also with one that would mean that an
 * object or an API is absent. */
static bool is_denied_by_webhook(const struct kube_request *rq,
                                 const struct kube_answer *a,
                                 const struct status *s)
{
  static const char begin[] = "admission webhook \"";
  return is_write(rq) && a->http >= 400 && a->http < 500 &&
         strncmp(s->message, begin, sizeof begin - 1) == 0 &&
         has_word(s->message, " denied the request");
}

/* Was it refused by admission? What RBAC refuses names the user (0.2, 2.4). */
static bool is_admission(const struct kube_request *rq,
                         const struct kube_answer *a, const struct status *s)
{
  if (!is_write(rq) || s->tree == NULL) {
    return false;
  }
  if (is_denied_by_webhook(rq, a, s)) {
    return true;
  }
  if (a->http == 500) {
    return has_word(s->message, "failed calling webhook \"");
  }
  if (a->http == 422) {
    return has_word(s->message, "ValidatingAdmissionPolicy '") &&
           has_word(s->message, " denied request");
  }
  bool rbac =
      (has_word(s->message, "User \"") && has_word(s->message, "\" cannot ")) ||
      has_word(s->message, " is attempting to grant RBAC permissions ");
  return a->http == 403 && strcmp(s->reason, "Forbidden") == 0 && !rbac;
}

static struct row read_http(const struct kube_request *rq,
                            const struct kube_answer *a, const struct status *s,
                            enum kube_served served)
{
  struct row row;
  if (is_html(a)) {
    return *row_of(0);
  }
  if (is_denied_by_webhook(rq, a, s)) {
    return *row_of(403);
  }
  if (is_of_kubelet(rq) && read_pod(rq, a, s, &row)) {
    return row;
  }
  if (a->http == 404) {
    return read_404(rq, a, s, served);
  }
  if (a->http == 500) {
    return read_500(s);
  }
  row = *row_of(a->http);
  if (a->http == 409 && strcmp(s->reason, "AlreadyExists") == 0) {
    row.reason = "already-exists";
  }
  return row;
}

/* What our words add to the server's: the meaning that its text hides. */
static const char *meaning(const char *reason)
{
  static const char *const words[][2] = {
      {"api-not-served", "the API is not served"},
      {"not-found", "not found"},
      {"namespace-not-found", "the namespace does not exist"},
      {"scope-mismatch", "the API is served, but not this path of it"},
      {"discovery-incomplete",
       "page not found, and discovery cannot tell whether the API is served"},
      {"forbidden", "forbidden"},
      {"unauthenticated", "the credentials were not accepted"},
      {"unexpected-response", "unexpected response"},
      {"redirect-refused", "a redirect was refused"},
      {"node-gone", "the node of the pod is gone"},
      {"node-unreachable", "the node of the pod cannot be reached"},
      {"not-ready", "the container has not started"},
      {"no-previous", "the container has no earlier run"},
      {"log-unavailable", "the node of the pod cannot read the log"},
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i][0], reason) == 0) {
      return words[i][1];
    }
  }
  return reason;
}

static void fail_http(const struct kube_answer *a, const struct status *s,
                      const struct row *row, const char *call, bool admission,
                      struct aicr_error *err)
{
  char text[MESSAGE_MAX];
  const char *means = admission && strcmp(row->reason, "forbidden") == 0
                          ? "refused by admission control"
                          : meaning(row->reason);
  const char *from = s->message;
  size_t len = strlen(from), limit = MESSAGE_MAX;
  if (s->tree == NULL) {
    from = a->body.data == NULL ? "" : a->body.data;
    len = a->body.data == NULL ? 0 : a->body.len;
    limit = TEXT_MAX;
  }
  kube_plain_text(text, limit, from, len);
  const char *sep = text[0] == '\0' ? "" : ": ";
  bool verdict = strcmp(row->reason, "not-found") == 0 ||
                 strcmp(row->reason, "api-not-served") == 0;
  if (verdict) {
    aicr_verdict(err, row->code, row->reason, "%s: %s (HTTP %d)%s%s", call,
                 means, a->http, sep, text);
  } else {
    aicr_fail(err, row->code, row->reason, "%s: %s (HTTP %d)%s%s", call, means,
              a->http, sep, text);
  }
}

/* What our side of a transfer refused; other reasons are a shade of their
 * transport's. */
static const char *reason_text(const char *reason)
{
  static const char *const words[][2] = {
      {"response-too-large", "the answer is larger than allowed"},
      {"unexpected-response", "unexpected response"},
      {"bad-encoding", "the compressed answer cannot be unpacked"},
      {"page-not-found", "only a part of the list came: the rest is not there"},
      {"protocol", "the connection failed"},
      {"tls-config", "the client's own certificate or CA cannot be used"},
      {"tls-handshake", "no TLS connection could be made"},
      {"proxy-dns", "the proxy's name is not known"},
      {"proxy-refused", "the proxy did not connect to the server"},
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i][0], reason) == 0) {
      return words[i][1];
    }
  }
  return NULL;
}

static void fail_transport(const struct kube_answer *a,
                           const struct transport_row *row, const char *call,
                           struct aicr_error *err)
{
  char detail[MESSAGE_MAX];
  const char *reason = row->reason, *text = row->text;
  enum aicr_code code = row->code;
  kube_plain_text(detail, sizeof detail, a->detail, strlen(a->detail));
  if (a->reason != NULL) {
    const char *words = reason_text(a->reason);
    text = words == NULL ? text : words;
    reason = a->reason;
    code = a->transport == KUBE_TRANSPORT_CUT ? AICR_INTERNAL : code;
  }
  aicr_fail(err, code, reason, "%s: %s%s%s%s", call, text,
            detail[0] == '\0' ? "" : " (", detail,
            detail[0] == '\0' ? "" : ")");
}

void kube_status_error(const struct kube_request *rq,
                       const struct kube_answer *answer,
                       enum kube_served served, struct aicr_error *err,
                       struct kube_failure *failure)
{
  char call[1024];
  failure->http = 0;
  failure->transport = KUBE_TRANSPORT_OK;
  failure->status_reason[0] = '\0';
  failure->attempts = answer->attempts;
  failure->served = served;
  failure->admission = false;
  failure->cause_count = 0;
  if (answer->error.code != AICR_CODE_NONE) {
    *err = answer->error;
    return;
  }
  describe(rq, failure, call, sizeof call);
  if (answer->http == 0) {
    unsigned t = (unsigned)answer->transport;
    if (t >= KUBE_TRANSPORT_COUNT) {
      t = KUBE_TRANSPORT_OK;
    }
    fail_transport(answer, &by_transport[t], call, err);
    failure->transport = answer->transport;
    return;
  }
  struct status status;
  failure->http = answer->http;
  if (!read_status(answer, &status, err)) {
    return;
  }
  keep_facts(&status, failure);
  struct row row = read_http(rq, answer, &status, served);
  failure->admission = is_admission(rq, answer, &status);
  fail_http(answer, &status, &row, call, failure->admission, err);
  cJSON_Delete(status.tree);
}

bool kube_status_names_object(const struct kube_answer *answer)
{
  struct status status;
  struct aicr_error ignored;
  if (answer->http != 404 || !read_status(answer, &status, &ignored)) {
    return false;
  }
  int http = http_of_reason(status.reason);
  bool names = status.name[0] != '\0' && (http == 0 || http == 404);
  cJSON_Delete(status.tree);
  return names;
}
