/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/k8s.h"

#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/fields.h"
#include "core/json_writer.h"

/* aicr.native.k8s: the methods of ctx.k8s. Each starts a call, yields, and
 * turns the answer into Lua values after it was resumed. */

#define CALL_MT "aicr.k8s.call"

static const char SELF_KEY = 0;

/* Another function of the check may wait for a call that ends here: nothing
 * else would wake it. */
static void stop_waiting(lua_State *L, const struct kube_call *call)
{
  struct aicr_task *t = aicr_task_of(L);

  for (struct aicr_strand *s = t ? t->strands : NULL; s; s = s->next)
    if (s->wait == AICR_WAIT_CALL && s->call == call)
      s->wait = AICR_WAIT_NONE;
}

static void close_call(lua_State *L, struct aicr_k8s_box *box)
{
  if (!box->call)
    return;
  stop_waiting(L, box->call);
  kube_call_close(box->call);
  box->call = NULL;
}

static int box_close(lua_State *L)
{
  close_call(L, luaL_checkudata(L, 1, CALL_MT));
  return 0;
}

static struct aicr_k8s_box *new_box(lua_State *L)
{
  struct aicr_k8s_box *box = lua_newuserdatauv(L, sizeof(*box), 1);

  memset(box, 0, sizeof(*box));
  aicr_set_release(L, CALL_MT, box_close);
  return box;
}

/* A string argument without NUL; NULL when it may be absent and is. */
static const char *check_name(lua_State *L, int arg, bool optional)
{
  size_t len;
  const char *text;

  if (optional && lua_isnoneornil(L, arg))
    return NULL;
  luaL_argexpected(L, lua_type(L, arg) == LUA_TSTRING, arg, "string");
  text = lua_tolstring(L, arg, &len);
  luaL_argcheck(L, strlen(text) == len, arg, "a NUL byte in a name");
  return text;
}

const char *aicr_k8s_option(lua_State *L, int opts, const char *field)
{
  size_t len;
  const char *text;

  if (lua_getfield(L, opts, field) == LUA_TNIL)
    return NULL;
  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "option '%s' must be a string, got %s", field,
               luaL_typename(L, -1));
  text = lua_tolstring(L, -1, &len);
  if (strlen(text) != len)
    luaL_error(L, "a NUL byte in option '%s'", field);
  return text;
}

static void check_options(lua_State *L, int opts)
{
  static const char *const known[] = {"namespace", "label", "field", "fields",
                                      NULL};

  luaL_checktype(L, opts, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, opts)) {
    const char *key =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    size_t i = 0;

    while (known[i] && strcmp(known[i], key) != 0)
      i++;
    if (!known[i])
      luaL_error(L, "unknown option '%s': namespace, label, field, fields",
                 key);
    lua_pop(L, 1);
  }
}

void aicr_set_k8s(lua_State *L, int idx)
{
  lua_pushvalue(L, idx);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &SELF_KEY);
}

/* The methods have no state in their self, but one that is called on anything
 * else is a slip: the arguments are not where the script believes. */
static void check_self(lua_State *L, const char *what)
{
  bool own;

  if (lua_isnone(L, 1))
    lua_pushnil(L); /* what is pushed next must not be argument 1 */
  lua_rawgetp(L, LUA_REGISTRYINDEX, &SELF_KEY);
  own = lua_istable(L, -1) && lua_rawequal(L, 1, -1);
  lua_pop(L, 1);
  if (!own)
    luaL_error(L,
               "bad argument #1 to '%s' (ctx.k8s expected, got %s; call it "
               "with a colon)",
               what, lua_istable(L, 1) ? "another table" : luaL_typename(L, 1));
}

struct aicr_task *aicr_k8s_task(lua_State *L, const char *what)
{
  struct aicr_task *t = aicr_task_of(L);
  struct aicr_error err;

  aicr_task_may_wait(L, t, what);
  if (!t->host || !t->host->client) {
    aicr_fail(&err, AICR_INVALID_REQUEST, "no-cluster",
              "there is no cluster to ask");
    aicr_raise(L, &err);
  }
  return t;
}

static struct aicr_task *check_task(lua_State *L, const char *what)
{
  check_self(L, what);
  return aicr_k8s_task(L, what);
}

/* A call ends this much before its check, so that the check can still say which
 * request got no answer. One that began when hardly any time was left outlives
 * it: it is the check's time that was over, not the server that was slow. */
#define CALL_MARGIN_MS 250

static int64_t call_deadline(const struct aicr_task *t)
{
  int64_t end = t->deadline_ms - CALL_MARGIN_MS;

  if (!t->deadline_ms)
    return 0;
  return aicr_monotonic_ms() + CALL_MARGIN_MS < end
             ? end
             : t->deadline_ms + CALL_MARGIN_MS;
}

