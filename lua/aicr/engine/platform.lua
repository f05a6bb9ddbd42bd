-- SPDX-License-Identifier: Apache-2.0
--- Which platform a run is on, and whether a check applies there (design.md 6). The nine names are
--- those of platform-runtimes.md 1; service names are aliases in checks, suites and criteria only.
local json = require "aicr.json"

local M = {}

--- The nine names, in their order.
M.NAMES = require("aicr.native.platform").names()

local ALIASES <const> = { eks = "aws", gke = "gcp", aks = "azure", oke = "oci" }

local KNOWN <const> = {}
for _, name in ipairs(M.NAMES) do
  KNOWN[name] = name
end

--- The platform that a name or a service alias stands for; nil when it stands for none.
function M.canonical(name)
  return KNOWN[name] or ALIASES[name]
end

--- True for one of the nine names, exactly.
function M.is_name(name)
  return KNOWN[name] ~= nil
end

--- The nine names in a sentence.
function M.list()
  return table.concat(M.NAMES, ", ")
end

--- Names that may stand in `platforms`, sorted, for suggestions.
function M.words()
  local words = table.move(M.NAMES, 1, #M.NAMES, 1, {})
  for alias in pairs(ALIASES) do
    words[#words + 1] = alias
  end
  table.sort(words)
  return words
end

--- The platform that was asked for: `--platform`, the recipe's criteria.service, the suite's.
--- @return string|nil platform nil: detection decides
--- @return string|nil from
function M.requested(option, recipe, suites)
  if option then
    return option, "option"
  end
  local criteria = recipe and recipe.criteria
  local service = type(criteria) == "table" and criteria ~= json.null
    and M.canonical(criteria.service)
  if service then
    return service, "recipe"
  end
  for _, suite in ipairs(suites) do
    local named = suite.meta.platform and M.canonical(suite.meta.platform)
    if named then
      return named, "suite"
    end
  end
end

--- True when a check of these platforms runs on this one. An unknown platform never skips.
--- @param platforms table|nil the check's list; nil or empty: any
--- @param platform string|nil
function M.matches(platforms, platform)
  if not platform or not platforms or #platforms == 0 then
    return true
  end
  for _, name in ipairs(platforms) do
    if M.canonical(name) == platform then
      return true
    end
  end
  return false
end

return M
