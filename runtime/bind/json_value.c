/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_reader.h"
#include "core/json_writer.h"

/* JSON text to Lua values and back. */

#define READER_MT "aicr.json.reader"

/* What a check records is put into a document that goes deeper still. */
#define LENIENT_DEPTH 64

static int reader_close(lua_State *L)
{
  aicr_json_free(luaL_checkudata(L, 1, READER_MT));
  return 0;
}

/* Where the reader of a state is while nothing is read; false while it is in
 * use. */
static const char READER_KEY = 0;

/* Pushes a reader. One serves all texts of a state: finalizers of many would
 * keep the memory of a run from being flat. */
static struct aicr_json_reader *take_reader(lua_State *L)
{
  struct aicr_json_reader *r;

  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &READER_KEY) == LUA_TUSERDATA) {
    r = lua_touserdata(L, -1);
    aicr_json_init(r, AICR_JSON_STRICT, AICR_JSON_DEPTH);
    lua_pushboolean(L, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &READER_KEY);
    return r;
  }
  lua_pop(L, 1);
  r = lua_newuserdatauv(L, sizeof(*r), 0);
  aicr_json_init(r, AICR_JSON_STRICT, AICR_JSON_DEPTH);
  aicr_set_release(L, READER_MT, reader_close);
  return r;
}

/* The reader at idx is free for the next text. */
static void give_reader(lua_State *L, int idx)
{
  aicr_json_free(lua_touserdata(L, idx));
  lua_pushvalue(L, idx);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &READER_KEY);
}

/* The containers that are open, innermost last: the length of an array so
 * far, or -1 for an object. */
struct builder {
  int flags;
  unsigned depth;
  lua_Integer duplicates;
  lua_Integer length[AICR_JSON_DEPTH + 1];
};

/* Puts the value on the top into the innermost container, whose key (for an
 * object) lies below it. */
static void place(lua_State *L, struct builder *b)
{
  lua_Integer *n;

  if (b->depth == 0)
    return;
  n = &b->length[b->depth];
  if (*n >= 0) {
    lua_rawseti(L, -2, ++*n);
    return;
  }
  if (b->flags & AICR_JSON_COUNT_DUPLICATES) {
    lua_pushvalue(L, -2);
    if (lua_rawget(L, -4) != LUA_TNIL)
      b->duplicates++;
    lua_pop(L, 1);
  }
  if ((b->flags & AICR_JSON_DROP_NULLS) && lua_islightuserdata(L, -1)) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  lua_rawset(L, -3);
}

static void open_container(lua_State *L, struct builder *b, bool array)
{
  luaL_checkstack(L, 8, "value nested too deep");
  lua_newtable(L);
  if (array)
    aicr_mark_array(L, -1);
  b->length[++b->depth] = array ? 0 : -1;
}

/* Pushes what one token stands for; false when it is no value. */
static bool push_scalar(lua_State *L, const struct aicr_json_reader *r,
                        enum aicr_json_token token)
{
  switch (token) {
  case AICR_JSON_STRING:
    lua_pushlstring(L, r->text, r->text_len);
    return true;
  case AICR_JSON_INTEGER:
    lua_pushinteger(L, (lua_Integer)r->integer);
    return true;
  case AICR_JSON_DOUBLE:
    lua_pushnumber(L, r->number);
    return true;
  case AICR_JSON_TRUE:
  case AICR_JSON_FALSE:
    lua_pushboolean(L, token == AICR_JSON_TRUE);
    return true;
  case AICR_JSON_NULL:
    lua_pushlightuserdata(L, NULL);
    return true;
  default:
    return false;
  }
}

void aicr_push_json(lua_State *L, const char *text, size_t len, int flags)
{
  struct builder b = {.flags = flags};
  struct aicr_json_reader *r = take_reader(L);
  int reader = lua_gettop(L);
  enum aicr_json_token token;

  aicr_json_feed(r, text, len);
  for (;;) {
    token = aicr_json_next(r);
    if (token == AICR_JSON_MORE)
      aicr_json_finish(r);
    else if (token == AICR_JSON_OBJECT_BEGIN || token == AICR_JSON_ARRAY_BEGIN)
      open_container(L, &b, token == AICR_JSON_ARRAY_BEGIN);
    else if (token == AICR_JSON_OBJECT_END || token == AICR_JSON_ARRAY_END) {
      b.depth--;
      place(L, &b);
    } else if (token == AICR_JSON_KEY)
      lua_pushlstring(L, r->text, r->text_len);
    else if (push_scalar(L, r, token))
      place(L, &b);
    else
      break;
  }
  if (token != AICR_JSON_END)
    aicr_raise(L, &r->error);
  give_reader(L, reader);
  lua_remove(L, reader);
  if (flags & AICR_JSON_COUNT_DUPLICATES)
    lua_pushinteger(L, b.duplicates);
}

