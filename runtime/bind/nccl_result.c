/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>

#include "bind/bind.h"
#include "bind/nccl.h"

static void push_warnings(lua_State *L, const struct nccl_warnings *all)
{
  lua_Integer n = 0;

  aicr_new_list(L, 0);
  for (int w = 0; w < NCCL_WARNING_COUNT; w++) {
    if (all->of[w].count == 0)
      continue;
    lua_createtable(L, 0, 4);
    aicr_set_text(L, "code", nccl_warning_code((enum nccl_warning)w));
    aicr_set_text(L, "message", nccl_warning_message((enum nccl_warning)w));
    aicr_set_count(L, "line", all->of[w].line);
    aicr_set_count(L, "count", all->of[w].count);
    lua_rawseti(L, -2, ++n);
  }
}

static void push_figures(lua_State *L, const struct nccl_figures *f)
{
  lua_createtable(L, 0, 4);
  aicr_set_number(L, "time_us", f->time_us);
  aicr_set_number(L, "algbw", f->algbw);
  aicr_set_number(L, "busbw", f->busbw);
  if (f->has_wrong)
    aicr_set_integer(L, "wrong", f->wrong);
  if (f->has_error)
    aicr_set_number(L, "max_error", f->max_error);
  if (f->has_iterations) {
    aicr_set_number(L, "i_min", f->i_min);
    aicr_set_number(L, "i_max", f->i_max);
    aicr_set_number(L, "i_p99", f->i_p99);
    aicr_set_number(L, "i_cv", f->i_cv);
  }
}

static void push_row(lua_State *L, const struct nccl_row *row)
{
  lua_createtable(L, 0, 11);
  aicr_set_integer(L, "size", row->size);
  aicr_set_integer(L, "count", row->count);
  aicr_set_text(L, "type", row->type);
  if (row->has_redop) {
    aicr_set_string(L, "redop", row->redop);
  }
  if (row->has_root)
    aicr_set_integer(L, "root", row->root);
  push_figures(L, &row->oop);
  lua_setfield(L, -2, "oop");
  if (row->ip.present) {
    push_figures(L, &row->ip);
    lua_setfield(L, -2, "ip");
  }
  aicr_set_text(L, "timestamp", row->timestamp);
  aicr_set_boolean(L, "truncated", row->truncated);
  aicr_set_boolean(L, "inconsistent", row->inconsistent);
  aicr_set_count(L, "line", row->line);
}

static void push_params(lua_State *L, const struct nccl_run *run)
{
  lua_createtable(L, 0, NCCL_PARAM_COUNT);
  for (int p = 0; p < NCCL_PARAM_COUNT; p++)
    if (run->has_param[p])
      aicr_set_integer(L, nccl_param_name((enum nccl_param)p), run->params[p]);
}

