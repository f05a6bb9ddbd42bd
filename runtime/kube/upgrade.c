/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/upgrade.h"

#include <stdio.h>
#include <string.h>

#include "core/base64.h"
#include "core/hash.h"

enum step {
  STEP_STATUS,
  STEP_FIELDS,
  STEP_LENGTH, /* a body of `left` more bytes */
  STEP_CLOSE,  /* a body up to the end of the connection */
  STEP_CHUNK_SIZE,
  STEP_CHUNK,
  STEP_CHUNK_END,
  STEP_TRAILER
};

static bool no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory",
                   "no memory for the answer to the WebSocket upgrade");
}

/* Of RFC 6455 4.2.2. */
static bool make_accept(const unsigned char *key, struct aicr_buf *out)
{
  unsigned char digest[AICR_SHA1_SIZE];
  aicr_buf_init(out, 64);
  if (!aicr_buf_room(out, 64) ||
      !aicr_base64_encode(key, KUBE_UPGRADE_KEY, out) ||
      !aicr_buf_adds(out, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11") ||
      !aicr_sha1(out->data, out->len, digest)) {
    return false;
  }
  aicr_buf_reset(out);
  return aicr_base64_encode(digest, sizeof digest, out);
}

bool kube_upgrade_init(struct kube_upgrade *u,
                       const unsigned char key[KUBE_UPGRADE_KEY],
                       struct aicr_error *err)
{
  memset(u, 0, sizeof *u);
  aicr_buf_init(&u->line, KUBE_UPGRADE_HEAD_MAX);
  aicr_buf_init(&u->body, KUBE_UPGRADE_BODY_MAX);
  u->state = KUBE_UPGRADE_MORE;
  u->step = STEP_STATUS;
  if (!make_accept(key, &u->accept)) {
    u->state = KUBE_UPGRADE_FAILED;
    return no_memory(err);
  }
  return true;
}

void kube_upgrade_free(struct kube_upgrade *u)
{
  aicr_buf_free(&u->accept);
  aicr_buf_free(&u->line);
  aicr_buf_free(&u->body);
}

static bool too_large(const struct kube_upgrade *u, const char *what,
                      struct aicr_error *err)
{
  char http[32] = "";
  if (u->head.http != 0) {
    snprintf(http, sizeof http, " (HTTP %d)", u->head.http);
  }
  return aicr_fail(err, AICR_INTERNAL, "response-too-large",
                   "the %s of the answer to the WebSocket upgrade%s is larger "
                   "than 64 KiB",
                   what, http);
}

static bool refuse(struct kube_upgrade *u, struct aicr_error *err)
{
  if (u->head.http == 403 && u->body.len == 0) {
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "HTTP 403 without a body: the server knows none of the "
                     "offered subprotocols v5.channel.k8s.io, "
                     "v4.channel.k8s.io");
  }
  u->state = KUBE_UPGRADE_REFUSED;
  return true;
}

/* The head is complete: what follows it? */
static bool end_head(struct kube_upgrade *u, struct aicr_error *err)
{
  const struct kube_upgrade_head *h = &u->head;
  if (h->http == 101) {
    u->state = KUBE_UPGRADE_SWITCHED;
    return kube_upgrade_verify(h, err);
  }
  if (h->http < 200) {
    u->step = STEP_STATUS;
    return true;
  }
  if (h->http < 300) {
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "HTTP %d in place of 101: the upgrade to a WebSocket was "
                     "not seen, as by a proxy that drops it",
                     h->http);
  }
  if (h->encoded) {
    return aicr_fail(err, AICR_INTERNAL, "bad-encoding",
                     "the answer to the WebSocket upgrade (HTTP %d) is "
                     "compressed, which was not asked for",
                     h->http);
  }
  if (h->codings > 1 || (h->codings == 1 && (!h->chunked || h->has_length))) {
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "the answer to the WebSocket upgrade (HTTP %d) has a "
                     "Transfer-Encoding that is not only \"chunked\"",
                     h->http);
  }
  u->step = h->chunked      ? STEP_CHUNK_SIZE
            : h->has_length ? STEP_LENGTH
                            : STEP_CLOSE;
  u->left = h->length;
  if (h->http == 304 || (u->step == STEP_LENGTH && u->left == 0)) {
    return refuse(u, err);
  }
  return u->left <= KUBE_UPGRADE_BODY_MAX || too_large(u, "body", err);
}

