---@meta aicr.nccl_verdict
-- SPDX-License-Identifier: Apache-2.0

--- From what a benchmark wrote to its verdict (nccl-benchmark.md 5.4 rules 7 and 8, design 13). What was measured and
--- is wrong is a fault, for `ctx:fail`; what could not be measured is raised.
---@class aicr.nccl_verdict
local verdict = {}

---@class aicr.nccl_verdict.Asked
---@field min_bytes? integer
---@field max_bytes? integer nil: the log says what was asked for
---@field ranks? integer nil: not compared
---@field hosts? integer nil: at least two

---@class aicr.nccl_verdict.Figure
---@field busbw number GB/s
---@field algbw number GB/s
---@field time_us number
---@field size integer bytes
---@field type string
---@field redop? string
---@field from "log"|"termination message"
---@field ranks? integer
---@field hosts integer
---@field network? string
---@field evidence? aicr.nccl.Evidence what NCCL said of itself
---@field over? string what carried it, where that was judged
---@field others? integer whole runs of the log beside the one that is judged
---@field curve {size: integer, time_us: number, algbw: number, busbw: number}[]

---@class aicr.nccl_verdict.Fault
---@field code aicr.Code
---@field reason string
---@field message string
---@field details {subject: "launch"|"wiring"|"transport"|"correctness"|"speed", hint: string?}

---@param bytes integer
---@return string such as "16G"
---@nodiscard
function verdict.size_text(bytes) end

--- The figure to judge by, or nil and a fault: `wrong-values`, `below-own-floor`. Raises INTERNAL (no verdict):
--- `no-rows`, `incomplete-sweep`, `evidence-disagrees`, `other-collective`, `mpi-not-enabled`, `rank-count`,
--- `host-count`, `unsupported-format`, `benchmark-errors`, `unvalidated`, `interleaved-runs`, `not-finite`,
--- `inconsistent-row`, `other-sweep`.
---@param log string
---@param termination? string
---@param asked aicr.nccl_verdict.Asked
---@return aicr.nccl_verdict.Figure?
---@return aicr.nccl_verdict.Fault?
---@nodiscard
function verdict.read(log, termination, asked) end

--- What a slow benchmark points at, nil when nothing does.
---@param figure aicr.nccl_verdict.Figure
---@param log string
---@param look? string where to look on this platform when its fabric is not used
---@return aicr.nccl_hints.Hint?
---@nodiscard
function verdict.why_slow(figure, log, look) end

--- Records figure and curve, and expects the floor less the tolerance.
---@param ctx aicr.ctx
---@param figure aicr.nccl_verdict.Figure
---@param log string
---@param want {floor: number, text: string, tolerance: number, image: string?, wired: boolean?, look: string?}
---@return string phrase
function verdict.measure(ctx, figure, log, want) end

--- What an earlier start of a launcher that was started again says against the figure of its last. Raises
--- INTERNAL/`incomplete-sweep` (no verdict) where it was slower.
---@param before string the log of that start
---@param figure aicr.nccl_verdict.Figure
---@return aicr.nccl_verdict.Fault?
---@nodiscard
function verdict.of_start(before, figure) end

--- What a launcher that did not succeed says of itself: a fault, or nil and the fields of the error to raise.
---@param err aicr.Error
---@param log? string
---@return aicr.nccl_verdict.Fault?
---@return aicr.error.Fields
---@nodiscard
function verdict.of_failure(err, log) end

return verdict
