-- SPDX-License-Identifier: Apache-2.0
--- Devices of DRA by node, from ResourceSlices.
local detect = require "aicr.platform.detect"
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

-- The pools of a driver as they are now, by a key: one of a higher generation replaces another.
local function pools_of(slices, driver)
  local pools = {}
  for _, slice in ipairs(slices) do
    local spec = slice.spec or {}
    if spec.driver == driver and spec.nodeName then
      local said = spec.pool or {}
      local key, generation = spec.nodeName .. "\0" .. tostring(said.name), said.generation or 0
      local pool = pools[key]
      if not pool or pool.generation < generation then
        pool = { node = spec.nodeName, generation = generation, slices = {} }
        pools[key] = pool
      end
      if pool.generation == generation then
        pool.slices[#pool.slices + 1] = spec
        pool.count = math.max(pool.count or 0, said.resourceSliceCount or 0)
      end
    end
  end
  return pools
end

local function devices_in(spec, driver)
  local n = 0
  for _, device in ipairs(value.list(spec.devices)) do
    n = n + (is_whole(device, driver) and is_free(device) and 1 or 0)
  end
  return n
end

--- How many devices of a driver each node has to give. Of gpu.nvidia.com whole GPUs count, not parts; devices that are
--- tainted do not, nor pools of which slices are missing: the scheduler takes none of those.
---@param ctx aicr.ctx
---@param fleet table
---@param driver string
---@return table<string, integer> by node name
function M.count(ctx, fleet, driver)
  local counts = {}
  for _, pool in pairs(pools_of(M.slices(ctx, fleet), driver)) do
    for _, spec in ipairs(#pool.slices >= pool.count and pool.slices or {}) do
      counts[pool.node] = (counts[pool.node] or 0) + devices_in(spec, driver)
    end
  end
  return counts
end

return M
