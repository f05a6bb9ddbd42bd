---@meta aicr.constraint
-- SPDX-License-Identifier: Apache-2.0

--- Constraint expressions of recipes (validation-model.md 6.2, 6.4 and section 0). All functions
--- raise the verdict INVALID_REQUEST/`constraint`.
---@class aicr.constraint
local constraint = {}

---@class aicr.constraint.Term
---@field op ""|"=="|"!="|">="|">"|"<="|"<" "": the values must be the same text
---@field value string
---@field version boolean the value is compared as a version if both sides are versions

--- Reads a compound expression, an OR of ANDs such as ">= 1.30 < 1.33 || 1.40".
---@param expr string
---@return aicr.constraint.Term[][] any of these groups must hold, in it all terms
---@nodiscard
function constraint.parse(expr) end

--- Reads a single term: no AND, no `||`.
---@param expr string
---@return aicr.constraint.Term
---@nodiscard
function constraint.parse_term(expr) end

--- Whether a value satisfies a compound expression. Also raises when a term that is reached orders
--- and one side is no version.
---@param expr string
---@param actual string
---@return boolean
---@nodiscard
function constraint.eval(expr, actual) end

--- Same for a single term.
---@param expr string
---@param actual string
---@return boolean
---@nodiscard
function constraint.eval_term(expr, actual) end

--- The number of a threshold such as ">= 300" or "300 GB/s". The operator and what follows the
--- number are ignored; the number is decimal, finite and not negative.
---@param expr string
---@return number
---@nodiscard
function constraint.threshold(expr) end

return constraint
