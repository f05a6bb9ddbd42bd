/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/k8s.h"
#include "kube/url.h"

/* aicr.native.k8s: what lua/aicr/ctx/k8s/ stands on, any request as a table. */

/* The words of `verb`. */
static const struct {
  const char *name;
  enum kube_verb verb;
} verb_words[] = {
    {"get", KUBE_GET},     {"create", KUBE_CREATE}, {"update", KUBE_UPDATE},
    {"patch", KUBE_PATCH}, {"apply", KUBE_APPLY},   {"delete", KUBE_DELETE},
    {"raw", KUBE_RAW},     {"watch", KUBE_WATCH},   {"list", KUBE_LIST},
};

static enum kube_verb check_verb(lua_State *L)
{
  const char *name = aicr_k8s_option(L, 2, "verb");

  for (size_t i = 0; name && i < sizeof(verb_words) / sizeof(*verb_words); i++)
    if (strcmp(verb_words[i].name, name) == 0)
      return verb_words[i].verb;
  luaL_error(L, "unknown verb '%s'", name ? name : "nil");
  return KUBE_GET;
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

static void push_resource(lua_State *L, const struct kube_call *call)
{
  const struct kube_resource *r = kube_call_resource(call);
  const struct kube_failure *f = kube_call_failure(call);

  lua_createtable(L, 0, 5);
  aicr_set_string(L, "group", r->group);
  aicr_set_string(L, "version", r->version);
  aicr_set_string(L, "plural", r->plural);
  aicr_set_string(L, "kind", r->kind);
  aicr_set_text(L, "namespace", f->ns);
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
    if (lua_toboolean(L, 1) && len == 0)
      aicr_k8s_look_empty(t, &box->look);
    else
      aicr_k8s_look_found(t, &box->look);
    if (lua_toboolean(L, 1))
      lua_pushlstring(L, text ? text : "", len);
    else
      aicr_k8s_push_object(L, text, len);
    lua_pushinteger(L, kube_call_http(box->call));
    return 2;
  default:
    return aicr_k8s_fail(L, box);
  }
}

static bool boolean(lua_State *L, const char *field)
{
  bool on;

  lua_getfield(L, 2, field);
  on = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return on;
}

/* What the table at index 2 says; its strings stay on the stack. */
static void fill_spec(lua_State *L, const char *what,
                      struct kube_call_spec *spec)
{
  static const char *const types[] = {
      "application/json", "application/merge-patch+json",
      "application/json-patch+json", "application/strategic-merge-patch+json",
      "application/apply-patch+yaml"};
  const char *type;

  spec->verb = check_verb(L);
  spec->stream = spec->stream && spec->verb != KUBE_LIST;
  spec->resource = aicr_k8s_option(L, 2, "resource");
  spec->api_version = aicr_k8s_option(L, 2, "apiVersion");
  spec->kind = aicr_k8s_option(L, 2, "kind");
  spec->name = aicr_k8s_option(L, 2, "name");
  spec->ns = aicr_k8s_option(L, 2, "namespace");
  spec->subresource = aicr_k8s_option(L, 2, "subresource");
  spec->label = aicr_k8s_option(L, 2, "label");
  spec->field = aicr_k8s_option(L, 2, "field");
  spec->query = query_text(L);
  spec->content_type = types[0];
  type = aicr_k8s_option(L, 2, "content_type");
  for (size_t i = 0; type && i < sizeof(types) / sizeof(*types); i++)
    if (strcmp(types[i], type) == 0)
      spec->content_type = types[i];
  spec->text = boolean(L, "text");
  spec->resolve_only = boolean(L, "resolve_only");
  spec->aside = boolean(L, "aside");
  lua_getfield(L, 2, "deadline_ms");
  spec->deadline_ms = lua_tointeger(L, -1);
  take_body(L, spec, what);
}

/* Starts the call of the arguments (what, table) in a box that is left on the
 * top. */
static struct aicr_k8s_box *start(lua_State *L, struct aicr_task *t,
                                  const char *what, struct kube_call_spec *spec)
{
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  luaL_checkstack(L, 30, what);
  fill_spec(L, what, spec);
  return aicr_k8s_start(L, t, spec, boolean(L, "free"));
}

/* native.stream(what, {as call}) -> iterator over lines (text; their second
 * result is "line", "piece" of one that is too long, or "unended" at the text's
 * end), events or the items of a list, and what a generic for closes.
 *                                                              [-0, +4, v] */
int aicr_k8s_stream(lua_State *L)
{
  const char *what = luaL_checkstring(L, 1);
  struct kube_call_spec spec = {.stream = true};
  struct aicr_k8s_box *box = start(L, aicr_k8s_task(L, what), what, &spec);

  box->is_text = spec.text;
  box->look.by_the_way = spec.verb == KUBE_WATCH;
  return aicr_k8s_iterate(L, what);
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
  struct kube_call_spec spec = {0};

  start(L, t, what, &spec)->look.by_the_way = spec.verb == KUBE_GET;
  lua_pushboolean(L, spec.text || spec.verb == KUBE_RAW);
  return aicr_k8s_wait_once(L, t, got_answer);
}
