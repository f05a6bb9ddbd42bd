-- SPDX-License-Identifier: Apache-2.0
--- Why a selection holds no check: the filter that took the last ones, from how many, and what they
--- would have answered to. Pure.
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.report.text"

local M = {}

local SHOWN <const> = 10

--- The distinct values of the items, as words; nil when they have none.
local function values_of(items, list_of)
  local seen = {}
  for _, item in ipairs(items) do
    for _, value in ipairs(list_of(item)) do
      seen[text.printable(value)] = true
    end
  end
  local words = sorted_keys(seen)
  if #words == 0 then
    return nil
  end
  local more = #words - SHOWN
  local shown = table.concat(words, ", ", 1, math.min(#words, SHOWN))
  return more > 0 and ("%s and %d more"):format(shown, more) or shown
end

local function sentence(filter, items, what, values)
  return ("%s kept 0 of %s; %s"):format(filter, text.count(#items, "check"),
    values and ("their %s: %s"):format(what, values) or "they have no " .. what)
end

--- @param items table what the filter was given
--- @param given table the phases that were asked for
function M.by_phase(items, given)
  return sentence("--phase " .. table.concat(given, " --phase "), items, "phases",
    values_of(items, function(item) return { item.phase } end))
end

--- @param given table the expressions that were asked for
function M.by_tags(items, given)
  return sentence(("--tags '%s'"):format(table.concat(given, "' --tags '")), items, "tags",
    values_of(items, function(item) return item.meta.tags or {} end))
end

--- @param name string the platform of the run
function M.by_platform(items, name)
  return sentence("the platform " .. name, items, "platforms",
    values_of(items, function(item) return item.meta.platforms or {} end))
end

--- Nothing was there to be filtered.
--- @param operands table the words that were resolved
--- @param declared table|nil phase → names that the recipe declares, where it chose the checks
--- @param given table|nil the phases that were asked for
function M.by_nothing(operands, declared, given)
  if #operands > 0 then
    return ("%s %s no check"):format(table.concat(operands, ", "), #operands == 1 and "holds" or "hold")
  elseif not declared then
    return "there is no built-in check"
  end
  local counts = {}
  for phase, names in pairs(declared) do
    if #names > 0 then
      counts[("%s (%d)"):format(phase, #names)] = true
    end
  end
  if not next(counts) then
    return "the recipe declares no check: name one, or a suite"
  end
  return ("--phase %s kept none of the checks that the recipe declares; their phases: %s"):format(
    table.concat(given or {}, " --phase "), table.concat(sorted_keys(counts), ", "))
end

return M
