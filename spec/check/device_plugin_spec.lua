-- SPDX-License-Identifier: Apache-2.0
--- Device plug-ins: what the faults of the suites (fabric_suites_spec) leave out.
require "aicr_native"
local fleet = require "spec.support.fleet"
local recording = require "spec.support.recording"

local PLUGIN <const> = "nvidia-device-plugin-daemonset"

local function set(change)
  return function(parts)
    change(fleet.find(parts, fleet.DAEMONSETS, PLUGIN))
  end
end

local function image(text)
  return set(function(of) of.spec.template.spec.containers[1].image = text end)
end

local EFA <const> = "vpc.amazonaws.com/efa"

local function plugin(name, pods)
  return function(parts)
    local items = parts.lists[fleet.DAEMONSETS].items
    items[#items + 1] = fleet.daemonset("kube-system", name, "r/" .. name .. ":v1", pods)
  end
end

describe("device-plugin", function()
  fleet.rows(it, "device-plugin", {
    {
      "a generation that was not observed", change = set(function(of) of.metadata.generation = 4 end), outcome = "fail",
      reason = "not-rolled-out", says = {
        "generation 4 was not observed yet, the last is 3",
        "kubectl -n gpu-operator rollout status --watch=false daemonset nvidia-device-plugin-daemonset; kubectl -n",
      },
    },
    {
      "a DaemonSet that is being deleted", outcome = "fail", reason = "not-rolled-out",
      change = set(function(of) of.metadata.deletionTimestamp = "2026-03-10T20:10:44Z" end),
      says = { "is being deleted", "kubectl -n gpu-operator describe daemonset nvidia-device-plugin-daemonset;" },
    },
    {
      "pods of an older version", change = set(function(of) of.status.updatedNumberScheduled = 1 end), outcome = "fail",
      reason = "not-rolled-out", says = { "1 of 3 pods are of its current version" },
    },
    {
      "no status at all", change = set(function(of) of.status = nil end), outcome = "fail", reason = "not-rolled-out",
    },
    {
      "fewer pods than nodes", outcome = "fail", reason = "too-few-pods", says = {
        "3 GPU nodes, but 2 pods of", "kubectl -n gpu-operator describe daemonset nvidia-device-plugin-daemonset;",
      },
      change = set(function(of)
        of.status = {
          observedGeneration = 3, desiredNumberScheduled = 2, updatedNumberScheduled = 2, numberAvailable = 2,
        }
      end),
    },
    {
      "a node without a pod, and one whose pod is not ready", outcome = "fail", reason = "too-few-pods", says = {
        "3 GPU nodes, but 2 pods of gpu-operator/nvidia-device-plugin-daemonset; without a ready pod: n1, n3",
      },
      change = function(parts)
        set(function(of)
          of.status = {
            observedGeneration = 3, desiredNumberScheduled = 2, updatedNumberScheduled = 2, numberAvailable = 2,
          }
        end)(parts)
        parts.lists[fleet.PODS] = recording.list(fleet.PODS, {
          fleet.pod("n2", "gpu-operator", "nvidia-device-plugin-daemonset", true),
          fleet.pod("n3", "gpu-operator", "nvidia-device-plugin-daemonset", false),
          fleet.pod("n1", "gpu-operator", "something-else", true),
          fleet.pod("n1", "elsewhere", "nvidia-device-plugin-daemonset", true),
        })
      end,
    },
    {
      "a pod that is not available", outcome = "fail", reason = "not-rolled-out",
      says = { "2 of 3 pods are available; without a ready pod: n3" },
      change = function(parts)
        set(function(of) of.status.numberAvailable = 2 end)(parts)
        local pods = {}
        for i = 1, 3 do
          pods[i] = fleet.pod("n" .. i, "gpu-operator", "nvidia-device-plugin-daemonset", i < 3)
        end
        parts.lists[fleet.PODS] = recording.list(fleet.PODS, pods)
      end,
    },
    {
      "two DaemonSets that share the nodes", outcome = "pass", coverage = { 3, 3 },
      says = { "nvidia.com/gpu by gpu-operator/nvidia-device-plugin-daemonset kube-system/nvidia-gpu-device-plugin" },
      change = function(parts)
        local items = parts.lists[fleet.DAEMONSETS].items
        items[2] = fleet.daemonset("gpu-operator", PLUGIN, "k8s-device-plugin", 1)
        items[3] = fleet.daemonset("kube-system", "nvidia-gpu-device-plugin", "nvidia-gpu-device-plugin@sha256:0", 2)
      end,
    },
    {
      "a DaemonSet that does something else with the plug-in's image", outcome = "fail", reason = "too-few-pods",
      says = { "3 GPU nodes, but 2 pods of gpu-operator/nvidia-device-plugin-daemonset" },
      change = function(parts)
        local items = parts.lists[fleet.DAEMONSETS].items
        items[2] = fleet.daemonset("gpu-operator", PLUGIN, "k8s-device-plugin", 2)
        items[3] = fleet.daemonset("gpu-operator", "gpu-feature-discovery", "nvcr.io/nvidia/k8s-device-plugin:v1", 3)
        items[3].spec.template.spec.containers[1].name = "gpu-feature-discovery-ctr"
      end,
    },
    {
      "an image with a port and a tag", change = image "r:5000/a/k8s-device-plugin:v1@sha256:0", outcome = "pass",
    },
    {
      "an image that is not known, and GPUs", change = image "r/site-plugin:1", outcome = "error",
      code = "INVALID_REQUEST", reason = "device-plugin-unknown",
      says = { "none of 2 DaemonSets is known to offer nvidia.com/gpu", "daemonset=NAMESPACE/NAME" },
      coverage = { 0, 3 },
    },
    {
      "as many pods as nodes, but not on them", outcome = "fail", reason = "not-offered", coverage = { 2, 3 },
      says = { "fewer than 1 vpc.amazonaws.com/efa allocatable: n2 (0)",
        "get pods -o wide --field-selector spec.nodeName=n2;" }, arch = "h100",
      resources = { [EFA] = "32" },
      change = function(parts)
        plugin("aws-efa-k8s-device-plugin", 3)(parts)
        fleet.find(parts, fleet.NODES, "n2").status.allocatable[EFA] = "0"
      end,
    },
    {
      "a node without a GPU to offer", outcome = "fail", reason = "no-gpus-offered", coverage = { 2, 3 },
      says = { "1 of 3 GPU nodes are ready but offer no GPU: n2" },
      change = function(parts)
        fleet.find(parts, fleet.NODES, "n2").status.allocatable["nvidia.com/gpu"] = nil
      end,
    },
    {
      "the plug-in of NICs on premises", platform = "onprem", arch = "b200", resources = { ["rdma/ib"] = "8" },
      change = plugin("k8s-rdma-shared-dev-plugin", 3), outcome = "pass", coverage = { 3, 3 },
      says = { "rdma/ib by kube-system/k8s-rdma-shared-dev-plugin" },
    },
    {
      "the plug-in of NICs on premises, not on all nodes", platform = "onprem", arch = "b200",
      change = plugin("k8s-rdma-shared-dev-plugin", 2),
      resources = { ["rdma/ib"] = "8" }, outcome = "fail", reason = "too-few-pods",
    },
    {
      "NICs on premises that no plug-in is known of", platform = "onprem", arch = "b200", outcome = "error",
      resources = { ["site/nic"] = "8" }, args = { "--set", "nic_resource=site/nic" },
      reason = "device-plugin-unknown", says = { "site/nic" },
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
      "DaemonSets that cannot be read", change = fleet.unreadable(fleet.DAEMONSETS), outcome = "error",
      code = "UNAUTHORIZED",
      reason = "forbidden",
    },
    {
      "a read that takes too long", change = fleet.unreadable(fleet.DAEMONSETS, { transport = "deadline" }),
      outcome = "error",
      code = "TIMEOUT",
    },
  })
end)
