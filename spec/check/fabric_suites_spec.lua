-- SPDX-License-Identifier: Apache-2.0
--- The suite of each platform on a recording of such a cluster: healthy, and with faults.
require "aicr_native"
local binary = require "spec.support.binary"
local fleet = require "spec.support.fleet"
local recording = require "spec.support.recording"

local EFA <const>, MLNX <const>, RDMA <const> = "vpc.amazonaws.com/efa", "nvidia.com/mlnxnics", "rdma/ib"
local DOMAIN <const>, GPUS <const> = "compute-domain.nvidia.com", "gpu.nvidia.com"
local NETWORK <const> = "networking.gke.io.networks/"
local EFA_PLUGIN <const> = { "aws-efa-k8s-device-plugin", "eks/aws-efa-k8s-device-plugin:v0.5.8" }
local RDMA_PLUGIN <const> = { "rdma-shared-dp-ds", "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3" }

local function gke_networks(names)
  local resources = { [NETWORK .. "default"] = "1" }
  for name in names:gmatch "%S+" do
    resources[NETWORK .. name], resources[NETWORK .. name .. ".IP"] = "1", "1"
  end
  return resources
end

-- Faults.

local function offer(node, resource, amount)
  return function(parts)
    fleet.find(parts, fleet.NODES, node).status.allocatable[resource] = amount
  end
end

local function rollout(name, available)
  return function(parts)
    fleet.find(parts, fleet.DAEMONSETS, name).status.numberAvailable = available
  end
end

local function without(key, name)
  return function(parts)
    fleet.remove(parts, key, name)
  end
end

local function without_domains(parts)
  recording.remove_group(parts, "resource.nvidia.com")
end

local SEVEN <const> = {
  check = "gpu-nodes", change = offer("n2", "nvidia.com/gpu", "7"), outcome = "fail", reason = "too-few-gpus",
  says = { "1 of 3 GPU nodes have fewer than 8 GPUs allocatable: n2 (7)", "h100 nodes have 8", "--set gpus=N" },
  coverage = { 2, 3 },
}
local THREE <const> = {
  check = "gpu-nodes", change = offer("n2", "nvidia.com/gpu", "3"), outcome = "fail", reason = "too-few-gpus",
  says = { "fewer than 4 GPUs allocatable: n2 (3)" }, coverage = { 2, 3 },
}
local PLUGIN <const> = {
  check = "device-plugin", change = rollout("nvidia-device-plugin-daemonset", 2), outcome = "fail",
  reason = "not-rolled-out", says = { "gpu-operator/nvidia-device-plugin-daemonset: 2 of 3 pods are available" },
}
local NO_DOMAINS <const> = {
  check = "compute-domains", change = without_domains, outcome = "fail", code = "NOT_FOUND", reason = "api-not-served",
  says = { "computedomains", "NVIDIA DRA driver" },
}
local NO_DRIVER <const> = {
  check = "compute-domains", change = without(fleet.SLICES, "n2-" .. DOMAIN), outcome = "fail",
  reason = "no-domain-driver", says = { "n2 (0)", DOMAIN, "dra-driver" }, coverage = { 2, 3 },
}

local function few(resource, count, has)
  return {
    check = "fabric-resources", change = offer("n3", resource, has), outcome = "fail", reason = "too-few-resources",
    code = "CONFLICT", coverage = { 2, 3 },
    says = { ("1 of 3 GPU nodes have fewer than %d %s allocatable: n3 (%s)"):format(count, resource, has or "0") },
  }
end

local NEEDED <const> = { outcome = "skip", reason = "not-needed" }
local UNKNOWN <const> = { outcome = "skip", reason = "not-known" }

local function passes(words)
  return { outcome = "pass", says = { "3 of 3 GPU nodes", words }, coverage = { 3, 3 } }
end

