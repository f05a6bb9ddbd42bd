/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/buffer.h"
#include "kube/secret_values.h"

static bool take(void *owner, const char *value, size_t len)
{
  struct aicr_buf *all = owner;
  return aicr_buf_add(all, value, len) && aicr_buf_addc(all, '|');
}

static bool refuse(void *owner, const char *value, size_t len)
{
  (void)owner;
  (void)value;
  (void)len;
  return false;
}

struct row {
  const char *json, *values; /* NULL: not read */
};

static const struct row rows[] = {
    {"{\"kind\":\"Secret\",\"data\":{\"a\":\"c2VjcmV0\",\"b\":\"!\"}}",
     "c2VjcmV0|secret|!|"},
    {"{\"data\":{\"a\":\"\",\"b\":1,\"c\":null},\"stringData\":{\"d\":\"e2U=\"}"
     "}",
     "e2U=|"},
    {"{\"type\":\"ADDED\",\"object\":{\"data\":{\"a\":\"c2VjcmV0\"}}}",
     "c2VjcmV0|secret|"},
    {"{\"type\":\"kubernetes.io/service-account-token\",\"data\":{"
     "\"namespace\":\"ZGVmYXVsdA==\",\"ca.crt\":\"eA==\",\"token\":"
     "\"c2VjcmV0\"}}",
     "c2VjcmV0|secret|"},
    {"{\"type\":\"Opaque\",\"data\":{\"namespace\":\"c2VjcmV0\"}}",
     "c2VjcmV0|secret|"},
    {"{\"data\":\"[secret, not recorded]\"}", ""},
    {"{}", ""},
    {"{", NULL},
};

static void test_rows(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct aicr_buf all;
    aicr_buf_init(&all, 4096);
    bool ok =
        kube_secret_values(rows[i].json, strlen(rows[i].json), take, &all);
    assert_int_equal(ok, rows[i].values != NULL);
    if (ok) {
      aicr_buf_addc(&all, '\0');
      assert_string_equal(all.data, rows[i].values);
    }
    aicr_buf_free(&all);
  }
}

static void test_refused(void **state)
{
  (void)state;
  assert_false(
      kube_secret_values(rows[0].json, strlen(rows[0].json), refuse, NULL));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_refused),
  };
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests_name("secret_values", tests, NULL, NULL);
}
