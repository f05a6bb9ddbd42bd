/* SPDX-License-Identifier: Apache-2.0 */
/* What the interface annotation and the interface list say survives being
 * written and read again, and equals itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_writer.h"
#include "gke/interfaces.h"
#include "gke/verifiers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

static void add_pair(struct aicr_buf *b, const char *name, size_t name_len,
                     const char *network, size_t network_len)
{
  aicr_buf_adds(b, "{\"interfaceName\":");
  aicr_json_write_string(b, name, name_len);
  aicr_buf_adds(b, ",\"network\":");
  aicr_json_write_string(b, network, network_len);
  aicr_buf_adds(b, "}");
}

static void write_mapping(struct aicr_buf *b, const struct gke_mapping *m)
{
  aicr_buf_addc(b, '[');
  add_pair(b, "eth0", 4, "default", 7);
  for (size_t i = 0; i < m->count; i++) {
    aicr_buf_addc(b, ',');
    add_pair(b, m->pairs[i].interface_name, m->pairs[i].interface_len,
             m->pairs[i].network, m->pairs[i].network_len);
  }
  require(aicr_buf_addc(b, ']'));
}

static void check_mapping(const struct gke_mapping *m)
{
  struct gke_mapping again;
  struct aicr_buf text;
  struct aicr_error err;
  size_t position;

  aicr_buf_init(&text, (size_t)16 << 20);
  write_mapping(&text, m);
  /* Escapes may have made it longer than an annotation may be. */
  if (gke_parse_interfaces(text.data, text.len, &again, &err)) {
    require(gke_verify_mapping(m, &again, &position, &err));
    require(position == m->count);
    gke_mapping_free(&again);
  } else {
    require(text.len > (size_t)256 << 10);
  }
  require(gke_verify_mapping(m, m, &position, &err));
  aicr_buf_free(&text);
}

static void check_error(const struct aicr_error *err)
{
  require(err->code == AICR_INVALID_REQUEST && err->verdict);
  require(err->reason[0] && err->message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *copy = malloc(size ? size : 1);
  struct gke_mapping m;
  struct aicr_error err;

  require(copy != NULL);
  if (size)
    memcpy(copy, data, size);
  if (gke_parse_interfaces(copy, size, &m, &err)) {
    check_mapping(&m);
    gke_mapping_free(&m);
  } else {
    check_error(&err);
    require(m.count == 0 && !m.pairs);
  }
  if (gke_parse_interface_list(copy, size, &m, &err)) {
    require(m.count == GKE_REQUIRED_NETWORKS);
    require(gke_validate_interfaces(&m, &err));
    check_mapping(&m);
    gke_mapping_free(&m);
  } else {
    check_error(&err);
    require(m.count == 0 && !m.pairs);
  }
  free(copy);
  return 0;
}
