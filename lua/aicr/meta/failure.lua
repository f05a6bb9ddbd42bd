---@meta aicr.failure
-- SPDX-License-Identifier: Apache-2.0

---@class aicr.failure
local failure = {}

--- NOT_FOUND, UNAUTHORIZED, TIMEOUT, SERVICE_UNAVAILABLE or INTERNAL.
---@param err aicr.Error
---@return aicr.Code
---@nodiscard
function failure.classify(err) end

--- NOT_FOUND, TIMEOUT or INTERNAL.
---@param err aicr.Error
---@return aicr.Code
---@nodiscard
function failure.read_code(err) end

--- TIMEOUT, CANCELED or INTERNAL.
---@param err aicr.Error
---@return aicr.Code
---@nodiscard
function failure.runtime_read_code(err) end

return failure