/* Where the encoder is, for messages: a list through the C stack. */
struct place {
  const struct place *up;
  const char *key; /* NULL: index */
  lua_Integer index;
};

struct encoder {
  struct aicr_buf *out;
  bool lenient;
};

static void encode(lua_State *L, const struct encoder *e, int idx,
                   const struct place *at, unsigned depth);

static void describe(const struct place *at, struct aicr_buf *path)
{
  if (!at)
    return;
  describe(at->up, path);
  if (at->key)
    aicr_buf_addf(path, "%s%.64s", path->len ? "." : "", at->key);
  else
    aicr_buf_addf(path, "[%lld]", (long long)at->index);
}

static void refuse(lua_State *L, const struct place *at, const char *what)
{
  struct aicr_buf *path = aicr_new_buf(L, 4096);

  describe(at, path);
  luaL_error(L, "cannot encode %s as JSON (at %s)", what,
             path->data && path->len ? path->data : "the top");
}

/* Text in place of a value that JSON lacks. */
static void stand_in(lua_State *L, const struct encoder *e, int idx)
{
  aicr_buf_addf(e->out, "\"<%s>\"", luaL_typename(L, idx));
}

/* The length of the table as an array, or -1 when it is an object, -2 when it
 * is neither. */
static lua_Integer array_length(lua_State *L, int idx)
{
  lua_Integer n = 0, highest = 0, strings = 0;

  lua_pushnil(L);
  while (lua_next(L, idx)) {
    lua_pop(L, 1);
    if (lua_isinteger(L, -1)) {
      lua_Integer i = lua_tointeger(L, -1);

      n++;
      highest = i < 1 ? LUA_MAXINTEGER : (i > highest ? i : highest);
    } else if (lua_type(L, -1) == LUA_TSTRING)
      strings++;
    else
      highest = LUA_MAXINTEGER;
  }
  if (highest == 0 && !strings)
    return aicr_is_array(L, idx) ? 0 : -1;
  if (highest == 0)
    return aicr_is_array(L, idx) ? -2 : -1;
  return highest == n && !strings ? n : -2;
}

struct key {
  const char *text;
  size_t len;
};

static int compare_keys(const void *a, const void *b)
{
  const struct key *x = a, *y = b;
  int c = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

  if (c == 0)
    return x->len < y->len ? -1 : x->len > y->len;
  return c;
}

static void encode_array(lua_State *L, const struct encoder *e, int idx,
                         lua_Integer n, const struct place *at, unsigned depth)
{
  struct place here = {.up = at};

  aicr_buf_addc(e->out, '[');
  for (lua_Integer i = 1; i <= n && !e->out->failed; i++) {
    here.index = i;
    if (i > 1)
      aicr_buf_addc(e->out, ',');
    lua_rawgeti(L, idx, i);
    encode(L, e, lua_gettop(L), &here, depth + 1);
    lua_pop(L, 1);
  }
  aicr_buf_addc(e->out, ']');
}

/* Only string keys are written here: the others of a lenient object follow in
 * encode_object(), in no fixed order. */
static size_t collect_keys(lua_State *L, int idx, struct key *keys)
{
  size_t n = 0;

  lua_pushnil(L);
  while (lua_next(L, idx)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
      continue;
    if (keys)
      keys[n].text = lua_tolstring(L, -1, &keys[n].len);
    n++;
  }
  return n;
}

static void encode_member(lua_State *L, const struct encoder *e,
                          const char *key, size_t len, bool first,
                          const struct place *at, unsigned depth)
{
  struct place here = {.up = at, .key = key};

  if (!first)
    aicr_buf_addc(e->out, ',');
  aicr_json_write_string(e->out, key, len);
  aicr_buf_addc(e->out, ':');
  encode(L, e, lua_gettop(L), &here, depth + 1);
}

/* Members of the common object: their order needs no memory of its own. */
#define FEW_KEYS 24

