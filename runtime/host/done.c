/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <string.h>

#include "core/json_writer.h"
#include "host/host.h"
#include "host/limit.h"
#include "host/watchdog.h"

#define LOAD_ERROR_MAX 4096
/* How long the top level of a file may take. */
#define LOAD_MS 10000

/* What the host tells of a task's end, and of a source's metadata. */

static const char *const end_names[] = {
    [AICR_END_RUNNING] = "script",    [AICR_END_RETURNED] = "returned",
    [AICR_END_STOPPED] = "ended",     [AICR_END_ERROR] = "error",
    [AICR_END_SCRIPT] = "script",     [AICR_END_MEMORY] = "memory",
    [AICR_END_BUDGET] = "budget",     [AICR_END_DEADLINE] = "deadline",
    [AICR_END_CANCELED] = "canceled",
};

bool aicr_task_write_done(const struct aicr_task *t, int64_t now_mono_ms,
                          struct aicr_buf *out)
{
  bool lost = t->record.lost || t->ending.failed;

  aicr_buf_addf(out,
                "{\"id\":%lld,\"kind\":\"done\",\"started\":%lld,"
                "\"duration_ms\":%lld,\"ending\":{\"reason\":",
                (long long)t->id, (long long)t->started_ms,
                (long long)(now_mono_ms - t->started_mono_ms));
  aicr_json_write_string(out, t->cancel_reason, strlen(t->cancel_reason));
  aicr_buf_add(out, t->ending.data, t->ending.len);
  if (!t->awaited.failed &&
      (t->end == AICR_END_DEADLINE || t->end == AICR_END_CANCELED))
    aicr_buf_add(out, t->awaited.data, t->awaited.len);
  if (t->has_cleanup && !t->record.cleanup)
    aicr_buf_adds(out, ",\"cleaned\":true");
  /* After what came out of the check's state: of repeated keys the last wins.
   */
  if (lost)
    aicr_buf_adds(out, ",\"message\":\"what the check decided could not be "
                       "kept: no memory, or too much of it\"");
  aicr_buf_addf(out, ",\"how\":\"%s\"},\"record\":",
                end_names[lost ? AICR_END_MEMORY : t->end]);
  aicr_record_write(&t->record, out);
  aicr_seen_write(&t->seen, out);
  return aicr_buf_addc(out, '}');
}

struct describing {
  const char *path, *source;
  size_t len;
  struct aicr_buf *out;
};

static int describe_source(lua_State *L)
{
  struct describing *d = lua_touserdata(L, 1);
  size_t len;
  const char *text;

  aicr_require(L, "aicr.task.describe");
  lua_getfield(L, -1, "describe");
  if (aicr_load_user(L, d->source, d->len, d->path) != LUA_OK)
    return lua_error(L);
  lua_call(L, 1, 1);
  text = luaL_checklstring(L, -1, &len);
  aicr_buf_add(d->out, text, len);
  return 0;
}

/* Where the message begins after "path:", which Lua shortens to "...end of
 * path:" when it is long; NULL when the text does not begin so. */
static const char *after_path(const char *text, const char *path)
{
  size_t n = strlen(path);
  const char *colon;

  if (!strncmp(text, path, n) && text[n] == ':')
    return text + n + 1;
  if (strncmp(text, "...", 3) != 0)
    return NULL;
  for (colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
    size_t len = (size_t)(colon - text) - 3;

    if (len <= n && !strncmp(path + n - len, text + 3, len))
      return colon + 1;
  }
  return NULL;
}

/* {"message":…,"file":…,"line":…} from "file:line: message". */
static void write_load_error(struct aicr_buf *out, const char *text,
                             const char *path)
{
  const char *p = after_path(text, path);
  unsigned line = 0;

  while (p && *p >= '0' && *p <= '9' && line < 100000000)
    line = line * 10 + (unsigned)(*p++ - '0');
  if (p && line > 0 && *p == ':')
    text = p + (p[1] == ' ' ? 2 : 1);
  else
    line = 0;
  aicr_buf_reset(out);
  aicr_buf_adds(out, "{\"message\":");
  aicr_json_write_string(out, text, strnlen(text, LOAD_ERROR_MAX));
  aicr_buf_adds(out, ",\"file\":");
  aicr_json_write_string(out, path, strlen(path));
  if (line)
    aicr_buf_addf(out, ",\"line\":%u", line);
  aicr_buf_addc(out, '}');
}

/* Which limit ended the reading of a file, and what to do; NULL: none did. */
static const char *limit_text(const struct aicr_task *t)
{
#define OUTSIDE                                                                \
  ": look for a loop or a growing table outside of run; what takes long or "   \
  "needs much belongs into run"
  switch (t->stop) {
  case AICR_END_BUDGET:
    return "reading it took over 500 million instructions" OUTSIDE;
  case AICR_END_DEADLINE:
    return "reading it took over 10s" OUTSIDE;
  case AICR_END_SCRIPT:
    return "stack overflow: reading it took over 8000 calls in one another: "
           "look for a recursion that does not end";
  default:
    return aicr_memory_ran_out(&t->memory)
               ? "not enough memory: reading it may take 256 MiB" OUTSIDE
               : NULL;
  }
#undef OUTSIDE
}

bool aicr_describe(const char *path, const char *source, size_t len,
                   const char *const *roots, size_t root_count,
                   struct aicr_buf *out)
{
  struct describing d = {path, source, len, out};
  struct aicr_task t = {0}; /* owner of the state: its limits only */
  const char *problem = NULL, *limit = NULL;
  int status = LUA_ERRMEM;

  aicr_buf_init(&t.ending, 8192);
  t.memory.limit = AICR_STATE_MEMORY;
  t.resume_max_ms = LOAD_MS;
  t.deadline_ms = aicr_monotonic_ms() + LOAD_MS;
  for (; t.roots.count < root_count && t.roots.count < AICR_ROOTS_MAX;
       t.roots.count++)
    t.roots.dirs[t.roots.count] = roots[t.roots.count];
  t.L = aicr_state_new(&t.memory, &t.roots, &t);
  if (t.L) {
    lua_pushcfunction(t.L, describe_source);
    lua_pushlightuserdata(t.L, &d);
    aicr_limit_arm(&t, t.L);
    aicr_limit_watch(t.L);
    aicr_watchdog_watch(path);
    aicr_limit_begin(&t);
    status = lua_pcall(t.L, 1, 0, 0);
    aicr_limit_watch(NULL);
    aicr_limit_end(&t, t.L);
    aicr_limit_disarm(t.L);
    limit = limit_text(&t);
    if (limit && aicr_buf_adds(&t.ending, limit) && aicr_buf_addc(&t.ending, 0))
      problem = t.ending.data; /* behind its place */
    else if (limit || out->no_memory)
      problem = "not enough memory";
    else if (status != LUA_OK)
      problem = lua_type(t.L, -1) == LUA_TSTRING ? lua_tostring(t.L, -1)
                                                 : "an error that is no text";
    else if (out->failed)
      problem = "what the file says of itself is too long";
    if (problem)
      write_load_error(out, problem, path);
    lua_close(t.L);
    aicr_watchdog_watch(NULL);
  } else
    write_load_error(out, "not enough memory", path);
  aicr_buf_free(&t.ending);
  return status == LUA_OK && !problem;
}
