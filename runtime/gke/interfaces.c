/* SPDX-License-Identifier: Apache-2.0 */
#include "gke/interfaces.h"

#include <string.h>

#include "core/json_writer.h"
#include "core/text.h"
#include "gke/records.h"

static const struct gke_shape shape = {
    GKE_INTERFACES_ANNOTATION,
    "annotation-malformed",
    {"interfaceName", "network", NULL},
};

void gke_mapping_free(struct gke_mapping *m)
{
  for (size_t i = 0; i < m->count; i++) {
    aicr_free(m->pairs[i].interface_name);
    aicr_free(m->pairs[i].network);
  }
  aicr_free(m->pairs);
  memset(m, 0, sizeof(*m));
}

bool gke_mapping_add(struct gke_mapping *m, const char *interface_name,
                     size_t interface_len, const char *network,
                     size_t network_len, struct aicr_error *err)
{
  struct gke_pair *pairs;
  struct gke_pair pair = {.interface_len = interface_len,
                          .network_len = network_len};

  pairs = aicr_grow(m->pairs, &m->cap, m->count, sizeof(*pairs));
  if (!pairs)
    return gke_no_memory(err);
  m->pairs = pairs;
  pair.interface_name =
      aicr_strndup(interface_len ? interface_name : "", interface_len);
  pair.network = aicr_strndup(network_len ? network : "", network_len);
  if (!pair.interface_name || !pair.network) {
    aicr_free(pair.interface_name);
    aicr_free(pair.network);
    return gke_no_memory(err);
  }
  m->pairs[m->count++] = pair;
  return true;
}

static bool is(const char *data, size_t len, const char *text)
{
  return gke_same(data, len, text, strlen(text));
}

static bool check_first(const struct gke_record *first, struct aicr_error *err)
{
  struct aicr_quoted name, network;

  if (is(first->field[0], first->len[0], "eth0") &&
      is(first->field[1], first->len[1], "default"))
    return true;
  return aicr_verdict(
      err, AICR_INVALID_REQUEST, "annotation-first-entry",
      "annotation " GKE_INTERFACES_ANNOTATION
      ": the first entry is %s → %s, wanted \"eth0\" → \"default\"",
      aicr_quote(&name, first->field[0], first->len[0]),
      aicr_quote(&network, first->field[1], first->len[1]));
}

bool gke_parse_interfaces(const char *text, size_t len, struct gke_mapping *out,
                          struct aicr_error *err)
{
  struct gke_records r;
  bool ok = false;

  memset(out, 0, sizeof(*out));
  if (!gke_records_decode(text, len, &shape, &r, err))
    goto out;
  if (r.count == 0) {
    aicr_verdict(err, AICR_INVALID_REQUEST, "annotation-empty",
                 "annotation " GKE_INTERFACES_ANNOTATION " is an empty list");
    goto out;
  }
  if (!check_first(&r.items[0], err))
    goto out;
  for (size_t i = 1; i < r.count; i++) {
    const struct gke_record *e = &r.items[i];

    if (!gke_mapping_add(out, e->field[0], e->len[0], e->field[1], e->len[1],
                         err))
      goto out;
  }
  ok = true;
out:
  gke_records_free(&r);
  if (!ok)
    gke_mapping_free(out);
  return ok;
}

static bool invalid(struct aicr_error *err, const struct gke_pair *p,
                    const char *what)
{
  struct aicr_quoted name, network;

  return aicr_verdict(err, AICR_INVALID_REQUEST, "mapping-invalid",
                      "interface %s, network %s: %s",
                      aicr_quote(&name, p->interface_name, p->interface_len),
                      aicr_quote(&network, p->network, p->network_len), what);
}

static bool is_interface_name(const struct gke_pair *p)
{
  return p->interface_len == 4 && memcmp(p->interface_name, "eth", 3) == 0 &&
         p->interface_name[3] >= '1' &&
         p->interface_name[3] <= '0' + GKE_REQUIRED_NETWORKS;
}

static bool is_network_name(const char *s, size_t len)
{
  if (len < 1 || len > GKE_NETWORK_NAME_MAX || s[0] < 'a' || s[0] > 'z' ||
      s[len - 1] == '-')
    return false;
  for (size_t i = 0; i < len; i++) {
    bool lower = s[i] >= 'a' && s[i] <= 'z';
    bool digit = s[i] >= '0' && s[i] <= '9';
    if (!lower && !digit && s[i] != '-')
      return false;
  }
  return true;
}

static bool contains(const char *data, size_t len, const char *word)
{
  size_t n = strlen(word);

  for (size_t i = 0; i + n <= len; i++)
    if (memcmp(data + i, word, n) == 0)
      return true;
  return false;
}

