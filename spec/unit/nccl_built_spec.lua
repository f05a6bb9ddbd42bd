-- SPDX-License-Identifier: Apache-2.0
--- A benchmark that is wholly built: what it makes is what render prints, on the nodes that were chosen; and what its
--- log must show beside the number.
require "aicr_native"
local attempt = require "aicr.base.attempt"
local benchmark = require "aicr.nccl_runtime.benchmark"
local binary = require "spec.support.binary"
local benchmarks = require "aicr.nccl_runtime.benchmarks"
local built = require "aicr.nccl_runtime.built"
local fleet = require "spec.support.fleet"
local json = require "aicr.json"
local nccl_log = require "spec.support.nccl_log"
local nccl_verdict = require "aicr.nccl_verdict"
local params = require "aicr.nccl_runtime.params"
local placement = require "aicr.nccl_runtime.placement"
local tree = require "aicr.nccl_runtime.tree"

local RDMA <const> = {
  ["networking.gke.io.networks/rdma-0"] = "1", ["networking.gke.io.networks/rdma-1"] = "1",
  ["networking.gke.io.networks/rdma-2"] = "1", ["networking.gke.io.networks/rdma-3"] = "1",
}
local CHANNEL <const> = { [fleet.DOMAIN_DRIVER] = 1 }
local CLUSTERS <const> = {
  { platform = "aws", arch = "h100", gpus = 8, resources = { ["vpc.amazonaws.com/efa"] = "32" } },
  { platform = "gcp", arch = "gb200", gpus = 4, resources = RDMA, devices = CHANNEL },
  { platform = "oci", arch = "h100", gpus = 8, resources = { ["nvidia.com/mlnxnics"] = "8" } },
  { platform = "onprem", arch = "b200", gpus = 8, resources = { ["rdma/ib"] = "8" }, nic_resource = "rdma/ib" },
  { platform = "forge", arch = "gb300", gpus = 4, devices = CHANNEL },
  {
    platform = "nscale", arch = "b200", gpus = 0, devices = { ["gpu.nvidia.com"] = 8, ["rdma.nscale.com"] = 8 },
    classes = { fleet.class("gpu.nvidia.com", "gpu.nvidia.com"), fleet.class("rdma.nscale.com", "rdma.nscale.com") },
  },
}

