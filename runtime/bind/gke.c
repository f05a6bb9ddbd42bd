/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#include "bind/bind.h"
#include "gke/topology.h"
#include "gke/verifiers.h"
#include "host/task.h"

/* A function of several arguments begins with lua_settop(), so that a missing
 * one is not mistaken for what the checks of the others leave on the stack.
 *
 * What C owns while Lua may raise stands in a userdata, so that it is freed
 * with it. */
#define MAPPING_MT   "aicr.gke.mapping"
#define NIC_INFO_MT  "aicr.gke.nic_info"
#define NORTH_MAP_MT "aicr.gke.north_map"

static int mapping_close(lua_State *L)
{
  gke_mapping_free(lua_touserdata(L, 1));
  return 0;
}

static int nic_info_close(lua_State *L)
{
  gke_nic_info_free(lua_touserdata(L, 1));
  return 0;
}

static int north_map_close(lua_State *L)
{
  gke_north_map_free(lua_touserdata(L, 1));
  return 0;
}

/* Pushes `size` zeroed bytes that `release` frees.              [-0, +1, m] */
static void *new_owner(lua_State *L, size_t size, const char *name,
                       lua_CFunction release)
{
  void *owner = lua_newuserdatauv(L, size, 0);

  memset(owner, 0, size);
  aicr_set_release(L, name, release);
  return owner;
}

static struct gke_mapping *new_mapping(lua_State *L)
{
  return new_owner(L, sizeof(struct gke_mapping), MAPPING_MT, mapping_close);
}

/* Pushes a list of {interfaceName, network}.                    [-0, +1, m] */
static void push_mapping(lua_State *L, const struct gke_mapping *m)
{
  aicr_new_list(L, m->count);
  for (size_t i = 0; i < m->count; i++) {
    const struct gke_pair *p = &m->pairs[i];

    lua_createtable(L, 0, 2);
    aicr_set_bytes(L, "interfaceName", p->interface_name, p->interface_len);
    aicr_set_bytes(L, "network", p->network, p->network_len);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes the string field of the pair on the top.               [-0, +1, v] */
static const char *check_field(lua_State *L, int arg, const char *field,
                               size_t *len)
{
  if (lua_getfield(L, -1, field) != LUA_TSTRING)
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "%s must be a string, got %s", field,
                                  luaL_typename(L, -1)));
  return lua_tolstring(L, -1, len);
}

/* The mapping in the list argument `arg`, owned by the userdata that is left
 * on the stack.                                                 [-0, +1, v] */
static struct gke_mapping *check_mapping(lua_State *L, int arg)
{
  struct gke_mapping *m;
  struct aicr_error err;
  lua_Integer count;

  luaL_checktype(L, arg, LUA_TTABLE);
  luaL_checkstack(L, 6, "no room for a mapping");
  count = (lua_Integer)lua_rawlen(L, arg);
  m = new_mapping(L);
  for (lua_Integer i = 1; i <= count; i++) {
    size_t name_len, network_len;
    const char *name, *network;

    if (lua_rawgeti(L, arg, i) != LUA_TTABLE)
      luaL_argerror(L, arg, "a list of {interfaceName, network} expected");
    name = check_field(L, arg, "interfaceName", &name_len);
    lua_insert(L, -2);
    network = check_field(L, arg, "network", &network_len);
    if (!gke_mapping_add(m, name, name_len, network, network_len, &err))
      aicr_raise(L, &err);
    lua_pop(L, 3);
  }
  return m;
}

/* The names in the list argument `arg`. Its strings are held by a table, the
 * arrays by two userdata; these are left on the stack. (A finalizer that runs
 * meanwhile may change the argument.)                           [-0, +3, v] */
static struct gke_names check_names(lua_State *L, int arg)
{
  struct gke_names names = {0};
  const char **texts;
  size_t *lens;

