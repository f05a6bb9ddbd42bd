/* SPDX-License-Identifier: Apache-2.0 */
#include "host/embed.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/file.h"
#include "host/task.h"

#define SOURCE_MAX (4u << 20)

static const char *source_dir;

void aicr_embed_source(const char *dir)
{
  source_dir = dir;
}

static int compare_name(const void *key, const void *row)
{
  const struct aicr_embedded *e = row;

  return strcmp(key, e->name);
}

static size_t embedded_count(void)
{
  static size_t n;

  while (aicr_embedded[n].name)
    n++;
  return n;
}

static const struct aicr_embedded *find(const char *name)
{
  return bsearch(name, aicr_embedded, embedded_count(), sizeof(*aicr_embedded),
                 compare_name);
}

static bool read_source(const char *name, struct aicr_buf *out)
{
  char path[4096];
  int n = snprintf(path, sizeof(path), "%s/%s", source_dir, name);

  return n > 0 && (size_t)n < sizeof(path) &&
         aicr_file_read(path, SOURCE_MAX, out, NULL);
}

bool aicr_embed_text(const char *name, struct aicr_buf *out)
{
  const struct aicr_embedded *e;

  if (source_dir)
    return !strstr(name, "..") && read_source(name, out);
  e = find(name);
  return e && aicr_buf_add(out, e->data, e->size);
}

bool aicr_embed_exists(const char *name)
{
  struct aicr_buf text;
  bool ok;

  if (!source_dir)
    return find(name) != NULL;
  aicr_buf_init(&text, SOURCE_MAX);
  /* What memory lacks for is there: reading it will say so. */
  ok = aicr_embed_text(name, &text) || text.no_memory;
  aicr_buf_free(&text);
  return ok;
}

static int load_from_disk(lua_State *L, const char *name, const char *chunk)
{
  struct aicr_buf text;
  int status;

  aicr_buf_init(&text, SOURCE_MAX);
  if (!aicr_embed_text(name, &text)) {
    bool no_memory = text.no_memory;

    aicr_buf_free(&text);
    if (no_memory)
      aicr_out_of_memory(L);
    lua_pushfstring(L, "no file %s below the source folder", name);
    return LUA_ERRFILE;
  }
  status =
      luaL_loadbufferx(L, text.data ? text.data : "", text.len, chunk, "t");
  aicr_buf_free(&text);
  return status;
}

int aicr_embed_load(lua_State *L, const char *name)
{
  const struct aicr_embedded *e;
  const char *chunk = lua_pushfstring(L, "@%s", name);
  int status;

  if (source_dir)
    status = load_from_disk(L, name, chunk);
  else {
    e = find(name);
    if (e)
      status = luaL_loadbufferx(L, e->code, e->code_size, chunk, "b");
    else {
      lua_pushfstring(L, "no embedded source %s", name);
      status = LUA_ERRFILE;
    }
  }
  lua_remove(L, -2);
  return status;
}
