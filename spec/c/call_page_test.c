/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include "rows.h"

#include "gzip.h"
#include "kube_asker.h"
#include "kube_fake.h"
#include "torture.h"

/* Pages of lists: packed ones, and those that are asked for while another is
 * read. */

#define J     "application/json"
#define ITEMS 40 /* of a page: enough for a look ahead */
#define MADE(m)                                                                \
  {                                                                            \
    200, J, (m).data, KUBE_TRANSPORT_OK, false                                 \
  }
#define PACKED                                                                 \
  {                                                                            \
    200, J, NULL, KUBE_TRANSPORT_OK, false                                     \
  }
#define LIST    "list /api/v1/nodes limit=500\n"
#define NEXT(t) "list /api/v1/nodes page=" t " limit=500\n"

static const struct kube_call_spec nodes = {.verb = KUBE_LIST,
                                            .resource = "nodes"};

static size_t node(char out[400], unsigned i)
{
  return (size_t)snprintf(
      out, 400, "{\"metadata\":{\"name\":\"n%u\"}, \"a\":\"%0300u\"}", i, i);
}

/* A page of ITEMS items from first on, then of `late` beside them. */
static void make_page(struct aicr_buf *out, unsigned first, const char *token,
                      const char *late)
{
  char text[400];
  aicr_buf_init(out, SIZE_MAX);
  aicr_buf_addf(out,
                "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
                "\"resourceVersion\":\"7\",\"continue\":\"%s\"},\"items\":[",
                token);
  for (unsigned i = first; i < first + ITEMS; i++) {
    aicr_buf_adds(out, i == first ? "" : ",");
    node(text, i);
    aicr_buf_adds(out, text);
  }
  aicr_buf_addf(out, "]%s}", late);
  assert_false(out->failed);
}

struct seen {
  unsigned items;
  enum kube_call_state end;
};

/* Takes at most `most` items, which must be n0, n1, … */
static struct seen take(struct kube_client *c, struct kube_call *call,
                        unsigned from, unsigned most)
{
  struct seen seen = {from, KUBE_CALL_WAIT};
  const char *text = NULL;
  size_t len = 0;
  void *owner = NULL;
  while (seen.items < most) {
    seen.end = kube_call_next(call, &text, &len);
    if (seen.end == KUBE_CALL_ITEM) {
      char whole[400];
      size_t n = node(whole, seen.items++);
      assert_int_equal(len, n); /* as it came: so it is recorded */
      assert_memory_equal(text, whole, n);
    } else if (seen.end != KUBE_CALL_WAIT) {
      break;
    } else {
      assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
    }
  }
  return seen;
}

static struct kube_client *open_fake(struct fake *f,
                                     const struct fake_answer *answers)
{
  struct kube_client *c = kube_client_open(fake_init(f, answers));
  aicr_buf_init(&f->log, 1 << 16);
  return c;
}

static void assert_log(struct fake *f, const char *wanted)
{
  assert_string_equal(f->log.len == 0 ? "" : f->log.data, wanted);
}

static void close_fake(struct fake *f, struct kube_client *c)
{
  kube_client_close(c);
  aicr_buf_free(&f->log);
}

/* The next page is asked for while this one is read, not before. */
static void test_ahead(void **state)
{
  struct aicr_buf page[3];
  struct fake f;
  (void)state;
  make_page(&page[0], 0, "t1", "");
  make_page(&page[1], ITEMS, "t2", "");
  make_page(&page[2], 2 * ITEMS, "", "");
  for (unsigned polled = 0; polled < 2; polled++) {
    const struct fake_answer answers[] = {MADE(page[0]), MADE(page[1]),
                                          MADE(page[2])};
    struct kube_client *c = open_fake(&f, answers);
    struct kube_call *call = kube_client_start(c, &nodes, NULL);
    assert_int_equal(take(c, call, 0, 1).items, 1);
    assert_log(&f, LIST);
    assert_int_equal(kube_client_pending(c), 0);
    assert_int_equal(take(c, call, 1, ITEMS - 1).items, ITEMS - 1);
    assert_log(&f, LIST NEXT("t1"));
    assert_int_equal(kube_client_pending(c), 1);
    void *owner = NULL;
    if (polled) { /* its answer is no news yet */
      assert_null(kube_client_poll(c, 0, &owner));
      assert_int_equal(kube_client_pending(c), 0);
    }
    struct seen seen = take(c, call, ITEMS - 1, 1000);
    assert_int_equal(seen.items, 3 * ITEMS);
    assert_int_equal(seen.end, KUBE_CALL_END);
    assert_string_equal(kube_call_resource_version(call), "7");
    assert_log(&f, LIST NEXT("t1") NEXT("t2"));
    assert_int_equal(f.canceled, 0);
    close_fake(&f, c);
  }
  for (size_t i = 0; i < COUNT(page); i++) {
    aicr_buf_free(&page[i]);
  }
}

