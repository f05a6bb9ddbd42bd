/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/k8s.h"
#include "kube/url.h"

/* aicr.native.k8s: what lua/aicr/ctx/k8s/ stands on, any request as a table. */

/* The words of `verb`. */
static const struct verb_word {
  const char *name;
  enum kube_verb verb;
} verb_words[] = {
    {"get", KUBE_GET},     {"create", KUBE_CREATE}, {"update", KUBE_UPDATE},
    {"patch", KUBE_PATCH}, {"apply", KUBE_APPLY},   {"delete", KUBE_DELETE},
    {"raw", KUBE_RAW},     {"watch", KUBE_WATCH},   {"list", KUBE_LIST},
};

static const struct verb_word *check_verb(lua_State *L)
{
  const char *name = aicr_k8s_option(L, 2, "verb");

  for (size_t i = 0; name && i < sizeof(verb_words) / sizeof(*verb_words); i++)
    if (strcmp(verb_words[i].name, name) == 0)
      return &verb_words[i];
  luaL_error(L, "unknown verb '%s'", name ? name : "nil");
  return NULL;
}

/* The query of the table t.query: names to texts. */
static const char *query_text(lua_State *L)
{
  struct aicr_buf *b;

  if (lua_getfield(L, 2, "query") == LUA_TNIL)
    return NULL;
  luaL_checktype(L, -1, LUA_TTABLE);
  b = aicr_new_buf(L, 1u << 20);
  lua_pushnil(L);
  while (lua_next(L, -3)) {
    const char *name, *value;

    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "a query has names");
    name = lua_tostring(L, -2);
    value = luaL_tolstring(L, -1, NULL);
    kube_url_param(b, name, value);
    lua_pop(L, 2);
  }
  if (b->no_memory)
    aicr_out_of_memory(L);
  if (b->failed)
    luaL_error(L, "a query of more than 1 MiB");
  return b->data;
}

/* The body of the table at index 2: a table or text. */
static void take_body(lua_State *L, struct kube_call_spec *spec,
                      const char *what)
{
  struct aicr_buf *json;

  if (lua_getfield(L, 2, "body") == LUA_TNIL)
    return;
  if (lua_type(L, -1) != LUA_TTABLE) {
    spec->body = luaL_checklstring(L, -1, &spec->body_len);
    return;
  }
  json = aicr_new_buf(L, 8u << 20);
  aicr_encode_json(L, -2, json);
  if (json->no_memory)
    aicr_out_of_memory(L);
  if (json->failed)
    luaL_error(L, "%s: the object is larger than 8 MiB", what);
  spec->body = json->data;
  spec->body_len = json->len;
}

/* What the table at index 2 says; its strings stay on the stack. */
static struct kube_call_spec call_spec(lua_State *L, const char *what)
{
  static const char *const types[] = {
      "application/json", "application/merge-patch+json",
      "application/json-patch+json", "application/strategic-merge-patch+json",
      "application/apply-patch+yaml"};
  struct kube_call_spec spec = {.content_type = types[0]};
  const char *type;

  spec.verb = check_verb(L)->verb;
  spec.resource = aicr_k8s_option(L, 2, "resource");
  spec.api_version = aicr_k8s_option(L, 2, "apiVersion");
  spec.kind = aicr_k8s_option(L, 2, "kind");
  spec.name = aicr_k8s_option(L, 2, "name");
  spec.ns = aicr_k8s_option(L, 2, "namespace");
  spec.subresource = aicr_k8s_option(L, 2, "subresource");
  spec.label = aicr_k8s_option(L, 2, "label");
  spec.field = aicr_k8s_option(L, 2, "field");
  spec.query = query_text(L);
  type = aicr_k8s_option(L, 2, "content_type");
  for (size_t i = 0; type && i < sizeof(types) / sizeof(*types); i++)
    if (strcmp(types[i], type) == 0)
      spec.content_type = types[i];
  lua_getfield(L, 2, "text");
  spec.text = lua_toboolean(L, -1);
  lua_getfield(L, 2, "deadline_ms");
  spec.deadline_ms = lua_tointeger(L, -1);
  lua_getfield(L, 2, "resolve_only");
  spec.resolve_only = lua_toboolean(L, -1);
  lua_getfield(L, 2, "aside");
  spec.aside = lua_toboolean(L, -1);
  take_body(L, &spec, what);
  return spec;
}

static void push_resource(lua_State *L, const struct kube_call *call)
{
  const struct kube_resource *r = kube_call_resource(call);
  const struct kube_failure *f = kube_call_failure(call);

  lua_createtable(L, 0, 5);
  lua_pushstring(L, r->group);
  lua_setfield(L, -2, "group");
  lua_pushstring(L, r->version);
  lua_setfield(L, -2, "version");
  lua_pushstring(L, r->plural);
  lua_setfield(L, -2, "plural");
  lua_pushstring(L, r->kind);
  lua_setfield(L, -2, "kind");
  if (f->ns[0] != '\0') {
    lua_pushstring(L, f->ns);
    lua_setfield(L, -2, "namespace");
  }
}

