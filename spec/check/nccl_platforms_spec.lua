-- SPDX-License-Identifier: Apache-2.0
--- The benchmark's check on recordings of each platform, up to the first thing that it would make: which pairs there
--- are, what is asked of the nodes, and which floor. On a recording what is well ends as `read-only`.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local fleet = require "spec.support.fleet"
local json = require "aicr.json"
local recording = require "spec.support.recording"

local NAME <const> = "nccl-all-reduce-bw"
local EFA <const>, MLNX <const>, RDMA <const> = "vpc.amazonaws.com/efa", "nvidia.com/mlnxnics", "rdma/ib"

local function networks()
  local resources = {}
  for i = 0, 3 do
    resources["networking.gke.io.networks/rdma-" .. i] = "1"
  end
  return resources
end

local NSCALE <const> = { ["gpu.nvidia.com"] = 8, ["rdma.nscale.com"] = 8 }
local NSCALE_CLASSES <const> = {
  fleet.class("gpu.nvidia.com", "gpu.nvidia.com"), fleet.class("rdma.nscale.com", "rdma.nscale.com"),
}
local ROCE <const> = "roce.networking.k8s.aws"

-- Pairs: platform, architecture, what nodes have beside GPUs, and words of the evidence.
local PAIRS <const> = {
  { "aws", "h100", 8, { [EFA] = "32" }, "program and environment aws, rows aws-h100-efa aws-h100-efa-env" },
  { "aws", "gb200", 4, { [EFA] = "4" }, "rows compute-domain aws-topology aws-gb200-efa aws-gb200-efa-env" },
  { "aws", "gb300", 4, {}, "aws-gb300-roce", { ["dra.networking.k8s.aws"] = 8 },
    { fleet.class(ROCE, "dra.networking.k8s.aws") } },
  { "gcp", "gb200", 4, networks(), "environment gcp-gb, rows compute-domain gcp-topology gcp-gb-rdma" },
  { "gcp", "rtxpro6000", 8, {}, "rows gcp-rtxpro6000" },
  { "azure", "h100", 8, { [MLNX] = "8" }, "environment azure, rows azure-nics" },
  { "oci", "gb300", 4, { [MLNX] = "4" }, "rows compute-domain" },
  { "onprem", "b200", 8, { [RDMA] = "8" }, "rows onprem-b" },
  { "togetherai", "h100", 8, { [MLNX] = "8" }, "environment togetherai, rows togetherai-nics" },
  { "mistral", "gb300", 4, { [RDMA] = "1" }, "rows compute-domain mistral-gb300" },
  { "forge", "gb200", 4, {}, "environment gb, rows compute-domain" },
  { "nscale", "b200", 0, {}, "rows nscale-claims nscale-env", NSCALE, NSCALE_CLASSES },
}

local function cluster(pair)
  local devices = { [fleet.DOMAIN_DRIVER] = pair[2]:find "^gb" and 1 or nil }
  for driver, count in pairs(pair[6] or {}) do
    devices[driver] = count
  end
  return fleet.cluster {
    platform = pair[1], arch = pair[2], gpus = pair[3], resources = pair[4], devices = devices, classes = pair[7],
    domains = true,
  }
end

