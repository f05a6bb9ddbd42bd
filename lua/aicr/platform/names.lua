-- SPDX-License-Identifier: Apache-2.0
--- The names of platforms (platform-runtimes.md 1). C owns the table.
local native = require "aicr.native.platform"
local value = require "aicr.platform.value"

local M = {}

--- The nine names, in their order; a new list at each call.
M.names = native.names

--- The nine names in a sentence.
---@return string
function M.names_list()
  return table.concat(native.names(), ", ")
end

--- Is it one of the nine names, exactly?
function M.is_name(name)
  for _, known in ipairs(native.names()) do
    if name == known then
      return true
    end
  end
  return false
end

--- What `--platform` takes: one of the names, exactly, or the empty text for "not given".
--- Raises INVALID_REQUEST/`unknown-platform`.
---@param name string
function M.validate_flag(name)
  if name ~= "" and not M.is_name(name) then
    value.invalid("unknown-platform", "--platform %s is not valid; expected one of: %s", value.quoted(name),
      M.names_list())
  end
end

return M
