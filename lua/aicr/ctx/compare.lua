-- SPDX-License-Identifier: Apache-2.0
--- The operators of ctx:expect (cli-and-reports.md 10.2): `== ~= < <= > >= matches contains same_list same_set`.
local brief = require "aicr.native.task".brief
local kept = require "aicr.ctx.kept"

local array, null, clip = kept.array, kept.null, kept.clip

local M = {}

local SHOWN_MAX <const> = 200
local TEXT_MAX <const> = 4096

-- Equal by value: tables by their members, integers and floats by number; metatables have no say, as in the record.
local function equal(a, b, depth)
  if rawequal(a, b) then
    return true
  end
  if type(a) ~= "table" or type(b) ~= "table" or depth > 100 then
    return false
  end
  for k, v in next, a do
    if not equal(v, rawget(b, k), depth + 1) then
      return false
    end
  end
  for k in next, b do
    if rawget(a, k) == nil then
      return false
    end
  end
  return true
end

-- In a comparison a line end is what may differ: it is shown, not made.
local SHOWN <const> = { ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

--- A value as text of at most some 200 bytes for a message: strings in quotes, tables as JSON, nil as nothing.
-- @param v any
-- @return string
function M.show(v)
  if v == nil or v == null then
    return "nothing"
  end
  if type(v) == "string" then
    return ('"%s"'):format((clip(v, SHOWN_MAX):gsub("[\\\n\r\t]", SHOWN)))
  end
  if type(v) ~= "table" then
    return tostring(v)
  end
  local text = brief(v)
  return text and clip(text, SHOWN_MAX) or "a large table"
end

-- "8" and 8 are never equal, and every Kubernetes quantity is text: the check is wrong then, not the cluster.
local function same_kind(actual, wanted, op)
  local a, w = type(actual), type(wanted)
  if (a == "string" and w == "number") or (a == "number" and w == "string") then
    error(("expect: %s %s %s compares text with a number: use tonumber(…), or value(…) of aicr.quantity"):format(
      M.show(actual), op, M.show(wanted)), 0)
  end
end

-- The least of nothing, or a rate in no time, was not observed and would be above every floor.
local function finite(actual, wanted, op)
  for _, v in ipairs { actual or false, wanted or false } do
    if v == math.huge or v == -math.huge then
      error(("expect: %s %s %s compares what is not finite: was anything measured?"):format(M.show(actual), op,
        M.show(wanted)), 0)
    end
  end
end

local function ordered(op)
  return function(actual, wanted)
    same_kind(actual, wanted, op)
    finite(actual, wanted, op)
    if type(wanted) ~= "number" then
      error(("expect: the operator %s needs a number on the right, got %s"):format(op, type(wanted)), 0)
    end
    if type(actual) ~= "number" then
      return false
    end
    if op == "<" then
      return actual < wanted
    elseif op == "<=" then
      return actual <= wanted
    elseif op == ">" then
      return actual > wanted
    end
    return actual >= wanted
  end
end

-- The members of a list as they are, without its metatable; nil where a member is missing or has another key than its
-- place, which a comparison of the others would not see.
local function members(list)
  local found, n = {}, 0
  for _ in next, list do
    n = n + 1
  end
  for i = 1, n do
    found[i] = rawget(list, i)
    if found[i] == nil then
      return nil
    end
  end
  return found
end

local function need_list(v, op)
  local list = type(v) == "table" and members(v)
  if not list then
    error(("expect: the operator %s needs a list on the right, got %s"):format(op,
      type(v) == "table" and "a table with keys, or with a nil in it" or type(v)), 0)
  end
  return list
end

-- An empty text is in every text, also where the right side came from something that is not set.
local function need_text(wanted, op)
  if wanted == "" then
    error(("expect: the operator %s needs more than an empty text on the right"):format(op), 0)
  end
end

local function has(list, value)
  for i = 1, rawlen(list) do
    local member = rawget(list, i)
    if member ~= nil and equal(member, value, 0) then
      return true
    end
  end
  return false
end

-- The members of a that b lacks, each as often as it is missing.
local function without(a, b)
  local rest, used = array {}, {}
  for _, x in ipairs(a) do
    local found = false
    for j, y in ipairs(b) do
      if not used[j] and equal(x, y, 0) then
        used[j], found = true, true
        break
      end
    end
    if not found then
      rest[#rest + 1] = x
    end
  end
  return rest
end

local function text_of(v)
  if v == nil then
    return null
  end
  return type(v) == "string" and clip(v, TEXT_MAX) or M.show(v)
end

local function list_diff(actual, wanted, opts)
  local rows = array {}
  for i = 1, math.max(#actual, #wanted) do
    rows[i] = { k = tostring(i), l = text_of(wanted[i]), r = text_of(actual[i]) }
  end
  return { diff = { key = opts.key or "position", left = "expected", right = "actual", rows = rows } }
end

--- Each operator: function(actual, wanted, opts) -> boolean, details or nil. Raises a string on misuse.
M.operators = {
  ["=="] = function(actual, wanted)
    same_kind(actual, wanted, "==")
    return equal(actual, wanted, 0)
  end,
  -- A value that is not there was not observed to differ.
  ["~="] = function(actual, wanted)
    same_kind(actual, wanted, "~=")
    local absent = actual == nil or actual == null
    return not absent and not equal(actual, wanted, 0)
  end,
  ["<"] = ordered "<",
  ["<="] = ordered "<=",
  [">"] = ordered ">",
  [">="] = ordered ">=",
  matches = function(actual, wanted)
    if type(wanted) ~= "string" then
      error("expect: the operator matches needs a Lua pattern on the right, got " .. type(wanted), 0)
    end
    need_text(wanted, "matches")
    return type(actual) == "string" and actual:find(wanted) ~= nil
  end,
  contains = function(actual, wanted)
    if type(actual) == "string" and type(wanted) == "string" then
      need_text(wanted, "contains")
      return actual:find(wanted, 1, true) ~= nil
    end
    return type(actual) == "table" and has(actual, wanted)
  end,
  same_list = function(actual, wanted, opts)
    wanted = need_list(wanted, "same_list")
    actual = type(actual) == "table" and members(actual)
    if not actual then
      return false
    end
    local ok = #actual == #wanted
    for i = 1, #wanted do
      ok = ok and equal(actual[i], wanted[i], 0)
    end
    return ok, not ok and list_diff(actual, wanted, opts) or nil
  end,
  same_set = function(actual, wanted)
    wanted = need_list(wanted, "same_set")
    actual = type(actual) == "table" and members(actual)
    if not actual then
      return false
    end
    local missing, unexpected = without(wanted, actual), without(actual, wanted)
    if #missing + #unexpected == 0 then
      return true
    end
    return false, { missing = missing, unexpected = unexpected }
  end,
}

return M
