-- SPDX-License-Identifier: Apache-2.0
--- What is left to see of a run that did not succeed (gke-tcpxo.md 5.6, last paragraph): best effort, bounded, never an
--- error of its own.
local api = require "aicr.training.api"
local native = require "aicr.native.task"
local text = require "aicr.native.text"
local words = require "aicr.training.words"

local M = {}

local LINES <const> = 100
-- What all of it may take; bytes of an attachment, of a worker's log; workers that are looked at and told of.
local ALL_MS <const> = 120000
local ATTACHMENT_MAX <const>, WORKER_LOG_MAX <const> = 48 * 1024, 8 * 1024
-- Bytes of the last lines of a log that are read, and what a container's state takes beside its log.
local READ_MAX <const>, STATE_MAX <const> = 1024 * 1024, 768
local WORKERS_MAX <const>, EVIDENCE_MAX <const> = 16, 4

-- Valid UTF-8 of at most max bytes, from the end: a bad byte becomes three.
local function tail(s, max)
  s = s:sub(math.max(1, #s - max + 1))
  return utf8.len(s) and s or text.utf8(s:sub(math.max(1, #s - max // 3 + 1)))
end

local function logs(ctx, pod, namespace, opts)
  opts.tail, opts.limit = LINES, READ_MAX
  return ctx:try(api.logs, pod.metadata.name, namespace, opts)
end

-- The end of the launcher's log, or its termination message and why that stands in its place.
local function launcher_text(ctx, run, pod, ends)
  local container = run.options.launcher.container
  local log, err = logs(ctx, pod, run.namespace, { container = container, deadline_ms = ends })
  if log and log ~= "" then
    return log
  end
  local why = err and "the log cannot be read: " .. tostring(err) or "the log is empty"
  local restarted = words.status_of(pod, container).restartCount or 0
  local before = restarted ~= 0 and logs(ctx, pod, run.namespace, {
    container = container, previous = true, deadline_ms = ends,
  })
  if before and before ~= "" then
    return ("(%s; this is the log of its run before)\n%s"):format(why, before)
  end
  return ("(%s; this is its termination message)\n%s"):format(why, words.termination(pod, container) or "(none)")
end

-- @param room integer bytes for this worker
local function worker_text(ctx, run, pod, room, ends)
  local all = words.statuses(pod)
  local log_max = math.max(0, math.min(WORKER_LOG_MAX, room // math.max(1, #all) - STATE_MAX))
  local out = { ("== %s on %s: %s"):format(pod.metadata.name, words.place(pod),
    tostring(api.at(pod, "status").phase)) }
  for _, status in ipairs(all) do
    out[#out + 1] = ("-- %s: %s"):format(tostring(status.name), words.container(status))
    if native.monotonic() < ends and type(status.name) == "string" then
      local log, err = logs(ctx, pod, run.namespace, {
        container = status.name, deadline_ms = ends,
      })
      out[#out + 1] = log and tail(log, log_max) or ("(its log cannot be read: %s)"):format(tostring(err))
    end
  end
  return table.concat(out, "\n")
end

-- The workers as they were seen last, by name.
local function workers_of(follower)
  local pods = {}
  for uid, pod in pairs(follower.ever or {}) do
    pods[#pods + 1] = follower.workers[uid] or pod
  end
  table.sort(pods, function(a, b)
    return a.metadata.name < b.metadata.name
  end)
  return pods
end

local function job_says(ctx, run, follower)
  local job = api.find(api.JOBS, follower.job, run.namespace)
  for _, kind in ipairs { "Failed", "Suspended", "Complete" } do
    local message = job and api.condition(job, kind, "True")
    if message then
      ctx:evidence("the TrainJob %s: %s: %s", follower.job, kind, message)
    end
  end
end

--- Records what is to be seen of launcher and workers.
--- @param run table ctx, options, namespace
--- @param follower table of aicr.training.follow
function M.record(run, follower)
  local ctx, ends = run.ctx, native.monotonic() + ALL_MS
  ctx:try(job_says, ctx, run, follower)
  local launcher = follower.launcher
  if launcher then
    local log = launcher_text(ctx, run, launcher, ends)
    ctx:attach("launcher.log", "text/plain", tail(log, ATTACHMENT_MAX))
    if run.options.failed then
      run.options.failed(log)
    end
    ctx:evidence("the launcher %s on %s: %s", launcher.metadata.name, words.place(launcher),
      words.container(words.status_of(launcher, run.options.launcher.container)))
  end
  local texts, pods = {}, workers_of(follower)
  local room = ATTACHMENT_MAX // math.max(1, math.min(#pods, WORKERS_MAX))
  for i, pod in ipairs(pods) do
    if i <= WORKERS_MAX and native.monotonic() < ends then
      texts[i] = worker_text(ctx, run, pod, room, ends)
    end
    if i <= EVIDENCE_MAX then
      ctx:evidence("the worker %s on %s: %s", pod.metadata.name, words.place(pod), words.trouble(pod) or "running")
    end
  end
  if #pods > #texts then
    texts[#texts + 1] = ("(%d more workers)"):format(#pods - #texts)
  end
  if #pods > EVIDENCE_MAX then
    ctx:evidence("%d more workers", #pods - EVIDENCE_MAX)
  end
  if #texts > 0 then
    ctx:attach("workers.txt", "text/plain", tail(table.concat(texts, "\n"), ATTACHMENT_MAX))
  end
end

return M
