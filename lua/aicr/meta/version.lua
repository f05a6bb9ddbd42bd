---@meta aicr.version
-- SPDX-License-Identifier: Apache-2.0

--- Versions as AICR compares them: one to three numbers, an optional leading `v`, extras from the
--- first `-` or `+` after a digit (validation-model.md 6.3 and section 0). All functions raise
--- INVALID_REQUEST/`version` for what is none.
---@class aicr.version
local version = {}

---@class aicr.version.Parts
---@field major integer
---@field minor integer 0 when not given
---@field patch integer 0 when not given
---@field precision 1|2|3 how many numbers were given
---@field extras string such as "-gke.2745000", "" when there are none

---@param text string
---@return aicr.version.Parts
---@nodiscard
function version.parse(text) end

--- Orders by the numbers that both have: "1.32" and "1.32.4" are equal here. At three numbers each
--- a "-gke.N" suffix breaks the tie; a build is newer than none.
---@param a string
---@param b string
---@return -1|0|1
---@nodiscard
function version.compare(a, b) end

--- Whether all three numbers are the same, missing ones 0, extras ignored.
---@param a string
---@param b string
---@return boolean
---@nodiscard
function version.equal(a, b) end

return version
