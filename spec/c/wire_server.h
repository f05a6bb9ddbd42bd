/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_WIRE_SERVER_H
#define SPEC_C_WIRE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "wire_pki.h"

/* A server on loopback, a thread a connection, that answers by rows and goes
 * wrong where a row says so. HTTP/1.1, plain or TLS; also a proxy. Nothing in
 * it asserts: a test looks at what was seen. */

enum wire_how {
  WIRE_SIZED = 0,      /* Content-Length */
  WIRE_CHUNKED = 1,    /* pieces of seven bytes */
  WIRE_ENDLESS = 2,    /* neither: the end of the connection ends it */
  WIRE_GZIP = 4,       /* compressed */
  WIRE_BOMB = 8,       /* a gigabyte of spaces, compressed, after the body */
  WIRE_SILENT = 16,    /* nothing until the client goes */
  WIRE_STALL = 32,     /* after `cut` bytes as WIRE_SILENT */
  WIRE_RESET = 64,     /* after `cut` bytes as if the server had crashed */
  WIRE_LAST = 128,     /* the connection ends after the answer, unannounced */
  WIRE_HOLD = 256,     /* not before wire_release() */
  WIRE_TUNNEL = 512,   /* what a proxy does when it is asked to CONNECT */
  WIRE_RAW = 1024,     /* the body is all of the answer */
  WIRE_UNTYPED = 2048, /* no Content-Type */
  WIRE_NOTHING = 4096  /* `cut` zero means none of it */
};

struct wire_answer {
  const char *match;   /* part of "GET /path HTTP/1.1"; NULL: every request */
  int http;            /* 0: 200 */
  const char *type;    /* NULL: application/json */
  const char *body;    /* NULL: none */
  const char *headers; /* more of them, each with \r\n */
  unsigned how;        /* enum wire_how, or'ed */
  size_t cut;          /* bytes that are sent before the end; 0: all */
  unsigned times;      /* how often it answers; 0: once, WIRE_ALWAYS */
  /* "@@" in the body is what the last request with this text in its body had
   * behind it, up to a quote */
  const char *echo;
};
#define WIRE_ALWAYS 1000000000u

struct wire_options {
  enum wire_certificate certificate;
  bool asks_certificate;      /* of the client, of the first authority */
  const struct wire_pki *pki; /* for TLS */
};

struct wire_server;

/* Answers each request by the first row, up to one that is all zero, that
 * matches and is not used up; where there is none by 501. The rows must outlive
 * the server. NULL options: plain. */
struct wire_server *wire_start(const struct wire_answer *rows,
                               const struct wire_options *options);
void wire_stop(struct wire_server *s);

/* Other rows from now on; what was seen is forgotten. */
void wire_rows(struct wire_server *s, const struct wire_answer *rows);

unsigned wire_port(const struct wire_server *s);
/* "http://127.0.0.1:port" or "https://…"; lives as long as the server. */
const char *wire_url(const struct wire_server *s);

/* Lets answers with WIRE_HOLD go. */
void wire_release(struct wire_server *s);

struct wire_seen {
  unsigned connections, handshakes, requests;
  unsigned most; /* requests at the same time */
};
struct wire_seen wire_seen(struct wire_server *s);

/* Waits until so many requests were seen, at most 10 s. */
bool wire_await(struct wire_server *s, unsigned requests);
/* Waits until no connection is open, at most 10 s. */
bool wire_await_gone(struct wire_server *s);

/* "GET /api/v1/nodes\nGET /…\n": all requests, in order. Lives until the next
 * call. */
const char *wire_requests(struct wire_server *s);
/* The values of a header of the n-th request, each with a newline, "" for
 * none; the body. They live until the next call. */
const char *wire_header(struct wire_server *s, unsigned n, const char *name);
const char *wire_body(struct wire_server *s, unsigned n);
/* The name that the last TLS client asked for, "" for none, and whose
 * certificate it showed. */
const char *wire_sni(struct wire_server *s);
const char *wire_user(struct wire_server *s);

#endif
