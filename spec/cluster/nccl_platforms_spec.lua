-- SPDX-License-Identifier: Apache-2.0
--- The benchmark of platforms whose objects are built, with the real JobSet and Trainer: what reaches the floor over
--- the right fabric passes, all else is told, and nothing is left.
require "aicr_native"
local cluster = require "spec.support.cluster"
local image = require "spec.support.cluster_nccl_image"
local json = require "aicr.json"
local nccl = require "spec.support.cluster_nccl"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"
local training = require "spec.support.cluster_training"

local NODES <const> = { "n1", "n2" }
local GPU <const>, EFA <const>, RDMA <const> = "nvidia.com/gpu", "vpc.amazonaws.com/efa", "rdma/ib"
local NETWORKS <const> = "networking.gke.io.networks/rdma-"
-- Runs beside each other take eight GPUs each.
local MANY <const> = 64
local CRD <const> = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
local PATIENCE_S <const> = 240

local DOMAINS <const> = {
  apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
  metadata = { name = "computedomains.resource.nvidia.com" },
  spec = {
    group = "resource.nvidia.com", scope = "Namespaced",
    names = { kind = "ComputeDomain", listKind = "ComputeDomainList", plural = "computedomains",
      singular = "computedomain" },
    versions = json.array { {
      name = "v1beta1", served = true, storage = true,
      schema = { openAPIV3Schema = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } },
    } },
  },
}

local SLICES <const> = "/apis/resource.k8s.io/v1/resourceslices"
local DRIVER <const> = "compute-domain.nvidia.com"

-- The channel of a ComputeDomain that its driver publishes of each node.
local function publish_channels()
  for _, name in ipairs(NODES) do
    objects.must("POST", SLICES, {
      metadata = { name = "channels-" .. name },
      spec = {
        driver = DRIVER, nodeName = name, pool = { name = name, generation = 1, resourceSliceCount = 1 },
        devices = json.array { { name = "channel-0" } },
      },
    })
  end
end

local function offer(amounts)
  for _, name in ipairs(NODES) do
    nccl.patch_node(name, { status = { capacity = amounts, allocatable = amounts } }, true)
  end
end

local function label(product)
  for _, name in ipairs(NODES) do
    nccl.patch_node(name, { metadata = { labels = { [GPU .. ".product"] = product } } })
  end
end

-- What nodes offer; without GPUs null for each.
local function resources(gpus)
  local some = gpus and tostring(gpus) or json.null
  local amounts = { [GPU] = some, [EFA] = gpus and tostring(gpus * 4) or json.null, [RDMA] = some }
  for i = 0, 3 do
    amounts[NETWORKS .. i] = some
  end
  return amounts
end

-- As the controller of ComputeDomains does: the template of a domain's channel, here of nothing.
local function give_channel(row)
  local space = row.run:told(nccl.SPACES)
  local path = space and ("/apis/resource.nvidia.com/v1beta1/namespaces/%s/computedomains"):format(space)
  local answer = path and objects.send("GET", path)
  local domain = answer and answer.http == 200 and json.decode(answer.body).items[1]
  if not domain then
    return false
  end
  row.domain = domain
  objects.must("POST", ("/apis/resource.k8s.io/v1/namespaces/%s/resourceclaimtemplates"):format(space), {
    metadata = { name = domain.spec.channel.resourceClaimTemplate.name, namespace = space },
    spec = { spec = { devices = json.decode "{}" } },
  })
  return true
end

local function built(name)
  return image.BUILT .. name
end

