-- SPDX-License-Identifier: Apache-2.0
--- Objects of the API as YAML that people read and kubectl takes.
local json = require "aicr.json"
local yaml = require "aicr.yaml"

local M = {}

-- Keys that come first, in this order; the others follow by name.
local FIRST <const> = { "apiVersion", "kind", "metadata", "name", "namespace" }
local RANK <const> = {}
for i, key in ipairs(FIRST) do
  RANK[key] = i
end

local function keys_of(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    local x, y = RANK[a] or math.huge, RANK[b] or math.huge
    if x ~= y then
      return x < y
    end
    return a < b
  end)
  return keys
end

-- Text that is the same text without quotes, by both sets of rules.
local function is_plain(s)
  if not s:match "^[%a/._-][%w/._:=+-]*$" or s:sub(-1) == ":" or s:find("---", 1, true) then
    return false
  end
  local ok, read = pcall(yaml.decode, s, { schema = "kubernetes" })
  return ok and read == s
end

-- JSON leaves as it is what YAML takes for a line's end, or refuses.
local ESCAPED <const> = {
  ["\226\128\168"] = "\\u2028", ["\226\128\169"] = "\\u2029", ["\239\187\191"] = "\\ufeff",
  ["\239\191\190"] = "\\ufffe", ["\239\191\191"] = "\\uffff",
}

local function in_quotes(s)
  local text = json.encode(s):gsub("[\226\239][\128-\191][\128-\191]", ESCAPED)
  text = text:gsub("\194([\128-\159])", function(c) return ("\\u%04x"):format(c:byte()) end)
  return (text:gsub("\127", "\\u007f"))
end

local function scalar(v)
  if type(v) == "string" and is_plain(v) then
    return v
  elseif type(v) == "string" and v:find '["\\]' and not v:find "[^ -~]" and not v:find "'" then
    return "'" .. v .. "'"
  elseif type(v) == "string" then
    return in_quotes(v)
  end
  return json.encode(v)
end

-- A text of lines can stand as lines when no line starts or ends with a blank.
local function is_block(s)
  return type(s) == "string" and s:find "\n" and s:sub(-1) == "\n" and s:sub(-2) ~= "\n\n" and not s:find "[^\n -~]"
    and not s:find "^%s" and not s:find " \n"
end

local function is_list(v)
  return json.is_array(v) or type(v) == "table" and #v > 0
end

local add

-- The value behind "key:" or "-", whose line is the last of out.
local function add_value(out, v, indent)
  if type(v) == "table" and next(v) ~= nil then
    add(out, v, indent)
  elseif type(v) == "table" then
    out[#out] = out[#out] .. (is_list(v) and " []" or " {}")
  elseif is_block(v) then
    out[#out] = out[#out] .. " |"
    for line in v:gmatch "([^\n]*)\n" do
      out[#out + 1] = line == "" and "" or indent .. line
    end
  else
    out[#out] = out[#out] .. " " .. scalar(v)
  end
end

local function add_list(out, list, indent)
  for _, item in ipairs(list) do
    local first = #out + 1
    if type(item) == "table" and next(item) ~= nil then
      add(out, item, indent .. "  ")
      out[first] = indent .. "- " .. out[first]:sub(#indent + 3)
    else
      out[first] = indent .. "-"
      add_value(out, item, indent .. "  ")
    end
  end
end

local function add_map(out, map, indent)
  for _, key in ipairs(keys_of(map)) do
    out[#out + 1] = indent .. scalar(key) .. ":"
    local member = map[key]
    -- Lists stand below their key, without a further step in.
    add_value(out, member, is_list(member) and indent or indent .. "  ")
  end
end

add = function(out, v, indent)
  if is_list(v) then
    add_list(out, v, indent)
  else
    add_map(out, v, indent)
  end
end

--- The objects, separated by `---`.
--- @param objects table[]
--- @return string
function M.yaml(objects)
  local out = {}
  for i, object in ipairs(objects) do
    if i > 1 then
      out[#out + 1] = "---"
    end
    add(out, object, "")
  end
  return table.concat(out, "\n") .. "\n"
end

return M
