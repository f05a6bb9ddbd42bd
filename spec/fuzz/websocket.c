/* SPDX-License-Identifier: Apache-2.0 */
/* What a server sends on a command's connection gives the same result in one
 * piece, bytewise and in pieces that it chooses itself; what we send is whole
 * frames. The first byte says how it is read, the rest is what is received. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "kube/exec_stream.h"
#include "kube/upgrade.h"

#include "../c/exec_frames.h"

enum { WITH_HEAD = 1, VERSION_4 = 2, SMALL = 4, NO_STDERR = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    abort();
  }
}

static bool fixed_random(void *out, size_t len)
{
  memset(out, 0x5a, len);
  return true;
}

struct run {
  unsigned flags;
  struct kube_upgrade upgrade;
  enum kube_upgrade_state head;
  struct kube_exec_stream stream;
  struct aicr_buf out, err;
  struct aicr_error error; /* of the head */
};

static void begin_stream(struct run *r, unsigned version)
{
  bool no_stderr = (r->flags & NO_STDERR) != 0;
  struct kube_exec_options options = {.version = version,
                                      .send_stdin = true,
                                      .to_stdout = &r->out,
                                      .to_stderr = no_stderr ? NULL : &r->err,
                                      .random = fixed_random};
  kube_exec_stream_init(&r->stream, &options, 0);
}

static void begin(struct run *r, unsigned flags)
{
  size_t cap = (flags & SMALL) != 0 ? 16 : (size_t)1 << 24;
  memset(r, 0, sizeof *r);
  r->flags = flags;
  aicr_buf_init(&r->out, cap);
  aicr_buf_init(&r->err, cap);
  /* The key of the example in RFC 6455 1.3. */
  require(kube_upgrade_init(&r->upgrade,
                            (const unsigned char *)"the sample nonce",
                            &r->error),
          "no memory");
  r->head = KUBE_UPGRADE_MORE;
  if ((flags & WITH_HEAD) == 0) {
    r->head = KUBE_UPGRADE_SWITCHED;
    begin_stream(r, (flags & VERSION_4) != 0 ? 4 : 5);
  }
}

static void feed(struct run *r, const char *data, size_t len)
{
  if (r->head == KUBE_UPGRADE_MORE) {
    r->head = kube_upgrade_feed(&r->upgrade, &data, &len, &r->error);
    if (r->head == KUBE_UPGRADE_SWITCHED) {
      begin_stream(r, r->upgrade.head.version);
    }
  }
  if (r->head == KUBE_UPGRADE_SWITCHED) {
    kube_exec_stream_feed(&r->stream, data, len, 0);
  }
}

static void show_error(struct aicr_buf *to, const struct aicr_error *err)
{
  require(aicr_code_name(err->code)[0] != '\0' && err->reason[0] != '\0' &&
              err->message[0] != '\0' && !err->verdict,
          "an error says nothing");
  require(aicr_utf8_valid(err->message, strlen(err->message)),
          "a message is no UTF-8");
  for (const char *p = err->message; *p != '\0'; p++) {
    require((unsigned char)*p >= 0x20, "a message has control characters");
  }
  aicr_buf_addf(to, "%d %s ", (int)err->code, err->reason);
  aicr_buf_adds(to, err->message);
}

/* Only whole frames, each an answer to what a server may ask. */
static void check_sent(const struct aicr_buf *out)
{
  char *copy = malloc(out->len + 1), *data = copy, *payload;
  size_t len = out->len, n;
  unsigned opcode;
  bool closed = false;
  if (copy == NULL) {
    abort();
  }
  if (len > 0) {
    memcpy(copy, out->data, len);
  }
  while (len > 0) {
    require(!closed, "something follows our close");
    require(take_client_frame(&data, &len, &opcode, &payload, &n),
            "what we send is no frame");
    require(opcode == 8 || opcode == 10, "we send what nobody asked for");
    require(n <= 125, "our control frame is too long");
    closed = opcode == 8;
  }
  free(copy);
}

static void show_stream(struct aicr_buf *to, const struct run *r)
{
  const struct kube_exec_stream *s = &r->stream;
  require(s->state != KUBE_EXEC_RUNNING, "a stream does not end");
  require((s->state == KUBE_EXEC_EXITED) == (s->exit_code >= 0),
          "an exit code without an exit");
  require(s->exit_code <= 255, "no exit code");
  aicr_buf_addf(to, " exit %d close %u ", s->exit_code, s->close_code);
  if (s->state == KUBE_EXEC_FAILED) {
    show_error(to, &s->error);
  } else {
    require(s->error.code == AICR_CODE_NONE, "an exit with an error");
  }
  check_sent(&s->out);
  aicr_buf_addf(to, "\n%zu ", s->out.len);
  aicr_buf_add(to, s->out.data, s->out.len);
}

