/* SPDX-License-Identifier: Apache-2.0 */
/* What a command's stream sends by itself: stdin and its end, pings. */
#include "kube/exec_stream.h"

#include "rows.h"

#include "exec_frames.h"
#include "torture.h"

static bool fixed_random(void *out, size_t len)
{
  memset(out, 0x5a, len);
  return true;
}

static bool no_random(void *out, size_t len)
{
  (void)out;
  (void)len;
  return false;
}

static void begin(struct kube_exec_stream *s, unsigned version, bool in,
                  int64_t now)
{
  struct kube_exec_options options = {
      .version = version, .send_stdin = in, .random = fixed_random};
  kube_exec_stream_init(s, &options, now);
}

/* Takes one frame from the front of what is to be sent; its payload goes to
 * *got. The opcode, 0: there is none. */
static unsigned take(struct kube_exec_stream *s, struct aicr_buf *got)
{
  char *data = s->out.data, *payload = NULL;
  size_t len = s->out.len, n = 0;
  unsigned opcode = 0;
  aicr_buf_reset(got);
  if (len == 0) {
    return 0;
  }
  assert_true(take_client_frame(&data, &len, &opcode, &payload, &n));
  aicr_buf_add(got, payload, n);
  kube_exec_stream_sent(s, s->out.len - len);
  assert_int_equal(s->out.len, len);
  return opcode;
}

/* 300 KB of stdin, while what waits is sent in odd pieces. */
static void test_stdin(void **state)
{
  enum { SIZE = 300000 };
  char *text = malloc(SIZE);
  struct kube_exec_stream s;
  struct aicr_buf wire, got;
  size_t taken = 0;
  (void)state;
  assert_non_null(text);
  for (size_t i = 0; i < SIZE; i++) {
    text[i] = (char)(i * 11);
  }
  aicr_buf_init(&wire, 1 << 20);
  aicr_buf_init(&got, 1 << 20);
  begin(&s, 5, true, 0);
  while (taken < SIZE || s.out.len > 0) {
    taken += kube_exec_stream_write(&s, text + taken, SIZE - taken);
    assert_true(s.out.len <= KUBE_EXEC_STDIN_MAX);
    size_t n = s.out.len < 50021 ? s.out.len : 50021;
    aicr_buf_add(&wire, s.out.data, n);
    kube_exec_stream_sent(&s, n);
  }
  char *data = wire.data, *payload;
  size_t len = wire.len, n;
  while (len > 0) {
    unsigned opcode;
    assert_true(take_client_frame(&data, &len, &opcode, &payload, &n));
    assert_int_equal(opcode, 2);
    assert_in_range(n, 2, 32769);
    assert_int_equal(payload[0], 0);
    aicr_buf_add(&got, payload + 1, n - 1);
  }
  assert_int_equal(got.len, SIZE);
  assert_memory_equal(got.data, text, SIZE);
  kube_exec_stream_free(&s);
  aicr_buf_free(&wire);
  aicr_buf_free(&got);
  free(text);
}

/* A full queue of stdin leaves room for pongs. */
static void test_stdin_and_pongs(void **state)
{
  static char text[1 << 19];
  struct kube_exec_stream s;
  (void)state;
  begin(&s, 5, true, 0);
  size_t taken = kube_exec_stream_write(&s, text, sizeof text);
  assert_in_range(taken, 1, KUBE_EXEC_STDIN_MAX);
  assert_int_equal(kube_exec_stream_write(&s, text, sizeof text), 0);
  for (int i = 0; i < 10000; i++) {
    assert_int_equal(kube_exec_stream_feed(&s, "\x89\x00", 2, 0),
                     KUBE_EXEC_RUNNING);
  }
  assert_int_equal(kube_exec_stream_write(&s, text, 1), 0);
  assert_true(kube_exec_stream_end_stdin(&s, NULL));
  kube_exec_stream_free(&s);
}

static void test_end_stdin(void **state)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_exec_stream s;
  struct aicr_buf got;
  (void)state;
  aicr_buf_init(&got, 1 << 10);
  begin(&s, 5, true, 0);
  assert_int_equal(kube_exec_stream_write(&s, "hi", 2), 2);
  assert_true(kube_exec_stream_end_stdin(&s, &err));
  assert_int_equal(kube_exec_stream_write(&s, "more", 4), 0);
  assert_true(kube_exec_stream_end_stdin(&s, &err));
  assert_int_equal(take(&s, &got), 2);
  assert_int_equal(got.len, 3);
  assert_memory_equal(got.data, "\0hi", 3);
  assert_int_equal(take(&s, &got), 2);
  assert_int_equal(got.len, 2);
  assert_memory_equal(got.data, "\xff\x00", 2);
  assert_int_equal(take(&s, &got), 0);
  assert_int_equal(err.code, AICR_CODE_NONE);
  kube_exec_stream_free(&s);

  begin(&s, 4, true, 0);
  assert_int_equal(kube_exec_stream_write(&s, "hi", 2), 2);
  assert_false(kube_exec_stream_end_stdin(&s, &err));
  assert_int_equal(err.code, AICR_INTERNAL);
  assert_string_equal(err.reason, "protocol");
  assert_int_equal(s.state, KUBE_EXEC_RUNNING);
  kube_exec_stream_free(&s);
  aicr_buf_free(&got);
}

