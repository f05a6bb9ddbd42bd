---@meta aicr.native.error
-- SPDX-License-Identifier: Apache-2.0

---@alias aicr.Code
---| "NOT_FOUND"
---| "UNAUTHORIZED"
---| "TIMEOUT"
---| "INTERNAL"
---| "INVALID_REQUEST"
---| "SERVICE_UNAVAILABLE"
---| "CONFLICT"
---| "CANCELED"
---| "RATE_LIMIT_EXCEEDED"
---| "METHOD_NOT_ALLOWED"

--- What primitives raise. `tostring` gives "[CODE] message: cause".
---@class aicr.Error
---@field code aicr.Code
---@field reason string a lower-case word with hyphens
---@field message string
---@field details? table plain data
---@field verdict boolean it says something about the cluster: not caught, it is a fail
---@field cause? aicr.Error

---@class aicr.error.Fields
---@field code aicr.Code
---@field reason string
---@field message string
---@field details? any
---@field verdict? boolean only with NOT_FOUND, CONFLICT, INVALID_REQUEST
---@field cause? aicr.Error

--- Makes error objects, for the libraries.
---@class aicr.native.error
local errors = {}

---@param fields aicr.error.Fields
---@return aicr.Error
---@nodiscard
function errors.new(fields) end

--- The same, and raises it.
---@param fields aicr.error.Fields
function errors.raise(fields) end

--- Is it an error object?
---@param value any
---@return boolean
---@nodiscard
function errors.is(value) end

return errors
