-- SPDX-License-Identifier: Apache-2.0
--- The checks that a recipe declares under `validation.<phase>.checks` (design.md 7).
local message = require "aicr.engine.message"
local phases = require "aicr.engine.phases"
local text = require "aicr.report.text"

local M = {}

local opt = text.opt

--- The declared names of each phase. An entry that is no text is kept as it is.
--- @return table phase → list
function M.names(recipe)
  local out, validation = {}, opt(recipe.validation)
  for _, phase in ipairs(phases.ORDER) do
    local section = type(validation) == "table" and opt(validation[phase])
    out[phase] = type(section) == "table" and text.list(section.checks) or {}
  end
  return out
end

local function well_formed(name)
  return type(name) == "string" and name:find("^[a-z0-9-]+$") and #name <= 63
end

local function check_form(phase, names, file, problems)
  local good = {}
  for i, name in ipairs(names) do
    if well_formed(name) then
      good[#good + 1] = name
    else
      problems:add('%s: validation.%s.checks[%d]: expected a name of [a-z0-9-]+, found "%s"',
        file, phase, i - 1, text.value(name))
    end
  end
  return good
end

--- A check that the recipe declares and this program does not have: an error in its place.
local function not_available(name, phase, file, known)
  return {
    name = name, phase = phase, path = file, origin = "recipe", roots = {},
    meta = { name = name, phase = phase },
    preset = {
      outcome = "error", code = "NOT_FOUND", reason = "not-available",
      message = ("the recipe declares %s, which is not a built-in check%s"):format(name,
        message.suggestion(name, known)),
    },
  }
end

local function report(problem, file, problems)
  if problem.kind == "duplicate" then
    problems:add('%s: validation.%s.checks: "%s" stands there twice', file, problem.phase,
      problem.name)
  elseif problem.kind == "cross-phase" then
    problems:add('%s: validation.%s.checks: "%s" is a check of phase %s', file, problem.phase,
      problem.name, problem.other)
  end
end

--- The items of the declared checks of the wanted phases, in the recipe's order.
--- @param loaded table of recipe_file.load
--- @param wanted table set of phases
--- @param catalog table of catalog.new
function M.items(loaded, wanted, catalog, problems)
  local entries, declared, order, known = {}, M.names(loaded.recipe), {}, {}
  for name, item in pairs(catalog:built_in()) do
    entries[#entries + 1] = { name = name, phase = item.phase }
    known[#known + 1] = name
  end
  table.sort(known)
  for _, phase in ipairs(phases.ORDER) do
    if wanted[phase] then
      order[#order + 1] = phase
      declared[phase] = check_form(phase, declared[phase], loaded.path, problems)
    end
  end
  for _, problem in ipairs(phases.declared_problems(order, declared, entries)) do
    report(problem, loaded.path, problems)
  end
  local items, seen = {}, {}
  for _, phase in ipairs(order) do
    for _, name in ipairs(declared[phase]) do
      if not seen[name] then
        seen[name] = true
        local item = catalog:built_in()[name] and catalog:named(name)
        items[#items + 1] = item or not_available(name, phase, loaded.path, known)
      end
    end
  end
  return items
end

--- The declared checks of the wanted phases that a selection leaves out.
function M.left_out(recipe, wanted, items)
  local has, out = {}, {}
  for _, item in ipairs(items) do
    has[item.name] = true
    has[item.meta.name] = true
  end
  local names = M.names(recipe)
  for _, phase in ipairs(phases.ORDER) do
    for _, name in ipairs(wanted[phase] and names[phase] or {}) do
      if type(name) == "string" and not has[name] then
        out[#out + 1] = name
      end
    end
  end
  return out
end

return M
