/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/live_internal.h"

#include "rows.h"

#include "exec_exchange.h"

/* More stdin than fits between client and server. */

#define EXIT_3                                                                 \
  "\x82\x6b\x03{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\","        \
  "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"3\"}]}}"
#define HI       "\x82\x03\x01hi"
#define BYTES(t) t, sizeof(t) - 1

/* More stdin than any buffer holds, to a server that is slow to read it. */
static void test_long_stdin(void **state)
{
  static const struct server_script echo = {NULL, NULL, 0, SERVER_NO_READ, 0};
  (void)state;
  struct exchange x;
  struct kube_answer a = {0};
  struct aicr_error err;
  struct kube_request rq = command(NULL, 0);
  size_t len = (size_t)6 << 20;
  char *text = malloc(len);
  assert_non_null(text);
  for (size_t i = 0; i < len; i++) {
    text[i] = (char)(i * 7 + i / 251);
  }
  rq.body = text;
  rq.body_len = len;
  begin(&x, &echo);
  assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
  assert_true(wait_answer(&x, &a));
  assert_int_equal(a.http, 101);
  assert_int_equal(a.body.len, len);
  assert_memory_equal(a.body.data, text, len);
  kube_answer_free(&a);
  end(&x);
  free(text);
}

/* A command that ends without reading its stdin: with its Status the call is
 * over; a server that tells none (those that pass stdin on over SPDY) is not
 * waited for longer than the deadline, which says why. */
static void test_stdin_that_nobody_reads(void **state)
{
  static const struct server_script scripts[] = {
      {NULL, BYTES(HI EXIT_3), SERVER_DEAF, 0},
      {NULL, BYTES(HI), SERVER_DEAF, 0}};
  static const char *const results[] = {
      "101 3 hi|",
      "deadline (the server did not take all 33554432 bytes of stdin, and of a "
      "command that ends without reading them it tells no end: let it read "
      "all, with ; cat >/dev/null at its end)"};
  (void)state;
  size_t len = (size_t)32 << 20;
  char *text = calloc(1, len);
  assert_non_null(text);
  for (size_t i = 0; i < COUNT(scripts); i++) {
    struct exchange x;
    struct kube_answer a = {0};
    struct aicr_error err;
    struct kube_request rq = command(NULL, i == 0 ? 0 : 300);
    rq.body = text;
    rq.body_len = len;
    begin(&x, &scripts[i]);
    assert_non_null(x.backend->ops->start(x.backend, &rq, &x, &err));
    assert_true(wait_answer(&x, &a));
    assert_string_equal(show(&a), results[i]);
    kube_answer_free(&a);
    end(&x);
  }
  free(text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_long_stdin),
      cmocka_unit_test(test_stdin_that_nobody_reads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
