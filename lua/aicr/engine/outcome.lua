-- SPDX-License-Identifier: Apache-2.0
--- From what a check recorded and how it ended to its outcome: the table of design.md 4. Pure.
local advice = require "aicr.engine.advice"
local observed = require "aicr.engine.observed"
local rbac = require "aicr.engine.rbac"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.report.text"

local M = {}

local opt, list = text.opt, text.list

local CODES <const> = {
  NOT_FOUND = true, UNAUTHORIZED = true, TIMEOUT = true, INTERNAL = true, INVALID_REQUEST = true,
  SERVICE_UNAVAILABLE = true, CONFLICT = true, CANCELED = true, RATE_LIMIT_EXCEEDED = true,
  METHOD_NOT_ALLOWED = true,
}

--- A code of AICR's closed set: a check may name any.
local function code_of(code, default)
  return CODES[code] and code or default
end

--- Text, whatever a check put in its place; nil when there is none.
local function words(v)
  v = opt(v)
  if v == nil or type(v) == "string" then
    return v
  end
  return text.value(v)
end

local function cause_text(cause)
  cause = opt(cause)
  if type(cause) == "table" then
    return words(cause.message)
  end
  return words(cause)
end

--- The sentence of an error object: its message, then its cause where that says more.
local function sentence(err)
  local message = words(err.message) or "no message"
  local cause = cause_text(err.cause)
  if cause and cause ~= "" and not message:find(cause, 1, true) then
    message = message .. ": " .. cause
  end
  return message
end

local function line_of(at)
  local line = opt(at.line)
  return math.type(line) == "integer" and line > 0 and line or nil
end

local function place(out, at)
  at = opt(at)
  if at then
    out.file, out.line = opt(at.file), line_of(at)
  end
end

