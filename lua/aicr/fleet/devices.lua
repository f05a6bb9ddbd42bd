-- SPDX-License-Identifier: Apache-2.0
--- Devices of DRA by node, from ResourceSlices.
local detect = require "aicr.platform.detect"
local shape = require "aicr.fleet.shape"
local value = require "aicr.platform.value"

local M = {}

M.RESOURCE = "resourceslices.resource.k8s.io"
M.needs = "list " .. M.RESOURCE .. " if served"

local FIELDS <const> = {
  "spec.driver", "spec.nodeName", "spec.pool.name", "spec.pool.generation", "spec.pool.resourceSliceCount",
  "spec.devices[*].name",
  "spec.devices[*].attributes.productName", "spec.devices[*].attributes.type", "spec.devices[*].taints[*].effect",
  "spec.devices[*].basic.attributes.productName", "spec.devices[*].basic.attributes.type",
  "spec.devices[*].basic.taints[*].effect",
}

--- The ResourceSlices, read once; none where the API is not served.
---@param ctx aicr.ctx
---@param fleet table
---@return table[]
function M.slices(ctx, fleet)
  if not fleet.slices then
    local slices, err = ctx:try(ctx.k8s.list, ctx.k8s, M.RESOURCE, { fields = FIELDS })
    if err and err.reason ~= "api-not-served" then
      error(err, 0)
    end
    fleet.slices = slices or {}
  end
  return fleet.slices
end

-- A part of a GPU is a device of its own, and no GPU. Other drivers have types of their own.
local function is_whole(device, driver)
  local attributes = value.opt(device.attributes) or device.basic and value.opt(device.basic.attributes) or {}
  local kind = attributes.type and attributes.type.string
  return driver ~= detect.DRA_DRIVER or kind == nil or kind == "gpu"
end

-- A driver taints a device that is not well; claims do not get it.
local function is_free(device)
  for _, taint in ipairs(value.list(device.taints or device.basic and device.basic.taints)) do
    if taint.effect == "NoSchedule" or taint.effect == "NoExecute" then
      return false
    end
  end
  return true
end

local function devices_in(spec, driver)
  local n = 0
  for _, device in ipairs(value.list(spec.devices)) do
    n = n + (is_whole(device, driver) and is_free(device) and 1 or 0)
  end
  return n
end

-- Puts a slice into its pool: one of a higher generation replaces another.
local function add_slice(slice, driver, pools)
  local spec = slice.spec or {}
  if spec.driver ~= driver or not spec.nodeName then
    return
  end
  local said = spec.pool or {}
  local key, generation = spec.nodeName .. "\0" .. tostring(said.name), shape.count(said.generation)
  local pool = pools[key]
  if not pool or pool.generation < generation then
    pool = { node = spec.nodeName, generation = generation, slices = 0, wanted = 0, devices = 0 }
    pools[key] = pool
  end
  if pool.generation == generation then
    pool.slices, pool.devices = pool.slices + 1, pool.devices + devices_in(spec, driver)
    pool.wanted = math.max(pool.wanted, shape.count(said.resourceSliceCount))
  end
end

--- How many devices of a driver each node has to give. Of gpu.nvidia.com whole GPUs count, not parts; devices that are
--- tainted do not, nor pools of which slices are missing: the scheduler takes none of those.
---@param ctx aicr.ctx
---@param fleet table
---@param driver string
---@return table<string, integer> by node name
function M.count(ctx, fleet, driver)
  local counts, pools = {}, {}
  for _, slice in ipairs(M.slices(ctx, fleet)) do
    shape.read("resourceslice", slice, add_slice, driver, pools)
  end
  for _, pool in pairs(pools) do
    if pool.slices >= pool.wanted then
      counts[pool.node] = (counts[pool.node] or 0) + pool.devices
    end
  end
  return counts
end

return M
