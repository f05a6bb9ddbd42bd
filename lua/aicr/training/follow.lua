-- SPDX-License-Identifier: Apache-2.0
--- Follows the pods of a TrainJob, from before it is made until its launcher has ended (gke-tcpxo.md 5.6, rows 6,
--- 11 and 12; 5.7). One watch tells of launcher and workers: when it says that the launcher has succeeded, all
--- that happened to workers before has been told.
local api = require "aicr.training.api"
local log = require "aicr.training.log"
local native = require "aicr.native.task"
local watch = require "aicr.ctx.k8s.watch"
local words = require "aicr.training.words"

local M = {}

local TICK_MS <const> = 100
-- Which pod of its job a pod is, from "0" on.
local INDEX <const> = "batch.kubernetes.io/job-completion-index"
-- Logs of earlier starts of a launcher.
local BEFORE_MAX <const> = 8
-- Raised when the launcher has succeeded: it ends what is still under way.
local DONE <const> = {}

local follower = {}
follower.__index = follower

--- @param run table ctx, options, namespace, lock, times
function M.new(run)
  return setmetatable({
    run = run, ctx = run.ctx, job = run.options.job.metadata.name, stale = {}, workers = {}, starting = {},
    is_watching = false, is_made = false, made_ms = nil, succeeded = {},
    restarts = 0, before = api.array(),
    -- One job for all: its pod 0 is the launcher, and the others have to succeed too.
    is_one_job = run.options.launcher.job == run.options.workers.job,
  }, follower)
end

local function name_of(pod)
  return api.clip(pod.metadata.name)
end

