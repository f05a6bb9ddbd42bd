-- SPDX-License-Identifier: Apache-2.0
--- Where the parameters of checks come from, the last one winning: the default, the recipe, the
--- suite, the environment, the command line.
local constraint = require "aicr.constraint"
local message = require "aicr.engine.message"
local values = require "aicr.engine.value"

local M = {}

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

--- Gives one item one value; what is refused becomes a problem that `label` introduces.
local function assign(item, key, given, from, label, problems)
  local decl = declared(item)[key]
  if not decl and key == "timeout" then
    local ms = values.duration(given)
    if ms and ms > 0 then
      item.timeout_ms = ms
    else
      problems:add('%s: timeout of %s: expected %s, found "%s"', label, item.name,
        values.example("duration"), values.shown(given))
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
  local value, expected = values.convert(decl, given)
  if value == nil then
    local found = decl.secret and "***" or values.shown(given)
    problems:add('%s: %s of %s: %s, found "%s"', label, key, item.name, expected, found)
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
  local ok, threshold = pcall(constraint.threshold, text)
  local value = ok and values.convert(decl, math.tointeger(threshold) or threshold)
  if value then
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
  local wrong = values.declaration_problem(decl)
  if wrong then
    problems:add("%s: parameter %s: %s", item.path, key, wrong)
    item.meta.params[key] = { type = "string" }
    return
  end
  if decl.default ~= nil then
    local value, expected = values.convert(decl, decl.default)
    if value == nil then
      problems:add("%s: default of parameter %s: %s, found %s", item.path, key, expected,
        values.shown(decl.default))
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
