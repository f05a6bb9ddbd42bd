-- SPDX-License-Identifier: Apache-2.0
-- A TrainJob where Kubeflow Trainer is not there, or not whole: nothing is installed, and nothing is left.
require "aicr_native"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"
local training = require "spec.support.cluster_training"

local CRD <const> = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
local TRAINJOBS <const> = CRD .. "/trainjobs.trainer.kubeflow.org"
local DEPLOYMENT <const> = "/apis/apps/v1/namespaces/kubeflow-system/deployments/kubeflow-trainer-controller-manager"
local WEBHOOK <const> = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/"
  .. "validator.trainer.kubeflow.org"

after_each(runs.end_all)

local function run(how)
  how = how or {}
  how.namespace = training.namespace()
  local result = training.start(how):finish(90)
  assert.is_false(training.is_there(how.namespace))
  return result, result.stdout .. result.stderr
end

local function scale(replicas)
  objects.must("PATCH", DEPLOYMENT .. "/scale", { spec = { replicas = replicas } }, "application/merge-patch+json")
  cluster.eventually("the controller has its replicas", 90, function()
    local status = objects.must("GET", DEPLOYMENT).status
    return (status.availableReplicas or 0) == replicas, json.encode(status)
  end)
end

-- Trainer judges TrainJobs again: what later tests stand on.
local function judges()
  cluster.eventually("Trainer's webhook judges", 90, function()
    local answer = cluster.command { "spec/cluster/ctl", "kubectl", "create", "--dry-run=server", "-f",
      "spec/cluster/config/probe_trainjob.yaml" }
    return answer.stderr:find("denied the request", 1, true), answer.stderr
  end)
end

describe("a TrainJob without Trainer's CRD", function()
  local crd

  setup(function()
    crd = objects.bare(objects.must("GET", TRAINJOBS))
    crd.status = nil
    scale(0)
    objects.must("DELETE", TRAINJOBS)
    cluster.eventually("the CRD is gone", 60, function()
      return objects.send("GET", TRAINJOBS).http == 404
    end)
  end)

  teardown(function()
    objects.must("POST", CRD, crd)
    scale(1)
    judges()
  end)

  it("is an error with the command that installs Trainer", function()
    local result, said = run()
    assert.equal("error", result.check.outcome, said)
    assert.equal("not-found", result.check.reason, said)
    assert.equal("NOT_FOUND", result.check.code)
    assert.matches("customresourcedefinition trainjobs%.trainer%.kubeflow%.org is not there", result.check.message)
    assert.matches("^kubectl .*apply %-%-server%-side %-k ", result.check.fix)
    assert.equal(404, objects.send("GET", TRAINJOBS).http)
  end)

  it("is a fail after a while where the recipe declares Trainer", function()
    local result, said = run { declared = true, times = { trainer = "2s" } }
    assert.equal("fail", result.check.outcome, said)
    assert.equal("not-found", result.check.reason, said)
    assert.matches("is not there after 2s, though the recipe declares it", result.check.message)
    assert.equal(404, objects.send("GET", TRAINJOBS).http)
  end)
end)

it("a TrainJob waits for Trainer's controller, and says which Deployment it is", function()
  finally(function()
    scale(1)
    judges()
  end)
  scale(0)
  local result, said = run { times = { trainer = "1s" } }
  assert.equal("error", result.check.outcome, said)
  assert.equal("trainer-not-ready", result.check.reason, said)
  assert.equal("TIMEOUT", result.check.code)
  assert.matches("deployment kubeflow%-trainer%-controller%-manager in namespace kubeflow%-system",
    result.check.message)
  local namespace = training.namespace()
  local waits = training.start { namespace = namespace, times = { trainer = "90s" } }
  waits:saw("waits for Trainer", 30)
  scale(1)
  result = waits:finish(120)
  assert.equal("pass", result.check.outcome, result.stdout .. result.stderr)
end)

it("a TrainJob without the webhook that judges it is an error that names it", function()
  local webhook = objects.bare(objects.must("GET", WEBHOOK))
  finally(function()
    objects.must("POST", (WEBHOOK:gsub("/[^/]+$", "")), webhook)
    judges()
  end)
  objects.must("DELETE", WEBHOOK)
  local result, said = run()
  assert.equal("not-found", result.check.reason, said)
  assert.matches("validatingwebhookconfiguration validator%.trainer%.kubeflow%.org", result.check.message)
end)
