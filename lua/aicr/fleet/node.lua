-- SPDX-License-Identifier: Apache-2.0
--- What a check needs of a node, and how it is read: a page at a time, of each node only that.
local detect = require "aicr.platform.detect"
local errors = require "aicr.native.error"
local fabric = require "aicr.platform.fabric"
local platform = require "aicr.platform"
local shape = require "aicr.fleet.shape"
local text = require "aicr.native.text"
local value = require "aicr.platform.value"

local M = {}

M.GPU = "nvidia.com/gpu"

-- Labels that say with "true" that a node ought to have GPUs: of GPU feature discovery, of node feature discovery (as
-- the GPU Operator sets it up; by its own default for 3D controllers and for displays).
local PRESENT <const> = {
  "nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present",
  "feature.node.kubernetes.io/pci-0302_10de.present", "feature.node.kubernetes.io/pci-0300_10de.present",
}
-- Labels that say it with any value: of GKE, AKS, Karpenter.
local ACCELERATED <const> = {
  "cloud.google.com/gke-accelerator", "kubernetes.azure.com/accelerator", "karpenter.k8s.aws/instance-gpu-name",
}
-- Clouds where all nodes of one instance type have the same GPUs, by how their provider IDs begin, and the label.
local TYPED <const>, TYPE <const> = { "aws://", "azure://", "ocid1." }, "node.kubernetes.io/instance-type"
-- Labels that platform detection reads.
local TOLD <const> = { "kubernetes.io/hostname", "nke.nvidia.com/site-name", "node-role.together.ai/worker" }

