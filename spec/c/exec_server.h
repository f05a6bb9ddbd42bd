/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_EXEC_SERVER_H
#define SPEC_C_EXEC_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base64.h"
#include "core/hash.h"

#include "exec_frames.h"

/* An API server for commands on loopback, in the test's own thread: it is
 * stepped between the polls of the client, and every connection follows the
 * script that was in force when it began. */

#define SERVER_CONNECTIONS 40u

enum server_how {
  SERVER_CLOSE,   /* ends the connection after the answer */
  SERVER_KEEP,    /* says nothing more */
  SERVER_RESET,   /* ends it as a crash does */
  SERVER_ECHO,    /* v5: gives stdin back, and ends the command with it */
  SERVER_NO_READ, /* … but reads nothing before 50 steps have passed */
  SERVER_DEAF     /* reads nothing after the request */
};

struct server_script {
  const char *head;   /* NULL: 101 with v5; "": nothing is answered */
  const char *frames; /* after it */
  size_t frames_len;
  enum server_how how;
  size_t piece; /* bytes at a time, 0: all */
};

struct server_connection {
  int fd;
  const struct server_script *script;
  struct aicr_buf in, out;
  bool answered, echoed;
  unsigned steps;
};

struct server {
  int fd;
  unsigned port;
  const struct server_script *script, *first; /* first: of the first one */
  struct server_connection connections[SERVER_CONNECTIONS];
  size_t count;
  char request[8192];   /* the last one */
  struct aicr_buf seen; /* frames of the client: "9: 0:hello 255:0 8:" */
};

static inline void server_open(struct server *s,
                               const struct server_script *script)
{
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof address;
  memset(s, 0, sizeof *s);
  s->script = script;
  aicr_buf_init(&s->seen, 1 << 20);
  s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  assert_true(s->fd >= 0);
  assert_int_equal(bind(s->fd, (struct sockaddr *)&address, len), 0);
  assert_int_equal(getsockname(s->fd, (struct sockaddr *)&address, &len), 0);
  assert_int_equal(listen(s->fd, 64), 0);
  s->port = ntohs(address.sin_port);
}

/* Nobody listens at its port from now on, and nobody else gets it. */
static inline void server_deafen(struct server *s)
{
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((uint16_t)s->port)};
  const int on = 1;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  close(s->fd);
  s->fd = fd;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
}

static inline void server_end(struct server_connection *c)
{
  if (c->fd >= 0) {
    close(c->fd);
  }
  c->fd = -1;
  aicr_buf_free(&c->in);
  aicr_buf_free(&c->out);
}

static inline void server_close(struct server *s)
{
  for (size_t i = 0; i < s->count; i++) {
    server_end(&s->connections[i]);
  }
  aicr_buf_free(&s->seen);
  if (s->fd >= 0) {
    close(s->fd);
  }
}

static inline size_t server_open_connections(const struct server *s)
{
  size_t n = 0;
  for (size_t i = 0; i < s->count; i++) {
    n += s->connections[i].fd >= 0;
  }
  return n;
}

static inline bool server_accept(struct server *s)
{
  int fd = accept(s->fd, NULL, NULL);
  if (fd < 0) {
    return false;
  }
  assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
  assert_true(s->count < SERVER_CONNECTIONS);
  struct server_connection *c = &s->connections[s->count++];
  memset(c, 0, sizeof *c);
  c->fd = fd;
  c->script = s->first != NULL && s->count == 1 ? s->first : s->script;
  aicr_buf_init(&c->in, 64 << 20);
  aicr_buf_init(&c->out, 64 << 20);
  return true;
}

static inline void server_drop(struct aicr_buf *b, size_t n)
{
  memmove(b->data, b->data + n, b->len - n + 1);
  b->len -= n;
}