struct aicr_k8s_box *aicr_k8s_start(lua_State *L, struct aicr_task *t,
                                    struct kube_call_spec *spec, bool is_free)
{
  struct aicr_k8s_box *box = new_box(L);
  struct kube_asker asker = aicr_task_asker(t);
  int64_t end = call_deadline(t);

  if (!spec->deadline_ms || (end && end < spec->deadline_ms))
    spec->deadline_ms = end;
  spec->permissions = is_free ? NULL : t->permissions;
  spec->run_namespace = t->run_namespace;
  spec->asker = &asker;
  aicr_k8s_look_begin(L, t, &box->look, spec);
  box->call = kube_client_start(t->host->client, spec, t);
  if (!box->call)
    aicr_out_of_memory(L);
  return box;
}

static void push_details(lua_State *L, const struct kube_failure *f)
{
  lua_createtable(L, 0, 10);
  if (f->http)
    aicr_set_integer(L, "http", f->http);
  aicr_set_text(L, "transport", kube_transport_name(f->transport));
  aicr_set_text(L, "status_reason", f->status_reason);
  aicr_set_text(L, "verb", f->verb);
  aicr_set_text(L, "resource", f->resource);
  aicr_set_text(L, "namespace", f->ns);
  aicr_set_text(L, "name", f->name);
  aicr_set_integer(L, "attempts", f->attempts);
  if (f->served != KUBE_SERVED_UNKNOWN)
    aicr_set_boolean(L, "served", f->served == KUBE_SERVED_YES);
  if (f->admission)
    aicr_set_boolean(L, "admission", true);
  aicr_new_list(L, 0);
  for (size_t i = 0; i < f->cause_count; i++) {
    lua_createtable(L, 0, 3);
    aicr_set_text(L, "reason", f->causes[i].reason);
    aicr_set_text(L, "field", f->causes[i].field);
    aicr_set_text(L, "message", f->causes[i].message);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "causes");
}

/* A request outside of `needs` is a slip of the check, and what a recording
 * refuses a cluster would have done: each stands as the check's ending,
 * whatever catches the error. */
static void note_refused(lua_State *L, const struct aicr_error *err)
{
  struct aicr_task *t = aicr_task_of(L);
  struct aicr_buf json;

  if (strcmp(err->reason, "undeclared-permission") != 0 &&
      strcmp(err->reason, "read-only") != 0)
    return;
  aicr_buf_init(&json, AICR_RECORD_ITEM_MAX);
  aicr_buf_addf(&json,
                "{\"kind\":\"error\",\"code\":\"%s\",\"reason\":\"%s\","
                "\"message\":",
                aicr_code_name(err->code), err->reason);
  aicr_json_write_string(&json, err->message, strlen(err->message));
  aicr_buf_addc(&json, '}');
  if (json.failed ||
      !aicr_record_add(&t->record, AICR_REC_ENDINGS, json.data, json.len))
    t->record.lost = true;
  aicr_buf_free(&json);
}

int aicr_k8s_fail(lua_State *L, const struct aicr_k8s_box *box)
{
  const struct kube_call *call = box->call;

  if (!strcmp(kube_call_error(call)->reason, "recorded-end"))
    aicr_task_stop_as_recorded(L, aicr_task_of(L));
  note_refused(L, kube_call_error(call));
  aicr_k8s_look_failed(aicr_task_of(L), &box->look, kube_call_error(call));
  push_details(L, kube_call_failure(call));
  return aicr_raise_details(L, kube_call_error(call));
}

int aicr_k8s_wait(lua_State *L, struct aicr_task *t, struct aicr_k8s_box *box,
                  lua_KFunction k)
{
  t->current->call = box->call;
  t->current->wait = AICR_WAIT_CALL;
  return lua_yieldk(L, 0, (lua_KContext)t, k);
}

int aicr_k8s_wait_once(lua_State *L, struct aicr_task *t, lua_KFunction k)
{
  lua_replace(L, 1);
  lua_replace(L, 2);
  lua_settop(L, 2);
  lua_toclose(L, 2);
  return aicr_k8s_wait(L, t, lua_touserdata(L, 2), k);
}

void aicr_k8s_push_object(lua_State *L, const char *text, size_t len)
{
  aicr_push_json(L, text, len, AICR_JSON_DROP_NULLS);
  aicr_guard_redacted(L, text, len);
}

static bool is_absent(const struct aicr_error *err)
{
  return err->verdict && strcmp(err->reason, "not-found") == 0;
}

