/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>

#include "bind/bind.h"
#include "bind/nccl.h"

static void set_flag(lua_State *L, const char *field, enum nccl_flag flag)
{
  if (flag != NCCL_NOT_SAID)
    aicr_set_boolean(L, field, flag == NCCL_YES);
}

static void set_names(lua_State *L, const char *field,
                      const struct nccl_names *names)
{
  aicr_new_list(L, names->count);
  for (size_t i = 0; i < names->count; i++) {
    lua_pushstring(L, names->of[i].text);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, field);
}

static void set_networks(lua_State *L, const struct nccl_evidence *e)
{
  aicr_new_list(L, e->networks.count);
  for (size_t i = 0; i < e->networks.count; i++) {
    lua_createtable(L, 0, 2);
    aicr_set_text(L, "name", e->networks.of[i].text);
    aicr_set_count(L, "count", e->networks.of[i].count);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "networks");
  if (e->networks.count == 1) {
    aicr_set_text(L, "network", e->networks.of[0].text);
    aicr_set_text(L, "family", nccl_network_family(e->networks.of[0].text));
  }
}

static void set_plugins(lua_State *L, const struct nccl_evidence *e)
{
  lua_createtable(L, 0, 4);
  set_names(L, "loaded", &e->loaded);
  set_names(L, "missing", &e->missing);
  set_names(L, "initialized", &e->initialized);
  set_names(L, "failed", &e->failed);
  lua_setfield(L, -2, "plugins");
}

static void set_ofi(lua_State *L, const struct nccl_evidence *e)
{
  lua_createtable(L, 0, 7);
  aicr_set_text(L, "plugin", e->ofi_plugin);
  aicr_set_text(L, "libfabric", e->ofi_libfabric);
  aicr_set_text(L, "provider", e->ofi_provider);
  aicr_set_text(L, "fabric", e->ofi_fabric);
  if (e->ofi_nics >= 0)
    aicr_set_integer(L, "nics", e->ofi_nics);
  aicr_set_text(L, "protocol", e->ofi_protocol);
  aicr_set_text(L, "platform", e->ofi_platform);
  lua_setfield(L, -2, "ofi");
}

static void set_ib(lua_State *L, const struct nccl_evidence *e)
{
  lua_createtable(L, 0, 3);
  aicr_new_list(L, e->ib_count);
  for (size_t i = 0; i < e->ib_count; i++) {
    lua_createtable(L, 0, 3);
    aicr_set_text(L, "name", e->ib[i].name);
    aicr_set_integer(L, "port", e->ib[i].port);
    aicr_set_text(L, "link", e->ib[i].link);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "devices");
  aicr_set_boolean(L, "relaxed_ordering", e->ib_relaxed);
  aicr_set_boolean(L, "none", e->ib_none);
  lua_setfield(L, -2, "ib");
}

static void set_gdr(lua_State *L, const struct nccl_evidence *e)
{
  lua_createtable(L, 0, 5);
  aicr_set_count(L, "enabled", e->gdr_enabled);
  aicr_set_count(L, "disabled", e->gdr_disabled);
  aicr_set_count(L, "ring_on", e->ring_gdr);
  aicr_set_count(L, "ring_off", e->ring_no_gdr);
  aicr_set_boolean(L, "dmabuf", e->dmabuf);
  lua_setfield(L, -2, "gdr");
}

static void set_world(lua_State *L, const struct nccl_evidence *e)
{
  if (e->bootstrap_interface[0]) {
    lua_createtable(L, 0, 2);
    aicr_set_text(L, "interface", e->bootstrap_interface);
    aicr_set_text(L, "address", e->bootstrap_address);
    lua_setfield(L, -2, "bootstrap");
  }
  if (e->has_topology) {
    lua_createtable(L, 0, 3);
    aicr_set_integer(L, "ranks", e->ranks);
    aicr_set_integer(L, "nodes", e->nodes);
    aicr_set_integer(L, "local_ranks", e->local_ranks);
    lua_setfield(L, -2, "topology");
  }
  set_flag(L, "mnnvl", e->mnnvl);
  if (e->clique_size > 0)
    aicr_set_integer(L, "clique_size", e->clique_size);
  lua_createtable(L, 0, 2);
  set_flag(L, "available", e->nvls);
  aicr_set_count(L, "comms", e->nvls_comms);
  lua_setfield(L, -2, "nvls");
  if (!e->has_channels)
    return;
  lua_createtable(L, 0, 5);
  aicr_set_integer(L, "coll", e->coll_channels);
  aicr_set_integer(L, "p2p", e->p2p_channels);
  aicr_set_integer(L, "p2p_per_peer", e->p2p_per_peer);
  if (e->nvls_channels >= 0)
    aicr_set_integer(L, "nvls", e->nvls_channels);
  if (e->collnet_channels >= 0)
    aicr_set_integer(L, "collnet", e->collnet_channels);
  lua_setfield(L, -2, "channels");
}

static void set_paths(lua_State *L, const struct nccl_evidence *e)
{
  aicr_new_list(L, e->path_count);
  for (size_t i = 0; i < e->path_count; i++) {
    lua_createtable(L, 0, 5);
    aicr_set_text(L, "path", e->paths[i].path);
    aicr_set_count(L, "count", e->paths[i].count);
    aicr_set_count(L, "gdr", e->paths[i].gdr);
    aicr_set_count(L, "pxn", e->paths[i].pxn);
    aicr_set_count(L, "read", e->paths[i].read);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "paths");
  aicr_set_count(L, "socket_channels", e->socket_channels);
}

