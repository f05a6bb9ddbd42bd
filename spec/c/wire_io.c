/* SPDX-License-Identifier: Apache-2.0 */
#include "wire_io.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <zlib.h>

#define PIECE      7 /* bytes of a chunk */
#define BOMB_PART  (16u << 20)
#define BOMB_PARTS 64

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "the test's server: %s\n", what);
    abort();
  }
}

static X509 *read_certificate(const char *text)
{
  BIO *bio = BIO_new_mem_buf(text, -1);
  X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
  BIO_free(bio);
  require(x != NULL, "certificate");
  return x;
}

SSL_CTX *wire_tls(const struct wire_options *options)
{
  SSL_CTX *c = SSL_CTX_new(TLS_server_method());
  const char *key = options->pki->of[options->certificate].key;
  X509 *own =
      read_certificate(options->pki->of[options->certificate].certificate);
  BIO *bio = BIO_new_mem_buf(key, -1);
  EVP_PKEY *secret = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
  BIO_free(bio);
  require(c != NULL && SSL_CTX_use_certificate(c, own) == 1 &&
              SSL_CTX_use_PrivateKey(c, secret) == 1,
          "TLS");
  X509_free(own);
  EVP_PKEY_free(secret);
  if (options->asks_certificate) {
    X509 *ca = read_certificate(options->pki->ca);
    require(X509_STORE_add_cert(SSL_CTX_get_cert_store(c), ca) == 1, "CA");
    X509_free(ca);
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_id_context(c, (const unsigned char *)"wire", 4);
  }
  return c;
}

static void note_user(struct wire_io *io)
{
  X509 *peer = SSL_get1_peer_certificate(io->ssl);
  if (peer != NULL) {
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName,
                              io->user, sizeof io->user);
    X509_free(peer);
  }
}

bool wire_handshake(struct wire_io *io, SSL_CTX *tls)
{
  if (tls == NULL) {
    return true;
  }
  io->ssl = SSL_new(tls);
  require(io->ssl != NULL && SSL_set_fd(io->ssl, io->fd) == 1, "SSL");
  bool ok = SSL_accept(io->ssl) == 1;
  const char *name = SSL_get_servername(io->ssl, TLSEXT_NAMETYPE_host_name);
  snprintf(io->sni, sizeof io->sni, "%s", name == NULL ? "" : name);
  if (ok) {
    note_user(io);
  }
  return ok;
}

ssize_t wire_read(struct wire_io *io, void *data, size_t len)
{
  int most = len > (1u << 20) ? 1 << 20 : (int)len;
  return io->ssl == NULL ? recv(io->fd, data, len, 0)
                         : SSL_read(io->ssl, data, most);
}

bool wire_write(struct wire_io *io, const void *data, size_t len)
{
  const char *p = data;
  while (len > 0) {
    int most = len > (1u << 20) ? 1 << 20 : (int)len;
    ssize_t n = io->ssl == NULL ? send(io->fd, p, (size_t)most, MSG_NOSIGNAL)
                                : SSL_write(io->ssl, p, most);
    if (n <= 0) {
      return false;
    }
    p += n;
    len -= (size_t)n;
  }
  return true;
}

