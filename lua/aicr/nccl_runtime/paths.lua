-- SPDX-License-Identifier: Apache-2.0
--- Where two pod templates differ, as paths such as `spec.containers[node].image` (gke-tcpxo.md 5.4, guard). Pure.
---
--- Maps are compared by key; lists whose elements all have a name by that name, so that their order is no difference;
--- every other value as a whole, types included. What one side lacks is named at its own path.
local tree = require "aicr.nccl_runtime.tree"

local M = {}

-- The members of a list by name, nil when one has none. A name that comes again is told apart: it must hide nothing.
local function by_name(list)
  local members, seen = {}, {}
  for i, entry in ipairs(list) do
    local name = tree.text(entry, "name")
    if not name or name == "" then
      return nil
    end
    seen[name] = (seen[name] or 0) + 1
    members[seen[name] == 1 and name or ("%s#%d"):format(name, seen[name])] = list[i]
  end
  return next(members) and members
end

local function keys_of(a, b)
  local keys, seen = {}, {}
  for _, side in ipairs { a, b } do
    for key in pairs(side) do
      if not seen[key] then
        seen[key] = true
        keys[#keys + 1] = key
      end
    end
  end
  return keys
end

local function child(path, key)
  return path == "" and key or path .. "." .. key
end

local function member(path, name)
  return ("%s[%s]"):format(path, name)
end

local changed

local function changed_members(a, b, path, join, found)
  for _, key in ipairs(keys_of(a, b)) do
    local at = join(path, key)
    if a[key] == nil or b[key] == nil then
      found[#found + 1] = at
    else
      changed(a[key], b[key], at, found)
    end
  end
end

function changed(a, b, path, found)
  if tree.is_map(a) and tree.is_map(b) then
    changed_members(a, b, path, child, found)
    return
  end
  local left = tree.is_list(a) and by_name(a)
  local right = left and tree.is_list(b) and by_name(b)
  if right then
    changed_members(left, right, path, member, found)
  elseif not tree.same(a, b) then
    found[#found + 1] = path
  end
end

--- The paths at which two templates differ, sorted.
---@param a table
---@param b table
---@return string[]
function M.changed(a, b)
  local found = {}
  changed(a, b, "", found)
  table.sort(found)
  return found
end

local function leaves(v, path, found)
  local named = tree.is_list(v) and by_name(v)
  if not named and (not tree.is_map(v) or next(v) == nil) then
    found[#found + 1] = path
    return
  end
  for key, value in pairs(named or v) do
    leaves(value, (named and member or child)(path, key), found)
  end
end

--- The paths of all that a template says, sorted: values, lists without names, empty maps.
---@param template table
---@return string[]
function M.leaves(template)
  local found = {}
  leaves(template, "", found)
  table.sort(found)
  return found
end

local function below(path, parent)
  local rest = path:sub(1, #parent) == parent and path:sub(#parent + 1, #parent + 1)
  return rest == "" or rest == "." or rest == "["
end

--- Is one of the paths that path, above it or below it?
---@param path string
---@param list string[]
---@return boolean
function M.overlaps(path, list)
  for _, other in ipairs(list) do
    if below(path, other) or below(other, path) then
      return true
    end
  end
  return false
end

return M
