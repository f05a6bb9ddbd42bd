-- SPDX-License-Identifier: Apache-2.0
--- Single faults of the healthy example cluster, and what the checks must say of each.
---
--- A fault changes the parts of a recording (spec.support.recording) or the text of the recipe. It
--- names the check that must see it, the outcome, code, reason, words of the message and, for the
--- topology check, the coverage {verified, total}.
local json = require "aicr.json"
local recording = require "spec.support.recording"

local NETWORKS <const>, RUNTIMES <const>, NODES <const> =
  recording.NETWORKS, recording.RUNTIMES, recording.NODES
local CENSUS <const>, TOPOLOGY <const> = "gke-gpu-nic-networks", "gke-gpu-nic-topology"
local INTERFACES <const> = "networking.gke.io/interfaces"
local NIC_INFO <const> = "networking.gke.io/nic-info"
local NORTH <const> = "networking.gke.io/north-interfaces"

local M = {}

-- Parts of the healthy cluster.

local function find(parts, key, name)
  for i, object in ipairs(parts.lists[key].items) do
    if object.metadata.name == name then
      return object, i
    end
  end
  error("the healthy cluster has no " .. name)
end

local function network(parts, n)
  return find(parts, NETWORKS, "lyra-gpu-nic-k" .. n)
end

local function remove(parts, key, name)
  local _, i = find(parts, key, name)
  table.remove(parts.lists[key].items, i)
end

local function condition(object, kind, status, reason, message)
  for _, c in ipairs(object.status.conditions) do
    if c.type == kind then
      c.status, c.reason, c.message = status, reason, message
    end
  end
end

local function job(parts)
  return find(parts, RUNTIMES, "torch-distributed-tcpxo").spec.template.spec.replicatedJobs[1]
end

local function worker_annotations(parts)
  return job(parts).template.spec.template.metadata.annotations
end

local function edit_interfaces(parts, edit)
  local annotations = worker_annotations(parts)
  local entries = json.decode(annotations[INTERFACES])
  edit(entries)
  annotations[INTERFACES] = json.encode(entries)
end

local function edit_node(parts, name, key, edit)
  local annotations = find(parts, NODES, name).metadata.annotations
  local entries = json.decode(annotations[key])
  edit(entries)
  annotations[key] = json.encode(entries)
end

local function each_gpu_node(parts, edit)
  for _, node in ipairs(parts.lists[NODES].items) do
    if node.metadata.annotations then
      edit(node)
    end
  end
end

--- Two pairs of the deployed mapping exchanged: what the shipped recording lyra-swapped holds.
---@param parts table
function M.swap_pairs(parts)
  edit_interfaces(parts, function(entries)
    entries[4].network, entries[5].network = entries[5].network, entries[4].network
  end)
end

