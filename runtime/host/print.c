/* SPDX-License-Identifier: Apache-2.0 */
#include "host/print.h"

#include <lauxlib.h>

#include "core/json_writer.h"
#include "host/task.h"

#define LINE_MAX_BYTES 4096

int aicr_user_print(lua_State *L)
{
  struct aicr_task *t = aicr_task_of(L);
  int n = lua_gettop(L);
  luaL_Buffer line;
  struct aicr_buf json;
  size_t len;
  const char *text;

  luaL_buffinit(L, &line);
  for (int i = 1; i <= n; i++) {
    if (i > 1)
      luaL_addchar(&line, '\t');
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&line);
  }
  luaL_pushresult(&line);
  text = lua_tolstring(L, -1, &len);
  if (!t || !t->host)
    return 0;
  aicr_buf_init(&json, AICR_RECORD_ITEM_MAX);
  aicr_buf_adds(&json, "{\"level\":\"info\",\"text\":");
  aicr_json_write_string(&json, text,
                         len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES);
  aicr_buf_addc(&json, '}');
  aicr_record_add(&t->record, AICR_REC_LOG, json.data,
                  json.failed ? AICR_RECORD_TOTAL_MAX : json.len);
  aicr_buf_free(&json);
  return 0;
}
