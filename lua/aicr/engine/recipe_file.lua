-- SPDX-License-Identifier: Apache-2.0
--- Reads the recipe of a run and says what the report shows of it.
local native = require "aicr.native.text"
local paths = require "aicr.engine.path"
local recipes = require "aicr.recipe"
local text = require "aicr.report.text"

local M = {}

local opt = text.opt

local function name_of(recipe, path)
  local metadata = opt(recipe.metadata)
  local name = type(metadata) == "table" and opt(metadata.name)
  if type(name) == "string" and name ~= "" then
    return name
  end
  return (paths.basename(path):gsub("%.%w+$", ""))
end

local function error_text(err)
  if type(err) == "table" then
    local cause = opt(err.cause)
    cause = type(cause) == "table" and opt(cause.message) or cause
    return cause and ("%s: %s"):format(err.message, cause) or tostring(err.message)
  end
  return tostring(err)
end

--- Loads a recipe file; what is wrong with it becomes a problem.
--- @return table|nil {recipe, name, sha256, path, warnings}
function M.load(path, host, problems)
  local source, why = host.read_file(path)
  if not source then
    problems:add {
      what = ("--recipe %s: %s"):format(path, why or "cannot be read"),
      fix = "name a recipe that is there: --recipe FILE",
    }
    return nil
  end
  local ok, recipe, warnings = pcall(recipes.load, source, path)
  if not ok then
    local message = error_text(recipe)
    problems:add { what = message:find(path, 1, true) and message or path .. ": " .. message }
    return nil
  end
  return {
    recipe = recipe, path = path, name = name_of(recipe, path), sha256 = native.sha256(source),
    warnings = warnings or {},
  }
end

local function length(list)
  return type(list) == "table" and #list or 0
end

--- How many readiness constraints a recipe has: they are evaluated only with a snapshot.
function M.readiness_count(recipe)
  local n = length(recipe.constraints)
  local validation = opt(recipe.validation)
  local readiness = type(validation) == "table" and opt(validation.readiness)
  return n + (type(readiness) == "table" and length(readiness.constraints) or 0)
end

return M