/* get: the box is at index 2, index 1 says whether absence is nil. */
static int got_object(lua_State *L, int status, lua_KContext ctx)
{
  struct aicr_task *t = (struct aicr_task *)ctx;
  struct aicr_k8s_box *box = lua_touserdata(L, 2);
  const char *text;
  size_t len;

  (void)status;
  aicr_task_check_stop(L, t);
  switch (kube_call_next(box->call, &text, &len)) {
  case KUBE_CALL_WAIT:
    return aicr_k8s_wait(L, t, box, got_object);
  case KUBE_CALL_OBJECT:
    aicr_k8s_look_found(t, &box->look);
    aicr_k8s_push_object(L, text, len);
    return 1;
  default:
    if (!lua_toboolean(L, 1) || !is_absent(kube_call_error(box->call)))
      return aicr_k8s_fail(L, box);
    aicr_k8s_look_empty(t, &box->look);
    lua_pushnil(L);
    return 1;
  }
}

static int get(lua_State *L, const char *what, bool absent_is_nil)
{
  struct aicr_task *t = check_task(L, what);
  struct kube_call_spec spec = {.verb = KUBE_GET};

  lua_settop(L, 4);
  spec.resource = check_name(L, 2, false);
  spec.name = check_name(L, 3, false);
  spec.ns = check_name(L, 4, true);
  aicr_k8s_start(L, t, &spec, false);
  lua_pushboolean(L, absent_is_nil);
  return aicr_k8s_wait_once(L, t, got_object);
}

/* k8s:get(resource, name [, namespace]) -> object      [yields] [-0, +1, v] */
static int k8s_get(lua_State *L)
{
  return get(L, "ctx.k8s:get", false);
}

/* k8s:find(…) -> object, or nil when the object is absent (and only then)
 *                                                      [yields] [-0, +1, v] */
static int k8s_find(lua_State *L)
{
  return get(L, "ctx.k8s:find", true);
}

static void fill_text(lua_State *L, const char *field, const char *text)
{
  bool absent = lua_getfield(L, -1, field) == LUA_TNIL;

  lua_pop(L, 1);
  if (absent)
    aicr_set_text(L, field, text);
}

/* Pushes the item of the call in the box at idx, with the apiVersion and kind
 * of a typed list. The box's user value is the fields that are wanted. */
static void push_item(lua_State *L, int idx, const char *text, size_t len)
{
  const struct aicr_k8s_box *box = lua_touserdata(L, idx);
  bool all = lua_getiuservalue(L, idx, 1) == LUA_TNIL;
  int fields = lua_gettop(L);

  if (all)
    aicr_k8s_push_object(L, text, len);
  else
    aicr_push_json_fields(L, fields, text, len);
  if (lua_istable(L, -1)) {
    if (all || aicr_has_field(L, fields, "apiVersion"))
      fill_text(L, "apiVersion", kube_call_item_api_version(box->call));
    if (all || aicr_has_field(L, fields, "kind"))
      fill_text(L, "kind", kube_call_item_kind(box->call));
  }
  lua_remove(L, fields);
}

/* list: index 1 the result, index 2 the box. */
static int got_items(lua_State *L, int status, lua_KContext ctx)
{
  struct aicr_task *t = (struct aicr_task *)ctx;
  struct aicr_k8s_box *box = lua_touserdata(L, 2);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  const char *text;
  size_t len;

  (void)status;
  aicr_task_check_stop(L, t);
  for (;;) {
    switch (kube_call_next(box->call, &text, &len)) {
    case KUBE_CALL_ITEM:
      aicr_k8s_look_found(t, &box->look);
      push_item(L, 2, text, len);
      lua_rawseti(L, 1, ++n);
      break;
    case KUBE_CALL_WAIT:
      return aicr_k8s_wait(L, t, box, got_items);
    case KUBE_CALL_END:
      aicr_k8s_look_empty(t, &box->look);
      lua_pushvalue(L, 1);
      if (!box->gives_version)
        return 1;
      lua_pushstring(L, kube_call_resource_version(box->call));
      return 2;
    default:
      return aicr_k8s_fail(L, box);
    }
  }
}

/* Starts the list of the arguments (self, resource [, opts]). */
static struct aicr_k8s_box *start_list(lua_State *L, struct aicr_task *t,
                                       int64_t deadline_ms, bool aside)
{
  struct kube_call_spec spec = {
      .verb = KUBE_LIST, .deadline_ms = deadline_ms, .aside = aside};
  struct aicr_k8s_box *box;
  int fields = 0;

  lua_settop(L, 3);
  spec.resource = check_name(L, 2, false);
  if (!lua_isnil(L, 3)) {
    check_options(L, 3);
    spec.ns = aicr_k8s_option(L, 3, "namespace");
    spec.label = aicr_k8s_option(L, 3, "label");
    spec.field = aicr_k8s_option(L, 3, "field");
    if (lua_getfield(L, 3, "fields") != LUA_TNIL) {
      aicr_push_fields(L, -1);
      fields = lua_gettop(L);
    }
  }
  box = aicr_k8s_start(L, t, &spec, false);
  if (fields) {
    lua_pushvalue(L, fields);
    lua_setiuservalue(L, -2, 1);
  }
  return box;
}

