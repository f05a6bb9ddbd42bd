/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec_request.h"

#include <string.h>
#include <strings.h>

#include "core/base64.h"
#include "core/text.h"
#include "kube/url.h"

static bool bad(struct aicr_error *err, const char *what)
{
  return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                   "exec is not sent: %s", what);
}

static bool is_visible(const char *text)
{
  for (; *text != '\0'; text++) {
    if (*text < 0x21 || *text > 0x7e) {
      return false;
    }
  }
  return true;
}

/* Is the line a field, and none of those that the upgrade itself needs? */
static bool is_header(const char *line)
{
  static const char *const ours[] = {
      "Host", "Connection", "Upgrade", "Content-Length", "Transfer-Encoding",
  };
  size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789!#$%&'*+-.^_`|~");
  if (n == 0 || line[n] != ':' ||
      strncasecmp(line, "Sec-WebSocket-", 14) == 0) {
    return false;
  }
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
    if (n == strlen(ours[i]) && strncasecmp(line, ours[i], n) == 0) {
      return false;
    }
  }
  for (const char *p = line + n; *p != '\0'; p++) {
    if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f) {
      return false;
    }
  }
  return true;
}

static bool check(const struct kube_exec_request *rq, struct aicr_error *err)
{
  struct aicr_quoted q;
  if (rq->command_count == 0 || rq->command[0][0] == '\0') {
    return bad(err, "there is no command");
  }
  if (!rq->send_stdin && !rq->want_stdout && !rq->want_stderr) {
    return bad(err, "none of stdin, stdout and stderr is asked for");
  }
  if (rq->tty && rq->want_stderr) {
    return bad(err, "a terminal has no stderr of its own: leave out stderr");
  }
  if (rq->container != NULL && rq->container[0] == '\0') {
    return bad(err, "the container's name is empty");
  }
  if (rq->host[0] == '\0' || !is_visible(rq->host)) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "exec is not sent: bad host %s",
                     aicr_quote(&q, rq->host, strlen(rq->host)));
  }
  if (rq->path[0] != '/' || !is_visible(rq->path) ||
      strstr(rq->path, "//") != NULL || strpbrk(rq->path, "?#") != NULL) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "exec is not sent: bad path %s",
                     aicr_quote(&q, rq->path, strlen(rq->path)));
  }
  for (size_t i = 0; i < rq->header_count; i++) {
    if (!is_header(rq->headers[i])) {
      return bad(err, "a header line is no field, or one of the upgrade's own");
    }
  }
  return true;
}

static void add_query(const struct kube_exec_request *rq, struct aicr_buf *out)
{
  for (size_t i = 0; i < rq->command_count; i++) {
    aicr_buf_adds(out, i == 0 ? "?command=" : "&command=");
    kube_url_escape(out, rq->command[i], strlen(rq->command[i]));
  }
  if (rq->container != NULL) {
    aicr_buf_adds(out, "&container=");
    kube_url_escape(out, rq->container, strlen(rq->container));
  }
  aicr_buf_addf(out, "&stdin=%s&stdout=%s&stderr=%s&tty=%s",
                rq->send_stdin ? "true" : "false",
                rq->want_stdout ? "true" : "false",
                rq->want_stderr ? "true" : "false", rq->tty ? "true" : "false");
}

bool kube_exec_request(const struct kube_exec_request *rq, struct aicr_buf *out,
                       struct aicr_error *err)
{
  if (!check(rq, err)) {
    return false;
  }
  aicr_buf_adds(out, "GET ");
  aicr_buf_adds(out, rq->path);
  add_query(rq, out);
  aicr_buf_adds(out, " HTTP/1.1\r\nHost: ");
  aicr_buf_adds(out, rq->host);
  aicr_buf_adds(out, "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ");
  aicr_base64_encode(rq->key, sizeof rq->key, out);
  aicr_buf_adds(out, "\r\nSec-WebSocket-Protocol: v5.channel.k8s.io, "
                     "v4.channel.k8s.io\r\n");
  for (size_t i = 0; i < rq->header_count; i++) {
    aicr_buf_adds(out, rq->headers[i]);
    aicr_buf_adds(out, "\r\n");
  }
  if (aicr_buf_adds(out, "\r\n")) {
    return true;
  }
  if (out->no_memory) {
    return aicr_fail(err, AICR_INTERNAL, "memory",
                     "no memory for an exec request");
  }
  return aicr_fail(err, AICR_INVALID_REQUEST, "too-large",
                   "exec is not sent: the request with its command is larger "
                   "than %zu bytes; give long input on stdin",
                   out->max);
}
