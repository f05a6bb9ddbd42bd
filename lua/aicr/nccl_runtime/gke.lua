-- SPDX-License-Identifier: Apache-2.0
--- Where the benchmark's runtime comes from on GKE (gke-tcpxo.md 5.2, 5.4, 5.5): derived from the one that the recipe
--- delivers, else the built-in one on the networks that the cluster has.
---
--- A platform's file has `needs`, and of what `source.choose` gives: `preflight`, `runtime`, `observed`; `size`, or
--- `PRODUCT` and `selector` for that of lua/aicr/nccl_runtime/benchmark.lua; `verify`, where a recipe can deliver a
--- runtime; `LOOK`, where to look when the fabric is not used, or not well.
local derive = require "aicr.nccl_runtime.derive"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local image = require "aicr.nccl_runtime.image"
local json = require "aicr.json"
local preflight = require "aicr.nccl_runtime.gke_preflight"
local scheduling = require "aicr.nccl_runtime.scheduling"
local sizing = require "aicr.nccl_runtime.sizing"
local skeleton = require "aicr.nccl_runtime.gke_skeleton"
local verify = require "aicr.verify"
local wiring = require "aicr.nccl_runtime.wiring"

local M = {}

M.needs = {
  "list networks.networking.gke.io if served", "get clustertrainingruntimes.trainer.kubeflow.org", preflight.needs,
}
--- How the product of the accelerator begins, as GPU feature discovery names it.
M.PRODUCT = "NVIDIA-H100-"
--- The first size of the sweep, where nobody says another.
M.MIN_SIZE, M.MIN_BYTES = "1K", 1024

local ACCELERATOR <const> = "cloud.google.com/gke-accelerator"

local function tolerations()
  return json.array {
    { operator = "Exists" },
    { key = "nvidia.com/gpu", operator = "Equal", value = "present", effect = "NoSchedule" },
  }
end

local function networks(ctx, code)
  local found, err = ctx:try(gke.gpu_nic_networks, ctx.k8s)
  if err then
    errors.raise {
      code = code or gke.read_error_code(err), reason = err.reason, cause = err, details = err.details,
      message = "cannot list the GPU NIC networks",
    }
  end
  return gke.names(found)
end

--- Holds recipe, deployed runtime and cluster against each other, and the shipped worker against what the benchmark can
--- take over (5.2, delivered verification, in its order; readiness of the networks is the deployment phase's). Raises
--- what `gke.read_deployed_runtime`, `gke.deployed_mapping`, `verify` and `derive` raise.
---@param ctx aicr.ctx
---@param recorded table[] the mapping that the recipe recorded
---@return table the shipped ClusterTrainingRuntime
function M.verify(ctx, recorded)
  local shipped = gke.read_deployed_runtime(ctx.k8s)
  local deployed = gke.deployed_mapping(shipped)
  verify.mapping_matches_recipe(recorded, deployed)
  verify.networks_exist(deployed, networks(ctx))
  derive.derive(skeleton.runtime { workers = 1, gpus = 1, min_size = "1K", max_size = "1K", networks = {} }, shipped,
    skeleton.DELIVERED_BOOTSTRAP)
  return shipped
end

--- The labels that nodes must have for the shipped worker, nil when it asks for none or there is none.
---@param source table
---@return table|nil
function M.selector(source)
  return source.shipped and sizing.template_selector(gke.node_template(source.shipped))
end

--- Is TCPXO installed on each node?
---@param ctx aicr.ctx
---@param size table of `sizing.of`
function M.preflight(ctx, size)
  preflight.run(ctx, size.nodes, { image = ctx.params.probe_image, timeout = ctx.params.probe_timeout })
end

-- The built-in runtime on all GPU NIC networks of the cluster (5.4a).
local function fixture(ctx, request, v, size)
  v.networks = networks(ctx, "INTERNAL")
  if #v.networks < gke.REQUIRED then
    ctx:fail {
      code = "INTERNAL", reason = "too-few-networks",
      message = ("the built-in benchmark needs %d GPU NIC networks (with \"%s\" in their name), the cluster has %d")
        :format(gke.REQUIRED, gke.NAME_SUBSTRING, #v.networks),
    }
  end
  return scheduling.stamp(skeleton.runtime(v), not request.selector and scheduling.shared_label(ACCELERATOR, size)
    or nil, tolerations())
end

--- The runtime to apply, for these nodes.
---@param ctx aicr.ctx
---@param request table of `request.read`
---@param source table of `source.choose`
---@param size table of `sizing.of`
---@param namespace string
---@return table TrainingRuntime
function M.runtime(ctx, request, source, size, namespace)
  local v = {
    namespace = namespace, workers = size.workers, gpus = size.gpus, min_size = request.min_size or M.MIN_SIZE,
    max_size = request.max_size, networks = {},
  }
  local runtime = source.shipped
    and derive.derive(skeleton.runtime(v), source.shipped, skeleton.DELIVERED_BOOTSTRAP, size.gpus)
    or fixture(ctx, request, v, size)
  scheduling.stamp(runtime, request.selector, request.tolerations)
  return request.image and image.override(runtime, request.image) or runtime
end

--- What will be seen of the workers' wiring: `see(pod)`, `verdict(workers)`. That of a shipped runtime must be its own.
---@param source table
---@return table
function M.observed(source)
  return wiring.observed(source.shipped and gke.deployed_mapping(source.shipped))
end

return M