static void push_devices(lua_State *L, const struct nccl_run *run)
{
  aicr_new_list(L, run->device_count);
  for (size_t i = 0; i < run->device_count; i++) {
    const struct nccl_device *d = &run->devices[i];

    lua_createtable(L, 0, 7);
    aicr_set_integer(L, "rank", d->rank);
    if (d->has_group)
      aicr_set_integer(L, "group", d->group);
    if (d->has_pid)
      aicr_set_integer(L, "pid", d->pid);
    aicr_set_string(L, "host", d->host);
    aicr_set_integer(L, "device", d->index);
    aicr_set_text(L, "bus", d->bus);
    aicr_set_string(L, "name", d->name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_failures(lua_State *L, const struct nccl_run *run)
{
  static const char *const kinds[] = {[NCCL_FAILED_NCCL] = "nccl",
                                      [NCCL_FAILED_CUDA] = "cuda",
                                      [NCCL_FAILED_TIMEOUT] = "timeout",
                                      [NCCL_FAILED_GPUS] = "gpus",
                                      [NCCL_LAST_ERROR] = "error"};

  aicr_new_list(L, run->failure_count);
  for (size_t i = 0; i < run->failure_count; i++) {
    const struct nccl_failure *f = &run->failures[i];
    const char *hint = nccl_hint(f->text);

    if (!hint && f->last_error)
      hint = nccl_hint(f->last_error);
    lua_createtable(L, 0, 8);
    aicr_set_text(L, "kind", kinds[f->kind]);
    aicr_set_string(L, "text", f->text);
    aicr_set_text(L, "last_error", f->last_error);
    aicr_set_text(L, "host", f->host);
    aicr_set_text(L, "file", f->file);
    if (f->file)
      aicr_set_integer(L, "at", f->at);
    aicr_set_text(L, "hint", hint);
    aicr_set_count(L, "line", f->line);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_frames(lua_State *L, const struct nccl_run *run)
{
  aicr_new_list(L, run->frame_count);
  for (size_t i = 0; i < run->frame_count; i++) {
    const struct nccl_frame *f = &run->frames[i];

    lua_createtable(L, 0, 5);
    aicr_set_string(L, "host", f->host);
    aicr_set_integer(L, "pid", f->pid);
    aicr_set_string(L, "file", f->file);
    aicr_set_integer(L, "at", f->at);
    aicr_set_count(L, "line", f->line);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void set_lists(lua_State *L, const struct nccl_run *run)
{
  push_params(L, run);
  lua_setfield(L, -2, "params");
  aicr_new_list(L, run->host_count);
  for (size_t i = 0; i < run->host_count; i++) {
    lua_pushstring(L, run->hosts[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "hosts");
  push_devices(L, run);
  lua_setfield(L, -2, "devices");
  aicr_new_list(L, run->row_count);
  for (size_t i = 0; i < run->row_count; i++) {
    push_row(L, &run->rows[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "rows");
  push_failures(L, run);
  lua_setfield(L, -2, "errors");
  push_frames(L, run);
  lua_setfield(L, -2, "failures");
  push_warnings(L, &run->warnings);
  lua_setfield(L, -2, "warnings");
}

static void set_footer(lua_State *L, const struct nccl_run *run)
{
  if (run->has_average)
    aicr_set_number(L, "avg_busbw", run->average);
  if (run->has_bw_status)
    aicr_set_text(L, "bw_status", run->bw_ok ? "OK" : "FAILED");
  if (run->has_oob) {
    lua_createtable(L, 0, 2);
    aicr_set_integer(L, "count", run->oob_count);
    aicr_set_text(L, "status", run->oob_ok ? "OK" : "FAILED");
    lua_setfield(L, -2, "oob");
  }
  aicr_set_boolean(L, "complete", run->complete);
  aicr_set_boolean(L, "concluded", run->concluded);
  if (run->validated == NCCL_BY_ERROR)
    aicr_set_text(L, "validated", "legacy");
  else
    aicr_set_boolean(L, "validated", run->validated == NCCL_VALIDATED);
}

static void push_run(lua_State *L, const struct nccl_run *run)
{
  static const char *const formats[] = {[NCCL_NO_FORMAT] = NULL,
                                        [NCCL_CURRENT] = "current",
                                        [NCCL_LEGACY] = "legacy",
                                        [NCCL_JSON] = "json",
                                        [NCCL_UNSUPPORTED] = "unsupported"};

  luaL_checkstack(L, 10, "no room for a run");
  lua_createtable(L, 0, 28);
  aicr_set_text(L, "op", run->op_name);
  aicr_set_text(L, "format", formats[run->format]);
  aicr_set_text(L, "tool_version", run->tool_version);
  aicr_set_text(L, "nccl_version", run->nccl_version);
  aicr_set_text(L, "nccl_headers", run->nccl_headers);
  if (run->max_rank >= 0)
    aicr_set_integer(L, "ranks", run->max_rank + 1);
  aicr_set_count(L, "ranks_listed", run->device_count);
  if (run->group_ranks > 0)
    aicr_set_integer(L, "group_ranks", run->group_ranks);
  aicr_set_count(L, "rows_dropped", run->rows_dropped);
  aicr_set_boolean(L, "cpu_time", run->cpu_time);
  aicr_set_integer(L, "wrong_total", run->wrong_total);
  aicr_set_text(L, "tag", run->tag);
  aicr_set_count(L, "line", run->line);
  set_footer(L, run);
  set_lists(L, run);
}

void aicr_push_nccl_result(lua_State *L, const struct nccl_result *r)
{
  luaL_checkstack(L, 6, "no room for a result");
  lua_createtable(L, 0, 6);
  aicr_new_list(L, r->run_count);
  for (size_t i = 0; i < r->run_count; i++) {
    push_run(L, r->runs[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "runs");
  aicr_set_count(L, "bytes", r->bytes);
  aicr_set_count(L, "lines", r->lines);
  aicr_set_count(L, "long_lines", r->long_lines);
  push_warnings(L, &r->warnings);
  lua_setfield(L, -2, "warnings");
}