/* Ends a run and says all that came of it. */
static void end(struct run *r, struct aicr_buf *to)
{
  struct kube_answer a = {0};
  if (r->head == KUBE_UPGRADE_MORE) {
    r->head = kube_upgrade_finish(&r->upgrade, &r->error);
  }
  aicr_buf_addf(to, "head %d ", (int)r->head);
  switch (r->head) {
  case KUBE_UPGRADE_SWITCHED:
    kube_exec_stream_finish(&r->stream);
    show_stream(to, r);
    kube_exec_stream_free(&r->stream);
    break;
  case KUBE_UPGRADE_REFUSED:
    kube_upgrade_answer(&r->upgrade, &a);
    require(a.http >= 300 && a.http <= 599, "an answer without a status");
    require(a.body.len <= KUBE_UPGRADE_BODY_MAX, "a body is too large");
    aicr_buf_addf(to, "%d %s ", a.http, a.content_type);
    aicr_buf_add(to, a.body.data, a.body.len);
    kube_answer_free(&a);
    break;
  default:
    require(r->head == KUBE_UPGRADE_FAILED, "a head does not end");
    show_error(to, &r->error);
  }
  aicr_buf_addf(to, "\n%zu ", r->out.len);
  aicr_buf_add(to, r->out.data, r->out.len);
  aicr_buf_addf(to, "\n%zu ", r->err.len);
  aicr_buf_add(to, r->err.data, r->err.len);
  kube_upgrade_free(&r->upgrade);
  aicr_buf_free(&r->out);
  aicr_buf_free(&r->err);
}

/* Feeds in chunks of `step` bytes (0: as the bytes themselves say), each in
 * memory of its own. */
static void receive(unsigned flags, const uint8_t *data, size_t size,
                    size_t step, struct aicr_buf *to)
{
  static struct run r;
  begin(&r, flags);
  for (size_t at = 0, n = 0; at < size; at += n) {
    n = step > 0 ? step : 1U + data[size - 1 - at] % 23U;
    n = n < size - at ? n : size - at;
    char *chunk = malloc(n > 0 ? n : 1);
    if (chunk == NULL) {
      abort();
    }
    memcpy(chunk, data + at, n);
    feed(&r, chunk, n);
    free(chunk);
  }
  end(&r, to);
}

static void compare(const struct aicr_buf *a, const struct aicr_buf *b,
                    const char *what)
{
  require(!a->failed && !b->failed, "no memory");
  require(a->len == b->len && memcmp(a->data, b->data, a->len) == 0, what);
}

/* Stdin arrives as it was given. */
static void send_stdin(const char *data, size_t size)
{
  struct kube_exec_options options = {
      .version = 5, .send_stdin = true, .random = fixed_random};
  struct kube_exec_stream s;
  size_t got = 0, n;
  kube_exec_stream_init(&s, &options, 0);
  size_t taken = kube_exec_stream_write(&s, data, size);
  char *wire = s.out.data, *payload;
  size_t len = s.out.len;
  unsigned opcode;
  while (len > 0) {
    require(take_client_frame(&wire, &len, &opcode, &payload, &n),
            "stdin is no frame");
    require(opcode == 2 && n > 1 && payload[0] == 0 && n - 1 <= taken - got,
            "stdin is no message of its channel");
    require(memcmp(payload + 1, data + got, n - 1) == 0, "stdin differs");
    got += n - 1;
  }
  require(got == taken && (taken == size || size > 32768), "stdin is lost");
  kube_exec_stream_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct aicr_buf whole, cut;
  if (size == 0) {
    return 0;
  }
  unsigned flags = *data++;
  size--;
  aicr_buf_init(&whole, SIZE_MAX);
  aicr_buf_init(&cut, SIZE_MAX);
  receive(flags, data, size, size, &whole);
  receive(flags, data, size, 1, &cut);
  compare(&whole, &cut, "single bytes make a difference");
  aicr_buf_reset(&cut);
  receive(flags, data, size, 0, &cut);
  compare(&whole, &cut, "chunks make a difference");
  send_stdin((const char *)data, size);
  aicr_buf_free(&whole);
  aicr_buf_free(&cut);
  return 0;
}
