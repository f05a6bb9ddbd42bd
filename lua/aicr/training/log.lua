-- SPDX-License-Identifier: Apache-2.0
--- What the launcher wrote (gke-tcpxo.md 5.6, rows 14 and 15).
local api = require "aicr.training.api"
local native = require "aicr.native.task"
local words = require "aicr.training.words"

local M = {}

local READS <const> = 5
-- Bytes of a log that are taken; of a longer one the last lines.
local LOG_MAX <const> = 16 << 20
-- The same of what was written before it was started again.
local BEFORE_MAX <const> = 1 << 20
local LAST_LINES <const> = { 20000, 2000, 200 }

-- @return string, boolean was it longer than what is here?
local function read(pod, namespace, container, max, previous)
  local text = api.logs(pod, namespace, { container = container, limit = max, previous = previous })
  if #text < max then
    return text, false
  end
  -- The limit counts from the first of the last lines: where it is reached, the end is missing.
  for _, last in ipairs(LAST_LINES) do
    text = api.logs(pod, namespace, { container = container, tail = last, limit = max, previous = previous })
    if #text < max then
      break
    end
  end
  return text, true
end

--- What the container wrote before it was started the last time, nil where that cannot be read.
--- @param run table ctx, options, namespace
--- @param pod table the launcher's
--- @return string|nil
function M.before(run, pod)
  return (run.ctx:try(read, pod.metadata.name, run.namespace, run.options.launcher.container, BEFORE_MAX, true))
end

-- The pod with the state of the container that has ended: kubelet may tell the phase first.
local function settled(run, pod)
  if api.at(words.status_of(pod, run.options.launcher.container), "state").terminated then
    return pod
  end
  return run.ctx:try(api.find, "pods", pod.metadata.name, run.namespace) or pod
end

--- Reads the log until it is complete, at most five times.
--- @param run table ctx, options, namespace, times
--- @param pod table the launcher's, which has succeeded
--- @return table log, complete, cut, termination, launcher
function M.take(run, pod)
  local container, complete = run.options.launcher.container, run.options.complete or function() return true end
  pod = settled(run, pod)
  local out = { termination = words.termination(pod, container), launcher = pod, complete = false }
  local err
  for i = 1, READS do
    local text, cut
    text, cut = run.ctx:try(read, pod.metadata.name, run.namespace, container, LOG_MAX)
    if text then
      out.log, out.cut, out.complete, err = text, cut, complete(text) == true, nil
    else
      err = cut
    end
    if out.complete or i == READS then
      break
    end
    run.ctx:progress("reads the log of the launcher again: it is not complete")
    native.sleep(run.times.log_every.ms)
  end
  if not out.log then
    if not out.termination then
      api.wrapped("INTERNAL", ("the log of the launcher %s cannot be read"):format(pod.metadata.name), error, err, 0)
    end
    run.ctx:evidence("the log of the launcher cannot be read (%s): its termination message is taken", tostring(err))
    out.log, out.cut = "", false
  end
  return out
end

--- The logs of workers that have succeeded, in the order of their numbers. Raises INTERNAL with the reason of a request
--- that failed.
--- @param run table options, namespace
--- @param pods table<integer, table> by number
--- @return table[] {index=, name=, node=, log=, cut=}
function M.workers(run, pods)
  local out, indices = api.array(), {}
  for index in pairs(pods) do
    indices[#indices + 1] = index
  end
  table.sort(indices)
  for i, index in ipairs(indices) do
    local pod = pods[index]
    local name = pod.metadata.name
    local log = api.wrapped("INTERNAL", ("the log of the worker %s cannot be read"):format(name), api.logs, name,
      run.namespace, { container = run.options.launcher.container, limit = LOG_MAX // #indices })
    out[i] = { index = index, name = name, node = words.place(pod), log = log, cut = #log >= LOG_MAX // #indices }
  end
  return out
end

return M
