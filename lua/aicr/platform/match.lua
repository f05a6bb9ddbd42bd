-- SPDX-License-Identifier: Apache-2.0
--- Does an override row apply? Every field of its `when` that is there must hold
--- (platform-runtimes.md 4.4).
local expression = require "aicr.platform.expression"
local names = require "aicr.platform.names"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"
local fragment = require "aicr.platform.fragment"

local M = {}

local function has(list, word)
  for _, item in ipairs(list) do
    if item == word then
      return true
    end
  end
  return false
end

local function text_matches(matcher, word)
  local equals = value.opt(matcher.equals)
  local among, without = value.list(matcher["in"]), value.list(matcher.notIn)
  if equals and equals ~= "" and equals ~= word then
    return false
  end
  return (#among == 0 or has(among, word)) and not has(without, word)
end

local function count_matches(matcher, n)
  local equals, above, below = value.opt(matcher.equals), value.opt(matcher.greaterThan), value.opt(matcher.lessThan)
  return (not equals or n == equals) and (not above or n > above) and (not below or n < below)
end

local function topology_matches(matcher, context)
  local mode = value.opt(matcher.mode)
  if mode and mode ~= "" and mode ~= context.TopologyMode then
    return false
  end
  return count_matches(value.opt(matcher.domainCount) or {}, context.DomainCount or 0)
end

--- Is all of part in whole? Lists and what is no object are compared whole.
local function within(part, whole)
  if not value.is_map(part) or not value.is_map(whole) then
    return value.equal(part, whole)
  end
  for key, member in pairs(part) do
    if whole[key] == nil or not within(member, whole[key]) then
      return false
    end
  end
  return true
end

-- Why a variable of an expression never has that value.
local KNOWN <const> = {
  platform = function(name)
    if name ~= "" and not names.is_name(name) then
      return ("%s is no platform; expected one of: %s"):format(value.quoted(name), names.names_list())
    end
  end,
  gpuArchitecture = function(name)
    if name ~= name:lower() or name:find "%s" then
      return ("%s: architectures are lower case, such as gb200"):format(value.quoted(name))
    end
  end,
}

local function expression_holds(text, context)
  local ask, why = expression.compile(text, KNOWN)
  if not ask then
    value.invalid("override", "when.expression: %s", why)
  end
  return ask {
    platform = context.Platform or "", gpuArchitecture = context.GPUArchitecture or "",
    workloadKind = context.WorkloadKind or "", topologyMode = context.TopologyMode or "",
    domainCount = context.DomainCount or 0,
  }
end

local FIELDS <const> = {
  expression = expression_holds,
  platform = function(matcher, context) return text_matches(matcher, context.Platform or "") end,
  gpuArchitecture = function(matcher, context) return text_matches(matcher, context.GPUArchitecture or "") end,
  workloadKind = function(word, context) return word == "" or word == context.WorkloadKind end,
  topology = topology_matches,
  config = function(part, context) return within(part, value.opt(context.Config) or {}) end,
}

--- Does the row apply? An empty `when` always does.
---@param when table|nil
---@param context {Platform: string?, GPUArchitecture: string?, WorkloadKind: string?, TopologyMode: string?,
---  DomainCount: integer?, Config: table?}
---@return boolean
function M.matches(when, context)
  for field, matcher in pairs(value.opt(when) or {}) do
    local wanted = value.opt(matcher)
    if not FIELDS[field] then
      value.invalid("override", "when.%s is not known%s", field, value.suggestion(field, sorted_keys(FIELDS)))
    elseif wanted ~= nil and not FIELDS[field](wanted, context) then
      return false
    end
  end
  return true
end

local TEXT_KEYS <const> = { equals = "text", ["in"] = "list", notIn = "list" }

local function need_map(at, v, what)
  if not value.is_map(v) then
    fragment.refuse(at, "expected %s, got %s", what, value.shown(v))
  end
end

local function check_text_matcher(at, matcher, never)
  need_map(at, matcher, "an object with equals, in or notIn")
  for key, given in pairs(matcher) do
    local here = fragment.step(at, key)
    local kind = TEXT_KEYS[key]
    if not kind then
      fragment.refuse(here, "is not known%s", value.suggestion(key, sorted_keys(TEXT_KEYS)))
    end
    if kind == "list" and not value.is_list(given) then
      fragment.refuse(here, "expected a list, got %s", value.shown(given))
    end
    for i, word in ipairs(kind == "list" and given or { given }) do
      if type(word) ~= "string" then
        fragment.refuse(kind == "list" and fragment.step(here, i) or here, "expected text, got %s", value.shown(word))
      end
      local why = never(word)
      if why then
        fragment.refuse(here, "%s", why)
      end
    end
  end
end

local function one_of(words)
  return function(at, word)
    for _, known in ipairs(words) do
      if word == known then
        return
      end
    end
    fragment.refuse(at, "expected %s, got %s", table.concat(words, " or "), value.shown(word))
  end
end

local function check_domain_count(at, matcher)
  need_map(at, matcher, "an object with equals, greaterThan or lessThan")
  for key, n in pairs(matcher) do
    if key ~= "equals" and key ~= "greaterThan" and key ~= "lessThan" then
      fragment.refuse(fragment.step(at, key), "is not known; known: equals, greaterThan, lessThan")
    elseif math.type(n) ~= "integer" or n < 0 then
      fragment.refuse(fragment.step(at, key), "expected a whole number from 0, got %s", value.shown(n))
    end
  end
end

local TOPOLOGY <const> = { mode = one_of { "simple", "topology" }, domainCount = check_domain_count }

local CHECKS <const> = {
  platform = function(at, matcher) check_text_matcher(at, matcher, KNOWN.platform) end,
  gpuArchitecture = function(at, matcher) check_text_matcher(at, matcher, KNOWN.gpuArchitecture) end,
  workloadKind = one_of { "TrainJob" },
  topology = function(at, matcher)
    need_map(at, matcher, "an object with mode or domainCount")
    for key, given in pairs(matcher) do
      if not TOPOLOGY[key] then
        fragment.refuse(fragment.step(at, key), "is not known; known: domainCount, mode")
      end
      TOPOLOGY[key](fragment.step(at, key), given)
    end
  end,
  config = function(at, part) need_map(at, part, "an object") end,
  expression = function(at, text)
    if type(text) ~= "string" then
      fragment.refuse(at, "expected text, got %s", value.shown(text))
    end
    local ask, why = expression.compile(text, KNOWN)
    if not ask then
      fragment.refuse(at, "%s", why)
    end
  end,
}

--- Refuses what `matches` would misread.
---@param at table the place, for the message
---@param when any
function M.check(at, when)
  need_map(at, when, "an object")
  for field, matcher in pairs(when) do
    local here = fragment.step(at, field)
    if not CHECKS[field] then
      fragment.refuse(here, "is not known%s", value.suggestion(field, sorted_keys(CHECKS)))
    end
    CHECKS[field](here, matcher)
  end
end

return M
