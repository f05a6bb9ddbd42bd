-- SPDX-License-Identifier: Apache-2.0
--- The result model: one table a check, the totals, the exit code. Reports are drawn from it.
local text = require "aicr.report.text"
local time = require "aicr.time"

local M = {}

local opt, list = text.opt, text.list

local DAY_MS <const> = 24 * 60 * 60 * 1000

local RECORDED <const> = {
  "steps", "expectations", "measures", "series", "evidence", "log", "resources", "attachments",
}

local function parameters(item)
  local params = {}
  for key, given in pairs(item.params or {}) do
    local decl = item.meta.params and item.meta.params[key] or {}
    params[key] = { value = decl.secret and "***" or given.value, from = given.from }
  end
  return params
end

local function finite(measure, evidence)
  local v = measure.value
  if math.type(v) == "float" and (v ~= v or v == math.huge or v == -math.huge) then
    evidence[#evidence + 1] = ("measure %s is not a finite number: %s"):format(
      tostring(measure.name), tostring(v))
  end
end

--- The result of a planned check from its outcome and, where it ran, the host's record.
--- @param item table the planned check
--- @param out table what outcome.of or outcome.finish gave
--- @param event table|nil the done event; nil: never started
function M.new(item, out, event)
  local record = event and opt(event.record) or {}
  local result = {
    name = item.name, phase = item.phase, tags = item.meta.tags or {},
    file = out.file or item.path, line = out.line, origin = item.origin, path = item.path,
    explain = item.meta.name,
    outcome = out.outcome, code = out.code, reason = out.reason, result = out.result,
    message = out.message, why = out.why, fix = out.fix, details = out.details,
    notes = out.notes or {}, trace = out.trace or {},
    started = event and opt(event.started), duration_ms = event and opt(event.duration_ms) or 0,
    attempts = event and 1 or 0,
    params = parameters(item),
    extra = opt(record.extra), coverage = opt(record.coverage),
  }
  for _, key in ipairs(RECORDED) do
    result[key] = list(record[key])
  end
  for _, measure in ipairs(result.measures) do
    finite(measure, result.evidence)
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

local SIGNAL_EXIT <const> = { SIGINT = 130, SIGTERM = 143 }

--- The exit code of a run (cli-and-reports.md 3): a signal, then 1 over 3, then 4 for nothing.
--- @param totals table of M.totals
--- @param state table signal (name or nil), strict, unwritten (a report could not be written)
function M.exit_code(totals, state)
  if state.signal then
    return SIGNAL_EXIT[state.signal] or 130
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