local function false_expectations(record)
  local found = {}
  for _, e in ipairs(list(record.expectations)) do
    if e.ok == false then
      found[#found + 1] = e
    end
  end
  for _, m in ipairs(list(record.measures)) do
    if m.ok == false and #found == 0 then
      found[1] = {
        what = m.name,
        op = type(m.limit) == "table" and m.limit.op or nil,
        expected = type(m.limit) == "table" and m.limit.value or m.limit,
        actual = m.value,
      }
    end
  end
  return found
end

local function failed(ending)
  return {
    outcome = "fail",
    code = code_of(ending.code, "CONFLICT"),
    reason = opt(ending.reason) or (ending.kind == "expectation" and "expectation" or "failed"),
    message = words(ending.message),
    why = words(ending.why),
    fix = words(ending.fix),
    details = opt(ending.details),
  }
end

local function from_expectations(ending, wrong)
  local out = failed(ending)
  local first = wrong[1]
  out.message = out.message or (first and text.expectation(first)[1])
    or "an expectation does not hold"
  if #wrong > 1 then
    out.message = ("%d expectations do not hold; first: %s"):format(#wrong, out.message)
  end
  if first then
    out.why = out.why or words(first.why)
    out.fix = out.fix or words(first.fix)
  end
  return out
end

--- The first fail, or false expectation, that was recorded: it stands whatever follows.
local function recorded_fail(record)
  local wrong = false_expectations(record)
  for _, ending in ipairs(list(record.endings)) do
    if ending.kind == "fail" or ending.kind == "expectation" then
      local out
      if ending.kind == "fail" then
        out = failed(ending)
        out.message = out.message or "the check failed and gave no message"
      else
        out = from_expectations(ending, wrong)
      end
      place(out, ending.at)
      return out
    end
  end
  if #wrong > 0 then
    local e = wrong[1]
    return from_expectations({ kind = "expectation", code = e.code, reason = e.reason }, wrong)
  end
end

local function recorded_skip(record)
  for _, ending in ipairs(list(record.endings)) do
    if ending.kind == "skip" then
      local out = {
        outcome = "skip",
        reason = opt(ending.reason) or "not-applicable",
        message = words(ending.message) or "the check skipped itself and gave no message",
      }
      place(out, ending.at)
      return out
    end
  end
end

-- What the host itself recorded: it stands, whatever the check caught.
local function recorded_error(record)
  for _, ending in ipairs(list(record.endings)) do
    if ending.kind == "error" then
      local out = failed(ending)
      out.outcome = "error"
      place(out, ending.at)
      return out
    end
  end
end

local function internal(reason, message)
  return { outcome = "error", code = "INTERNAL", reason = reason, message = message }
end

local ENDED = {}

function ENDED.error(ending)
  local err = opt(ending.error) or {}
  local out = {
    outcome = err.verdict == true and "fail" or "error",
    code = code_of(err.code, "INTERNAL"),
    reason = opt(err.reason) or "error",
    message = sentence(err),
    why = words(err.why),
    fix = words(err.fix),
    details = opt(err.details),
  }
  place(out, ending.at)
  return out
end

function ENDED.script(ending)
  local at = opt(ending.at) or {}
  local file, line = opt(at.file), line_of(at)
  local message = words(ending.message) or "the check raised an error without a message"
  -- A place in what is built in says nothing to who wrote the check.
  message = file and message:gsub("^lua/aicr/[%w_/]+%.lua:%d+: ", "") or message
  if file then
    local where = line and ("%s:%d: "):format(file, line) or file .. ": "
    if message:sub(1, #where) ~= where then
      message = where .. message
    end
  end
  local out = internal("script", message)
  out.file, out.line, out.trace = file, line, list(ending.trace)
  return out
end

function ENDED.memory(ending)
  local out = internal("memory", words(ending.message) or "the check used up its memory limit")
  place(out, ending.at)
  return out
end

function ENDED.budget(ending)
  local out = internal("budget", words(ending.message) or "the check used up its instruction budget")
  place(out, ending.at)
  return out
end

function ENDED.deadline(ending, item)
  local limit = item.timeout_ms and " of " .. text.time_limit(item.timeout_ms) or ""
  local awaited = words(ending.awaited)
  local out = {
    outcome = "error",
    code = "TIMEOUT",
    reason = "timeout",
    message = (words(ending.message) or "the check did not end within its time limit" .. limit)
      .. (awaited and "; it was at " .. awaited or ""),
  }
  place(out, ending.at)
  return out
end

function ENDED.canceled(ending)
  return {
    outcome = "error",
    code = "CANCELED",
    reason = "interrupted",
    message = ("the check was canceled: %s%s"):format(words(ending.reason) or "no reason given",
      ending.cleaned == true and "; its clean-up ran to its end" or ""),
  }
end

local function returned_nothing(record, what)
  local n = #list(record.expectations)
  if n > 0 then
    return { outcome = "pass", result = text.count(n, "expectation holds", "expectations hold") }
  end
  return internal("script",
    ("run returned %s and recorded no expectation; return a phrase that says what was verified"):format(what))
end

function ENDED.returned(ending, _, record)
  local kind = opt(ending.result_type) or type(opt(ending.result))
  if kind == "nil" then
    return returned_nothing(record, "nothing")
  elseif kind ~= "string" then
    return internal("script",
      ("run returned a %s; expected a string that says what was verified"):format(kind))
  end
  local result = opt(ending.result) or ""
  if not result:find "%S" then
    return returned_nothing(record, "an empty phrase")
  end
  return { outcome = "pass", result = result }
end

local UNEXPECTED <const> = {
  error = true, script = true, memory = true, budget = true, deadline = true, canceled = true,
}

local function note(out, fmt, ...)
  out.notes[#out.notes + 1] = fmt:format(...)
end

local function decide(event, item, record)
  local ending = opt(event.ending) or {}
  local how = opt(ending.how) or "ended"
  local fail, skip = recorded_fail(record), recorded_skip(record)
  local after = ENDED[how] and ENDED[how](ending, item, record)
  if fail then
    fail.notes = {}
    if UNEXPECTED[how] then
      note(fail, "afterwards: %s", after.message)
    end
    return fail
  end
  local out = after
  if not UNEXPECTED[how] then
    out = recorded_error(record) or skip or after
  elseif out.outcome == "fail" then
    -- An error object, which the check may have written to.
    out = recorded_error(record) or out
  end
  out = out or internal("script", ("the check ended in no known way (%s)"):format(how))
  out.notes = {}
  return out
end

--- What of a check's clean-up, or that of an earlier attempt, is not confirmed; nil: nothing.
local function unconfirmed(record, left)
  local cleanup = opt(record.cleanup)
  if cleanup and cleanup.ok == false then
    return "clean-up could not be confirmed: " .. (words(cleanup.message) or "no message")
  elseif left then
    return "clean-up of an earlier attempt could not be confirmed: " .. words(left)
  end
end

local function apply_cleanup(out, record, left)
  local message = unconfirmed(record, left)
  if not message then
    return
  elseif out.outcome == "fail" or out.outcome == "error" then
    note(out, "%s", message)
    return
  end
  note(out, "before clean-up: %s, %s", out.outcome, out.result or out.message)
  out.outcome, out.code, out.reason, out.message = "error", "INTERNAL", "cleanup", message
  out.result = nil
end

local function apply_coverage(out, record, strict)
  local coverage = opt(record.coverage)
  if not coverage or out.outcome ~= "pass" then
    return
  end
  local verified, total = opt(coverage.verified) or 0, opt(coverage.total) or 0
  if verified >= total then
    return
  end
  local share = ("%d of %d"):format(verified, total)
  if strict then
    out.outcome, out.code, out.reason = "fail", "CONFLICT", "coverage"
    out.message = ("only %s verified: %s"):format(share, out.result)
    out.result = nil
  elseif not out.result:find(share, 1, true) then
    out.result = ("%s, %s verified"):format(out.result, share)
  end
end

--- The phrase of a comparison that failed: how many rows of it differ.
local function diff_phrase(out)
  local diff = text.diff_of(out.details)
  local n = #text.diff_lines(out.details)
  if n > 0 then
    local verb = n == 1 and "differs" or "differ"
    return ("%d of %s %s from the %s"):format(n, text.count(#diff.rows, diff.key), verb, diff.left)
  end
end

local function apply_dropped(out, record)
  for _, name in ipairs(sorted_keys(list(record.dropped))) do
    local n = record.dropped[name]
    if math.type(n) == "integer" and n > 0 then
      note(out, "%d more of %s were not kept: the record is full", n, name)
    end
  end
end

-- A fix whose commands look at the first node that a comparison of nodes found to differ, in place of NODE.
local function at_node(fix, diff)
  for _, row in ipairs(diff and diff.key == "node" and diff.rows or {}) do
    if text.differs(row) and type(row.k) == "string" then
      local name = rbac.shell(row.k)
      return (fix:gsub("%f[%w]NODE%f[%W]", function() return name end))
    end
  end
  return fix
end

--- The phrase, the fix and the place that every result carries once its outcome is known.
--- @param out table outcome, code, reason, message, …
--- @param item table the planned check: name, meta, path, cluster (the options that name the run's cluster)
function M.finish(out, item)
  out.notes = out.notes or {}
  local fixes = item.meta and item.meta.fixes or {}
  if out.outcome == "fail" or out.outcome == "error" then
    local fix = out.fix or opt(fixes[out.reason]) or advice.fix(out.reason, item, out.message)
    local misspelt = advice.misspelt(out)
    fix = fix and at_node(fix, text.diff_of(out.details))
    out.fix = misspelt and fix and ("%s; if not: %s"):format(misspelt, fix) or misspelt or fix
    out.fix = advice.on_cluster(out.fix, item.cluster)
    out.result = out.result or (out.outcome == "fail" and diff_phrase(out)) or out.message
  elseif out.outcome == "skip" then
    out.result = out.result or out.message
  end
  return out
end

--- Decides the outcome of a check that ended.
--- @param event table the host's done event: ending and record
--- @param item table name, meta (fixes), timeout_ms
--- @param options table|nil strict; left (what the clean-up of an earlier attempt left unconfirmed)
--- @return table outcome, code, reason, result, message, why, fix, details, file, line, trace,
---   notes
function M.of(event, item, options)
  local record = opt(event.record) or {}
  local out = decide(event, item, record)
  local strict = options and options.strict
  observed.apply(out, event, item, strict)
  apply_coverage(out, record, strict)
  apply_cleanup(out, record, options and options.left)
  apply_dropped(out, record)
  return M.finish(out, item)
end

return M
