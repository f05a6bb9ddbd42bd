/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/websocket.h"

#include "rows.h"

#include "exec_frames.h"

#define BYTES(text) text, sizeof(text) - 1

/* What the reader says: a message's bytes and '$' at its end, a control frame
 * as <opcode:payload>, an error as '!' and its last words. */
static const struct row {
  const char *name, *bytes;
  size_t len;
  const char *wanted;
} rows[] = {
    {"nothing", BYTES(""), ""},
    {"binary",
     BYTES("\x82\x03"
           "abc"),
     "abc$"},
    {"text",
     BYTES("\x81\x03"
           "abc"),
     "abc$(text)"},
    {"empty", BYTES("\x82\x00"), "$"},
    {"two messages",
     BYTES("\x82\x01"
           "a"
           "\x82\x01"
           "b"),
     "a$b$"},
    {"fragments",
     BYTES("\x02\x01"
           "a"
           "\x00\x02"
           "bc"
           "\x80\x01"
           "d"),
     "abcd$"},
    {"empty fragments",
     BYTES("\x02\x00"
           "\x00\x00"
           "\x80\x00"),
     "$"},
    {"ping inside",
     BYTES("\x02\x01"
           "a"
           "\x89\x02"
           "hi"
           "\x80\x01"
           "b"),
     "a<9:hi>b$"},
    {"pong, close inside",
     BYTES("\x02\x01"
           "a"
           "\x8a\x00"
           "\x88\x02\x03\xe8"
           "\x80\x01"
           "b"),
     "a<10:><8:\x03\xe8>b$"},
    {"a message that does not end",
     BYTES("\x02\x01"
           "a"),
     "a"},
    {"a frame that does not end",
     BYTES("\x82\x03"
           "ab"),
     "ab"},
    {"a ping that does not end",
     BYTES("\x89\x03"
           "ab"),
     ""},
    {"RSV1",
     BYTES("\xc2\x01"
           "a"),
     "!a frame has reserved bits set"},
    {"RSV2",
     BYTES("\xa2\x01"
           "a"),
     "!a frame has reserved bits set"},
    {"RSV3",
     BYTES("\x92\x01"
           "a"),
     "!a frame has reserved bits set"},
    {"RSV1 of a ping", BYTES("\xc9\x00"), "!a frame has reserved bits set"},
    {"masked",
     BYTES("\x82\x81"
           "\0\0\0\0"
           "a"),
     "!a frame of the server is masked"},
    {"masked ping",
     BYTES("\x89\x80"
           "\0\0\0\0"),
     "!a frame of the server is masked"},
    {"opcode 3", BYTES("\x83\x00"), "!a frame has an unknown opcode"},
    {"opcode 7", BYTES("\x87\x00"), "!a frame has an unknown opcode"},
    {"opcode 11", BYTES("\x8b\x00"), "!a frame has an unknown opcode"},
    {"opcode 15", BYTES("\x8f\x00"), "!a frame has an unknown opcode"},
    {"a ping in fragments", BYTES("\x09\x00"),
     "!a control frame is fragmented"},
    {"a close in fragments", BYTES("\x08\x00"),
     "!a control frame is fragmented"},
    {"a ping of 126 bytes", BYTES("\x89\x7e\x00\x7e"),
     "!a control frame is longer than 125 bytes"},
    {"a close of 64 KiB", BYTES("\x88\x7f\0\0\0\0\0\1\0\0"),
     "!a control frame is longer than 125 bytes"},
    {"a continuation of nothing",
     BYTES("\x80\x01"
           "a"),
     "!a continuation frame continues nothing"},
    {"a continuation after the end",
     BYTES("\x82\x01"
           "a"
           "\x80\x01"
           "b"),
     "a$!a continuation frame continues nothing"},
    {"a message inside another",
     BYTES("\x02\x01"
           "a"
           "\x82\x01"
           "b"),
     "a!a message begins inside another"},
    {"125 in 2 bytes", BYTES("\x82\x7e\x00\x7d"),
     "!a frame's length is not in its shortest form"},
    {"65535 in 8 bytes", BYTES("\x82\x7f\0\0\0\0\0\0\xff\xff"),
     "!a frame's length is not in its shortest form"},
    {"64 bits", BYTES("\x82\x7f\x80\0\0\0\0\1\0\0"),
     "!a frame's length has 64 bits"},
    {"63 bits", BYTES("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"),
     "!a WebSocket frame of the server has 9223372036854775807 bytes, at most "
     "16777216 are taken"},
    {"16 MiB + 1", BYTES("\x82\x7f\0\0\0\0\x01\0\0\1"),
     "!a WebSocket frame of the server has 16777217 bytes, at most 16777216 "
     "are taken"},
    {"16 MiB",
     BYTES("\x82\x7f\0\0\0\0\x01\0\0\0"
           "a"),
     "a"},
    {"an error is for good",
     BYTES("\x82\x01"
           "a"
           "\x83\x00"
           "\x82\x01"
           "b"),
     "a$!a frame has an unknown opcode"},
};

