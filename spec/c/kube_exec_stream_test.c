/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec_stream.h"

#include "rows.h"

#include "exec_frames.h"

#define SHAPES "spec/fixtures/kube/shapes"
#define CAP    ((size_t)1 << 24)

#define OK_STATUS "{\"metadata\":{},\"status\":\"Success\"}"
#define EXIT_STATUS(code)                                                      \
  "{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"message\":\"m\","  \
  "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"" code      \
  "\"}]}}"

/* A stream is written as words: "1:text" a message of channel 1, "+1:text" its
 * first fragment, "+:text" a further one, "=:text" the last one; "p:text" a
 * ping, "q:" a pong, "c1000:text" a close, "x:HEX" bytes; they end at '\n'. */
static void add_words(struct aicr_buf *b, const char *words)
{
  while (*words != '\0') {
    size_t len = strcspn(words, "\n");
    const char *colon = memchr(words, ':', len);
    assert_non_null(colon);
    const char *text = colon + 1;
    size_t n = len - (size_t)(text - words);
    char payload[128] = {(char)(words[1] - '0')};
    if (words[0] == 'p' || words[0] == 'q') {
      add_server_frame(b, FIN | (words[0] == 'p' ? 9 : 10), text, n);
    } else if (words[0] == 'c') {
      long code = strtol(words + 1, NULL, 10);
      payload[0] = (char)(code >> 8);
      payload[1] = (char)code;
      memcpy(payload + 2, text, n);
      add_server_frame(b, FIN | 8, payload, code == 0 ? 0 : n + 2);
    } else if (words[0] == 'x') {
      for (size_t i = 0; i + 1 < n; i += 2) {
        char hex[3] = {text[i], text[i + 1], 0};
        aicr_buf_addc(b, (char)strtol(hex, NULL, 16));
      }
    } else if (words[0] == '+' && words[1] != ':') {
      memcpy(payload + 1, text, n);
      add_server_frame(b, 2, payload, n + 1);
    } else if (words[0] == '+' || words[0] == '=') {
      add_server_frame(b, words[0] == '+' ? 0 : FIN, text, n);
    } else {
      add_message(b, (int)strtol(words, NULL, 10), text, n);
    }
    words += len + (words[len] == '\n');
  }
  assert_false(b->failed);
}

/* `wanted`: stdout "|" stderr "|" what was answered "|" end; an answer is
 * <opcode:payload>, an end "exit N", "CODE/reason" or "running". `closed`: the
 * end once the connection was closed, where it differs. */