/* Whoever stops reads no further page; what was asked for is given up. */
static void test_left(void **state)
{
  struct aicr_buf page;
  struct fake f;
  void *owner = NULL;
  (void)state;
  make_page(&page, 0, "t1", "");
  for (unsigned polled = 0; polled < 2; polled++) {
    const struct fake_answer answers[] = {MADE(page), MADE(page)};
    struct kube_client *c = open_fake(&f, answers);
    struct kube_call *call = kube_client_start(c, &nodes, NULL);
    take(c, call, 0, ITEMS - 1);
    if (polled) {
      assert_null(kube_client_poll(c, 0, &owner));
    }
    kube_call_close(call);
    assert_int_equal(f.canceled, polled ? 0 : 1);
    close_fake(&f, c);
  }
  aicr_buf_free(&page);
}

/* What is wrong with the next page is said when it is due, behind all items of
 * this one. */
static void test_ahead_fails(void **state)
{
  static const struct fake_answer bad[] = {
      {410, J, "{\"kind\":\"Status\",\"reason\":\"Expired\"}",
       KUBE_TRANSPORT_OK, false},
      {0, NULL, NULL, KUBE_TRANSPORT_RESET, false},
      {200, J, "[]", KUBE_TRANSPORT_OK, false},
      {0, NULL, NULL, KUBE_TRANSPORT_OK, true},
  };
  static const char *const reasons[] = {"expired", "connection-lost",
                                        "unexpected-response", "connect"};
  struct aicr_buf page;
  struct fake f;
  void *owner = NULL;
  (void)state;
  make_page(&page, 0, "t1", "");
  for (unsigned i = 0; i < 2 * COUNT(bad); i++) {
    const struct fake_answer answers[] = {MADE(page), bad[i / 2]};
    struct kube_client *c = open_fake(&f, answers);
    struct kube_call *call = kube_client_start(c, &nodes, NULL);
    assert_int_equal(take(c, call, 0, ITEMS - 1).items, ITEMS - 1);
    if (i % 2 == 1) {
      assert_null(kube_client_poll(c, 0, &owner));
    }
    struct seen seen = take(c, call, ITEMS - 1, 1000);
    assert_int_equal(seen.items, ITEMS);
    assert_int_equal(seen.end, KUBE_CALL_FAILED);
    assert_string_equal(kube_call_error(call)->reason, reasons[i / 2]);
    close_fake(&f, c);
  }
  aicr_buf_free(&page);
}

/* A page that breaks takes its look ahead with it. */
static void test_broken(void **state)
{
  struct aicr_buf page;
  struct fake f;
  (void)state;
  make_page(&page, 0, "t1", "x");
  const struct fake_answer answers[] = {MADE(page), MADE(page)};
  struct kube_client *c = open_fake(&f, answers);
  struct kube_call *call = kube_client_start(c, &nodes, NULL);
  struct seen seen = take(c, call, 0, 1000);
  assert_int_equal(seen.items, ITEMS);
  assert_int_equal(seen.end, KUBE_CALL_FAILED);
  assert_string_equal(kube_call_error(call)->reason, "unexpected-response");
  assert_int_equal(f.canceled, 1);
  assert_int_equal(kube_client_pending(c), 0);
  close_fake(&f, c);
  aicr_buf_free(&page);
}

/* The last token of a page counts, also when it comes behind the items. */
static void test_other_token(void **state)
{
  static const struct {
    const char *late, *log;
    unsigned items, canceled;
  } rows[] = {
      {",\"metadata\":{\"continue\":\"t2\"}", LIST NEXT("t1") NEXT("t2"),
       2 * ITEMS, 1},
      {",\"metadata\":{\"continue\":\"\"}", LIST NEXT("t1"), ITEMS, 1},
      {",\"metadata\":{\"continue\":\"t1\"}", LIST NEXT("t1"), 2 * ITEMS, 0},
  };
  struct aicr_buf first, last;
  struct fake f;
  (void)state;
  make_page(&last, ITEMS, "", "");
  for (size_t i = 0; i < COUNT(rows); i++) {
    make_page(&first, 0, "t1", rows[i].late);
    const struct fake_answer answers[] = {MADE(first), MADE(last), MADE(last)};
    struct kube_client *c = open_fake(&f, answers);
    struct kube_call *call = kube_client_start(c, &nodes, NULL);
    struct seen seen = take(c, call, 0, 1000);
    assert_int_equal(seen.end, KUBE_CALL_END);
    assert_int_equal(seen.items, rows[i].items);
    assert_log(&f, rows[i].log);
    /* Nothing comes behind the end. */
    assert_int_equal(f.canceled, rows[i].canceled);
    assert_int_equal(kube_client_pending(c), 0);
    kube_call_close(call);
    close_fake(&f, c);
    aicr_buf_free(&first);
  }
  aicr_buf_free(&last);
}