local FIELDS <const> = {
  "metadata.name", "spec.unschedulable", "spec.providerID", "status.conditions[*].type", "status.conditions[*].status",
  "status.allocatable", ('status.capacity["%s"]'):format(M.GPU), "spec.taints[*].key", "spec.taints[*].value",
  "spec.taints[*].effect",
}
local DOMAIN <const> = fabric.domain_labels()
for _, labels in ipairs { TOLD, PRESENT, ACCELERATED, DOMAIN, { detect.PRODUCT_LABEL, TYPE } } do
  for _, label in ipairs(labels) do
    FIELDS[#FIELDS + 1] = ('metadata.labels["%s"]'):format(label)
  end
end

-- Resources beside those of Kubernetes itself, such as cpu and hugepages-2Mi, which differ from node to node.
local function is_extended(name)
  return name:find("/", 1, true) ~= nil
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
  for _, label in ipairs(ACCELERATED) do
    if labels[label] ~= nil then
      return true
    end
  end
  return (labels[detect.PRODUCT_LABEL] or "") ~= "" or capacity ~= nil and capacity ~= "0"
end

-- Taints by which Kubernetes, a cloud or an autoscaler takes a node out of use.
local OUT_OF_USE <const> = {
  "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupt",
}

local function takes_out(key)
  for _, prefix in ipairs(OUT_OF_USE) do
    if key:sub(1, #prefix) == prefix then
      return true
    end
  end
  return false
end

-- The taint that takes a node out of use, and the others that keep pods away, but for that of GPU nodes.
local function taints_of(object)
  local out, others
  for _, taint in ipairs(object.spec and object.spec.taints or {}) do
    if taint.effect == "NoSchedule" or taint.effect == "NoExecute" then
      if takes_out(taint.key) then
        out = out or taint.key
      elseif taint.key ~= M.GPU then
        others = others or {}
        others[#others + 1] = ("%s%s:%s"):format(taint.key, taint.value and "=" .. taint.value or "", taint.effect)
      end
    end
  end
  return out, others
end

-- True where the extended resources are those of the node before, as of most of thousands.
local function as_before(allocatable, last, size)
  local n = 0
  for name, amount in pairs(allocatable) do
    if is_extended(name) then
      n = n + 1
      if last[name] ~= amount then
        return false
      end
    end
  end
  return n == size
end

-- What a node offers of extended resources. Nodes that offer the same share one table: there are
-- thousands of them.
local function offers_of(status, known)
  local names, kept = {}, {}
  if known.last and as_before(status.allocatable or names, known.last, known.size) then
    return known.last
  end
  for name, amount in pairs(status.allocatable or {}) do
    if is_extended(name) then
      names[#names + 1] = ("%s=%s"):format(name, amount)
      kept[name] = amount
    end
  end
  table.sort(names)
  local key = table.concat(names, " ")
  known.by_key[key] = known.by_key[key] or kept
  known.last, known.size = known.by_key[key], #names
  return known.last
end

-- What of a node says its platform, for those who have to find out.
local function as_object(object, offers)
  return {
    metadata = { name = object.metadata.name, labels = object.metadata.labels },
    spec = { providerID = object.spec and object.spec.providerID }, status = { allocatable = offers },
  }
end

-- What the platform is told from (aicr.platform.detect).
local function need_text(v)
  assert(v == nil or type(v) == "string")
end

-- The instance type of a node that says what hardware it is, nil elsewhere.
local function type_of(object, labels)
  local id = object.spec and object.spec.providerID or ""
  for _, prefix in ipairs(TYPED) do
    if id:sub(1, #prefix) == prefix then
      need_text(labels[TYPE])
      return labels[TYPE]
    end
  end
end

--- Marks the nodes that say nothing of GPUs, where others of their instance type have some: neither driver nor feature
--- discovery reached them.
---@param nodes aicr.fleet.Node[]
function M.mark_alike(nodes)
  local first = {}
  for _, one in ipairs(nodes) do
    if one.type and one.marked and (one.offers[M.GPU] or "0") ~= "0" then
      first[one.type] = first[one.type] or one.name
    end
  end
  for _, one in ipairs(nodes) do
    if one.type and not one.marked and first[one.type] then
      one.marked, one.like = true, first[one.type]
    end
  end
end

-- Which NVLink domain it is of, by the label that says it; nil where none does.
local function domains_of(labels)
  local domains
  for _, label in ipairs(DOMAIN) do
    if (labels[label] or "") ~= "" then
      domains = domains or {}
      domains[label] = labels[label]
    end
  end
  return domains
end

local function reduce(object, known)
  local labels, status = object.metadata.labels or {}, object.status or {}
  assert(type(object.metadata.name) == "string" and type(labels) == "table")
  need_text(object.spec and object.spec.providerID)
  for _, told in ipairs { TOLD, DOMAIN } do
    for _, label in ipairs(told) do
      need_text(labels[label])
    end
  end
  local offers, product = offers_of(status, known), labels[detect.PRODUCT_LABEL] or ""
  local capacity = status.capacity and status.capacity[M.GPU]
  local out_of_use, taints = taints_of(object)
  return {
    name = object.metadata.name, marked = is_marked(labels, capacity or offers[M.GPU]), ready = ready_of(object),
    cordoned = object.spec ~= nil and object.spec.unschedulable == true, out_of_use = out_of_use, taints = taints,
    arch = platform.gpu_architecture(product), offers = offers, capacity = capacity, domains = domains_of(labels),
    type = type_of(object, labels),
    -- MIG and time slicing are told by the end of the product.
    cut = product:find "%-MIG%-" ~= nil or product:find "%-SHARED$" ~= nil,
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
  local nodes, known, first = {}, { by_key = {} }, "\255"
  for object in ctx.k8s:each("nodes", { label = selector ~= "" and selector or nil, fields = FIELDS }) do
    local one = shape.read("node", object, reduce, known)
    first = note_platform(ctx, one, object, first)
    nodes[#nodes + 1] = one
  end
  table.sort(nodes, function(a, b) return a.name < b.name end)
  return nodes
end

local function whole(one, of, resource, amount)
  local count = value.whole(amount)
  if not count then
    errors.raise {
      code = "INTERNAL", reason = "quantity",
      message = ("node %s: %s of %s is no whole number: %s"):format(text.printable(one.name), of,
        text.printable(resource), text.printable(tostring(amount))),
    }
  end
  return count
end

--- How much of a resource a node offers, 0 where it does not. Raises INTERNAL/`quantity` for what is no whole number.
---@param one aicr.fleet.Node
---@param resource string
---@return integer
function M.amount(one, resource)
  local amount = one.offers[resource]
  return amount and whole(one, "allocatable", resource, amount) or 0
end

--- How many GPUs a node says that it has, well or not; 0 where it says none. Raises as `amount`.
---@param one aicr.fleet.Node
---@return integer
function M.gpu_capacity(one)
  return one.capacity and whole(one, "capacity", M.GPU, one.capacity) or 0
end

return M
