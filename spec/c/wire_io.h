/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_WIRE_IO_H
#define SPEC_C_WIRE_IO_H

#include <sys/types.h>

#include <openssl/ssl.h>

#include "wire_server.h"

/* One connection of the test's server, and the bytes of an answer. */

struct wire_io {
  int fd;
  SSL *ssl;   /* NULL: plain */
  bool reset; /* it ends as if the server had crashed */
  char sni[256], user[256];
};

/* The TLS side of a server. */
SSL_CTX *wire_tls(const struct wire_options *options);

/* NULL: plain. */
bool wire_handshake(struct wire_io *io, SSL_CTX *tls);
ssize_t wire_read(struct wire_io *io, void *data, size_t len);
bool wire_write(struct wire_io *io, const void *data, size_t len);
/* Ends without saying so first. */
void wire_close(struct wire_io *io);

/* Hands bytes to and fro until one side ends. */
void wire_join(struct wire_io *io, int fd);

/* Sends compressed spaces without an end. */
void wire_bomb(struct wire_io *io);

struct wire_text {
  char *data; /* from malloc, ends in NUL */
  size_t len;
};
void wire_add(struct wire_text *t, const void *data, size_t len);

/* All bytes of an answer. */
void wire_compose(const struct wire_answer *a, struct wire_text *out);

#endif