/* "1a;extension" */
static bool read_chunk_size(struct kube_upgrade *u, const char *line,
                            size_t len, struct aicr_error *err)
{
  uint64_t size = 0;
  size_t i = 0;
  for (; i < len && i < 16; i++) {
    char c = line[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) {
      break;
    }
    size = size << 4 | (unsigned)digit;
  }
  if (i == 0 || (i < len && strchr("; \t", line[i]) == NULL) ||
      (i < len && line[i] == '\0')) {
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "the answer to the WebSocket upgrade (HTTP %d) has a "
                     "chunk without a size",
                     u->head.http);
  }
  if (size > KUBE_UPGRADE_BODY_MAX - u->body.len) {
    return too_large(u, "body", err);
  }
  u->left = size;
  u->step = size == 0 ? STEP_TRAILER : STEP_CHUNK;
  return true;
}

static bool take_line(struct kube_upgrade *u, const char *line, size_t len,
                      struct aicr_error *err)
{
  switch (u->step) {
  case STEP_STATUS:
    u->step = STEP_FIELDS;
    return kube_upgrade_status_line(&u->head, line, len, err);
  case STEP_FIELDS:
    if (len == 0) {
      return end_head(u, err);
    }
    if (u->warnings != NULL) {
      kube_server_warnings_take(u->warnings, line, len);
    }
    return kube_upgrade_field(&u->head, u->accept.data, line, len, err);
  case STEP_CHUNK_SIZE:
    return read_chunk_size(u, line, len, err);
  case STEP_CHUNK_END:
    u->step = STEP_CHUNK_SIZE;
    return len == 0 || aicr_fail(err, AICR_INTERNAL, "protocol",
                                 "the answer to the WebSocket upgrade (HTTP "
                                 "%d) has a chunk longer than its size",
                                 u->head.http);
  default: /* a trailer says nothing to us */
    return len > 0 || refuse(u, err);
  }
}

/* A line ends in LF, with or without a CR before it. */
static bool feed_line(struct kube_upgrade *u, const char **data, size_t *len,
                      struct aicr_error *err)
{
  const char *end = memchr(*data, '\n', *len);
  size_t n = end == NULL ? *len : (size_t)(end - *data) + 1;
  if (n > KUBE_UPGRADE_HEAD_MAX - u->line_bytes) {
    return too_large(u, "head", err);
  }
  if (!aicr_buf_add(&u->line, *data, n)) {
    return no_memory(err);
  }
  u->line_bytes += n;
  *data += n;
  *len -= n;
  if (end == NULL) {
    return true;
  }
  n = u->line.len - 1;
  if (n > 0 && u->line.data[n - 1] == '\r') {
    n--;
  }
  bool ok = take_line(u, u->line.data, n, err);
  aicr_buf_reset(&u->line);
  return ok;
}

static bool feed_body(struct kube_upgrade *u, const char **data, size_t *len,
                      struct aicr_error *err)
{
  size_t n = *len;
  if (u->step != STEP_CLOSE && n > u->left) {
    n = (size_t)u->left;
  }
  if (n > KUBE_UPGRADE_BODY_MAX - u->body.len) {
    return too_large(u, "body", err);
  }
  if (!aicr_buf_add(&u->body, *data, n)) {
    return no_memory(err);
  }
  *data += n;
  *len -= n;
  if (u->step == STEP_CLOSE) {
    return true;
  }
  u->left -= n;
  if (u->left > 0) {
    return true;
  }
  if (u->step == STEP_CHUNK) {
    u->step = STEP_CHUNK_END;
    return true;
  }
  return refuse(u, err);
}

enum kube_upgrade_state kube_upgrade_feed(struct kube_upgrade *u,
                                          const char **data, size_t *len,
                                          struct aicr_error *err)
{
  while (u->state == KUBE_UPGRADE_MORE && *len > 0) {
    bool body = u->step == STEP_LENGTH || u->step == STEP_CLOSE ||
                u->step == STEP_CHUNK;
    if (!(body ? feed_body : feed_line)(u, data, len, err)) {
      u->state = KUBE_UPGRADE_FAILED;
    }
  }
  return u->state;
}

enum kube_upgrade_state kube_upgrade_finish(struct kube_upgrade *u,
                                            struct aicr_error *err)
{
  if (u->state != KUBE_UPGRADE_MORE) {
    return u->state;
  }
  if (u->step != STEP_CLOSE) {
    u->state = KUBE_UPGRADE_FAILED;
    aicr_fail(err, AICR_SERVICE_UNAVAILABLE, "connection-lost",
              "the server closed the connection before its answer to the "
              "WebSocket upgrade was complete");
  } else if (!refuse(u, err)) {
    u->state = KUBE_UPGRADE_FAILED;
  }
  return u->state;
}

void kube_upgrade_answer(struct kube_upgrade *u, struct kube_answer *a)
{
  a->http = u->head.http;
  a->transport = KUBE_TRANSPORT_OK;
  memcpy(a->content_type, u->head.content_type, sizeof a->content_type);
  aicr_buf_free(&a->body);
  a->body = u->body;
  aicr_buf_init(&u->body, KUBE_UPGRADE_BODY_MAX);
}
