-- SPDX-License-Identifier: Apache-2.0
--- Runs a plan: which check may start now, what its end means for the others, signals, the run's
--- time limit, retries. Phases follow one another; in a phase checks run side by side, exclusive
--- ones alone.
local advice = require "aicr.engine.advice"
local attempts = require "aicr.engine.attempts"
local errors = require "aicr.native.error"
local outcome = require "aicr.engine.outcome"
local result = require "aicr.engine.result"
local secret = require "aicr.engine.secret"
local text = require "aicr.report.text"

local M = {}

local OVER <const> = "the run's time limit is over"

local function nothing() end

--- Who watches a run: nobody.
local NOBODY <const> = { tick_ms = 1000, begun = nothing, again = nothing, said = nothing,
  ended = nothing, tick = nothing }

local Run = {}
Run.__index = Run

function Run:settle(i, res)
  local item = self.plan[i]
  result.waive(res, item.waiver, self.host.now())
  result.settle(res)
  self.results[i] = res
  self.tries[i] = nil
  item.source, item.roots = nil, nil -- it is not started again
  self.by_name[item.name] = res
  self.journal(res)
  self.watch:ended(res)
  local shown = res.shown
  if self.options.fail_fast and (shown == "fail" or shown == "error") then
    self.stopped = true
  end
end

