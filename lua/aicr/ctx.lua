-- SPDX-License-Identifier: Apache-2.0
--- `ctx`, all that a check can do (design 5, cli-and-reports.md 10.2). Made anew for every run of a check.
local compare = require "aicr.ctx.compare"
local errors = require "aicr.native.error"
local json = require "aicr.json"
local k8s = require "aicr.native.k8s"
local native = require "aicr.native.task"
local text = require "aicr.native.text"
local time = require "aicr.time"

local M = {}

-- Kept before any user code runs, which may change the tables of public modules.
local array, null, duration_of, clip = json.array, json.null, time.duration, compare.clip

-- Bytes of a text of an ending: so much, escaped, always fits the record.
local TEXT_MAX <const> = 16 * 1024
-- Endings of a run that are kept: the first decides, the others are told.
local ENDINGS_MAX <const> = 100
-- Bytes of a name, a unit, what is expected.
local NAME_MAX <const> = 1024
local EVIDENCE_MAX <const> = 4096
local TOO_LARGE <const> = "<too large>"
local ATTACHMENT_MAX <const> = 48 * 1024

local ctx = {}

local function misuse(fmt, ...)
  error(fmt:format(...), 3)
end

local function need(v, kind, what)
  if type(v) ~= kind then
    error(("%s must be a %s, got %s"):format(what, kind, type(v)), 3)
  end
  return v
end

-- fmt:format(…), or the text as it is when there is nothing to format.
local function formatted(fmt, ...)
  if select("#", ...) == 0 then
    return tostring(fmt)
  end
  if type(fmt) ~= "string" then
    error(("a format must be a string, got %s"):format(type(fmt)), 3)
  end
  return fmt:format(...)
end

