-- SPDX-License-Identifier: Apache-2.0
--- The result model: one table a check, the totals, the exit code. Reports are drawn from it.
local json = require "aicr.json"
local rbac = require "aicr.engine.rbac"
local text = require "aicr.report.text"
local time = require "aicr.time"

local M = {}

local opt = text.opt

local DAY_MS <const> = 24 * 60 * 60 * 1000

local RECORDED <const> = {
  "steps", "expectations", "measures", "series", "evidence", "log", "resources", "attachments",
}

-- What only some results have, from their outcome.
local SOME <const> = { "line", "code", "reason", "result", "message", "why", "fix", "details" }

-- What a result has none of, once for all results: thousands may wait for the reports.
local NONE <const> = { tags = json.array(), notes = json.array(), trace = json.array(), params = {} }
for _, name in ipairs(RECORDED) do
  NONE[name] = json.array()
end
local RESULT <const> = { __index = NONE }

--- The items, nil when there are none.
local function some(items)
  items = opt(items)
  return type(items) == "table" and next(items) ~= nil and items or nil
end

local function parameters(item)
  local params
  for key, given in pairs(item.params or {}) do
    local decl = item.meta.params and item.meta.params[key] or {}
    params = params or {}
    params[key] = { value = decl.secret and "***" or given.value, from = given.from }
  end
  return params
end

--- A note for a measure that is not a finite number, or nil.
local function finite(measure)
  local v = measure.value
  if math.type(v) == "float" and (v ~= v or v == math.huge or v == -math.huge) then
    return ("measure %s is not a finite number: %s"):format(
      tostring(measure.name), tostring(v))
  end
end

--- The items with one more, where there is one.
local function with(items, item)
  if item == nil then
    return items
  end
  local out = json.array(table.move(items, 1, #items, 1, {}))
  out[#out + 1] = item
  return out
end

--- Says that a result changes no more: it gives up what it does not need.
function M.settle(result)
  result.shown = M.shown(result)
  result.notes = some(result.notes)
end

--- The result of a planned check from its outcome and, where it ran, the host's record.
--- @param item table the planned check
--- @param out table what outcome.of or outcome.finish gave
--- @param event table|nil the done event; nil: never started
function M.new(item, out, event)
  local record = event and opt(event.record) or {}
  local result = setmetatable({
    name = item.name, phase = item.phase, tags = some(item.meta.tags), file = out.file or item.path,
    origin = item.origin, path = item.path, explain = rbac.operand(item), outcome = out.outcome,
    notes = out.notes or {}, started = event and opt(event.started),
    duration_ms = event and opt(event.duration_ms) or 0, attempts = event and 1 or 0,
  }, RESULT)
  for _, key in ipairs(SOME) do
    result[key] = out[key]
  end
  for _, key in ipairs(RECORDED) do
    result[key] = some(record[key])
  end
  result.trace, result.params = some(out.trace), parameters(item)
  result.extra, result.coverage = opt(record.extra), opt(record.coverage)
  for _, measure in ipairs(result.measures) do
    result.evidence = with(result.evidence, finite(measure))
  end
  return result
end

--- Applies a suite's waiver: a known failure, with a reason and a last day (inclusive, UTC).
--- @param result table of M.new
--- @param waiver table|nil {reason, expires = "YYYY-MM-DD"}
--- @param now integer milliseconds since the epoch
function M.waive(result, waiver, now)
  if not waiver or result.outcome ~= "fail" then
    return
  end
  if now < time.parse(waiver.expires .. "T00:00:00Z") + DAY_MS then
    result.waived = { reason = waiver.reason, expires = waiver.expires }
  else
    result.notes[#result.notes + 1] = ("the waiver of this check expired on %s: %s"):format(
      waiver.expires, waiver.reason)
  end
end

--- `waived` for a failure with a valid waiver, else the outcome.
function M.shown(result)
  return result.waived and "waived" or result.outcome
end

--- Counts of the results: checks, pass, fail, error, skip, waived.
function M.totals(results)
  local totals = { checks = #results, pass = 0, fail = 0, error = 0, skip = 0, waived = 0 }
  for _, result in ipairs(results) do
    local shown = M.shown(result)
    totals[shown] = totals[shown] + 1
  end
  return totals
end

local SIGNAL_EXIT <const> = { SIGHUP = 129, SIGINT = 130, SIGTERM = 143 }

--- The exit code after a signal.
--- @param signal string its name
function M.signal_exit(signal)
  return SIGNAL_EXIT[signal] or 130
end

--- The exit code of a run (cli-and-reports.md 3): a signal, then 1 over 3, then 4 for nothing.
--- @param totals table of M.totals
--- @param state table signal (name or nil), strict, unwritten (a report or a recording could not be written)
function M.exit_code(totals, state)
  if state.signal then
    return M.signal_exit(state.signal)
  elseif totals.fail > 0 or (state.strict and totals.skip + totals.waived > 0) then
    return 1
  elseif totals.error > 0 or state.unwritten then
    return 3
  elseif totals.checks == 0 then
    return 4
  end
  return 0
end

--- An id for a run: `20260310t201044-7f3a`.
--- @param now integer milliseconds since the epoch
--- @param random integer
function M.run_id(now, random)
  local stamp = time.format(now):gsub("%.%d+", ""):gsub("[-:Z]", ""):lower()
  return ("%s-%04x"):format(stamp, random & 0xffff)
end

--- Everything a report needs to know about the run, around its results.
--- @param run table id, start, stop, seed, strict, signal, target, recipe, recording, notes,
---   version, results
function M.model(run)
  run.totals = M.totals(run.results)
  run.exit_code = M.exit_code(run.totals, run)
  for _, result in ipairs(run.results) do
    result.shown = M.shown(result)
  end
  return run
end

return M
