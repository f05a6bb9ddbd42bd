-- SPDX-License-Identifier: Apache-2.0
--- Runs a plan: which check may start now, what its end means for the others, signals.
--- Phases follow one another; in a phase checks run side by side, exclusive ones alone.
local errors = require "aicr.native.error"
local outcome = require "aicr.engine.outcome"
local result = require "aicr.engine.result"
local secret = require "aicr.engine.secret"

local M = {}

local JOBS <const> = 4

local function nothing() end

--- Who watches a run: nobody.
local NOBODY <const> = { tick_ms = 1000, begun = nothing, said = nothing, ended = nothing,
  tick = nothing }

local Run = {}
Run.__index = Run

local function decided(item, out)
  return result.new(item, outcome.finish(out, item))
end

function Run:settle(i, res)
  local item = self.plan[i]
  result.waive(res, self.waive[item.name], self.host.now())
  res.shown = result.shown(res)
  self.results[i] = res
  self.by_name[item.name] = res
  self.journal(res)
  self.watch:ended(res)
  local shown = res.shown
  if self.options.fail_fast and (shown == "fail" or shown == "error") then
    self.stopped = true
  end
end

--- Why a check is not to be started: an outcome, or nil.
function Run:withheld(item)
  if item.preset then
    return item.preset
  elseif self.signal then
    return {
      outcome = "error", code = "CANCELED", reason = "interrupted",
      message = ("not started: the run was interrupted by %s"):format(self.signal),
    }
  elseif self.stopped then
    return {
      outcome = "skip", reason = "fail-fast",
      message = "not started: an earlier check failed or errored",
    }
  end
  for _, name in ipairs(item.meta.requires or {}) do
    local required = self.by_name[name]
    if required and required.outcome ~= "pass" then
      return {
        outcome = "skip", reason = "prerequisite",
        message = ("%s did not pass (%s)"):format(name, result.shown(required)),
      }
    end
  end
  if not self.cluster.ok and #(item.meta.needs or {}) > 0 then
    local err = self.cluster.error or {}
    return {
      outcome = "error", code = "INVALID_REQUEST", reason = "no-cluster",
      message = err.message or "no cluster is configured",
    }
  end
end

--- True when a check that this one requires is in the plan and has not ended.
function Run:waits(item)
  for _, name in ipairs(item.meta.requires or {}) do
    if self.planned[name] and not self.by_name[name] then
      return true
    end
  end
  return false
end

--- The outcome of a check that the host would not start.
local function refused(err)
  local known = errors.is(err)
  return {
    outcome = "error",
    code = known and err.code or "INTERNAL",
    reason = known and err.reason or "script",
    message = ("the check could not be started: %s"):format(known and err.message or tostring(err)),
  }
end

function Run:start(i)
  local item = self.plan[i]
  local params = {}
  for key, given in pairs(item.params or {}) do
    params[key] = given.value
  end
  local ok, err = pcall(self.host.start, {
    id = i,
    path = item.path,
    source = item.source,
    roots = item.roots,
    params = params,
    needs = item.meta.needs or {},
    deadline_ms = item.timeout_ms,
    context = self.context,
  })
  if not ok then
    self:settle(i, decided(item, refused(err)))
    return
  end
  self.running[i] = true
  self.watch:begun(item)
  self.active = self.active + 1
  self.alone = item.exclusive
end

--- Starts, or settles, all of the phase that may go now, in plan order.
function Run:advance(first, last)
  for i = first, last do
    local item = self.plan[i]
    if not self.results[i] and not self.running[i] then
      local blocked = not item.preset and not self.signal and not self.stopped and self:waits(item)
      local out = not blocked and self:withheld(item)
      if out then
        self:settle(i, decided(item, out))
      elseif not blocked then
        if self.active > 0 and (item.exclusive or self.alone or self.active >= self.jobs) then
          return
        end
        self:start(i)
      end
    end
  end
end

function Run:on_signal(event)
  if self.signal then
    self.abandoned = true
    return
  end
  self.signal = event.signal
  for i = 1, #self.plan do
    if self.running[i] then
      self.host.cancel(i, event.signal)
    end
  end
end

function Run:on_done(event)
  local i = event.id
  if not self.running[i] then
    return
  end
  self.running[i] = nil
  self.active = self.active - 1
  self.alone = false
  local item = self.plan[i]
  event.ending = secret.masked(event.ending, item)
  event.record = secret.masked(event.record, item)
  self:settle(i, result.new(item, outcome.of(event, item, self.options), event))
end

function Run:abandon()
  for i, item in ipairs(self.plan) do
    if not self.results[i] then
      local out = self:withheld(item)
      if self.running[i] then
        out.message = ("stopped by a second %s: its clean-up was not awaited"):format(self.signal)
      end
      self:settle(i, decided(item, out))
    end
  end
end

function Run:phase(first, last)
  self:advance(first, last)
  while self.active > 0 do
    local event = self.host.next(self.watch.tick_ms)
    if event.kind == "signal" then
      self:on_signal(event)
    elseif event.kind == "done" then
      self:on_done(event)
    elseif event.kind == "progress" and self.running[event.id] then
      self.watch:said(self.plan[event.id], secret.masked(event.text, self.plan[event.id]))
    end
    if self.abandoned then
      return
    end
    self:advance(first, last)
    self.watch:tick()
  end
end

local function phase_end(plan, first)
  local last = first
  while plan[last + 1] and plan[last + 1].phase == plan[first].phase do
    last = last + 1
  end
  return last
end

--- Runs all checks of a plan to their results.
--- @param plan table list of planned checks (engine/plan.lua)
--- @param host table the border
--- @param options table cluster, context, waive, jobs, fail_fast, strict, signal (one that came
---   earlier), watch (tick_ms, and methods begun(item), said(item, text), ended(result), tick())
--- @return table results in plan order
--- @return string|nil name of the signal that interrupted the run
function M.execute(plan, host, options)
  local run = setmetatable({
    plan = plan, host = host, options = options,
    cluster = options.cluster, context = options.context, waive = options.waive or {},
    jobs = options.jobs or JOBS, watch = options.watch or NOBODY,
    journal = options.journal or function() end,
    signal = options.signal, results = {}, by_name = {}, planned = {}, running = {}, active = 0,
  }, Run)
  for _, item in ipairs(plan) do
    run.planned[item.name] = true
  end
  local first = 1
  while first <= #plan and not run.abandoned do
    local last = phase_end(plan, first)
    run:phase(first, last)
    first = last + 1
  end
  if run.abandoned then
    run:abandon()
  end
  return run.results, run.signal
end

return M