local function run(parts, args, recipe)
  local words = table.move(args, 1, #args, 2, { NAME })
  return binary.check(fleet.report(parts, words, recipe), NAME)
end

local FLOOR <const> = { "--set", NAME .. ".min_busbw=100GB/s" }

local function with_floor(...)
  return table.move({ ... }, 1, select("#", ...), 3, { FLOOR[1], FLOOR[2] })
end

local function judge(check, outcome, ...)
  local said = json.encode {
    check.outcome, check.code or json.null, check.reason, check.message, check.fix or json.null, check.evidence,
  }
  assert.equal(outcome, ("%s %s %s"):format(check.outcome, check.code or "null", check.reason), said)
  assert.same({}, check.measures)
  for _, words in ipairs { ... } do
    assert.truthy(said:find(words, 1, true), ("%q is not in %s"):format(words, said))
  end
end

local WRITES <const> = "error METHOD_NOT_ALLOWED read-only"

describe(NAME .. " on a recording of", function()
  for _, pair in ipairs(PAIRS) do
    it(("%s %s goes as far as it can be read"):format(pair[1], pair[2]), function()
      local check = run(cluster(pair), with_floor())
      judge(check, WRITES, "create namespaces", "3 of 3 GPU nodes", pair[5])
      assert.equal("cluster-capability", check.extra.runtimeSource)
    end)
  end

  it("gb200 in two NVLink domains, where only NVLink is to carry it", function()
    local parts = cluster(PAIRS[11])
    fleet.move("n2", "other.7")(parts)
    judge(run(parts, with_floor()), "fail CONFLICT several-nvlink-domains",
      "1 of 3 nodes are not of the domain that node n1 is of: " .. fleet.DOMAIN .. ": n1, n3; other.7: n2",
      "--set nccl-all-reduce-bw.node_selector=nvidia.com/gpu.clique=" .. fleet.DOMAIN,
      "kubectl get nodes -L nvidia.com/gpu.clique")
    judge(run(parts, with_floor("--set", NAME .. ".fabric=ib")), WRITES, "other.7: n2")
    judge(run(parts, with_floor("--set", NAME .. ".mnnvl=false")), WRITES)
    local selected = run(parts, with_floor("--set", NAME .. ".node_selector=nvidia.com/gpu.clique=" .. fleet.DOMAIN))
    judge(selected, WRITES, "2 workers")
    fleet.move("n2", nil)(parts)
    judge(run(parts, with_floor()), "fail CONFLICT several-nvlink-domains", "without the label: n2")
  end)

  it("gb200 in two NVLink domains, with a fabric between them, or in none that is known", function()
    local parts = cluster(PAIRS[2])
    fleet.move("n2", "other.7")(parts)
    judge(run(parts, with_floor()), WRITES, "NVLink domains, nvidia.com/gpu.clique: ", "other.7: n2")
    for _, name in ipairs { "n1", "n2", "n3" } do
      fleet.move(name, nil)(parts)
    end
    judge(run(parts, with_floor()), WRITES, "whether the nodes share an NVLink domain is not known")
  end)

  it("all nine platforms is of those names", function()
    local seen = {}
    for _, pair in ipairs(PAIRS) do
      seen[pair[1]] = true
    end
    for _, name in ipairs(require("aicr.platform").names()) do
      assert.is_true(seen[name], name)
    end
  end)
end)

local function offer(node, resource, amount)
  return function(parts)
    fleet.find(parts, fleet.NODES, node).status.allocatable[resource] = amount
  end
end

local function cordon(...)
  local names = { ... }
  return function(parts)
    for _, name in ipairs(names) do
      fleet.find(parts, fleet.NODES, name).spec.unschedulable = true
    end
  end
end

local H100 <const>, ONPREM <const>, NSCALE_B200 <const> = PAIRS[1], PAIRS[8], PAIRS[12]

-- So many devices of a driver on a node.
local function devices(node, driver, count)
  return function(parts)
    fleet.remove(parts, fleet.SLICES, node .. "-" .. driver)
    table.insert(parts.lists[fleet.SLICES].items, fleet.slice(node, driver, count))
  end
end

local RECIPE <const> = [[
apiVersion: aicr.run/v1beta2
kind: RecipeResult
criteria: {service: eks, accelerator: h100, os: ubuntu, intent: training}
componentRefs: []
validation:
  performance:
    checks: [nccl-all-reduce-bw]
    constraints: [%s]
]]

-- name, outcome, words, {pair, change, args, recipe}
local ROWS <const> = {
  { "no floor", "skip null no-constraint", { "no recipe given, and no floor", "min_busbw=300GB/s" }, { args = {} } },
  { "no floor, and the architecture is said", "skip null no-constraint",
    { "min_busbw=300GB/s, as AICR's recipes want of two nodes of h100/eks" },
    { args = { "--platform", "aws", "--set", NAME .. ".arch=h100" } } },
  { "a recipe without a floor", "skip null no-constraint",
    { "the recipe has no performance constraint", "can be given with --set nccl-all-reduce-bw.min_busbw=300GB" },
    { args = {}, recipe = RECIPE:format "" } },
  { "a recipe's floor", WRITES, { "create namespaces" },
    { args = {}, recipe = RECIPE:format '{name: nccl-all-reduce-bw, value: ">= 300"}' } },
  { "one EFA device short", "fail CONFLICT too-few-resources",
    { "1 of 3 GPU nodes have fewer than 32 vpc.amazonaws.com/efa allocatable: n2 (31)" },
    { change = offer("n2", EFA, "31") } },
  { "no EFA device", "fail CONFLICT too-few-resources", { "n1 (0)" }, { change = offer("n1", EFA, nil) } },
  { "seven and eight GPUs", "fail CONFLICT gpu-counts", { "n3 (7)" },
    { change = offer("n3", "nvidia.com/gpu", "7") } },
  { "one node beside cordoned ones", "fail NOT_FOUND too-few-nodes",
    { "needs two", "1 of 3 GPU nodes", "n2 (cordoned)" },
    { change = cordon("n2", "n3") } },
  { "two nodes and a cordoned one", WRITES,
    { "2 of 3 GPU nodes (left out: n3 (cordoned))", "2 workers with 8 GPUs each" },
    { change = cordon "n3" } },
  { "more nodes than there are", "fail NOT_FOUND too-few-nodes", { "4 GPU nodes are asked for" },
    { args = with_floor("--set", NAME .. ".nodes=4") } },
  { "another architecture than was said", "fail NOT_FOUND no-gpu-nodes", { "h100" },
    { args = with_floor("--set", NAME .. ".arch=gb200") } },
  { "nodes of two architectures", "error CONFLICT mixed-architectures", { "--set arch=NAME" },
    { change = function(parts)
      fleet.find(parts, fleet.NODES, "n3").metadata.labels["nvidia.com/gpu.product"] = fleet.PRODUCTS.b200
    end } },
  { "a pair that nothing gives its fabric", "skip null not-supported", { "a100/eks", "--set-file" },
    { pair = { "aws", "a100", 8, {} } } },
  { "fewer NICs, as was said", WRITES, { "create namespaces" },
    { pair = { "azure", "h100", 8, { [MLNX] = "4" } }, args = with_floor("--set", NAME .. ".nics=4") } },
  { "on premises two resources", "error INVALID_REQUEST nic-resource-unknown", { "rdma/few, rdma/ib", "nic_resource=" },
    { pair = { "onprem", "b200", 8, { [RDMA] = "8", ["rdma/few"] = "8" } } } },
  { "on premises two resources, and one is said", WRITES, { "create namespaces" },
    { pair = { "onprem", "b200", 8, { [RDMA] = "8", ["rdma/few"] = "8" } },
      args = with_floor("--set", NAME .. ".nic_resource=rdma/few") } },
  { "on premises no resource", "fail CONFLICT no-nic-resource", { "nic_resource=" },
    { pair = ONPREM, change = offer("n2", RDMA, nil) } },
  { "claims that every node can meet", WRITES, { "each worker claims 8 of gpu.nvidia.com, 8 of rdma.nscale.com" },
    { pair = NSCALE_B200 } },
  { "an RDMA device short", "fail CONFLICT too-few-devices",
    { "1 of 3 GPU nodes have fewer than 8 devices of driver rdma.nscale.com (class rdma.nscale.com): n2 (7)",
      "kubectl get resourceslices" },
    { pair = NSCALE_B200, change = devices("n2", "rdma.nscale.com", 7) } },
  { "a node without RDMA devices", "fail CONFLICT too-few-devices", { "n3 (0)" },
    { pair = NSCALE_B200, change = function(parts) fleet.remove(parts, fleet.SLICES, "n3-rdma.nscale.com") end } },
  { "fewer NICs claimed, as was said", WRITES, { "4 of rdma.nscale.com" },
    { pair = NSCALE_B200, change = devices("n2", "rdma.nscale.com", 7),
      args = with_floor("--set", NAME .. ".nics=4") } },
  { "a GPU short that is claimed", "fail CONFLICT gpu-counts", { "n2 (7)" },
    { pair = NSCALE_B200, change = devices("n2", "gpu.nvidia.com", 7) } },
  { "no class to claim from", "fail NOT_FOUND no-device-class",
    { "there is no device class rdma.nscale.com, from which each worker claims 8 devices", "get deviceclasses" },
    { pair = NSCALE_B200, change = function(parts) fleet.remove(parts, fleet.CLASSES, "rdma.nscale.com") end } },
  { "a class that names no driver", "error INVALID_REQUEST driver-unknown", { "driver=rdma.nscale.com=DRIVER" },
    { pair = NSCALE_B200, change = function(parts)
      fleet.find(parts, fleet.CLASSES, "rdma.nscale.com").spec.selectors = json.array()
    end } },
  { "a class that names no driver, and it is said", WRITES, { "8 of rdma.nscale.com" },
    { pair = NSCALE_B200, args = with_floor("--set", NAME .. ".driver=rdma.nscale.com=rdma.nscale.com"),
      change = function(parts)
        fleet.find(parts, fleet.CLASSES, "rdma.nscale.com").spec.selectors = json.array()
      end } },
  { "classes that may not be read", "error UNAUTHORIZED forbidden", { "deviceclasses" },
    { pair = NSCALE_B200, change = fleet.unreadable(fleet.CLASSES), args = with_floor() } },
  { "devices that may not be read", "error UNAUTHORIZED forbidden", { "resourceslices" },
    { pair = NSCALE_B200, change = fleet.unreadable(fleet.SLICES), args = with_floor() } },
  { "no API of claims", "fail NOT_FOUND api-not-served", { "deviceclasses", "kubectl api-resources" },
    { pair = PAIRS[3], change = function(parts) recording.remove_group(parts, "resource.k8s.io") end } },
  { "a node without the driver of ComputeDomains", "fail CONFLICT too-few-devices",
    { "fewer than 1 devices of driver compute-domain.nvidia.com: n2 (0)" },
    { pair = PAIRS[11], change = function(parts)
      fleet.remove(parts, fleet.SLICES, "n2-" .. fleet.DOMAIN_DRIVER)
    end } },
  { "an override row of the user's", WRITES,
    { "rows aws-h100-efa aws-h100-efa-env", "and mine of parameter overrides" },
    { args = with_floor("--set", NAME .. ".overrides=rows: [{name: mine, when: {}, podSpec: {hostNetwork: true}}]") } },
  { "an override row that is none", "error INVALID_REQUEST override", { "parameter overrides", "wehn", "--overrides" },
    { args = with_floor("--set", NAME .. ".overrides=rows: [{name: mine, wehn: {}}]") } },
  { "override rows with TCPXO", "error INVALID_REQUEST override", { "has no override rows" },
    { pair = { "gcp", "h100", 8, {} }, args = with_floor("--set", NAME .. ".overrides=rows: []") } },
  { "a fabric that is none", "fail INVALID_REQUEST fabric", { "efa gib ib roce socket tcpxo" },
    { args = with_floor("--set", NAME .. ".fabric=roc") } },
  { "nodes that may not be read", "error UNAUTHORIZED forbidden", { "nodes" },
    { change = fleet.unreadable(fleet.NODES), args = with_floor("--platform", "aws") } },
}

describe(NAME .. " with", function()
  for _, row in ipairs(ROWS) do
    it(("%s: %s"):format(row[1], row[2]), function()
      local how = row[4]
      local parts = cluster(how.pair or H100)
      if how.change then
        how.change(parts)
      end
      local check = run(parts, how.args or with_floor(), how.recipe)
      judge(check, row[2], table.unpack(row[3]))
      if check.outcome ~= "skip" then
        assert.equal("string", type(check.fix), check.message)
      end
    end)
  end
end)

describe("a floor of the catalogue", function()
  it("counts where nobody gives one, for its pair", function()
    local tree = files.folder()
    assert(os.execute(("env -u LD_PRELOAD cp -r lua checks recipes %s/"):format(files.quote(tree))))
    local path = tree .. "/recipes/platforms/nccl_tests.yaml"
    local text, n = files.read(path):gsub("\nthresholds: %[%]", "\nthresholds:\n"
      .. "- {test: all-reduce, platform: aws, arch: h100, busBandwidthGBps: '>= 370'}\n")
    assert.equal(1, n)
    files.write(path, text)
    judge(run(cluster(H100), { "--source", tree, "--platform", "aws" }), WRITES, "create namespaces")
    judge(run(cluster(PAIRS[6]), { "--source", tree, "--platform", "azure" }), "skip null no-constraint", "min_busbw=")
    files.write(path, (text:gsub("'>= 370'", "'<= 370'")))
    judge(run(cluster(H100), { "--source", tree, "--platform", "aws" }), "fail INVALID_REQUEST constraint",
      "of recipes/platforms/nccl_tests.yaml is no floor")
    files.remove(tree)
  end)
end)

describe("the suites", function()
  it("run the benchmark, each on its platform", function()
    for _, name in ipairs { "aws_efa", "gke_tcpxo", "gke_gib", "azure_ib", "oci_rdma", "onprem", "togetherai",
      "mistral", "forge", "nscale" } do
      local suite = files.read(("checks/%s.lua"):format(name))
      assert.truthy(suite:find("performance/nccl_all_reduce_bw.lua", 1, true), name)
    end
  end)
end)
