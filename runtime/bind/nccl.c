/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/nccl.h"

#include <lauxlib.h>
#include <string.h>

#include "bind/bind.h"
#include "host/task.h"
#include "nccl/json.h"
#include "nccl/text.h"

#define PARSER_MT "aicr.nccl.parser"
#define RESULT_MT "aicr.nccl.result"

static int parser_close(lua_State *L)
{
  struct nccl_text **box = luaL_checkudata(L, 1, PARSER_MT);

  nccl_text_free(*box);
  *box = NULL;
  return 0;
}

static int result_close(lua_State *L)
{
  nccl_result_free(luaL_checkudata(L, 1, RESULT_MT));
  return 0;
}

static enum nccl_op check_op(lua_State *L, const char *name, size_t len)
{
  enum nccl_op op = nccl_op_from_name(name, len);

  if (op == NCCL_OP_UNKNOWN)
    luaL_error(L, "no collective is named '%s'", name);
  return op;
}

static bool option(lua_State *L, int arg, const char *name)
{
  bool on;

  lua_getfield(L, arg, name);
  on = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return on;
}

/* nccl.parser(opts) -> parser                                   [-0, +1, v] */
static int new_parser(lua_State *L)
{
  struct nccl_text_options options = {0};
  struct nccl_text **box;

  if (!lua_isnoneornil(L, 1)) {
    luaL_checktype(L, 1, LUA_TTABLE);
    options.lenient = option(L, 1, "lenient");
    options.debug = option(L, 1, "debug");
    if (lua_getfield(L, 1, "op") != LUA_TNIL) {
      size_t len;
      const char *op = luaL_checklstring(L, -1, &len);

      options.op = check_op(L, op, len);
    }
  }
  box = lua_newuserdatauv(L, sizeof(struct nccl_text *), /* NOLINT */ 0);
  *box = NULL;
  aicr_set_release(L, PARSER_MT, parser_close);
  *box = nccl_text_new(&options);
  if (!*box)
    return aicr_out_of_memory(L);
  return 1;
}

static struct nccl_text *check_parser(lua_State *L)
{
  struct nccl_text **box = luaL_checkudata(L, 1, PARSER_MT);

  luaL_argcheck(L, *box != NULL, 1, "the parser is closed");
  return *box;
}

/* nccl.feed(parser, chunk)                                      [-0, +0, v] */
static int feed(lua_State *L)
{
  struct nccl_text *t = check_parser(L);
  size_t len;
  const char *chunk = luaL_checklstring(L, 2, &len);

  nccl_text_feed(t, chunk, len);
  return 0;
}

/* nccl.finish(parser) -> result; the parser is closed           [-0, +1, v] */
static int finish(lua_State *L)
{
  struct nccl_text *t = check_parser(L);
  const struct nccl_result *r = nccl_text_finish(t);

  if (!r)
    return aicr_out_of_memory(L);
  aicr_push_nccl_result(L, r);
  if (nccl_text_evidence(t)) {
    aicr_push_nccl_evidence(L, nccl_text_evidence(t));
    lua_setfield(L, -2, "evidence");
  }
  lua_pushcfunction(L, parser_close);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 0);
  return 1;
}

/* nccl.parse_json(text) -> result                               [-0, +1, v] */
static int parse_json(lua_State *L)
{
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  struct nccl_result *r = lua_newuserdatauv(L, sizeof(*r), 0);
  struct aicr_error err;

  nccl_result_init(r);
  aicr_set_release(L, RESULT_MT, result_close);
  if (!nccl_json_read(text, len, r, &err))
    return r->no_memory ? aicr_out_of_memory(L) : aicr_raise(L, &err);
  aicr_push_nccl_result(L, r);
  nccl_result_free(r);
  return 1;
}

/* nccl.busbw(op, bytes, seconds, ranks) -> algbw, busbw         [-0, +2, v] */
static int busbw(lua_State *L)
{
  size_t len;
  const char *op = luaL_checklstring(L, 1, &len);
  lua_Integer bytes = luaL_checkinteger(L, 2);
  lua_Number seconds = luaL_checknumber(L, 3);
  lua_Integer ranks = luaL_checkinteger(L, 4);
  struct aicr_error err;
  double algbw, bus;

  if (!nccl_busbw(op, len, bytes, seconds, ranks, &algbw, &bus, &err))
    return aicr_raise(L, &err);
  lua_pushnumber(L, algbw);
  lua_pushnumber(L, bus);
  return 2;
}

/* nccl.printed_size(op, bytes, type, ranks) -> bytes            [-0, +1, v] */
static int printed_size(lua_State *L)
{
  size_t op_len, type_len;
  const char *op = luaL_optlstring(L, 1, "", &op_len);
  lua_Integer bytes = luaL_checkinteger(L, 2);
  const char *type = luaL_checklstring(L, 3, &type_len);
  lua_Integer ranks = luaL_optinteger(L, 4, 0);

  lua_pushinteger(L, nccl_printed_size(nccl_op_from_name(op, op_len), bytes,
                                       nccl_type_size(type, type_len), ranks));
  return 1;
}

static const luaL_Reg functions[] = {
    {"parser", new_parser}, {"feed", feed},
    {"finish", finish},     {"parse_json", parse_json},
    {"busbw", busbw},       {"printed_size", printed_size},
    {NULL, NULL},
};

int luaopen_aicr_native_nccl(lua_State *L)
{
  luaL_newlib(L, functions);
  return 1;
}
