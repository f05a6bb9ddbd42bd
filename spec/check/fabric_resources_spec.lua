-- SPDX-License-Identifier: Apache-2.0
--- Resources of the fabric: what the faults of the suites (fabric_suites_spec) leave out.
require "aicr_native"
local binary = require "spec.support.binary"
local fleet = require "spec.support.fleet"

local EFA <const>, MLNX <const>, RDMA <const> = "vpc.amazonaws.com/efa", "nvidia.com/mlnxnics", "rdma/ib"

local function offer(node, resource, amount)
  return function(parts)
    fleet.find(parts, fleet.NODES, node).status.allocatable[resource] = amount
  end
end

local NETWORKS <const> = {}
for i = 1, 8 do
  NETWORKS["networking.gke.io.networks/net" .. i] = "1"
end

describe("fabric-resources", function()
  fleet.rows(it, "fabric-resources", {
    {
      "more than is needed", arch = "h100", resources = { [EFA] = "33" }, outcome = "pass", coverage = { 3, 3 },
    },
    {
      "an amount that is none", arch = "h100", resources = { [EFA] = "32" }, change = offer("n2", EFA, "x"),
      outcome = "error", code = "INTERNAL", reason = "quantity", says = { "node n2: allocatable of " .. EFA },
    },
    {
      "a pair that no row speaks of", outcome = "skip", reason = "not-known",
      says = { "recipes/platforms/fabric.yaml has no row for aws a100" },
    },
    {
      "fewer NICs, as they are meant", platform = "azure", arch = "h100", resources = { [MLNX] = "1" },
      args = { "--set", "nics=1" }, outcome = "pass", says = { "1 nvidia.com/mlnxnics" },
    },
    {
      "no NICs, as they are meant", platform = "azure", arch = "h100", args = { "--set", "nics=0" }, outcome = "skip",
      reason = "not-needed", says = { "azure h100 needs no extended resource" },
    },
    {
      "two NIC resources, one of them meant", platform = "onprem", arch = "b200", outcome = "pass",
      resources = { [RDMA] = "8", [MLNX] = "8" }, args = { "--set", "nic_resource=" .. RDMA }, says = { "8 rdma/ib" },
    },
    {
      "a NIC resource that was meant and is not offered", platform = "onprem", arch = "b200", outcome = "fail",
      resources = { [MLNX] = "8" }, args = { "--set", "nic_resource=" .. RDMA }, reason = "too-few-resources",
      says = { "3 of 3 GPU nodes have fewer than 8 rdma/ib allocatable: n1 (0)" }, coverage = { 0, 3 },
    },
    {
      "a NIC resource of a name that nobody knows", platform = "onprem", arch = "b200", outcome = "pass",
      resources = { ["site.example/nic"] = "8", [MLNX] = "8" }, args = { "--set", "nic_resource=site.example/nic" },
      says = { "8 site.example/nic" }, coverage = { 3, 3 },
    },
    {
      "NICs of an architecture that nobody knows", platform = "azure", arch = "v100", resources = { [MLNX] = "8" },
      outcome = "skip", reason = "not-known", says = { "how many NICs nodes of azure tesla have is not known" },
    },
    {
      "NICs of an architecture that nobody knows, as they were said", platform = "azure", arch = "v100",
      resources = { [MLNX] = "8" }, change = offer("n3", MLNX, "7"), args = { "--set", "nics=8" }, outcome = "fail",
      reason = "too-few-resources", says = { "n3 (7)" },
    },
    {
      "a network of GKE of which a node has none left", platform = "gcp", arch = "h100", outcome = "fail",
      reason = "too-few-networks", says = { "7 networks", "fewer on n2 (7)" }, resources = NETWORKS,
      change = offer("n2", "networking.gke.io.networks/net3", "0"),
    },
    {
      "no NIC resource at all", platform = "onprem", arch = "b200", outcome = "fail", reason = "no-nic-resource",
      says = { "(rdma/… or nvidia.com/mlnxnics) has 8 on every GPU node, and none has any" },
    },
    {
      "NICs on a cordoned node only", arch = "h100", outcome = "fail", reason = "too-few-resources",
      says = { "2 of 2 GPU nodes", "n2 (0), n3 (0)" }, coverage = { 0, 3 },
      change = function(parts)
        offer("n1", EFA, "32")(parts)
        fleet.find(parts, fleet.NODES, "n1").spec.unschedulable = true
      end,
    },
    {
      "nodes that cannot be read", arch = "h100", change = fleet.unreadable(fleet.NODES), outcome = "error",
      code = "UNAUTHORIZED", reason = "forbidden",
    },
  })

  it("says what nodes offer that have none of the resource: it may have another name there", function()
    local parts = fleet.cluster { platform = "azure", arch = "h100", gpus = 8, resources = { ["rdma/hca"] = "8" } }
    offer("n3", MLNX, "7")(parts)
    offer("n2", "rdma/hca", nil)(parts)
    local check = binary.check(fleet.report(parts, { "fabric-resources", "--platform", "azure" }), "fabric-resources")
    fleet.judge(check, { outcome = "fail", reason = "too-few-resources", says = { "n1 (0), n2 (0), n3 (7)" } })
    local told = table.concat(check.evidence, "\n")
    assert.truthy(told:find("n1 offer: nvidia.com/gpu=8, rdma/hca=8", 1, true), told)
    assert.truthy(told:find("n2 offer: nvidia.com/gpu=8", 1, true), told)
    assert.falsy(told:find("n3 offer", 1, true), told)
  end)
end)
