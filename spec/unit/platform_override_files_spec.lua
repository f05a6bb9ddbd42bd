-- SPDX-License-Identifier: Apache-2.0
--- Override files: how values are written, and what is refused, with file, row and key.
require "aicr_native"
local files = require "spec.support.files"
local json = require "aicr.json"
local overrides = require "aicr.platform.overrides"
local raised = require "spec.support.raised"
local support = require "spec.support.platform"

local RUN <const> = { EntryName = "r", NodesPerJob = 3, GpusPerNode = 8, MlnxPerNode = 2, EnableMNNVL = true }

local function load(text, fragments)
  return overrides.load(text, "site.yaml", function(name) return (fragments or {})[name] end)
end

local function refusal(text, fragments)
  local err = raised(load, text, fragments)
  assert.equal("INVALID_REQUEST", err.code)
  assert.equal("override", err.reason)
  return err.message
end

local function template(body, run)
  local rows = load("rows:\n- name: a\n  jobTemplate: " .. body, { list = "- 1\n- 2\n", map = 'x: "${EntryName}"\n',
    gone = "$when: NicCount\nx: 1\n", outer = "- {$use: list}\n- 3\n" })
  return overrides.render(rows, run or RUN)[1].jobTemplate
end

describe("values of an override file", function()
  local rows = {
    { "text", '{a: "${EntryName}-x ${NodesPerJob} ${Mnnvl}"}', '{"a":"r-x 3 1"}' },
    { "keys", '{"k/${EntryName}": 1}', '{"k/r":1}' },
    { "a number as it is", "{a: {$value: NodesPerJob}}", '{"a":3}' },
    { "a fragment", "{a: {$use: map}}", '{"a":{"x":"r"}}' },
    { "a fragment that is a list, within a list", "{a: [0, {$use: list}, 9]}", '{"a":[0,1,2,9]}' },
    { "a fragment in a fragment", "{a: [{$use: outer}]}", '{"a":[1,2,3]}' },
    { "a list for a value", "{a: {$use: list}}", '{"a":[1,2]}' },
    { "what the run has", "{a: {$when: MlnxPerNode, b: 1}}", '{"a":{"b":1}}' },
    { "what the run has not, and what is empty then", "{a: {b: [{$when: NicCount, c: 1}]}, d: []}", '{"d":[]}' },
    { "a fragment that is left out", "{a: {$use: gone}, b: 1}", '{"b":1}' },
    { "nulls", "{a: null}", '{"a":null}' },
  }
  for _, row in ipairs(rows) do
    it("have " .. row[1], function()
      support.same(json.decode(row[3]), template(row[2]))
    end)
  end
  it("take no second look at what a run says", function()
    local run = { EntryName = "${NodesPerJob}", NicResourceName = "%1", MlnxPerNode = 1 }
    support.same(json.decode '{"a":"${NodesPerJob} %1"}', template('{a: "${EntryName} ${NicResourceName}"}', run))
  end)
end)

