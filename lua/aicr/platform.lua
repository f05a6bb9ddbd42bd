-- SPDX-License-Identifier: Apache-2.0
--- Platforms of GPU clusters: their names, the objects of a training run on each, and how one is
--- told from the nodes (platform-runtimes.md). All functions are pure.
local catalog = require "aicr.platform.catalog"
local detect = require "aicr.platform.detect"
local env = require "aicr.platform.env"
local match = require "aicr.platform.match"
local measure = require "aicr.platform.measure"
local merge = require "aicr.platform.merge"
local names = require "aicr.platform.names"
local nics = require "aicr.platform.nics"
local overrides = require "aicr.platform.overrides"
local run = require "aicr.platform.run"
local runtime = require "aicr.platform.runtime"
local sizing = require "aicr.platform.sizing"

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
  load_overrides = overrides.load,
  matches = match.matches,
  merge_maps = merge.merge_maps,
  merge_dependency = merge.merge_dependency,
  build_run = run.build_run,
  needs = run.NEEDS,
  platform_of = detect.platform_of,
  detect_platform = detect.detect_platform,
  gpu_architecture = detect.gpu_architecture,
  product_label_value = detect.product_label_value,
  detect_architecture = detect.detect_architecture,
  gpu_defaults = sizing.gpu_defaults,
  sizes = sizing.sizes,
  gpu_capacity = sizing.gpu_capacity,
  require_gpu_capacity = sizing.require_gpu_capacity,
  gpus_needed = sizing.gpus_needed,
  detect_nic_resource = nics.detect_nic_resource,
  detect_gke_networks = nics.detect_gke_networks,
  interface_pairs = nics.interface_pairs,
  detect_tcpxo_release = nics.detect_tcpxo_release,
  nccl_tests = catalog.nccl_tests,
  nccl_test = catalog.nccl_test,
  nccl_run = catalog.nccl_run,
  judge = catalog.judge,
  add_measurement = measure.add,
  peak = measure.peak,
  failed_nodes = measure.failed_nodes,
}
