-- SPDX-License-Identifier: Apache-2.0
--- Which nodes the deployment checks of a platform look at, and what is not guessed of them.
require "aicr_native"
local binary = require "spec.support.binary"
local fleet = require "spec.support.fleet"
local recording = require "spec.support.recording"

local NAME <const> = "gpu-nodes"
local PRODUCT <const> = "nvidia.com/gpu.product"
local GPU <const> = "nvidia.com/gpu"

local function node(parts, name)
  return fleet.find(parts, fleet.NODES, name)
end

local function labels(parts, change)
  for i = 1, 3 do
    change(node(parts, "n" .. i).metadata.labels, i)
  end
end

-- What the check says of a cluster of three H100 nodes of AWS that was changed.
local function check(opts)
  local parts = fleet.cluster { platform = opts.of or "aws", arch = opts.arch or "h100", gpus = opts.gpus or 8,
    devices = opts.devices }
  if opts.change then
    opts.change(parts)
  end
  local args = { opts.name or NAME }
  if opts.platform ~= false then
    args[2], args[3] = "--platform", opts.platform or "aws"
  end
  table.move(opts.args or {}, 1, #(opts.args or {}), #args + 1, args)
  local report = fleet.report(parts, args, opts.recipe)
  return binary.check(report, opts.name or NAME), report
end

local function recipe(criteria)
  return ("kind: RecipeResult\napiVersion: aicr.run/v1\ncriteria: {%s}\n"):format(criteria)
end

local function not_ready(status)
  return function(parts)
    node(parts, "n2").status.conditions[1].status = status
  end
end

local function each_label(key, value)
  return function(parts)
    labels(parts, function(of) of[key] = value end)
  end
end

local function unmarked(parts)
  labels(parts, function(of) of[PRODUCT], of["nvidia.com/gpu.present"] = nil, nil end)
  for i = 1, 3 do
    node(parts, "n" .. i).status.capacity[GPU] = nil
  end
end

local ROWS <const> = {
  {
    "a cordoned node", change = function(parts) node(parts, "n2").spec.unschedulable = true end,
    outcome = "pass", coverage = { 2, 3 }, says = { "2 of 3 GPU nodes (left out: n2 (cordoned)) offer 8 GPUs each" },
  },
  {
    "a cordoned node, --strict", change = function(parts) node(parts, "n2").spec.unschedulable = true end,
    args = { "--strict" }, outcome = "fail", reason = "coverage", code = "CONFLICT",
  },
  {
    "a node that is not ready", change = not_ready "Unknown", outcome = "pass", coverage = { 2, 3 },
    says = { "n2 (not ready: condition Ready is Unknown)" },
  },
  {
    "a node without conditions", change = function(parts) node(parts, "n2").status.conditions = nil end,
    outcome = "pass", coverage = { 2, 3 }, says = { "n2 (not ready: condition Ready is missing)" },
  },
  {
    "a node without a product", change = function(parts) node(parts, "n2").metadata.labels[PRODUCT] = nil end,
    outcome = "pass", coverage = { 2, 3 }, says = { "n2 (does not say which GPUs it has)" },
  },
  {
    "a node without a product, of an architecture that was said", args = { "--set", "arch=h100" },
    change = function(parts) node(parts, "n2").metadata.labels[PRODUCT] = nil end,
    outcome = "pass", coverage = { 3, 3 },
  },
  {
    "no node that is left",
    change = function(parts)
      for i = 1, 3 do
        node(parts, "n" .. i).spec.unschedulable = true
      end
    end,
    outcome = "fail", code = "NOT_FOUND", reason = "no-usable-nodes", coverage = { 0, 3 },
    says = { "none of 3 GPU nodes can be looked at: n1 (cordoned), n2 (cordoned), n3 (cordoned)", "kubectl uncordon" },
  },
  {
    "no GPU node", outcome = "fail", code = "NOT_FOUND", reason = "no-gpu-nodes",
    says = { "none of 4 nodes is a GPU node", "node_selector=KEY=VALUE" }, coverage = { 0, 0 },
    change = function(parts)
      unmarked(parts)
      for i = 1, 3 do
        node(parts, "n" .. i).status.allocatable[GPU] = nil
      end
    end,
  },
  {
    "a ready node that offers nothing", change = function(parts) node(parts, "n3").status.allocatable[GPU] = "0" end,
    outcome = "fail", reason = "no-gpus-offered", says = { "1 of 3 GPU nodes are ready but offer no GPU: n3" },
    coverage = { 2, 3 },
  },
  {
    "a number of GPUs that is none", change = function(parts) node(parts, "n3").status.allocatable[GPU] = "many" end,
    outcome = "error", code = "INTERNAL", reason = "quantity",
    says = { "node n3: allocatable of nvidia.com/gpu", "many" },
  },
  {
    "fewer GPUs than others, of an architecture that nobody knows",
    change = function(parts)
      each_label(PRODUCT, "Tesla-V100-SXM2")(parts)
      node(parts, "n1").status.allocatable[GPU] = "4"
    end,
    outcome = "fail", reason = "too-few-gpus", says = { "fewer than 8", "n1 (4)", "other nodes have 8" },
  },
  {
    "more GPUs on one node than its architecture has", args = { "--set", "gpus=4" },
    change = function(parts)
      local of = node(parts, "n1").status
      of.allocatable[GPU], of.capacity[GPU] = "4", "4"
    end,
    outcome = "fail", reason = "uneven-gpus", says = { "n1 (4)", "node_selector=KEY=VALUE" },
  },
  {
    "fewer GPUs than are asked for, of an architecture that nobody knows", args = { "--set", "gpus=8" }, gpus = 4,
    change = each_label(PRODUCT, "Tesla-V100-SXM2"), outcome = "fail", reason = "too-few-gpus",
    says = { "fewer than 8", "n1 (4), n2 (4), n3 (4)", "so many are asked for" },
  },
  {
    "as many GPUs as on others, but not all that there are", gpus = 8, outcome = "fail", reason = "unwell-gpus",
    change = function(parts)
      each_label(PRODUCT, "Tesla-V100-SXM2")(parts)
      for i = 1, 3 do
        node(parts, "n" .. i).status.allocatable[GPU] = "7"
      end
    end,
    says = { "3 of 3 GPU nodes have fewer GPUs allocatable than they have: n1 (7 of 8)", "Xid" }, coverage = { 0, 3 },
  },
  {
    "fewer GPUs than there are, though more than are asked for", args = { "--set", "gpus=4" }, outcome = "fail",
    reason = "unwell-gpus", says = { "n3 (6 of 8)" }, coverage = { 2, 3 },
    change = function(parts)
      for i = 1, 3 do
        node(parts, "n" .. i).status.allocatable[GPU] = "6"
        node(parts, "n" .. i).status.capacity[GPU] = i < 3 and "6" or "8"
      end
    end,
  },
  {
    "parts of GPUs", gpus = 56, change = each_label(PRODUCT, "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"), outcome = "fail",
    reason = "gpus-cut", says = { "3 of 3 GPU nodes offer parts or shares", "n1, n2, n3", "--set gpus=N" },
    coverage = { 0, 3 },
  },
  {
    "shares of GPUs", gpus = 32, outcome = "fail", reason = "gpus-cut", says = { "1 of 3", ": n2" },
    change = function(parts) node(parts, "n2").metadata.labels[PRODUCT] = "NVIDIA-H100-80GB-HBM3-SHARED" end,
  },
  {
    "parts of GPUs that are meant", gpus = 56, change = each_label(PRODUCT, "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"),
    args = { "--set", "gpus=56" }, outcome = "pass", says = { "offer 56 GPUs each" },
  },
  {
    "half a GPU", change = function(parts) node(parts, "n3").status.allocatable[GPU] = "7500m" end,
    outcome = "error", reason = "quantity",
    says = { "node n3: allocatable of nvidia.com/gpu is no whole number: 7500m" },
  },
  {
    "nearly a GPU more", change = function(parts) node(parts, "n3").status.allocatable[GPU] = 7.9999999 end,
    outcome = "error", reason = "quantity",
    says = { "node n3: allocatable of nvidia.com/gpu is no whole number: 7.9999999" },
  },
  {
    "a node that an autoscaler removes", outcome = "pass", coverage = { 2, 3 },
    says = { "2 of 3 GPU nodes (left out: n2 (tainted ToBeDeletedByClusterAutoscaler))" },
    change = function(parts)
      node(parts, "n2").spec.taints = { { key = "ToBeDeletedByClusterAutoscaler", value = "1", effect = "NoSchedule" } }
    end,
  },
  {
    "a node that Kubernetes keeps pods away from", outcome = "pass", coverage = { 2, 3 },
    says = { "n2 (tainted node.kubernetes.io/disk-pressure)" },
    change = function(parts)
      node(parts, "n2").spec.taints = {
        { key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" },
        { key = "node.kubernetes.io/disk-pressure", effect = "NoSchedule" },
      }
    end,
  },
  {
    "taints that pods tolerate, or that keep none away", outcome = "pass", coverage = { 3, 3 },
    change = function(parts)
      node(parts, "n2").spec.taints = {
        { key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" },
        { key = "node.kubernetes.io/disk-pressure", effect = "PreferNoSchedule" },
        { key = "dedicated", value = "train", effect = "NoSchedule" },
      }
    end,
  },
  {
    "a node that has GPUs as devices where others have them as a resource", outcome = "fail",
    reason = "no-gpus-offered", says = { "cpu-1, n1" }, coverage = { 2, 4 },
    change = function(parts)
      node(parts, "n1").status.allocatable[GPU] = nil
      parts.lists[fleet.SLICES].items[1] =
        fleet.slice("cpu-1", "gpu.nvidia.com", 8, { productName = { string = "NVIDIA H100 80GB HBM3" } })
    end,
  },
  {
    "a node with only what its cloud says of it", outcome = "fail", reason = "no-gpus-offered", says = { "cpu-1" },
    change = function(parts)
      node(parts, "cpu-1").metadata.labels["karpenter.k8s.aws/instance-gpu-name"] = "h100"
    end,
  },
  {
    "a node that offers GPUs and says of none", outcome = "pass", coverage = { 3, 4 },
    says = { "cpu-1 (does not say which GPUs it has)" },
    change = function(parts) node(parts, "cpu-1").status.allocatable[GPU] = "8" end,
  },
  {
    "labels that are none", outcome = "error", code = "INTERNAL", reason = "malformed",
    says = { "node n2 has not the form of its kind" },
    change = function(parts) node(parts, "n2").metadata.labels[PRODUCT] = 100 end,
  },
  {
    "fewer GPUs, as they are meant", args = { "--set", "gpus=4" }, gpus = 4, outcome = "pass",
    says = { "3 of 3 GPU nodes offer 4 GPUs each" },
  },
  {
    "fewer nodes than asked for", args = { "--set", "nodes=5" }, outcome = "fail", code = "NOT_FOUND",
    reason = "too-few-nodes", says = { "5 GPU nodes are asked for, and 3 offer all GPUs" }, coverage = { 3, 5 },
  },
  {
    "fewer nodes than the recipe asks for", recipe = recipe "nodes: 4, accelerator: h100", outcome = "fail",
    reason = "too-few-nodes", coverage = { 3, 4 },
  },
  {
    "fewer nodes than asked for, in another check", name = "device-plugin", args = { "--set", "nodes=5" },
    change = each_label(PRODUCT, "NVIDIA-A100-SXM4-80GB"), outcome = "pass", coverage = { 3, 5 },
    says = { "3 of 5 GPU nodes have" },
  },
  {
    "two architectures", change = function(parts) node(parts, "n2").metadata.labels[PRODUCT] = "NVIDIA-L40S" end,
    outcome = "error", code = "CONFLICT", reason = "mixed-architectures",
    says = { "h100 on 2, such as n1; l40s on 1, such as n2", "--set arch=NAME" },
  },
  {
    "two architectures, one of them meant", args = { "--set", "arch=h100" }, outcome = "pass", coverage = { 2, 2 },
    says = { "2 of 2 GPU nodes (of another architecture: n2 (l40s)) offer 8 GPUs each" },
    change = function(parts) node(parts, "n2").metadata.labels[PRODUCT] = "NVIDIA-L40S" end,
  },
  {
    "any number of nodes", recipe = recipe "nodes: 0", outcome = "pass", coverage = { 3, 3 },
  },
  {
    "an architecture that no node has", recipe = recipe "accelerator: gb200", outcome = "fail", code = "NOT_FOUND",
    reason = "no-gpu-nodes", says = { "none of 4 nodes has gb200 GPUs (the recipe's criteria says so): h100 on 3" },
  },
  {
    "an architecture in capitals", args = { "--set", "arch=H100" }, outcome = "error", code = "INVALID_REQUEST",
    reason = "architecture", says = { 'such as h100, found "H100"' },
  },
  {
    "a recipe for any accelerator", recipe = recipe "accelerator: any", outcome = "pass", coverage = { 3, 3 },
  },
  {
    "a recipe's way to spell it", recipe = recipe "accelerator: rtx-pro-6000", outcome = "pass",
    change = each_label(PRODUCT, "NVIDIA-RTX-PRO-6000-Blackwell"), coverage = { 3, 3 },
  },
  {
    "no architecture", change = each_label(PRODUCT, nil), outcome = "error", code = "INVALID_REQUEST",
    reason = "architecture-unknown", says = { "none of 3 GPU nodes says which GPUs it has", "--set arch=NAME" },
  },
  {
    "devices that say the architecture", outcome = "pass", coverage = { 3, 3 },
    change = function(parts)
      unmarked(parts)
      for i = 1, 3 do
        local slices = parts.lists[fleet.SLICES].items
        slices[i] = fleet.slice("n" .. i, "gpu.nvidia.com", 8, { productName = { string = "NVIDIA H100 80GB HBM3" } })
      end
    end,
  },
  {
    "devices that cannot be read", outcome = "error", code = "UNAUTHORIZED", reason = "forbidden",
    change = function(parts)
      each_label(PRODUCT, nil)(parts)
      recording.fail(parts, fleet.SLICES, { status = 403, reason = "Forbidden" })
    end,
  },
  {
    "devices that nobody needs to read", outcome = "pass",
    change = function(parts) recording.fail(parts, fleet.SLICES, { status = 403, reason = "Forbidden" }) end,
  },
  {
    "a cluster without DRA", outcome = "error", reason = "architecture-unknown",
    change = function(parts)
      each_label(PRODUCT, nil)(parts)
      recording.remove_group(parts, "resource.k8s.io")
    end,
  },
  {
    "nodes that cannot be read", outcome = "error", code = "UNAUTHORIZED", reason = "forbidden",
    change = function(parts) recording.fail(parts, fleet.NODES, { status = 403, reason = "Forbidden" }) end,
  },
  {
    "nodes chosen by a label", args = { "--set", "node_selector=pool=train" }, outcome = "pass", coverage = { 2, 2 },
    change = function(parts)
      node(parts, "n1").metadata.labels.pool, node(parts, "n3").metadata.labels.pool = "train", "train"
    end,
  },
  {
    "a chosen node without any GPU", args = { "--set", "node_selector=pool=train", "--set", "arch=h100" },
    change = function(parts)
      node(parts, "n1").metadata.labels.pool, node(parts, "cpu-1").metadata.labels.pool = "train", "train"
    end,
    outcome = "fail", reason = "no-gpus-offered", says = { "cpu-1" },
  },
  {
    "a GPU that is cut into parts", of = "nscale", platform = "nscale", arch = "b200", gpus = 0,
    devices = { ["gpu.nvidia.com"] = 8 }, outcome = "fail", reason = "too-few-gpus", says = { "n1 (7)" },
    change = function(parts)
      local devices = fleet.find(parts, fleet.SLICES, "n1-gpu.nvidia.com").spec.devices
      devices[8].attributes = { type = { string = "mig" } }
    end,
  },
  {
    "a platform that the GPU nodes say, though others do not", platform = false, outcome = "pass",
    says = { "3 of 3 GPU nodes" },
  },
  {
    "a platform that nobody says", platform = false, outcome = "error", code = "INVALID_REQUEST",
    reason = "platform-unknown", says = { 'provider ID "k3s://1" is of no platform', "--platform, one of aws, gcp" },
    change = function(parts)
      for i = 1, 3 do
        node(parts, "n" .. i).spec.providerID = "k3s://" .. i
      end
    end,
  },
  {
    "two platforms", platform = false, outcome = "error", code = "CONFLICT", reason = "mixed-platforms",
    says = { "aws 2, gcp 1", "--platform" },
    change = function(parts) node(parts, "n3").spec.providerID = "gce://p/z/n3" end,
  },
}

describe(NAME, function()
  for _, row in ipairs(ROWS) do
    it(("%s: %s %s"):format(row[1], row.outcome, row.reason or ""), function()
      fleet.judge(check(row), row)
    end)
  end

  it("tells what it left out, and that the nodes look like another platform", function()
    local result = check {
      platform = "onprem", args = { "--set", "arch=h100", "--set", "nodes=5" },
      change = function(parts)
        node(parts, "n1").spec.taints = { { key = "dedicated", value = "train", effect = "NoExecute" } }
        node(parts, "n2").spec.unschedulable = true
        node(parts, "n3").metadata.labels[PRODUCT] = "NVIDIA-L40S"
      end,
    }
    local told = table.concat(result.evidence, "\n")
    for _, words in ipairs {
      "the platform is onprem as was said; node n1 looks like aws: its provider ID starts with aws://",
      "onprem h100 (parameter arch): 2 GPU nodes, 1 of them looked at", "left out: n2 (cordoned)",
      "of another architecture: n3 (l40s)", "taints that pods must tolerate: dedicated=train:NoExecute on 1 of 1",
    } do
      assert.truthy(told:find(words, 1, true), ("%q not in %s"):format(words, told))
    end
  end)

  it("counts and names thousands of nodes, the first of them in the message", function()
    local parts = fleet.cluster { platform = "aws", arch = "h100", gpus = 8, count = 5000 }
    for i = 1, 5000 do
      local one = parts.lists[fleet.NODES].items[i]
      if i % 2 == 0 then
        one.spec.unschedulable = true
      elseif i > 4000 then
        one.status.allocatable[GPU] = "7"
      end
    end
    local result = binary.check(fleet.report(parts, { NAME, "--platform", "aws" }), NAME)
    fleet.judge(result, {
      outcome = "fail", reason = "too-few-gpus", coverage = { 2000, 5000 },
      says = { "500 of 2500 GPU nodes have fewer than 8", "n4001 (7), n4003 (7)", "and 490 more" },
    })
    assert.equal(500, #result.details.diff.rows)
    assert.equal("left out", result.attachments[1].name)
  end)
end)

describe("a node that says nothing of GPUs", function()
  -- As where neither the driver nor feature discovery was rolled out to it.
  local function bare(kind, of_type)
    return function(parts)
      labels(parts, function(of) of["node.kubernetes.io/instance-type"] = kind end)
      local n2 = node(parts, "n2")
      n2.metadata.labels = { ["node.kubernetes.io/instance-type"] = of_type or kind }
      n2.status.allocatable[GPU], n2.status.capacity[GPU] = nil, nil
    end
  end

  it("fails where others of its instance type have some, in clouds whose types say it", function()
    for _, of in ipairs { "aws", "azure", "oci" } do
      local got = check { of = of, platform = of, change = bare "p5.48xlarge" }
      fleet.judge(got, {
        outcome = "fail", reason = "no-gpus-offered", coverage = { 2, 3 },
        says = { "1 of 3 GPU nodes are ready but offer no GPU: n2", "grep -e device-plugin" },
      })
      local told = table.concat(got.evidence, "\n")
      assert.truthy(told:find("n2 (of instance type p5.48xlarge as n1, but offers no GPU)", 1, true), told)
    end
  end)

  it("is none of another type, nor where types say nothing of GPUs", function()
    fleet.judge(check { change = bare("p5.48xlarge", "m7i.large") }, { outcome = "pass", coverage = { 2, 2 } })
    for _, of in ipairs { "onprem", "gcp", "forge" } do
      fleet.judge(check { of = of, platform = of, change = bare "k3s" }, { outcome = "pass", coverage = { 2, 2 } })
    end
  end)
end)
