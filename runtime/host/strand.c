/* SPDX-License-Identifier: Apache-2.0 */
#include "host/strand.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "host/limit.h"

#define YIELDED                                                                \
  "the check yielded by itself: coroutine.yield works only inside a "          \
  "coroutine that the check made"

/* What a way that is too long is called instead: nobody nests so deep. */
static void shorten(char *part, const char *parent, const char *step)
{
  char hash[AICR_SHA256_TEXT],
      text[sizeof(((struct aicr_strand *)0)->part) * 2];

  snprintf(text, sizeof(text), "%s/%s", parent, step);
  if (aicr_sha256_hex(text, strlen(text), hash))
    snprintf(part, sizeof(((struct aicr_strand *)0)->part), "%s~%.48s",
             strncmp(parent, "end", 3) == 0 ? "end" : "", hash);
}

/* Names the strand by its way from the check (struct kube_asker). */
static void name_part(const struct aicr_task *t, struct aicr_strand *s)
{
  struct aicr_strand *parent = s->parent;
  char step[32];
  int n;

  if (!parent) {
    snprintf(s->part, sizeof(s->part), "%s", t->cleaning ? "end" : "");
    return;
  }
  snprintf(step, sizeof(step), "%u.%u", parent->alls, ++parent->added);
  n = snprintf(s->part, sizeof(s->part), "%s%s%s", parent->part,
               parent->part[0] ? "/" : "", step);
  if (n < 0 || (size_t)n >= sizeof(s->part))
    shorten(s->part, parent->part, step);
}

/* It begins with that `wait`: AICR_WAIT_NONE, or AICR_WAIT_DONE until it is set
 * going. */
static void new_strand(lua_State *L, struct aicr_task *t,
                       struct aicr_strand *parent, enum aicr_wait wait,
                       int count)
{
  struct aicr_strand *s, **end = &t->strands;
  lua_State *co;

  luaL_checkstack(L, 4, "no room for another coroutine");
  s = aicr_calloc(1, sizeof(*s));
  if (!s) {
    aicr_out_of_memory(L);
    return;
  }
  while (*end)
    end = &(*end)->next;
  *end = s; /* in the list before anything can raise: it is freed with it */
  s->parent = parent;
  name_part(t, s);
  s->wait = AICR_WAIT_DONE;
  t->strand_count++;
  co = lua_newthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, co);
  s->co = co; /* only now is it anchored */
  lua_xmove(L, s->co, count);
  s->wait = wait;
}

/* Closes what is open in a coroutine: in the time of the strand that runs, or
 * in its own. */
static void close_open(struct aicr_task *t, lua_State *co)
{
  lua_State *before = aicr_limit_watch(co);

  if (!t->current)
    aicr_limit_begin(t);
  aicr_limit_arm(t, co);
  lua_resetthread(co);
  aicr_limit_disarm(co);
  if (!t->current)
    aicr_limit_end(t, co);
  aicr_limit_watch(before);
}

/* Takes a strand out of the list; its open variables are closed. */
static void drop(lua_State *L, struct aicr_task *t, struct aicr_strand *s)
{
  struct aicr_strand **at = &t->strands;

  while (*at != s)
    at = &(*at)->next;
  *at = s->next;
  t->strand_count--;
  if (s->co) {
    /* Its __close handlers run under the check's limits. A coroutine that died
     * in the hook keeps its hooks off: nothing of it may run any more. */
    if (!s->killed)
      close_open(t, s->co);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, s->co);
  }
  aicr_free(s);
}

static bool descends(const struct aicr_strand *s,
                     const struct aicr_strand *from)
{
  while (s && s != from)
    s = s->parent;
  return s != NULL;
}

static void drop_children(lua_State *L, struct aicr_task *t,
                          const struct aicr_strand *of)
{
  struct aicr_strand *s = t->strands, *next;

  for (; s; s = next) {
    next = s->next;
    if (s != of && descends(s, of))
      s->wait = AICR_WAIT_DONE;
  }
  /* The youngest first: a child's parent must be there to be compared. */
  for (;;) {
    struct aicr_strand *last = NULL;

    for (s = t->strands; s; s = s->next)
      if (s != of && descends(s, of))
        last = s;
    if (!last)
      return;
    drop(L, t, last);
  }
}

void aicr_strand_start(lua_State *L, struct aicr_task *t, int count)
{
  if (t->strands) {
    drop_children(L, t, t->strands);
    drop(L, t, t->strands);
  }
  t->current = NULL;
  new_strand(L, t, NULL, AICR_WAIT_NONE, count);
}