--- Settles a check with what was decided about it.
--- @param out table outcome, code, reason, message, …
--- @param event table|nil the done event of its last attempt
--- @param open integer|nil milliseconds that an attempt took which did not end
function Run:decide(i, out, event, open)
  local item = self.plan[i]
  local res = result.new(item, event and out or outcome.finish(out, item), event)
  attempts.apply(res, self.tries[i], self.retry)
  if open then
    res.attempts, res.duration_ms = res.attempts + 1, res.duration_ms + open
    res.started = res.started or self.host.now() - open
  end
  self:settle(i, res)
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
  elseif self.expired then
    return {
      outcome = "error", code = "TIMEOUT", reason = "timeout",
      message = ("not started: the run's time limit of %s was over"):format(
        text.time_limit(self.limit_ms)),
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
      message = err.message or "no cluster is configured", fix = advice.fix(err.reason, nil, err.message),
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
  local left = self:left()
  local given = item.timeout_ms
  self.cut[i] = left and left < (given or math.huge)
  local ok, err = pcall(self.host.start, {
    id = i,
    name = item.name,
    attempt = #(self.tries[i] or {}) + 1,
    path = item.path,
    source = item.source,
    roots = item.roots,
    params = params,
    needs = item.meta.needs or {},
    deadline_ms = self.cut[i] and math.max(left, 1) or given,
    context = self.context,
  })
  if not ok then
    self:decide(i, refused(err))
    return
  end
  self.running[i] = self.host.monotonic()
  if self.tries[i] then
    self.watch:again(item, #self.tries[i] + 1, self.retry + 1)
  else
    self.watch:begun(item)
  end
  self.active = self.active + 1
  self.alone = item.exclusive
end

--- True when a check whose turn it is may be started now.
function Run:room(item)
  return self.active == 0
    or not (item.exclusive or self.alone or self.active >= self.jobs)
end

--- Starts, or settles, all of the phase that may go now, in plan order.
function Run:advance(first, last)
  self.from = math.max(self.from, first)
  while self.from <= last and self.results[self.from] do
    self.from = self.from + 1
  end
  for i = self.from, last do
    local item = self.plan[i]
    if not self.results[i] and not self.running[i] then
      local ending = item.preset or self.signal or self.expired or self.stopped
      local blocked = not ending and self:waits(item)
      local out = not blocked and self:withheld(item)
      if out then
        self:decide(i, out)
      elseif not blocked then
        if not self:room(item) then
          return
        end
        self:start(i)
      end
    end
  end
end

function Run:cancel_all(reason, over)
  for i = self.from, #self.plan do
    if self.running[i] then
      self.host.cancel(i, reason, over)
    end
  end
end

function Run:on_signal(event)
  if self.signal then
    self.abandoned = true
    return
  end
  self.signal = event.signal
  self:cancel_all(event.signal)
end

--- Milliseconds until the run's time limit; nil when it has none or it is over.
function Run:left()
  return self.limit_at and not self.expired and self.limit_at - self.host.monotonic() or nil
end

--- Ends what runs when the run's time limit is over.
function Run:watch_limit()
  local left = self:left()
  if left and left <= 0 and not self.signal then
    self.expired = true
    self:cancel_all(OVER, true)
  end
end

--- How a check ended, where the run's time limit ended it: by itself, when the check was too busy to be told.
function Run:ending_of(event)
  local ending = text.opt(event.ending) or {}
  local how = ending.how
  if self.expired and (how == "canceled" or how == "deadline" and self.cut[event.id]) then
    return { how = "deadline", awaited = ending.awaited, at = ending.at,
      message = ("stopped: the run's time limit of %s was over"):format(text.time_limit(self.limit_ms)) }
  end
  return ending
end

--- True when a check that ended as error is to be run again.
function Run:retries(out, tries)
  return out.outcome == "error" and #tries <= self.retry
    and not (self.signal or self.expired or self.stopped)
end

function Run:on_done(event)
  local i = event.id
  if not self.running[i] then
    return
  end
  self.running[i] = nil
  self.active = self.active - 1
  self.alone = false
  local item, tries = self.plan[i], self.tries[i] or {}
  secret.saw(item, event.record and event.record.secrets)
  if event.record then
    event.record.secrets = nil
  end
  event.ending = self:ending_of(event)
  local out = outcome.of(event, item, { strict = self.options.strict, left = tries.left })
  out = secret.outcome(out, item)
  event.record = secret.record(event.record, item)
  self.tries[i] = tries
  attempts.add(tries, out, event)
  if self:retries(out, tries) then
    self:start(i)
  else
    self:decide(i, out, event)
  end
end

function Run:abandon()
  for i, item in ipairs(self.plan) do
    if not self.results[i] then
      local out = self:withheld(item)
      if self.running[i] then
        out.message = ("stopped by a second %s: its clean-up was not awaited"):format(self.signal)
        out.why = self.said[i] and "what it said last: " .. self.said[i]
        self.unconfirmed[#self.unconfirmed + 1] = item.name
      end
      self:decide(i, out, nil, self.running[i] and self.host.monotonic() - self.running[i])
    end
  end
end

function Run:phase(first, last)
  self:watch_limit()
  self:advance(first, last)
  while self.active > 0 do
    local wait = math.min(self.watch.tick_ms, math.max(self:left() or self.watch.tick_ms, 1))
    local event = self.host.next(wait)
    self:watch_limit()
    if event.kind == "signal" then
      self:on_signal(event)
    elseif event.kind == "done" then
      self:on_done(event)
    elseif event.kind == "progress" and self.running[event.id] then
      secret.saw(self.plan[event.id], event.secrets)
      local said = secret.masked(event.text, self.plan[event.id])
      self.said[event.id] = said
      self.watch:said(self.plan[event.id], said)
    end
    if self.abandoned then
      return
    end
    self:watch_limit()
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
--- @param options table cluster, context, jobs, retry, limit_ms and limit_at (the run's time limit
---   and the monotonic time at which it is over), fail_fast, strict, signal (one that came earlier),
---   journal, watch (tick_ms, and methods begun(item), again(item, attempt, of), said(item, text),
---   ended(result), tick())
--- @return table results in plan order
--- @return string|nil name of the signal that interrupted the run
--- @return table names of the checks whose clean-up was not awaited
function M.execute(plan, host, options)
  local run = setmetatable({
    plan = plan, host = host, options = options,
    cluster = options.cluster, context = options.context,
    jobs = options.jobs, retry = options.retry or 0, watch = options.watch or NOBODY,
    limit_ms = options.limit_ms, limit_at = options.limit_at,
    journal = options.journal or nothing, signal = options.signal,
    results = {}, by_name = {}, planned = {}, running = {}, tries = {}, unconfirmed = {}, said = {}, cut = {},
    active = 0, from = 1,
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
  return run.results, run.signal, run.unconfirmed
end

return M
