-- SPDX-License-Identifier: Apache-2.0
--- Objects of the cluster and entries of the recipe: the vectors of gke-tcpxo.md 7.2 to 7.4.
require "aicr_native"
local component = require "aicr.component"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local json = require "aicr.json"
local recipe = require "aicr.recipe"
local vectors = require "spec.support.vectors"

-- What a vector calls the rule that rejected -> our reason.
local REASONS <const> = {
  no_jobs = "no-node-template", no_template = "no-node-template", no_node_job = "no-node-job",
  not_wired = "not-wired", default_interface = "default-interface",
  not_json = "annotation-malformed", empty = "annotation-empty",
  first_entry = "annotation-first-entry", no_override = "mapping-not-recorded",
  not_list = "mapping-malformed", entry_not_map = "mapping-malformed",
  entry_fields = "mapping-malformed", count = "mapping-invalid",
  interface_name = "mapping-invalid", interface_duplicate = "mapping-invalid",
  network_name = "mapping-invalid", network_duplicate = "mapping-invalid",
  network_reserved = "mapping-invalid",
}

-- A missing argument of the vectors is null.
local function run(row, f)
  local ok, result = pcall(f, row.args)
  if row.ok then
    assert(ok, ok or tostring(result))
    return result
  end
  assert.is_false(ok)
  assert.is_true(errors.is(result), tostring(result))
  assert.equal(row.code, result.code)
  assert.is_true(result.verdict)
  if row.why then
    assert.equal(REASONS[row.why:match "^[%w_]+"], result.reason)
    local index = row.why:match ":(%d+)$"
    if index then
      assert.truthy(result.message:find("[" .. index .. "]", 1, true), result.message)
    end
  end
  return nil
end

local function each(op, f)
  for _, row in ipairs(vectors.rows(vectors.GKE, op)) do
    it(("%s %s"):format(op, row.id), function() f(row) end)
  end
end