-- A cluster, what each check says of it when it is healthy, and its faults.
local CASES <const> = {
  {
    suite = "aws_efa", platform = "aws", arch = "h100", gpus = 8, resources = { [EFA] = "32" },
    plugins = { EFA_PLUGIN }, fabric = passes "32 vpc.amazonaws.com/efa", dra = NEEDED, domains = NEEDED,
    faults = {
      SEVEN, PLUGIN, few(EFA, 32, "31"), few(EFA, 32, nil),
      {
        check = "device-plugin", change = without(fleet.DAEMONSETS, "aws-efa-k8s-device-plugin"), outcome = "error",
        reason = "device-plugin-unknown", says = { EFA, "--set daemonset=NAMESPACE/NAME" },
      },
    },
  },
  {
    suite = "aws_efa", platform = "aws", arch = "gb200", gpus = 4, resources = { [EFA] = "4" }, domains_served = true,
    devices = { [DOMAIN] = 2 }, plugins = { EFA_PLUGIN },
    fabric = passes "4 vpc.amazonaws.com/efa", dra = NEEDED, domains = passes(DOMAIN),
    faults = { THREE, NO_DOMAINS, NO_DRIVER, few(EFA, 4, "3") },
  },
  {
    suite = "aws_efa", platform = "aws", arch = "gb300", gpus = 4, domains_served = true,
    devices = { [DOMAIN] = 2, ["dra.networking.k8s.aws"] = 8 },
    classes = { fleet.class("roce.networking.k8s.aws", "dra.networking.k8s.aws") },
    fabric = NEEDED, dra = passes "8 devices of driver dra.networking.k8s.aws (class roce.networking.k8s.aws)",
    domains = passes(DOMAIN),
    faults = {
      THREE,
      {
        check = "dra-devices", change = without(fleet.CLASSES, "roce.networking.k8s.aws"), outcome = "fail",
        code = "NOT_FOUND", reason = "no-device-class", says = { "roce.networking.k8s.aws" }, coverage = { 0, 3 },
      },
      {
        check = "dra-devices", outcome = "fail", reason = "too-few-devices", says = { "fewer than 8", "n2 (0)" },
        change = without(fleet.SLICES, "n2-dra.networking.k8s.aws"), coverage = { 2, 3 },
      },
    },
  },
  {
    suite = "aws_efa", platform = "aws", arch = "a100", gpus = 8, fabric = UNKNOWN, dra = UNKNOWN, domains = UNKNOWN,
    faults = {},
  },
  {
    suite = "gke_gib", platform = "gcp", arch = "gb200", gpus = 4, domains_served = true, devices = { [DOMAIN] = 2 },
    resources = gke_networks "rdma-0 rdma-1 rdma-2 rdma-3",
    fabric = passes(NETWORK .. "rdma-3"), dra = NEEDED, domains = passes(DOMAIN),
    faults = { THREE, PLUGIN, NO_DOMAINS, few(NETWORK .. "rdma-2", 1, nil) },
  },
  {
    suite = "gke_gib", platform = "gcp", arch = "h100", gpus = 8,
    resources = gke_networks "k1 k2 k3 k4 k5 k6 k7 k8",
    fabric = passes "8 networks: k1 k2", dra = NEEDED, domains = NEEDED,
    faults = {
      SEVEN,
      {
        check = "fabric-resources", change = offer("n1", NETWORK .. "k4", nil), outcome = "fail",
        reason = "too-few-networks", says = { "8 networks must be on every GPU node", "7 networks, k1, k2, k3, k5",
          "fewer on n1 (7)" },
      },
      {
        check = "fabric-resources", outcome = "fail", reason = "too-few-networks", says = { "no network is on every" },
        change = function(parts)
          for _, node in ipairs(parts.lists[fleet.NODES].items) do
            node.status.allocatable = { ["nvidia.com/gpu"] = node.status.allocatable["nvidia.com/gpu"] }
          end
        end,
      },
    },
  },
  {
    suite = "gke_gib", platform = "gcp", arch = "rtxpro6000", gpus = 8,
    fabric = { outcome = "skip", reason = "not-needed", says = { "NCCL runs over TCP on eth0" } },
    dra = NEEDED, domains = NEEDED, faults = {},
  },
  {
    suite = "azure_ib", platform = "azure", arch = "h100", gpus = 8, resources = { [MLNX] = "8" },
    plugins = { RDMA_PLUGIN }, fabric = passes "8 nvidia.com/mlnxnics", dra = NEEDED, domains = NEEDED,
    faults = { SEVEN, PLUGIN, few(MLNX, 8, "7") },
  },
  {
    suite = "oci_rdma", platform = "oci", arch = "gb300", gpus = 4, resources = { [MLNX] = "4" },
    plugins = { RDMA_PLUGIN }, domains_served = true, devices = { [DOMAIN] = 2 },
    fabric = passes "4 nvidia.com/mlnxnics", dra = NEEDED, domains = passes(DOMAIN),
    faults = { THREE, NO_DRIVER, few(MLNX, 4, "0") },
  },
  {
    suite = "oci_rdma", platform = "oci", arch = "gb200", gpus = 4, domains_served = true, devices = { [DOMAIN] = 2 },
    fabric = NEEDED, dra = NEEDED, domains = passes(DOMAIN), faults = {},
  },
  {
    suite = "togetherai", platform = "togetherai", arch = "h100", gpus = 8, resources = { [MLNX] = "8" },
    plugins = { RDMA_PLUGIN }, fabric = passes "8 nvidia.com/mlnxnics", dra = NEEDED, domains = NEEDED,
    faults = { SEVEN, PLUGIN, few(MLNX, 8, nil) },
  },
  {
    suite = "onprem", platform = "onprem", arch = "b200", gpus = 8, resources = { [RDMA] = "8", ["rdma/few"] = "2" },
    fabric = passes "8 rdma/ib", dra = NEEDED, domains = NEEDED, plugins = { RDMA_PLUGIN },
    plugin = passes "rdma/ib by kube-system/rdma-shared-dp-ds",
    faults = {
      {
        check = "fabric-resources", change = offer("n1", RDMA, "1"), outcome = "fail", reason = "no-nic-resource",
        says = { "has 8 on every GPU node: rdma/few on 0 of 3, rdma/ib on 2 of 3 (fewer on n1)", "nic_resource=NAME" },
      },
      {
        check = "fabric-resources", outcome = "error", reason = "nic-resource-unknown",
        says = { "rdma/few, rdma/ib", "--set nic_resource=NAME" },
        change = function(parts)
          for i = 1, 3 do
            offer("n" .. i, "rdma/few", "1k")(parts)
          end
        end,
      },
      PLUGIN,
    },
  },
  {
    suite = "onprem", platform = "onprem", arch = "gb200", gpus = 4, resources = { [MLNX] = "8" },
    domains_served = true, devices = { [DOMAIN] = 2 }, plugins = { RDMA_PLUGIN },
    fabric = passes "8 nvidia.com/mlnxnics", dra = NEEDED, domains = passes(DOMAIN), faults = { THREE, NO_DOMAINS },
  },
  {
    suite = "mistral", platform = "mistral", arch = "gb300", gpus = 4, resources = { [RDMA] = "1k" },
    plugins = { RDMA_PLUGIN }, domains_served = true, devices = { [DOMAIN] = 2 },
    fabric = passes "1 rdma/ib", dra = NEEDED, domains = passes(DOMAIN),
    faults = { THREE, NO_DOMAINS, few(RDMA, 1, nil) },
  },
  {
    suite = "forge", platform = "forge", arch = "gb200", gpus = 4, domains_served = true, devices = { [DOMAIN] = 2 },
    fabric = NEEDED, dra = NEEDED, domains = passes(DOMAIN), faults = { THREE, NO_DOMAINS, NO_DRIVER },
  },
  {
    suite = "nscale", platform = "nscale", arch = "b200", gpus = 0, devices = { [GPUS] = 8, ["rdma.nscale.com"] = 8 },
    classes = { fleet.class(GPUS), fleet.class("rdma.nscale.com", "rdma.nscale.com") },
    fabric = NEEDED, domains = NEEDED, plugin = NEEDED,
    dra = passes("8 devices of driver gpu.nvidia.com (class gpu.nvidia.com), 8 devices of driver rdma.nscale.com"),
    faults = {
      {
        check = "dra-devices", change = without(fleet.CLASSES, "rdma.nscale.com"), outcome = "fail",
        reason = "no-device-class", says = { "rdma.nscale.com" },
      },
      {
        check = "dra-devices", outcome = "fail", reason = "too-few-devices", says = { "n3 (7)" },
        change = function(parts)
          table.remove(fleet.find(parts, fleet.SLICES, "n3-rdma.nscale.com").spec.devices)
        end,
      },
      {
        check = "gpu-nodes", outcome = "fail", reason = "too-few-gpus", says = { "fewer than 8 GPUs", "n1 (7)" },
        change = function(parts)
          table.remove(fleet.find(parts, fleet.SLICES, "n1-" .. GPUS).spec.devices)
        end,
      },
      {
        check = "gpu-nodes", change = without(fleet.SLICES, "n1-" .. GPUS), outcome = "fail",
        reason = "no-gpus-offered", says = { "1 of 3 GPU nodes are ready but offer no GPU: n1" },
      },
    },
  },
}

