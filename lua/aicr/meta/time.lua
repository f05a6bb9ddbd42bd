---@meta aicr.time
-- SPDX-License-Identifier: Apache-2.0

--- Instants and durations, both in milliseconds.
---@class aicr.time
local time = {}

--- Reads a duration such as "300ms", "90s", "1h30m" (units h m s ms, up to 366 days). Parts of a
--- millisecond count as a whole one. Raises INVALID_REQUEST/`duration`, also for a number without
--- a unit other than "0".
---@param text string
---@return integer ms
---@nodiscard
function time.duration(text) end

--- A duration for people: "0.4s", "12s", "1m 52s", "1h 03m".
---@param ms integer
---@return string
---@nodiscard
function time.format_duration(ms) end

--- Reads RFC 3339 with any offset. Raises INVALID_REQUEST/`time`.
---@param text string
---@return integer ms since the epoch
---@nodiscard
function time.parse(text) end

--- Writes RFC 3339 in UTC: "2026-03-10T20:10:44.872Z".
---@param ms integer since the epoch
---@return string
---@nodiscard
function time.format(ms) end

return time
