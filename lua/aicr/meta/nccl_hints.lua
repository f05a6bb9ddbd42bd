---@meta aicr.nccl_hints
-- SPDX-License-Identifier: Apache-2.0

--- What the log of a failed or slow NCCL benchmark points at (nccl-benchmark.md 9).
---@class aicr.nccl_hints
local hints = {}

---@class aicr.nccl_hints.Hint
---@field code string such as "socket-fallback"
---@field cause string
---@field action string
---@field line string the line of the log that shows it

--- The first signature that a log shows, nil when it shows none.
---@param log string
---@param opts? {slow: boolean?, look: string?} slow: the benchmark ended, and was slow; look: where to look on its
--- platform when the fabric is not used
---@return aicr.nccl_hints.Hint?
---@nodiscard
function hints.of(log, opts) end

return hints
