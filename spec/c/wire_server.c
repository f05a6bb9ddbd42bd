/* SPDX-License-Identifier: Apache-2.0 */
#include "wire_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire_io.h"

#define ROWS_MAX 64
#define HEAD_MAX ((size_t)256 << 10)
#define PATIENCE 120 /* seconds: a busy machine takes its time */
#define TEXTS    4

struct request {
  char *head, *body;
};

struct connection {
  struct connection *next;
  struct wire_server *server;
  pthread_t thread;
  struct wire_io io;
  bool done;
};

struct wire_server {
  pthread_mutex_t lock;
  pthread_cond_t news;
  pthread_t acceptor;
  int listener;
  unsigned port;
  char url[64];
  SSL_CTX *tls;
  bool stopping, released;
  struct connection *connections;
  unsigned open, busy;
  const struct wire_answer *rows;
  unsigned used[ROWS_MAX];
  struct wire_seen seen;
  struct request *requests;
  char sni[256], user[256];
  char *texts[TEXTS];
  unsigned next_text;
};

/* Without memory a test cannot go on. */
static void *need(void *p)
{
  if (p == NULL) {
    abort();
  }
  return p;
}

static bool is_end(const struct wire_answer *a)
{
  return a->http == 0 && a->how == 0 && a->body == NULL && a->times == 0;
}

/* The row that answers, used once more. Under the lock. */
static const struct wire_answer *find_row(struct wire_server *s,
                                          const char *line)
{
  static const struct wire_answer none = {
      .http = 501, .type = "text/plain", .body = "no row answers this"};
  for (size_t i = 0; i < ROWS_MAX && !is_end(&s->rows[i]); i++) {
    const struct wire_answer *a = &s->rows[i];
    unsigned times = a->times == 0 ? 1 : a->times;
    if (s->used[i] < times &&
        (a->match == NULL || strstr(line, a->match) != NULL)) {
      s->used[i]++;
      return a;
    }
  }
  return &none;
}

/* Reads until the head is complete; returns its length, 0 at the end. */
static size_t read_head(struct wire_io *io, char *text, size_t *len)
{
  for (;;) {
    text[*len] = '\0';
    const char *end = strstr(text, "\r\n\r\n");
    if (end != NULL) {
      return (size_t)(end - text) + 4;
    }
    ssize_t n =
        *len == HEAD_MAX ? 0 : wire_read(io, text + *len, HEAD_MAX - *len);
    if (n <= 0) {
      return 0;
    }
    *len += (size_t)n;
  }
}

static char *find_header(const char *head, const char *name)
{
  size_t name_len = strlen(name);
  struct wire_text out = {NULL, 0};
  wire_add(&out, "", 0);
  for (const char *line = strstr(head, "\r\n"); line != NULL;
       line = strstr(line + 2, "\r\n")) {
    const char *value = line + 2 + name_len;
    if (strncasecmp(line + 2, name, name_len) == 0 && *value == ':') {
      value += 1 + strspn(value + 1, " ");
      wire_add(&out, value, strcspn(value, "\r"));
      wire_add(&out, "\n", 1);
    }
  }
  return out.data;
}

static bool read_body(struct wire_io *io, const char *have, size_t have_len,
                      struct request *r)
{
  char *value = find_header(r->head, "Content-Length");
  size_t len = (size_t)strtoul(value, NULL, 10);
  free(value);
  r->body = need(calloc(1, len + 1));
  size_t got = have_len < len ? have_len : len;
  memcpy(r->body, have, got);
  while (got < len) {
    ssize_t n = wire_read(io, r->body + got, len - got);
    if (n <= 0) {
      return false;
    }
    got += (size_t)n;
  }
  return true;
}

/* Takes what is told of the request and finds its answer: a copy, for a test
 * may have other rows before it is sent. */
