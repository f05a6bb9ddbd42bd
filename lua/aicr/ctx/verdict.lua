-- SPDX-License-Identifier: Apache-2.0
--- The methods of ctx that decide how a check ends.
local arguments = require "aicr.ctx.arguments"
local compare = require "aicr.ctx.compare"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"

local misuse, need, take = arguments.misuse, arguments.need, arguments.take
local clip_texts, need_code, need_reason = arguments.clip_texts, arguments.need_code, arguments.need_reason
local duration_of, clip = kept.duration, kept.clip

-- Endings of a run that are kept: the first decides, the others are told.
local ENDINGS_MAX <const> = 100
-- Bytes of a name, a unit, what is expected.
local NAME_MAX <const> = 1024
local TOO_LARGE <const> = "<too large>"

local ctx = {}

local endings, failed, skipped = 0, false, false

-- Notes an ending. Only the first fail needs its details, and skips say nothing new: however often a check ends, the
-- ending that decides has its room.
local function note(ending)
  local skip = ending.kind == "skip"
  if endings >= ENDINGS_MAX and (skip or failed) or skip and skipped then
    return
  end
  if failed then
    ending.details = nil
  end
  native.ending(ending)
  endings = endings + 1
  failed = failed or not skip
  skipped = skipped or skip
end

-- The table that ends a check; a text in its place is answered with the form to write.
local function ending_of(t, known, what)
  if type(t) ~= "table" then
    local message = type(t) == "string" and clip(t, 200) or "what was seen"
    error(('%s takes a table, got %s: write %s { reason = "a-word", message = %s }'):format(what,
      t == nil and "nothing" or type(t), what, (("%q"):format(message):gsub("\\\n", "\\n"))), 3)
  end
  return take(t, known, what)
end

local FAIL <const> = { code = true, reason = true, message = true, why = true, fix = true, details = true }

--- Ends the check as a fail. It stands even when the error that leaves here is caught.
-- @param t table {code=(default CONFLICT), reason=, message=, why=, fix=, details=}
function ctx:fail(t)
  t = ending_of(t, FAIL, "ctx:fail")
  need(t.message, "string", "ctx:fail: message")
  need_reason(t.reason, "ctx:fail")
  t.code = t.code == nil and "CONFLICT" or t.code
  need_code(t.code, "ctx:fail")
  clip_texts(t, "ctx:fail")
  t.kind = "fail"
  note(t)
  error(native.STOP, 0)
end

--- Ends the check as a skip: it does not apply here. Never for something that could not be read.
-- @param t table {reason=, message=}
function ctx:skip(t)
  t = ending_of(t, { reason = true, message = true }, "ctx:skip")
  need(t.message, "string", "ctx:skip: message")
  need_reason(t.reason, "ctx:skip")
  clip_texts(t, "ctx:skip")
  t.kind = "skip"
  note(t)
  error(native.STOP, 0)
end

local EXPECT <const> = {
  reason = true, code = true, message = true, why = true, fix = true, key = true, unit = true,
}

local function unmet(what, actual, op, wanted, opts)
  local unit = opts.unit and " " .. opts.unit or ""
  return ("%s: got %s%s, required %s %s%s"):format(what, compare.show(actual), unit, op, compare.show(wanted), unit)
end

local function expect(what, actual, op, wanted, opts, name)
  need(what, "string", name .. ": what is expected")
  opts = take(opts == nil and {} or opts, EXPECT, name .. ": options")
  clip_texts(opts, name)
  for _, field in ipairs { "key", "unit" } do
    opts[field] = opts[field] ~= nil and clip(need(opts[field], "string", name .. ": " .. field), NAME_MAX) or nil
  end
  if opts.reason ~= nil then
    need_reason(opts.reason, name)
  end
  if opts.code ~= nil then
    need_code(opts.code, name)
  end
  local operator = compare.operators[op]
  if not operator then
    error(("%s: unknown operator %s: == ~= < <= > >= matches contains same_list same_set"):format(name,
      compare.show(op)), 3)
  end
  local called, ok, details = pcall(operator, actual, wanted, opts)
  if not called then
    error(tostring(ok), 3)
  end
  what = clip(what, NAME_MAX)
  -- First what decides, then what is told of it.
  if not ok then
    note {
      kind = "expectation", code = opts.code or "CONFLICT", reason = opts.reason or "expectation",
      message = opts.message or unmet(what, actual, op, wanted, opts),
      why = opts.why, fix = opts.fix, details = details,
    }
  end
  local entry = {
    what = what, op = op, expected = wanted, actual = actual, ok = ok, reason = opts.reason, code = opts.code,
    why = opts.why, fix = opts.fix,
  }
  if not native.brief(entry) then
    entry.expected, entry.actual = TOO_LARGE, TOO_LARGE
  end
  native.record("expectations", entry)
  return ok
end

