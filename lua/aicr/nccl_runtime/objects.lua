-- SPDX-License-Identifier: Apache-2.0
--- The objects of an NCCL test on nodes of one kind: what `aicr-run render` prints is what the benchmark runs. Pure.
local platform = require "aicr.platform"

local M = {}

--- The test of the all-reduce benchmark.
M.ALL_REDUCE = "all-reduce"

--- Builds them. Raises INVALID_REQUEST/`unknown-test`, `size`, `config`.
---@param name string of a test
---@param facts table platform, arch, nodes, gpus, nics, mnnvl; nic_resource, image, min_bytes, max_bytes ("16G");
--- networks, release of GPUDirect-TCPXO; overrides, what `platform.load_overrides` gave.
--- Its `entry` and, where the test says so, `nodes` are set.
---@return aicr.platform.NcclTest test
---@return aicr.platform.Built built
function M.build(name, facts)
  local test = platform.nccl_test(name, facts)
  facts.entry, facts.nodes = "nccl-" .. test.name, test.nodes or facts.nodes
  local run = platform.nccl_run(test, facts)
  run.OverrideRows = facts.overrides
  return test, platform.build_run(run)
end

return M