-- The fields of an options table, each read once and without its metatable: what was checked is what is used.
local function take(t, known, what)
  if type(t) ~= "table" then
    error(("%s must be a table, got %s"):format(what, type(t)), 3)
  end
  local taken = {}
  for k, v in next, t do
    if not known[k] then
      local names = {}
      for name in pairs(known) do
        names[#names + 1] = name
      end
      table.sort(names)
      local near = type(k) == "string" and text.nearest(k, names)
      error(("%s: unknown field '%s'; %s"):format(what, tostring(k),
        near and ("did you mean '%s'?"):format(near) or "expected one of: " .. table.concat(names, ", ")), 3)
    end
    taken[k] = v
  end
  return taken
end

-- Cuts the texts of an ending.
local function clip_texts(t, what)
  for _, field in ipairs { "message", "why", "fix" } do
    local v = t[field]
    if v ~= nil and type(v) ~= "string" then
      error(("%s: %s must be a string, got %s"):format(what, field, type(v)), 3)
    end
    t[field] = v and clip(v, TEXT_MAX)
  end
end

local function need_code(code, what)
  local ok, made = pcall(errors.new, { code = code, reason = "x", message = "x" })
  if not ok then
    error(("%s: %s"):format(what, tostring(made)), 3)
  end
end

local function need_reason(reason, what)
  if type(reason) ~= "string" or #reason > 47 or not reason:find("^[a-z][a-z0-9-]*$") then
    error(("%s: reason must be a lower-case word with hyphens, got %s"):format(what, compare.show(reason)), 3)
  end
end

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

--- Data for a plot. @param points table {{x, y}, …}
function ctx:series(name, x, y, points)
  need(name, "string", "ctx:series: name")
  need(points, "table", "ctx:series: points")
  native.record("series", { name = name, x = x, y = y, points = array(points) })
end

--- A line of evidence for the report: `ctx:evidence("%d networks", n)`.
function ctx:evidence(fmt, ...)
  local line = formatted(fmt, ...)
  native.record("evidence", clip(line, EVIDENCE_MAX))
end

--- What the check waits for or does now, for the live line.
function ctx:progress(fmt, ...)
  native.progress(formatted(fmt, ...))
end

--- A text file in the report, at most 48 KiB.
function ctx:attach(name, kind, bytes)
  need(name, "string", "ctx:attach: name")
  need(bytes, "string", "ctx:attach: bytes")
  if #bytes > ATTACHMENT_MAX then
    misuse("ctx:attach: %d bytes, at most %d", #bytes, ATTACHMENT_MAX)
  end
  native.record("attachments", { name = name, type = kind, text = bytes })
end

--- How much of what the check is about it could verify. With --strict a pass below `total` is a fail.
-- @param t table {verified=, total=} whole numbers
function ctx:coverage(t)
  t = take(t, { verified = true, total = true }, "ctx:coverage")
  local verified, total = math.tointeger(t.verified), math.tointeger(t.total)
  if not verified or not total or verified < 0 or verified > total then
    misuse("ctx:coverage: verified and total must be whole numbers, 0 <= verified <= total")
  end
  native.set("coverage", { verified = verified, total = total })
end

--- Flat facts for machines: counts and codes, never names (validation-model.md 8).
-- @param t table {key = string | number | boolean}
function ctx:extra(t)
  need(t, "table", "ctx:extra: its argument")
  for k, v in next, t do
    need(k, "string", "ctx:extra: a key")
    if type(v) ~= "string" and type(v) ~= "number" and type(v) ~= "boolean" then
      misuse("ctx:extra: %s must be a string, a number or a boolean, got %s", k, type(v))
    end
    native.extra(k, v)
  end
end

--- Calls f(...) and gives its results, or `nil, err` when it raised an error object. Everything else passes through:
-- Lua errors, ctx:fail, ctx:skip, the check's deadline and a cancellation.
function ctx:try(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then
    return table.unpack(results, 2, results.n)
  end
  local err = results[2]
  if native.stopping() or not errors.is(err) then
    error(err, 0)
  end
  return nil, err
end

--- Runs functions side by side, e.g. `ctx:all { a = function() … end, b = … }`; gives their first results by the same
-- keys. When one raises, the others are ended and its error leaves here.
-- @param functions table key = function
-- @return table key = first result
function ctx:all(functions)
  need(functions, "table", "ctx:all: its argument")
  local keys = {}
  for key, fn in pairs(functions) do
    need(fn, "function", ("ctx:all: %s"):format(tostring(key)))
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and type(a) ~= "table" and type(a) ~= "boolean" then
      return a < b
    end
    return tostring(a) < tostring(b)
  end)
  local results, runners = {}, {}
  for i, key in ipairs(keys) do
    local fn = functions[key]
    runners[i] = function()
      results[key] = (fn())
    end
  end
  native.all(runners)
  return results
end

--- Names and times a part of the check; gives what fn returns.
function ctx:step(name, fn)
  need(name, "string", "ctx:step: name")
  need(fn, "function", "ctx:step: the second argument")
  native.progress(name)
  local began = native.monotonic()
  local results = table.pack(pcall(fn))
  local err = results[2]
  native.record("steps", {
    name = name,
    outcome = results[1] and "pass" or err == native.STOP and "ended" or "error",
    duration_ms = native.monotonic() - began,
  })
  if not results[1] then
    error(err, 0)
  end
  return table.unpack(results, 2, results.n)
end

--- Waits, e.g. `ctx:sleep("500ms")`.
function ctx:sleep(duration)
  native.sleep(duration_of(need(duration, "string", "ctx:sleep: its argument")))
end

--- Milliseconds since the epoch; with a recording the time at which it was made.
function ctx:now()
  return native.now()
end

local EVENTUALLY <const> = { timeout = true, every = true, reason = true, fix = true, why = true }

-- An object may show itself, but must not get in the way of the verdict.
local function last_seen(seen)
  if seen == nil then
    return ""
  end
  local ok, shown = pcall(tostring, seen)
  return ", last seen: " .. (ok and clip(shown, NAME_MAX) or "a " .. type(seen))
end

--- Polls until fn returns true; its second result is shown as "last seen". When the time is over the check fails.
-- An error inside fn ends the check. A recording does not change: there it polls as often, without waiting.
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
  native.progress(what)
  while true do
    local done, seen = fn()
    if done == true then
      return
    end
    polls = polls + 1
    local waited = virtual and polls * every or native.monotonic() - began
    if waited >= timeout then
      note {
        kind = "fail", code = "TIMEOUT", reason = opts.reason or "never-true", why = opts.why, fix = opts.fix,
        message = ("%s: not true after %s%s"):format(what, opts.timeout, last_seen(seen)),
      }
      error(native.STOP, 0)
    end
    if not virtual then
      native.sleep(math.min(every, timeout - waited))
    end
  end
end

-- ctx:defer(fn): runs fn after the check, however it ends; last in, first out; 60 s for all of them.
local function defer_into(list)
  return function(_, fn)
    need(fn, "function", "ctx:defer: its argument")
    list[#list + 1] = fn
    native.defer()
  end
end

-- A table that can be read but not written; reading a key that is not in `known` (when given) raises.
local function read_only(t, what, known)
  return setmetatable({}, {
    __index = function(_, key)
      local v = t[key]
      if v == nil and known and not known[key] then
        error(("%s has no '%s'"):format(what, tostring(key)), 2)
      end
      return v
    end,
    __newindex = function()
      error(what .. " can only be read", 2)
    end,
    __pairs = function()
      return function(_, key)
        return next(t, key)
      end, nil, nil
    end,
    __len = function()
      return #t
    end,
    __metatable = "aicr.read_only",
  })
end

-- The method, which is refused on any self but `own`: with a dot for a colon the arguments are not where they seem.
local function method(own, name, fn)
  return function(self, ...)
    if not rawequal(self, own) then
      error(("bad argument #1 to 'ctx:%s' (ctx expected, got %s; call it with a colon)"):format(name,
        type(self) == "table" and "another table" or type(self)), 2)
    end
    return fn(self, ...)
  end
end

local function or_nil(v)
  if v == null then
    return nil
  end
  return v
end

--- Makes the ctx of a run.
-- @param spec table {context={recipe,platform,namespace,run_id,seed,args}, params={key=value}}
-- @param declared table|nil the check's `params`
-- @param deferred table list that takes the functions of ctx:defer
-- @return table
function M.new(spec, declared, deferred)
  local context = or_nil(spec.context) or {}
  local seed = math.tointeger(or_nil(context.seed) or 0)
  math.randomseed(seed or 0)
  local own = {}
  local k8s_methods = read_only(k8s, "ctx.k8s", {})
  native.k8s(k8s_methods)
  local fields = {
    params = read_only(or_nil(spec.params) or {}, "ctx.params", declared or {}),
    args = read_only(or_nil(context.args) or {}, "ctx.args"),
    recipe = or_nil(context.recipe),
    platform = or_nil(context.platform),
    namespace = or_nil(context.namespace),
    run_id = or_nil(context.run_id),
    seed = seed,
    k8s = k8s_methods,
    defer = method(own, "defer", defer_into(deferred)),
  }
  for name, fn in pairs(ctx) do
    fields[name] = method(own, name, fn)
  end
  local known = { recipe = true, platform = true, namespace = true, run_id = true }
  return setmetatable(own, {
    __index = function(_, key)
      local v = fields[key]
      if v == nil and not known[key] then
        error(("ctx has no '%s'"):format(tostring(key)), 2)
      end
      return v
    end,
    __newindex = function(_, key)
      error(("ctx.%s cannot be set: use a local"):format(tostring(key)), 2)
    end,
    __metatable = "aicr.ctx",
  })
end

return M