local function fault(t)
  M[#M + 1] = t
end

-- Networks.

fault {
  name = "missing-network", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "too-few-networks", says = { "only 7 of 8", "gke-nccl-tcpxo", "gpu-nic" },
  change = function(parts) remove(parts, NETWORKS, "lyra-gpu-nic-k5") end,
}
fault {
  name = "no-networks", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "too-few-networks", says = { "only 0 of 8" },
  change = function(parts) parts.lists[NETWORKS] = recording.list(NETWORKS, {}) end,
}
fault {
  name = "other-names", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "too-few-networks", says = { "only 0 of 8", '"gpu-nic" in their name' },
  change = function(parts)
    for n = 1, 8 do
      network(parts, n).metadata.name = "vpc" .. n
    end
  end,
}
fault {
  name = "not-ready", check = CENSUS, outcome = "fail", code = "CONFLICT",
  reason = "network-not-bound", says = { "only 7 of 8", "lyra-gpu-nic-k4", "not Ready", "ParamsNotReady" },
  change = function(parts) condition(network(parts, 4), "Ready", "False", "ParamsNotReady", "") end,
}
fault {
  name = "ready-is-a-boolean", check = CENSUS, outcome = "fail", code = "CONFLICT",
  reason = "network-not-bound", says = { "only 7 of 8", "lyra-gpu-nic-k8", "not Ready" },
  change = function(parts) condition(network(parts, 8), "Ready", true, nil, nil) end,
}
fault {
  name = "no-status", check = CENSUS, outcome = "fail", code = "CONFLICT",
  reason = "network-not-bound", says = { "only 0 of 8", "lyra-gpu-nic-k1", "no status.conditions" },
  change = function(parts)
    for n = 1, 8 do
      network(parts, n).status = nil
    end
  end,
}
fault {
  name = "no-parameter-set", check = CENSUS, outcome = "fail", code = "CONFLICT",
  reason = "network-not-bound", says = { "only 7 of 8", "lyra-gpu-nic-k2", "no reference" },
  change = function(parts) network(parts, 2).spec.parametersRef = nil end,
}
fault {
  name = "parameter-set-not-ready", check = CENSUS, outcome = "fail", code = "CONFLICT",
  reason = "network-not-bound",
  says = { "only 7 of 8", "lyra-gpu-nic-k6", "lyra-params-k6", "GNPDeleted", "was deleted" },
  change = function(parts)
    condition(network(parts, 6), "ParamsReady", "False", "GNPDeleted", "the parameter set was deleted")
  end,
}
fault {
  name = "selected-network-not-ready", check = CENSUS, outcome = "fail", code = "CONFLICT",
  reason = "network-not-usable", says = { "eth8", "lyra-gpu-nic-k8" },
  change = function(parts)
    local ninth = json.decode((json.encode((network(parts, 1)))))
    ninth.metadata.name = "lyra-gpu-nic-k9"
    table.insert(parts.lists[NETWORKS].items, ninth)
    condition(network(parts, 8), "Ready", "False", "ParamsNotReady", "")
  end,
}
fault {
  name = "foreign-network", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "network-missing", says = { "eth1", "lyra-gpu-nic-k1", "other-gpu-nic-k1" },
  change = function(parts) network(parts, 1).metadata.name = "other-gpu-nic-k1" end,
}

-- The API.

fault {
  name = "api-not-served", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "api-not-served", says = { "not served", "0 of 8", "gke-nccl-tcpxo" },
  change = function(parts) recording.remove_group(parts, "networking.gke.io") end,
}
fault {
  name = "api-answers-404", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "api-not-served", says = { "not served" },
  change = function(parts)
    recording.remove_group(parts, "networking.gke.io")
    parts.errors[NETWORKS] = recording.http_error(404)
  end,
}
fault {
  name = "api-not-served-to-topology", check = TOPOLOGY, outcome = "error", code = "INTERNAL",
  reason = "api-not-served", says = { "cannot verify" }, coverage = { 0, 2 },
  change = function(parts) recording.remove_group(parts, "networking.gke.io") end,
}
fault {
  name = "forbidden", check = CENSUS, outcome = "error", code = "UNAUTHORIZED", reason = "forbidden",
  says = { "cannot verify", "jane@example.com" },
  change = function(parts)
    recording.fail(parts, NETWORKS, { status = 403, reason = "Forbidden",
      message = 'networks.networking.gke.io is forbidden: User "jane@example.com" cannot list resource'
        .. ' "networks" in API group "networking.gke.io" at the cluster scope' })
  end,
}
fault {
  name = "forbidden-as-404", check = CENSUS, outcome = "error", code = "UNAUTHORIZED",
  says = { "cannot verify" },
  change = function(parts)
    recording.fail(parts, NETWORKS, { status = 404, reason = "Forbidden" })
  end,
}
fault {
  name = "unauthenticated", check = CENSUS, outcome = "error", code = "UNAUTHORIZED",
  reason = "unauthenticated", says = { "cannot verify" },
  change = function(parts)
    recording.fail(parts, NETWORKS, { status = 401, reason = "Unauthorized", message = "Unauthorized" })
  end,
}
fault {
  name = "time-out", check = CENSUS, outcome = "error", code = "TIMEOUT", reason = "deadline",
  says = { "cannot verify", "timed out" },
  change = function(parts) recording.fail(parts, NETWORKS, { transport = "deadline" }) end,
}
fault {
  name = "unavailable", check = CENSUS, outcome = "error", code = "SERVICE_UNAVAILABLE",
  reason = "unavailable", says = { "cannot verify" },
  change = function(parts)
    recording.fail(parts, NETWORKS, { status = 503, reason = "ServiceUnavailable" })
  end,
}
fault {
  name = "connection-refused", check = CENSUS, outcome = "error", code = "SERVICE_UNAVAILABLE",
  says = { "cannot verify" },
  change = function(parts) recording.fail(parts, NETWORKS, { transport = "refused" }) end,
}
fault {
  name = "list-cut-short", check = CENSUS, outcome = "error", code = "INTERNAL",
  says = { "cannot verify" },
  change = function(parts) recording.fail(parts, NETWORKS, { transport = "cut" }) end,
}
fault {
  name = "networks-not-recorded", check = CENSUS, outcome = "error", code = "INTERNAL",
  reason = "not-recorded", says = { "cannot verify" },
  change = function(parts) parts.lists[NETWORKS] = nil end,
}

-- The runtime.

fault {
  name = "swapped-pair", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "mapping-mismatch", says = { "torch-distributed-tcpxo", "pair 3", "lyra-gpu-nic-k4", "lyra-gpu-nic-k3" },
  change = M.swap_pairs,
}
fault {
  name = "runtime-not-deployed", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "runtime-not-deployed", says = { "torch-distributed-tcpxo", "not deployed" },
  change = function(parts) remove(parts, RUNTIMES, "torch-distributed-tcpxo") end,
}
fault {
  name = "trainer-not-installed", check = CENSUS, outcome = "fail", code = "NOT_FOUND",
  reason = "runtime-not-deployed", says = { "torch-distributed-tcpxo", "not deployed" },
  change = function(parts) recording.remove_group(parts, "trainer.kubeflow.org") end,
}
fault {
  name = "runtime-read-fails", check = CENSUS, outcome = "error", code = "INTERNAL",
  reason = "server-error", says = { "cannot read", "torch-distributed-tcpxo" },
  change = function(parts)
    recording.fail(parts, RUNTIMES, { status = 500, reason = "InternalError" })
  end,
}
fault {
  name = "runtime-forbidden", check = CENSUS, outcome = "error", code = "INTERNAL",
  reason = "forbidden", says = { "cannot read", "torch-distributed-tcpxo" },
  change = function(parts)
    recording.fail(parts, RUNTIMES, { status = 403, reason = "Forbidden" })
  end,
}
fault {
  name = "runtime-read-canceled", check = CENSUS, outcome = "error", code = "CANCELED",
  says = { "cannot read", "torch-distributed-tcpxo" },
  change = function(parts) recording.fail(parts, RUNTIMES, { transport = "canceled" }) end,
}
fault {
  name = "annotation-malformed", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "annotation-malformed", says = { INTERFACES, "JSON", "torch-distributed-tcpxo" },
  change = function(parts)
    local annotations = worker_annotations(parts)
    annotations[INTERFACES] = annotations[INTERFACES]:sub(1, -2)
  end,
}
fault {
  name = "annotation-one-level-up", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "not-wired", says = { INTERFACES, "not wired", "torch-distributed-tcpxo" },
  change = function(parts)
    local template = job(parts).template
    template.metadata.annotations = template.spec.template.metadata.annotations
    template.spec.template.metadata.annotations = nil
  end,
}
fault {
  name = "annotation-with-eth0-only", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "mapping-count", says = { "8", "0", "torch-distributed-tcpxo" },
  change = function(parts)
    edit_interfaces(parts, function(entries)
      for i = #entries, 2, -1 do
        entries[i] = nil
      end
    end)
  end,
}
fault {
  name = "annotation-without-eth0", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "annotation-first-entry", says = { INTERFACES, "eth1", "eth0" },
  change = function(parts)
    edit_interfaces(parts, function(entries) table.remove(entries, 1) end)
  end,
}
fault {
  name = "default-interface-wrong", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "default-interface", says = { "networking.gke.io/default-interface", '"eth1"', '"eth0"' },
  change = function(parts)
    worker_annotations(parts)["networking.gke.io/default-interface"] = "eth1"
  end,
}
fault {
  name = "no-worker-job", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "no-node-job", says = { "torch-distributed-tcpxo", "node" },
  change = function(parts) job(parts).name = "worker" end,
}

-- The nodes.

fault {
  name = "gvnic-in-a-gpu-slot", check = TOPOLOGY, outcome = "fail", code = "CONFLICT",
  reason = "nic-topology", says = { "lyra-gpu-b", "gve0", "7 of 8", "eth1", "gke-nccl-tcpxo" },
  coverage = { 2, 2 },
  change = function(parts)
    edit_node(parts, "lyra-gpu-b", NIC_INFO, function(nics) nics[2].birthName = "gve0" end)
  end,
}
fault {
  name = "nic-on-a-foreign-network", check = TOPOLOGY, outcome = "fail", code = "CONFLICT",
  reason = "nic-topology", says = { "lyra-gpu-a", "eth3", "lyra-gvnic" }, coverage = { 2, 2 },
  change = function(parts)
    edit_node(parts, "lyra-gpu-a", NORTH, function(north) north[3].network = "lyra-gvnic" end)
  end,
}
fault {
  name = "nic-info-malformed", check = TOPOLOGY, outcome = "fail", code = "CONFLICT",
  reason = "nic-topology", says = { "lyra-gpu-b", "nic-info" }, coverage = { 1, 2 },
  change = function(parts)
    find(parts, NODES, "lyra-gpu-b").metadata.annotations[NIC_INFO] = "[{"
  end,
}
fault {
  name = "one-node-without-nic-info", check = TOPOLOGY, outcome = "pass", coverage = { 1, 2 },
  says = { "1 of 2 nodes verified" },
  change = function(parts)
    find(parts, NODES, "lyra-gpu-b").metadata.annotations[NIC_INFO] = nil
  end,
}
fault {
  name = "no-nic-info", check = TOPOLOGY, outcome = "skip", reason = "not-annotated",
  coverage = { 0, 2 }, says = { "none of 2", NIC_INFO },
  change = function(parts)
    each_gpu_node(parts, function(node) node.metadata.annotations[NIC_INFO] = nil end)
  end,
}
fault {
  name = "no-north-interfaces", check = TOPOLOGY, outcome = "pass", coverage = { 2, 2 },
  says = { "2 of 2 nodes verified, displacement unverified on 2" },
  change = function(parts)
    each_gpu_node(parts, function(node) node.metadata.annotations[NORTH] = nil end)
  end,
}
fault {
  name = "no-gpu-nodes", check = TOPOLOGY, outcome = "fail", code = "NOT_FOUND",
  reason = "no-gpu-nodes", says = { "no a3-megagpu-8g node", "gke-nccl-tcpxo" }, coverage = { 0, 0 },
  change = function(parts)
    remove(parts, NODES, "lyra-gpu-a")
    remove(parts, NODES, "lyra-gpu-b")
  end,
}
fault {
  name = "nodes-forbidden", check = TOPOLOGY, outcome = "error", code = "UNAUTHORIZED",
  reason = "forbidden", says = { "cannot verify" },
  change = function(parts)
    recording.fail(parts, NODES, { status = 403, reason = "Forbidden" })
  end,
}
fault {
  name = "nodes-time-out", check = TOPOLOGY, outcome = "error", code = "TIMEOUT",
  reason = "deadline", says = { "cannot verify" },
  change = function(parts) recording.fail(parts, NODES, { transport = "deadline" }) end,
}

-- The recipe.

local TRAINER_MAPPING <const> = "(    overrides:\n      tcpxoInterfaces:\n)"

local function without_configuration(text)
  return (text:gsub("configuration:\n.-\nconstraints:", "constraints:", 1))
end

fault {
  name = "component-not-declared", check = CENSUS, outcome = "skip", reason = "not-declared",
  says = { "does not declare gke-nccl-tcpxo" },
  change = function(parts) parts.lists[NETWORKS] = recording.list(NETWORKS, {}) end,
  recipe = function(text)
    return (without_configuration(text):gsub("name: gke%-nccl%-tcpxo", "name: other"))
  end,
}
fault {
  name = "component-disabled", check = TOPOLOGY, outcome = "skip", reason = "not-declared",
  says = { "does not declare gke-nccl-tcpxo" },
  recipe = function(text)
    return (without_configuration(text):gsub("name: gke%-nccl%-tcpxo\n",
      "name: gke-nccl-tcpxo\n    overrides: {install: false}\n"))
  end,
}
fault {
  name = "mapping-not-recorded", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "mapping-not-recorded", says = { "torch-distributed-tcpxo", "tcpxoInterfaces" },
  recipe = function(text)
    return (without_configuration(text):gsub("    overrides:\n      tcpxoInterfaces:\n.-\ndeploymentOrder",
      "deploymentOrder", 1))
  end,
}
fault {
  name = "mapping-of-seven", check = CENSUS, outcome = "fail", code = "INVALID_REQUEST",
  reason = "mapping-invalid", says = { "kubeflow-trainer: overrides.tcpxoInterfaces", "8", "7" },
  recipe = function(text)
    return (without_configuration(text):gsub(TRAINER_MAPPING .. "[^\n]*\n", "%1", 1))
  end,
}
fault {
  name = "recipe-without-runtime", check = CENSUS, outcome = "pass",
  says = { "8 networks bound, no fabric runtime delivered" },
  change = function(parts) remove(parts, RUNTIMES, "torch-distributed-tcpxo") end,
  recipe = function(text)
    return (without_configuration(text):gsub("name: kubeflow%-trainer", "name: other-trainer"))
  end,
}

return M
