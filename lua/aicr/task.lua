-- SPDX-License-Identifier: Apache-2.0
--- What the host calls in a check's state: run it, clean up after it, say how it ended.
-- Embedded code only; a check cannot require it.
local errors = require "aicr.native.error"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"

local encode, decode, is_error, clip = kept.encode, kept.decode, errors.is, kept.clip

local M = {}

-- Codes that may be a verdict (design 4): an error object is a table that a check can write to.
local VERDICTS <const> = { NOT_FOUND = true, CONFLICT = true, INVALID_REQUEST = true }
-- Bytes: of the result phrase, of a message, of the details of an error.
local RESULT_MAX <const> = 4096
local MESSAGE_MAX <const> = 16 * 1024
local DETAILS_MAX <const> = 512 * 1024
-- Levels that details have to leave free for what they are put in.
local DETAILS_ROOM <const> = 64

-- The functions handed to ctx:defer, in order.
local deferred = {}

--- Runs a check. Called in the coroutine of the check.
-- @param chunk function the user's file, executed anew for every run
-- @param context string JSON text `{context={…}, params={…}}`
-- @return what the check's `run` returned first
function M.run(chunk, context)
  local new_ctx = require "aicr.ctx".new -- before any user code
  local check = chunk()
  -- It was executed once before, and may return something else now.
  local run = type(check) == "table" and rawget(check, "run")
  if type(run) ~= "function" then
    error("the file returned no check when it was executed again", 0)
  end
  local params = rawget(check, "params")
  local ctx = new_ctx((decode(context)), type(params) == "table" and params or nil, deferred)
  local result = run(ctx) -- no tail call: traces name it
  return result
end

-- A raised value as text, without calling anything of the check's: it has ended.
local function text_of(value)
  if type(value) == "string" then
    return clip(value, MESSAGE_MAX)
  elseif type(value) ~= "table" then
    return tostring(value)
  end
  local message = rawget(value, "message")
  return type(message) == "string" and clip(message, MESSAGE_MAX) or "an error object of type table"
end

--- Runs what was deferred, last in first out; all of it, whatever fails.
function M.cleanup()
  local failed, told = {}, {}
  while #deferred > 0 do
    local fn = table.remove(deferred)
    local ok, err = pcall(fn)
    local message = not ok and err ~= native.STOP
      and (is_error(err) and clip(tostring(err), MESSAGE_MAX) or text_of(err))
    if message and not told[message] then
      failed[#failed + 1], told[message] = message, true
    end
  end
  if #failed > 0 then
    native.set("cleanup", { ok = false, message = clip(table.concat(failed, "; "), RESULT_MAX) })
  end
end

local function word(value)
  return type(value) == "string" and clip(value, MESSAGE_MAX) or nil
end

-- Details that fit the report, nil for others.
local function fitting(details)
  local deep = details
  for _ = 1, DETAILS_ROOM do
    deep = { deep }
  end
  local ok, text = pcall(encode, deep)
  return ok and #text <= DETAILS_MAX and details or nil
end

-- An error object as data: what does not fit JSON is left out rather than lost with everything else.
local function error_data(err, depth)
  local t = {
    code = word(err.code), reason = word(err.reason), message = word(err.message),
    verdict = err.verdict == true and VERDICTS[err.code] or false,
    details = fitting(err.details),
  }
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
    local result = type(value) == "string" and clip(value, RESULT_MAX) or nil
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