static void test_no_stdin(void **state)
{
  struct kube_exec_stream s;
  (void)state;
  begin(&s, 5, false, 0);
  assert_int_equal(kube_exec_stream_write(&s, "hi", 2), 0);
  assert_true(kube_exec_stream_end_stdin(&s, NULL));
  assert_int_equal(s.out.len, 0);
  kube_exec_stream_free(&s);

  begin(&s, 5, true, 0);
  kube_exec_stream_finish(&s);
  assert_int_equal(kube_exec_stream_write(&s, "hi", 2), 0);
  assert_true(kube_exec_stream_end_stdin(&s, NULL));
  assert_int_equal(s.out.len, 0);
  kube_exec_stream_free(&s);
}

/* A ping each 5 s; 61 s after the last pong, not after the last byte, it is
 * over. */
static void test_pings(void **state)
{
  struct kube_exec_stream s;
  struct aicr_buf got;
  int pings = 0;
  (void)state;
  aicr_buf_init(&got, 1 << 10);
  begin(&s, 5, false, 1000);
  assert_int_equal(kube_exec_stream_wake(&s), 6000);
  assert_int_equal(kube_exec_stream_step(&s, 5999), KUBE_EXEC_RUNNING);
  assert_int_equal(take(&s, &got), 0);
  for (int64_t now = 6000; now < 100000; now = kube_exec_stream_wake(&s)) {
    assert_int_equal(kube_exec_stream_step(&s, now), KUBE_EXEC_RUNNING);
    assert_int_equal(take(&s, &got), 9);
    assert_int_equal(got.len, 0);
    kube_exec_stream_feed(&s, "\x8a\x00", 2, now + 10);
    pings++;
  }
  assert_int_equal(pings, 19);
  /* The last pong came at 96010. */
  int64_t now = kube_exec_stream_wake(&s);
  while (now < 157010) {
    assert_int_equal(kube_exec_stream_step(&s, now), KUBE_EXEC_RUNNING);
    assert_int_equal(take(&s, &got), 9);
    kube_exec_stream_feed(&s, "\x89\x00", 2, now);
    assert_int_equal(take(&s, &got), 10);
    now = kube_exec_stream_wake(&s);
  }
  assert_int_equal(now, 157010);
  assert_int_equal(kube_exec_stream_step(&s, now - 1), KUBE_EXEC_RUNNING);
  assert_int_equal(kube_exec_stream_step(&s, now), KUBE_EXEC_FAILED);
  assert_int_equal(s.error.code, AICR_SERVICE_UNAVAILABLE);
  assert_string_equal(s.error.reason, "connection-lost");
  assert_int_equal(take(&s, &got), 0);
  kube_exec_stream_free(&s);
  aicr_buf_free(&got);
}

/* The Status was there, only the close never came. */
static void test_given_up_after_status(void **state)
{
  static const char text[] = "{\"status\":\"Success\"}";
  struct kube_exec_stream s;
  struct aicr_buf bytes;
  (void)state;
  aicr_buf_init(&bytes, 1 << 10);
  add_message(&bytes, 3, text, sizeof text - 1);
  begin(&s, 5, false, 0);
  kube_exec_stream_feed(&s, bytes.data, bytes.len, 0);
  assert_int_equal(kube_exec_stream_step(&s, KUBE_EXEC_GIVE_UP_MS - 1),
                   KUBE_EXEC_RUNNING);
  aicr_buf_reset(&s.out);
  assert_int_equal(kube_exec_stream_step(&s, KUBE_EXEC_GIVE_UP_MS),
                   KUBE_EXEC_EXITED);
  assert_int_equal(s.exit_code, 0);
  assert_int_equal(s.out.len, 0);
  kube_exec_stream_free(&s);
  aicr_buf_free(&bytes);
}

/* A stream that nobody sends from keeps its bound, and misses its pings. */
static void test_full_queue(void **state)
{
  struct kube_exec_stream s;
  (void)state;
  begin(&s, 5, false, 0);
  s.out.max = 8;
  assert_int_equal(kube_exec_stream_step(&s, 5000), KUBE_EXEC_RUNNING);
  assert_int_equal(s.out.len, 6);
  assert_int_equal(kube_exec_stream_step(&s, 10000), KUBE_EXEC_RUNNING);
  assert_int_equal(s.out.len, 6);
  assert_false(s.out.failed);
  assert_int_equal(kube_exec_stream_wake(&s), 15000);
  kube_exec_stream_sent(&s, 6);
  assert_int_equal(kube_exec_stream_step(&s, 15000), KUBE_EXEC_RUNNING);
  assert_int_equal(s.out.len, 6);
  kube_exec_stream_free(&s);
}

