-- SPDX-License-Identifier: Apache-2.0
--- The methods of ctx for the way of a check: steps, side by side, waiting, going on after an error.
local arguments = require "aicr.ctx.arguments"
local errors = require "aicr.native.error"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"

local need, duration_of = arguments.need, kept.duration

local ctx = {}

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

return ctx
