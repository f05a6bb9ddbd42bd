-- SPDX-License-Identifier: Apache-2.0
--- The types of parameters (cli-and-reports.md 2.2, 10.1): what a given value becomes, and whether a
--- declaration can be kept. A duration stays the text that was given; a size is bytes, a bandwidth
--- GB/s.
local json = require "aicr.json"
local time = require "aicr.time"

local M = {}

local PARSE = {}

function PARSE.string(v)
  return type(v) == "string" and v or nil
end

function PARSE.integer(v)
  if math.type(v) == "integer" then
    return v
  end
  return type(v) == "string" and v:find("^[+-]?%d+$") and math.tointeger(tonumber(v)) or nil
end

function PARSE.number(v)
  if type(v) == "number" then
    return v == v and v ~= math.huge and v ~= -math.huge and v or nil
  end
  local plain = type(v) == "string"
    and (v:find("^[+-]?%d+%.?%d*[eE]?[+-]?%d*$") or v:find("^[+-]?%.%d+$"))
  local n = plain and tonumber(v)
  return n and n == n and n ~= math.huge and n ~= -math.huge and n or nil
end

local BOOLEAN <const> = { ["true"] = true, ["false"] = false, ["1"] = true, ["0"] = false }

function PARSE.boolean(v)
  if type(v) == "boolean" then
    return v
  end
  return BOOLEAN[v]
end

function PARSE.duration(v)
  if type(v) ~= "string" then
    return nil
  end
  local ok, ms = pcall(time.duration, v)
  if ok and ms then
    return v, ms
  end
end

local SIZE <const> = { [""] = 0, K = 10, M = 20, G = 30, T = 40 }

function PARSE.size(v)
  if math.type(v) == "integer" then
    return v >= 0 and v or nil
  elseif type(v) ~= "string" then
    return nil
  end
  local digits, unit = v:match("^(%d+)([KMGT]?)i?B?$")
  local n = digits and math.tointeger(tonumber(digits))
  if n and n <= math.maxinteger >> SIZE[unit] then
    return n << SIZE[unit]
  end
end

local BANDWIDTH <const> = { [""] = 1.0, ["GB/s"] = 1.0, ["MB/s"] = 1e-3, ["TB/s"] = 1e3 }

function PARSE.bandwidth(v)
  if type(v) == "number" then
    return v >= 0 and PARSE.number(v) or nil
  elseif type(v) ~= "string" then
    return nil
  end
  local digits, unit = v:match("^([%d.]+)%s*([GMT]?B?/?s?)$")
  local n = digits and PARSE.number(digits)
  return n and BANDWIDTH[unit] and n * BANDWIDTH[unit] or nil
end

--- A list of texts; nil where one is none. A whole number may stand for its text.
local function texts_of(list)
  local out = {}
  for i, item in ipairs(list) do
    if math.type(item) == "integer" then
      item = tostring(item)
    elseif type(item) ~= "string" then
      return nil
    end
    out[i] = item
  end
  return json.array(out)
end

function PARSE.list(v)
  if type(v) == "string" then
    local out = {}
    if v ~= "" then
      for word in (v .. ","):gmatch("([^,]*),") do
        out[#out + 1] = word
      end
    end
    return json.array(out)
  elseif type(v) == "table" and (#v > 0 or next(v) == nil) then
    return texts_of(v)
  end
end

local EXAMPLE <const> = {
  duration = "a duration such as 90s or 5m", size = "a size such as 8M or 8G",
  bandwidth = "a bandwidth such as 250GB/s", boolean = "true or false",
  list = "a list such as a,b,c",
  integer = "an integer", number = "a number", string = "text",
}

--- A value in a message.
function M.shown(v)
  if v == json.null then
    return "null"
  end
  return type(v) == "table" and json.encode(v) or tostring(v)
end

local function limit_of(decl, bound)
  local value, measure = PARSE[decl.type](bound)
  return measure or value
end

local function in_range(decl, value, measure)
  local n = measure or value
  if type(n) ~= "number" then
    return true
  end
  return not (decl.min ~= nil and n < limit_of(decl, decl.min))
    and not (decl.max ~= nil and n > limit_of(decl, decl.max))
end

local function range_text(decl)
  if decl.min ~= nil and decl.max ~= nil then
    return ("%s to %s"):format(decl.min, decl.max)
  elseif decl.min ~= nil then
    return ("at least %s"):format(decl.min)
  end
  return ("at most %s"):format(decl.max)
end

local function chosen(decl, value)
  if not decl.choices then
    return true
  end
  for _, choice in ipairs(decl.choices) do
    if choice == value then
      return true
    end
  end
  return false
end

local function choices_text(decl)
  local words = {}
  for i, choice in ipairs(decl.choices) do
    words[i] = tostring(choice)
  end
  return table.concat(words, ", ")
end

--- A value of a declared parameter, checked.
--- @param decl table type, min, max, choices
--- @param given any text or a Lua value
--- @return any value nil when it is refused
--- @return string|nil what was expected
function M.convert(decl, given)
  local value, measure = PARSE[decl.type](given)
  if value == nil then
    return nil, ("expected %s (%s)"):format(EXAMPLE[decl.type], decl.type)
  elseif not in_range(decl, value, measure) then
    return nil, ("expected %s (%s)"):format(range_text(decl), decl.type)
  elseif not chosen(decl, value) then
    return nil, ("expected one of: %s"):format(choices_text(decl))
  end
  return value
end

local ORDERED <const> = { integer = true, number = true, duration = true, size = true,
  bandwidth = true }
local MEASURED <const> = { integer = true, number = true, bandwidth = true }

--- What is wrong with the limits of a declaration, or nil.
local function limits_problem(decl)
  for _, bound in ipairs { "min", "max" } do
    if decl[bound] ~= nil and not ORDERED[decl.type] then
      return ("a %s has no %s"):format(decl.type, bound)
    elseif decl[bound] ~= nil and limit_of(decl, decl[bound]) == nil then
      return ("%s: expected %s (%s), found %s"):format(bound, EXAMPLE[decl.type], decl.type,
        M.shown(decl[bound]))
    end
  end
  if decl.min ~= nil and decl.max ~= nil
    and limit_of(decl, decl.min) > limit_of(decl, decl.max) then
    return ("min %s is above max %s"):format(decl.min, decl.max)
  end
end

--- What is wrong with a declaration itself, or nil.
--- @param decl table type, min, max, choices, constraint
function M.declaration_problem(decl)
  if decl.choices ~= nil and (type(decl.choices) ~= "table" or #decl.choices == 0) then
    return "choices: expected a list of values"
  end
  for i, choice in ipairs(decl.choices or {}) do
    if PARSE[decl.type](choice) ~= choice then
      return ("choices[%d]: expected %s (%s), found %s"):format(i, EXAMPLE[decl.type], decl.type,
        M.shown(choice))
    end
  end
  if decl.constraint and not MEASURED[decl.type] then
    return ("a %s takes no constraint"):format(decl.type)
  end
  return limits_problem(decl)
end

--- The milliseconds of a duration's text, nil when it is none.
function M.duration(v)
  return select(2, PARSE.duration(v))
end

--- What a value of a type looks like, for messages.
function M.example(kind)
  return EXAMPLE[kind]
end

return M