/* Index 1: is text wanted? Index 2: the box. */
static int got_answer(lua_State *L, int status, lua_KContext ctx)
{
  struct aicr_task *t = (struct aicr_task *)ctx;
  struct aicr_k8s_box *box = lua_touserdata(L, 2);
  const char *text;
  size_t len;

  (void)status;
  aicr_task_check_stop(L, t);
  switch (kube_call_next(box->call, &text, &len)) {
  case KUBE_CALL_WAIT:
    return aicr_k8s_wait(L, t, box, got_answer);
  case KUBE_CALL_OBJECT:
    if (!kube_call_http(box->call)) {
      push_resource(L, box->call);
      return 1;
    }
    if (lua_toboolean(L, 1)) {
      lua_pushlstring(L, text ? text : "", len);
    } else {
      aicr_push_json(L, text, len, AICR_JSON_DROP_NULLS);
      aicr_guard_redacted(L, text, len);
    }
    lua_pushinteger(L, kube_call_http(box->call));
    return 2;
  default:
    return aicr_k8s_fail(L, box->call);
  }
}

/* The iterator of a stream: upvalue 1 is the box, upvalue 2 says text. */
static int next_line(lua_State *L);

static int got_line(lua_State *L, int status, lua_KContext ctx)
{
  (void)status;
  (void)ctx;
  return next_line(L);
}

static int next_line(lua_State *L)
{
  static const char *const ends[] = {[KUBE_LINE_ENDED] = "line",
                                     [KUBE_LINE_PIECE] = "piece",
                                     [KUBE_LINE_UNENDED] = "unended"};
  struct aicr_k8s_box *box = lua_touserdata(L, lua_upvalueindex(1));
  struct aicr_task *t = aicr_task_of(L);
  const char *text;
  size_t len;

  aicr_task_may_wait(L, t, "a stream of ctx.k8s");
  if (!box->call)
    return luaL_error(L, "this stream is over");
  switch (kube_call_next(box->call, &text, &len)) {
  case KUBE_CALL_ITEM:
    if (lua_toboolean(L, lua_upvalueindex(2))) {
      lua_pushlstring(L, text, len);
      lua_pushstring(L, ends[kube_call_line_end(box->call)]);
      return 2;
    }
    aicr_push_json(L, text, len, AICR_JSON_DROP_NULLS);
    aicr_guard_redacted(L, text, len);
    return 1;
  case KUBE_CALL_WAIT:
    return aicr_k8s_wait(L, t, box, got_line);
  case KUBE_CALL_END:
    kube_call_close(box->call);
    box->call = NULL;
    lua_pushnil(L);
    return 1;
  default:
    return aicr_k8s_fail(L, box->call);
  }
}

/* native.stream(what, {as call}) -> iterator over lines (text; their second
 * result is "line", "piece" of one that is too long, or "unended" at the text's
 * end), events or the items of a list, and what a generic for closes.
 *                                                              [-0, +4, v] */
int aicr_k8s_stream(lua_State *L)
{
  const char *what = luaL_checkstring(L, 1);
  struct aicr_task *t = aicr_k8s_task(L, what);
  struct kube_call_spec spec;
  bool is_free;

  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  luaL_checkstack(L, 30, what);
  spec = call_spec(L, what);
  spec.stream = spec.verb != KUBE_LIST;
  lua_getfield(L, 2, "free");
  is_free = lua_toboolean(L, -1);
  aicr_k8s_start(L, t, &spec, is_free);
  lua_pushvalue(L, -1);
  lua_pushboolean(L, spec.text);
  lua_pushcclosure(L, next_line, 2);
  lua_insert(L, -2);
  lua_pushnil(L);
  lua_insert(L, -2);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 4;
}

/* native.call(what, {verb=, resource= | apiVersion=, kind=, name=, namespace=,
 * subresource=, query={}, body=, content_type=, text=, free=, aside=}) -> the
 * answer's object, or its text. `what` is its name for the check. A body is a
 * table or text. A free call needs no permission of the check: for embedded
 * code that asks what everybody may, or cleans up. One that a replay will not
 * ask stands aside in a recording. The second result is the answer's HTTP code.
 * With resolve_only nothing is sent but what finds the resource; the
 * result is {group=, version=, plural=, kind=, namespace=} of what would be
 * sent, and what the check may not ask for is refused as ever.
 *                                                      [yields] [-0, +2, v] */
int aicr_k8s_call(lua_State *L)
{
  const char *what = luaL_checkstring(L, 1);
  struct aicr_task *t = aicr_k8s_task(L, what);
  struct kube_call_spec spec;
  struct aicr_k8s_box *box;

  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  luaL_checkstack(L, 30, what);
  spec = call_spec(L, what);
  lua_getfield(L, 2, "free");
  box = aicr_k8s_start(L, t, &spec, lua_toboolean(L, -1));
  lua_replace(L, 2);
  lua_pushboolean(L, spec.text || spec.verb == KUBE_RAW);
  lua_replace(L, 1);
  lua_settop(L, 2);
  lua_toclose(L, 2); /* what ends this wait ends the call */
  return aicr_k8s_wait(L, t, box, got_answer);
}
