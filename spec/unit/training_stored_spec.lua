-- SPDX-License-Identifier: Apache-2.0
--- What the API server may make of an object on its way in, and what not.
require "aicr_native"
local api = require "aicr.training.api"
local errors = require "aicr.native.error"
local json = require "aicr.json"
local native = require "aicr.native.task"
local objects = require "aicr.training.objects"
local skeleton = require "aicr.nccl_runtime.gke_skeleton"
local stored = require "aicr.training.stored"
local tree = require "aicr.nccl_runtime.tree"

local function runtime()
  return skeleton.runtime {
    namespace = "ns", workers = 2, gpus = 8, min_size = "1K", max_size = "16G", networks = { "a", "b" },
  }
end

local function job()
  return {
    apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainJob", metadata = { name = "j", namespace = "ns",
      annotations = { [api.HOLDER] = "h" } },
    spec = { runtimeRef = { name = "r" }, trainer = { numNodes = 2 }, suspend = json.null },
  }
end

-- What the server keeps of an object: decoded from JSON, with the change.
local function kept(object, change)
  local copy = json.decode(json.encode(object))
  copy.metadata.uid, copy.metadata.creationTimestamp, copy.status = "u", "2026-01-01T00:00:00Z", { x = { 1 } }
  change(copy, copy.spec)
  return copy
end

local function launcher(object)
  return tree.container(tree.pod_template(object, "launcher"), "node")
end

local function worker(object)
  return tree.pod_template(object, "node")
end

