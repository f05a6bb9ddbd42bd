---@meta aicr.quantity
-- SPDX-License-Identifier: Apache-2.0

--- Kubernetes quantities such as "8", "500m", "64Gi", "1e3", read as apimachinery's
--- resource.Quantity reads them. Numbers are quantities too. All functions raise
--- INVALID_REQUEST/`quantity` for what is none or does not fit.
---@class aicr.quantity
local quantity = {}

--- The value as a whole number, rounded away from zero.
---@param q string|number
---@return integer
---@nodiscard
function quantity.value(q) end

--- The value in thousandths, rounded away from zero.
---@param q string|number
---@return integer
---@nodiscard
function quantity.milli(q) end

--- Compares exactly, whatever the suffixes: -1 when a is less than b, 0, or 1.
---@param a string|number
---@param b string|number
---@return -1|0|1
---@nodiscard
function quantity.compare(a, b) end

return quantity