describe("aicr.gke on vectors", function()
  each("node_template", function(row)
    local found = run(row, function(args) return gke.node_template(args.object) end)
    if row.ok then
      assert.equal(json.encode(row.result), json.encode(found))
    end
  end)

  each("deployed_mapping", function(row)
    local found = run(row, function(args) return gke.deployed_mapping(args.object) end)
    if row.ok then
      assert.same(row.result, found)
    end
  end)

  each("normalize_interfaces", function(row)
    local found = run(row, function(args) return gke.normalize_interfaces(args.value) end)
    if row.ok then
      assert.equal(json.encode(row.result), json.encode(found))
    end
  end)

  each("fabric_delivered", function(row)
    local found = run(row, function(args)
      return gke.fabric_runtime_delivered { componentRefs = args.componentRefs }
    end)
    if row.ok then
      assert.equal(row.result.delivered, found ~= nil)
      assert.equal(json.encode(row.result.pairs), json.encode(found or json.array()))
    end
  end)

  each("network_status", function(row)
    local k8s = { list = function() return row.args.networks end }
    local found = run(row, function() return gke.gpu_nic_networks(k8s) end)
    assert.equal(#row.result, #found)
    for i, status in ipairs(found) do
      assert.equal(status.bound, status.why == nil)
      status.why = nil
      assert.same(row.result[i], status)
    end
  end)

  for _, row in ipairs(vectors.rows("gkenet-sample.jsonl", "component_declared")) do
    it("component_declared " .. row.id, function()
      local document = { componentRefs = row.args.componentRefs }
      assert.equal(row.result, recipe.declares(document, row.args.name))
      assert.equal(row.result, recipe.component(document, row.args.name) ~= nil)
    end)
  end
end)

local function runtime(annotations)
  return {
    kind = "ClusterTrainingRuntime",
    metadata = { name = "torch-distributed-tcpxo" },
    spec = { template = { spec = { replicatedJobs = { {
      name = "node",
      template = { spec = { template = { metadata = { annotations = annotations }, spec = {} } } },
    } } } } },
  }
end

local function reason_of(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return err.reason, err.message
end

describe("aicr.gke", function()
  it("copies the node template", function()
    local object = runtime { a = "b" }
    local template = gke.node_template(object)
    template.metadata.annotations.a = "changed"
    assert.equal("b", gke.node_template(object).metadata.annotations.a)
  end)

  it("keeps an empty list an empty list in the copy", function()
    local object = json.decode('{"spec":{"template":{"spec":{"replicatedJobs":[{"name":"node",'
      .. '"template":{"spec":{"template":{"spec":{"containers":[],"x":null,"y":{}}}}}}]}}}}')
    assert.equal('{"spec":{"containers":[],"x":null,"y":{}}}', json.encode(gke.node_template(object)))
  end)

  it("names the object, the key and both values when the default interface is wrong", function()
    local reason, message = reason_of(gke.deployed_mapping, runtime {
      ["networking.gke.io/interfaces"] = "[]", ["networking.gke.io/default-interface"] = "eth1",
    })
    assert.equal("default-interface", reason)
    assert.equal("ClusterTrainingRuntime torch-distributed-tcpxo: annotation"
      .. ' networking.gke.io/default-interface is "eth1", wanted "eth0"', message)
  end)

  it("says that a runtime without the annotation is not wired", function()
    local reason, message = reason_of(gke.deployed_mapping, runtime {})
    assert.equal("not-wired", reason)
    assert.truthy(message:find("torch-distributed-tcpxo", 1, true))
    assert.truthy(message:find("networking.gke.io/interfaces", 1, true))
    assert.truthy(message:find("not wired", 1, true))
  end)

  it("takes the first enabled trainer, not the first one", function()
    local disabled = { name = gke.TRAINER, overrides = { install = false } }
    local other = { name = gke.TRAINER, manifestFiles = { gke.RUNTIME_MANIFEST } }
    assert.equal("mapping-not-recorded",
      (reason_of(gke.fabric_runtime_delivered, { componentRefs = { disabled, other } })))
    assert.is_nil(gke.fabric_runtime_delivered { componentRefs = { disabled } })
    assert.is_nil(gke.fabric_runtime_delivered(nil))
    assert.equal(other, component.first_enabled({ componentRefs = { disabled, other } }, gke.TRAINER))
  end)

  it("passes the error of the list on as it is", function()
    local err = errors.new { code = "UNAUTHORIZED", reason = "forbidden", message = "m" }
    local ok, found = pcall(gke.gpu_nic_networks, { list = function() error(err, 0) end })
    assert.is_false(ok)
    assert.equal(err, found)
  end)

  it("asks for the resources in the versions that it reads", function()
    local asked = {}
    gke.gpu_nic_networks { list = function(_, resource) asked[1] = resource return {} end }
    gke.read_deployed_runtime {
      get = function(_, resource, name) asked[2], asked[3] = resource, name return {} end,
    }
    assert.same({
      "networks.v1.networking.gke.io",
      "clustertrainingruntimes.v1alpha1.trainer.kubeflow.org", "torch-distributed-tcpxo",
    }, asked)
  end)
end)

describe("aicr.gke.network_status says why a network is not bound:", function()
  local function network(change)
    local object = {
      metadata = { name = "k1" },
      spec = { parametersRef = { kind = "GKENetworkParamSet", name = "p1" } },
      status = { conditions = { { type = "Ready", status = "True" },
        { type = "ParamsReady", status = "True" } } },
    }
    change(object, object.status.conditions)
    return gke.network_status(object)
  end
  local rows = {
    { "not (Ready is not True)", function(_, c) c[1].status = "False" end,
      "not Ready (Ready is not True)" },
    { "reason only", function(_, c) c[1].status, c[1].reason = "False", "R" end,
      "not Ready (Ready is not True: R)" },
    { "reason and message", function(_, c) c[1].status, c[1].reason, c[1].message = "False", "R", "m" end,
      "not Ready (Ready is not True: R: m)" },
    { "a boolean", function(_, c) c[1].status = true end, "not Ready (Ready is not True)" },
    { "not reported", function(_, c) c[1].type = "Other" end,
      "not Ready (no condition Ready reported)" },
    { "no conditions", function(o) o.status = nil end, "not Ready (no status.conditions)" },
    { "no reference", function(o) o.spec = nil end, "it has no reference to a GKENetworkParamSet" },
    { "another kind", function(o) o.spec.parametersRef.kind = "Other" end,
      "it has no reference to a GKENetworkParamSet" },
    { "parameters", function(_, c) c[2].status, c[2].reason = "Unknown", "GNPDeleted" end,
      "its GKENetworkParamSet p1 is not ready (ParamsReady is not True: GNPDeleted)" },
    { "Ready before all else", function(o, c) o.spec, c[1].status, c[2].status = nil, "False", "False" end,
      "not Ready (Ready is not True)" },
    { "the last of a type", function(_, c) c[3] = { type = "Ready", status = "False" } end,
      "not Ready (Ready is not True)" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local status = network(row[2])
      assert.is_false(status.bound)
      assert.equal(row[3], status.why)
    end)
  end

  it("nothing when it is bound", function()
    local status = network(function() end)
    assert.is_true(status.bound)
    assert.is_nil(status.why)
  end)
end)

describe("aicr.gke.require_census and require_bound", function()
  local function statuses(n, unbound)
    local list = {}
    for i = 1, n do
      local why = i <= unbound and "not Ready (x)" or nil
      list[i] = { name = "n" .. i, bound = why == nil, why = why }
    end
    return list
  end

  it("pass at eight and above", function()
    for _, n in ipairs { 8, 9 } do
      gke.require_census(statuses(n, 0))
      gke.require_bound(statuses(n, n - 8))
    end
    assert.equal(8, #gke.bound(statuses(9, 1)))
    assert.equal("n1 n2", table.concat(gke.names(statuses(2, 1)), " "))
  end)

  for n = 0, 7 do
    it(("refuse %d and say so"):format(n), function()
      local reason, message = reason_of(gke.require_census, statuses(n, 0))
      assert.equal("too-few-networks", reason)
      assert.truthy(message:find(("only %d of 8"):format(n), 1, true))
      reason, message = reason_of(gke.require_bound, statuses(8, 8 - n))
      assert.equal("network-not-bound", reason)
      assert.truthy(message:find(("only %d of 8"):format(n), 1, true))
      assert.truthy(message:find("Network n1: not Ready (x)", 1, true))
    end)
  end
end)

describe("aicr.gke.read_deployed_runtime", function()
  local function read(fields)
    fields.code, fields.message = fields.code or "INTERNAL", "m"
    local err = errors.new(fields)
    local ok, found = pcall(gke.read_deployed_runtime, { get = function() error(err, 0) end })
    assert.is_false(ok)
    return found, err
  end

  it("makes every 404 a verdict that the runtime is not deployed", function()
    for _, details in ipairs { { http = 404, status_reason = "NotFound" }, { http = 404 },
      { http = 500, status_reason = "NotFound" }, { served = false } } do
      local found, cause = read { reason = "x", details = details }
      assert.equal("NOT_FOUND", found.code)
      assert.equal("runtime-not-deployed", found.reason)
      assert.is_true(found.verdict)
      assert.equal(cause, found.cause)
    end
  end)

  it("keeps the reason of any other failure and gives no verdict", function()
    local rows = {
      { "INTERNAL", { http = 403, status_reason = "Forbidden" } },
      { "INTERNAL", { http = 404, status_reason = "Forbidden" } },
      { "INTERNAL", { http = 504, status_reason = "Timeout" } },
      { "INTERNAL", {} },
      { "TIMEOUT", { transport = "deadline" } },
      { "CANCELED", { transport = "canceled" } },
      { "INTERNAL", { transport = "socket-timeout" } },
    }
    for _, row in ipairs(rows) do
      local found = read { reason = "the-reason", details = row[2] }
      assert.equal(row[1], found.code)
      assert.equal("the-reason", found.reason)
      assert.is_false(found.verdict)
    end
    assert.equal("CANCELED", read({ code = "CANCELED", reason = "canceled" }).code)
  end)

  it("lets script errors through", function()
    local ok, found = pcall(gke.read_deployed_runtime, { get = function() error("bug", 0) end })
    assert.is_false(ok)
    assert.equal("bug", found)
  end)
end)
