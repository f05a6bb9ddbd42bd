-- SPDX-License-Identifier: Apache-2.0
-- The GKE TCPXO suite on the API server: healthy, and with the faults that the recordings have, made for real. The
-- verdicts are those on the recordings.
require "aicr_native"
local binary = require "spec.support.binary"
local cases = require "spec.support.cases"
local cluster = require "spec.support.cluster"
local faults = require "spec.support.faults"
local files = require "spec.support.files"
local gke = require "spec.support.cluster_gke"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local recording = require "spec.support.recording"

-- The faults' messages name her.
local USER <const> = "jane@example.com"
local KUBECONFIG <const> = cluster.STATE .. "/kubeconfig-" .. USER
local NETWORKS <const> = objects.rule("list", "networks", "networking.gke.io")
local RUNTIMES <const> = objects.rule("get", "clustertrainingruntimes", "trainer.kubeflow.org")
local NODES <const> = objects.rule("list", "nodes")

local TWELVE <const> = {}
for name in ("missing-network not-ready no-parameter-set swapped-pair foreign-network gvnic-in-a-gpu-slot"
  .. " api-not-served forbidden time-out runtime-not-deployed annotation-malformed"
  .. " annotation-one-level-up"):gmatch "%S+" do
  TWELVE[name] = true
end

-- What no data of an API server can be: why, and where it is tested.
local NOT_HERE <const> = {
  ["forbidden-as-404"] = "no API server answers 404 with the reason Forbidden",
  ["api-answers-404"] = "same as api-not-served on an API server",
  ["list-cut-short"] = "a server that cuts bodies: the client's own tests",
  ["networks-not-recorded"] = "only a recording can lack them",
  ["runtime-read-canceled"] = "a signal: faults_spec",
}

local function grant(...)
  objects.grant(USER, { ... })
end

-- Until the API server's authorizer has seen it.
local function until_status(path, http)
  cluster.eventually(path .. " is answered with " .. http, 20, function()
    local seen = objects.status_for(USER, path)
    return seen == http, seen
  end)
end

