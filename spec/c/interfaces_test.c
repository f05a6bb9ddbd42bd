/* SPDX-License-Identifier: Apache-2.0 */
#include "gke/interfaces.h"

#include "rows.h"
#include "torture.h"

#define E0 "{\"interfaceName\":\"eth0\",\"network\":\"default\"}"

/* What Go's decoder does with a key, beyond what the vectors hold. */
struct key {
  const char *key; /* as it stands between the quotes */
  bool matches;    /* network */
};

static const struct key keys[] = {
    {"network", true},
    {"NETWORK", true},
    {"nEtWoRk", true},
    {"networ\xe2\x84\xaa", true}, /* U+212A */
    {"networ\\u212a", true},
    {"NETWOR\\u212A", true},
    {"\\u006eetwork", true},
    {"networ\xc4\xb8", false}, /* U+0138 */
    {"networks", false},
    {"networ", false},
    {"", false},
    {"net work", false},
    {" network", false},
    {"network\\u0000", false},
    {"n\\u0000etwork", false},
    {"netw\xc3\xb6rk", false},
    {"networ\\ud800", false},
    {"networ\xff", false},
    {"networ\xef\xbd\x8b", false}, /* full-width k */
};

static void test_key(void **state)
{
  const struct key *row = *state;
  char text[256];
  struct gke_mapping m;
  struct aicr_error err;

  snprintf(text, sizeof(text), "[" E0 ",{\"%s\":\"v\"}]", row->key);
  assert_true(gke_parse_interfaces(text, strlen(text), &m, &err));
  assert_int_equal(m.count, 1);
  assert_int_equal(m.pairs[0].network_len, row->matches ? 1 : 0);
  assert_string_equal(m.pairs[0].network, row->matches ? "v" : "");
  gke_mapping_free(&m);
}

/* The long s folds to s: interfaceName has none, so it is a key of its own. */
static void test_long_s_is_no_c(void **state)
{
  static const char text[] = "[{\"interfa\xc5\xbf"
                             "eName\":\"eth0\",\"network\":\"default\"}]";
  struct gke_mapping m;
  struct aicr_error err;

  (void)state;
  assert_false(gke_parse_interfaces(text, sizeof(text) - 1, &m, &err));
  assert_string_equal(err.reason, "annotation-first-entry");
}

static void test_every_cut_is_refused(void **state)
{
  static const char text[] =
      "[" E0 ",{\"interfaceName\":\"eth1\",\"network\":\"n\",\"x\":[{}]}]";

  (void)state;
  for (size_t len = 0; len < sizeof(text) - 1; len++) {
    struct gke_mapping m;
    struct aicr_error err;
    char *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    if (len)
      memcpy(copy, text, len);
    assert_false(gke_parse_interfaces(copy, len, &m, &err));
    assert_string_equal(err.reason, "annotation-malformed");
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_true(err.verdict);
    assert_null(m.pairs);
    assert_false(gke_parse_interfaces(copy, len, &m, NULL));
    free(copy);
  }
}

static bool parse_body(void *arg)
{
  const char *text = arg;
  struct gke_mapping m;
  struct aicr_error err;
  bool ok = gke_parse_interfaces(text, strlen(text), &m, &err);

  if (!ok) {
    assert_int_equal(err.code, AICR_INTERNAL);
    assert_string_equal(err.reason, "memory");
    assert_false(err.verdict);
    assert_null(m.pairs);
  }
  gke_mapping_free(&m);
  return ok;
}

static void test_parse_without_memory(void **state)
{
  char text[] = "[" E0 ",{\"interfaceName\":\"eth1\",\"network\":\"n\","
                "\"Network\":\"m\"},null,null,null,null,null,null,null,null,"
                "{\"x\":[[{\"y\":\"\\u00e9\"}]]}]";

  (void)state;
  assert_true(torture(parse_body, text) > 10);
}

static bool list_body(void *arg)
{
  const char *text = arg;
  struct gke_mapping m;
  struct aicr_error err;
  bool ok = gke_parse_interface_list(text, strlen(text), &m, &err);

  if (!ok) {
    assert_int_equal(err.code, AICR_INTERNAL);
    assert_string_equal(err.reason, "memory");
    assert_null(m.pairs);
  }
  gke_mapping_free(&m);
  return ok;
}

static void test_list_without_memory(void **state)
{
  char text[] = "eth1=gpu-nic1,eth2=gpu-nic2,eth3=gpu-nic3,eth4=gpu-nic4,"
                "eth5=gpu-nic5,eth6=gpu-nic6,eth7=gpu-nic7,eth8=gpu-nic8";

  (void)state;
  assert_int_equal(torture(list_body, text), 17);
}

static bool annotation_body(void *arg)
{
  static const char *const names[] = {"a\"", "b"};
  static const size_t lens[] = {2, 1};
  struct aicr_buf b;
  bool ok;

  (void)arg;
  aicr_buf_init(&b, 4096);
  ok = gke_interfaces_annotation(names, lens, 2, &b) &&
       gke_devices_annotation(8, &b);
  aicr_buf_free(&b);
  return ok;
}

