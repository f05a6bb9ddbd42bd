-- SPDX-License-Identifier: Apache-2.0
--- Merging of override documents (platform-runtimes.md 4.4). Nothing that is given is changed.
local json = require "aicr.json"
local value = require "aicr.platform.value"

local M = {}

--- By what the items of a list are told apart: a volume may be mounted twice under one name.
local function identity(list, key)
  if #list == 0 then
    return nil
  end
  local field = key == "volumeMounts" and "mountPath" or "name"
  for _, item in ipairs(list) do
    if not value.is_map(item) or type(item[field]) ~= "string" or item[field] == "" then
      return nil
    end
  end
  return field
end

local function last_by(list, field)
  local by = {}
  for _, item in ipairs(list) do
    by[item[field]] = item
  end
  return by
end

--- A variable has a value or says where it comes from; the base's form gives way.
local function one_source(merged, override)
  if value.opt(override.valueFrom) ~= nil and override.value == nil then
    merged.value = nil
  elseif override.value ~= nil and override.valueFrom == nil then
    merged.valueFrom = nil
  end
  return merged
end

local merge_lists

--- The base with the override's members: maps are merged, a null deletes, lists of named objects are
--- merged by name, all else is replaced. What the base lacks is taken as it is, nulls and all.
---@param base table
---@param override table
---@return table
function M.merge_maps(base, override)
  local out = value.copy(base)
  for key, member in pairs(override) do
    local old = base[key]
    if old == nil then
      -- A null deletes; what is not there cannot be deleted.
      out[key] = member ~= json.null and value.copy(member) or nil
    elseif member == json.null then
      out[key] = nil
    elseif value.is_map(old) and value.is_map(member) then
      out[key] = M.merge_maps(old, member)
    elseif value.is_list(old) and value.is_list(member) then
      out[key] = merge_lists(old, member, key)
    else
      out[key] = value.copy(member)
    end
  end
  return out
end

merge_lists = function(base, override, key)
  local field = identity(base, key)
  if not field or identity(override, key) ~= field then
    return value.copy(override)
  end
  local old, new, out = last_by(base, field), last_by(override, field), json.array()
  for _, item in ipairs(base) do
    local id = item[field]
    local merged = new[id] and M.merge_maps(old[id], new[id]) or value.copy(old[id])
    out[#out + 1] = new[id] and key == "env" and one_source(merged, new[id]) or merged
  end
  for _, item in ipairs(override) do
    if not old[item[field]] then
      out[#out + 1] = value.copy(new[item[field]])
    end
  end
  return out
end

local function same_object(a, b)
  return a.apiVersion == b.apiVersion and a.kind == b.kind
    and (value.opt(a.metadata) or {}).name == (value.opt(b.metadata) or {}).name
end

--- The dependencies with one more: merged into the object of the same API version, kind and name,
--- else behind the others.
---@param dependencies table[]
---@param override table
---@return table[]
function M.merge_dependency(dependencies, override)
  local out, found = json.array(), false
  for _, object in ipairs(dependencies) do
    local same = not found and same_object(object, override)
    found = found or same
    out[#out + 1] = same and M.merge_maps(object, override) or value.copy(object)
  end
  if not found then
    out[#out + 1] = value.copy(override)
  end
  return out
end

--- The job with what an override says of it: maps are merged, a null deletes, all else is replaced,
--- lists too: the trainer's env, args and command are wholes.
---@param base table
---@param override table
---@return table
function M.merge_job(base, override)
  local out = value.copy(base)
  for key, member in pairs(override) do
    if member == json.null then
      out[key] = nil
    elseif value.is_map(member) then
      out[key] = M.merge_job(value.is_map(out[key]) and out[key] or {}, member)
    else
      out[key] = value.copy(member)
    end
  end
  return out
end

return M
