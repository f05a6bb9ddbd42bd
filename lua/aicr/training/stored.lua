-- SPDX-License-Identifier: Apache-2.0
--- Whether the API server keeps what was sent. Defaults come on the way, and webhooks and policies may change anything:
--- what is measured then is not what the report says. Pure.
local api = require "aicr.training.api"
local quantity = require "aicr.quantity"
local value = require "aicr.platform.value"

local M = {}

-- Paths in a message.
local SHOWN_MAX <const> = 6

-- Where even a single value that was not sent is none of the server's defaults: it goes before what the runtime says.
local STRICT <const> = { ["spec.trainer"] = true }

local compare

local function join(path, key)
  return path == "" and tostring(key) or ("%s.%s"):format(path, key)
end

-- What came on the way: a single value is a default, all else says something.
local function is_default(v)
  return type(v) ~= "table" or next(v) == nil
end

-- What a controller that writes the object back leaves out: it says nothing.
local function is_nothing(v)
  return v == "" or value.is_list(v) and #v == 0
end

-- 8 and "8", "1024Mi" and "1Gi": such a controller also spells amounts in its own way.
local function is_same_amount(sent, stored, path)
  if not (path:find("%.resources%.limits%.") or path:find("%.resources%.requests%.") or path:find("%.sizeLimit$")) then
    return false
  end
  local ok, order = pcall(quantity.compare, sent, stored)
  return ok and order == 0
end

local function compare_maps(sent, stored, path, found)
  for key, member in pairs(sent) do
    if value.opt(member) == nil then
      goto continue
    elseif stored[key] == nil and not is_nothing(member) then
      found[#found + 1] = join(path, key)
    elseif stored[key] ~= nil then
      compare(member, stored[key], join(path, key), found)
    end
    ::continue::
  end
  for key, member in pairs(stored) do
    if value.opt(sent[key]) == nil and (STRICT[path] or not is_default(member)) then
      found[#found + 1] = join(path, key)
    end
  end
end

-- Lists whose members all have names are compared by name: their order is no difference.
local function are_named(list)
  for _, member in ipairs(list) do
    if type(member) ~= "table" or type(member.name) ~= "string" then
      return false
    end
  end
  return true
end

local function compare_lists(sent, stored, path, found)
  if #sent ~= #stored then
    found[#found + 1] = path
    return
  end
  local by_name = are_named(sent)
  for i, member in ipairs(sent) do
    local other = stored[i]
    if by_name then
      other = value.named(stored, member.name)
    end
    local at = ("%s[%s]"):format(path, by_name and member.name or i - 1)
    if other == nil then
      found[#found + 1] = at
    else
      compare(member, other, at, found)
    end
  end
end

function compare(sent, stored, path, found)
  if value.is_list(sent) and value.is_list(stored) then
    compare_lists(sent, stored, path, found)
  elseif value.is_map(sent) and value.is_map(stored) then
    compare_maps(sent, stored, path, found)
  elseif not value.equal(sent, stored) and not is_same_amount(sent, stored, path) then
    found[#found + 1] = path
  end
end

--- The paths of a spec, sorted, at which the object that the server keeps says something else than the one that was
--- sent: what is changed, gone, or new and more than a single value.
--- @param sent table
--- @param stored table
--- @return string[]
function M.changed(sent, stored)
  local found = {}
  compare({ spec = api.at(sent, "spec") }, { spec = api.at(stored, "spec") }, "", found)
  table.sort(found)
  return found
end

--- Raises INTERNAL/`object-changed`, no verdict, where the server keeps something else than was sent.
--- @param sent table
--- @param stored table
function M.require(sent, stored)
  local found = M.changed(sent, stored)
  if #found > 0 then
    api.raise("INTERNAL", "object-changed", "the %s %s is not kept as it was sent: something in the API server changed"
      .. " it at %s%s", sent.kind, sent.metadata.name,
      api.clip(table.concat(found, ", ", 1, math.min(#found, SHOWN_MAX))),
      #found > SHOWN_MAX and (" and %d more"):format(#found - SHOWN_MAX) or "")
  end
end

return M