static void show_error(struct aicr_buf *out, const struct aicr_error *err)
{
  static const char start[] = "the server broke the WebSocket protocol: ";
  bool common = strncmp(err->message, start, sizeof start - 1) == 0;
  assert_int_equal(err->code, AICR_INTERNAL);
  assert_string_equal(err->reason, "protocol");
  assert_false(err->verdict);
  aicr_buf_addc(out, '!');
  aicr_buf_adds(out, err->message + (common ? sizeof start - 1 : 0));
}

/* Reads until the bytes are used up; each chunk in memory of its own. */
static void show(struct kube_websocket_reader *r, struct aicr_buf *out,
                 const char *bytes, size_t len, bool *failed)
{
  char *copy = malloc(len == 0 ? 1 : len);
  assert_non_null(copy);
  memcpy(copy, bytes, len);
  const char *data = copy;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  for (;;) {
    enum kube_websocket_event event = kube_websocket_next(r, &data, &len, &err);
    if (event == KUBE_WEBSOCKET_MORE) {
      assert_int_equal(len, 0);
      break;
    }
    if (event == KUBE_WEBSOCKET_ERROR) {
      if (*failed) {
        assert_int_equal(err.code, AICR_CODE_NONE);
      } else {
        show_error(out, &err);
      }
      *failed = true;
      break;
    }
    if (event == KUBE_WEBSOCKET_DATA) {
      aicr_buf_add(out, r->data, r->len);
      assert_int_equal(r->in_message, !r->last);
      aicr_buf_adds(out, r->last ? "$" : "");
      aicr_buf_adds(out, r->last && r->opcode == KUBE_WEBSOCKET_TEXT ? "(text)"
                                                                     : "");
      continue;
    }
    aicr_buf_addf(out, "<%d:", (int)r->opcode);
    aicr_buf_add(out, r->data, r->len);
    aicr_buf_addc(out, '>');
  }
  free(copy);
}

static void check_cut(const struct row *row, size_t cut, size_t step)
{
  struct kube_websocket_reader r;
  struct aicr_buf out;
  bool failed = false;
  aicr_buf_init(&out, 1 << 16);
  kube_websocket_init(&r);
  show(&r, &out, row->bytes, cut, &failed);
  for (size_t i = cut, n = 0; i < row->len; i += n) {
    n = row->len - i < step ? row->len - i : step;
    show(&r, &out, row->bytes + i, n, &failed);
  }
  assert_false(out.failed);
  assert_string_equal(out.data == NULL ? "" : out.data, row->wanted);
  aicr_buf_free(&out);
}

static void test_row(void **state)
{
  const struct row *row = *state;
  for (size_t cut = 0; cut <= row->len; cut++) {
    check_cut(row, cut, SIZE_MAX);
  }
  check_cut(row, 0, 1);
}

/* Lengths on both sides of each form, read back from what a server sends. */
static const size_t lengths[] = {0,   1,   124,   125,   126,
                                 127, 128, 65534, 65535, 65536};

static void test_read_length(void **state)
{
  size_t len = *(const size_t *)*state, got = 0;
  struct kube_websocket_reader r;
  struct aicr_error err;
  struct aicr_buf b;
  enum kube_websocket_event event;
  aicr_buf_init(&b, 1 << 20);
  add_server_head(&b, FIN | 2, len);
  for (size_t i = 0; i < len; i++) {
    aicr_buf_addc(&b, (char)i);
  }
  const char *data = b.data;
  size_t left = b.len;
  kube_websocket_init(&r);
  do {
    event = kube_websocket_next(&r, &data, &left, &err);
    assert_int_equal(event, KUBE_WEBSOCKET_DATA);
    assert_true(r.len == 0 || r.data == data - r.len);
    got += r.len;
  } while (!r.last);
  assert_int_equal(got, len);
  assert_int_equal(left, 0);
  aicr_buf_free(&b);
}

