---@meta aicr.native.platform
-- SPDX-License-Identifier: Apache-2.0

---@class aicr.native.platform
local platform = {}

--- The names of the platforms, in their order; a new list at each call.
---@return string[]
---@nodiscard
function platform.names() end

--- The text of the embedded file `recipes/NAME`, nil when there is none.
---@param name string such as "overrides/workloadrun.yaml"
---@return string?
---@nodiscard
function platform.data(name) end

return platform
