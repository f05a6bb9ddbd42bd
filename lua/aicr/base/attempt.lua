-- SPDX-License-Identifier: Apache-2.0
--- Embedded code only: a check has `ctx:try`, which lets a cancellation pass too.
local errors = require "aicr.native.error"

--- Calls f(...). Gives its results, or nil and the error object that it raised; raises what is no error object.
---@param f function
---@return any
---@return any
return function(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then
    return table.unpack(results, 2, results.n)
  elseif not errors.is(results[2]) then
    error(results[2], 0)
  end
  return nil, results[2]
end
