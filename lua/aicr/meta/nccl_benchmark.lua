---@meta aicr.nccl_benchmark
-- SPDX-License-Identifier: Apache-2.0

--- The all-reduce benchmark between the nodes of a cluster, step by step (gke-tcpxo.md 5). What a step gives is for the
--- next one.
---@class aicr.nccl_benchmark
---@field NAME string of the check and of its constraint
---@field params table<string, aicr.Param>
---@field needs table
---@field fixes table<string, string>
local benchmark = {}

--- What recipe and parameters ask for. Skips (`no-constraint`, `not-supported`); raises INVALID_REQUEST.
---@param ctx aicr.ctx
---@return table asked
---@nodiscard
function benchmark.asked(ctx) end

--- Whose runtime is measured, verified as far as the recipe delivers it.
---@param ctx aicr.ctx
---@param asked table
---@return table from
---@nodiscard
function benchmark.source(ctx, asked) end

--- The nodes; ends the check when they are not enough.
---@param ctx aicr.ctx
---@param asked table
---@param from table
---@return {nodes: string[], workers: integer, gpus: integer, total: integer} size
---@nodiscard
function benchmark.nodes(ctx, asked, from) end

--- Probes the nodes and runs the benchmark; ends the check when workers were wired wrongly.
---@param ctx aicr.ctx
---@param asked table
---@param from table
---@param size table
---@return aicr.training.Result
function benchmark.run(ctx, asked, from, size) end

--- Judges what it wrote; gives the phrase.
---@param ctx aicr.ctx
---@param asked table
---@param from table
---@param size table
---@param result aicr.training.Result
---@return string
function benchmark.judge(ctx, asked, from, size, result) end

return benchmark
