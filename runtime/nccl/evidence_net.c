/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nccl/message.h"

static bool on_version(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_word w;

  if (!nccl_skip(&m, "NCCL version "))
    return false;
  w = nccl_upto(&m, " +");
  NCCL_SET(e->version, w);
  if (nccl_skip(&m, "+cuda")) {
    w = nccl_upto(&m, " ");
    NCCL_SET(e->cuda, w);
  }
  return true;
}

/* "Using [0]eth0:10.0.0.7<0>" */
static bool on_bootstrap(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_word w;

  if (!nccl_skip(&m, "Bootstrap"))
    return false;
  if (!nccl_seek(&m, "Using "))
    return true;
  if (m.text < m.end && *m.text == '[')
    nccl_seek(&m, "]");
  w = nccl_upto(&m, ":");
  NCCL_SET(e->bootstrap_interface, w);
  if (nccl_skip(&m, ":")) {
    w = nccl_upto(&m, "<");
    NCCL_SET(e->bootstrap_address, w);
  }
  return true;
}

static bool on_plugin(struct nccl_evidence *e, struct nccl_message m)
{
  static const char *const loaded[] = {
      "NET/Plugin: Loaded net plugin ",
      "NET/Plugin: Successfully loaded external network plugin ",
      "Successfully loaded external network plugin "};
  struct nccl_word w;

  for (size_t i = 0; i < sizeof(loaded) / sizeof(loaded[0]); i++) {
    if (!nccl_skip(&m, loaded[i]))
      continue;
    w = nccl_rest(m);
    for (size_t k = 0; k + 2 < w.len; k++)
      if (memcmp(w.text + k, " (v", 3) == 0)
        w.len = k;
    nccl_add_name(e, &e->loaded, w);
    return true;
  }
  if (nccl_skip(&m, "NET/Plugin: Could not find: "))
    nccl_add_name(e, &e->missing, nccl_upto(&m, " ,"));
  else if (nccl_skip(&m, "Initialized NET plugin "))
    nccl_add_name(e, &e->initialized, nccl_rest(m));
  else if (nccl_skip(&m, "Failed to initialize NET plugin "))
    nccl_add_name(e, &e->failed, nccl_rest(m));
  else
    return false;
  return true;
}

static bool on_ofi(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_word w;

  if (nccl_skip(&m, "Initializing network FasTrak, version: ")) {
    w = nccl_upto(&m, " ");
    NCCL_SET(e->fastrak, w);
    return true;
  }
  if (!nccl_skip(&m, "NET/OFI "))
    return false;
  if (nccl_skip(&m, "Initializing aws-ofi-nccl")) {
    m.text -= strlen("aws-ofi-nccl");
    w = nccl_rest(m);
    NCCL_SET(e->ofi_plugin, w);
  } else if (nccl_skip(&m, "Using Libfabric version ")) {
    w = nccl_upto(&m, " ");
    NCCL_SET(e->ofi_libfabric, w);
  } else if (nccl_skip(&m, "Selected provider is ")) {
    w = nccl_upto(&m, ", ");
    NCCL_SET(e->ofi_provider, w);
    if (nccl_seek(&m, "fabric is ")) {
      w = nccl_upto(&m, " ");
      NCCL_SET(e->ofi_fabric, w);
    }
    nccl_number_behind(m, "(found ", &e->ofi_nics);
  } else if (nccl_skip(&m, "Using transport protocol ")) {
    w = nccl_upto(&m, " ");
    NCCL_SET(e->ofi_protocol, w);
  } else if (nccl_seek(&m, "Plugin selected platform: ")) {
    w = nccl_upto(&m, " ");
    NCCL_SET(e->ofi_platform, w);
  }
  return true;
}

/* "[0]mlx5_0:1/IB" */
static void add_ib(struct nccl_evidence *e, struct nccl_word w)
{
  struct nccl_message m = {w.text, w.text + w.len};
  struct nccl_ib_device d = {0};
  struct nccl_word part;

  if (!nccl_seek(&m, "]"))
    return;
  part = nccl_upto(&m, ":/");
  NCCL_SET(d.name, part);
  if (nccl_skip(&m, ":"))
    nccl_number(&m, &d.port);
  if (nccl_skip(&m, "/")) {
    part = nccl_upto(&m, " ;");
    NCCL_SET(d.link, part);
  }
  for (size_t i = 0; i < e->ib_count; i++)
    if (strcmp(e->ib[i].name, d.name) == 0 && e->ib[i].port == d.port)
      return;
  if (e->ib_count == NCCL_IB_MAX)
    e->over = true;
  else
    e->ib[e->ib_count++] = d;
}

static bool on_ib(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_word w;

  if (!nccl_skip(&m, "NET/IB"))
    return false;
  if (nccl_seek(&m, "No device found")) {
    e->ib_none = true;
    return true;
  }
  if (!nccl_seek(&m, "Using "))
    return true;
  while (nccl_next_word(&m.text, m.end, &w)) {
    if (w.text[0] != '[')
      break;
    if (nccl_starts(w.text, w.len, "[RO]"))
      e->ib_relaxed = true;
    else
      add_ib(e, w);
    if (w.text[w.len - 1] == ';')
      break;
  }
  return true;
}

static bool on_gdr(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_message all = m;
  int64_t gdr;

  if (nccl_seek(&m, "GPU Direct RDMA ")) {
    e->gdr_enabled += nccl_skip(&m, "Enabled");
    e->gdr_disabled += nccl_skip(&m, "Disabled");
    return true;
  }
  if (nccl_skip(&all, "Connected all rings")) {
    if (nccl_number_behind(all, " GDR ", &gdr)) {
      e->ring_gdr += gdr == 1;
      e->ring_no_gdr += gdr == 0;
    }
    return true;
  }
  if (!nccl_seek(&all, "DMA-BUF is available"))
    return false;
  e->dmabuf = true;
  return true;
}

bool nccl_on_network(struct nccl_evidence *e, struct nccl_message m)
{
  static bool (*const readers[])(struct nccl_evidence *,
                                 struct nccl_message) = {
      on_version, on_bootstrap, on_plugin, on_ofi, on_ib, on_gdr};

  if (nccl_skip(&m, "Using network ")) {
    nccl_add_name(e, &e->networks, nccl_rest(m));
    return true;
  }
  for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
    if (readers[i](e, m))
      return true;
  return false;
}

const char *nccl_network_family(const char *name)
{
  static const struct {
    const char *begins, *family;
  } families[] = {{"Socket", "socket"},
                  {"FasTrak", "fastrak"},
                  {"GPUDirectTCPX", "tcpx"},
                  {"AWS Libfabric", "efa"},
                  {"Libfabric", "efa"},
                  {"gIB", "gib"},
                  {"IB", "ib"}};

  for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
    if (strncmp(name, families[i].begins, strlen(families[i].begins)) == 0)
      return families[i].family;
  return "other";
}