static const struct row {
  const char *name, *words, *wanted, *closed;
} rows[] = {
    {"nothing", "", "|||running", "INTERNAL/exec-unknown-exit"},
    {"exit 0", "1:out\n3:" OK_STATUS "\nc1000:", "out||<8:1000>|exit 0", NULL},
    {"exit 3", /* W52 */
     "1:out\n2:err\n3:" EXIT_STATUS("3") "\nc1000:", "out|err|<8:1000>|exit 3",
     NULL},
    {"exit 255", "3:" EXIT_STATUS("255") "\nc1000:", "||<8:1000>|exit 255",
     NULL},
    {"no Status", /* W53 */
     "1:out\nc1000:", "out||<8:1000>|INTERNAL/exec-unknown-exit", NULL},
    {"no Status, no code", "1:out\nc0:", "out||<8:>|INTERNAL/exec-unknown-exit",
     NULL},
    {"an empty Status",
     "3:\n1:out\nc1000:", "out||<8:1000>|INTERNAL/exec-unknown-exit", NULL},
    {"fragments with a ping", /* W54 */
     "+1:one \np:are you there\n+:two \nq:\n=:three\n3:" OK_STATUS "\nc1000:",
     "one two three||<10:are you there><8:1000>|exit 0", NULL},
    {"the channel in a fragment of its own",
     "x:0200\nx:000101\n=:out\n3:" OK_STATUS "\nc1000:", "out||<8:1000>|exit 0",
     NULL},
    {"pings", "p:\np:a\n3:" OK_STATUS "\np:b\nc1000:",
     "||<10:><10:a><10:b><8:1000>|exit 0", NULL},
    {"empty messages first", "1:\n2:\n3:\n1:a\n2:b\n3:" OK_STATUS "\nc1000:",
     "a|b|<8:1000>|exit 0", NULL},
    {"output after the Status",
     "3:" OK_STATUS "\n1:late\nc1000:", "late||<8:1000>|exit 0", NULL},
    {"a Status in fragments",
     "+3:{\"status\"\n=:: \"Success\"}\nc1000:", "||<8:1000>|exit 0", NULL},
    {"a Status in two messages", "3:{\"status\"\n1:x\n3:: \"Success\"}\nc1000:",
     "x||<8:1000>|exit 0", NULL},
    {"what follows a close is not read",
     "3:" OK_STATUS "\nc1000:\n1:late\nx:ffff", "||<8:1000>|exit 0", NULL},
    {"no close", "1:out\n3:" OK_STATUS, "out|||running", "exit 0"},
    {"no close, exit 3", "3:" EXIT_STATUS("3"), "|||running", "exit 3"},
    {"a close that is cut", "3:" OK_STATUS "\nx:880203", "|||running",
     "exit 0"},
    {"output that is cut after the Status", "3:" OK_STATUS "\nx:82050161",
     "a|||running", "INTERNAL/exec-unknown-exit"},
    {"a frame's first byte after the Status", "3:" OK_STATUS "\nx:82",
     "|||running", "INTERNAL/exec-unknown-exit"},
    {"a close inside output after the Status", "3:" OK_STATUS "\n+1:a\nc1000:",
     "a||<8:1000>|INTERNAL/exec-unknown-exit", NULL},
    {"a Status that does not end",
     "+3:" OK_STATUS "\nc1000:", "||<8:1000>|INTERNAL/exec-unknown-exit", NULL},
    {"a whole Status and the start of another", "3:" OK_STATUS "\n+3: \nc1000:",
     "||<8:1000>|INTERNAL/exec-unknown-exit", NULL},
    {"two Statuses", "3:" OK_STATUS "\n3:" OK_STATUS "\nc1000:",
     "||<8:1000>|INTERNAL/protocol", NULL},
    {"another failure",
     "3:{\"status\":\"Failure\",\"reason\":\"InternalError\","
     "\"message\":\"no such file\"}\nc1000:",
     "||<8:1000>|INTERNAL/exec-failed", NULL},
    {"a close with a code of failure", "1:a\nc1011:backend gone",
     "a||<8:1011>|INTERNAL/exec-unknown-exit", NULL},
    {"a Status and a close with a code of failure", "3:" OK_STATUS "\nc1011:x",
     "||<8:1011>|exit 0", NULL},
    /* what is no such stream; the answer tells why we go */
    {"channel 0", "0:x", "||<8:1002>|INTERNAL/protocol", NULL},
    {"channel 4", "4:x", "||<8:1002>|INTERNAL/protocol", NULL},
    {"channel 255", "x:8202ff00", "||<8:1002>|INTERNAL/protocol", NULL},
    {"channel '1'", "49:x", "||<8:1002>|INTERNAL/protocol", NULL},
    {"a message without a channel", "x:8200", "||<8:1002>|INTERNAL/protocol",
     NULL},
    {"fragments without a channel", "x:0200\nx:8000",
     "||<8:1002>|INTERNAL/protocol", NULL},
    {"text", "x:81020161", "||<8:1002>|INTERNAL/protocol", NULL},
    {"reserved bits after output", "1:a\nx:c200",
     "a||<8:1002>|INTERNAL/protocol", NULL},
    {"reserved bits after the Status", "3:" OK_STATUS "\nx:c200",
     "||<8:1002>|INTERNAL/protocol", NULL},
    {"a masked frame", "x:82810000000001", "||<8:1002>|INTERNAL/protocol",
     NULL},
    {"half a close code", "3:" OK_STATUS "\nx:880103",
     "||<8:1002>|INTERNAL/protocol", NULL},
    {"a close code that is never sent", "3:" OK_STATUS "\nx:880203ee",
     "||<8:1002>|INTERNAL/protocol", NULL},
    {"a frame of 16 MiB + 1", "x:827f0000000001000001",
     "||<8:1002>|INTERNAL/protocol", NULL},
};

static bool fixed_random(void *out, size_t len)
{
  memset(out, 0x5a, len);
  return true;
}