/* The rules of one pair in their order; `before` are the pairs that passed. */
static bool check_pair(const struct gke_pair *p, const struct gke_pair *before,
                       size_t count, struct aicr_error *err)
{
  if (!is_interface_name(p))
    return invalid(err, p, "the interface name must be one of eth1..eth8");
  for (size_t i = 0; i < count; i++)
    if (gke_same(p->interface_name, p->interface_len, before[i].interface_name,
                 before[i].interface_len))
      return invalid(err, p, "duplicate interface, each must be listed once");
  if (is(p->network, p->network_len, "default"))
    return invalid(err, p,
                   "\"default\" is reserved for eth0, which is always "
                   "prepended");
  if (!is_network_name(p->network, p->network_len))
    return invalid(err, p,
                   "the network name must be 1 to 41 of a-z 0-9 -, begin with "
                   "a letter and end with a letter or digit");
  if (!contains(p->network, p->network_len, "gpu-nic"))
    return invalid(err, p,
                   "the network name must contain \"gpu-nic\", which discovery "
                   "filters on");
  for (size_t i = 0; i < count; i++)
    if (gke_same(p->network, p->network_len, before[i].network,
                 before[i].network_len))
      return invalid(err, p, "duplicate network, each must be listed once");
  return true;
}

bool gke_validate_interfaces(const struct gke_mapping *m,
                             struct aicr_error *err)
{
  if (m->count != GKE_REQUIRED_NETWORKS)
    return aicr_verdict(err, AICR_INVALID_REQUEST, "mapping-invalid",
                        "wanted %d interfaces (eth1..eth8), got %zu",
                        GKE_REQUIRED_NETWORKS, m->count);
  for (size_t i = 0; i < m->count; i++)
    if (!check_pair(&m->pairs[i], m->pairs, i, err))
      return false;
  return true;
}

static bool add_segment(const char *s, size_t len, struct gke_mapping *out,
                        struct aicr_error *err)
{
  const char *equals;
  const char *network;
  size_t network_len;
  struct aicr_quoted q;

  aicr_trim(&s, &len);
  equals = len ? memchr(s, '=', len) : NULL;
  if (!equals)
    return aicr_verdict(err, AICR_INVALID_REQUEST, "mapping-invalid",
                        "segment %zu of the interface list is %s, wanted "
                        "INTERFACE=NETWORK",
                        out->count + 1, aicr_quote(&q, s, len));
  network = equals + 1;
  network_len = len - (size_t)(network - s);
  len = (size_t)(equals - s);
  aicr_trim(&s, &len);
  aicr_trim(&network, &network_len);
  return gke_mapping_add(out, s, len, network, network_len, err);
}

static bool add_segments(const char *text, size_t len, struct gke_mapping *out,
                         struct aicr_error *err)
{
  for (;;) {
    const char *comma = len ? memchr(text, ',', len) : NULL;
    size_t n = comma ? (size_t)(comma - text) : len;

    if (!add_segment(text, n, out, err))
      return false;
    if (!comma)
      return true;
    text += n + 1;
    len -= n + 1;
  }
}

bool gke_parse_interface_list(const char *text, size_t len,
                              struct gke_mapping *out, struct aicr_error *err)
{
  const char *s = text;
  size_t n = len;
  bool ok;

  memset(out, 0, sizeof(*out));
  aicr_trim(&s, &n);
  if (n == 0)
    return aicr_verdict(err, AICR_INVALID_REQUEST, "mapping-invalid",
                        "the interface list is empty, wanted "
                        "eth1=NETWORK,…,eth8=NETWORK");
  ok = add_segments(text, len, out, err) && gke_validate_interfaces(out, err);
  if (!ok)
    gke_mapping_free(out);
  return ok;
}

bool gke_interfaces_annotation(const char *const *networks, const size_t *lens,
                               size_t count, struct aicr_buf *out)
{
  aicr_buf_adds(out, "[{\"interfaceName\":\"eth0\",\"network\":\"default\"}");
  for (size_t i = 0; i < count; i++) {
    aicr_buf_addf(out, ",{\"interfaceName\":\"eth%zu\",\"network\":", i + 1);
    aicr_json_write_string(out, networks[i], lens[i]);
    aicr_buf_addc(out, '}');
  }
  return aicr_buf_addc(out, ']');
}

bool gke_devices_annotation(unsigned gpus, struct aicr_buf *out)
{
  for (unsigned i = 0; i < gpus; i++)
    aicr_buf_addf(out, "- path: /dev/nvidia%u\n", i);
  return aicr_buf_adds(out, "- path: /dev/nvidiactl\n"
                            "- path: /dev/nvidia-uvm\n"
                            "- path: /dev/dmabuf_import_helper\n");
}