-- A ctx on a cluster.
local function fake(cluster, more)
  local parts, given = fleet.cluster(cluster), {}
  for name, decl in pairs(params.declare()) do
    given[name] = decl.default
  end
  given.node_selector, given.toleration, given.driver = {}, {}, {}
  for name, value in pairs(more or {}) do
    given[name] = value
  end
  local ctx = { params = given, platform = cluster.platform, k8s = {}, evidences = {} }
  function ctx.k8s:list(resource)
    return parts.lists[resource == "nodes" and fleet.NODES or fleet.SLICES].items
  end
  function ctx.k8s:find(_, name)
    return (fleet.find(parts, fleet.CLASSES, name))
  end
  function ctx.k8s:each(resource)
    local items, i = self:list(resource), 0
    return function()
      i = i + 1
      return items[i]
    end
  end
  function ctx:try(f, ...) return attempt(f, ...) end
  function ctx:fail(t) error({ fail = t }, 0) end
  function ctx:evidence(fmt, ...) self.evidences[#self.evidences + 1] = fmt:format(...) end
  function ctx:coverage(t) self.covered = t end
  function ctx:attach() end
  function ctx:series() end
  function ctx:measure(_, value, _, limit) self.measured = { value, limit } end
  return ctx
end

local function request(cluster, more)
  local out = {
    platform = cluster.platform, arch = cluster.arch, row = benchmarks.row(cluster.platform, cluster.arch),
    max_size = "16G", max_bytes = 1 << 34,
  }
  for name, value in pairs(more or {}) do
    out[name] = value
  end
  return out
end

-- Without what puts it on nodes.
local function placed_nowhere(runtime)
  for _, job in ipairs(runtime.spec.template.spec.replicatedJobs) do
    local spec = job.template.spec.template.spec
    spec.affinity, spec.tolerations = nil, nil
  end
  return runtime
end

describe("a benchmark that is built", function()
  for _, cluster in ipairs(CLUSTERS) do
    it(("makes on %s %s what render prints"):format(cluster.platform, cluster.arch), function()
      local asked = request(cluster)
      local size = built.size(fake(cluster), asked)
      local runtime, job, more = built.runtime(nil, asked, nil, size)
      local words = { "render", "-f", "json", "--platform", cluster.platform, "--arch", cluster.arch, "--nodes", "3" }
      if cluster.nic_resource then
        table.move({ "--nic-resource", cluster.nic_resource }, 1, 2, #words + 1, words)
      end
      local rendered = json.decode(binary.run(words).stdout).objects
      local by_kind = {}
      for _, object in ipairs(rendered) do
        object.metadata.namespace = nil
        by_kind[object.kind .. "/" .. object.metadata.name] = object
      end
      assert.equal(#rendered, 2 + #more)
      for _, object in ipairs { runtime, job, table.unpack(more) } do
        local printed = by_kind[object.kind .. "/" .. object.metadata.name]
        if object.kind == "TrainingRuntime" then
          object, printed = placed_nowhere(tree.copy(object)), placed_nowhere(printed)
        end
        assert.equal(json.encode(printed), json.encode(object))
      end
      assert.equal(8, size.min_bytes)
      assert.equal(3, size.workers)
      assert.equal(3 * size.gpus, size.total)
    end)
  end

  it("is put on its nodes, launcher and all, whatever their taints are", function()
    local cluster = CLUSTERS[1]
    local size = built.size(fake(cluster), request(cluster))
    local runtime = built.runtime(nil, request(cluster), nil, size)
    for _, job in ipairs { "node", "launcher" } do
      local spec = tree.pod_template(runtime, job).spec
      local terms = spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
      local names = {}
      for i, term in ipairs(terms) do
        assert.same({ "metadata.name", "In", 1 }, { term.matchFields[1].key, term.matchFields[1].operator,
          #term.matchFields[1].values })
        names[i] = term.matchFields[1].values[1]
      end
      assert.same({ "n1", "n2", "n3" }, names)
      assert.same({ { operator = "Exists" } }, spec.tolerations)
      assert.is_nil(spec.nodeSelector)
      local apart = (spec.affinity.podAntiAffinity or {}).requiredDuringSchedulingIgnoredDuringExecution
      assert.same(job == "node" and { "kubernetes.io/hostname", "node" } or {}, apart and { apart[1].topologyKey,
        apart[1].labelSelector.matchLabels["jobset.sigs.k8s.io/replicatedjob-name"] } or {})
    end
  end)

  it("takes the user's selector and tolerations", function()
    local runtime = built.runtime(nil, request(CLUSTERS[1]), nil, built.size(fake(CLUSTERS[1]), request(CLUSTERS[1])))
    placement.pin(runtime, { "n1" }, { pool = "x" }, json.array { { key = "k", operator = "Exists" } })
    local spec = tree.pod_template(runtime, "launcher").spec
    assert.same({ pool = "x" }, spec.nodeSelector)
    assert.same({ { key = "k", operator = "Exists" } }, spec.tolerations)
  end)

  it("goes over the fabric of its row, or the one that was asked for, and NVLink only where that is on", function()
    local function transport(cluster, more, given)
      return built.size(fake(cluster, given), request(cluster, more)).transport
    end
    assert.same({ fabric = { "efa" } }, transport(CLUSTERS[1]))
    assert.same({ fabric = { "socket" } }, transport(CLUSTERS[1], { fabric = "socket" }))
    assert.same({ fabric = { "gib", "roce" }, nvlink = true }, transport(CLUSTERS[2]))
    assert.same({ fabric = { "gib", "roce" } }, transport(CLUSTERS[2], nil, { mnnvl = false }))
    assert.same({ nvlink = true }, transport(CLUSTERS[5]))
  end)

  it("has the sizes, image and sweep that were asked for", function()
    local size = built.size(fake(CLUSTERS[1], { gpus = 4 }), request(CLUSTERS[1], {
      image = "r.example/x:1", min_size = "1M", max_size = "1G",
    }))
    local args = table.concat(size.job.spec.trainer.args, " ")
    assert.truthy(args:find("-N 4 ", 1, true))
    assert.truthy(args:find("-b 1M -e 1G ", 1, true))
    assert.equal(1 << 20, size.min_bytes)
    assert.equal("r.example/x:1", size.job.spec.trainer.image)
    for _, job in ipairs { "node", "launcher" } do
      assert.equal("r.example/x:1", tree.container(tree.pod_template(size.runtime, job), "node").image)
    end
    assert.equal(12, size.total)
  end)
end)

-- Judges a log of two nodes with eight GPUs, with lines of NCCL before the table.
local function judge(lines, want, log)
  local ctx = fake(CLUSTERS[1])
  local size = { total = 16, workers = 2, transport = want, min_bytes = 1024 }
  local source = { platform = require "aicr.nccl_runtime.aws" }
  local head = {}
  for i, line in ipairs(lines) do
    head[i] = ("worker-0:21:21 [0] NCCL INFO %s\n"):format(line)
  end
  local ok, figure = pcall(benchmark.figure, ctx, { max_bytes = 1 << 34 }, source, size,
    { log = table.concat(head) .. nccl_log.log(log) })
  return ok, figure, ctx, source
end

local GOOD <const> = { "Using network AWS Libfabric", "NET/OFI Selected provider is efa, fabric is efa (found 32 nics)",
  "Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA" }

describe("its log", function()
  it("passes over the fabric, and says so", function()
    local ok, figure, ctx = judge(GOOD, { fabric = { "efa" } })
    assert.is_true(ok, tostring(figure))
    assert.equal("AWS Libfabric", figure.over)
    local said = table.concat(ctx.evidences, "\n")
    assert.truthy(said:find("channels: NET/AWS Libfabric 1 (GDRDMA 1)", 1, true), said)
    assert.truthy(said:find("libfabric provider efa, 32 NICs", 1, true), said)
    local phrase = nccl_verdict.measure(ctx, figure, "", { floor = 300, text = ">= 300", tolerance = 0.1 })
    assert.equal("338.33 GB/s over AWS Libfabric, >= 300 required", phrase)
    assert.equal("speed: transport (AWS Libfabric), launch and values were sound", ctx.measured[2].why)
  end)

  it("names the adapters by their links", function()
    local ok, _, ctx = judge({
      "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_an0:1/RoCE [RO]; OOB eth0:1.1.1.1<0>",
      "Using network IB", "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0" }, { fabric = { "ib" } })
    assert.is_true(ok)
    assert.truthy(table.concat(ctx.evidences, "\n"):find("3 adapters: 2 IB, 1 RoCE", 1, true))
  end)

  it("fails over TCP, however good the number is, with where to look", function()
    local ok, err, _, source = judge({ "Using network Socket", "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0" },
      { fabric = { "efa" } })
    assert.is_false(ok)
    assert.same({ "wrong-transport", "INTERNAL", source.platform.LOOK },
      { err.fail.reason, err.fail.code, err.fail.fix })
    assert.truthy(err.fail.why:find("338.33 GB/s at 16G were measured, which say nothing of the fabric", 1, true))
  end)

  it("is no verdict where it does not say over what it went", function()
    local ok, err = judge({}, { fabric = { "efa" } })
    assert.is_false(ok)
    assert.same({ "transport-unknown", false }, { err.reason, err.verdict })
  end)

  it("fails of wrong values before its transport is looked at", function()
    local ok, err = judge({ "Using network Socket" }, { fabric = { "efa" } }, { wrong = { [1 << 34] = 3 } })
    assert.is_false(ok)
    assert.equal("wrong-values", err.fail.reason)
  end)

  it("names the platform's own place to look when it is slow", function()
    local _, figure, ctx, source = judge(GOOD, { fabric = { "efa" } })
    nccl_verdict.measure(ctx, figure, "",
      { floor = 400, text = ">= 400", tolerance = 0.1, look = source.platform.LOOK })
    assert.equal(source.platform.LOOK, ctx.measured[2].fix)
    nccl_verdict.measure(ctx, figure, "worker-0:1:1 [0] NCCL INFO Using network Socket\n",
      { floor = 400, text = ">= 400", tolerance = 0.1, look = "elsewhere" })
    assert.equal("elsewhere", ctx.measured[2].fix)
  end)
end)
