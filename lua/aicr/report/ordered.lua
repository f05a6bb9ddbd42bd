-- SPDX-License-Identifier: Apache-2.0
--- Writes JSON whose members stand in a chosen order, indented, stable and always valid:
--- bad UTF-8 becomes U+FFFD, integers above 2^53 become strings, NaN and infinity become null.
local json = require "aicr.json"

local M = {}

local MAX_EXACT <const> = 1 << 53
local array_mt = getmetatable(json.array())
local object_mt = {}

--- An object whose members are written in the order given; a nil value is left out.
--- @param ... any key, value, key, value, …
function M.object(...)
  local list, args = { n = 0 }, table.pack(...)
  for i = 1, args.n, 2 do
    if args[i + 1] ~= nil then
      list.n = list.n + 1
      list[list.n] = { args[i], args[i + 1] }
    end
  end
  return setmetatable(list, object_mt)
end

--- A list that is written as an array, also when it is empty.
function M.array(t)
  return json.array(t)
end

local function number(v)
  if math.type(v) == "integer" then
    if v > MAX_EXACT or v < -MAX_EXACT then
      return ('"%d"'):format(v)
    end
    return ("%d"):format(v)
  elseif v ~= v or v == math.huge or v == -math.huge then
    return "null"
  end
  local short = ("%.15g"):format(v)
  local text = tonumber(short) == v and short or ("%.17g"):format(v)
  return text:find("[%.eE]") and text or text .. ".0"
end

local function pairs_of(t)
  local list = { n = 0 }
  for k in pairs(t) do
    list.n = list.n + 1
    list[list.n] = tostring(k)
  end
  table.sort(list)
  for i, k in ipairs(list) do
    local v = t[k]
    if v == nil then
      v = t[tonumber(k)]
    end
    list[i] = { k, v }
  end
  return list
end

local write

local function block(out, indent, open, close, n, item)
  if n == 0 then
    out[#out + 1] = open .. close
    return
  end
  local inner = indent .. "  "
  out[#out + 1] = open .. "\n"
  for i = 1, n do
    out[#out + 1] = inner
    item(i, inner)
    out[#out + 1] = i < n and ",\n" or "\n"
  end
  out[#out + 1] = indent .. close
end

local function write_table(out, v, indent)
  local mt = getmetatable(v)
  if mt == array_mt or (mt ~= object_mt and #v > 0) then
    block(out, indent, "[", "]", #v, function(i, inner) write(out, v[i], inner) end)
    return
  end
  local list = mt == object_mt and v or pairs_of(v)
  block(out, indent, "{", "}", list.n, function(i, inner)
    out[#out + 1] = json.encode(list[i][1]) .. ": "
    write(out, list[i][2], inner)
  end)
end

write = function(out, v, indent)
  local kind = type(v)
  if v == json.null then
    out[#out + 1] = "null"
  elseif kind == "table" then
    write_table(out, v, indent)
  elseif kind == "string" then
    out[#out + 1] = json.encode(v)
  elseif kind == "number" then
    out[#out + 1] = number(v)
  elseif kind == "boolean" then
    out[#out + 1] = tostring(v)
  else
    out[#out + 1] = "null"
  end
end

--- JSON text of a value, two blanks a level, closed by a line end.
function M.encode(value)
  local out = {}
  write(out, value, "")
  out[#out + 1] = "\n"
  return table.concat(out)
end

return M
