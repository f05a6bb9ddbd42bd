-- SPDX-License-Identifier: Apache-2.0
--- What a watch and a log have in common: a stream that breaks off and is opened again. `self` has `stream`, `closing`
--- (its to-be-closed value), `failures` (since something came) and `ends` (when its time is over; nil: never).
local native = require "aicr.native.task"

local M = {}

M.BACKOFF_MS, M.BACKOFF_MAX_MS = 1000, 30000

--- Ends the stream, if there is one.
function M.close(self)
  local closing = self.closing
  self.stream, self.closing = nil, nil
  if closing then
    closing:close()
  end
end

--- Waits, not beyond its end. A recording is not waited for.
function M.rest(self, ms)
  if not native.recording() then
    native.sleep(self.ends and math.max(0, math.min(ms, self.ends - native.monotonic())) or ms)
  end
end

--- Counts a failure and waits, the longer the more there were.
-- @param ms integer|nil so long instead
function M.pause(self, ms)
  self.failures = self.failures + 1
  M.rest(self, ms or math.min(M.BACKOFF_MAX_MS, M.BACKOFF_MS << math.min(self.failures - 1, 5)))
end

return M