--- Records an expectation. A false one makes the check fail at its end; all of them are shown.
-- @param what string what is compared, for people
-- @param actual any
-- @param op string == ~= < <= > >= matches contains same_list same_set
-- @param wanted any
-- @param opts table|nil {reason=, code=, message=, why=, fix=, key=, unit=}
-- @return boolean did it hold
function ctx:expect(what, actual, op, wanted, opts)
  return expect(what, actual, op, wanted, opts, "ctx:expect")
end

--- The same, but a false one ends the check now.
function ctx:must(what, actual, op, wanted, opts)
  if not expect(what, actual, op, wanted, opts, "ctx:must") then
    error(native.STOP, 0)
  end
  return true
end

-- What a limit allows after its tolerance, which always widens it.
local function widened(limit)
  local slack = math.abs(limit.value) * (limit.tolerance or 0)
  if limit.op == ">=" or limit.op == ">" then
    return limit.value - slack
  end
  return limit.value + slack
end

local LIMIT <const> = {
  op = true, value = true, tolerance = true, reason = true, code = true, fix = true, why = true,
}

--- A number for the report; with a limit also an expectation.
-- @param name string
-- @param value number
-- @param unit string "GB/s", "ms", …
-- @param limit table|nil {op = ">=" | ">" | "<=" | "<", value = number, tolerance = 0.10, reason=, code=, fix=}
-- @return boolean false when it has a limit and does not meet it
function ctx:measure(name, value, unit, limit)
  name = clip(need(name, "string", "ctx:measure: name"), NAME_MAX)
  need(value, "number", "ctx:measure: value")
  unit = clip(need(unit, "string", "ctx:measure: unit"), NAME_MAX)
  if not limit then
    native.record("measures", { name = name, value = value, unit = unit })
    return true
  end
  limit = take(limit, LIMIT, "ctx:measure: limit")
  need(limit.value, "number", "ctx:measure: limit.value")
  if limit.op ~= ">=" and limit.op ~= ">" and limit.op ~= "<=" and limit.op ~= "<" then
    misuse("ctx:measure: limit.op must be one of >= > <= <, got %s", compare.show(limit.op))
  end
  if limit.tolerance ~= nil and (type(limit.tolerance) ~= "number" or limit.tolerance < 0 or limit.tolerance >= 1) then
    misuse("ctx:measure: limit.tolerance must be a share from 0 up to 1, got %s", compare.show(limit.tolerance))
  end
  local bound = widened(limit)
  local tolerance = limit.tolerance and limit.tolerance > 0
    and (" (tolerance %g %% → %g)"):format(limit.tolerance * 100, bound) or ""
  local ok = expect(name, value, limit.op, bound, {
    reason = limit.reason, code = limit.code, fix = limit.fix, why = limit.why,
    message = ("%s: got %s %s, required %s %s %s%s"):format(name, value, unit, limit.op, limit.value, unit, tolerance),
  }, "ctx:measure")
  native.record("measures", {
    name = name, value = value, unit = unit, limit = ("%s %s"):format(limit.op, limit.value),
    tolerance = limit.tolerance, ok = ok,
  })
  return ok
end

local EVENTUALLY <const> = { timeout = true, every = true, reason = true, fix = true, why = true }

--- Polls until fn returns true; its second result is shown as "last seen". When the time is over the check fails.
-- An error inside fn ends the check. A recording is polled as often as the run was that it is of, without waiting.
-- @param what string what is waited for
-- @param opts table {timeout = "2m", every = "5s", reason=, fix=}
-- @param fn function() -> boolean, last seen
function ctx:eventually(what, opts, fn)
  what = clip(need(what, "string", "ctx:eventually: what is waited for"), NAME_MAX)
  opts = take(opts, EVENTUALLY, "ctx:eventually: options")
  need(fn, "function", "ctx:eventually: the third argument")
  if opts.reason ~= nil then
    need_reason(opts.reason, "ctx:eventually")
  end
  clip_texts(opts, "ctx:eventually")
  local timeout = duration_of(need(opts.timeout, "string", "ctx:eventually: timeout"))
  local every = math.max(duration_of(opts.every or "2s"), 10)
  local virtual = native.recording()
  local began, polls = native.monotonic(), 0
  local wait <close> = native.wait("eventually: " .. what, ("ctx:eventually %q"):format(what))
  native.progress(what)
  while true do
    native.look(wait)
    local done, seen = fn()
    if done == true then
      native.attained(wait)
      return
    end
    if seen ~= nil then
      native.seen(wait, (kept.shown(seen):gsub("%z", " ")))
    end
    polls = polls + 1
    local waited = virtual and polls * every or native.monotonic() - began
    if not native.goes_on(wait, waited >= timeout) then
      note {
        kind = "fail", code = "TIMEOUT", reason = opts.reason or "never-true", why = opts.why, fix = opts.fix,
        message = ("%s: not true after %s%s"):format(what, opts.timeout,
          seen ~= nil and ", last seen: " .. kept.shown(seen) or ""),
      }
      error(native.STOP, 0)
    end
    if not virtual then
      native.sleep(math.min(every, timeout - waited))
    end
  end
end

return ctx
