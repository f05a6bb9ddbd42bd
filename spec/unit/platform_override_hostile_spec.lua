-- SPDX-License-Identifier: Apache-2.0
--- Override rows in which something is of another value or another form than it ought to be: they are refused, or a run
--- is built with them.
require "aicr_native"
local errors = require "aicr.native.error"
local files = require "spec.support.files"
local json = require "aicr.json"
local overrides = require "aicr.platform.overrides"
local platform = require "aicr.platform"
local value = require "aicr.platform.value"
local yaml = require "aicr.yaml"

local VALUES <const> = {
  "", "x", "8", "node", "launcher", "${EntryName}", "${Nothing}", "$use", "TrainingRuntime", 0, -1, 0.5, 1e300,
  math.maxinteger, true, false, json.null, {}, json.array(), json.array { 1 }, json.array { {} }, { a = 1 },
  { name = "node" }, { ["$use"] = "env_efa" }, { ["$use"] = "none" }, { ["$value"] = "GpusPerNode" },
  { ["$value"] = "x" }, { ["$when"] = "NicCount", a = 1 }, { ["$when"] = 5 }, { equals = "aws" },
  { expression = "domainCount > 0" }, json.array { { name = "A", value = "b" } },
  json.array { { op = "remove", path = "/spec" } }, json.array { { op = "add", path = "/spec/x", value = 1 } },
  { spec = { workload = json.null } }, { spec = { template = json.null } },
}
-- Rows that have what the built-in ones have not.
local MORE <const> = [[
- name: patch
  jobTemplatePatch: [{op: add, path: /spec/workload/trainJob/trainer/x, value: {a: [1]}}]
  jobTemplate: {spec: {workload: {trainJob: {trainer: {numNodes: 3}}}}}
- name: runtime
  when: {topology: {mode: simple, domainCount: {lessThan: 3}}, workloadKind: TrainJob,
    expression: "platform != 'forge'"}
  dependencies:
  - apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainingRuntime
    metadata: {name: "${EntryName}-runtime"}
    spec: {template: {spec: {replicatedJobs: [{name: launcher, template: {spec: {template: {spec:
      {tolerations: [{operator: Exists}], containers: [{name: node, env: [{name: A, value: b}]}]}}}}}]}}}
]]

local function places(v, out)
  for key, member in pairs(v) do
    out[#out + 1] = { of = v, key = key, text = tostring(key) }
    if type(member) == "table" then
      places(member, out)
    end
  end
  return out
end

local function mutate(rows)
  local all = places(rows[math.random(#rows)], {})
  table.sort(all, function(a, b) return a.text < b.text end)
  local place = all[math.random(#all)]
  local n = math.random(0, #VALUES)
  if n == 0 and math.type(place.key) == "integer" then
    table.remove(place.of, place.key)
  elseif math.random(8) == 1 and type(place.key) == "string" then
    place.of[VALUES[math.random(2, 8)]] = value.copy(VALUES[n])
  else
    place.of[place.key] = value.copy(VALUES[n])
  end
end

local function build(rows, on, framework)
  return platform.build_run {
    Platform = on[1], GPUArchitecture = on[2], FrameworkType = framework, Binary = "b", Command = { "c" },
    MlnxPerNode = 8, EnableMNNVL = true, NicResourceName = "rdma/ib", OverrideRows = rows,
    Runtime = {
      EntryName = "r", NodesPerJob = 2, GpusPerNode = 8, Env = { { name = "NCCL_DEBUG", value = "TRACE" } },
      GangSchedulerName = math.random(2) == 1 and "kai-scheduler" or nil,
    },
  }
end

describe("override rows of any form", function()
  local read = yaml.decode(files.read(overrides.FILE), { schema = "recipe" }).rows
  for _, row in ipairs(yaml.decode(MORE, { schema = "recipe" })) do
    read[#read + 1] = row
  end

  it("are refused, or a run is built with them", function()
    math.randomseed(20261130)
    local built, refused = 0, 0
    local on = { { "aws", "gb300" }, { "gcp", "gb200" }, { "onprem", "b200" }, { "nscale", "b200" }, { "aws", "h100" } }
    for _ = 1, tonumber(os.getenv "AICR_ROUNDS" or 300) do
      local rows = value.copy(read)
      for _ = 1, math.random(3) do
        mutate(rows)
      end
      local text = json.encode { rows = rows }
      local where, framework = on[math.random(#on)], math.random(2) == 1 and "mpi" or "exec"
      local ok, got = pcall(function()
        local loaded = overrides.load(text, "site.yaml")
        return build(loaded, where, framework)
      end)
      if ok then
        built = built + 1
        assert.equal("TrainJob", got.train_job.kind)
        assert.equal("string", type(json.encode(got.dependencies)))
      else
        refused = refused + 1
        assert.truthy(errors.is(got), ("%s\nby %s"):format(tostring(got), text:sub(1, 0)))
        assert.equal("INVALID_REQUEST", got.code)
      end
    end
    assert.is_true(built > 10 and refused > 10, ("%d built, %d refused"):format(built, refused))
  end)
end)
