/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "bind/bind.h"
#include "host/host.h"
#include "kube/record.h"
#include "kube/recording.h"

/* aicr.native.task: what a wait of a check (ctx.k8s:wait, ctx:eventually) is to
 * a recording. One that is written is told how it ended, one that answers says
 * how it did: a replay looks no more often than the run did. */

#define WAIT_MT "aicr.task.wait"

struct wait {
  struct aicr_awaited awaited;
  struct kube_asker asker;
  char what[sizeof(((struct kube_index_line *)0)->what)];
  unsigned looks;
  bool late, closed;
  size_t empty, unread; /* of the task's aicr_seen when it began */
  enum kube_wait_end known;
  unsigned known_looks;
};

static struct kube_record *record_of(const struct aicr_task *t)
{
  return t && t->host && t->host->client
             ? kube_client_recording(t->host->client)
             : NULL;
}

/* Was it the end of its check that ended the wait? */
static bool is_cut(const struct aicr_task *t, const struct wait *w)
{
  bool cut = t->end == AICR_END_DEADLINE || t->end == AICR_END_CANCELED;

  return t->stop != AICR_END_RUNNING ||
         (cut && strncmp(w->asker.part, "end", 3) != 0);
}

static int close_wait(lua_State *L)
{
  struct wait *w = luaL_checkudata(L, 1, WAIT_MT);
  const struct aicr_task *t = aicr_task_of(L);
  struct kube_record *r = record_of(t);

  if (!w->closed && r && w->asker.check[0] && !is_cut(t, w))
    kube_record_wait(r, &w->asker, w->what, w->looks, w->late);
  if (t)
    aicr_awaited_end(aicr_task_of(L), &w->awaited);
  w->closed = true;
  return 0;
}

/* task.wait(what [, told]) -> a wait, to be closed. told: its words for a check
 * whose time is over; without them it is told by what it does. [-0, +1, v] */
int aicr_task_wait(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  size_t len;
  const char *what = luaL_checklstring(L, 1, &len);
  const char *told = luaL_optstring(L, 2, "");
  struct wait *w = lua_newuserdatauv(L, sizeof(*w), 0);

  memset(w, 0, sizeof(*w));
  w->closed = true;
  w->asker = aicr_task_asker(t);
  w->empty = t->seen.empty;
  w->unread = t->seen.unread;
  kube_index_what(what, len, w->what);
  if (t->host->client && t->host->recording)
    w->known = kube_recording_wait(kube_client_backend(t->host->client),
                                   &w->asker, w->what, &w->known_looks);
  aicr_set_release(L, WAIT_MT, close_wait);
  w->closed = false;
  snprintf(w->awaited.what, sizeof(w->awaited.what), "%s", told);
  if (told[0])
    aicr_awaited_begin(t, &w->awaited);
  return 1;
}

/* task.seen(wait, text): what the last look showed             [-0, +0, v] */
int aicr_task_seen(lua_State *L)
{
  struct wait *w = luaL_checkudata(L, 1, WAIT_MT);

  snprintf(w->awaited.seen, sizeof(w->awaited.seen), "%s",
           luaL_checkstring(L, 2));
  return 0;
}

static int fail_not_waited(lua_State *L, const struct wait *w)
{
  struct aicr_error err;

  aicr_fail(&err, AICR_INTERNAL, "not-recorded",
            "the recording does not tell how it goes on: the run looked %u "
            "times at %.200s; record this check again: --record",
            w->known_looks, w->what);
  return aicr_raise(L, &err);
}

/* task.look(wait): what is waited for is looked at (once more) [-0, +0, v] */
int aicr_task_look(lua_State *L)
{
  struct wait *w = luaL_checkudata(L, 1, WAIT_MT);

  w->looks++;
  return 0;
}

/* task.attained([wait]): something was seen; with a wait, that it is so, and
 * what was looked for in vain until then says nothing.         [-0, +0, v] */
int aicr_task_attained(lua_State *L)
{
  struct aicr_task *t = aicr_check_task(L);
  const struct wait *w;

  t->seen.found++;
  if (lua_isnoneornil(L, 1))
    return 0;
  w = luaL_checkudata(L, 1, WAIT_MT);
  t->seen.empty = w->empty;
  t->seen.unread = w->unread;
  return 0;
}

/* task.late(wait): the time for it is over                     [-0, +0, v] */
int aicr_task_late(lua_State *L)
{
  struct wait *w = luaL_checkudata(L, 1, WAIT_MT);

  w->late = true;
  return 0;
}

/* task.goes_on(wait, late) -> boolean: is it to be looked at again, after a
 * look that did not show it? late: the time for it is over. A recording
 * decides where it knows; raises INTERNAL/"not-recorded" where the run that it
 * is of looked no further.                                     [-0, +1, v] */
int aicr_task_goes_on(lua_State *L)
{
  struct wait *w = luaL_checkudata(L, 1, WAIT_MT);
  bool late = lua_toboolean(L, 2), more = w->looks < w->known_looks;

  switch (w->known) {
  case KUBE_WAIT_UNKNOWN:
    more = !late;
    break;
  case KUBE_WAIT_LATE:
    break;
  case KUBE_WAIT_CUT:
    if (late)
      aicr_task_stop_as_recorded(L, aicr_check_task(L));
    more = true;
    break;
  default:
    if (!more)
      return fail_not_waited(L, w);
  }
  w->late = !more;
  lua_pushboolean(L, more);
  return 1;
}