/* 101, accepted as the client's key wants it. */
static inline void server_switch(struct server_connection *c, unsigned version)
{
  static const char field[] = "Sec-WebSocket-Key: ";
  unsigned char digest[AICR_SHA1_SIZE];
  struct aicr_buf text;
  const char *key = strstr(c->in.data, field);
  assert_non_null(key);
  aicr_buf_init(&text, 256);
  aicr_buf_add(&text, key + strlen(field), 24);
  aicr_buf_adds(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  assert_true(aicr_sha1(text.data, text.len, digest));
  aicr_buf_addf(&c->out,
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Protocol: "
                "v%u.channel.k8s.io\r\nSec-WebSocket-Accept: ",
                version);
  aicr_base64_encode(digest, sizeof digest, &c->out);
  aicr_buf_adds(&c->out, "\r\n\r\n");
  aicr_buf_free(&text);
}

static inline void server_answer(struct server *s, struct server_connection *c)
{
  const char *end = c->in.data == NULL ? NULL : strstr(c->in.data, "\r\n\r\n");
  const struct server_script *script = c->script;
  if (c->answered || end == NULL) {
    return;
  }
  size_t len = (size_t)(end + 4 - c->in.data);
  snprintf(s->request, sizeof s->request, "%.*s", (int)len, c->in.data);
  if (script->head == NULL || strcmp(script->head, "v4") == 0) {
    server_switch(c, script->head == NULL ? 5 : 4);
  } else {
    aicr_buf_adds(&c->out, script->head);
  }
  aicr_buf_add(&c->out, script->frames, script->frames_len);
  server_drop(&c->in, len);
  c->answered = true;
}

/* Notes the frames that came, and gives stdin back. */
static inline void server_frames(struct server *s, struct server_connection *c,
                                 bool echo)
{
  char *data = c->in.data, *payload = NULL;
  size_t len = c->answered ? c->in.len : 0, n = 0;
  unsigned opcode = 0;
  while (take_client_frame(&data, &len, &opcode, &payload, &n)) {
    if (opcode != 2) {
      aicr_buf_addf(&s->seen, "%u ", opcode);
      continue;
    }
    assert_true(n > 0);
    unsigned channel = (unsigned char)payload[0];
    if (channel == 0 && echo) {
      add_message(&c->out, 1, payload + 1, n - 1);
    } else if (channel == 0) {
      aicr_buf_addf(&s->seen, "0:%.*s ", n > 40 ? 40 : (int)n - 1, payload + 1);
    } else {
      aicr_buf_addf(&s->seen, "%u:%u ", channel, (unsigned char)payload[1]);
      if (echo) {
        static const char success[] = "{\"status\":\"Success\"}";
        add_message(&c->out, 3, success, sizeof success - 1);
        add_close(&c->out, 1000);
      }
    }
  }
  if (c->answered) {
    server_drop(&c->in, c->in.len - len);
  }
}

static inline void server_step_one(struct server *s,
                                   struct server_connection *c)
{
  static char chunk[1 << 16];
  const struct server_script *script = c->script;
  c->steps++;
  bool is_deaf = script->how == SERVER_DEAF ||
                 (script->how == SERVER_NO_READ && c->steps <= 50);
  if (!is_deaf || !c->answered) {
    ssize_t n = recv(c->fd, chunk, sizeof chunk, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
      server_end(c);
      return;
    }
    if (n > 0) {
      assert_true(aicr_buf_add(&c->in, chunk, (size_t)n));
    }
  }
  server_answer(s, c);
  if (c->in.len > 0) {
    server_frames(s, c,
                  script->how == SERVER_ECHO || script->how == SERVER_NO_READ);
  }
  size_t len = script->piece > 0 && script->piece < c->out.len ? script->piece
                                                               : c->out.len;
  if (len > 0) {
    ssize_t n = send(c->fd, c->out.data, len, MSG_NOSIGNAL);
    if (n > 0) {
      server_drop(&c->out, (size_t)n);
    }
  }
  if (c->answered && c->out.len == 0 && script->how == SERVER_RESET) {
    struct linger hard = {1, 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  if (c->answered && c->out.len == 0 &&
      (script->how == SERVER_CLOSE || script->how == SERVER_RESET)) {
    server_end(c);
  }
}

static inline void server_step(struct server *s)
{
  while (server_accept(s)) {
  }
  for (size_t i = 0; i < s->count; i++) {
    if (s->connections[i].fd >= 0) {
      server_step_one(s, &s->connections[i]);
    }
  }
}

#endif
