-- SPDX-License-Identifier: Apache-2.0
--- Device plug-ins, devices of DRA and ComputeDomains: what the suites' own faults (fabric_suites_spec) leave out.
require "aicr_native"
local binary = require "spec.support.binary"
local fleet = require "spec.support.fleet"
local recording = require "spec.support.recording"

local PLUGIN <const>, DRIVER <const> = "nvidia-device-plugin-daemonset", "compute-domain.nvidia.com"
local FORBIDDEN <const> = { status = 403, reason = "Forbidden" }

-- A check on an A100 cluster of AWS, of which only the GPUs' plug-in is known, or on what a row says.
local function check(row)
  local parts = fleet.cluster {
    platform = row.platform or "aws", arch = row.arch or "a100", gpus = row.gpus or 8, devices = row.devices,
    classes = row.classes, domains = row.domains,
  }
  if row.change then
    row.change(parts)
  end
  local args = { row.check, "--platform", row.platform or "aws" }
  table.move(row.args or {}, 1, #(row.args or {}), 4, args)
  return binary.check(fleet.report(parts, args), row.check)
end

local function set(change, name)
  return function(parts)
    change(fleet.find(parts, fleet.DAEMONSETS, name or PLUGIN))
  end
end

local function image(text)
  return set(function(of) of.spec.template.spec.containers[1].image = text end)
end

local function fails(key, err)
  return function(parts)
    recording.fail(parts, key, err or FORBIDDEN)
  end
end

local ROWS <const> = {
  {
    "a generation that was not observed", change = set(function(of) of.metadata.generation = 4 end), outcome = "fail",
    reason = "not-rolled-out", says = { "generation 4 was not observed yet, the last is 3", "rollout status" },
  },
  {
    "pods of an older version", change = set(function(of) of.status.updatedNumberScheduled = 1 end), outcome = "fail",
    reason = "not-rolled-out", says = { "1 of 3 pods are of its current version" },
  },
  {
    "no status at all", change = set(function(of) of.status = nil end), outcome = "fail", reason = "not-rolled-out",
  },
  {
    "fewer pods than nodes", outcome = "fail", reason = "too-few-pods", says = { "3 GPU nodes, but 2 pods of" },
    change = set(function(of)
      of.status = {
        observedGeneration = 3, desiredNumberScheduled = 2, updatedNumberScheduled = 2, numberAvailable = 2,
      }
    end),
  },
  {
    "two DaemonSets that share the nodes", outcome = "pass", coverage = { 3, 3 },
    says = { "nvidia.com/gpu by gpu-operator/nvidia-device-plugin-daemonset kube-system/nvidia-gpu-device-plugin" },
    change = function(parts)
      local items = parts.lists[fleet.DAEMONSETS].items
      items[2] = fleet.daemonset("gpu-operator", PLUGIN, "k8s-device-plugin", 1)
      items[3] = fleet.daemonset("kube-system", "nvidia-gpu-device-plugin", "g.io/nvidia-gpu-device-plugin@sha256:0", 2)
    end,
  },
  {
    "an image with a port and a tag", change = image "r:5000/a/k8s-device-plugin:v1@sha256:0", outcome = "pass",
  },
  {
    "an image that is not known, and GPUs", change = image "r/site-plugin:1", outcome = "error",
    code = "INVALID_REQUEST", reason = "device-plugin-unknown",
    says = { "none of 2 DaemonSets is known to offer nvidia.com/gpu", "daemonset=NAMESPACE/NAME" }, coverage = { 0, 3 },
  },
  {
    "one that was named", change = image "r/site-plugin:1", outcome = "pass",
    args = { "--set", "daemonset=gpu-operator/" .. PLUGIN },
  },
  {
    "one that was named and is not there", outcome = "fail", code = "NOT_FOUND", reason = "daemonset-missing",
    args = { "--set", "daemonset=kube-system/none" }, says = { "no DaemonSet kube-system/none among 2" },
  },
  {
    "a name of another form", args = { "--set", "daemonset=none" }, outcome = "error", reason = "daemonset",
    says = { 'expected NAMESPACE/NAME, found "none"' },
  },
  {
    "no plug-in, and a node without its resource", arch = "h100", outcome = "fail", code = "NOT_FOUND",
    reason = "no-device-plugin", says = { "offer vpc.amazonaws.com/efa, and 3 of 3 GPU nodes have none" },
  },
  {
    "DaemonSets that cannot be read", change = fails(fleet.DAEMONSETS), outcome = "error", code = "UNAUTHORIZED",
    reason = "forbidden",
  },
  {
    "a read that takes too long", change = fails(fleet.DAEMONSETS, { transport = "deadline" }), outcome = "error",
    code = "TIMEOUT",
  },
  {
    "a class whose driver is not known", check = "dra-devices", arch = "gb300", gpus = 4, outcome = "error",
    classes = { fleet.class "roce.networking.k8s.aws" }, code = "INVALID_REQUEST", reason = "driver-unknown",
    says = { "device class roce.networking.k8s.aws", "--set driver=roce.networking.k8s.aws=DRIVER" },
  },
  {
    "a class whose driver was said", check = "dra-devices", arch = "gb300", gpus = 4, outcome = "pass",
    classes = { fleet.class "roce.networking.k8s.aws" }, devices = { d = 8 }, coverage = { 3, 3 },
    args = { "--set", "driver=roce.networking.k8s.aws=d" },
  },
  {
    "a driver without its class", check = "dra-devices", arch = "gb300", gpus = 4, outcome = "error",
    classes = { fleet.class "roce.networking.k8s.aws" }, args = { "--set", "driver=d" }, reason = "driver",
    says = { 'expected CLASS=DRIVER, found "d"' },
  },
  {
    "no API for claims", check = "dra-devices", arch = "gb300", gpus = 4, outcome = "fail", code = "NOT_FOUND",
    reason = "api-not-served", says = { "Kubernetes 1.34" },
    change = function(parts) recording.remove_group(parts, "resource.k8s.io") end,
  },
  {
    "classes that cannot be read", check = "dra-devices", arch = "gb300", gpus = 4, outcome = "error",
    reason = "forbidden", change = fails(fleet.CLASSES),
  },
  {
    "slices that cannot be read", check = "dra-devices", arch = "gb300", gpus = 4, outcome = "error",
    reason = "forbidden", classes = { fleet.class("roce.networking.k8s.aws", "d") }, change = fails(fleet.SLICES),
  },
  {
    "a pool that was replaced", check = "dra-devices", arch = "gb300", gpus = 4, outcome = "fail",
    reason = "too-few-devices", says = { "1 of 3", "n1 (7)" }, devices = { d = 8 },
    classes = { fleet.class("roce.networking.k8s.aws", "d") },
    change = function(parts)
      local slice = fleet.slice("n1", "d", 7)
      slice.metadata.name, slice.spec.pool.generation = "n1-d-2", 2
      table.insert(parts.lists[fleet.SLICES].items, slice)
    end,
  },
  {
    "a GPU that is cut into parts", check = "gpu-nodes", platform = "nscale", arch = "b200", gpus = 0,
    devices = { ["gpu.nvidia.com"] = 8 }, outcome = "fail", reason = "too-few-gpus", says = { "n1 (7)" },
    change = function(parts)
      local devices = fleet.find(parts, fleet.SLICES, "n1-gpu.nvidia.com").spec.devices
      devices[8].attributes = { type = { string = "mig" } }
    end,
  },
  {
    "ComputeDomains that cannot be read", check = "compute-domains", arch = "gb200", gpus = 4, domains = true,
    devices = { [DRIVER] = 1 }, outcome = "error", reason = "forbidden", change = fails(fleet.DOMAINS),
  },
  {
    "no API for the claims of ComputeDomains", check = "compute-domains", arch = "gb200", gpus = 4, domains = true,
    outcome = "fail", reason = "api-not-served", says = { "NVIDIA DRA driver" },
    change = function(parts) recording.remove_group(parts, "resource.k8s.io") end,
  },
}

describe("device plug-ins and devices", function()
  for _, row in ipairs(ROWS) do
    row.check = row.check or "device-plugin"
    it(("%s: %s is %s %s"):format(row[1], row.check, row.outcome, row.reason or ""), function()
      fleet.judge(check(row), row)
    end)
  end
end)
