-- SPDX-License-Identifier: Apache-2.0
--- What the component entries of a recipe say (gke-tcpxo.md 2.4). Pure; tolerates what a recipe
--- that was not read by `aicr.recipe` may hold.
local M = {}

--- The two gates of a component. Either one, when it is boolean false, disables it.
M.GATES = { "enabled", "install" }

--- The override of a component, nil when there is none. `json.null` counts as there.
---@param ref table an entry of `componentRefs`
---@param key string
---@return any
function M.override(ref, key)
  if type(ref.overrides) ~= "table" then
    return nil
  end
  return ref.overrides[key]
end

--- Is the component enabled? Anything but boolean false in a gate counts as enabled.
---@param ref table an entry of `componentRefs`
---@return boolean
function M.enabled(ref)
  for _, gate in ipairs(M.GATES) do
    if M.override(ref, gate) == false then
      return false
    end
  end
  return true
end

--- The entries of that name, in the recipe's order. Names are compared as bytes.
---@param recipe table|nil
---@param name string
---@return table[]
function M.named(recipe, name)
  local found = {}
  if type(recipe) ~= "table" or type(recipe.componentRefs) ~= "table" then
    return found
  end
  for i = 1, #recipe.componentRefs do
    local ref = recipe.componentRefs[i]
    if type(ref) == "table" and ref.name == name then
      found[#found + 1] = ref
    end
  end
  return found
end

--- The first enabled entry of that name, nil when there is none.
---@param recipe table|nil
---@param name string
---@return table|nil
function M.first_enabled(recipe, name)
  for _, ref in ipairs(M.named(recipe, name)) do
    if M.enabled(ref) then
      return ref
    end
  end
  return nil
end

--- Does the component bring that manifest file? Paths are compared as bytes.
---@param ref table an entry of `componentRefs`
---@param path string
---@return boolean
function M.has_manifest(ref, path)
  if type(ref.manifestFiles) ~= "table" then
    return false
  end
  for i = 1, #ref.manifestFiles do
    if ref.manifestFiles[i] == path then
      return true
    end
  end
  return false
end

return M
