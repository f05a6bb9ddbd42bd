-- SPDX-License-Identifier: Apache-2.0
--- What the host calls in a check's state: read its metadata, run it, clean up after it, say how it ended.
-- Embedded code only; a check cannot require it.
local describe = require "aicr.task.describe"
local errors = require "aicr.native.error"
local json = require "aicr.json"
local native = require "aicr.native.task"

-- Kept before any user code runs: a check may change the tables of its modules, and what is told of its end must not
-- follow that.
local encode, decode, is_error = json.encode, json.decode, errors.is

local M = {}

-- The functions handed to ctx:defer, in order.
local deferred = {}

--- Metadata of a source as JSON text: `{kind="check"|"suite", meta={…}}`.
-- @param chunk function the user's file
-- @return string
-- @raise a string that says what is wrong with the file's table
function M.describe(chunk)
  return encode(describe.describe(chunk()))
end

--- Runs a check. Called in the coroutine of the check.
-- @param chunk function the user's file, executed anew for every run
-- @param context string JSON text `{context={…}, params={…}}`
-- @return what the check's `run` returned first
function M.run(chunk, context)
  local check = chunk()
  local ctx = require "aicr.ctx".new((decode(context)), check.params, deferred)
  local result = check.run(ctx) -- no tail call: traces name it
  return result
end

--- Runs what was deferred, last in first out; all of it, whatever fails.
function M.cleanup()
  local failed = {}
  while #deferred > 0 do
    local fn = table.remove(deferred)
    local ok, err = pcall(fn)
    if not ok and err ~= native.STOP then
      failed[#failed + 1] = tostring(err)
    end
  end
  if #failed > 0 then
    native.set("cleanup", { ok = false, message = table.concat(failed, "; ") })
  end
end

local function text_of(value)
  local ok, text = pcall(tostring, value)
  return ok and type(text) == "string" and text or ("an error object of type " .. type(value))
end

-- An error object as data: what does not fit JSON is left out rather than lost with everything else.
local function error_data(err, depth)
  local t = { code = err.code, reason = err.reason, message = err.message, verdict = err.verdict }
  local ok = pcall(encode, err.details)
  t.details = ok and err.details or nil
  if is_error(err.cause) and depth < 4 then
    t.cause = error_data(err.cause, depth + 1)
  end
  return t
end

--- How a run ended.
-- @param kind string "returned" or "raised"
-- @param value any what was returned or raised
-- @return string "returned", "ended", "error" or "script"; string a JSON object that goes with it
function M.ending(kind, value)
  if kind == "returned" then
    local result = type(value) == "string" and value or nil
    return "returned", encode { result = result, result_type = type(value) }
  end
  if value == native.STOP then
    return "ended", "{}"
  end
  if is_error(value) then
    return "error", encode { error = error_data(value, 0) }
  end
  return "script", encode { message = text_of(value) }
end

return M