describe("a stored object is as it was sent", function()
  local rows = {
    { "as it is", runtime, function() end },
    { "with defaults", runtime, function(o, spec)
      spec.template.spec.replicatedJobs[2].replicas = 1
      launcher(o).imagePullPolicy = "IfNotPresent"
      worker(o).spec.hostAliases = json.array()
    end },
    { "in another order of what has names", runtime, function(o)
      local list = worker(o).spec.volumes
      list[1], list[2] = list[2], list[1]
    end },
    { "as a controller writes it back", function()
      local sent = runtime()
      tree.container(worker(sent), "node").resources = { limits = { ["nvidia.com/gpu"] = 8, memory = "1024Mi" } }
      table.insert(launcher(sent).env, { name = "EMPTY", value = "" })
      return sent
    end, function(o)
      tree.container(worker(o), "node").resources.limits = { ["nvidia.com/gpu"] = "8", memory = "1Gi" }
      launcher(o).env[#launcher(o).env].value = nil
    end },
    { "a TrainJob that is suspended for a while", job, function(_, spec) spec.suspend, spec.managedBy = true, "x" end },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local sent = row[2]()
      assert.same({}, stored.changed(sent, kept(sent, row[3])))
      stored.require(sent, kept(sent, row[3]))
    end)
  end
end)

describe("a stored object is another one", function()
  local jobs = "spec.template.spec.replicatedJobs"
  local pod = jobs .. "[node].template.spec.template"
  local rows = {
    { "another annotation", runtime, pod .. ".metadata.annotations.networking.gke.io/default-interface", function(o)
      worker(o).metadata.annotations["networking.gke.io/default-interface"] = "eth1"
    end },
    { "an annotation that is gone", runtime, pod .. ".metadata.annotations.networking.gke.io/default-interface",
      function(o) worker(o).metadata.annotations["networking.gke.io/default-interface"] = nil end },
    { "other args", runtime, jobs .. "[launcher].template.spec.template.spec.containers[node].args[1]", function(o)
      launcher(o).args[2] = "8"
    end },
    { "one more arg", runtime, jobs .. "[launcher].template.spec.template.spec.containers[node].args", function(o)
      table.insert(launcher(o).args, "-c")
    end },
    { "env of the launcher", runtime, jobs .. "[launcher].template.spec.template.spec.containers[node].env",
      function(o) table.insert(launcher(o).env, { name = "NCCL_ALGO", value = "Ring" }) end },
    { "env of the worker", runtime, pod .. ".spec.containers[node].env", function(o)
      tree.container(worker(o), "node").env = json.array { { name = "NCCL_NET", value = "Socket" } }
    end },
    { "a sidecar", runtime, pod .. ".spec.containers", function(o)
      table.insert(worker(o).spec.containers, { name = "mesh", image = "x" })
    end },
    { "another amount", function()
      local sent = runtime()
      tree.container(worker(sent), "node").resources = { limits = { ["nvidia.com/gpu"] = 8 } }
      return sent
    end, pod .. ".spec.containers[node].resources.limits.nvidia.com/gpu", function(o)
      tree.container(worker(o), "node").resources.limits["nvidia.com/gpu"] = "4"
    end },
    { "no daemon", runtime, pod .. ".spec.initContainers", function(o) worker(o).spec.initContainers = nil end },
    { "a node selector", runtime, pod .. ".spec.nodeSelector", function(o)
      worker(o).spec.nodeSelector = { pool = "x" }
    end },
    { "another number", runtime, "spec.mlPolicy.mpi.numProcPerNode", function(_, spec)
      spec.mlPolicy.mpi.numProcPerNode = 1
    end },
    { "text for a number", runtime, "spec.mlPolicy.mpi.numProcPerNode", function(_, spec)
      spec.mlPolicy.mpi.numProcPerNode = "8"
    end },
    { "no job", runtime, jobs, function(_, spec) spec.template.spec.replicatedJobs = "x" end },
    { "nothing", runtime, "spec.mlPolicy, spec.template", function(o) o.spec = "x" end },
    { "fewer nodes of a TrainJob", job, "spec.trainer.numNodes", function(_, spec) spec.trainer.numNodes = 1 end },
    { "an image of a TrainJob", job, "spec.trainer.image", function(_, spec) spec.trainer.image = "x" end },
    { "patches of a TrainJob", job, "spec.runtimePatches", function(_, spec)
      spec.runtimePatches = json.array { { manager = "x" } }
    end },
    { "another runtime", job, "spec.runtimeRef.name", function(_, spec) spec.runtimeRef.name = "other" end },
  }
  for _, row in ipairs(rows) do
    it("with " .. row[1], function()
      local sent = row[2]()
      assert.equal(row[3], table.concat(stored.changed(sent, kept(sent, row[4])), ", "))
      local ok, err = pcall(stored.require, sent, kept(sent, row[4]))
      assert.is_false(ok)
      assert.is_true(errors.is(err), tostring(err))
      assert.same({ "INTERNAL", "object-changed", false }, { err.code, err.reason, err.verdict })
      assert.truthy(err.message:find((row[3]:gsub(",.*", "")), 1, true), err.message)
    end)
  end

  it("in many places, of which some are named", function()
    local sent = runtime()
    local _, err = pcall(stored.require, sent, kept(sent, function(o)
      for i = 1, #launcher(o).args do
        launcher(o).args[i] = "x\27"
      end
    end))
    assert.truthy(err.message:find("and %d+ more$"), err.message)
  end)
end)

describe("what was made is read back", function()
  local CALL <const>, RECORD <const> = api.call, native.record
  local answer
  before_each(function()
    api.call, native.record = function(request) return answer(request) end, function() end
  end)
  after_each(function()
    api.call, native.record = CALL, RECORD
  end)

  it("and refused as another runtime", function()
    local sent = runtime()
    answer = function() return kept(sent, function(_, spec) spec.mlPolicy.mpi.numProcPerNode = 1 end) end
    local ok, err = pcall(objects.read_runtime, sent, { text = "1s", ms = 1000 })
    assert.same({ false, "object-changed" }, { ok, err.reason })
    answer = function() return kept(sent, function() end) end
    assert.equal("u", objects.read_runtime(sent, { text = "1s", ms = 1000 }).metadata.uid)
  end)

  it("and refused as another TrainJob, also where the answer to its making was lost", function()
    local sent = job()
    local function make(is_lost)
      answer = function(request)
        if request.verb == "create" and is_lost then
          errors.raise { code = "CONFLICT", reason = "already-exists", message = "x" }
        end
        return kept(sent, function(_, spec) spec.trainer.numNodes = 1 end)
      end
      return pcall(objects.make_job, {}, sent, { webhook = { ms = 0, text = "0s" } }, function() end)
    end
    for _, is_lost in ipairs { true, false } do
      local ok, err = make(is_lost)
      assert.same({ false, "object-changed" }, { ok, err.reason }, tostring(err))
    end
  end)
end)
