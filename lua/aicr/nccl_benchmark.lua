-- SPDX-License-Identifier: Apache-2.0
--- The all-reduce benchmark between the nodes of a cluster, step by step, for the checks of the performance phase
--- (gke-tcpxo.md 5). Where its runtime comes from on a platform is a file in lua/aicr/nccl_runtime/.
local advice = require "aicr.nccl_runtime.advice"
local benchmark = require "aicr.nccl_runtime.benchmark"
local benchmarks = require "aicr.nccl_runtime.benchmarks"
local params = require "aicr.nccl_runtime.params"
local platform = require "aicr.platform"
local request = require "aicr.nccl_runtime.request"
local source = require "aicr.nccl_runtime.source"
local verdict = require "aicr.nccl_verdict"

local M = {}

-- The files that rows of recipes/platforms/benchmarks.yaml name, by their names, and what they need.
local PLATFORMS <const>, needs = {}, { benchmark.needs, platform.needs }
for _, name in ipairs(benchmarks.runtimes()) do
  PLATFORMS[name] = require("aicr.nccl_runtime." .. name)
  needs[#needs + 1] = PLATFORMS[name].needs
end

--- Name of the check and of its constraint in recipes.
M.NAME = request.NAME
--- For the `params`, `needs` and `fixes` of a check.
M.params = params.declare()
M.needs = needs
M.fixes = advice.FIXES

--- What recipe and parameters ask for (5.1, steps 1 to 7). Skips the check when they ask for nothing, or for hardware
--- that has no benchmark. Raises INVALID_REQUEST.
---@param ctx aicr.ctx
---@return table asked
M.asked = request.read

--- Whose runtime is measured, verified as far as the recipe delivers it (5.2). Says which in the report first.
---@param ctx aicr.ctx
---@param asked table
---@return table from
function M.source(ctx, asked)
  return source.choose(ctx, asked, PLATFORMS)
end

--- The nodes of the benchmark (5.3). Ends the check when they are not enough.
---@param ctx aicr.ctx
---@param asked table
---@param from table
---@return table size {nodes, workers, gpus, total}
M.nodes = benchmark.size

--- Probes the nodes and runs the benchmark (5.4 to 5.7). Ends the check when workers were wired wrongly.
---@param ctx aicr.ctx
---@param asked table
---@param from table
---@param size table
---@return aicr.training.Result
M.run = benchmark.run

--- Judges what it wrote (5.8): wrong values and the wrong transport end the check; a figure below the floor is a false
--- expectation. Raises what `aicr.nccl_verdict.read` raises, and `transport-unknown`.
---@param ctx aicr.ctx
---@param asked table
---@param from table
---@param size table
---@param result aicr.training.Result
---@return string phrase
function M.judge(ctx, asked, from, size, result)
  local figure = benchmark.figure(ctx, asked, from, size, result)
  local phrase = verdict.measure(ctx, figure, result.log, {
    floor = asked.floor, text = asked.floor_text, tolerance = ctx.params.tolerance, image = asked.image,
    wired = not asked.carrier and not figure.over, look = from.platform.LOOK,
  })
  return size.covers and ("%s; %s"):format(phrase, size.covers) or phrase
end

return M