/* A stream and where its output goes. */
struct run {
  struct kube_exec_stream s;
  struct aicr_buf out, err;
};

static void begin(struct run *run, unsigned version, size_t cap)
{
  struct kube_exec_options options = {.version = version,
                                      .send_stdin = true,
                                      .to_stdout = &run->out,
                                      .to_stderr = &run->err,
                                      .random = fixed_random};
  aicr_buf_init(&run->out, cap);
  aicr_buf_init(&run->err, cap);
  kube_exec_stream_init(&run->s, &options, 0);
}

static void end(struct run *run)
{
  kube_exec_stream_free(&run->s);
  aicr_buf_free(&run->out);
  aicr_buf_free(&run->err);
}

/* Each chunk in memory of its own. */
static void feed(struct run *run, const char *data, size_t len)
{
  char *copy = malloc(len == 0 ? 1 : len);
  assert_non_null(copy);
  if (data != NULL && len > 0) {
    memcpy(copy, data, len);
  }
  kube_exec_stream_feed(&run->s, copy, len, 0);
  free(copy);
}

static void show_sent(struct kube_exec_stream *s, struct aicr_buf *out)
{
  char *data = s->out.data, *payload = NULL;
  size_t len = s->out.len, n = 0;
  unsigned opcode = 0;
  while (len > 0) {
    assert_true(take_client_frame(&data, &len, &opcode, &payload, &n));
    aicr_buf_addf(out, "<%u:", opcode);
    if (opcode == 8 && n >= 2) {
      aicr_buf_addf(out, "%d",
                    (unsigned char)payload[0] * 256 +
                        (unsigned char)payload[1]);
    } else {
      aicr_buf_add(out, payload, n);
    }
    aicr_buf_addc(out, '>');
  }
}

static void show_end(const struct kube_exec_stream *s, struct aicr_buf *out)
{
  if (s->state == KUBE_EXEC_RUNNING) {
    aicr_buf_adds(out, "running");
  } else if (s->state == KUBE_EXEC_EXITED) {
    aicr_buf_addf(out, "exit %d", s->exit_code);
  } else {
    assert_true(s->error.message[0] != '\0' && !s->error.verdict);
    assert_int_equal(s->exit_code, -1);
    aicr_buf_addf(out, "%s/%s", aicr_code_name(s->error.code), s->error.reason);
  }
}

static void check_cut(const struct row *row, const struct aicr_buf *bytes,
                      size_t cut, size_t step)
{
  struct run run;
  struct aicr_buf shown;
  aicr_buf_init(&shown, 1 << 16);
  begin(&run, 5, CAP);
  feed(&run, bytes->data == NULL ? "" : bytes->data, cut);
  for (size_t i = cut, n = 0; i < bytes->len; i += n) {
    n = bytes->len - i < step ? bytes->len - i : step;
    feed(&run, bytes->data + i, n);
  }
  aicr_buf_add(&shown, run.out.data, run.out.len);
  aicr_buf_addc(&shown, '|');
  aicr_buf_add(&shown, run.err.data, run.err.len);
  aicr_buf_addc(&shown, '|');
  show_sent(&run.s, &shown);
  aicr_buf_addc(&shown, '|');
  show_end(&run.s, &shown);
  assert_string_equal(shown.data, row->wanted);

  aicr_buf_reset(&shown);
  kube_exec_stream_finish(&run.s);
  show_end(&run.s, &shown);
  assert_string_equal(shown.data, row->closed == NULL
                                      ? strrchr(row->wanted, '|') + 1
                                      : row->closed);
  end(&run);
  aicr_buf_free(&shown);
}

static void test_row(void **state)
{
  const struct row *row = *state;
  struct aicr_buf bytes;
  aicr_buf_init(&bytes, 1 << 16);
  add_words(&bytes, row->words);
  for (size_t cut = 0; cut <= bytes.len; cut++) {
    check_cut(row, &bytes, cut, SIZE_MAX);
  }
  check_cut(row, &bytes, 0, 1);
  aicr_buf_free(&bytes);
}