local function without(right, path)
  return function(run)
    local rules = {}
    for _, rule in ipairs { NETWORKS, RUNTIMES, NODES } do
      rules[#rules + 1] = rule ~= right and rule or nil
    end
    objects.grant(USER, rules)
    until_status(path, 403)
    local report = run(KUBECONFIG)
    grant(NETWORKS, RUNTIMES, NODES)
    until_status(path, 200)
    return report
  end
end

local in_silence

-- One run for both checks: before them the program waits for a server that says nothing.
local function silent(run)
  if not in_silence then
    cluster.must("stop", "kube-apiserver")
    local ok, report = pcall(run, KUBECONFIG, { "--set", "gke-gpu-nic-networks.timeout=3s", "--set",
      "gke-gpu-nic-topology.timeout=3s" })
    cluster.must("cont", "kube-apiserver")
    assert(ok, report)
    in_silence = report
  end
  return in_silence
end

local function at_another_port(run)
  local path = cluster.STATE .. "/kubeconfig-spec-port"
  files.write(path, (files.read(KUBECONFIG):gsub(":6443", ":6499")))
  return run(path)
end

-- An aggregated API of that group whose server is not there: 503, and discovery says Stale.
local function aggregated(run)
  local path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.networking.gke.io"
  local object = objects.must("GET", path)
  -- With this label it is the API server's own, which would mend it.
  object.metadata.labels = nil
  object.spec.service = { name = "absent", namespace = "default" }
  object.spec.insecureSkipTLSVerify = true
  objects.must("PUT", path, object)
  cluster.eventually("the API is unavailable", 30, function()
    local seen = objects.status_for(USER, "/apis/networking.gke.io/v1/networks")
    return seen == 503, seen
  end)
  local report = run(KUBECONFIG)
  -- The API server makes it anew, as its own; discovery would long call it stale.
  objects.must("DELETE", path)
  until_status("/apis/networking.gke.io/v1/networks", 200)
  gke.remove_group "networking.gke.io"
  return report
end

-- Stored in a version whose conversion nobody answers.
local function unconvertible(run)
  local path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clustertrainingruntimes.trainer.kubeflow.org"
  local crd = objects.must("GET", path)
  local stored = json.decode((json.encode(crd.spec.versions[1])))
  stored.name, stored.served, crd.spec.versions[1].storage = "v9", false, false
  crd.spec.versions[2] = stored
  objects.must("PUT", path, crd)
  local runtime = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch-distributed-tcpxo"
  -- Written once more, now as v9.
  objects.must("PATCH", runtime, { metadata = { labels = { again = "1" } } }, "application/merge-patch+json")
  objects.must("PATCH", path, { spec = { conversion = { strategy = "Webhook", webhook = {
    conversionReviewVersions = json.array { "v1" },
    clientConfig = { service = { name = "absent", namespace = "default", path = "/" } } } } } },
    "application/merge-patch+json")
  until_status(runtime, 500)
  local report = run(KUBECONFIG)
  objects.must("PATCH", path, { spec = { conversion = { strategy = "None", webhook = json.null } } },
    "application/merge-patch+json")
  until_status(runtime, 200)
  gke.remove_group "trainer.kubeflow.org"
  return report
end

local NETWORKS_PATH <const> = "/apis/networking.gke.io/v1/networks"
local BY_HAND <const> = {
  ["forbidden"] = without(NETWORKS, NETWORKS_PATH),
  ["runtime-forbidden"] = without(RUNTIMES,
    "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch-distributed-tcpxo"),
  ["nodes-forbidden"] = without(NODES, "/api/v1/nodes"),
  ["unauthenticated"] = function(run)
    return run(cluster.STATE .. "/kubeconfig-bad-token")
  end,
  ["time-out"] = silent,
  ["nodes-time-out"] = silent,
  ["connection-refused"] = at_another_port,
  ["unavailable"] = aggregated,
  ["runtime-read-fails"] = unconvertible,
}

-- Where a real server says it with another word: of an API whose server is down already discovery tells.
local OTHERWISE <const> = {
  ["unavailable"] = { code = "INTERNAL", reason = "discovery-incomplete" },
}

local function verdict(check)
  return { name = check.name, outcome = check.outcome, code = check.code, reason = check.reason }
end

-- The whole verdicts, with their words but for which discovery it was.
local function verdicts(report)
  local list = { exit = report.exit }
  for i, check in ipairs(report.checks) do
    list[i] = verdict(check)
    list[i].said = (check.message or check.result):gsub("recorded discovery", "discovery")
    list[i].extra = check.extra
  end
  return list
end

local function run_on(args, kubeconfig, more)
  local words = table.move(args, 3, #args, 3, { "-k", kubeconfig })
  for _, word in ipairs(more or {}) do
    words[#words + 1] = word
  end
  return binary.report(words)
end

-- The twelve that the recordings were made for are compared with them in every word, the others with what the table
-- says.
local function as_data(fault)
  it(("fault %s, as data: %s %s"):format(fault.name, fault.outcome, fault.code or ""), function()
    files.with_folder(function(folder)
      local args = cases.prepare(fault, folder)
      local parts = recording.read()
      if fault.change then
        fault.change(parts)
      end
      assert.is_nil(gke.bring(parts))
      local recorded = TWELVE[fault.name] and binary.report(args)
      local live = run_on(args, KUBECONFIG)
      cases.judge_fault(fault, live)
      if recorded then
        assert.same(verdicts(recorded), verdicts(live))
      end
    end)
  end)
end

local function by_hand(fault, make)
  it(("fault %s, for real: %s %s"):format(fault.name, fault.outcome, fault.code or ""), function()
    files.with_folder(function(folder)
      local args = cases.prepare(fault, folder)
      assert.is_nil(gke.bring(recording.read()))
      local recorded = binary.report(args)
      local live = make(function(kubeconfig, more)
        return run_on(args, kubeconfig, more)
      end)
      local check = binary.check(live, fault.check)
      local want = verdict(binary.check(recorded, fault.check))
      for key, value in pairs(OTHERWISE[fault.name] or {}) do
        want[key] = value
      end
      if make == silent and check.reason == "timeout" then
        -- On a busy machine the time of the check may be over before it has said what its request met.
        want.reason = "timeout"
      end
      assert.same(want, verdict(check), check.message)
      assert.equal(recorded.exit, live.exit)
    end)
  end)
end

describe("the GKE TCPXO suite on an API server", function()
  lazy_setup(function()
    objects.user(USER)
    grant(NETWORKS, RUNTIMES, NODES)
    gke.begin()
    until_status(NETWORKS_PATH, 200)
  end)

  lazy_teardown(function()
    objects.revoke(USER)
    gke.finish()
  end)

  it("passes on the healthy cluster, as on its recording", function()
    files.with_folder(function(folder)
      local args = cases.prepare({}, folder)
      assert.is_nil(gke.bring(recording.read()))
      local live = run_on(args, KUBECONFIG)
      assert.equal(0, live.exit)
      assert.same(verdicts(binary.report(args)), verdicts(live))
    end)
  end)

  for _, fault in ipairs(faults) do
    if BY_HAND[fault.name] then
      by_hand(fault, BY_HAND[fault.name])
    elseif not NOT_HERE[fault.name] then
      as_data(fault)
    end
  end

  it("knows each fault that it leaves out", function()
    local known = {}
    for _, fault in ipairs(faults) do
      known[fault.name] = true
    end
    for name in pairs(NOT_HERE) do
      assert.truthy(known[name], name)
    end
    for name in pairs(BY_HAND) do
      assert.truthy(known[name], name)
    end
  end)
end)
