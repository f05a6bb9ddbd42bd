-- SPDX-License-Identifier: Apache-2.0
--- Platforms of GPU clusters: their names, the objects of a training run on each, and how one is
--- told from the nodes (platform-runtimes.md). All functions are pure.
local env = require "aicr.platform.env"
local match = require "aicr.platform.match"
local merge = require "aicr.platform.merge"
local names = require "aicr.platform.names"
local overrides = require "aicr.platform.overrides"
local run = require "aicr.platform.run"
local runtime = require "aicr.platform.runtime"

return {
  names = names.names,
  names_list = names.names_list,
  validate_flag = names.validate_flag,
  base_nccl_env = env.base_nccl_env,
  merge_env = env.merge_env,
  override_env = env.override_env,
  mpi_env_args = env.mpi_env_args,
  build_torch_runtime = runtime.build_torch_runtime,
  build_exec_runtime = runtime.build_exec_runtime,
  build_mpi_runtime = runtime.build_mpi_runtime,
  gang_schedule = runtime.gang_schedule,
  build_overrides = overrides.build_overrides,
  matches = match.matches,
  merge_maps = merge.merge_maps,
  merge_dependency = merge.merge_dependency,
  build_run = run.build_run,
}