describe("an override file is refused with", function()
  local function row(body)
    return "rows:\n- name: efa\n  " .. body:gsub("\n", "\n  ")
  end
  local function runtime(body)
    return "dependencies:\n- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainingRuntime\n"
      .. "  metadata: {name: r-runtime}\n  " .. body
  end
  local A <const> = "site.yaml: row \"efa\": "
  local rows = {
    { "what is no YAML", "rows: [", "site.yaml: line 2" },
    { "a key beside rows", "rows: []\nrow: []", 'site.yaml: "row" is not known; expected: rows' },
    { "no list", "rows: {}", "site.yaml: rows: expected a list" },
    { "a row that is text", "rows: [x]", "site.yaml: rows[1]: expected an object, got string" },
    { "a row without a name", "rows:\n- when: {}", "site.yaml: rows[1]: a row has a name" },
    { "two rows of a name", "rows:\n- {name: a}\n- {name: a}", 'site.yaml: row "a": there are two rows of this name' },
    { "an unknown field", row "mpiargs: [x]", A .. '"mpiargs" is not known; did you mean "mpiArgs"?' },
    { "a key twice", row "mpiArgs: [x]\nmpiArgs: [y]", 'site.yaml: line 4: ' },
    { "an unknown platform", row "when: {platform: {equals: gke}}",
      A .. 'when.platform.equals: "gke" is no platform; expected one of: aws, gcp, azure, oci, onprem, togetherai, '
        .. "mistral, forge, nscale" },
    { "an unknown platform in a list", row "when: {platform: {in: [aws, AWS]}}",
      A .. 'when.platform.in: "AWS" is no platform' },
    { "an architecture in capitals", row "when: {gpuArchitecture: {equals: GB200}}",
      A .. 'when.gpuArchitecture.equals: "GB200": architectures are lower case' },
    { "an unknown condition", row "when: {arch: {equals: gb200}}", A .. "when.arch: is not known" },
    { "an unknown matcher", row "when: {platform: {not: aws}}", A .. "when.platform.not: is not known" },
    { "an expression that is none", row "when: {expression: 'platform == '}",
      A .. "when.expression: at character 13: expected a value, found the end" },
    { "an expression that is no text", row "when: {expression: true}", A .. "when.expression: expected text, got" },
    { "a list that is none", row "when: {platform: {in: aws}}", A .. 'when.platform.in: expected a list, got' },
    { "a workload that there is not", row "when: {workloadKind: Job}",
      A .. 'when.workloadKind: expected TrainJob, got "Job"' },
    { "a topology that is text", row "when: {topology: simple}", A .. "when.topology: expected an object with mode" },
    { "a mode that there is not", row "when: {topology: {mode: ring}}",
      A .. "when.topology.mode: expected simple or topology" },
    { "an unknown part of a topology", row "when: {topology: {domains: 1}}",
      A .. "when.topology.domains: is not known; known: domainCount, mode" },
    { "a count that is text", row "when: {topology: {domainCount: {greaterThan: '2'}}}",
      A .. "when.topology.domainCount.greaterThan: expected a whole number from 0" },
    { "a count that is no number", row "when: {topology: {domainCount: {lessThan: .nan}}}",
      A .. "when.topology.domainCount.lessThan: expected a whole number from 0" },
    { "a count below zero", row "when: {topology: {domainCount: {equals: -1}}}",
      A .. "when.topology.domainCount.equals: expected a whole number from 0" },
    { "an unknown comparison of a count", row "when: {topology: {domainCount: {above: 1}}}",
      A .. "when.topology.domainCount.above: is not known" },
    { "a configuration that is a list", row "when: {config: [a]}", A .. "when.config: expected an object, got" },
    { "two environments of the trainer", row "trainerEnv: [{$use: env}]\nrankEnv: [{name: B, value: x}]",
      A .. "trainerEnv and rankEnv are both the environment of the trainer" },
    { "a patch that is none", row "jobTemplatePatch: [{op: replace, path: /spec, value: 1}, {op: set, path: /spec}]",
      A .. "jobTemplatePatch[2]: operation 2: expected an operation: add, copy" },
    { "a patch without a place", row "jobTemplatePatch: [{op: remove}]",
      A .. 'jobTemplatePatch[1]: operation 1: "nil" is no JSON pointer' },
    { "a runtime whose spec is text", row(runtime "spec: x"),
      A .. 'dependencies[1].spec: expected an object, got string' },
    { "a runtime whose jobs are none", row(runtime "spec: {template: {spec: {replicatedJobs: {name: node}}}}"),
      A .. 'dependencies[1].spec.template.spec.replicatedJobs: expected a list' },
    { "a variable twice in a runtime", row(runtime([[spec: {template: {spec: {replicatedJobs: [ {name: node, template:
      {spec: {template: {spec: {containers: [{name: n, env: [{$use: env}, {$use: env}]}]}}}}}]}}}]])),
      A .. "dependencies[1].spec.template.spec.replicatedJobs[1].template.spec.template.spec.containers[1].env[2]: A is"
        .. " set twice" },
    { "fragments that become too much", row "podSpec: {$use: a}",
      A .. "with its fragments in place there are more than 20000 values" },
    { "a number that is too large", row "trainerEnv: [{name: A, value: 99999999999999999999999999}]",
      A .. "trainerEnv[1].value: expected text in quotes, got" },
    { "aliases that become too much", "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n"
      .. "c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\nrows: [*d, *d, *d, *d]",
      "site.yaml: " },
    { "an alias that is part of its own value", "rows: &r [*r]", "site.yaml: line 1" },
    { "a key that is a list", row "? [a]\n: x", "site.yaml: " },
    { "a key that is a number", row "1: x", A .. '"1" is not known' },
    { "two documents", "rows: []\n---\nrows: []", "site.yaml: " },
    { "nothing", "", "site.yaml: no document in it" },
    { "a fragment that is missing", row "podSpec: {$use: nothing}",
      A .. "podSpec: there is no fragment _lib/nothing.yaml" },
    { "a fragment that includes itself", row "podSpec: {$use: self}",
      A .. "podSpec.a: _lib/self.yaml includes itself: self -> self" },
    { "fragments that include each other", row "podSpec: {$use: ping}",
      A .. "podSpec.b.a: _lib/ping.yaml includes itself: ping -> pong -> ping" },
    { "a fragment that is no YAML", row "podSpec: {$use: broken}", A .. "podSpec: _lib/broken.yaml: line 2" },
    { "a fragment with a path", row "podSpec: {$use: ../x}", A .. "podSpec: $use: expected the name of a fragment" },
    { "a key beside $use", row "podSpec: {$use: map, x: 1}", A .. 'podSpec: $use stands alone, "x" beside it' },
    { "an unknown $", row "podSpec: {$if: x}", A .. 'podSpec: "$if" is not known' },
    { "a name that no run says", row 'podSpec: {x: "${Entry}"}', A .. 'podSpec.x: "Entry" is nothing that a run says' },
    { "a $when that no run says", row "podSpec: {$when: Nics}", A .. 'podSpec: "Nics" is nothing that a run says' },
    { "a variable twice", row "trainerEnv:\n- {name: A, value: x}\n- {name: B, value: x}\n- {name: A, value: y}",
      A .. "trainerEnv[3]: A is set twice; the first one is at trainerEnv[1]" },
    { "a variable twice, by fragments", row "rankEnv: [{$use: env}, {$use: env}]",
      A .. "rankEnv[2]: A is set twice; the first one is at rankEnv[1]" },
    { "a variable twice in a container", row "podSpec: {containers: [{name: n, env: [{$use: env}, {$use: env}]}]}",
      A .. "podSpec.containers[1].env[2]: A is set twice" },
    { "a value and a valueFrom", row "rankEnv: [{name: A, value: x, valueFrom: {secretKeyRef: {}}}]",
      A .. "rankEnv[1]: A has a value and a valueFrom" },
    { "a variable without a value", row "rankEnv: [{name: A}]", A .. "rankEnv[1]: A has neither a value nor" },
    { "a value that is a number", row "rankEnv: [{name: A, value: 1}]",
      A .. "rankEnv[1].value: expected text in quotes, got 1" },
    { "a variable without a name", row "rankEnv: [{value: x}]", A .. "rankEnv[1].name: expected text" },
    { "an unknown framework", row "framework: torch", A .. 'framework: expected mpi or other, got "torch"' },
    { "an argument that is a number", row "mpiArgs: [-n, 4]", A .. "mpiArgs[2]: expected text, got" },
    { "a dependency without a kind", row "dependencies: [{apiVersion: v1}]",
      A .. "dependencies[1].kind: expected text" },
    { "a dependency without a name", row "dependencies: [{apiVersion: v1, kind: ConfigMap, metadata: {}}]",
      A .. "dependencies[1].metadata.name: expected text" },
  }
  local fragments = {
    a = ("{b: [%s]}"):format(("{$use: b}, "):rep(100)), b = ("{c: [%s]}"):format(("{$use: c}, "):rep(100)),
    c = ("{d: [%s]}"):format(("{$use: map}, "):rep(100)),
    self = "a: {$use: self}", ping = "b: {$use: pong}", pong = "a: {$use: ping}", broken = "a: [", map = "a: 1",
    env = "- {name: A, value: x}",
  }
  for _, case in ipairs(rows) do
    it(case[1], function()
      local message = refusal(case[2], fragments)
      assert.equal(case[3], message:sub(1, #case[3]))
    end)
  end
  it("fragments nested too deep", function()
    local deep = setmetatable({}, { __index = function(_, name) return ("{$use: %sx}"):format(name) end })
    assert.is_truthy(refusal(row "podSpec: {$use: x}", deep):find("nested more than 8 deep", 1, true))
  end)
end)

describe("valueFrom in a row", function()
  it("reaches the ranks by name with MPI, and whole without", function()
    local rows = load "rows:\n- name: a\n  rankEnv: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"
    assert.same({ "-x", "A" }, overrides.render(rows, { EntryName = "r", FrameworkType = "mpi" })[1].mpiArgs)
    local job = overrides.render(rows, { EntryName = "r" })[1].jobTemplate
    assert.equal("s", job.spec.workload.trainJob.trainer.env[1].valueFrom.secretKeyRef.name)
  end)
end)

describe("build_overrides refuses", function()
  local rows = {
    { "an unknown field", { EntryName = "r", GpuPerNode = 8 },
      'unknown field "GpuPerNode"; did you mean "GpusPerNode"?' },
    { "no name", {}, "EntryName: expected text, got nil" },
    { "half a NIC", { EntryName = "r", MlnxPerNode = 0.5 }, "MlnxPerNode: expected a whole number" },
  }
  for _, case in ipairs(rows) do
    it(case[1], function()
      local err = raised(overrides.build_overrides, case[2])
      assert.equal("config", err.reason)
      assert.is_truthy(err.message:find(case[3], 1, true), err.message)
    end)
  end
end)

describe("recipes/overrides", function()
  it("uses each of its fragments", function()
    local pipe, used = assert(io.popen "ls recipes/overrides/_lib/*.yaml"), {}
    local all = files.read "recipes/overrides/workloadrun.yaml" .. files.read "recipes/platforms/nccl_tests.yaml"
    local paths = {}
    for path in pipe:lines() do
      paths[#paths + 1] = path
      all = all .. files.read(path)
    end
    pipe:close()
    for name in all:gmatch "%$use: ([%w_]+)" do
      used[name] = true
    end
    assert.is_true(#paths > 5)
    for _, path in ipairs(paths) do
      assert.is_true(used[path:match "([%w_]+)%.yaml$"] or false, path)
    end
  end)
end)
