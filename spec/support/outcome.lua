-- SPDX-License-Identifier: Apache-2.0
--- The one place where an outcome of the reference implementation becomes ours (design 4, 12): where
--- it says *fail* to something that could not be observed, ours says *error* with the same code.
local M = {}

-- A deployment check answers with these codes only when a read could not be made.
local UNREADABLE <const> = {
  UNAUTHORIZED = true,
  TIMEOUT = true,
  CANCELED = true,
  SERVICE_UNAVAILABLE = true,
  INTERNAL = true,
}

--- Our outcome for a vector's.
---@param outcome string pass, fail or skip
---@param code string|nil the vector's code
---@param no_client boolean|nil the vector has no usable cluster configuration
---@return string outcome pass, fail, error or skip
function M.ours(outcome, code, no_client)
  if outcome ~= "fail" then
    assert(outcome == "pass" or outcome == "skip", "unknown outcome")
    return outcome
  end
  assert(type(code) == "string" and code ~= "", "a fail has a code")
  return (no_client or UNREADABLE[code]) and "error" or "fail"
end

return M