void aicr_strand_begin(lua_State *L, struct aicr_task *t)
{
  drop_children(L, t, t->current);
  t->current->alls++;
  t->current->added = 0;
}

void aicr_strand_add(lua_State *L, struct aicr_task *t)
{
  luaL_checktype(L, -1, LUA_TFUNCTION);
  if (t->strand_count > AICR_STRANDS_MAX)
    luaL_error(L, "more than %d functions side by side", AICR_STRANDS_MAX);
  new_strand(L, t, t->current, AICR_WAIT_DONE, 1);
}

void aicr_strand_go(struct aicr_task *t)
{
  for (struct aicr_strand *s = t->strands; s; s = s->next)
    if (s->parent == t->current)
      s->wait = AICR_WAIT_NONE;
  t->current->wait = AICR_WAIT_CHILDREN;
}

void aicr_strand_join(lua_State *L, struct aicr_task *t)
{
  struct aicr_strand *me = t->current;
  bool yielded = false, failed = false;

  for (struct aicr_strand *s = t->strands; s && !failed; s = s->next) {
    if (s->parent != me || !s->failed)
      continue;
    failed = true;
    yielded = s->yielded;
    if (!yielded) {
      luaL_checkstack(L, 4, "no room for an error");
      lua_pushvalue(s->co, -1);
      lua_xmove(s->co, L, 1);
    }
  }
  drop_children(L, t, me);
  if (yielded)
    luaL_error(L, YIELDED);
  if (failed)
    lua_error(L);
}

/* A child has ended: its parent goes on when it was the last, or failed. */
static void child_ended(struct aicr_task *t, struct aicr_strand *child)
{
  child->wait = AICR_WAIT_DONE;
  if (child->parent->wait != AICR_WAIT_CHILDREN)
    return;
  if (!child->failed)
    for (const struct aicr_strand *s = t->strands; s; s = s->next)
      if (s->parent == child->parent && s->wait != AICR_WAIT_DONE)
        return;
  child->parent->wait = AICR_WAIT_NONE;
}

static void ended(struct aicr_task *t, struct aicr_strand *s, int status,
                  int results)
{
  s->killed = status != LUA_OK && t->stop != AICR_END_RUNNING;
  aicr_limit_disarm(s->co);
  if (s->parent) {
    s->failed = status != LUA_OK;
    child_ended(t, s);
    return;
  }
  s->wait = AICR_WAIT_DONE;
  aicr_task_ended(t, s->co, status, results);
}

/* A yield that no primitive asked for. */
static void yielded_by_itself(struct aicr_task *t, struct aicr_strand *s)
{
  s->yielded = true;
  if (!s->parent) {
    t->end = AICR_END_SCRIPT;
    aicr_end_message(t, s->co, YIELDED);
  }
  ended(t, s, LUA_ERRRUN, 0);
}

static void run_strand(struct aicr_task *t, struct aicr_strand *s)
{
  bool suspended = lua_status(s->co) == LUA_YIELD;
  int results = 0, status;

  t->current = s;
  aicr_limit_arm(t, s->co);
  aicr_limit_watch(s->co);
  aicr_limit_begin(t);
  status =
      lua_resume(s->co, t->L, suspended ? 0 : lua_gettop(s->co) - 1, &results);
  aicr_limit_watch(NULL);
  aicr_limit_end(t, s->co);
  t->current = NULL;
  if (status != LUA_YIELD) {
    ended(t, s, status, results);
    return;
  }
  lua_pop(s->co, results);
  if (s->wait == AICR_WAIT_NONE)
    yielded_by_itself(t, s);
}

bool aicr_strands_run(struct aicr_task *t)
{
  bool ran = false, cleaning;

  for (struct aicr_strand *s = t->strands; s; s = s->next) {
    if (s->wait != AICR_WAIT_NONE)
      continue;
    ran = true;
    cleaning = t->cleaning;
    run_strand(t, s);
    if (t->done || t->cleaning != cleaning)
      break; /* the list is another one */
  }
  return ran;
}

struct aicr_strand *aicr_task_may_wait(lua_State *L, struct aicr_task *t,
                                       const char *what)
{
  if (!t || !t->current || L != t->current->co || !lua_isyieldable(L)) {
    luaL_error(L,
               "%s must be called by the check itself, not in a coroutine "
               "of its own, a metamethod or a sort or gsub function",
               what);
    return NULL;
  }
  aicr_task_check_stop(L, t);
  return t->current;
}
