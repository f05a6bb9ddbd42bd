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

return M