  luaL_checktype(L, arg, LUA_TTABLE);
  luaL_checkstack(L, 5, "no room for names");
  names.count = lua_rawlen(L, arg);
  texts = lua_newuserdatauv(L, (names.count + 1) * sizeof(*texts), 0);
  lens = lua_newuserdatauv(L, (names.count + 1) * sizeof(*lens), 0);
  lua_newtable(L);
  for (size_t i = 0; i < names.count; i++) {
    if (lua_rawgeti(L, arg, (lua_Integer)i + 1) != LUA_TSTRING)
      luaL_argerror(L, arg, "a list of strings expected");
    texts[i] = lua_tolstring(L, -1, &lens[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  names.names = texts;
  names.lens = lens;
  return names;
}

/* gke.parse_interfaces(text) -> pairs                           [-0, +1, v] */
static int parse_interfaces(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct gke_mapping *m = new_mapping(L);
  struct aicr_error err;

  if (!gke_parse_interfaces(text, len, m, &err))
    return aicr_raise(L, &err);
  push_mapping(L, m);
  return 1;
}

/* gke.validate_interfaces(pairs) -> pairs                       [-0, +1, v] */
static int validate_interfaces(lua_State *L)
{
  struct gke_mapping *m = check_mapping(L, 1);
  struct aicr_error err;

  if (!gke_validate_interfaces(m, &err))
    return aicr_raise(L, &err);
  lua_pushvalue(L, 1);
  return 1;
}

/* gke.parse_interface_list(text) -> pairs                       [-0, +1, v] */
static int parse_interface_list(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct gke_mapping *m = new_mapping(L);
  struct aicr_error err;

  if (!gke_parse_interface_list(text, len, m, &err))
    return aicr_raise(L, &err);
  push_mapping(L, m);
  return 1;
}

/* gke.interfaces_annotation(names) -> text                      [-0, +1, v] */
static int interfaces_annotation(lua_State *L)
{
  struct gke_names names = check_names(L, 1);
  struct aicr_buf *b = aicr_new_buf(L, (size_t)1 << 30);

  gke_interfaces_annotation(names.names, names.lens, names.count, b);
  aicr_push_buf(L, b);
  return 1;
}

/* gke.devices_annotation(gpus) -> text                          [-0, +1, v] */
static int devices_annotation(lua_State *L)
{
  lua_Integer gpus = luaL_checkinteger(L, 1);
  struct aicr_buf *b;

  luaL_argcheck(L, gpus >= 0 && gpus <= 64, 1, "0 to 64 GPUs expected");
  b = aicr_new_buf(L, 1 << 16);
  gke_devices_annotation((unsigned)gpus, b);
  aicr_push_buf(L, b);
  return 1;
}

/* The table on the top gets field = {[name] = address or PCI slot}. */
static void set_nics(lua_State *L, const char *field,
                     const struct gke_nic_info *info, bool pci)
{
  lua_newtable(L);
  for (size_t i = 0; i < info->count; i++) {
    const struct gke_nic *nic = &info->nics[i];

    lua_pushlstring(L, nic->name, nic->name_len);
    if (pci)
      lua_pushlstring(L, nic->pci, nic->pci_len);
    else
      lua_pushlstring(L, nic->ip_len ? nic->ip : "", nic->ip_len);
    lua_rawset(L, -3);
  }
  lua_setfield(L, -2, field);
}

static void set_missing(lua_State *L, const struct gke_nic_info *info)
{
  lua_Integer n = 0;

  aicr_new_list(L, GKE_REQUIRED_NETWORKS);
  for (int i = 0; i < GKE_REQUIRED_NETWORKS; i++) {
    if (info->present[i])
      continue;
    lua_pushfstring(L, "eth%d", i + 1);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "missing");
}

static void set_extra(lua_State *L, const struct gke_nic_info *info)
{
  const struct gke_nic **extra = lua_newuserdatauv(
      L, (info->count + 1) * sizeof(const struct gke_nic *), 0);
  size_t count = gke_nic_info_extra(info, extra);

  aicr_new_list(L, count);
  for (size_t i = 0; i < count; i++) {
    lua_pushlstring(L, extra[i]->name, extra[i]->name_len);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -3, "extra");
  lua_pop(L, 1);
}

/* gke.parse_nic_info(text) -> {interfaces, ips, present, missing, extra}
 *                                                               [-0, +1, v] */
static int parse_nic_info(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct gke_nic_info *info =
      new_owner(L, sizeof(*info), NIC_INFO_MT, nic_info_close);
  struct aicr_error err;

  if (!gke_parse_nic_info(text, len, info, &err))
    return aicr_raise(L, &err);
  lua_createtable(L, 0, 5);
  set_nics(L, "interfaces", info, true);
  set_nics(L, "ips", info, false);
  aicr_set_integer(L, "present", info->present_count);
  set_missing(L, info);
  set_extra(L, info);
  return 1;
}

/* gke.parse_north_interfaces(text) -> {[ip] = network}          [-0, +1, v] */
static int parse_north_interfaces(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct gke_north_map *map =
      new_owner(L, sizeof(*map), NORTH_MAP_MT, north_map_close);
  struct aicr_error err;

  if (!gke_parse_north_interfaces(text, len, map, &err))
    return aicr_raise(L, &err);
  lua_newtable(L);
  for (size_t i = 0; i < map->count; i++) {
    const struct gke_north *e = &map->entries[i];

    lua_pushlstring(L, e->ip, e->ip_len);
    lua_pushlstring(L, e->network, e->network_len);
    lua_rawset(L, -3);
  }
  return 1;
}

/* The addresses of eth1..eth8 in argument `arg`, a table of parse_nic_info():
 * the others do not matter here. The strings are left on the stack.
 *                                                               [-0, +9, v] */
static struct gke_nic_info check_nic_info(lua_State *L, int arg,
                                          struct gke_nic *nics)
{
  static const char *const names[] = {"eth1", "eth2", "eth3", "eth4",
                                      "eth5", "eth6", "eth7", "eth8"};
  struct gke_nic_info info = {.nics = nics};

  static_assert(sizeof(names) / sizeof(names[0]) == GKE_REQUIRED_NETWORKS,
                "one name a GPU NIC");
  luaL_checktype(L, arg, LUA_TTABLE);
  luaL_checkstack(L, GKE_REQUIRED_NETWORKS + 2, "no room for addresses");
  if (lua_getfield(L, arg, "ips") != LUA_TTABLE)
    luaL_argerror(L, arg, "a table of parse_nic_info expected");
  for (int i = 0; i < GKE_REQUIRED_NETWORKS; i++) {
    struct gke_nic *nic = &nics[info.count];

    lua_pushstring(L, names[i]);
    lua_rawget(L, -2 - i);
    if (lua_isnil(L, -1))
      continue;
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_argerror(L, arg, "ips must hold strings");
    memset(nic, 0, sizeof(*nic));
    nic->name = (char *)(uintptr_t)names[i];
    nic->name_len = strlen(names[i]);
    nic->ip = (char *)(uintptr_t)lua_tolstring(L, -1, &nic->ip_len);
    info.count++;
  }
  return info;
}

/* The networks of argument `arg`, a table {[ip] = network}, owned by the
 * userdata that is left on the stack.                           [-0, +1, v] */
static struct gke_north_map *check_north_map(lua_State *L, int arg)
{
  struct gke_north_map *map;
  struct aicr_error err;

  luaL_checktype(L, arg, LUA_TTABLE);
  map = new_owner(L, sizeof(*map), NORTH_MAP_MT, north_map_close);
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
    size_t ip_len, network_len;
    const char *ip, *network;

    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      luaL_argerror(L, arg, "network names by address expected");
    ip = lua_tolstring(L, -2, &ip_len);
    network = lua_tolstring(L, -1, &network_len);
    if (!gke_north_map_set(map, ip, ip_len, network, network_len, &err))
      aicr_raise(L, &err);
  }
  return map;
}

/* gke.displaced_interfaces(info, ip_to_network, gpu_networks) -> list of text
 *                                                               [-0, +1, v] */
static int displaced_interfaces(lua_State *L)
{
  struct gke_nic nics[GKE_REQUIRED_NETWORKS];
  struct gke_nic_info info;
  struct gke_north_map *map;
  struct gke_names gpu_networks;
  struct aicr_buf *b;
  bool displaced[GKE_REQUIRED_NETWORKS];
  size_t entry[GKE_REQUIRED_NETWORKS];
  lua_Integer n = 0;

  lua_settop(L, 3);
  info = check_nic_info(L, 1, nics);
  map = check_north_map(L, 2);
  gpu_networks = check_names(L, 3);
  b = aicr_new_buf(L, 4096);
  aicr_new_list(
      L, gke_displaced_interfaces(&info, map, &gpu_networks, displaced, entry));
  for (unsigned i = 0; i < GKE_REQUIRED_NETWORKS; i++) {
    if (!displaced[i])
      continue;
    aicr_buf_reset(b);
    if (!gke_displaced_text(&info, map, i, entry[i], b))
      return aicr_out_of_memory(L);
    lua_pushlstring(L, b->data, b->len);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

/* Sets the table on the top's field to "eth3 → network", or to json.null when
 * there is no such pair. */
static void set_side(lua_State *L, const char *field,
                     const struct gke_mapping *m, size_t i)
{
  luaL_Buffer b;

  if (i >= m->count) {
    lua_pushlightuserdata(L, NULL);
  } else {
    luaL_buffinit(L, &b);
    luaL_addlstring(&b, m->pairs[i].interface_name, m->pairs[i].interface_len);
    luaL_addstring(&b, " → ");
    luaL_addlstring(&b, m->pairs[i].network, m->pairs[i].network_len);
    luaL_pushresult(&b);
  }
  lua_setfield(L, -2, field);
}

/* Pushes {diff = {key, left, right, rows}}, every position a row.
 *                                                               [-0, +1, m] */
static void push_diff(lua_State *L, const struct gke_mapping *recorded,
                      const struct gke_mapping *deployed)
{
  size_t count =
      recorded->count > deployed->count ? recorded->count : deployed->count;

  luaL_checkstack(L, 8, "no room for a diff");
  lua_createtable(L, 0, 1);
  lua_createtable(L, 0, 4);
  aicr_set_string(L, "key", "position");
  aicr_set_string(L, "left", "recipe");
  aicr_set_string(L, "right", "deployed");
  aicr_new_list(L, count);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 3);
    lua_pushfstring(L, "%I", (LUAI_UACINT)i + 1);
    lua_setfield(L, -2, "k");
    set_side(L, "l", recorded, i);
    set_side(L, "r", deployed, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "rows");
  lua_setfield(L, -2, "diff");
}

/* gke.verify_mapping(recorded, deployed); details.diff          [-0, +0, v] */
static int verify_mapping(lua_State *L)
{
  struct gke_mapping *recorded, *deployed;
  struct aicr_error err;
  size_t position;

  lua_settop(L, 2);
  recorded = check_mapping(L, 1);
  deployed = check_mapping(L, 2);
  if (gke_verify_mapping(recorded, deployed, &position, &err))
    return 0;
  push_diff(L, recorded, deployed);
  return aicr_raise_details(L, &err);
}

/* gke.verify_networks_exist(deployed, usable, present)          [-0, +0, v] */
static int verify_networks_exist(lua_State *L)
{
  struct gke_mapping *deployed;
  struct gke_names usable, present;
  struct aicr_error err;

  lua_settop(L, 3);
  deployed = check_mapping(L, 1);
  usable = check_names(L, 2);
  present = check_names(L, 3);
  if (!gke_verify_networks_exist(deployed, &usable, &present, &err))
    return aicr_raise(L, &err);
  return 0;
}

static const luaL_Reg functions[] = {
    {"parse_interfaces", parse_interfaces},
    {"validate_interfaces", validate_interfaces},
    {"parse_interface_list", parse_interface_list},
    {"interfaces_annotation", interfaces_annotation},
    {"devices_annotation", devices_annotation},
    {"parse_nic_info", parse_nic_info},
    {"parse_north_interfaces", parse_north_interfaces},
    {"displaced_interfaces", displaced_interfaces},
    {"verify_mapping", verify_mapping},
    {"verify_networks_exist", verify_networks_exist},
    {NULL, NULL},
};

int luaopen_aicr_native_gke(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
