/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host/embed.h"
#include "host/file.h"
#include "host/host.h"
#include "host/signal.h"
#include "kube/library.h"
#include "kube/record.h"

/* The engine's private table of host functions (design 3). */

#define FILE_MAX (64u << 20)
#define LIST_MAX 256

static int fail(lua_State *L, const char *message)
{
  luaL_pushfail(L);
  lua_pushstring(L, message ? message : "?");
  return 2;
}

/* A path: no NUL. */
static const char *check_path(lua_State *L, int arg)
{
  size_t len;
  const char *text = luaL_checklstring(L, arg, &len);

  luaL_argcheck(L, strlen(text) == len, arg, "a NUL byte in a path");
  return text;
}

/* read_file(path) -> text | nil, message                       [-0, +1|2, e] */
static int read_file(lua_State *L)
{
  const char *path = check_path(L, 1), *message = NULL;
  struct aicr_buf *text = aicr_new_buf(L, FILE_MAX);

  if (!aicr_file_read(path, FILE_MAX, text, &message))
    return fail(L, message);
  aicr_push_buf(L, text);
  return 1;
}

/* real_path(path) -> the path without links and `..` | nil, message
 *                                                              [-0, +1|2, e] */
static int real_path(lua_State *L)
{
  char real[PATH_MAX];

  if (!realpath(check_path(L, 1), real))
    return fail(L, strerror(errno));
  lua_pushstring(L, real);
  return 1;
}

static bool add_entry(void *ud, const char *name, char type)
{
  struct aicr_buf *b = ud;

  return aicr_buf_addc(b, type) && aicr_buf_add(b, name, strlen(name) + 1);
}

static const char *type_name(char type)
{
  switch (type) {
  case 'f':
    return "file";
  case 'd':
    return "dir";
  case 'l':
    return "link";
  default:
    return "other";
  }
}

/* list_dir(path) -> {{name=, type=}, …} | nil, message; type: file (also behind
 * a link), dir, link (to a folder), other                      [-0, +1|2, e] */
static int list_dir(lua_State *L)
{
  const char *path = check_path(L, 1), *message = NULL;
  struct aicr_buf *b = aicr_new_buf(L, FILE_MAX);
  lua_Integer n = 0;

  if (!aicr_folder_list(path, add_entry, b, &message))
    return fail(L, message);
  lua_newtable(L);
  for (size_t at = 0; at < b->len; at += strlen(b->data + at) + 1) {
    char type = b->data[at];

    lua_createtable(L, 0, 2);
    aicr_set_string(L, "name", b->data + at + 1);
    aicr_set_string(L, "type", type_name(type));
    lua_rawseti(L, -2, ++n);
  }
  aicr_buf_free(b);
  return 1;
}

/* write(target, text) -> true | nil, message, signal           [-0, +1|3, e]
 * signal: the name of the one that ended it, else nil. */
