-- SPDX-License-Identifier: Apache-2.0
--- The benchmark derived from a shipped runtime: gke-tcpxo.md 5.4, vectors R-10 to R-16.
require "aicr_native"
local derive = require "aicr.nccl_runtime.derive"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local json = require "aicr.json"
local paths = require "aicr.nccl_runtime.paths"
local recording = require "spec.support.recording"
local skeleton = require "aicr.nccl_runtime.gke_skeleton"
local tree = require "aicr.nccl_runtime.tree"
local vectors = require "spec.support.vectors"

local function shipped()
  for _, item in ipairs(recording.read().lists[recording.RUNTIMES].items) do
    if item.metadata.name == gke.RUNTIME then
      return item
    end
  end
end

local function worker_of(runtime)
  return tree.container(tree.pod_template(runtime, "node"), "node")
end

local function plain(workers, gpus)
  return skeleton.runtime {
    namespace = "ns", workers = workers or 2, gpus = gpus or 8, min_size = "1K", max_size = "16G", networks = {},
  }
end

local function derived(runtime, gpus)
  return derive.derive(plain(2, gpus), runtime or shipped(), skeleton.DELIVERED_BOOTSTRAP, gpus or 8)
end

local function refused(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.is_true(errors.is(err), tostring(err))
  return err
end

describe("the baseline of the shipped worker", function()
  local rows = {
    { "R-10 has a command", "command", function(w) w.command = json.array { "sh" } end },
    { "R-10 has args", "args", function(w) w.args = json.array { "x" } end },
    { "R-10 has an empty args", "args", function(w) w.args = json.array() end },
    { "R-10 has a terminationMessagePolicy", "terminationMessagePolicy", function(w)
      w.terminationMessagePolicy = "File"
    end },
    { "R-11 lacks NCCL_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", function(w) table.remove(w.env, 2) end },
    { "lacks NCCL_FASTRAK_IFNAME", "NCCL_FASTRAK_IFNAME", function(w) table.remove(w.env, 1) end },
    { "has no env", "NCCL_FASTRAK_IFNAME", function(w) w.env = nil end },
    { "has an env that is a map", "NCCL_FASTRAK_IFNAME", function(w) w.env = { NCCL_FASTRAK_IFNAME = "x" } end },
    { "R-12 asks for one more resource", "resources.limits.cpu", function(w) w.resources.limits.cpu = "1" end },
    { "R-12 has claims", "resources.claims", function(w) w.resources.claims = json.array() end },
    { "R-12 requests no GPU", "resources.requests.nvidia.com/gpu", function(w) w.resources.requests = nil end },
    { "R-12 has no resources", "resources.limits.nvidia.com/gpu", function(w) w.resources = nil end },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local runtime = shipped()
      row[3](worker_of(runtime))
      local err = refused(derived, runtime)
      assert.equal("INVALID_REQUEST", err.code)
      assert.equal("shipped-worker", err.reason)
      assert.is_true(err.verdict)
      assert.truthy(err.message:find(row[2], 1, true), err.message)
    end)
  end

  it("names its rules in their order", function()
    local runtime = shipped()
    local worker = worker_of(runtime)
    worker.env, worker.args, worker.command = nil, json.array(), json.array()
    assert.truthy(refused(derived, runtime).message:find("command", 1, true))
    worker.command = nil
    assert.truthy(refused(derived, runtime).message:find("args", 1, true))
  end)

  it("wants a container named node", function()
    local runtime = shipped()
    worker_of(runtime).name = "worker"
    assert.equal("shipped-worker", refused(derived, runtime).reason)
  end)

  for _, row in ipairs(vectors.rows("gkenet-section7.jsonl", "gpu_count")) do
    it("vector " .. row.id, function()
      local ok, err = pcall(derive.check_baseline, gke.node_template(row.args.object), math.tointeger(row.args.gpus))
      assert.equal(row.ok, ok, tostring(err))
      assert.equal(row.code, not ok and err.code or json.null)
    end)
  end

  for _, row in ipairs { { "8", true }, { 8, true }, { 8.0, true }, { "08", false }, { "8.0", false }, { "8 ", false },
    { "4", false }, { 8.5, false } } do
    it(("reads %s %s as %s"):format(type(row[1]), row[1], row[2] and "eight" or "something else"), function()
      local runtime = shipped()
      worker_of(runtime).resources.limits[derive.GPU] = row[1]
      assert.equal(row[2], (pcall(derived, runtime)))
    end)
  end
end)

describe("the derived benchmark", function()
  it("R-14 keeps what was shipped and brings its own program", function()
    local before, source = shipped(), shipped()
    local runtime = derived(source)
    assert.same(before, source)
    local ours, theirs = tree.pod_template(runtime, "node"), gke.node_template(before)
    assert.same(theirs.metadata, ours.metadata)
    assert.same(theirs.spec.initContainers, ours.spec.initContainers)
    assert.same(theirs.spec.nodeSelector, ours.spec.nodeSelector)
    assert.same(theirs.spec.tolerations, ours.spec.tolerations)
    assert.same(theirs.spec.containers[1].env, ours.spec.containers[1].env)
    local program = worker_of(plain())
    assert.equal(program.image, worker_of(runtime).image)
    assert.same(program.command, worker_of(runtime).command)
    assert.equal(8, worker_of(runtime).resources.limits[derive.GPU])
    assert.is_nil(worker_of(runtime).args[1]:find("nccl-env-profile", 1, true))
    assert.truthy(worker_of(runtime).args[1]:find("LD_LIBRARY_PATH", 1, true))
    assert.truthy(worker_of(plain()).args[1]:find("nccl-env-profile", 1, true))
  end)

  it("R-14 exports nothing that goes before the shipped settings", function()
    local args = tree.container(tree.pod_template(derived(), "launcher"), "node").args
    local exported = {}
    for i, word in ipairs(args) do
      if word == "-x" then
        exported[#exported + 1] = args[i + 1]
      end
    end
    assert.same({ "UCX_NET_DEVICES=eth0", "NCCL_DEBUG=WARN" }, exported)
    assert.same({ "-np", "16" }, { args[1], args[2] })
    assert.same({ "-b", "1K", "-e", "16G", "-f", "2", "-g", "1" }, table.move(args, #args - 7, #args, 1, {}))
  end)

  it("drops NCCL_DEBUG_SUBSYS, and a last -x without a value stays", function()
    local base = plain()
    local launcher = tree.container(tree.pod_template(base, "launcher"), "node")
    launcher.args = json.array { "-x", "NCCL_DEBUG_SUBSYS=ALL", "-x", "UCX_TLS=tcp", "-x" }
    local runtime = derive.derive(base, shipped(), "true")
    assert.same({ "-x", "UCX_TLS=tcp", "-x" },
      { table.unpack(tree.container(tree.pod_template(runtime, "launcher"), "node").args) })
  end)

  it("R-15 adds a volume and a mount that are missing", function()
    local runtime = shipped()
    local template = tree.pod_template(runtime, "node")
    table.remove(template.spec.volumes, 1)
    table.remove(template.spec.containers[1].volumeMounts, 1)
    local ours = tree.pod_template(derived(runtime), "node")
    assert.same({ medium = "Memory" }, tree.named(ours.spec.volumes, "dshm").emptyDir)
    assert.equal("/dev/shm", tree.named(ours.spec.containers[1].volumeMounts, "dshm").mountPath)
    assert.equal("nvtcpxo-libraries", ours.spec.volumes[1].name)
  end)

  it("lets a shipped volume of that name stand", function()
    local runtime = shipped()
    tree.pod_template(runtime, "node").spec.volumes[1].emptyDir.sizeLimit = "1Gi"
    assert.equal("1Gi", tree.named(tree.pod_template(derived(runtime), "node").spec.volumes, "dshm").emptyDir.sizeLimit)
  end)

  it("R-16 keeps what it knows nothing of", function()
    local runtime = shipped()
    local spec = tree.pod_template(runtime, "node").spec
    spec.hostNetwork, spec.runtimeClassName = true, "nvidia"
    local ours = tree.pod_template(derived(runtime), "node").spec
    assert.is_true(ours.hostNetwork)
    assert.equal("nvidia", ours.runtimeClassName)
  end)

  it("is a namespaced TrainingRuntime for MPI", function()
    local runtime = derived()
    assert.equal("TrainingRuntime", runtime.kind)
    assert.equal("nccl-all-reduce-runtime", runtime.metadata.name)
    assert.equal("mpi", runtime.metadata.labels["trainer.kubeflow.org/framework"])
    assert.equal(8, runtime.spec.mlPolicy.mpi.numProcPerNode)
    assert.is_nil(runtime.spec.mlPolicy.torch)
  end)
end)

describe("the guard", function()
  local rows = {
    { "another network", "metadata.annotations.networking.gke.io/interfaces", function(t)
      t.metadata.annotations[gke.INTERFACES_ANNOTATION] = "[]"
    end },
    { "a daemon that is gone", "spec.initContainers", function(t) t.spec.initContainers = nil end },
    { "a daemon of another image", "spec.initContainers[tcpxo-daemon].image", function(t)
      t.spec.initContainers[1].image = "x"
    end },
    { "another variable", "spec.containers[node].env[NCCL_SOCKET_IFNAME].value", function(t)
      t.spec.containers[1].env[2].value = "eth1"
    end },
    { "a number in place of text", "spec.priority", function(t) t.spec.priority = 8 end },
    { "another path of a shipped volume", "spec.volumes[ours].hostPath.path", function(t)
      t.spec.volumes[1].hostPath.path = "/etc"
    end },
    { "a shipped volume that is gone", "spec.volumes", function(t) table.remove(t.spec.volumes, 1) end },
    { "a shipped mount elsewhere", "spec.containers[node].volumeMounts[ours].mountPath", function(t)
      t.spec.containers[1].volumeMounts[1].mountPath = "/etc"
    end },
    { "a mount of another container", "spec.containers[side].volumeMounts", function(t)
      t.spec.containers[2].volumeMounts = json.array { { name = "x", mountPath = "/x" } }
    end },
    { "a second container of that name", "spec.containers[node#2]", function(t)
      t.spec.containers[3] = { name = "node" }
    end },
  }
  for _, row in ipairs(rows) do
    it("sees " .. row[1], function()
      local before = gke.node_template(shipped())
      before.spec.priority = "8"
      before.spec.volumes = json.array { { name = "ours", hostPath = { path = "/home" } } }
      before.spec.containers[1].volumeMounts = json.array { { name = "ours", mountPath = "/home" } }
      before.spec.containers[2] = { name = "side" }
      local after = tree.copy(before)
      row[3](after)
      local err = refused(derive.guard, before, after)
      assert.same({ "INTERNAL", "derivation", false }, { err.code, err.reason, err.verdict })
      assert.truthy(err.message:find(row[2], 1, true), err.message)
    end)
  end

  it("takes another order of named entries for no difference", function()
    local before = gke.node_template(shipped())
    local after = tree.copy(before)
    local env = after.spec.containers[1].env
    env[1], env[2] = env[2], env[1]
    derive.guard(before, after)
    assert.same({}, paths.changed(before, after))
  end)

  it("compares lists without names as a whole, in their order", function()
    local a = { spec = { args = json.array { "x", "y" }, list = json.array() } }
    local b = { spec = { args = json.array { "y", "x" }, list = {} } }
    assert.same({ "spec.args", "spec.list" }, paths.changed(a, b))
  end)
end)

describe("the provenance", function()
  it("names what was changed and what was taken over", function()
    local source = shipped()
    local stored = derived(source)
    local found = derive.provenance(source, stored)
    assert.same({
      "spec.containers[node].args", "spec.containers[node].command", "spec.containers[node].image",
      "spec.containers[node].resources.limits.nvidia.com/gpu",
      "spec.containers[node].resources.requests.nvidia.com/gpu",
    }, found.overriddenPaths)
    assert.truthy(found.shippedDigest:find "^%x+$")
    assert.equal(64, #found.shippedDigest)
    assert.not_equal(found.shippedDigest, found.derivedDigest)
    local inherited = table.concat(found.inheritedPaths, "\n")
    assert.truthy(inherited:find("metadata.annotations.networking.gke.io/interfaces", 1, true))
    assert.truthy(inherited:find("spec.initContainers[tcpxo-daemon].image", 1, true))
    assert.is_nil(inherited:find("spec.containers[node].image", 1, true))
  end)

  it("has the digest of the JSON with sorted keys", function()
    assert.equal("f87e4099e9be5e75094e0a4f46d3dc18a9c37429314a5a2490fb78d31e7e170c",
      derive.digest { b = json.array(), a = 1 })
  end)

  it("counts scheduling that the user gave as changed", function()
    local source = shipped()
    local stored = derived(source)
    tree.pod_template(stored, "node").spec.nodeSelector = { pool = "a" }
    local changed = table.concat(derive.provenance(source, stored).overriddenPaths, "\n")
    assert.truthy(changed:find("spec.nodeSelector.pool", 1, true))
    assert.truthy(changed:find("spec.nodeSelector.cloud.google.com/gke-accelerator", 1, true))
  end)
end)
