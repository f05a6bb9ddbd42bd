-- SPDX-License-Identifier: Apache-2.0
--- The facts of the report's head, from the embedded task engine/target.lua. Where they cannot be
--- read they are absent and the platform unknown; that is never a verdict.
local text = require "aicr.report.text"

local M = {}

local PATH <const> = "lua/aicr/engine/target.lua"
local ID <const> = 0
local DEADLINE_MS <const> = 60000
local TICK_MS <const> = 1000
-- A server that has said nothing by then is left to the checks, which have time limits of their own.
local SILENCE_MS <const> = 15000
local SILENT <const> = "the server did not answer within 15s"

local opt = text.opt

local function reason_of(event)
  local ending = opt(event.ending) or {}
  local err = opt(ending.error)
  return err and opt(err.message) or opt(ending.message) or ending.how == "canceled" and opt(ending.reason)
    or "the nodes could not be read"
end

local function read(event)
  local record = opt(event.record) or {}
  local extra = opt(record.extra) or {}
  local ending = opt(event.ending) or {}
  if ending.how ~= "returned" then
    return { reason = reason_of(event), server_version = opt(extra.server_version) }
  end
  return {
    platform = opt(extra.platform), platform_why = opt(extra.platform_why),
    gpu_nodes = opt(extra.gpu_nodes), gpus = opt(extra.gpus),
    gpu_nodes_empty = opt(extra.gpu_nodes_empty),
    reason = opt(extra.reason), server_version = opt(extra.server_version),
  }
end

--- Reads the facts of the cluster.
--- @param host table the border
--- @param context table of the run
--- @param limit_ms integer|nil the run's time limit
--- @return table platform, platform_why, gpu_nodes, gpus, gpu_nodes_empty, reason, server_version
--- @return string|nil the signal that came meanwhile
function M.read(host, context, limit_ms)
  local source = host.embedded(PATH)
  if not source then
    return { reason = PATH .. " is not embedded" }
  end
  host.start {
    id = ID, path = PATH, source = source, roots = {}, params = {}, needs = { "list nodes" },
    deadline_ms = math.min(DEADLINE_MS, limit_ms or DEADLINE_MS), context = context,
  }
  local signal
  local silent_at = host.monotonic() + SILENCE_MS
  while true do
    local event = host.next(TICK_MS)
    if event.kind == "progress" then
      silent_at = nil
    elseif silent_at and host.monotonic() >= silent_at then
      silent_at = nil
      host.cancel(ID, SILENT)
    end
    if event.kind == "done" and event.id == ID then
      return read(event), signal
    elseif event.kind == "signal" then
      if signal then
        return {}, signal
      end
      signal = event.signal
      host.cancel(ID, signal)
    end
  end
end

return M