static void test_annotations_without_memory(void **state)
{
  (void)state;
  assert_true(torture(annotation_body, NULL) > 0);
}

static void test_annotation_bound(void **state)
{
  struct aicr_buf b;

  (void)state;
  aicr_buf_init(&b, sizeof("[" E0 "]") - 1);
  assert_true(gke_interfaces_annotation(NULL, NULL, 0, &b));
  assert_string_equal(b.data, "[" E0 "]");
  aicr_buf_free(&b);
  aicr_buf_init(&b, sizeof("[" E0 "]") - 2);
  assert_false(gke_interfaces_annotation(NULL, NULL, 0, &b));
  aicr_buf_free(&b);
}

struct name {
  const char *text;
  size_t len;
  const char *says; /* NULL: is taken */
};

/* Network names of the second pair; the first is on gpu-nic-first. */
static const struct name networks[] = {
    {"a-gpu-nic", 9, NULL},
    {"gpu-nic", 7, NULL},
    {"z-gpu-nic-0123456789-0123456789-012345678", 41, NULL},
    {"z-gpu-nic-0123456789-0123456789-0123456789", 42, "1 to 41"},
    {"", 0, "1 to 41"},
    {"gpu-nic-", 8, "1 to 41"},
    {"-gpu-nic", 8, "1 to 41"},
    {"0gpu-nic", 8, "1 to 41"},
    {"gpu-niC", 7, "1 to 41"},
    {"gpu-nic\n", 8, "1 to 41"},
    {"gpu-nic\0", 8, "1 to 41"},
    {"gpu-nic.a", 9, "1 to 41"},
    {"a", 1, "\"gpu-nic\""},
    {"gpu-ni", 6, "\"gpu-nic\""},
    {"gpunic", 6, "\"gpu-nic\""},
    {"default", 7, "reserved"},
    {"default\0", 8, "1 to 41"},
    {"gpu-nic-first", 13, "duplicate network"},
};

static void fill(struct gke_mapping *m, const char *name, size_t name_len,
                 const char *network, size_t network_len)
{
  struct aicr_error err;

  memset(m, 0, sizeof(*m));
  assert_true(gke_mapping_add(m, "eth1", 4, "gpu-nic-first", 13, &err));
  assert_true(gke_mapping_add(m, name, name_len, network, network_len, &err));
  for (int i = '3'; i <= '8'; i++) {
    char interface[] = {'e', 't', 'h', (char)i};
    char other[] = {'g', 'p', 'u', '-', 'n', 'i', 'c', (char)i};

    assert_true(gke_mapping_add(m, interface, 4, other, 8, &err));
  }
}

static void expect(const struct gke_mapping *m, const char *says)
{
  struct aicr_error err;

  if (!says) {
    assert_true(gke_validate_interfaces(m, &err));
    return;
  }
  assert_false(gke_validate_interfaces(m, &err));
  assert_string_equal(err.reason, "mapping-invalid");
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_true(err.verdict);
  assert_non_null(strstr(err.message, says));
}

static void test_network(void **state)
{
  const struct name *row = *state;
  struct gke_mapping m;

  fill(&m, "eth2", 4, row->text, row->len);
  expect(&m, row->says);
  gke_mapping_free(&m);
}

static const struct name names[] = {
    {"eth2", 4, NULL},
    {"eth1", 4, "duplicate interface"},
    {"eth8", 4, "duplicate interface"},
    {"eth0", 4, "one of eth1..eth8"},
    {"eth9", 4, "one of eth1..eth8"},
    {"eth:", 4, "one of eth1..eth8"},
    {"eth/", 4, "one of eth1..eth8"},
    {"eth", 3, "one of eth1..eth8"},
    {"eth2\n", 5, "one of eth1..eth8"},
    {"eth2\0", 5, "one of eth1..eth8"},
    {"eth02", 5, "one of eth1..eth8"},
    {"Eth2", 4, "one of eth1..eth8"},
    {"", 0, "one of eth1..eth8"},
};

static void test_name(void **state)
{
  const struct name *row = *state;
  struct gke_mapping m;

  fill(&m, row->text, row->len, "gpu-nic-second", 14);
  expect(&m, row->says);
  gke_mapping_free(&m);
}

int main(void)
{
  struct rows r = {0};

  for (size_t i = 0; i < COUNT(keys); i++)
    add_row(&r, "key", keys[i].key, test_key, &keys[i]);
  add_row(&r, "key", "long s is no c", test_long_s_is_no_c, NULL);
  add_row(&r, "parse", "every cut is refused", test_every_cut_is_refused, NULL);
  add_row(&r, "parse", "without memory", test_parse_without_memory, NULL);
  add_row(&r, "list", "without memory", test_list_without_memory, NULL);
  add_row(&r, "annotations", "without memory", test_annotations_without_memory,
          NULL);
  add_row(&r, "annotations", "bound", test_annotation_bound, NULL);
  for (size_t i = 0; i < COUNT(networks); i++)
    add_row(&r, "network", networks[i].text, test_network, &networks[i]);
  for (size_t i = 0; i < COUNT(names); i++)
    add_row(&r, "interface name", names[i].text, test_name, &names[i]);
  return run_rows(&r, "interfaces");
}