-- The workers that are there, by name.
local function present(self)
  local pods = {}
  for _, pod in pairs(self.workers) do
    pods[#pods + 1] = pod
  end
  table.sort(pods, function(a, b)
    return a.metadata.name < b.metadata.name
  end)
  return pods
end

local function wanted(self)
  return self.run.options.workers.count - (self.is_one_job and 1 or 0)
end

function follower:says()
  local said = words.progress(self.launcher, present(self), wanted(self), self.starting)
  return said .. (self.line_says and ": " .. self.line_says or "")
end

local function show(self)
  local now = self:says()
  if now ~= self.shown then
    self.shown = now
    self.ctx:progress("%s", now)
  end
end

local function ended_badly(self, code, reason, how)
  local pod = self.launcher
  api.raise(code, reason, "the launcher %s on %s %s: %s", name_of(pod), words.place(pod), how,
    words.ending(pod, self.run.options.launcher.container))
end

-- A launcher's pod that was not seen before. Those that are on their way out do not count, nor those that have failed
-- before they were seen: another one takes their place.
local function appeared(self, kind, pod)
  local phase = api.at(pod, "status").phase
  if kind == "DELETED" or phase == "Failed" or phase ~= "Succeeded" and pod.metadata.deletionTimestamp then
    self.not_counted = ("%s %s"):format(name_of(pod), words.trouble(pod) or "deleted")
    return
  end
  self.launcher, self.launcher_ms = pod, native.monotonic()
end

local function see_launcher(self, kind, pod)
  if not self.launcher then
    appeared(self, kind, pod)
  elseif self.launcher.metadata.uid ~= pod.metadata.uid then
    return
  elseif api.at(pod, "status").phase then -- not what is left when the end was not seen
    self.launcher = pod
  end
  if not self.launcher then
    return
  end
  local phase = api.at(self.launcher, "status").phase
  if phase == "Succeeded" then
    self.has_succeeded = true
  elseif phase == "Failed" then
    ended_badly(self, "INTERNAL", "launcher-failed", "failed")
  elseif kind == "DELETED" or pod.metadata.deletionTimestamp then
    ended_badly(self, "INTERNAL", "launcher-deleted", "was deleted before it had ended")
  end
end

local function see_worker(self, kind, pod)
  self.workers[pod.metadata.uid] = kind ~= "DELETED" and pod or nil
  self.ever = self.ever or {}
  local phase = api.at(pod, "status").phase
  if phase then
    self.ever[pod.metadata.uid] = pod
  end
  local index = M.index(pod)
  if self.is_one_job and phase == "Succeeded" and index then
    self.succeeded[index] = pod
  end
  if self.run.options.watch then
    self.run.options.watch(pod, kind)
  end
end

--- Which pod of its job it is, nil where nothing says so.
---@return integer|nil
function M.index(pod)
  local text = api.at(pod, "metadata", "labels")[INDEX] or api.at(pod, "metadata", "annotations")[INDEX]
  return math.tointeger(tonumber(text))
end

local function role_of(self, pod)
  local role, options = api.at(pod, "metadata", "labels")[api.REPLICATED_LABEL], self.run.options
  if not role then -- its end was not seen: only its name is known
    local uid = pod.metadata.uid
    return self.launcher and self.launcher.metadata.uid == uid and "launcher" or self.workers[uid] and "worker"
  elseif role == options.launcher.job and (not self.is_one_job or M.index(pod) == 0) then
    return "launcher"
  end
  return role == options.workers.job and "worker"
end

local function see_end(self)
  local count = 0
  for _ in pairs(self.succeeded) do
    count = count + 1
  end
  if self.has_succeeded and not self.is_done and (not self.is_one_job or count >= wanted(self)) then
    self.is_done, self.done_ms = true, native.monotonic()
  end
end

--- Takes in what a watch tells of a pod. Raises what ends the run.
--- @param kind "ADDED"|"MODIFIED"|"DELETED"
function follower:see(kind, pod)
  local uid = pod.metadata.uid
  if not self.is_made then
    self.stale[uid] = true -- of an earlier TrainJob of that name
  end
  if self.stale[uid] then
    return
  end
  local role = role_of(self, pod)
  if role == "launcher" then
    see_launcher(self, kind, pod)
  elseif role == "worker" then
    see_worker(self, kind, pod)
  end
  see_end(self)
  show(self)
end

-- Watches until the launcher has succeeded, in a run of one job all of its pods.
local function watch_pods(self)
  local filter <const> = {
    namespace = self.run.namespace, label = api.JOBSET_LABEL .. "=" .. self.job,
  }
  for kind, pod in watch.follow({ own = self.ctx.k8s }, "aicr.training", "pods", filter, nil, true) do
    if kind ~= "EMPTY" then
      self:see(kind, pod)
    end
    self.is_watching = true
    if self.is_done then
      return
    end
  end
end

local function check_times(self)
  local now, times = native.monotonic(), self.run.times
  if not self.made_ms then
    return
  elseif not self.launcher and now - self.made_ms >= times.launcher.ms then
    api.raise("TIMEOUT", "launcher-missing", "no launcher pod of the TrainJob %s appeared within %s; last seen: %s%s%s",
      self.job, times.launcher.text, self:says(), self.not_counted and ", " .. self.not_counted or "",
      self.job_says and "; the TrainJob says: " .. self.job_says or "")
  elseif self.launcher and not self.is_done and now - self.launcher_ms >= times.run.ms then
    api.raise("TIMEOUT", "launcher-timeout", "the launcher %s did not succeed within %s; last seen: %s",
      name_of(self.launcher), times.run.text, self:says())
  end
end

local function look_at_events(self)
  local pods = present(self)
  pods[#pods + 1] = self.launcher
  for _, pod in ipairs(pods) do
    if words.is_starting(pod) then
      self.starting[pod.metadata.uid] = words.waits_for(self.ctx.k8s:list("events", {
        namespace = self.run.namespace, field = "involvedObject.uid=" .. pod.metadata.uid,
      }))
      return
    end
  end
end

local function look_at_job(self)
  local job = api.find(api.JOBS, self.job, self.run.namespace)
  if self.is_done then
    return -- while it was asked for
  elseif not job then
    api.raise("INTERNAL", "job-failed", "the TrainJob %s was deleted while it ran", self.job)
  end
  local failed = api.condition(job, "Failed", "True")
  self.job_says = failed or api.condition(job, "Suspended", "True") and "suspended" or nil
  if not self.job_says and not self.launcher and not next(self.workers) then
    -- What Trainer cannot make of a job it says in events alone.
    self.job_says = words.warning(self.ctx.k8s:list("events", {
      namespace = self.run.namespace, field = "involvedObject.uid=" .. job.metadata.uid,
    }))
  end
  if failed then
    api.raise("INTERNAL", "job-failed", "the TrainJob %s failed: %s; last seen: %s", self.job, failed, self:says())
  end
end

-- What is only for information, or will be tried again.
local function gently(self, f)
  local _, err = self.ctx:try(f, self)
  if err and (err.reason == "job-failed" or err.reason == "lock-lost" or err.reason == "undeclared-permission") then
    error(err, 0)
  end
end

--- Keeps what the launcher wrote before it was started again: the next start takes it away.
function follower:keep_before()
  local container = self.run.options.launcher.container
  local status = self.launcher and words.status_of(self.launcher, container) or {}
  local id = api.at(status, "lastState", "terminated").containerID
  self.restarts = self.launcher and math.max(self.restarts, words.restarts(self.launcher, container)) or 0
  if id and id ~= self.kept_before and #self.before < BEFORE_MAX then
    self.kept_before = id
    self.before[#self.before + 1] = log.before(self.run, self.launcher)
  end
end

local function renew(self)
  self.run.lock:renew()
end

-- Shows what the caller makes of the launcher's lines, as far as they can be read.
local function read_lines(self)
  local container = self.run.options.launcher.container
  while not (self.launcher and words.has_started(self.launcher, container)) do
    native.sleep(TICK_MS)
  end
  local opts <const> = { container = container, follow = true }
  self.ctx:try(function()
    for line, goes_on in self.ctx.k8s:logs(self.launcher.metadata.name, self.run.namespace, opts) do
      local said = not goes_on and self.run.options.line(line)
      if type(said) == "string" then
        self.line_says = api.clip(said)
        show(self)
      end
    end
  end)
end

-- Keeps the lock and looks at the clock.
local function keep(self)
  local times = self.run.times
  local renewed, looked = native.monotonic(), native.monotonic()
  while not self.is_done or not self.made_ms do
    check_times(self)
    self:keep_before()
    local now = native.monotonic()
    if now - renewed >= times.renew.ms then
      renewed = now
      gently(self, renew)
    elseif self.made_ms and now - looked >= times.look.ms then
      looked = now
      gently(self, look_at_job)
      gently(self, look_at_events)
      show(self)
    else
      native.sleep(TICK_MS)
    end
  end
end

--- Calls make while pods are watched, then waits until the launcher has succeeded.
--- @param make fun(trying: fun(is_sent: boolean)) makes the TrainJob; tells of each attempt
function follower:run_job(make)
  local strands <const> = {
    pods = function()
      watch_pods(self)
    end,
    keep = function()
      keep(self)
      error(DONE, 0)
    end,
    lines = self.run.options.line and function()
      read_lines(self)
    end,
    make = function()
      while not self.is_watching do
        native.sleep(10)
      end
      make(function(is_sent)
        self.is_made = is_sent
      end)
      self.made_ms = native.monotonic()
      show(self)
    end,
  }
  local _, err = pcall(self.ctx.all, self.ctx, strands)
  if err ~= DONE then
    error(err, 0)
  end
end

return M