static void test_write_length(void **state)
{
  static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};
  size_t len = *(const size_t *)*state, left, got_len = 0;
  char *text = calloc(1, len + 1), *data, *got = NULL;
  unsigned opcode = 0;
  struct aicr_buf b;
  assert_non_null(text);
  for (size_t i = 0; i < len; i++) {
    text[i] = (char)(i * 7);
  }
  size_t head = len < 3 ? len : 3;
  struct kube_websocket_frame frame = {.opcode = KUBE_WEBSOCKET_BINARY,
                                       .head = text,
                                       .head_len = head,
                                       .data = text + head,
                                       .len = len - head};
  aicr_buf_init(&b, 1 << 20);
  assert_true(kube_websocket_add(&b, &frame, mask));
  assert_int_equal(b.len, kube_websocket_size(len));
  data = b.data;
  left = b.len;
  assert_true(take_client_frame(&data, &left, &opcode, &got, &got_len));
  assert_int_equal(left, 0);
  assert_int_equal(opcode, 2);
  assert_int_equal(got_len, len);
  assert_memory_equal(got, text, len);
  aicr_buf_free(&b);

  aicr_buf_init(&b, kube_websocket_size(len) - 1);
  assert_false(kube_websocket_add(&b, &frame, mask));
  assert_false(b.failed);
  assert_int_equal(b.len, 0);
  aicr_buf_free(&b);
  free(text);
}

/* RFC 6455 5.7. */
static void test_rfc_example(void **state)
{
  static const char wanted[] = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
  static const unsigned char mask[4] = {0x37, 0xfa, 0x21, 0x3d};
  struct kube_websocket_frame frame = {
      .opcode = KUBE_WEBSOCKET_TEXT, .data = "Hello", .len = 5};
  struct aicr_buf b;
  (void)state;
  aicr_buf_init(&b, 64);
  assert_true(kube_websocket_add(&b, &frame, mask));
  assert_int_equal(b.len, sizeof wanted - 1);
  assert_memory_equal(b.data, wanted, b.len);
  aicr_buf_free(&b);
}

static const struct close {
  const char *name, *payload;
  size_t len;
  int code; /* -1: an error */
  const char *reason;
} closes[] = {
    {"no code", BYTES(""), 0, ""},
    {"half a code", BYTES("\x03"), -1, NULL},
    {"999", BYTES("\x03\xe7"), -1, NULL},
    {"1000", BYTES("\x03\xe8"), 1000, ""},
    {"1000 and why",
     BYTES("\x03\xe8"
           "bye"),
     1000, "bye"},
    {"1003", BYTES("\x03\xeb"), 1003, ""},
    {"1004", BYTES("\x03\xec"), -1, NULL},
    {"1005", BYTES("\x03\xed"), -1, NULL},
    {"1006", BYTES("\x03\xee"), -1, NULL},
    {"1007", BYTES("\x03\xef"), 1007, ""},
    {"1014", BYTES("\x03\xf6"), 1014, ""},
    {"1015", BYTES("\x03\xf7"), -1, NULL},
    {"2999", BYTES("\x0b\xb7"), -1, NULL},
    {"3000", BYTES("\x0b\xb8"), 3000, ""},
    {"4999", BYTES("\x13\x87"), 4999, ""},
    {"5000", BYTES("\x13\x88"), -1, NULL},
    {"65535", BYTES("\xff\xff"), -1, NULL},
    {"a reason that is no UTF-8", BYTES("\x03\xe8\xff"), -1, NULL},
};

static void test_close(void **state)
{
  const struct close *row = *state;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  const char *reason;
  unsigned code;
  size_t len;
  bool ok = kube_websocket_close_code(row->payload, row->len, &code, &reason,
                                      &len, &err);
  assert_int_equal(ok, row->code >= 0);
  if (ok) {
    assert_int_equal(code, row->code);
    assert_int_equal(len, strlen(row->reason));
    assert_memory_equal(reason, row->reason, len);
    return;
  }
  assert_int_equal(err.code, AICR_INTERNAL);
  assert_string_equal(err.reason, "protocol");
}

static void test_random(void **state)
{
  unsigned char a[257] = {0}, b[16] = {0};
  (void)state;
  assert_true(kube_websocket_random(a, sizeof b));
  assert_true(kube_websocket_random(b, sizeof b));
  assert_memory_not_equal(a, b, sizeof b);
  assert_false(kube_websocket_random(a, sizeof a));
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    add_row(&r, "read", rows[i].name, test_row, &rows[i]);
  }
  for (size_t i = 0; i < COUNT(lengths); i++) {
    char name[32];
    snprintf(name, sizeof name, "%zu bytes", lengths[i]);
    add_row(&r, "read", name, test_read_length, &lengths[i]);
    add_row(&r, "write", name, test_write_length, &lengths[i]);
  }
  add_row(&r, "write", "the example of RFC 6455", test_rfc_example, NULL);
  for (size_t i = 0; i < COUNT(closes); i++) {
    add_row(&r, "close", closes[i].name, test_close, &closes[i]);
  }
  add_row(&r, "random", "bytes", test_random, NULL);
  return run_rows(&r, "kube_websocket");
}
