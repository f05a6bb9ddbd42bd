---@meta aicr.json
-- SPDX-License-Identifier: Apache-2.0

--- JSON values of Lua: objects are tables, arrays are tables with the array metatable (so that an
--- empty one stays `[]`), null is `json.null`, integers and floats keep their kind.
---@class aicr.json
---@field null lightuserdata stands for null; true as a condition
local json = {}

--- Reads one JSON text. Raises INVALID_REQUEST/`malformed`.
---@param text string
---@param opts? {nulls?: "keep"|"drop", repeated?: boolean} "drop": members that are null are left out
---@return any value
---@return integer? repeated where wanted: how many keys were repeated; the last one counts
---@nodiscard
function json.decode(text, opts) end

--- JSON text, keys sorted. Raises a Lua error that names the place for what JSON lacks.
---@param value any
---@return string
---@nodiscard
function json.encode(value) end

--- Marks a table as an array; a new one without an argument.
---@param t? table
---@return table t
function json.array(t) end

--- Was it decoded from an array, or marked as one?
---@param value any
---@return boolean
---@nodiscard
function json.is_array(value) end

return json