static struct wire_answer note(struct connection *c, const struct request *r)
{
  struct wire_server *s = c->server;
  char *line = need(strndup(r->head, strcspn(r->head, "\r")));
  pthread_mutex_lock(&s->lock);
  const struct wire_answer a = *find_row(s, line);
  s->requests =
      need(realloc(s->requests, (s->seen.requests + 1) * sizeof *s->requests));
  s->requests[s->seen.requests++] = *r;
  s->busy++;
  s->seen.most = s->busy > s->seen.most ? s->busy : s->seen.most;
  pthread_cond_broadcast(&s->news);
  while ((a.how & WIRE_HOLD) != 0 && !s->released && !s->stopping) {
    pthread_cond_wait(&s->news, &s->lock);
  }
  pthread_mutex_unlock(&s->lock);
  free(line);
  return a;
}

static void answered(struct wire_server *s)
{
  pthread_mutex_lock(&s->lock);
  s->busy--;
  pthread_mutex_unlock(&s->lock);
}

/* Until the client goes. */
static void wait_for_end(struct wire_io *io)
{
  char ignored[256];
  while (wire_read(io, ignored, sizeof ignored) > 0) {
  }
}

/* "CONNECT 127.0.0.1:port HTTP/1.1": joins the two connections. */
static void tunnel(struct connection *c, const char *head)
{
  const char *colon = strchr(head, ':');
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  at.sin_port =
      htons((uint16_t)(colon == NULL ? 0 : strtoul(colon + 1, NULL, 10)));
  if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
    static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    wire_write(&c->io, yes, sizeof yes - 1);
    wire_join(&c->io, fd);
  }
  if (fd >= 0) {
    close(fd);
  }
}

/* The body of a row with what it repeats; the caller frees. */
static char *echoed(struct wire_server *s, const struct wire_answer *a)
{
  struct wire_text out = {NULL, 0};
  const char *said = "", *from = a->body;
  pthread_mutex_lock(&s->lock);
  for (unsigned i = s->seen.requests; *said == '\0' && i-- > 0;) {
    const char *found = strstr(s->requests[i].body, a->echo);
    said = found == NULL ? "" : found + strlen(a->echo);
  }
  for (const char *at = strstr(from, "@@"); at != NULL;
       at = strstr(from, "@@")) {
    wire_add(&out, from, (size_t)(at - from));
    wire_add(&out, said, strcspn(said, "\""));
    from = at + 2;
  }
  wire_add(&out, from, strlen(from));
  pthread_mutex_unlock(&s->lock);
  return out.data;
}

/* Sends the answer; false: the connection ends. */
static bool answer(struct connection *c, const struct wire_answer *a,
                   const char *head)
{
  struct wire_io *io = &c->io;
  if ((a->how & WIRE_SILENT) != 0) {
    wait_for_end(io);
    return false;
  }
  if ((a->how & WIRE_TUNNEL) != 0) {
    tunnel(c, head);
    return false;
  }
  struct wire_text text = {NULL, 0};
  struct wire_answer own = *a;
  char *body = a->echo == NULL ? NULL : echoed(c->server, a);
  own.body = body == NULL ? a->body : body;
  wire_compose(&own, &text);
  free(body);
  bool none = (a->how & WIRE_NOTHING) != 0;
  bool whole = a->cut == 0 && !none;
  size_t len = whole || a->cut > text.len ? text.len : a->cut;
  bool sent = wire_write(io, text.data, len);
  free(text.data);
  if (sent && whole && (a->how & WIRE_BOMB) != 0) {
    wire_bomb(io);
    return false;
  }
  if ((a->how & WIRE_STALL) != 0) {
    wait_for_end(io);
  } else if ((a->how & WIRE_RESET) != 0) {
    io->reset = true;
  }
  return sent && whole &&
         (a->how & (WIRE_ENDLESS | WIRE_LAST | WIRE_STALL | WIRE_RESET)) == 0;
}

