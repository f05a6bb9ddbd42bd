/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/status.h"

#include "rows.h"

/* What is said of a request that got no answer. */

struct transport {
  const char *name;
  enum aicr_code code;
  const char *reason;
};

static const struct transport transports[] = {
    {"deadline", AICR_TIMEOUT, "deadline"},
    {"canceled", AICR_CANCELED, "canceled"},
    {"socket-timeout", AICR_TIMEOUT, "timeout"},
    {"dns-timeout", AICR_TIMEOUT, "timeout"},
    {"refused", AICR_SERVICE_UNAVAILABLE, "connect"},
    {"reset", AICR_SERVICE_UNAVAILABLE, "connection-lost"},
    {"http2-lost", AICR_SERVICE_UNAVAILABLE, "connection-lost"},
    {"unreachable", AICR_SERVICE_UNAVAILABLE, "connect"},
    {"pipe", AICR_SERVICE_UNAVAILABLE, "connection-lost"},
    {"dns", AICR_SERVICE_UNAVAILABLE, "dns"},
    {"tls", AICR_INTERNAL, "tls-verify"},
    {"cut", AICR_SERVICE_UNAVAILABLE, "connection-lost"},
};

static void test_transport(void **state)
{
  const struct transport *row = *state;
  struct kube_request rq = {.name = "x"};
  struct kube_answer a = {.attempts = 2};
  struct aicr_error err;
  struct kube_failure f = {
      .verb = "get", .resource = "things.example.org", .ns = "a", .name = "x"};
  static const char call[] =
      "get things.example.org \"x\" in namespace \"a\": ";
  a.transport = kube_transport_from_name(row->name, strlen(row->name));
  assert_string_equal(kube_transport_name(a.transport), row->name);
  kube_status_error(&rq, &a, KUBE_SERVED_UNKNOWN, &err, &f);
  assert_int_equal(err.code, row->code);
  assert_string_equal(err.reason, row->reason);
  assert_false(err.verdict);
  assert_int_equal(f.http, 0);
  assert_int_equal(f.transport, a.transport);
  assert_int_equal(f.attempts, 2);
  assert_int_equal(strncmp(err.message, call, sizeof call - 1), 0);
}

static void test_transport_names(void **state)
{
  (void)state;
  assert_int_equal(COUNT(transports), KUBE_TRANSPORT_COUNT - 1);
  assert_string_equal(kube_transport_name(KUBE_TRANSPORT_OK), "");
  assert_string_equal(kube_transport_name(KUBE_TRANSPORT_COUNT), "");
  assert_int_equal(kube_transport_from_name("", 0), KUBE_TRANSPORT_COUNT);
  assert_int_equal(kube_transport_from_name("refuse", 6), KUBE_TRANSPORT_COUNT);
  assert_int_equal(kube_transport_from_name("refused", 6),
                   KUBE_TRANSPORT_COUNT);
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_transport_names),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(transports); i++) {
    add_row(&rows, "transport", transports[i].name, test_transport,
            &transports[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "status_transport");
}