static void set_algorithms(lua_State *L, const struct nccl_evidence *e)
{
  aicr_new_list(L, e->algo_count);
  for (size_t i = 0; i < e->algo_count; i++) {
    const struct nccl_algorithm *a = &e->algos[i];

    lua_createtable(L, 0, 6);
    aicr_set_text(L, "op", a->op);
    aicr_set_integer(L, "bytes", a->bytes);
    aicr_set_text(L, "algo", a->algo);
    aicr_set_text(L, "proto", a->proto);
    if (a->channels > 0)
      aicr_set_integer(L, "channels", a->channels);
    aicr_set_count(L, "count", a->count);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "algorithms");
}

static bool is_in(const unsigned char *set, int64_t rank)
{
  return set[rank / 8] >> rank % 8 & 1;
}

/* Ranks of one set, or of the first that are not in the second. */
static void set_ranks(lua_State *L, const char *field,
                      const struct nccl_evidence *e, const unsigned char *set,
                      const unsigned char *without)
{
  lua_Integer n = 0;

  aicr_new_list(L, 0);
  for (int64_t rank = 0; rank <= e->highest; rank++) {
    if (!is_in(set, rank) || (without && is_in(without, rank)))
      continue;
    lua_pushinteger(L, rank);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, field);
}

static void set_settings(lua_State *L, const struct nccl_evidence *e)
{
  lua_createtable(L, 0, 3);
  set_ranks(L, "started", e, e->started, NULL);
  set_ranks(L, "completed", e, e->completed, NULL);
  set_ranks(L, "missing", e, e->started, e->completed);
  lua_setfield(L, -2, "init");
  aicr_new_list(L, e->env_count);
  for (size_t i = 0; i < e->env_count; i++) {
    lua_createtable(L, 0, 2);
    aicr_set_text(L, "name", e->env[i].name);
    aicr_set_string(L, "value", e->env[i].value);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "env");
}

static void set_said(lua_State *L, const struct nccl_evidence *e)
{
  aicr_new_list(L, e->warn_count);
  for (size_t i = 0; i < e->warn_count; i++) {
    const struct nccl_said *s = &e->warns[i];

    lua_createtable(L, 0, 7);
    aicr_set_string(L, "text", s->text);
    aicr_set_string(L, "host", s->host);
    aicr_set_integer(L, "pid", s->pid);
    if (s->has_device)
      aicr_set_integer(L, "device", s->device);
    if (s->has_file) {
      aicr_set_text(L, "file", s->file);
      aicr_set_integer(L, "at", s->at);
    }
    aicr_set_count(L, "count", s->count);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "warns");
  aicr_new_list(L, e->trace_count);
  for (size_t i = 0; i < e->trace_count; i++) {
    const struct nccl_trace *t = &e->traces[i];

    lua_createtable(L, 0, 5);
    aicr_set_string(L, "host", t->host);
    aicr_set_string(L, "file", t->file);
    aicr_set_integer(L, "at", t->at);
    aicr_set_integer(L, "result", t->result);
    aicr_set_count(L, "count", t->count);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "trace");
}

/* The list on the top gets the warning when it applies. */
static void add_warning(lua_State *L, bool applies, const char *code,
                        const char *message)
{
  if (!applies)
    return;
  lua_createtable(L, 0, 4);
  aicr_set_text(L, "code", code);
  aicr_set_text(L, "message", message);
  aicr_set_integer(L, "line", 0);
  aicr_set_integer(L, "count", 1);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void set_conclusions(lua_State *L, const struct nccl_evidence *e)
{
  aicr_new_list(L, 0);
  add_warning(L, e->networks_differ, "networks-differ",
              "ranks use different networks");
  add_warning(L, e->gdr_off, "gdr-disabled",
              "a ring goes without GPU Direct RDMA");
  add_warning(L, e->mixed_links, "mixed-links",
              "InfiniBand and RoCE devices are used together");
  add_warning(L, e->over, "too-many-entries",
              "a list is over its bound; the rest is not kept");
  lua_setfield(L, -2, "warnings");
  aicr_new_list(L, 0);
  if (e->shm_too_small) {
    lua_pushliteral(L, "shm-too-small");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  if (e->fell_back) {
    lua_pushliteral(L, "plugin-failed-fallback-socket");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "hints");
}

void aicr_push_nccl_evidence(lua_State *L, const struct nccl_evidence *e)
{
  luaL_checkstack(L, 6, "no room for evidence");
  lua_createtable(L, 0, 28);
  aicr_set_count(L, "lines", e->lines);
  aicr_set_text(L, "version", e->version);
  aicr_set_text(L, "cuda", e->cuda);
  if (e->driver > 0)
    aicr_set_integer(L, "driver", e->driver);
  set_networks(L, e);
  aicr_set_text(L, "fastrak_version", e->fastrak);
  set_plugins(L, e);
  set_ofi(L, e);
  set_ib(L, e);
  set_gdr(L, e);
  set_world(L, e);
  set_paths(L, e);
  set_algorithms(L, e);
  set_settings(L, e);
  set_said(L, e);
  set_conclusions(L, e);
}