static void talk(struct connection *c)
{
  char *text = need(malloc(HEAD_MAX + 1));
  size_t len = 0;
  for (bool more = true; more;) {
    size_t head_len = read_head(&c->io, text, &len);
    if (head_len == 0) {
      break;
    }
    struct request r = {.head = need(strndup(text, head_len))};
    if (!read_body(&c->io, text + head_len, len - head_len, &r)) {
      free(r.head);
      free(r.body);
      break;
    }
    size_t used = head_len + strlen(r.body);
    used = used > len ? len : used;
    memmove(text, text + used, len - used);
    len -= used;
    char *head = need(strdup(r.head));
    const struct wire_answer a = note(c, &r);
    more = answer(c, &a, head);
    answered(c->server);
    free(head);
  }
  free(text);
}

static void *serve(void *ud)
{
  struct connection *c = ud;
  struct wire_server *s = c->server;
  bool ok = wire_handshake(&c->io, s->tls);
  pthread_mutex_lock(&s->lock);
  if (c->io.ssl != NULL) {
    s->seen.handshakes += ok ? 1 : 0;
    snprintf(s->sni, sizeof s->sni, "%s", c->io.sni);
    snprintf(s->user, sizeof s->user, "%s", c->io.user);
  }
  pthread_mutex_unlock(&s->lock);
  if (ok) {
    talk(c);
  }
  pthread_mutex_lock(&s->lock);
  wire_close(&c->io);
  c->done = true;
  s->open--;
  pthread_cond_broadcast(&s->news);
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* Takes away the connections that have ended, or all. */
static void reap(struct wire_server *s, bool all)
{
  struct connection **at = &s->connections;
  while (*at != NULL) {
    struct connection *c = *at;
    if (!all && !c->done) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    pthread_join(c->thread, NULL);
    free(c);
  }
}

static void take(struct wire_server *s, int fd)
{
  int on = 1;
  struct connection *c = need(calloc(1, sizeof *c));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  c->server = s;
  c->io.fd = fd;
  pthread_mutex_lock(&s->lock);
  reap(s, false);
  c->next = s->connections;
  s->connections = c;
  s->seen.connections++;
  s->open++;
  if (s->stopping) {
    shutdown(fd, SHUT_RDWR);
  }
  if (pthread_create(&c->thread, NULL, serve, c) != 0) {
    abort();
  }
  pthread_mutex_unlock(&s->lock);
}

static void *accept_all(void *ud)
{
  struct wire_server *s = ud;
  for (;;) {
    int fd = accept(s->listener, NULL, NULL);
    if (fd >= 0) {
      take(s, fd);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return NULL;
    }
  }
}

static void listen_on_loopback(struct wire_server *s)
{
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof at;
  s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s->listener < 0 ||
      bind(s->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
      listen(s->listener, 128) != 0 ||
      getsockname(s->listener, (struct sockaddr *)&at, &len) != 0) {
    perror("the test's server cannot listen");
    abort();
  }
  s->port = ntohs(at.sin_port);
  snprintf(s->url, sizeof s->url, "http%s://127.0.0.1:%u",
           s->tls == NULL ? "" : "s", s->port);
}

struct wire_server *wire_start(const struct wire_answer *rows,
                               const struct wire_options *options)
{
  sigset_t pipes, before;
  pthread_condattr_t clock;
  struct wire_server *s = need(calloc(1, sizeof *s));
  s->rows = rows;
  if (options != NULL && options->certificate != WIRE_PLAIN) {
    s->tls = wire_tls(options);
  }
  listen_on_loopback(s);
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&s->news, &clock);
  pthread_condattr_destroy(&clock);
  /* Threads inherit the mask: a client that goes ends no test. */
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipes, &before);
  if (pthread_create(&s->acceptor, NULL, accept_all, s) != 0) {
    abort();
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return s;
}

static void forget(struct wire_server *s)
{
  for (unsigned i = 0; i < s->seen.requests; i++) {
    free(s->requests[i].head);
    free(s->requests[i].body);
  }
  memset(&s->seen, 0, sizeof s->seen);
  memset(s->used, 0, sizeof s->used);
}