/* A token that goes round is no reason to lose items. */
static void test_goes_round(void **state)
{
  struct aicr_buf page[2];
  struct fake f;
  (void)state;
  make_page(&page[0], 0, "t1", "");
  make_page(&page[1], ITEMS, "t1", "");
  const struct fake_answer answers[] = {MADE(page[0]), MADE(page[1])};
  struct kube_client *c = open_fake(&f, answers);
  struct kube_call *call = kube_client_start(c, &nodes, NULL);
  struct seen seen = take(c, call, 0, 1000);
  assert_int_equal(seen.items, 2 * ITEMS);
  assert_int_equal(seen.end, KUBE_CALL_FAILED);
  assert_string_equal(kube_call_error(call)->reason, "protocol");
  close_fake(&f, c);
  aicr_buf_free(&page[0]);
  aicr_buf_free(&page[1]);
}

static void test_packed(void **state)
{
  struct aicr_buf page[2], packed[2];
  struct fake f;
  (void)state;
  make_page(&page[0], 0, "t1", "");
  make_page(&page[1], ITEMS, "", "");
  for (size_t i = 0; i < 2; i++) {
    pack(&packed[i], page[i].data, page[i].len);
  }
  const struct fake_answer answers[] = {PACKED, PACKED};
  struct kube_client *c = open_fake(&f, answers);
  f.packed[0] = &packed[0];
  f.packed[1] = &packed[1];
  struct kube_call *call = kube_client_start(c, &nodes, NULL);
  struct seen seen = take(c, call, 0, 1000);
  assert_int_equal(seen.items, 2 * ITEMS);
  assert_int_equal(seen.end, KUBE_CALL_END);
  close_fake(&f, c);
  for (size_t i = 0; i < 2; i++) {
    aicr_buf_free(&page[i]);
    aicr_buf_free(&packed[i]);
  }
}

/* Cut after every byte of what is packed: an error, never a shorter list. */
static void test_packed_cut(void **state)
{
  struct aicr_buf page, packed, cut;
  struct fake f;
  unsigned most = 0;
  (void)state;
  make_page(&page, 0, "", "");
  pack(&packed, page.data, page.len);
  for (size_t n = 1; n < packed.len; n++) {
    cut = packed;
    cut.len = n;
    const struct fake_answer answers[] = {PACKED};
    struct kube_client *c = open_fake(&f, answers);
    f.packed[0] = &cut;
    struct kube_call *call = kube_client_start(c, &nodes, NULL);
    struct seen seen = take(c, call, 0, 1000);
    most = seen.items > most ? seen.items : most;
    assert_int_equal(seen.end, KUBE_CALL_FAILED);
    assert_string_equal(kube_call_error(call)->reason, "bad-encoding");
    assert_int_equal(kube_call_failure(call)->transport, KUBE_TRANSPORT_CUT);
    close_fake(&f, c);
  }
  assert_int_equal(most, ITEMS);
  aicr_buf_free(&page);
  aicr_buf_free(&packed);
}

/* What is packed is judged as what is not. */
static void test_packed_nonsense(void **state)
{
  static const struct {
    const char *text, *reason, *shown;
  } rows[] = {
      {"[1]", "unexpected-response", "[1]"},
      {"{\"kind\":\"NodeList\"}", "unexpected-response", "NodeList"},
      {"{\"items\":[5]}", "unexpected-response", "[5]"},
      {" ", "unexpected-response", "too early"},
  };
  struct fake f;
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct aicr_buf packed;
    pack(&packed, rows[i].text, strlen(rows[i].text));
    const struct fake_answer answers[] = {PACKED};
    struct kube_client *c = open_fake(&f, answers);
    f.packed[0] = &packed;
    struct kube_call *call = kube_client_start(c, &nodes, NULL);
    assert_int_equal(take(c, call, 0, 1000).end, KUBE_CALL_FAILED);
    assert_string_equal(kube_call_error(call)->reason, rows[i].reason);
    if (strstr(kube_call_error(call)->message, rows[i].shown) == NULL) {
      fail_msg("%s lacks %s", kube_call_error(call)->message, rows[i].shown);
    }
    close_fake(&f, c);
    aicr_buf_free(&packed);
  }
}

