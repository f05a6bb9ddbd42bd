-- SPDX-License-Identifier: Apache-2.0
--- Looks at the nodes once, for the head of the report and the platform of the run. It is started
--- like a check; what it finds it records as extra: gpu_nodes, gpus, gpu_nodes_empty (marked as GPU
--- nodes, without a GPU), platform and platform_why, or a reason.
local detect = require "aicr.platform.detect"
local value = require "aicr.platform.value"

-- What is read of each node: of thousands, the rest would be most of the work.
local FIELDS <const> = {
  "spec.providerID", 'status.allocatable["nvidia.com/gpu"]', 'status.capacity["nvidia.com/gpu"]',
  'metadata.labels["cloud.google.com/gke-accelerator"]',
  'metadata.labels["nvidia.com/gpu.present"]', 'metadata.labels["feature.node.kubernetes.io/pci-10de.present"]',
  'metadata.labels["kubernetes.io/hostname"]', 'metadata.labels["nke.nvidia.com/site-name"]',
  'metadata.labels["node-role.together.ai/worker"]', "metadata.name",
}

local function count(quantity)
  return math.tointeger(tonumber(quantity)) or 0
end

--- True for a node that ought to have GPUs: GKE's accelerator label, or what the GPU Operator's and
--- the node feature discovery wrote.
local function is_marked(node)
  local labels = node.metadata.labels or {}
  return labels["cloud.google.com/gke-accelerator"] ~= nil or labels["nvidia.com/gpu.present"] == "true"
    or labels["feature.node.kubernetes.io/pci-10de.present"] == "true"
end

--- The platform of one node, nil where it would be a guess, and why.
local function platform_of(node)
  local name, told, why = detect.platform_of(node)
  if told then
    return name, why
  end
  local labels, id = node.metadata.labels or {}, node.spec and node.spec.providerID or ""
  if id == "" and labels["cloud.google.com/gke-accelerator"] then
    return "gcp", "it has the label cloud.google.com/gke-accelerator"
  end
  return nil, why
end

-- Counts the nodes of each platform, "unknown" for those that say none, and keeps the first one with its reason.
local function note_platform(seen, node)
  local name, why = platform_of(node)
  name = name or "unknown"
  local of = seen[name]
  if not of then
    of = { name = name, count = 0, why = ("node %s: %s"):format(value.quoted(node.metadata.name or ""), why) }
    seen[name], seen[#seen + 1] = of, of
  end
  of.count = of.count + 1
end

-- The platform and why, or why it is not known.
local function decide(seen)
  if #seen == 1 and seen[1].name ~= "unknown" then
    return seen[1].name, seen[1].why
  elseif #seen == 0 then
    return nil, nil, "there are no nodes"
  elseif seen.unknown then
    return nil, nil, ("%d nodes do not say which platform this is, such as %s"):format(seen.unknown.count,
      seen.unknown.why)
  end
  local words = {}
  for i, of in ipairs(seen) do
    words[i] = ("%s %d (%s)"):format(of.name, of.count, of.why)
  end
  return nil, nil, "the nodes are of more than one platform: " .. table.concat(words, ", ")
end

return {
  name = "target",
  phase = "deployment",
  summary = "The nodes say which platform this is and how many GPUs it has",
  needs = { "list nodes" },

  run = function(ctx)
    local gpu_nodes, gpus, empty, seen = 0, 0, 0, {}
    local version, err = ctx:try(ctx.k8s.server_version, ctx.k8s)
    ctx:extra { server_version = version } -- also where the nodes cannot be read
    if version or type(err.details) == "table" and err.details.http then
      ctx:progress("the server answers") -- facts.lua waits for it
    end
    for node in ctx.k8s:each("nodes", { fields = FIELDS }) do
      local capacity = node.status and (node.status.allocatable or node.status.capacity) or {}
      local n = count(capacity["nvidia.com/gpu"])
      if n > 0 then
        gpu_nodes = gpu_nodes + 1
        gpus = gpus + n
      elseif is_marked(node) then
        empty = empty + 1
      end
      note_platform(seen, node)
    end
    local facts = { gpu_nodes = gpu_nodes, gpus = gpus }
    facts.gpu_nodes_empty = empty > 0 and empty or nil
    facts.platform, facts.platform_why, facts.reason = decide(seen)
    ctx:extra(facts)
    return ("%d GPU nodes, %d GPUs"):format(gpu_nodes, gpus)
  end,
}
