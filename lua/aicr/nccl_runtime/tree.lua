-- SPDX-License-Identifier: Apache-2.0
--- Decoded JSON as a tree: what its values are, and a way through it that no shape breaks. Pure.
local json = require "aicr.json"
local value = require "aicr.platform.value"

local M = {}

M.is_list, M.is_map, M.copy, M.named = value.is_list, value.is_map, value.copy, value.named

--- The value at the path of keys, nil when something on the way is no map.
---@param v any
---@param ... string
---@return any
function M.dig(v, ...)
  for i = 1, select("#", ...) do
    if not M.is_map(v) then
      return nil
    end
    v = v[(select(i, ...))]
  end
  return v
end

--- The same when it is text, else nil.
---@return string|nil
function M.text(v, ...)
  local found = M.dig(v, ...)
  return type(found) == "string" and found or nil
end

--- The same when it is a map, else an empty one.
---@return table
function M.map(v, ...)
  local found = M.dig(v, ...)
  return M.is_map(found) and found or {}
end

--- The same when it is a list, else an empty one.
---@return table
function M.list(v, ...)
  local found = M.dig(v, ...)
  return M.is_list(found) and found or json.array()
end

--- The pod template of a runtime's replicated job, itself and no copy; nil when there is none.
---@param runtime any
---@param job string
---@return table|nil
function M.pod_template(runtime, job)
  local entry = M.named(M.dig(runtime, "spec", "template", "spec", "replicatedJobs"), job)
  local template = M.dig(entry, "template", "spec", "template")
  return M.is_map(template) and template or nil
end

--- The container of that name in a pod template, itself and no copy; nil when there is none.
---@param template any
---@param name string
---@return table|nil
function M.container(template, name)
  return M.named(M.dig(template, "spec", "containers"), name)
end

--- Equal by value, types included: 8 is not "8".
---@param a any
---@param b any
---@return boolean
function M.same(a, b)
  return value.equal(a, b, true)
end

return M
