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
    { "an expression", row "when: {expression: 'true'}", A .. "when.expression: expressions are not read here" },
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
