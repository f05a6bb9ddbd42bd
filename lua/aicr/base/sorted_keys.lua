-- SPDX-License-Identifier: Apache-2.0

--- The keys of tables, sorted as text; one that several have stands as often.
---@param ... table|nil nil counts as an empty one
---@return any[]
return function(...)
  local keys = {}
  for _, t in pairs { ... } do
    for key in pairs(t) do
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end
