-- SPDX-License-Identifier: Apache-2.0
--- What the private modules use of public ones, kept before any user code runs: a check may change the tables of its
-- modules, and what is told of it must not follow that.
local json = require "aicr.json"
local time = require "aicr.time"

local M = {
  encode = json.encode, decode = json.decode, array = json.array, null = json.null, duration = time.duration,
  parse_time = time.parse, format_time = time.format,
}

--- Text that was cut at `max` bytes, not inside a character, with an ellipsis when something is missing.
-- @param s string
-- @param max integer bytes
-- @return string
function M.clip(s, max)
  if #s <= max then
    return s
  end
  local n = max
  while n > max - 4 and n > 0 and s:byte(n + 1) & 0xC0 == 0x80 do
    n = n - 1
  end
  return s:sub(1, n) .. "…"
end

--- What was seen as text of at most 1 KiB: an object may show itself, but must not get in the way of the verdict.
-- @param seen any
-- @return string
function M.shown(seen)
  local ok, words = pcall(tostring, seen)
  return ok and M.clip(words, 1024) or "a " .. type(seen)
end

return M