static int write_text(lua_State *L)
{
  const char *target = check_path(L, 1), *message = NULL;
  size_t len;
  const char *text = luaL_checklstring(L, 2, &len);
  int interrupt = 0;

  if (!aicr_file_write(target, text, len, &interrupt, &message)) {
    fail(L, message);
    lua_pushstring(L, aicr_signal_name(interrupt));
    return 3;
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* can_write(target) -> true | nil, message                     [-0, +1|2, e] */
static int can_write(lua_State *L)
{
  const char *message = NULL;

  if (!aicr_file_can_write(check_path(L, 1), &message))
    return fail(L, message);
  lua_pushboolean(L, 1);
  return 1;
}

/* env(name) -> text | nil                                      [-0, +1, e] */
static int get_env(lua_State *L)
{
  lua_pushstring(L, getenv(luaL_checkstring(L, 1)));
  return 1;
}

/* embedded(path) -> text | nil                                 [-0, +1, e] */
static int embedded(lua_State *L)
{
  aicr_push_embedded(L, check_path(L, 1));
  return 1;
}

/* embedded_list(prefix) -> sorted paths                        [-0, +1, e] */
static int embedded_list(lua_State *L)
{
  size_t len;
  const char *prefix = luaL_checklstring(L, 1, &len);
  lua_Integer n = 0;

  lua_newtable(L);
  for (const struct aicr_embedded *e = aicr_embedded; e->name; e++) {
    if (strncmp(e->name, prefix, len) != 0)
      continue;
    lua_pushstring(L, e->name);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

/* now() -> milliseconds since the epoch                        [-0, +1, -] */
static int now(lua_State *L)
{
  lua_pushinteger(L, aicr_now_ms());
  return 1;
}

/* monotonic() -> milliseconds                                  [-0, +1, -] */
static int monotonic(lua_State *L)
{
  lua_pushinteger(L, aicr_monotonic_ms());
  return 1;
}

/* random() -> a non-negative integer                           [-0, +1, v] */
static int random_integer(lua_State *L)
{
  uint32_t value;

  if (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value))
    return luaL_error(L, "no random numbers");
  lua_pushinteger(L, (lua_Integer)value);
  return 1;
}

static void push_lines(lua_State *L, const struct aicr_buf *b)
{
  const char *p = b->data;
  lua_Integer n = 0;

  aicr_new_list(L, 0);
  while (p && *p) {
    size_t len = strcspn(p, "\n");

    lua_pushlstring(L, p, len);
    lua_rawseti(L, -2, ++n);
    p += p[len] ? len + 1 : len;
  }
}

/* t[field] of the table at index 1, or NULL; it stays on the stack. */
static const char *cluster_option(lua_State *L, const char *field)
{
  if (lua_getfield(L, 1, field) == LUA_TNIL)
    return NULL;
  return check_path(L, -1);
}

static bool open_cluster(lua_State *L, struct aicr_host *h,
                         struct aicr_cluster_facts *facts,
                         struct aicr_buf *warnings, struct aicr_error *err)
{
  struct kube_config_options options = {0};
  const char *recording = cluster_option(L, "recording"), *folder;

  if (recording)
    return aicr_host_open_recording(h, recording, warnings, err);
  options.kubeconfig = cluster_option(L, "kubeconfig");
  options.context = cluster_option(L, "context");
  lua_getfield(L, 1, "no_exec_plugins");
  options.no_exec_plugins = lua_toboolean(L, -1);
  lua_getfield(L, 1, "trace");
  folder = cluster_option(L, "record");
  return aicr_host_open_live(h, &options, lua_toboolean(L, -2), facts, warnings,
                             err) &&
         (!folder || aicr_host_record(h, folder, warnings, err));
}

/* cluster{recording=} or cluster{kubeconfig=, context=, record=, trace=,
 * no_exec_plugins=},
 * without the first two the cluster that the environment names -> {ok=true,
 * server_version=, context=, captured=, server=, source=, insecure=, warnings=}
 * | {ok=false, error=, warnings=}                              [-0, +1, v] */
static int cluster(lua_State *L)
{
  struct aicr_host *h = aicr_host_of(L);
  struct aicr_cluster_facts facts = {0};
  struct aicr_error err;
  struct aicr_buf *warnings;
  bool ok;

  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  warnings = aicr_new_buf(L, 1u << 20);
  ok = open_cluster(L, h, &facts, warnings, &err);
  lua_newtable(L);
  aicr_set_boolean(L, "ok", ok);
  push_lines(L, warnings);
  lua_setfield(L, -2, "warnings");
  if (ok) {
    struct kube_backend *b = kube_client_backend(h->client);

    aicr_set_text(L, "server_version", b->ops->server_version(b));
    aicr_set_text(L, "context", b->ops->context(b));
    aicr_set_text(L, "server", facts.server);
    aicr_set_text(L, "source", facts.source);
    aicr_set_boolean(L, "insecure", facts.insecure);
    if (h->recording && b->ops->time(b))
      aicr_set_integer(L, "captured", b->ops->time(b));
    return 1;
  }
  aicr_push_error(L, &err);
  lua_setfield(L, -2, "error");
  return 1;
}

/* recorded() -> true, or nil and what kept the recording from being whole; true
 * where nothing is recorded                                    [-0, +1|2, e] */
static int recorded(lua_State *L)
{
  struct aicr_host *h = aicr_host_of(L);
  struct kube_record *r = h->client ? kube_client_recording(h->client) : NULL;
  const struct aicr_error *why = r ? kube_record_error(r) : NULL;

  if (why)
    return fail(L, why->message);
  lua_pushboolean(L, 1);
  return 1;
}

/* keep_out(secret): no recording that is written holds it       [-0, +0, e] */
static int keep_out(lua_State *L)
{
  struct aicr_host *h = aicr_host_of(L);
  struct kube_record *r = h->client ? kube_client_recording(h->client) : NULL;
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);

  if (r)
    kube_record_secret(r, text, len);
  return 0;
}

/* cluster_warnings() -> what came up since the last call, texts
 *                                                              [-0, +1, m] */
static int cluster_warnings(lua_State *L)
{
  struct aicr_host *h = aicr_host_of(L);
  struct aicr_buf *warnings = aicr_new_buf(L, 1u << 20);
  struct kube_backend *b = h->client ? kube_client_backend(h->client) : NULL;

  if (b && b->ops->warnings)
    b->ops->warnings(b, warnings);
  push_lines(L, warnings);
  return 1;
}

/* t[field] as a string; it stays on the stack. */
static const char *field_text(lua_State *L, const char *field, size_t *len,
                              const char *otherwise)
{
  lua_getfield(L, 1, field);
  return luaL_optlstring(L, -1, otherwise, len);
}

/* Puts the strings of list t[field] into out; they stay on the stack. */
static size_t field_list(lua_State *L, const char *field, const char **out,
                         size_t max)
{
  size_t n = 0;
  int list;

  if (lua_getfield(L, 1, field) == LUA_TNIL)
    return 0;
  luaL_checktype(L, -1, LUA_TTABLE);
  list = lua_gettop(L);
  luaL_checkstack(L, (int)max + 8, field);
  while (lua_rawgeti(L, list, (lua_Integer)n + 1) != LUA_TNIL) {
    if (n == max)
      luaL_error(L, "%s: more than %d entries", field, (int)max);
    out[n++] = luaL_checkstring(L, -1);
  }
  lua_pop(L, 1);
  return n;
}

/* load{path=, source=, roots=} -> {ok=true, kind=, meta=} | {ok=false,
 * message=, file=, line=}                                      [-0, +1, v] */
static int load(lua_State *L)
{
  size_t len, roots;
  const char *dirs[AICR_ROOTS_MAX], *path, *source;
  struct aicr_buf *json;
  bool ok;

  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  path = field_text(L, "path", NULL, "?");
  source = field_text(L, "source", &len, "");
  roots = field_list(L, "roots", dirs, AICR_ROOTS_MAX);
  json = aicr_new_buf(L, 16u << 20);
  ok = aicr_describe(path, source, len, dirs, roots, json);
  if (json->no_memory)
    return aicr_out_of_memory(L);
  if (json->failed)
    return luaL_error(L, "the file's table is too large");
  aicr_push_json(L, json->data, json->len, AICR_JSON_DROP_NULLS);
  aicr_buf_free(json);
  aicr_set_boolean(L, "ok", ok);
  return 1;
}

/* The context of a check as JSON: t.context with t.params in it. */
static struct aicr_buf *encode_context(lua_State *L)
{
  struct aicr_buf *json = aicr_new_buf(L, 16u << 20);

  lua_newtable(L);
  lua_getfield(L, 1, "context");
  lua_setfield(L, -2, "context");
  lua_getfield(L, 1, "params");
  lua_setfield(L, -2, "params");
  aicr_encode_json(L, -1, json);
  lua_pop(L, 1);
  if (json->no_memory)
    aicr_out_of_memory(L);
  if (json->failed)
    luaL_error(L, "the context of a check is over 16 MiB");
  return json;
}

static const char *run_namespace(lua_State *L)
{
  const char *text = NULL;

  if (lua_getfield(L, 1, "context") == LUA_TTABLE) {
    lua_getfield(L, -1, "namespace");
    text = lua_tostring(L, -1);
  }
  return text;
}

/* start{id=, name=, attempt=, path=, source=, roots=, params=, needs=,
 * deadline_ms=, context=}: name and attempt (from 1) are for recordings; what
 * is no check has no name                                      [-0, +0, v] */
static int start(lua_State *L)
{
  const char *roots[AICR_ROOTS_MAX], *needs[LIST_MAX];
  struct aicr_task_spec spec = {.roots = roots, .needs = needs};
  struct aicr_buf *context;
  struct aicr_error err;

  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  context = encode_context(L);
  spec.context = context->data;
  spec.context_len = context->len;
  spec.run_namespace = run_namespace(L);
  lua_getfield(L, 1, "id");
  spec.id = luaL_checkinteger(L, -1);
  spec.name = field_text(L, "name", NULL, NULL);
  lua_getfield(L, 1, "attempt");
  spec.attempt = (unsigned)luaL_optinteger(L, -1, 1);
  lua_getfield(L, 1, "deadline_ms");
  spec.deadline_ms = luaL_optinteger(L, -1, 0);
  spec.path = field_text(L, "path", NULL, "?");
  spec.source = field_text(L, "source", &spec.source_len, "");
  spec.root_count = field_list(L, "roots", roots, AICR_ROOTS_MAX);
  spec.need_count = field_list(L, "needs", needs, LIST_MAX);
  if (!aicr_host_start(aicr_host_of(L), &spec, &err))
    return aicr_raise(L, &err);
  aicr_buf_free(context);
  return 0;
}

/* next([timeout_ms]) -> event                                  [-0, +1, v] */
static int next_event(lua_State *L)
{
  struct aicr_host *h = aicr_host_of(L);
  lua_Integer timeout = luaL_optinteger(L, 1, -1);

  aicr_host_next(h, timeout > 3600000 ? 3600000 : (int)timeout);
  if (h->event.len == 0)
    return aicr_out_of_memory(L);
  aicr_push_json(L, h->event.data, h->event.len, 0);
  return 1;
}

/* cancel(id, reason, over) -> is there such a task? over: the run's time is
 *                                                              [-0, +1, v] */
static int cancel(lua_State *L)
{
  lua_pushboolean(L, aicr_host_cancel(aicr_host_of(L), luaL_checkinteger(L, 1),
                                      luaL_checkstring(L, 2),
                                      lua_toboolean(L, 3)));
  return 1;
}

/* journal(path) -> true | nil, message: opens the journal of the run; it is
 * removed when the engine ends.                                [-0, +1|2, e] */
static int journal(lua_State *L)
{
  const char *message = NULL;

  if (!aicr_journal_open(&aicr_host_of(L)->journal, check_path(L, 1), &message))
    return fail(L, message);
  lua_pushboolean(L, 1);
  return 1;
}

/* journal_add(line)                                            [-0, +0, e] */
static int journal_add(lua_State *L)
{
  size_t len;
  const char *line = luaL_checklstring(L, 1, &len);

  aicr_journal_add(&aicr_host_of(L)->journal, line, len);
  return 0;
}

#define NEEDS_MT "aicr.needs"

struct needs_box {
  struct kube_permissions *needs; /* NULL once freed */
};

static int free_needs(lua_State *L)
{
  struct needs_box *box = luaL_checkudata(L, 1, NEEDS_MT);

  kube_permissions_free(box->needs);
  box->needs = NULL;
  return 0;
}

/* Appends it to the list on the top. */
static void push_need(void *ud, const struct kube_need *need)
{
  static const char *const scopes[] = {"anywhere", "run", "namespace"};
  lua_State *L = ud;

  lua_createtable(L, 0, 7);
  aicr_set_text(L, "verb", need->verb);
  if (need->path) {
    aicr_set_text(L, "path", need->path);
  } else {
    aicr_set_string(L, "group", need->group);
    aicr_set_text(L, "resource", need->plural);
    aicr_set_text(L, "subresource", need->subresource);
    aicr_set_text(L, "namespace", need->ns);
  }
  aicr_set_text(L, "scope", scopes[need->scope]);
  aicr_set_boolean(L, "if_served", need->if_served);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* needs(lines) -> {{verb=, group=, resource=, subresource=, scope="anywhere" |
 * "run" | "namespace", namespace=, if_served=} | {verb=, path=, scope=}, …}:
 * what the server is asked for, see kube_permissions_each().            [-0,
 * +1, v] */
static int needs(lua_State *L)
{
  const char *lines[LIST_MAX];
  struct needs_box *box;
  struct aicr_error err;
  size_t count = 0;

  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  box = lua_newuserdatauv(L, sizeof(*box), 0);
  box->needs = NULL;
  aicr_set_release(L, NEEDS_MT, free_needs);
  while (lua_rawgeti(L, 1, (lua_Integer)count + 1) != LUA_TNIL) {
    luaL_argcheck(L, count < LIST_MAX, 1, "too many lines");
    luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 1, "a line is no text");
    lines[count++] = lua_tostring(L, -1);
    lua_pop(L, 1); /* the table keeps it */
  }
  box->needs = kube_permissions_parse(lines, count, &err);
  if (!box->needs)
    return aicr_raise(L, &err);
  lua_newtable(L);
  kube_permissions_each(box->needs, push_need, L);
  return 1;
}

/* libraries() -> {curl=, tls=, http2=, gzip=}                  [-0, +1, m] */
static int libraries(lua_State *L)
{
  struct kube_library facts;

  kube_library_facts(&facts);
  lua_createtable(L, 0, 4);
  aicr_set_text(L, "curl", facts.curl);
  aicr_set_text(L, "tls", facts.tls);
  aicr_set_boolean(L, "http2", facts.http2);
  aicr_set_boolean(L, "gzip", facts.gzip);
  return 1;
}

static const luaL_Reg functions[] = {
    {"needs", needs},
    {"libraries", libraries},
    {"read_file", read_file},
    {"list_dir", list_dir},
    {"real_path", real_path},
    {"write", write_text},
    {"can_write", can_write},
    {"env", get_env},
    {"embedded", embedded},
    {"embedded_list", embedded_list},
    {"now", now},
    {"monotonic", monotonic},
    {"random", random_integer},
    {"cluster", cluster},
    {"cluster_warnings", cluster_warnings},
    {"recorded", recorded},
    {"keep_out", keep_out},
    {"load", load},
    {"start", start},
    {"next", next_event},
    {"cancel", cancel},
    {"journal", journal},
    {"journal_add", journal_add},
    {NULL, NULL},
};

void aicr_push_border(lua_State *L)
{
  luaL_newlib(L, functions);
}