/* Nothing is ever sent under a mask that is known. */
static void test_no_random(void **state)
{
  struct kube_exec_options options = {
      .version = 5, .send_stdin = true, .random = no_random};
  struct kube_exec_stream s;
  (void)state;
  kube_exec_stream_init(&s, &options, 0);
  assert_int_equal(kube_exec_stream_step(&s, 5000), KUBE_EXEC_RUNNING);
  assert_int_equal(kube_exec_stream_feed(&s, "\x89\x00", 2, 0),
                   KUBE_EXEC_FAILED);
  assert_string_equal(s.error.reason, "memory");
  assert_int_equal(s.out.len, 0);
  kube_exec_stream_free(&s);

  kube_exec_stream_init(&s, &options, 0);
  assert_int_equal(kube_exec_stream_write(&s, "hi", 2), 0);
  assert_int_equal(s.state, KUBE_EXEC_FAILED);
  assert_int_equal(s.out.len, 0);
  kube_exec_stream_free(&s);

  kube_exec_stream_init(&s, &options, 0);
  assert_false(kube_exec_stream_end_stdin(&s, NULL));
  assert_int_equal(s.state, KUBE_EXEC_FAILED);
  assert_int_equal(s.out.len, 0);
  kube_exec_stream_free(&s);
}

static void test_kernel_random(void **state)
{
  struct kube_exec_options options = {.version = 5, .send_stdin = true};
  struct kube_exec_stream s;
  struct aicr_buf got;
  char masks[2][4];
  (void)state;
  aicr_buf_init(&got, 1 << 10);
  kube_exec_stream_init(&s, &options, 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(kube_exec_stream_write(&s, "hi", 2), 2);
    memcpy(masks[i], s.out.data + 2, 4);
    assert_int_equal(take(&s, &got), 2);
    assert_memory_equal(got.data, "\0hi", 3);
  }
  assert_memory_not_equal(masks[0], masks[1], 4);
  kube_exec_stream_free(&s);
  aicr_buf_free(&got);
}

static bool use_memory(void *arg)
{
  const struct aicr_buf *bytes = arg;
  struct aicr_buf out, err;
  struct kube_exec_stream s;
  aicr_buf_init(&out, 1 << 16);
  aicr_buf_init(&err, 1 << 16);
  struct kube_exec_options options = {.version = 5,
                                      .send_stdin = true,
                                      .to_stdout = &out,
                                      .to_stderr = &err,
                                      .random = fixed_random};
  kube_exec_stream_init(&s, &options, 0);
  kube_exec_stream_feed(&s, "\x89\x00", 2, 0);
  kube_exec_stream_sent(&s, s.out.len);
  kube_exec_stream_feed(&s, bytes->data, bytes->len, 0);
  bool ok = s.state == KUBE_EXEC_EXITED;
  assert_true(ok || s.state == KUBE_EXEC_FAILED);
  assert_true(ok || strcmp(s.error.reason, "memory") == 0);
  kube_exec_stream_free(&s);
  aicr_buf_free(&out);
  aicr_buf_free(&err);
  return ok;
}

static void test_memory(void **state)
{
  static const char status[] = "{\"status\":\"Success\"}";
  struct aicr_buf bytes;
  char text[300];
  (void)state;
  memset(text, 'x', sizeof text);
  aicr_buf_init(&bytes, 1 << 16);
  for (int i = 0; i < 4; i++) {
    add_message(&bytes, 1 + i % 2, text, sizeof text);
  }
  add_message(&bytes, 3, status, sizeof status - 1);
  add_close(&bytes, 1000);
  assert_true(torture(use_memory, &bytes) >= 5);
  aicr_buf_free(&bytes);
}

int main(void)
{
  struct rows r = {0};
  add_row(&r, "stdin", "300 KB", test_stdin, NULL);
  add_row(&r, "stdin", "leaves room for pongs", test_stdin_and_pongs, NULL);
  add_row(&r, "stdin", "its end", test_end_stdin, NULL);
  add_row(&r, "stdin", "none", test_no_stdin, NULL);
  add_row(&r, "pings", "when", test_pings, NULL);
  add_row(&r, "pings", "given up after the Status", test_given_up_after_status,
          NULL);
  add_row(&r, "pings", "with a full queue", test_full_queue, NULL);
  add_row(&r, "masks", "none to be had", test_no_random, NULL);
  add_row(&r, "masks", "of the kernel", test_kernel_random, NULL);
  add_row(&r, "memory", "none", test_memory, NULL);
  return run_rows(&r, "kube_exec_send");
}