/* A message shows how an answer begins, not what is inside: that may be a
 * secret. */
static void test_inside_is_not_shown(void **state)
{
  struct aicr_buf text, packed;
  struct fake f;
  (void)state;
  aicr_buf_init(&text, SIZE_MAX);
  aicr_buf_adds(&text, "{\"items\":[{\"metadata\":{\"name\":\"n0\"},\"a\":\"");
  for (unsigned i = 0; i < 40000; i++) {
    aicr_buf_addf(&text, "secret%u", i * 7919u % 65536u);
  }
  aicr_buf_adds(&text, "\nsecret"); /* no string of JSON has it */
  pack(&packed, text.data, text.len);
  const struct fake_answer answers[] = {PACKED};
  struct kube_client *c = open_fake(&f, answers);
  f.packed[0] = &packed;
  struct kube_call *call = kube_client_start(c, &nodes, NULL);
  assert_int_equal(take(c, call, 0, 1000).end, KUBE_CALL_FAILED);
  assert_string_equal(kube_call_error(call)->reason, "unexpected-response");
  assert_null(strstr(kube_call_error(call)->message, "secret"));
  close_fake(&f, c);
  aicr_buf_free(&text);
  aicr_buf_free(&packed);
}

/* Without memory: all items, or an error. */
static void test_without_memory(void **state)
{
  void *(*before)(void *, size_t) = aicr_realloc;
  struct aicr_buf page[2], packed;
  size_t failed = 0, n = 0;
  (void)state;
  make_page(&page[0], 0, "t1", "");
  make_page(&page[1], ITEMS, "", "");
  pack(&packed, page[0].data, page[0].len);
  const struct fake_answer answers[] = {PACKED, MADE(page[1])};
  aicr_realloc = torture_realloc;
  do {
    struct fake f;
    torture_fail_at = ++n;
    torture_count = 0;
    torture_live = 0;
    struct kube_client *c = kube_client_open(fake_init(&f, answers));
    f.packed[0] = &packed;
    struct kube_call *call =
        c == NULL ? NULL : kube_client_start(c, &nodes, &f);
    if (call != NULL) {
      struct seen seen = take(c, call, 0, 1000);
      if (seen.end == KUBE_CALL_FAILED) {
        assert_string_equal(kube_call_error(call)->reason, "memory");
        failed++;
      } else {
        assert_int_equal(seen.end, KUBE_CALL_END);
        assert_int_equal(seen.items, 2 * ITEMS);
      }
    }
    kube_client_close(c);
    assert_int_equal(torture_live, 0);
  } while (torture_count >= n);
  aicr_realloc = before;
  assert_true(failed > 5);
  aicr_buf_free(&page[0]);
  aicr_buf_free(&page[1]);
  aicr_buf_free(&packed);
}

/* A list that begins again is as old as its new first page. */
static void test_begins_again(void **state)
{
#define EMPTY(version, token)                                                  \
  {                                                                            \
    200, J,                                                                    \
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"          \
        "\"resourceVersion\":\"" version "\",\"continue\":\"" token            \
        "\"},\"items\":[]}",                                                   \
        KUBE_TRANSPORT_OK, false                                               \
  }
  static const struct fake_answer answers[] = {
      EMPTY("7", "t1"),
      {410, J, "{\"kind\":\"Status\",\"reason\":\"Expired\"}",
       KUBE_TRANSPORT_OK, false},
      EMPTY("9", "")};
  struct fake f;
  (void)state;
  struct kube_client *c = open_fake(&f, answers);
  struct kube_call *call = kube_client_start(c, &nodes, NULL);
  assert_int_equal(take(c, call, 0, 1).end, KUBE_CALL_END);
  assert_log(&f, LIST NEXT("t1") LIST);
  assert_string_equal(kube_call_resource_version(call), "9");
  close_fake(&f, c);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ahead),
      cmocka_unit_test(test_left),
      cmocka_unit_test(test_ahead_fails),
      cmocka_unit_test(test_broken),
      cmocka_unit_test(test_other_token),
      cmocka_unit_test(test_goes_round),
      cmocka_unit_test(test_begins_again),
      cmocka_unit_test(test_packed),
      cmocka_unit_test(test_packed_cut),
      cmocka_unit_test(test_packed_nonsense),
      cmocka_unit_test(test_inside_is_not_shown),
      cmocka_unit_test(test_without_memory),
  };
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests_name("call page", tests, NULL, NULL);
}