void wire_close(struct wire_io *io)
{
  if (io->reset) {
    struct linger now = {1, 0};
    setsockopt(io->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  SSL_free(io->ssl);
  io->ssl = NULL;
  close(io->fd);
  io->fd = -1;
}

void wire_join(struct wire_io *io, int fd)
{
  char data[16384];
  struct pollfd at[2] = {{.fd = io->fd, .events = POLLIN},
                         {.fd = fd, .events = POLLIN}};
  for (;;) {
    if (poll(at, 2, -1) < 0 && errno != EINTR) {
      return;
    }
    if (at[0].revents != 0) {
      ssize_t n = wire_read(io, data, sizeof data);
      if (n <= 0 || send(fd, data, (size_t)n, MSG_NOSIGNAL) != n) {
        return;
      }
    }
    if (at[1].revents != 0) {
      ssize_t n = recv(fd, data, sizeof data, 0);
      if (n <= 0 || !wire_write(io, data, (size_t)n)) {
        return;
      }
    }
  }
}

void wire_add(struct wire_text *t, const void *data, size_t len)
{
  t->data = realloc(t->data, t->len + len + 1);
  require(t->data != NULL, "memory");
  memcpy(t->data + t->len, data, len);
  t->len += len;
  t->data[t->len] = '\0';
}

static void add_text(struct wire_text *t, const char *text)
{
  wire_add(t, text, strlen(text));
}

/* Compresses with `flush` at the end; the caller frees. */
static void compress_to(z_stream *z, const void *data, size_t len, int flush,
                        struct wire_text *out)
{
  unsigned char room[65536];
  z->next_in = (Bytef *)(uintptr_t)data;
  z->avail_in = (uInt)len;
  do {
    z->next_out = room;
    z->avail_out = sizeof room;
    require(deflate(z, flush) != Z_STREAM_ERROR, "deflate");
    wire_add(out, room, sizeof room - z->avail_out);
  } while (z->avail_out == 0);
}

static void begin_gzip(z_stream *z)
{
  memset(z, 0, sizeof *z);
  require(deflateInit2(z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) ==
              Z_OK,
          "gzip");
}

/* Every part begins anew after a full flush, so one that was compressed once
 * may be sent again and again. */
void wire_bomb(struct wire_io *io)
{
  z_stream z;
  struct wire_text part = {NULL, 0};
  char *spaces = malloc(BOMB_PART);
  require(spaces != NULL, "memory");
  memset(spaces, ' ', BOMB_PART);
  memset(&z, 0, sizeof z);
  require(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "deflate");
  compress_to(&z, spaces, BOMB_PART, Z_FULL_FLUSH, &part);
  deflateEnd(&z);
  free(spaces);
  for (int i = 0; i < BOMB_PARTS && wire_write(io, part.data, part.len); i++) {
  }
  free(part.data);
}

static void add_body(const struct wire_answer *a, const char *body, size_t len,
                     struct wire_text *out)
{
  char line[64];
  if ((a->how & (WIRE_ENDLESS | WIRE_BOMB)) != 0) {
    add_text(out, "\r\n");
    wire_add(out, body, len);
    return;
  }
  if ((a->how & WIRE_CHUNKED) == 0) {
    snprintf(line, sizeof line, "Content-Length: %zu\r\n\r\n", len);
    add_text(out, line);
    wire_add(out, body, len);
    return;
  }
  add_text(out, "Transfer-Encoding: chunked\r\n\r\n");
  for (size_t at = 0; at < len; at += PIECE) {
    size_t n = len - at < PIECE ? len - at : PIECE;
    snprintf(line, sizeof line, "%zx\r\n", n);
    add_text(out, line);
    wire_add(out, body + at, n);
    add_text(out, "\r\n");
  }
  add_text(out, "0\r\n\r\n");
}

void wire_compose(const struct wire_answer *a, struct wire_text *out)
{
  char line[256];
  struct wire_text packed = {NULL, 0};
  const char *body = a->body == NULL ? "" : a->body;
  size_t len = strlen(body);
  if ((a->how & WIRE_RAW) != 0) {
    wire_add(out, body, len);
    return;
  }
  snprintf(line, sizeof line, "HTTP/1.1 %d Said\r\n",
           a->http == 0 ? 200 : a->http);
  add_text(out, line);
  if ((a->how & WIRE_UNTYPED) == 0) {
    snprintf(line, sizeof line, "Content-Type: %s\r\n",
             a->type == NULL ? "application/json" : a->type);
    add_text(out, line);
  }
  add_text(out, a->headers == NULL ? "" : a->headers);
  if ((a->how & (WIRE_GZIP | WIRE_BOMB)) != 0) {
    z_stream z;
    add_text(out, "Content-Encoding: gzip\r\n");
    begin_gzip(&z);
    compress_to(&z, body, len,
                (a->how & WIRE_BOMB) != 0 ? Z_FULL_FLUSH : Z_FINISH, &packed);
    deflateEnd(&z);
    body = packed.data;
    len = packed.len;
  }
  add_body(a, body, len, out);
  free(packed.data);
}
