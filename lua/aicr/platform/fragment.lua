-- SPDX-License-Identifier: Apache-2.0
--- The values of override files: fragments are put in their places once, when a file is read, and
--- what a run says into what came out, for each run (recipes/overrides/workloadrun.yaml says how
--- they are written). That is all: no conditions but "is there", no loops, no functions.
local errors = require "aicr.native.error"
local json = require "aicr.json"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"
local yaml = require "aicr.yaml"

local M = {}

--- Fragments within fragments.
local DEPTH_MAX <const> = 8
--- Values of a row with its fragments in place.
local VALUES_MAX <const> = 20000
local PATTERN <const> = "%${([^}]*)}"

--- Raises INVALID_REQUEST/`override` that says where: file, row, key.
---@param at {file: string, row: string?, key: string?}
function M.refuse(at, fmt, ...)
  local where = at.file
  if at.row then
    where = where .. ": row " .. value.quoted(at.row)
  end
  if at.key and at.key ~= "" then
    where = where .. ": " .. at.key
  end
  value.invalid("override", "%s: %s", where, fmt:format(...))
end

--- The place one key or position further in.
function M.step(at, key)
  local path = at.key or ""
  if math.type(key) == "integer" then
    path = ("%s[%d]"):format(path, key)
  else
    path = path == "" and tostring(key) or path .. "." .. tostring(key)
  end
  return {
    file = at.file, row = at.row, key = path, known = at.known, fragment = at.fragment, stack = at.stack,
    count = at.count,
  }
end

--- Refuses what is no text, or an empty one.
function M.need_text(at, v)
  if type(v) ~= "string" or v == "" then
    M.refuse(at, "expected text, got %s", value.quoted(type(v) == "table" and json.encode(v) or v))
  end
end

local function decode(at, text, prefix)
  local ok, read = pcall(yaml.decode, text, { schema = "recipe" })
  if not ok then
    M.refuse(at, "%s%s", prefix, errors.is(read) and read.message or tostring(read))
  end
  return read
end

--- The YAML of a file of rows. Raises INVALID_REQUEST/`override` where it is none.
---@param text string
---@param file string its name
---@return any
function M.read(text, file)
  return decode({ file = file }, text, "")
end

local function variable(at, name)
  if type(name) ~= "string" or not at.known[name] then
    M.refuse(at, "%s is nothing that a run says%s", value.quoted(name), value.suggestion(name, sorted_keys(at.known)))
  end
end

local function check_text(at, s)
  for name in s:gmatch(PATTERN) do
    variable(at, name)
  end
end

local function read_fragment(at, name)
  if type(name) ~= "string" or not name:match "^[%w_-]+$" then
    M.refuse(at, "$use: expected the name of a fragment, got %s", value.quoted(name))
  end
  local file = "_lib/" .. name .. ".yaml"
  for i, open in ipairs(at.stack) do
    if open == name then
      M.refuse(at, "%s includes itself: %s", file, table.concat(at.stack, " -> ", i) .. " -> " .. name)
    end
  end
  if #at.stack >= DEPTH_MAX then
    M.refuse(at, "fragments are nested more than %d deep: %s", DEPTH_MAX, table.concat(at.stack, " -> "))
  end
  local source = at.fragment(name)
  if not source then
    M.refuse(at, "there is no fragment %s", file)
  end
  return decode(at, source, file .. ": ")
end

local resolve

local function resolve_use(at, name)
  local inner = M.step(at, "$use")
  inner.key, inner.stack = at.key, table.move(at.stack, 1, #at.stack, 1, {})
  local read = read_fragment(at, name)
  inner.stack[#inner.stack + 1] = name
  return resolve(inner, read)
end

local function only_key(at, map, key)
  for other in pairs(map) do
    if other ~= key then
      M.refuse(at, "%s stands alone, %s beside it would be lost", key, value.quoted(other))
    end
  end
end

local function resolve_map(at, map)
  if map["$use"] ~= nil then
    only_key(at, map, "$use")
    return resolve_use(at, map["$use"])
  end
  if map["$value"] ~= nil then
    only_key(at, map, "$value")
    variable(at, map["$value"])
    return map
  end
  local out = {}
  for key, member in pairs(map) do
    if key == "$when" then
      variable(at, member)
    elseif key:sub(1, 1) == "$" and not key:match "^%${" then
      M.refuse(at, "%s is not known; expected one of: $use, $value, $when", value.quoted(key))
    end
    check_text(at, key)
    out[key] = resolve(M.step(at, key), member)
  end
  return out
end

local function resolve_list(at, list)
  local out = json.array()
  for i, item in ipairs(list) do
    local read = resolve(M.step(at, i), item)
    if value.is_map(item) and item["$use"] ~= nil and json.is_array(read) then
      table.move(read, 1, #read, #out + 1, out)
    else
      out[#out + 1] = read
    end
  end
  return out
end

--- The value with its fragments in place; every name in it is one that a run says.
---@param at table {file=, row=, key=, known={[name]=true}, fragment=fun(name), stack={}}
---@param v any decoded YAML
resolve = function(at, v)
  at.count = at.count or { 0 }
  at.count[1] = at.count[1] + 1
  if at.count[1] > VALUES_MAX then
    M.refuse({ file = at.file, row = at.row }, "with its fragments in place there are more than %d values", VALUES_MAX)
  end
  if type(v) == "string" then
    check_text(at, v)
  elseif value.is_map(v) then
    return resolve_map(at, v)
  elseif type(v) == "table" then
    return resolve_list(at, v)
  end
  return v
end
M.resolve = resolve

local function fill(s, run)
  return (s:gsub(PATTERN, function(name) return tostring(run[name]) end))
end

local function is_there(v)
  return v ~= nil and v ~= false and v ~= "" and not (type(v) == "number" and v <= 0)
end

local render

local function render_map(map, run)
  if map["$value"] ~= nil then
    return run[map["$value"]]
  elseif map["$when"] ~= nil and not is_there(run[map["$when"]]) then
    return nil
  end
  local out, left_out = {}, false
  for key, member in pairs(map) do
    if key ~= "$when" then
      local made = render(member, run)
      left_out = left_out or made == nil
      out[fill(key, run)] = made
    end
  end
  if left_out and next(out) == nil then
    return nil
  end
  return out
end

local function render_list(list, run)
  local out = json.array()
  for _, item in ipairs(list) do
    out[#out + 1] = render(item, run)
  end
  if #out == 0 and #list > 0 then
    return nil
  end
  return out
end

--- The value for a run; nil when it is left out.
---@param v any what `resolve` made
---@param run table what the run says, by name
render = function(v, run)
  if type(v) == "string" then
    return fill(v, run)
  elseif value.is_map(v) then
    return render_map(v, run)
  elseif type(v) == "table" then
    return render_list(v, run)
  end
  return v
end
M.render = render

return M
