-- SPDX-License-Identifier: Apache-2.0
--- Devices of DRA by node, from ResourceSlices.
local value = require "aicr.platform.value"

local M = {}

M.RESOURCE = "resourceslices.resource.k8s.io"
M.needs = "list " .. M.RESOURCE

local FIELDS <const> = {
  "spec.driver", "spec.nodeName", "spec.pool.name", "spec.pool.generation", "spec.devices[*].name",
  "spec.devices[*].attributes.productName", "spec.devices[*].attributes.type",
  "spec.devices[*].basic.attributes.productName", "spec.devices[*].basic.attributes.type",
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

-- A part of a GPU is a device of its own, and no GPU.
local function is_whole(device)
  local attributes = value.opt(device.attributes) or device.basic and value.opt(device.basic.attributes) or {}
  local kind = attributes.type and attributes.type.string
  return kind == nil or kind == "gpu"
end

-- The slices of a driver that are up to date: a pool is replaced by one of a higher generation.
local function current(slices, driver)
  local newest, mine = {}, {}
  for _, slice in ipairs(slices) do
    local spec = slice.spec or {}
    if spec.driver == driver and spec.nodeName then
      local pool = spec.pool or {}
      local key = spec.nodeName .. "\0" .. tostring(pool.name)
      mine[#mine + 1] = { spec = spec, key = key, generation = pool.generation or 0 }
      newest[key] = math.max(newest[key] or 0, pool.generation or 0)
    end
  end
  return function()
    for i = #mine, 1, -1 do
      local one = table.remove(mine, i)
      if one.generation == newest[one.key] then
        return one.spec
      end
    end
  end
end

--- How many devices of a driver each node has. Of gpu.nvidia.com whole GPUs count, not parts.
---@param ctx aicr.ctx
---@param fleet table
---@param driver string
---@return table<string, integer> by node name
function M.count(ctx, fleet, driver)
  local counts = {}
  for spec in current(M.slices(ctx, fleet), driver) do
    local n = 0
    for _, device in ipairs(value.list(spec.devices)) do
      n = n + (is_whole(device) and 1 or 0)
    end
    counts[spec.nodeName] = (counts[spec.nodeName] or 0) + n
  end
  return counts
end

return M