void wire_stop(struct wire_server *s)
{
  if (s == NULL) {
    return;
  }
  pthread_mutex_lock(&s->lock);
  s->stopping = true;
  for (struct connection *c = s->connections; c != NULL; c = c->next) {
    if (c->io.fd >= 0) {
      shutdown(c->io.fd, SHUT_RDWR);
    }
  }
  pthread_cond_broadcast(&s->news);
  pthread_mutex_unlock(&s->lock);
  shutdown(s->listener, SHUT_RDWR);
  pthread_join(s->acceptor, NULL);
  reap(s, true);
  close(s->listener);
  forget(s);
  free(s->requests);
  for (size_t i = 0; i < TEXTS; i++) {
    free(s->texts[i]);
  }
  SSL_CTX_free(s->tls);
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->news);
  free(s);
}

void wire_rows(struct wire_server *s, const struct wire_answer *rows)
{
  pthread_mutex_lock(&s->lock);
  forget(s);
  s->rows = rows;
  s->released = false;
  pthread_mutex_unlock(&s->lock);
}

unsigned wire_port(const struct wire_server *s)
{
  return s->port;
}

const char *wire_url(const struct wire_server *s)
{
  return s->url;
}

void wire_release(struct wire_server *s)
{
  pthread_mutex_lock(&s->lock);
  s->released = true;
  pthread_cond_broadcast(&s->news);
  pthread_mutex_unlock(&s->lock);
}

struct wire_seen wire_seen(struct wire_server *s)
{
  pthread_mutex_lock(&s->lock);
  struct wire_seen seen = s->seen;
  pthread_mutex_unlock(&s->lock);
  return seen;
}

static bool await(struct wire_server *s, unsigned requests, bool gone)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += PATIENCE;
  pthread_mutex_lock(&s->lock);
  int rc = 0;
  while (rc == 0 && (gone ? s->open > 0 : s->seen.requests < requests)) {
    rc = pthread_cond_timedwait(&s->news, &s->lock, &until);
  }
  pthread_mutex_unlock(&s->lock);
  return rc == 0;
}

bool wire_await(struct wire_server *s, unsigned requests)
{
  return await(s, requests, false);
}

bool wire_await_gone(struct wire_server *s)
{
  return await(s, 0, true);
}

/* Keeps the last few texts that were given out. Under the lock. */
static const char *keep(struct wire_server *s, char *text)
{
  char **at = &s->texts[s->next_text++ % TEXTS];
  free(*at);
  *at = text;
  return text;
}

const char *wire_requests(struct wire_server *s)
{
  struct wire_text all = {NULL, 0};
  wire_add(&all, "", 0);
  pthread_mutex_lock(&s->lock);
  for (unsigned i = 0; i < s->seen.requests; i++) {
    const char *head = s->requests[i].head;
    const char *end = strstr(head, " HTTP/1.1\r\n");
    wire_add(&all, head,
             end == NULL ? strcspn(head, "\r") : (size_t)(end - head));
    wire_add(&all, "\n", 1);
  }
  const char *text = keep(s, all.data);
  pthread_mutex_unlock(&s->lock);
  return text;
}

const char *wire_header(struct wire_server *s, unsigned n, const char *name)
{
  pthread_mutex_lock(&s->lock);
  const char *text =
      keep(s, n < s->seen.requests ? find_header(s->requests[n].head, name)
                                   : need(strdup("no such request")));
  pthread_mutex_unlock(&s->lock);
  return text;
}

const char *wire_body(struct wire_server *s, unsigned n)
{
  pthread_mutex_lock(&s->lock);
  const char *text =
      keep(s, need(strdup(n < s->seen.requests ? s->requests[n].body
                                               : "no such request")));
  pthread_mutex_unlock(&s->lock);
  return text;
}

const char *wire_sni(struct wire_server *s)
{
  pthread_mutex_lock(&s->lock);
  const char *text = keep(s, need(strdup(s->sni)));
  pthread_mutex_unlock(&s->lock);
  return text;
}

const char *wire_user(struct wire_server *s)
{
  pthread_mutex_lock(&s->lock);
  const char *text = keep(s, need(strdup(s->user)));
  pthread_mutex_unlock(&s->lock);
  return text;
}