static int list(lua_State *L, const char *what, bool gives_version)
{
  struct aicr_task *t = check_task(L, what);
  int64_t deadline_ms = gives_version ? lua_tointeger(L, 4) : 0;
  bool aside = gives_version && lua_toboolean(L, 5);
  struct aicr_k8s_box *box = start_list(L, t, deadline_ms, aside);

  box->gives_version = gives_version;
  box->look.by_the_way = gives_version;
  aicr_new_list(L, 0);
  return aicr_k8s_wait_once(L, t, got_items);
}

/* k8s:list(resource [, {namespace=, label=, field=, fields=}]) -> objects.
 * One result: behind ctx:try a second one would be taken for an error.
 *                                                      [yields] [-0, +1, v] */
static int k8s_list(lua_State *L)
{
  return list(L, "ctx.k8s:list", false);
}

/* native.list_for_watch(k8s, resource, opts|nil [, deadline_ms [, aside]]) ->
 * as list, and the list's resourceVersion                 [yields] [-0, +2, v]
 */
static int k8s_list_for_watch(lua_State *L)
{
  return list(L, "ctx.k8s:watch", true);
}

static int next_item(lua_State *L);

static int got_item(lua_State *L, int status, lua_KContext ctx)
{
  (void)status;
  (void)ctx;
  return next_item(L);
}

/* The iterator over a call's items: upvalue 1 is the box, 2 says whose it is.
 */
static int next_item(lua_State *L)
{
  static const char *const ends[] = {[KUBE_LINE_ENDED] = "line",
                                     [KUBE_LINE_PIECE] = "piece",
                                     [KUBE_LINE_UNENDED] = "unended"};
  struct aicr_k8s_box *box = lua_touserdata(L, lua_upvalueindex(1));
  struct aicr_task *t = aicr_task_of(L);
  const char *text;
  size_t len;

  aicr_task_may_wait(L, t, lua_tostring(L, lua_upvalueindex(2)));
  if (!box->call)
    return luaL_error(L, "this iteration is over");
  switch (kube_call_next(box->call, &text, &len)) {
  case KUBE_CALL_ITEM:
    aicr_k8s_look_found(t, &box->look);
    if (!box->is_text) {
      push_item(L, lua_upvalueindex(1), text, len);
      return 1;
    }
    lua_pushlstring(L, text, len);
    lua_pushstring(L, ends[kube_call_line_end(box->call)]);
    return 2;
  case KUBE_CALL_WAIT:
    return aicr_k8s_wait(L, t, box, got_item);
  case KUBE_CALL_END:
    aicr_k8s_look_empty(t, &box->look);
    close_call(L, box);
    lua_pushnil(L);
    return 1;
  default:
    return aicr_k8s_fail(L, box);
  }
}

int aicr_k8s_iterate(lua_State *L, const char *what)
{
  lua_pushvalue(L, -1);
  lua_pushfstring(L, "the iterator of %s", what);
  lua_pushcclosure(L, next_item, 2);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_rotate(L, -4, -1);
  return 4;
}

/* for object in k8s:each(resource [, opts]) do …: one object at a time, the
 * list is never whole in memory.                               [-0, +4, v] */
static int k8s_each(lua_State *L)
{
  static const char what[] = "ctx.k8s:each";

  start_list(L, check_task(L, what), 0, false);
  return aicr_k8s_iterate(L, what);
}

/* native.known_version() -> the server's version where it is known without
 * asking, else nil; is this a recording? Is one written?       [-0, +3, v] */
static int k8s_known_version(lua_State *L)
{
  struct aicr_task *t = aicr_k8s_task(L, "ctx.k8s:server_version");
  struct kube_backend *b = kube_client_backend(t->host->client);

  lua_pushstring(L, b->ops->server_version(b));
  lua_pushboolean(L, t->host->recording);
  lua_pushboolean(L, kube_client_recording(t->host->client) != NULL);
  return 3;
}

static const luaL_Reg methods[] = {
    {"get", k8s_get},
    {"find", k8s_find},
    {"list", k8s_list},
    {"list_for_watch", k8s_list_for_watch},
    {"each", k8s_each},
    {"call", aicr_k8s_call},
    {"stream", aicr_k8s_stream},
    {"exec", aicr_k8s_exec},
    {"known_version", k8s_known_version},
    {NULL, NULL},
};

int luaopen_aicr_native_k8s(lua_State *L)
{
  luaL_newlib(L, methods);
  return 1;
}
