/* SPDX-License-Identifier: Apache-2.0 */
#include "gke/topology.h"

#include "rows.h"
#include "torture.h"

struct canonical {
  const char *name;
  size_t len;
  bool is;
};

static const struct canonical canonicals[] = {
    {"eth0", 4, true},   {"eth1", 4, true},    {"eth8", 4, true},
    {"eth9", 4, false},  {"eth/", 4, false},   {"eth", 3, false},
    {"eth01", 5, false}, {"eth1\0", 5, false}, {"eth+1", 5, false},
    {"eth-1", 5, false}, {"ETH1", 4, false},   {"eth10", 5, false},
    {"gve0", 4, false},  {"1", 1, false},      {" eth", 4, false},
};

static void test_canonical(void **state)
{
  const struct canonical *row = *state;
  struct gke_nic nic = {.name = (char *)(uintptr_t)row->name,
                        .name_len = row->len};

  assert_int_equal(gke_nic_is_canonical(&nic), row->is);
}

static bool info_body(void *arg)
{
  const char *text = arg;
  struct gke_nic_info info;
  struct aicr_error err;
  bool ok = gke_parse_nic_info(text, strlen(text), &info, &err);

  if (!ok) {
    assert_int_equal(err.code, AICR_INTERNAL);
    assert_string_equal(err.reason, "memory");
    assert_false(err.verdict);
    assert_null(info.nics);
  } else {
    assert_int_equal(info.present_count, 2);
  }
  gke_nic_info_free(&info);
  return ok;
}

static void test_info_without_memory(void **state)
{
  char text[] =
      "[{\"birthName\":\"eth1\",\"pciAddress\":\"a\",\"birthIP\":\"1\","
      "\"birthIPv6\":\"::1\"},{\"birthName\":\"eth2\",\"pciAddress\":\"b\"},"
      "{\"birthName\":\"eth3\"},null,{},{},{},{},{},{}]";

  (void)state;
  assert_true(torture(info_body, text) > 8);
}

static bool north_body(void *arg)
{
  const char *text = arg;
  struct gke_north_map map;
  struct aicr_error err;
  bool ok = gke_parse_north_interfaces(text, strlen(text), &map, &err);

  if (!ok) {
    assert_int_equal(err.code, AICR_INTERNAL);
    assert_string_equal(err.reason, "memory");
    assert_null(map.entries);
  } else {
    assert_int_equal(map.count, 2);
    assert_string_equal(map.entries[0].network, "z");
  }
  gke_north_map_free(&map);
  return ok;
}

static void test_north_without_memory(void **state)
{
  char text[] = "[{\"network\":\"x\",\"ipAddress\":\"1\"},"
                "{\"network\":\"y\",\"ipAddress\":\"2\"},"
                "{\"network\":\"z\",\"ipAddress\":\"1\"}]";

  (void)state;
  assert_true(torture(north_body, text) > 8);
}

/* All eight displaced, and only those that have an address. */
static void test_displaced(void **state)
{
  static char *const names[] = {"eth8", "eth1", "eth2", "eth0", "gve0"};
  struct gke_nic nics[5];
  struct gke_nic_info info = {.nics = nics, .count = 5};
  struct gke_north_map map = {0};
  const char *network = "gpu";
  size_t network_len = 3;
  struct gke_names gpu = {&network, &network_len, 1};
  struct aicr_error err;
  bool displaced[GKE_REQUIRED_NETWORKS];
  size_t entry[GKE_REQUIRED_NETWORKS];
  struct aicr_buf b;

  (void)state;
  memset(nics, 0, sizeof(nics));
  for (size_t i = 0; i < 5; i++) {
    nics[i].name = names[i];
    nics[i].name_len = 4;
    nics[i].ip = names[i];
    nics[i].ip_len = i == 2 ? 0 : 4;
  }
  assert_true(gke_north_map_set(&map, "eth8", 4, "gpu", 3, &err));
  assert_true(gke_north_map_set(&map, "eth1", 4, "gpu\0", 4, &err));
  assert_int_equal(
      gke_displaced_interfaces(&info, &map, &gpu, displaced, entry), 1);
  assert_true(displaced[0]);
  assert_int_equal(entry[0], 1);
  assert_false(displaced[1]);
  assert_int_equal(entry[1], (size_t)-1);
  assert_false(displaced[7]);
  assert_int_equal(entry[7], 0);
  aicr_buf_init(&b, 200);
  assert_true(gke_displaced_text(&info, &map, 0, entry[0], &b));
  assert_string_equal(b.data, "eth1 (ip \"eth1\", network \"gpu\\x00\")");
  aicr_buf_free(&b);
  gpu.count = 0;
  assert_int_equal(
      gke_displaced_interfaces(&info, &map, &gpu, displaced, entry), 2);
  gke_north_map_free(&map);
}

/* The largest annotation of the smallest entries: quadratic, but bounded. */
static void test_largest(void **state)
{
  struct aicr_buf b;
  struct gke_nic_info info;
  struct aicr_error err;
  size_t count = 0;

  (void)state;
  aicr_buf_init(&b, (size_t)256 << 10);
  aicr_buf_adds(&b, "[{\"birthName\":\"a\",\"pciAddress\":\"x\"}");
  while (b.len + 48 < (size_t)256 << 10)
    aicr_buf_addf(&b, ",{\"birthName\":\"%zx\",\"pciAddress\":\"x\"}",
                  (size_t)4096 + count++);
  assert_true(aicr_buf_addc(&b, ']'));
  assert_true(gke_parse_nic_info(b.data, b.len, &info, &err));
  assert_int_equal(info.count, count + 1);
  gke_nic_info_free(&info);
  aicr_buf_free(&b);
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(canonicals); i++)
    add_row(&r, "canonical", canonicals[i].name, test_canonical,
            &canonicals[i]);
  add_row(&r, "nic-info", "without memory", test_info_without_memory, NULL);
  add_row(&r, "north-interfaces", "without memory", test_north_without_memory,
          NULL);
  add_row(&r, "displaced", "of five", test_displaced, NULL);
  add_row(&r, "nic-info", "the largest", test_largest, NULL);
  return run_rows(&r, "topology");
}
