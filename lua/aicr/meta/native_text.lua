---@meta aicr.native.text
-- SPDX-License-Identifier: Apache-2.0

---@class aicr.native.text
local text = {}

--- The word nearest to a misspelt one (at most two edits), nil when none is near.
---@param word string
---@param words string[]
---@return string?
---@nodiscard
function text.nearest(word, words) end

--- Fit for a terminal: control characters and bad bytes as \x1b-style escapes.
---@param s string
---@return string
---@nodiscard
function text.printable(s) end

--- Valid UTF-8: each bad byte becomes U+FFFD.
---@param s string
---@return string
---@nodiscard
function text.utf8(s) end

--- Without the Unicode white space around it.
---@param s string
---@return string
---@nodiscard
function text.trim(s) end

--- Hexadecimal digest.
---@param s string
---@return string
---@nodiscard
function text.sha256(s) end

return text