static void encode_object(lua_State *L, const struct encoder *e, int idx,
                          const struct place *at, unsigned depth)
{
  size_t n = collect_keys(L, idx, NULL);
  struct key few[FEW_KEYS], *keys = few;
  bool first = true;

  if (n > FEW_KEYS)
    keys = lua_newuserdatauv(L, n * sizeof(*keys), 0);
  else
    lua_pushnil(L);
  collect_keys(L, idx, keys);
  qsort(keys, n, sizeof(*keys), compare_keys);
  aicr_buf_addc(e->out, '{');
  for (size_t i = 0; i < n && !e->out->failed; i++) {
    lua_pushlstring(L, keys[i].text, keys[i].len);
    lua_rawget(L, idx);
    encode_member(L, e, keys[i].text, keys[i].len, first, at, depth);
    lua_pop(L, 1);
    first = false;
  }
  lua_pushnil(L);
  while (lua_next(L, idx)) {
    if (e->out->failed) {
      lua_pop(L, 2);
      break;
    }
    if (lua_type(L, -2) != LUA_TSTRING) {
      size_t len;
      const char *key;

      lua_pushvalue(L, -2);
      if (lua_type(L, -1) != LUA_TNUMBER) {
        lua_pushfstring(L, "<%s>", luaL_typename(L, -1));
        lua_replace(L, -2);
      }
      key = lua_tolstring(L, -1, &len);
      lua_pushvalue(L, -2);
      encode_member(L, e, key, len, first, at, depth);
      lua_pop(L, 2);
      first = false;
    }
    lua_pop(L, 1);
  }
  aicr_buf_addc(e->out, '}');
  lua_pop(L, 1);
}

static void encode_table(lua_State *L, const struct encoder *e, int idx,
                         const struct place *at, unsigned depth)
{
  lua_Integer n;

  if (depth >= (e->lenient ? LENIENT_DEPTH : AICR_JSON_DEPTH)) {
    if (!e->lenient)
      refuse(L, at, "a table nested over 256 levels (or a cycle)");
    aicr_buf_adds(e->out, "\"<too deep>\"");
    return;
  }
  luaL_checkstack(L, 12, "value nested too deep");
  n = array_length(L, idx);
  if (n == -2 && !e->lenient)
    refuse(L, at, "a table with mixed keys or holes");
  if (n >= 0)
    encode_array(L, e, idx, n, at, depth);
  else
    encode_object(L, e, idx, at, depth);
}

static void encode_number(lua_State *L, const struct encoder *e, int idx,
                          const struct place *at)
{
  lua_Number x;

  if (lua_isinteger(L, idx)) {
    aicr_json_write_integer(e->out, lua_tointeger(L, idx));
    return;
  }
  x = lua_tonumber(L, idx);
  if (isfinite(x))
    aicr_json_write_double(e->out, x);
  else if (e->lenient)
    aicr_buf_adds(e->out, "null");
  else
    refuse(L, at, "NaN or infinity");
}

static void encode(lua_State *L, const struct encoder *e, int idx,
                   const struct place *at, unsigned depth)
{
  size_t len;
  const char *text;

  switch (lua_type(L, idx)) {
  case LUA_TNIL:
    aicr_buf_adds(e->out, "null");
    break;
  case LUA_TBOOLEAN:
    aicr_buf_adds(e->out, lua_toboolean(L, idx) ? "true" : "false");
    break;
  case LUA_TNUMBER:
    encode_number(L, e, idx, at);
    break;
  case LUA_TSTRING:
    text = lua_tolstring(L, idx, &len);
    aicr_json_write_string(e->out, text, len);
    break;
  case LUA_TTABLE:
    encode_table(L, e, idx, at, depth);
    break;
  case LUA_TLIGHTUSERDATA:
    if (!lua_touserdata(L, idx)) {
      aicr_buf_adds(e->out, "null");
      break;
    }
    /* fall through */
  default:
    if (!e->lenient)
      refuse(L, at, luaL_typename(L, idx));
    stand_in(L, e, idx);
  }
}

void aicr_encode_json(lua_State *L, int idx, struct aicr_buf *out)
{
  struct encoder e = {.out = out};

  encode(L, &e, lua_absindex(L, idx), NULL, 0);
}

void aicr_encode_json_lenient(lua_State *L, int idx, struct aicr_buf *out)
{
  struct encoder e = {.out = out, .lenient = true};

  encode(L, &e, lua_absindex(L, idx), NULL, 0);
}
