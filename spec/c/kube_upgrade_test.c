/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/upgrade.h"

#include "kube/status.h"

#include "rows.h"

#include "torture.h"

/* The key of the example in RFC 6455 1.3, and what belongs to it. */
#define KEY    ((const unsigned char *)"the sample nonce")
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

#define SHAPES "spec/fixtures/kube/shapes"

#define HEAD_101                                                               \
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"                 \
  "Connection: Upgrade\r\n"
#define ACCEPT_LINE "Sec-WebSocket-Accept: " ACCEPT "\r\n"
#define V5_LINE     "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
#define V4_LINE     "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n"
#define JSON        "Content-Type: application/json\r\n"

#define LOST "SERVICE_UNAVAILABLE/connection-lost"

/* "v5 REST", "HTTP TYPE|BODY" or "CODE/reason"; `closed`: once the connection
 * was closed, where that makes a difference. */
static const struct row {
  const char *name, *text, *wanted, *closed;
} rows[] = {
    {"nothing", "", "more", LOST},
    {"v5", HEAD_101 ACCEPT_LINE V5_LINE "\r\n", "v5 ", NULL},
    {"v4 and frames", HEAD_101 ACCEPT_LINE V4_LINE "\r\n\x82\x01\x01",
     "v4 \x82\x01\x01", NULL},
    {"names and values in any case",
     "HTTP/1.1 101\r\nUPGRADE:WebSocket\r\nconnection: keep-alive, upgrade \r\n"
     "sec-websocket-accept:\t" ACCEPT " \r\n"
     "sec-websocket-protocol: v5.channel.k8s.io\r\n\r\n",
     "v5 ", NULL},
    {"lines that end in LF",
     "HTTP/1.1 101 x\nUpgrade: websocket\nConnection: Upgrade\n"
     "Sec-WebSocket-Accept: " ACCEPT
     "\nSec-WebSocket-Protocol: v5.channel.k8s.io\n\nx",
     "v5 x", NULL},
    {"an interim head",
     "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" HEAD_101
         ACCEPT_LINE V5_LINE "\r\n",
     "v5 ", NULL},
    {"no extension",
     HEAD_101 ACCEPT_LINE V5_LINE "Sec-WebSocket-Extensions: \r\n\r\n", "v5 ",
     NULL},
    /* W55 */
    {"no subprotocol", HEAD_101 ACCEPT_LINE "\r\n", "INTERNAL/protocol", NULL},
    {"an empty subprotocol",
     HEAD_101 ACCEPT_LINE "Sec-WebSocket-Protocol: \r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"another subprotocol",
     HEAD_101 ACCEPT_LINE
     "Sec-WebSocket-Protocol: base64.channel.k8s.io\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"two subprotocols", HEAD_101 ACCEPT_LINE V5_LINE V4_LINE "\r\n",
     "INTERNAL/protocol", NULL},
    {"both subprotocols in a line",
     HEAD_101 ACCEPT_LINE "Sec-WebSocket-Protocol: v5.channel.k8s.io, "
                          "v4.channel.k8s.io\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"no Accept", HEAD_101 V5_LINE "\r\n", "INTERNAL/protocol", NULL},
    {"a wrong Accept",
     HEAD_101 V5_LINE
     "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"an Accept in lower case",
     HEAD_101 V5_LINE
     "Sec-WebSocket-Accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"two Accepts", HEAD_101 ACCEPT_LINE ACCEPT_LINE V5_LINE "\r\n",
     "INTERNAL/protocol", NULL},
    {"an extension",
     HEAD_101 ACCEPT_LINE V5_LINE
     "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"101 without Upgrade",
     "HTTP/1.1 101 x\r\nConnection: Upgrade\r\n" ACCEPT_LINE V5_LINE "\r\n",
     "INTERNAL/protocol", NULL},
    {"101 to something else",
     "HTTP/1.1 101 x\r\nConnection: Upgrade\r\n"
     "Upgrade: SPDY/3.1\r\n" ACCEPT_LINE V5_LINE "\r\n",
     "INTERNAL/protocol", NULL},
    {"101 without Connection",
     "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n" ACCEPT_LINE V5_LINE "\r\n",
     "INTERNAL/protocol", NULL},
    {"101 of HTTP/1.0",
     "HTTP/1.0 101 x\r\nUpgrade: websocket\r\n"
     "Connection: Upgrade\r\n" ACCEPT_LINE V5_LINE "\r\n",
     "INTERNAL/protocol", NULL},
    {"101 cut in its head", HEAD_101 ACCEPT_LINE V5_LINE, "more", LOST},
    /* answers */
    {"403 with a body", /* W56 */
     "HTTP/1.1 403 Forbidden\r\n" JSON "Content-Length: 2\r\n\r\n{}",
     "403 application/json|{}", NULL},
    {"403 without a body",
     "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n", "more",
     "INTERNAL/protocol"},
    {"403 with an empty body",
     "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "INTERNAL/protocol",
     NULL},
    {"403 with an empty chunk",
     "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"404 up to the end", "HTTP/1.1 404 Not Found\r\n\r\n404 page", "more",
     "404 |404 page"},
    {"405 of HTTP/1.0", "HTTP/1.0 405 x\r\n\r\nbad method", "more",
     "405 |bad method"},
    {"500 without a body", "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n",
     "500 |", NULL},
    {"304 has no body", "HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n", "304 |",
     NULL},
    {"302", "HTTP/1.1 302 x\r\nLocation: http://evil\r\n\r\n", "more", "302 |"},
    {"chunks",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: Chunked\r\n" JSON "\r\n"
     "3;a=b\r\n{\"a\r\n00A \r\n\":[1,2,3]}\r\n0\r\nTrailer: x\r\n\r\nrest",
     "400 application/json|{\"a\":[1,2,3]}", NULL},
    {"more than the length",
     "HTTP/1.1 400 x\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200", "400 |{}",
     NULL},
    {"the same length twice",
     "HTTP/1.1 400 x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
     "400 |{}", NULL},
    {"less than the length", "HTTP/1.1 400 x\r\nContent-Length: 3\r\n\r\n{}",
     "more", LOST},
    {"a chunk that does not end",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", "more",
     LOST},
    {"no last chunk",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "more",
     LOST},
    {"no end of the trailer",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n",
     "more", LOST},
    {"identity",
     "HTTP/1.1 400 x\r\nContent-Encoding: identity\r\n"
     "Content-Length: 1\r\n\r\nx",
     "400 |x", NULL},
    {"gzip",
     "HTTP/1.1 400 x\r\nContent-Encoding: gzip\r\n"
     "Content-Length: 1\r\n\r\nx",
     "INTERNAL/bad-encoding", NULL},
    /* what is no answer */
    {"200", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
     "INTERNAL/protocol", NULL},
    {"204", "HTTP/1.1 204 x\r\n\r\n", "INTERNAL/protocol", NULL},
    {"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "INTERNAL/protocol", NULL},
    {"HTTP/2", "HTTP/2 400 x\r\n\r\n", "INTERNAL/protocol", NULL},
    {"HTTP/1.2", "HTTP/1.2 400 x\r\n\r\n", "INTERNAL/protocol", NULL},
    {"status 600", "HTTP/1.1 600 x\r\n\r\n", "INTERNAL/protocol", NULL},
    {"status 099", "HTTP/1.1 099 x\r\n\r\n", "INTERNAL/protocol", NULL},
    {"status 4000", "HTTP/1.1 4000 x\r\n\r\n", "INTERNAL/protocol", NULL},
    {"status 40", "HTTP/1.1 40\r\n\r\n", "INTERNAL/protocol", NULL},
    {"no field", "HTTP/1.1 400 x\r\nwhat\r\n\r\n", "INTERNAL/protocol", NULL},
    {"a field without a name", "HTTP/1.1 400 x\r\n: y\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"a blank before the colon", "HTTP/1.1 400 x\r\nA : y\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"a folded line", "HTTP/1.1 400 x\r\nA: y\r\n z\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"a CR inside", "HTTP/1.1 400 x\r\nA: y\rz\r\n\r\n", "INTERNAL/protocol",
     NULL},
    {"a length that is no number",
     "HTTP/1.1 400 x\r\nContent-Length: two\r\n\r\n", "INTERNAL/protocol",
     NULL},
    {"a length below 0", "HTTP/1.1 400 x\r\nContent-Length: -1\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"a length of 65 bits",
     "HTTP/1.1 400 x\r\nContent-Length: 18446744073709551618\r\n\r\n{}",
     "INTERNAL/protocol", NULL},
    {"two lengths",
     "HTTP/1.1 400 x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
     "INTERNAL/protocol", NULL},
    {"length and chunks",
     "HTTP/1.1 400 x\r\nContent-Length: 2\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"another coding",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"chunks twice",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"a chunk without a size",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
     "INTERNAL/protocol", NULL},
    {"a chunk of size 0x2",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n",
     "INTERNAL/protocol", NULL},
    {"a chunk of 17 digits",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n"
     "00000000000000002\r\n{}\r\n",
     "INTERNAL/protocol", NULL},
    {"a chunk that is longer than its size",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n",
     "INTERNAL/protocol", NULL},
    {"a chunk of 64 bits",
     "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
     "INTERNAL/response-too-large", NULL},
    {"a body of 64 KiB + 1", "HTTP/1.1 400 x\r\nContent-Length: 65537\r\n\r\n",
     "INTERNAL/response-too-large", NULL},
};

static void show(struct kube_upgrade *u, enum kube_upgrade_state state,
                 const struct aicr_error *err, struct aicr_buf *out)
{
  struct kube_answer a = {0};
  switch (state) {
  case KUBE_UPGRADE_MORE:
    aicr_buf_adds(out, "more");
    break;
  case KUBE_UPGRADE_SWITCHED:
    aicr_buf_addf(out, "v%u ", u->head.version);
    break;
  case KUBE_UPGRADE_REFUSED:
    kube_upgrade_answer(u, &a);
    aicr_buf_addf(out, "%d %s|", a.http, a.content_type);
    aicr_buf_add(out, a.body.data, a.body.len);
    assert_int_equal(a.transport, KUBE_TRANSPORT_OK);
    kube_answer_free(&a);
    break;
  default:
    assert_true(err->message[0] != '\0' && !err->verdict);
    aicr_buf_addf(out, "%s/%s", aicr_code_name(err->code), err->reason);
  }
}

/* Feeds a text as two chunks and then in steps; the rest after the answer is
 * collected as it would be by who reads the frames. */
static void answer(const char *text, size_t len, size_t cut, size_t step,
                   bool closed, struct aicr_buf *out)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_upgrade u;
  struct aicr_buf rest;
  enum kube_upgrade_state state = KUBE_UPGRADE_MORE;
  size_t at = 0, n = cut;
  aicr_buf_init(&rest, 1 << 20);
  assert_true(kube_upgrade_init(&u, KEY, &err));
  do {
    n = n < len - at ? n : len - at;
    char *copy = malloc(n == 0 ? 1 : n);
    assert_non_null(copy);
    memcpy(copy, text + at, n);
    const char *data = copy;
    size_t left = n;
    state = kube_upgrade_feed(&u, &data, &left, &err);
    assert_ptr_equal(data, copy + n - left);
    aicr_buf_add(&rest, data, left);
    free(copy);
    at += n;
    n = step;
  } while (at < len);
  if (closed) {
    state = kube_upgrade_finish(&u, &err);
  }
  show(&u, state, &err, out);
  if (state == KUBE_UPGRADE_SWITCHED) {
    aicr_buf_add(out, rest.data, rest.len);
  }
  aicr_buf_free(&rest);
  kube_upgrade_free(&u);
}

static void expect(const char *text, size_t cut, size_t step, bool closed,
                   const char *wanted)
{
  struct aicr_buf out;
  aicr_buf_init(&out, 1 << 20);
  answer(text, strlen(text), cut, step, closed, &out);
  assert_string_equal(out.data, wanted);
  aicr_buf_free(&out);
}

static void test_row(void **state)
{
  const struct row *row = *state;
  size_t len = strlen(row->text);
  const char *closed = row->closed == NULL ? row->wanted : row->closed;
  for (size_t cut = 0; cut <= len; cut++) {
    expect(row->text, cut, len, false, row->wanted);
    expect(row->text, cut, len, true, closed);
  }
  expect(row->text, 1, 1, false, row->wanted);
  expect(row->text, 1, 1, true, closed);
}

/* What the server says beside a switch, and beside an interim head. */
static void test_warnings(void **state)
{
  static const char text[] =
      "HTTP/1.1 103 Early Hints\r\nWarning: 299 - \"early\"\r\n\r\n" HEAD_101
          ACCEPT_LINE V5_LINE "warning: 299 - \"late\"\r\n\r\n";
  struct kube_server_warnings warnings = {0};
  struct aicr_error err;
  struct kube_upgrade u;
  struct aicr_buf told;
  (void)state;
  assert_true(kube_upgrade_init(&u, KEY, &err));
  u.warnings = &warnings;
  for (size_t i = 0; i + 1 < sizeof text; i++) {
    const char *data = text + i;
    size_t left = 1;
    kube_upgrade_feed(&u, &data, &left, &err);
  }
  assert_int_equal(u.state, KUBE_UPGRADE_SWITCHED);
  aicr_buf_init(&told, 1 << 12);
  kube_server_warnings_tell(&warnings, &told);
  assert_true(aicr_buf_addc(&told, '\0'));
  assert_non_null(strstr(told.data, "early"));
  assert_non_null(strstr(told.data, "late"));
  aicr_buf_free(&told);
  kube_upgrade_free(&u);
  kube_server_warnings_free(&warnings);
}

/* A head that is cut at any byte is never an answer. */
static void test_cut_head(void **state)
{
  static const char whole[] = HEAD_101 ACCEPT_LINE V5_LINE "\r\n";
  char part[sizeof whole];
  (void)state;
  for (size_t n = 0; n + 1 < sizeof whole; n++) {
    memcpy(part, whole, n);
    part[n] = '\0';
    expect(part, n, 1, false, "more");
    expect(part, n, 1, true, LOST);
  }
}

/* A text of `before`, `count` times 'x', and `after`. */
static char *fill(const char *before, size_t count, const char *after)
{
  size_t a = strlen(before), b = strlen(after);
  char *text = malloc(a + count + b + 1);
  assert_non_null(text);
  memcpy(text, before, a);
  memset(text + a, 'x', count);
  memcpy(text + a + count, after, b);
  text[a + count + b] = '\0';
  return text;
}

static void test_bounds(void **state)
{
  static const char start[] = HEAD_101 ACCEPT_LINE V5_LINE "A: ";
  static const char close[] = "HTTP/1.1 404 x\r\n\r\n";
  static const char large[] = "INTERNAL/response-too-large";
  static const size_t steps[] = {1, 1000, 1 << 20};
  size_t room = KUBE_UPGRADE_HEAD_MAX - (sizeof start - 1) - 4;
  (void)state;
  for (size_t i = 0; i < COUNT(steps); i++) {
    char *text = fill(start, room, "\r\n\r\n");
    expect(text, steps[i], steps[i], false, "v5 ");
    free(text);
    text = fill(start, room + 1, "\r\n\r\n");
    expect(text, steps[i], steps[i], false, large);
    free(text);
    text = fill("", KUBE_UPGRADE_HEAD_MAX + 1, "");
    expect(text, steps[i], steps[i], false, large);
    free(text);
    text = fill(close, KUBE_UPGRADE_BODY_MAX, "");
    expect(text, steps[i], steps[i], false, "more");
    free(text);
    text = fill(close, KUBE_UPGRADE_BODY_MAX + 1, "");
    expect(text, steps[i], steps[i], false, large);
    free(text);
  }
}

/* Interim heads count as well. */
static void test_endless_interim(void **state)
{
  struct aicr_buf text;
  (void)state;
  aicr_buf_init(&text, 1 << 20);
  while (text.len <= KUBE_UPGRADE_HEAD_MAX) {
    aicr_buf_adds(&text, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  expect(text.data, 7, 7, false, "INTERNAL/response-too-large");
  aicr_buf_free(&text);
}

/* What a real server answered, and what it means to a caller. */
static const struct shape {
  const char *file;
  enum aicr_code code;
  const char *reason;
} shapes[] = {
    {"403-exec-nobody", AICR_UNAUTHORIZED, "forbidden"}, /* W56 */
    {"403-exec-create-only", AICR_UNAUTHORIZED, "forbidden"},
    {"403-exec-unknown-proto", AICR_INTERNAL, "protocol"},
    {"404-exec-pod-absent", AICR_NOT_FOUND, "not-found"},
    {"400-exec-container-unknown", AICR_INVALID_REQUEST, "bad-request"},
    {"400-exec-container-not-chosen", AICR_INVALID_REQUEST, "bad-request"},
    {"400-exec-pod-unscheduled", AICR_SERVICE_UNAVAILABLE, "not-ready"},
    {"400-exec-get-without-upgrade", AICR_INVALID_REQUEST, "bad-request"},
    {"405-exec-post-upgrade", AICR_METHOD_NOT_ALLOWED, "method-not-allowed"},
    {"101-exec-frames-noproto-exit3", AICR_INTERNAL, "protocol"},
};

static char *read_shape(const char *name, size_t *len)
{
  char path[256], *text = malloc(1 << 17);
  snprintf(path, sizeof path, SHAPES "/%s.http", name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_non_null(text);
  *len = fread(text, 1, 1 << 17, f);
  fclose(f);
  assert_in_range(*len, 1, (1 << 17) - 1);
  return text;
}

static void test_shape(void **state)
{
  static const char name[] = "nope";
  const struct shape *row = *state;
  struct kube_request rq = {
      .verb = KUBE_GET, .ns = "logs", .name = name, .subresource = "exec"};
  struct kube_failure failure = {.verb = "get", .resource = "pods/exec"};
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_answer a = {0};
  struct kube_upgrade u;
  size_t len = 0;
  char *text = read_shape(row->file, &len);
  const char *data = text;
  assert_true(kube_upgrade_init(&u, KEY, &err));
  kube_upgrade_feed(&u, &data, &len, &err);
  if (kube_upgrade_finish(&u, &err) == KUBE_UPGRADE_REFUSED) {
    kube_upgrade_answer(&u, &a);
    kube_status_error(&rq, &a, KUBE_SERVED_YES, &err, &failure);
    assert_int_equal(failure.http, u.head.http);
  }
  assert_int_equal(err.code, row->code);
  assert_string_equal(err.reason, row->reason);
  assert_int_equal(err.verdict, row->code == AICR_NOT_FOUND);
  kube_answer_free(&a);
  kube_upgrade_free(&u);
  free(text);
}

static bool use_memory(void *arg)
{
  static const char text[] = "HTTP/1.1 400 x\r\nTransfer-Encoding: "
                             "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_upgrade u;
  const char *data = text;
  size_t len = sizeof text - 1;
  (void)arg;
  bool ok = kube_upgrade_init(&u, KEY, &err) &&
            kube_upgrade_feed(&u, &data, &len, &err) == KUBE_UPGRADE_REFUSED;
  assert_true(ok || strcmp(err.reason, "memory") == 0);
  kube_upgrade_free(&u);
  return ok;
}

static void test_memory(void **state)
{
  (void)state;
  assert_true(torture(use_memory, NULL) >= 3);
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    add_row(&r, "answer", rows[i].name, test_row, &rows[i]);
  }
  add_row(&r, "answer", "cut at every byte", test_cut_head, NULL);
  add_row(&r, "answer", "and warnings", test_warnings, NULL);
  add_row(&r, "answer", "at its bounds", test_bounds, NULL);
  add_row(&r, "answer", "interim heads only", test_endless_interim, NULL);
  for (size_t i = 0; i < COUNT(shapes); i++) {
    add_row(&r, "server", shapes[i].file, test_shape, &shapes[i]);
  }
  add_row(&r, "memory", "none", test_memory, NULL);
  return run_rows(&r, "kube_upgrade");
}