/* Whatever comes before its last byte, a stream is no success. */
static void test_cut_stream(void **state)
{
  struct aicr_buf bytes;
  (void)state;
  aicr_buf_init(&bytes, 1 << 16);
  add_words(&bytes, "+1:a\np:\n=:b\n2:err\n3:" OK_STATUS);
  for (size_t n = 0; n < bytes.len; n++) {
    struct run run;
    begin(&run, 5, CAP);
    feed(&run, bytes.data, n);
    assert_int_equal(run.s.state, KUBE_EXEC_RUNNING);
    kube_exec_stream_finish(&run.s);
    assert_int_equal(run.s.state, KUBE_EXEC_FAILED);
    assert_string_equal(run.s.error.reason, "exec-unknown-exit");
    end(&run);
  }
  aicr_buf_free(&bytes);
}

/* What a real server sent after its 101. */
static const struct shape {
  const char *file;
  unsigned version;
  const char *out, *err, *end;
} shapes[] = {
    {"101-exec-frames-v5-exit0", 5, "out\n", "", "exit 0"},
    {"101-exec-frames-v5-exit7", 5, "out\n", "err\n", "exit 7"},
    {"101-exec-frames-v4-exit3", 4, "out\n", "", "exit 3"},
    {"101-exec-frames-v5-tty", 5, "out\r\nerr\r\n", "", "exit 4"},
    {"101-exec-frames-v5-stdin-half-close", 5, "hello\n", "", "exit 0"},
    {"101-exec-frames-v5-command-not-found", 5, "", "", "INTERNAL/exec-failed"},
    {"101-exec-frames-noproto-exit3", 5, "out\n", "", "INTERNAL/protocol"},
};

static void test_shape(void **state)
{
  const struct shape *row = *state;
  char path[256], text[8192];
  struct aicr_buf shown;
  struct run run;
  snprintf(path, sizeof path, SHAPES "/%s.http", row->file);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t len = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[len] = '\0';
  char *frames = strstr(text, "\r\n\r\n");
  assert_non_null(frames);
  frames += 4;
  for (size_t step = 1; step < 2 * sizeof text; step *= 3) {
    begin(&run, row->version, CAP);
    for (size_t i = (size_t)(frames - text); i < len; i += step) {
      feed(&run, text + i, len - i < step ? len - i : step);
    }
    kube_exec_stream_finish(&run.s);
    aicr_buf_init(&shown, 1 << 12);
    show_end(&run.s, &shown);
    assert_string_equal(shown.data, row->end);
    assert_int_equal(run.s.close_code, 1000);
    assert_string_equal(run.out.data == NULL ? "" : run.out.data, row->out);
    assert_string_equal(run.err.data == NULL ? "" : run.err.data, row->err);
    aicr_buf_free(&shown);
    end(&run);
  }
}

/* 10 MB in frames as large as a server's, in chunks that do not fit them. */
static void test_much(void **state)
{
  enum { FRAME = 32768, FRAMES = 320 };
  struct aicr_buf bytes;
  struct run run;
  char *piece = malloc(FRAME);
  (void)state;
  assert_non_null(piece);
  aicr_buf_init(&bytes, CAP);
  for (size_t i = 0; i < FRAMES; i++) {
    for (size_t j = 0; j < FRAME; j++) {
      piece[j] = (char)(i * 31 + j * 7);
    }
    add_message(&bytes, 1, piece, FRAME);
    if (i % 50 == 0) {
      add_words(&bytes, "p:hi\n2:.");
    }
  }
  add_words(&bytes, "3:" OK_STATUS "\nc1000:");
  begin(&run, 5, CAP);
  for (size_t i = 0; i < bytes.len; i += 16381) {
    size_t n = bytes.len - i < 16381 ? bytes.len - i : 16381;
    kube_exec_stream_feed(&run.s, bytes.data + i, n, 0);
  }
  assert_int_equal(run.s.state, KUBE_EXEC_EXITED);
  assert_int_equal(run.out.len, (size_t)FRAME * FRAMES);
  assert_string_equal(run.err.data, ".......");
  for (size_t i = 0; i < run.out.len; i++) {
    char wanted = (char)(i / FRAME * 31 + i % FRAME * 7);
    if (run.out.data[i] != wanted) {
      fail_msg("byte %zu is wrong", i);
    }
  }
  end(&run);
  aicr_buf_free(&bytes);
  free(piece);
}

