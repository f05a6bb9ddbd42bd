-- SPDX-License-Identifier: Apache-2.0
--- What the GPU nodes of a cluster say of a run that `aicr-run render` prints. It is started like a check; what it
--- finds it records as extra `facts`, JSON text.
local domains = require "aicr.fleet.domains"
local fleet = require "aicr.fleet"
local fleet_nics = require "aicr.fleet.nics"
local json = require "aicr.json"
local nics = require "aicr.platform.nics"
local platform = require "aicr.platform"

-- What GPUDirect-TCPXO is told from; nothing else needs it.
local FIELDS <const> = {
  "metadata.name", 'metadata.annotations["networking.gke.io/north-interfaces"]',
  'metadata.annotations["networking.gke.io/nic-info"]', "status.allocatable",
}
local POD_FIELDS <const> = {
  "metadata.name", "metadata.deletionTimestamp", "spec.nodeName", "status.phase", "spec.initContainers[*].image",
  "spec.containers[*].image",
}

-- The nodes that have as many GPUs as a pod asks for, and the words for the others (platform-runtimes.md 5.4).
local function with_gpus(nodes, need)
  local kept, left = {}, {}
  for _, one in ipairs(nodes) do
    if one.gpus >= need then
      kept[#kept + 1] = one
    else
      left[#left + 1] = ("%s (has %d GPUs, needs %d)"):format(one.name, one.gpus, need)
    end
  end
  return kept, left
end

local function most(nodes)
  local n = 0
  for _, one in ipairs(nodes) do
    n = math.max(n, one.gpus)
  end
  return n
end

-- Networks and release of GPUDirect-TCPXO on those nodes, with what is to be said of them.
local function tcpxo(ctx, kept)
  local wanted, objects = {}, {}
  for _, one in ipairs(kept) do
    wanted[one.name] = true
  end
  for object in ctx.k8s:each("nodes", { fields = FIELDS }) do
    objects[#objects + 1] = wanted[object.metadata.name] and object or nil
  end
  local pods, err = ctx:try(ctx.k8s.list, ctx.k8s, "pods", { namespace = "kube-system", fields = POD_FIELDS })
  local found, release = platform.detect_gke_networks(objects), platform.detect_tcpxo_release(objects, pods or {})
  local warnings = json.array { found.warning }
  warnings[#warnings + 1] = err and ("which release of the TCPXO plug-in runs cannot be read: %s; %s was taken"):format(
    err.message, release.tag) or release.warning
  return { networks = found.networks, release = release.tag, warnings = warnings }
end

-- What is to be said of the NVLink domains of those nodes, nil: they are of one.
local function apart(seen, kept)
  if not seen.fabric.domain_label then
    return nil
  end
  local found = domains.of { fabric = seen.fabric, nodes = kept }
  if #found.groups == 0 then
    return ("whether the nodes share an NVLink domain is not known: none has the label %s; look with: %s"):format(
      found.label, domains.look(found))
  elseif #domains.apart(found) > 0 then
    return ("the nodes are not of one NVLink domain, and NVLink carries nothing between two: %s%s; choose nodes by the"
      .. " label %s"):format(domains.text(found), #found.silent > 0 and "; without the label: "
      .. fleet.node_names(found.silent) or "", found.label)
  end
end

return {
  name = "render",
  phase = "deployment",
  summary = "The GPU nodes say what a run on them is made of",
  needs = { fleet.needs, "list pods in kube-system" },
  params = fleet.params { nic_resource = { type = "string", default = "" } },

  run = function(ctx)
    local seen = fleet.read(ctx)
    local need = ctx.params.gpus or most(seen.nodes)
    local kept, left = with_gpus(seen.nodes, need)
    if #kept == 0 then
      ctx:fail {
        code = "CONFLICT", reason = "too-few-gpus",
        message = ("no node has %d GPUs: the best has %d"):format(need, most(seen.nodes)),
      }
    end
    local facts = {
      platform = seen.platform, arch = seen.arch, nodes = #kept, gpus = need, nics = seen.sizes.MlnxPerNode,
      nic_resource = ctx.params.nic_resource ~= "" and ctx.params.nic_resource or nil, by = seen.by,
    }
    if not facts.nic_resource and nics.needs_resource(seen.platform, seen.arch) and facts.nics > 0 then
      facts.nic_resource = fleet_nics.resource(ctx, seen, facts.nics)
    end
    if seen.platform == "gcp" and seen.arch == "h100" then
      facts.tcpxo = tcpxo(ctx, kept)
    end
    facts.apart = apart(seen, kept)
    local words = fleet.covered(ctx, seen, #kept)
    facts.covered = #left > 0 and ("%s (left out: %s)"):format(words, table.concat(left, ", ", 1, math.min(#left, 10)))
      or words
    ctx:extra { facts = json.encode(facts) }
    return words
  end,
}
