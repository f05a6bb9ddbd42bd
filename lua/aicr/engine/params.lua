-- SPDX-License-Identifier: Apache-2.0
--- The parameters of checks: defaults, the recipe's constraints, and the values that are given for
--- them (engine/settings.lua says by whom, the last one winning).
local constraint = require "aicr.constraint"
local message = require "aicr.engine.message"
local rbac = require "aicr.engine.rbac"
local sorted_keys = require "aicr.base.sorted_keys"
local values = require "aicr.engine.value"

local M = {}

--- Who gives a value.
--- @class aicr.source
--- @field from string the origin that reports show: suite, values, environment, command line
--- @field by string what messages name: an option with its key, a file with its key
--- @field option string|nil the option, where two of the same origin must not give one parameter
--- @field secret boolean|nil a secret may be given here
--- @field hide boolean|nil what was given may be a piece of a secret: it is not repeated

local function declared(item)
  return item.meta.params or {}
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

--- True for a check with at least one secret parameter.
function M.has_secret(item)
  for _, decl in pairs(declared(item)) do
    if decl.secret then
      return true
    end
  end
  return false
end

local WHY <const> = {
  ["command line"] = "every user of this machine could read it in the process list",
  suite = "a suite is shared and kept", values = "a file of settings is shared and kept",
}
local TAKEN_FROM <const> = {
  ["command line"] = "the command line", suite = "a suite", values = "a file of values",
}

local function refuse_secret(item, key, source, problems)
  problems:add {
    what = ("%s: %s of %s is secret and is not taken from %s"):format(source.by, key, item.name,
      TAKEN_FROM[source.from]),
    why = WHY[source.from],
    fix = ("put it into a file, --set-file %s.%s=FILE, or the environment, AICR_RUN_SET=%s.%s=…")
      :format(item.name, key, item.name, key),
  }
end

-- The command that tells which parameters a check has, and what they take.
local function explained(item)
  return ("see what %s takes: aicr-run --explain %s"):format(item and "it" or "a check",
    item and rbac.operand(item) or "CHECK")
end

local function assign_timeout(item, given, source, problems)
  local ms = values.duration(given)
  if ms and ms > 0 then
    item.timeout_ms, item.timeout_from = ms, source.from
    return
  end
  problems:add {
    what = ('%s: timeout of %s: expected %s, found "%s"'):format(source.by, item.name, values.example "duration",
      source.hide and "***" or values.shown(given)),
    fix = ("--set %s.timeout=5m"):format(item.name),
  }
end

local function unknown_key(items, key, source, problems, what)
  local near = source.hide and "" or message.known(tostring(key), keys_of(items))
  problems:add {
    what = ('%s: %s "%s"%s'):format(source.by, what, source.hide and "***" or tostring(key), near),
    fix = not near:find("did you mean", 1, true) and explained(#items == 1 and items[1] or nil) or nil,
  }
end

-- Gives one item one value (text or a Lua value); what is refused becomes a problem.
local function assign(item, key, given, source, problems)
  local decl = declared(item)[key]
  if not decl and key == "timeout" then
    assign_timeout(item, given, source, problems)
    return
  elseif not decl then
    unknown_key({ item }, key, source, problems, item.name .. " has no parameter")
    return
  elseif decl.secret and not source.secret then
    refuse_secret(item, key, source, problems)
    return
  end
  local value, expected = values.convert(decl, given)
  if value == nil then
    local found = (decl.secret or source.hide) and "***" or values.shown(given)
    problems:add {
      what = ('%s: %s of %s: %s, found "%s"'):format(source.by, key, item.name, expected, found),
      fix = explained(item),
    }
    return
  end
  local before = item.params[key]
  if before and before.from == source.from and before.option ~= source.option
    and source.option then
    problems:add("%s: %s of %s is also given with %s", source.by, key, item.name, before.option)
    return
  end
  item.params[key] = { value = value, from = source.from, option = source.option }
end

--- Gives a value to the check of that name.
function M.assign_named(items, check, key, given, source, problems)
  local names, found = {}, false
  for i, item in ipairs(items) do
    names[i] = item.name
    if item.name == check then
      assign(item, key, given, source, problems)
      found = true
    end
  end
  if not found then
    problems:add('%s: no check named "%s" in this run%s', source.by, source.hide and "***" or check,
      source.hide and "" or message.suggestion(check, names))
  end
end

--- Gives a value to all checks that have such a parameter.
--- @return boolean was there one, or was it refused with a better message?
function M.assign_all(items, key, given, source, problems)
  local found = false
  for _, item in ipairs(items) do
    if declared(item)[key] then
      assign(item, key, given, source, problems)
      found = true
    end
  end
  if not found and key == "timeout" then
    problems:add {
      what = source.by .. ": a time limit belongs to a check", fix = "--set CHECK.timeout=5m",
    }
    return true
  end
  return found
end

--- Says that no selected check has a parameter of that name.
function M.unknown_to_all(items, key, source, problems)
  unknown_key(items, key, source, problems, "no selected check has a parameter")
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
        decl.secret and "***" or values.shown(decl.default))
    else
      item.params[key] = { value = value, from = "default" }
    end
  end
  from_recipe(item, key, decl, recipe)
end

--- The defaults, and the recipe's constraints over them.
--- @param items table resolved items
--- @param recipe table|nil
function M.defaults(items, recipe, problems)
  for _, item in ipairs(items) do
    item.params = {}
    for _, key in ipairs(sorted_keys(declared(item))) do
      set_default(item, key, recipe, problems)
    end
  end
end

--- What the entries of suites set, `{ "PATH", set = { KEY = VALUE } }`.
--- @param items table resolved items
function M.entries(items, problems)
  for _, item in ipairs(items) do
    local source = { from = "suite", by = item.suite and item.suite.path or item.path }
    for _, key in ipairs(sorted_keys(item.set)) do
      assign(item, key, item.set[key], source, problems)
    end
  end
end

return M