local function cluster(case)
  return fleet.cluster {
    platform = case.platform, arch = case.arch, gpus = case.gpus, resources = case.resources, devices = case.devices,
    classes = case.classes, plugins = case.plugins, domains = case.domains_served,
  }
end

local function run(case, parts)
  return fleet.report(parts, { ("checks/%s.lua"):format(case.suite), "-p", "deployment" })
end

for _, case in ipairs(CASES) do
  describe(("checks/%s.lua on %s"):format(case.suite, case.arch), function()
    it("says what a healthy cluster has", function()
      local report = run(case, cluster(case))
      assert.equal(0, report.exit)
      fleet.judge(binary.check(report, "gpu-nodes"), passes("offer " .. (case.gpus > 0 and case.gpus or 8) .. " GPUs"))
      fleet.judge(binary.check(report, "fabric-resources"), case.fabric)
      fleet.judge(binary.check(report, "dra-devices"), case.dra)
      fleet.judge(binary.check(report, "compute-domains"), case.domains)
      fleet.judge(binary.check(report, "device-plugin"), case.plugin or passes "plug-ins")
    end)
    for i, fault in ipairs(case.faults) do
      it(("fault %d: %s is %s %s"):format(i, fault.check, fault.outcome, fault.reason), function()
        local parts = cluster(case)
        fault.change(parts)
        local report = run(case, parts)
        assert.equal(fault.outcome == "fail" and 1 or 3, report.exit)
        fleet.judge(binary.check(report, fault.check), fault)
      end)
    end
  end)
end

describe("the suites", function()
  it("are of all nine platforms", function()
    local seen = { gcp = true }
    for _, case in ipairs(CASES) do
      seen[case.platform] = true
    end
    for _, name in ipairs(require("aicr.platform").names()) do
      assert.is_true(seen[name], name)
    end
  end)
end)
