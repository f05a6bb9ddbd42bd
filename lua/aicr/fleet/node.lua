-- SPDX-License-Identifier: Apache-2.0
--- What a check needs of a node, and how it is read: a page at a time, of each node only that.
local detect = require "aicr.platform.detect"
local errors = require "aicr.native.error"
local nics = require "aicr.platform.nics"
local platform = require "aicr.platform"
local quantity = require "aicr.quantity"
local text = require "aicr.native.text"

local M = {}

M.GPU = "nvidia.com/gpu"

-- Labels that say that a node ought to have GPUs: of GPU feature discovery, of GKE, of node feature discovery.
local MARKS <const> = {
  ["nvidia.com/gpu.present"] = "true", ["feature.node.kubernetes.io/pci-10de.present"] = "true",
}
local GKE <const> = "cloud.google.com/gke-accelerator"
-- Labels that platform detection reads.
local TOLD <const> = { "kubernetes.io/hostname", "nke.nvidia.com/site-name", "node-role.together.ai/worker" }

local FIELDS <const> = {
  "metadata.name", "spec.unschedulable", "spec.providerID", "status.conditions[*].type", "status.conditions[*].status",
  "status.allocatable", ('status.capacity["%s"]'):format(M.GPU),
}
for _, labels in ipairs { TOLD, { detect.PRODUCT_LABEL, GKE }, { next(MARKS), (next(MARKS, (next(MARKS)))) } } do
  for _, label in ipairs(labels) do
    FIELDS[#FIELDS + 1] = ('metadata.labels["%s"]'):format(label)
  end
end

local function is_fabric(name)
  return name == M.GPU or name == nics.MLNX or name == "vpc.amazonaws.com/efa"
    or name:sub(1, #nics.RDMA_PREFIX) == nics.RDMA_PREFIX
    or name:sub(1, #nics.NETWORK_PREFIX) == nics.NETWORK_PREFIX
end

-- The state of the condition Ready, "missing" where there is none.
local function ready_of(object)
  for _, condition in ipairs(object.status and object.status.conditions or {}) do
    if condition.type == "Ready" then
      return tostring(condition.status)
    end
  end
  return "missing"
end

local function is_marked(labels, capacity)
  for label, wanted in pairs(MARKS) do
    if labels[label] == wanted then
      return true
    end
  end
  return labels[GKE] ~= nil or (labels[detect.PRODUCT_LABEL] or "") ~= "" or capacity ~= nil and capacity ~= "0"
end

-- Resources that no check asks for are not kept: of thousands of nodes they are most of what there is.
local function reduce(object)
  local labels, status = object.metadata.labels or {}, object.status or {}
  local capacity = status.capacity and status.capacity[M.GPU]
  local kept = {}
  for name, amount in pairs(status.allocatable or {}) do
    if is_fabric(name) then
      kept[name] = amount
    end
  end
  return {
    name = object.metadata.name, marked = is_marked(labels, capacity), ready = ready_of(object),
    cordoned = object.spec ~= nil and object.spec.unschedulable == true,
    arch = platform.gpu_architecture(labels[detect.PRODUCT_LABEL] or ""),
    total = { [M.GPU] = capacity },
    object = {
      metadata = { name = object.metadata.name, labels = object.metadata.labels },
      spec = { providerID = object.spec and object.spec.providerID }, status = { allocatable = kept },
    },
  }
end

--- The nodes, or those of the parameter node_selector, by name.
---@param ctx aicr.ctx
---@return aicr.fleet.Node[]
function M.list(ctx)
  local selector = table.concat(ctx.params.node_selector, ",")
  local nodes = {}
  for object in ctx.k8s:each("nodes", { label = selector ~= "" and selector or nil, fields = FIELDS }) do
    nodes[#nodes + 1] = reduce(object)
  end
  table.sort(nodes, function(a, b) return a.name < b.name end)
  return nodes
end

--- How much of a resource a node offers, 0 where it does not. Raises INTERNAL/`quantity` for what is no quantity.
---@param one aicr.fleet.Node
---@param resource string
---@param of? "capacity" default: what is allocatable
---@return integer
function M.amount(one, resource, of)
  local amount
  if of then
    amount = one.total[resource]
  else
    amount = one.object.status.allocatable[resource]
  end
  if amount == nil then
    return 0
  end
  local ok, n = pcall(quantity.value, amount)
  if not ok then
    errors.raise {
      code = "INTERNAL", reason = "quantity",
      message = ("node %s: %s of %s is no quantity: %s"):format(text.printable(one.name), of or "allocatable", resource,
        text.printable(tostring(amount))),
    }
  end
  return n
end

return M
