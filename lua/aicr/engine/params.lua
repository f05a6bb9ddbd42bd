-- SPDX-License-Identifier: Apache-2.0
--- Parameters of checks: defaults, the recipe, suites, `--set`; their types and limits.
--- A duration stays the text that was given; a size is bytes, a bandwidth GB/s.
local constraint = require "aicr.constraint"
local json = require "aicr.json"
local message = require "aicr.engine.message"
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
    return json.array(table.move(v, 1, #v, 1, {}))
  end
end

local EXAMPLE <const> = {
  duration = "a duration such as 90s or 5m", size = "a size such as 8M or 8G",
  bandwidth = "a bandwidth such as 250GB/s", boolean = "true or false",
  list = "a list such as a,b,c",
  integer = "an integer", number = "a number", string = "text",
}

local function shown(v)
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

local function declared(item)
  return item.meta.params or {}
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

local function keys_of(items)
  local seen, keys = {}, {}
  for _, item in ipairs(items) do
    for key in pairs(declared(item)) do
      if not seen[key] then
        seen[key] = true
        keys[#keys + 1] = key
      end
    end
  end
  keys[#keys + 1] = "timeout"
  table.sort(keys)
  return keys
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
        shown(decl[bound]))
    end
  end
  if decl.min ~= nil and decl.max ~= nil
    and limit_of(decl, decl.min) > limit_of(decl, decl.max) then
    return ("min %s is above max %s"):format(decl.min, decl.max)
  end
end

local function declaration_problem(decl)
  if decl.choices ~= nil and (type(decl.choices) ~= "table" or #decl.choices == 0) then
    return "choices: expected a list of values"
  end
  for i, choice in ipairs(decl.choices or {}) do
    if PARSE[decl.type](choice) ~= choice then
      return ("choices[%d]: expected %s (%s), found %s"):format(i, EXAMPLE[decl.type], decl.type,
        shown(choice))
    end
  end
  if decl.constraint and not MEASURED[decl.type] then
    return ("a %s takes no constraint"):format(decl.type)
  end
  return limits_problem(decl)
end

--- Gives one item one value; what is refused becomes a problem that `label` introduces.
local function assign(item, key, given, from, label, problems)
  local decl = declared(item)[key]
  if not decl and key == "timeout" then
    local text, ms = PARSE.duration(given)
    if text and ms > 0 then
      item.timeout_ms = ms
    else
      problems:add('%s: timeout of %s: expected %s, found "%s"', label, item.name, EXAMPLE.duration,
        shown(given))
    end
    return
  elseif not decl then
    problems:add('%s: %s has no parameter "%s"%s', label, item.name, key,
      message.suggestion(key, keys_of { item }))
    return
  elseif decl.secret and from == "command line" then
    problems:add {
      what = ("%s: %s of %s is secret and is not taken from the command line"):format(label, key,
        item.name),
      why = "every user of this machine could read it in the process list",
      fix = ("put it in the environment: AICR_RUN_SET=%s.%s=…"):format(item.name, key),
    }
    return
  end
  local value, expected = M.convert(decl, given)
  if value == nil then
    problems:add('%s: %s of %s: %s, found "%s"', label, key, item.name, expected, shown(given))
    return
  end
  item.params[key] = { value = value, from = from }
end

local function split(text)
  local left, value = text:match("^([^=]*)=(.*)$")
  if not left or left == "" then
    return nil
  end
  local check, key = left:match("^([^.]+)%.(.+)$")
  return { check = check, key = key or left, value = value }
end

local function set_named(set, items, label, from, problems)
  local names, found = {}, false
  for i, item in ipairs(items) do
    names[i] = item.name
    if item.name == set.check then
      assign(item, set.key, set.value, from, label, problems)
      found = true
    end
  end
  if not found then
    problems:add('%s: no check named "%s" in this run%s', label, set.check,
      message.suggestion(set.check, names))
  end
end

local function set_all(set, items, label, from, problems)
  local found = false
  for _, item in ipairs(items) do
    if declared(item)[set.key] then
      assign(item, set.key, set.value, from, label, problems)
      found = true
    end
  end
  if found then
    return
  elseif set.key == "timeout" then
    problems:add {
      what = label .. ": a time limit belongs to a check", fix = "--set CHECK.timeout=5m",
    }
  else
    problems:add('%s: no selected check has a parameter "%s"%s', label, set.key,
      message.suggestion(set.key, keys_of(items)))
  end
end

--- Applies `[CHECK.]KEY=VALUE` texts to the items.
--- @param texts table list
--- @param from string origin: suite, environment, command line
function M.set(items, texts, from, problems)
  for _, text in ipairs(texts or {}) do
    local set = split(text)
    local label = ("--set %s"):format(text:match("^[^=]*"))
    if not set then
      problems:add('--set "%s": expected [CHECK.]KEY=VALUE', text)
    elseif set.check then
      set_named(set, items, label, from, problems)
    else
      set_all(set, items, label, from, problems)
    end
  end
end

--- The value of the recipe's constraint of that name, nil when it has none.
local function recipe_constraint(recipe, name)
  local validation = recipe and recipe.validation
  if type(validation) ~= "table" then
    return nil
  end
  for _, phase in ipairs { "deployment", "conformance", "performance" } do
    local section = validation[phase]
    local constraints = type(section) == "table" and section.constraints
    for _, entry in ipairs(type(constraints) == "table" and constraints or {}) do
      if type(entry) == "table" and entry.name == name then
        return tostring(entry.value)
      end
    end
  end
end

local function from_recipe(item, key, decl, recipe)
  local text = decl.constraint and recipe_constraint(recipe, decl.constraint)
  if not text then
    return
  end
  local ok, value = pcall(constraint.threshold, text)
  if ok then
    if decl.type == "integer" then
      value = math.tointeger(value)
    end
    item.params[key] = { value = value, from = "recipe" }
    return
  end
  item.preset = item.preset or {
    outcome = "fail", code = "INVALID_REQUEST", reason = "invalid-constraint",
    message = ('constraint %s of the recipe has no usable threshold: "%s"'):format(
      decl.constraint, text),
  }
end

--- The default of one parameter, or the recipe's constraint for it.
local function set_default(item, key, recipe, problems)
  local decl = declared(item)[key]
  local wrong = declaration_problem(decl)
  if wrong then
    problems:add("%s: parameter %s: %s", item.path, key, wrong)
    item.meta.params[key] = { type = "string" }
    return
  end
  if decl.default ~= nil then
    local value, expected = M.convert(decl, decl.default)
    if value == nil then
      problems:add("%s: default of parameter %s: %s, found %s", item.path, key, expected,
        shown(decl.default))
    else
      item.params[key] = { value = value, from = "default" }
    end
  end
  from_recipe(item, key, decl, recipe)
end

--- Defaults, then the recipe, then what the suite's entry sets.
--- @param items table resolved items
--- @param recipe table|nil
function M.defaults(items, recipe, problems)
  for _, item in ipairs(items) do
    item.params = {}
    for _, key in ipairs(sorted_keys(declared(item))) do
      set_default(item, key, recipe, problems)
    end
    for _, key in ipairs(sorted_keys(item.set or {})) do
      assign(item, key, item.set[key], "suite", item.path, problems)
    end
  end
end

return M
