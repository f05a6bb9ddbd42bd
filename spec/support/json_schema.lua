-- SPDX-License-Identifier: Apache-2.0
--- The part of JSON Schema (2020-12) that spec/schema/ uses: type, const, enum, required,
--- properties,
--- additionalProperties, items, minimum, minLength, maxLength, pattern, allOf, anyOf, not, $ref.
--- An unknown keyword raises, so that a schema cannot ask for what is not looked at.
local json = require "aicr.json"

local M = {}

local IGNORED <const> = { ["$schema"] = true, ["$defs"] = true, title = true }

local array_mt = getmetatable(json.array())

local function type_of(v)
  if v == json.null then
    return "null"
  elseif type(v) == "table" then
    return getmetatable(v) == array_mt and "array" or "object"
  elseif math.type(v) == "integer" then
    return "integer"
  end
  return type(v)
end

local function has_type(v, wanted)
  local kind = type_of(v)
  for _, name in ipairs(type(wanted) == "table" and wanted or { wanted }) do
    if name == kind or (name == "number" and kind == "integer") then
      return true
    end
  end
  return false
end

-- The patterns of our schemas as Lua patterns: sets, `{n}` behind a set, `*` and `+`; no groups.
local function lua_pattern(pattern)
  assert(not pattern:find("[()|?]"), "a pattern beyond this reader: " .. pattern)
  pattern = pattern:gsub("(%b[]){(%d+)}", function(set, n) return set:rep(tonumber(n)) end)
  local out = {}
  for outside, set in (pattern .. "[]"):gmatch("([^%[]*)(%b[])") do
    out[#out + 1] = outside:gsub("%-", "%%-") .. (set ~= "[]" and set or "")
  end
  return table.concat(out)
end

local validate

local KEYWORD = {}

function KEYWORD.type(v, wanted)
  return has_type(v, wanted), "is a " .. type_of(v)
end

function KEYWORD.const(v, wanted)
  return v == wanted, "is " .. tostring(v)
end

function KEYWORD.enum(v, choices)
  for _, choice in ipairs(choices) do
    if v == choice then
      return true
    end
  end
  return false, "is " .. tostring(v)
end

function KEYWORD.required(v, names)
  for _, name in ipairs(type_of(v) == "object" and names or {}) do
    if v[name] == nil then
      return false, "lacks " .. name
    end
  end
  return true
end

function KEYWORD.properties(v, properties, _, root)
  for name, schema in pairs(type_of(v) == "object" and properties or {}) do
    if v[name] ~= nil then
      local ok, why = validate(v[name], schema, root)
      if not ok then
        return false, name .. " " .. why
      end
    end
  end
  return true
end

function KEYWORD.additionalProperties(v, extra, schema, root)
  for name, value in pairs(type_of(v) == "object" and v or {}) do
    if not (schema.properties or {})[name] then
      local ok, why = false, "is not allowed"
      if extra ~= false then
        ok, why = validate(value, extra, root)
      end
      if not ok then
        return false, name .. " " .. why
      end
    end
  end
  return true
end

function KEYWORD.items(v, schema, _, root)
  for i, item in ipairs(type_of(v) == "array" and v or {}) do
    local ok, why = validate(item, schema, root)
    if not ok then
      return false, ("[%d] %s"):format(i - 1, why)
    end
  end
  return true
end

function KEYWORD.minimum(v, least)
  return type(v) ~= "number" or v >= least, ("is %s"):format(tostring(v))
end

function KEYWORD.minLength(v, least)
  return type(v) ~= "string" or utf8.len(v) >= least, "is too short"
end

function KEYWORD.maxLength(v, most)
  return type(v) ~= "string" or utf8.len(v) <= most, "is too long"
end

function KEYWORD.pattern(v, pattern)
  return type(v) ~= "string" or v:find(lua_pattern(pattern)) ~= nil,
    ('"%s" does not match %s'):format(tostring(v), pattern)
end

function KEYWORD.allOf(v, schemas, _, root)
  for _, schema in ipairs(schemas) do
    local ok, why = validate(v, schema, root)
    if not ok then
      return false, why
    end
  end
  return true
end

function KEYWORD.anyOf(v, schemas, _, root)
  local reasons = {}
  for i, schema in ipairs(schemas) do
    local ok, why = validate(v, schema, root)
    if ok then
      return true
    end
    reasons[i] = why
  end
  return false, "fits none of: " .. table.concat(reasons, " | ")
end

KEYWORD["not"] = function(v, schema, _, root)
  return not validate(v, schema, root), "fits what it must not"
end

KEYWORD["$ref"] = function(v, ref, _, root)
  local name = assert(ref:match("^#/%$defs/([%w_]+)$"), ref)
  return validate(v, assert(root["$defs"][name], ref), root)
end

validate = function(v, schema, root)
  for keyword, argument in pairs(schema) do
    if not IGNORED[keyword] then
      local check = assert(KEYWORD[keyword], "unknown keyword of JSON Schema: " .. keyword)
      local ok, why = check(v, argument, schema, root)
      if not ok then
        return false, why
      end
    end
  end
  return true
end

--- Reads a schema file.
function M.load(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return json.decode(text)
end

--- Judges a decoded document.
--- @param document any
--- @param schema table of M.load
--- @return boolean
--- @return string|nil what is wrong, with its place
function M.validate(document, schema)
  return validate(document, schema, schema)
end

return M
