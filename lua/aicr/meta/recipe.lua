---@meta aicr.recipe
-- SPDX-License-Identifier: Apache-2.0

---@class aicr.recipe
---@field KIND string
---@field CONFIGURED string the apiVersion that may carry `configuration`
local recipe = {}

--- Judges kind and apiVersion; the age of an old version, else nil. Raises INVALID_REQUEST.
---@param kind any
---@param api_version any
---@return string? age
function recipe.header(kind, api_version) end

--- Reads a recipe, YAML or JSON. Raises INVALID_REQUEST (a verdict).
---@param source string
---@param filename? string for messages
---@return table recipe
---@return string[] warnings
---@nodiscard
function recipe.load(source, filename) end

--- Does the recipe declare the component (by that name, enabled)?
---@param document? table
---@param name string
---@return boolean
---@nodiscard
function recipe.declares(document, name) end

--- Why a component is not declared, for the message of a skip.
---@param document? table
---@param name string
---@return string
---@nodiscard
function recipe.undeclared(document, name) end

--- The first enabled component of that name.
---@param document? table
---@param name string
---@return table?
---@nodiscard
function recipe.component(document, name) end

--- The first constraint of that name in a phase.
---@param document? table
---@param phase "readiness"|"deployment"|"performance"|"conformance"
---@param name string
---@return {name: string, value: string, unit?: string, severity?: string, remediation?: string}?
---@nodiscard
function recipe.constraint(document, phase, name) end

return recipe
