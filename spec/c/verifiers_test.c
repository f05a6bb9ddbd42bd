/* SPDX-License-Identifier: Apache-2.0 */
#include "gke/verifiers.h"

#include "rows.h"
#include "torture.h"

static void add(struct gke_mapping *m, const char *name, const char *network)
{
  struct aicr_error err;

  assert_true(
      gke_mapping_add(m, name, strlen(name), network, strlen(network), &err));
}

/* The 0-based place of the first difference, also when the counts differ. */
static void test_position(void **state)
{
  struct gke_mapping a = {0};
  struct gke_mapping b = {0};
  struct aicr_error err;
  size_t position = 99;

  (void)state;
  assert_true(gke_verify_mapping(&a, &b, &position, &err));
  assert_int_equal(position, 0);
  add(&a, "eth1", "x");
  add(&b, "eth1", "x");
  assert_true(gke_verify_mapping(&a, &b, &position, &err));
  assert_int_equal(position, 1);
  add(&a, "eth2", "y");
  assert_false(gke_verify_mapping(&a, &b, &position, &err));
  assert_int_equal(position, 1);
  assert_string_equal(err.reason, "mapping-count");
  add(&b, "eth2", "z");
  assert_false(gke_verify_mapping(&a, &b, &position, &err));
  assert_int_equal(position, 1);
  assert_string_equal(err.reason, "mapping-mismatch");
  assert_false(gke_verify_mapping(&a, &b, &position, NULL));
  gke_mapping_free(&a);
  gke_mapping_free(&b);
}

static bool exist_body(void *arg)
{
  static const char *const names[] = {"x"};
  static const size_t lens[] = {1};
  struct gke_names present = {names, lens, 1};
  struct aicr_error err;
  bool ok = gke_verify_networks_exist(arg, &present, &present, &err);

  if (!ok) {
    assert_int_equal(err.code, AICR_INTERNAL);
    assert_false(err.verdict);
  }
  return ok;
}

static void test_exist_without_memory(void **state)
{
  struct gke_mapping m = {0};

  (void)state;
  add(&m, "eth1", "x");
  assert_int_equal(torture(exist_body, &m), 1);
  gke_mapping_free(&m);
}

/* A message of any number of names of any length stays whole. */
static void test_long_lists(void **state)
{
  (void)state;
  for (size_t len = 1; len < 400; len += 7) {
    struct gke_mapping m = {0};
    struct gke_names none = {0};
    struct aicr_error err;
    char name[400];

    memset(name, 'n', len);
    name[len] = '\0';
    for (int i = 0; i < 60; i++)
      add(&m, name, name);
    assert_false(gke_verify_networks_exist(&m, &none, &none, &err));
    assert_int_equal(err.code, AICR_NOT_FOUND);
    assert_true(strlen(err.message) < AICR_MESSAGE_MAX - 1);
    assert_non_null(strstr(err.message, " more; the cluster has: none"));
    gke_mapping_free(&m);
  }
}

/* Missing comes before not usable, whatever comes first in the mapping. */
static void test_missing_first(void **state)
{
  static const char *const names[] = {"a", "b"};
  static const size_t lens[] = {1, 1};
  struct gke_names present = {names, lens, 2};
  struct gke_names usable = {names, lens, 1};
  struct gke_mapping m = {0};
  struct aicr_error err;

  (void)state;
  add(&m, "eth2", "b");
  assert_false(gke_verify_networks_exist(&m, &usable, &present, &err));
  assert_int_equal(err.code, AICR_CONFLICT);
  add(&m, "eth1", "c");
  assert_false(gke_verify_networks_exist(&m, &usable, &present, &err));
  assert_int_equal(err.code, AICR_NOT_FOUND);
  assert_null(strstr(err.message, "eth2"));
  /* Usable alone does not make a network present. */
  present.count = 0;
  assert_false(gke_verify_networks_exist(&m, &usable, &present, &err));
  assert_int_equal(err.code, AICR_NOT_FOUND);
  gke_mapping_free(&m);
}

int main(void)
{
  struct rows r = {0};

  add_row(&r, "mapping", "position", test_position, NULL);
  add_row(&r, "networks", "without memory", test_exist_without_memory, NULL);
  add_row(&r, "networks", "long lists", test_long_lists, NULL);
  add_row(&r, "networks", "missing comes first", test_missing_first, NULL);
  return run_rows(&r, "verifiers");
}