/* What fits is kept, and it is no success. */
static void test_output_bound(void **state)
{
  struct aicr_buf bytes;
  (void)state;
  aicr_buf_init(&bytes, 1 << 16);
  add_words(&bytes, "1:1234\n1:56789\n3:" OK_STATUS "\nc1000:");
  for (size_t cap = 0; cap <= 10; cap++) {
    for (size_t step = 1; step <= bytes.len; step += bytes.len - 1) {
      struct run run;
      begin(&run, 5, cap);
      for (size_t i = 0; i < bytes.len; i += step) {
        feed(&run, bytes.data + i, step);
      }
      assert_int_equal(run.out.len, cap < 9 ? cap : 9);
      assert_memory_equal(run.out.len == 0 ? "" : run.out.data, "123456789",
                          run.out.len);
      assert_int_equal(run.s.state,
                       cap < 9 ? KUBE_EXEC_FAILED : KUBE_EXEC_EXITED);
      assert_string_equal(run.s.error.reason,
                          cap < 9 ? "response-too-large" : "");
      end(&run);
    }
  }
  aicr_buf_free(&bytes);
}

static void test_status_bound(void **state)
{
  struct aicr_buf bytes;
  struct run run;
  (void)state;
  aicr_buf_init(&bytes, CAP);
  for (int i = 0; i < 2; i++) {
    aicr_buf_reset(&bytes);
    add_server_head(&bytes, FIN | 2, 1 + 65536 + (uint64_t)i);
    aicr_buf_addc(&bytes, 3);
    for (int j = 0; j < 65536 + i; j++) {
      aicr_buf_addc(&bytes, ' ');
    }
    begin(&run, 5, CAP);
    feed(&run, bytes.data, bytes.len);
    assert_int_equal(run.s.state,
                     i == 0 ? KUBE_EXEC_RUNNING : KUBE_EXEC_FAILED);
    assert_string_equal(run.s.error.reason, i == 0 ? "" : "protocol");
    end(&run);
  }
  aicr_buf_free(&bytes);
}

static void test_not_asked_for(void **state)
{
  struct kube_exec_options options = {.version = 5, .random = fixed_random};
  struct kube_exec_stream s;
  (void)state;
  for (int channel = 1; channel <= 3; channel++) {
    struct aicr_buf bytes;
    aicr_buf_init(&bytes, 1 << 10);
    add_message(&bytes, channel, "", 0);
    kube_exec_stream_init(&s, &options, 0);
    kube_exec_stream_feed(&s, bytes.data, bytes.len, 0);
    assert_int_equal(s.state,
                     channel == 3 ? KUBE_EXEC_RUNNING : KUBE_EXEC_FAILED);
    kube_exec_stream_free(&s);
    aicr_buf_free(&bytes);
  }
}

/* Pings that nobody lets us answer end the stream before they fill memory. */
static void test_ping_flood(void **state)
{
  struct run run;
  (void)state;
  begin(&run, 5, CAP);
  size_t n = 0;
  while (n < 100000 && run.s.state == KUBE_EXEC_RUNNING) {
    kube_exec_stream_feed(&run.s, "\x89\x00", 2, 0);
    n++;
  }
  assert_int_equal(run.s.state, KUBE_EXEC_FAILED);
  assert_string_equal(run.s.error.reason, "protocol");
  assert_int_equal(n, KUBE_EXEC_OUT_MAX / 6 + 1);
  end(&run);
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    add_row(&r, "stream", rows[i].name, test_row, &rows[i]);
  }
  add_row(&r, "stream", "cut at every byte", test_cut_stream, NULL);
  for (size_t i = 0; i < COUNT(shapes); i++) {
    add_row(&r, "server", shapes[i].file, test_shape, &shapes[i]);
  }
  add_row(&r, "output", "10 MB", test_much, NULL);
  add_row(&r, "output", "at its bound", test_output_bound, NULL);
  add_row(&r, "output", "a Status at its bound", test_status_bound, NULL);
  add_row(&r, "output", "not asked for", test_not_asked_for, NULL);
  add_row(&r, "pings", "a flood", test_ping_flood, NULL);
  return run_rows(&r, "kube_exec_stream");
}