local ALONE <const> = {
  {
    name = "aws h100, as the nodes say, passes over EFA", platform = "aws", params = { min_busbw = "300GB/s" },
    outcome = "pass", says = { "487.87 GB/s over AWS Libfabric, 300 GB/s required" }, check = function(_, check)
      local said = json.encode(check.evidence)
      assert.truthy(said:find("rows aws-h100-efa aws-h100-efa-env", 1, true), said)
      assert.truthy(said:find("16 ranks on 2 nodes", 1, true), said)
      assert.equal("cluster-capability", check.extra.runtimeSource)
      assert.same({ verified = 2, total = 2 }, check.coverage)
    end,
  },
}
local TOGETHER <const> = {
  {
    name = "aws h100 below the floor fails", platform = "aws",
    params = { arch = "h100", gpus = "8", min_busbw = "300GB/s", runtime_image = built "slow" },
    outcome = "fail", code = "INTERNAL", reason = "below-floor", says = { "191.4" },
  },
  {
    name = "aws h100 over TCP fails with a good number", platform = "aws",
    params = { arch = "h100", gpus = "8", min_busbw = "300GB/s", runtime_image = built "socket" },
    outcome = "fail", code = "INTERNAL", reason = "wrong-transport", says = { "over TCP sockets", "efa is to carry" },
  },
  {
    name = "aws h100 with wrong values fails, though its launcher did", platform = "aws",
    params = { arch = "h100", gpus = "8", min_busbw = "300GB/s", runtime_image = built "wrong" },
    outcome = "fail", code = "INTERNAL", reason = "wrong-values", says = { "6 wrong values, first at 16G" },
  },
  {
    name = "onprem b200 passes over InfiniBand, by the one NIC resource there is", platform = "onprem",
    params = { arch = "b200", gpus = "8", min_busbw = "350GB/s", runtime_image = built "ib" },
    outcome = "pass", says = { "380.00 GB/s over IB" },
  },
  {
    name = "gcp gb200 passes over multi-node NVLink, on claims of its ComputeDomain", platform = "gcp",
    params = { arch = "gb200", gpus = "4", min_busbw = "500GB/s", runtime_image = built "nvlink" },
    act = give_channel, outcome = "pass", says = { "838.07 GB/s over multi-node NVLink" }, check = function(row)
      assert.equal(2, row.domain.spec.numNodes)
    end,
  },
  {
    name = "gcp gb200 without a floor skips, and makes nothing", platform = "gcp", params = { arch = "gb200" },
    outcome = "skip", reason = "no-constraint", says = { "min_busbw=" },
  },
}

local function start(row)
  local args = { "--platform", row.platform, "--log-level", "trace", nccl.CHECK }
  for _, from in ipairs { nccl.PARAMS, row.params } do
    for name, value in pairs(from) do
      args[#args + 1] = "--set"
      args[#args + 1] = ("%s.%s=%s"):format(nccl.CHECK, name, value)
    end
  end
  row.run = runs.start(nil, { args = args, check = nccl.CHECK, env = { AICR_RUN_HEARTBEAT = "100ms" } })
end

-- Runs the rows beside each other.
local function run_all(rows)
  for _, row in ipairs(rows) do
    start(row)
  end
  local ends = os.time() + PATIENCE_S
  for _, row in ipairs(rows) do
    while not row.run:has_ended() and os.time() < ends do
      for _, other in ipairs(rows) do
        if other.act and other.act(other) then
          other.act = nil
        end
      end
      os.execute "sleep 0.2"
    end
  end
  for _, row in ipairs(rows) do
    row.namespace = row.run:told(nccl.SPACES)
    row.result = row.run:finish(5)
  end
end

local function judge(row)
  local check = row.result.check
  local said = ("%s\n%s"):format(row.result.stdout, row.result.stderr:sub(-3000))
  assert.truthy(check, said)
  assert.equal(row.outcome, check.outcome, said)
  assert.equal(row.code or check.code, check.code, said)
  assert.equal(row.reason or check.reason, check.reason, said)
  for _, words in ipairs(row.says) do
    local told = tostring(check.message) .. tostring(check.result)
    assert.truthy(told:find(words, 1, true), ("%q is not in %s"):format(words, said))
  end
  if row.check then
    row.check(row, check)
  end
  assert.equal(row.outcome ~= "skip", row.namespace ~= nil, said)
  if row.namespace then
    assert.is_false(training.is_there(row.namespace), said)
  end
end

describe("the benchmark of platforms", function()
  lazy_setup(function()
    image.make_built()
    objects.send("POST", CRD, DOMAINS)
    cluster.eventually("ComputeDomains are served", 30, function()
      return objects.send("GET", "/apis/resource.nvidia.com/v1beta1/computedomains").http == 200
    end)
    offer(resources(8))
    label "NVIDIA-H100-80GB-HBM3"
    run_all(ALONE)
    label(json.null)
    offer(resources(MANY))
    publish_channels()
    run_all(TOGETHER)
  end)
  lazy_teardown(function()
    runs.end_all()
    offer(resources())
    offer { [GPU] = "8" }
    label(json.null)
    objects.send("DELETE", CRD .. "/" .. DOMAINS.metadata.name)
    for _, name in ipairs(NODES) do
      objects.send("DELETE", ("%s/channels-%s"):format(SLICES, name))
    end
  end)

  for _, row in ipairs(ALONE) do
    it(row.name, function() judge(row) end)
  end
  for _, row in ipairs(TOGETHER) do
    it(row.name, function() judge(row) end)
  end
end)
