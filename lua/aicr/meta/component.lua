---@meta aicr.component
-- SPDX-License-Identifier: Apache-2.0

---@class aicr.component
---@field GATES string[]
local component = {}

---@param ref table
---@param key string
---@return any
---@nodiscard
function component.override(ref, key) end

---@param ref table
---@return boolean
---@nodiscard
function component.enabled(ref) end

---@param recipe? table
---@param name string
---@return table[]
---@nodiscard
function component.named(recipe, name) end

---@param recipe? table
---@param name string
---@return table?
---@nodiscard
function component.first_enabled(recipe, name) end

---@param ref table
---@param path string
---@return boolean
---@nodiscard
function component.has_manifest(ref, path) end

return component
