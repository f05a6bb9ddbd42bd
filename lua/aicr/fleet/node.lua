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
local PRESENT <const> = { "nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present" }
local GKE <const> = "cloud.google.com/gke-accelerator"
-- Labels that platform detection reads.
local TOLD <const> = { "kubernetes.io/hostname", "nke.nvidia.com/site-name", "node-role.together.ai/worker" }

local FIELDS <const> = {
  "metadata.name", "spec.unschedulable", "spec.providerID", "status.conditions[*].type", "status.conditions[*].status",
  "status.allocatable", ('status.capacity["%s"]'):format(M.GPU),
}
for _, labels in ipairs { TOLD, PRESENT, { detect.PRODUCT_LABEL, GKE } } do
  for _, label in ipairs(labels) do
    FIELDS[#FIELDS + 1] = ('metadata.labels["%s"]'):format(label)
  end
end

-- Names that were met, and whether checks ask for them.
local asked = {}

local function is_fabric(name)
  if asked[name] == nil then
    asked[name] = name == M.GPU or name == nics.MLNX or name == "vpc.amazonaws.com/efa"
      or name:sub(1, #nics.RDMA_PREFIX) == nics.RDMA_PREFIX
      or name:sub(1, #nics.NETWORK_PREFIX) == nics.NETWORK_PREFIX
  end
  return asked[name]
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
  for _, label in ipairs(PRESENT) do
    if labels[label] == "true" then
      return true
    end
  end
  return labels[GKE] ~= nil or (labels[detect.PRODUCT_LABEL] or "") ~= "" or capacity ~= nil and capacity ~= "0"
end

-- What a node offers of the resources that checks ask for. Nodes that offer the same share one table: there are
-- thousands of them.
local function offers_of(status, known)
  local names, kept = {}, {}
  for name, amount in pairs(status.allocatable or {}) do
    if is_fabric(name) then
      names[#names + 1] = ("%s=%s"):format(name, amount)
      kept[name] = amount
    end
  end
  table.sort(names)
  local key = table.concat(names, " ")
  known[key] = known[key] or kept
  return known[key]
end

-- What of a node says its platform, for those who have to find out.
local function as_object(object, offers)
  return {
    metadata = { name = object.metadata.name, labels = object.metadata.labels },
    spec = { providerID = object.spec and object.spec.providerID }, status = { allocatable = offers },
  }
end

local function reduce(object, known)
  local labels, status = object.metadata.labels or {}, object.status or {}
  local capacity = status.capacity and status.capacity[M.GPU]
  return {
    name = object.metadata.name, marked = is_marked(labels, capacity), ready = ready_of(object),
    cordoned = object.spec ~= nil and object.spec.unschedulable == true,
    arch = platform.gpu_architecture(labels[detect.PRODUCT_LABEL] or ""), offers = offers_of(status, known),
  }
end

-- Where somebody said the platform, only of the first node by name is told what it looks like.
local function note_platform(ctx, one, object, first)
  if not ctx.platform then
    one.object = as_object(object, one.offers)
  elseif one.marked and one.name < first then
    local like, told, why = detect.platform_of(object)
    one.looks_like = told and like ~= ctx.platform and ("%s: %s"):format(like, why) or nil
    return one.name
  end
  return first
end

--- The nodes, or those of the parameter node_selector, by name.
---@param ctx aicr.ctx
---@return aicr.fleet.Node[]
function M.list(ctx)
  local selector = table.concat(ctx.params.node_selector, ",")
  local nodes, known, first = {}, {}, "\255"
  for object in ctx.k8s:each("nodes", { label = selector ~= "" and selector or nil, fields = FIELDS }) do
    local one = reduce(object, known)
    first = note_platform(ctx, one, object, first)
    nodes[#nodes + 1] = one
  end
  table.sort(nodes, function(a, b) return a.name < b.name end)
  return nodes
end

--- How much of a resource a node offers, 0 where it does not. Raises INTERNAL/`quantity` for what is no quantity.
---@param one aicr.fleet.Node
---@param resource string
---@return integer
function M.amount(one, resource)
  local amount = one.offers[resource]
  if amount == nil then
    return 0
  end
  local ok, n = pcall(quantity.value, amount)
  if not ok then
    errors.raise {
      code = "INTERNAL", reason = "quantity",
      message = ("node %s: allocatable of %s is no quantity: %s"):format(text.printable(one.name), resource,
        text.printable(tostring(amount))),
    }
  end
  return n
end

return M
