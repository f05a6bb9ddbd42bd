-- SPDX-License-Identifier: Apache-2.0
--- Looks at the nodes once, for the head of the report and the platform of the run. It is started
--- like a check; what it finds it records as extra: gpu_nodes, gpus, gpu_nodes_empty (marked as GPU
--- nodes, without a GPU), platform, or a reason.
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

local PREFIX <const> = {
  ["aws://"] = "aws", ["gce://"] = "gcp", ["azure://"] = "azure", ["ocid1."] = "oci",
  ["nscale://"] = "nscale", ["openstack://"] = "onprem", ["metal3://"] = "mistral",
}

--- The platform of one node by platform-runtimes.md 5.1, newest revision; nil where it would be a
--- guess: no provider ID and no label of a known site, or a provider that is not in the table.
local function platform_of(node)
  local labels = node.metadata.labels or {}
  local id = node.spec and node.spec.providerID or ""
  if id == "" then
    local host = labels["kubernetes.io/hostname"] or ""
    if host:find("forge", 1, true) or labels["nke.nvidia.com/site-name"] then
      return "forge"
    end
    return labels["cloud.google.com/gke-accelerator"] and "gcp" or nil
  elseif id:sub(1, 11) == "kubevirt://" then
    return labels["node-role.together.ai/worker"] and "togetherai" or "onprem"
  end
  for prefix, name in pairs(PREFIX) do
    if id:sub(1, #prefix) == prefix then
      return name
    end
  end
end

local function note_platform(seen, node)
  local name = platform_of(node)
  if not name then
    seen.unknown = true
  elseif seen.name and seen.name ~= name then
    seen.mixed = true
  else
    seen.name = name
  end
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
    for node in ctx.k8s:each("nodes") do
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
    if seen.mixed then
      facts.reason = "the nodes are of more than one platform"
    elseif seen.unknown or not seen.name then
      facts.reason = "the nodes do not say which platform this is"
    else
      facts.platform = seen.name
    end
    ctx:extra(facts)
    return ("%d GPU nodes, %d GPUs"):format(gpu_nodes, gpus)
  end,
}
