-- SPDX-License-Identifier: Apache-2.0
--- Does an override row apply? Every field of its `when` that is there must hold
--- (platform-runtimes.md 4.4).
local json = require "aicr.json"
local names = require "aicr.platform.names"
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

local FIELDS <const> = {
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
      value.invalid("override", "when.%s is not known%s", field, value.suggestion(field, value.keys(FIELDS)))
    elseif wanted ~= nil and not FIELDS[field](wanted, context) then
      return false
    end
  end
  return true
end

local TEXT_KEYS <const> = { equals = "text", ["in"] = "list", notIn = "list" }

local function known_platform(at, name)
  if name ~= "" and not names.is_name(name) then
    fragment.refuse(at, "%s is no platform; expected one of: %s", value.quoted(name), names.names_list())
  end
end

local function known_architecture(at, name)
  if name ~= name:lower() or name:find "%s" then
    fragment.refuse(at, "%s: architectures are lower case, such as gb200", value.quoted(name))
  end
end

local function check_text_matcher(at, matcher, check)
  if not value.is_map(matcher) then
    fragment.refuse(at, "expected an object with equals, in or notIn, got %s", value.quoted(json.encode(matcher)))
  end
  for key, given in pairs(matcher) do
    local here = fragment.step(at, key)
    local kind = TEXT_KEYS[key]
    if not kind then
      fragment.refuse(here, "is not known%s", value.suggestion(key, value.keys(TEXT_KEYS)))
    end
    for i, word in ipairs(kind == "list" and value.list(given) or { given }) do
      if type(word) ~= "string" then
        fragment.refuse(kind == "list" and fragment.step(here, i) or here, "expected text, got %s", json.encode(word))
      end
      check(here, word)
    end
  end
end

--- Refuses what `matches` would misread.
---@param at table the place, for the message
---@param when any
function M.check(at, when)
  if not value.is_map(when) then
    fragment.refuse(at, "expected an object")
  end
  for field, matcher in pairs(when) do
    local here = fragment.step(at, field)
    if field == "expression" then
      fragment.refuse(here, "expressions are not read here; use platform, gpuArchitecture, topology, config")
    elseif not FIELDS[field] then
      fragment.refuse(here, "is not known%s", value.suggestion(field, value.keys(FIELDS)))
    elseif field == "platform" then
      check_text_matcher(here, matcher, known_platform)
    elseif field == "gpuArchitecture" then
      check_text_matcher(here, matcher, known_architecture)
    elseif field ~= "workloadKind" and not value.is_map(matcher) then
      fragment.refuse(here, "expected an object")
    end
  end
end

return M
