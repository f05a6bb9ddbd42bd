-- SPDX-License-Identifier: Apache-2.0
-- The whole GKE TCPXO suite on the test cluster, with the real JobSet and Trainer: what reaches the floor passes, all
-- else is told, and nothing is left. R-… are rows of gke-tcpxo.md 7.8.
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local image = require "spec.support.cluster_nccl_image"
local json = require "aicr.json"
local nccl = require "spec.support.cluster_nccl"
local objects = require "spec.support.cluster_objects"
local recording = require "spec.support.recording"
local rows = require "spec.support.cluster_rows"
local training = require "spec.support.cluster_training"

local MERGE <const> = "application/merge-patch+json"
local USER <const> = "spec-nccl"
local folder <const> = files.folder()
local PLAIN <const>, DECLARED <const> = folder .. "/plain.yaml", folder .. "/declared.yaml"
files.write(PLAIN, nccl.plain_recipe())
files.write(DECLARED, nccl.plain_recipe(true))

local function contains(text, ...)
  for _, words in ipairs { ... } do
    assert.truthy(tostring(text):find(words, 1, true), ("%q is not in %s"):format(words, text))
  end
end

local function attachment(check, name)
  for _, item in ipairs(check.attachments or {}) do
    if item.name == name then
      return item.text
    end
  end
end

local function then_go(f)
  return function(at)
    at:running()
    f(at)
    at:go()
  end
end

local function running_then(f)
  return function(at)
    at:running()
    f(at)
  end
end

-- Shell words: a log as the launcher's, whole or its end.
local function prints(name)
  return nccl.HOLD .. "cat /logs/" .. name .. "\n"
end

local TO_MESSAGE <const> = "grep -E '^ +[0-9]+ +[0-9]+ |Avg bus' /logs/good | tail -c 3900 >/dev/termination-log\n"

-- Takes the log away once the table is in it, and lets the launcher end. Kubelet makes a new one, which is empty.
local function lose_log(at)
  at:running()
  at:sees "16G: 338.33 GB/s"
  local lost = cluster.command { "sh", "-c", ("rm %s/n*/pod-logs/%s_nccl-all-reduce-tj-launcher-*/node/*.log"):format(
    cluster.DATA, at.namespace) }
  assert(lost.code == 0, lost.stderr)
  at:go()
end

-- Something in the namespace that is not removed.
local function hold_back(at)
  objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(at.namespace),
    objects.config_map(at.namespace, "held", { finalizers = json.array { "example.com/held" } }))
end

local function free(row)
  objects.must("PATCH", ("/api/v1/namespaces/%s/configmaps/held"):format(row.namespace),
    { metadata = { finalizers = json.null } }, MERGE)
end

-- Stops the run before its namespace is made, and makes that in its place.
local function before_namespace(f)
  return function(at)
    local probe
    at:wait("its probe", function()
      probe = at.run:told "default/pods/(nccl%-tcpxo%-probe%-%w+)"
      return probe
    end)
    local pod = objects.send("GET", "/api/v1/namespaces/default/pods/" .. probe)
    at.run:signal "STOP"
    local id = json.decode(pod.body).metadata.labels["aicr-run/run"]
    at.namespace = "aicr-nccl-perf-default-" .. id
    training.leave_namespace(at.namespace)
    f(at.namespace)
    at.run:signal "CONT"
  end
end

local function leave_lock(namespace)
  objects.must("POST", ("/apis/coordination.k8s.io/v1/namespaces/%s/leases"):format(namespace), {
    metadata = { name = "aicr-nccl-run-lock" }, spec = { holderIdentity = "somebody",
      renewTime = os.date("!%Y-%m-%dT%H:%M:%S.000000Z", os.time() - 30) },
  })
end

local function kubectl(words, input)
  local result = cluster.command({ "sh", "-c", "exec spec/cluster/ctl kubectl " .. words }, input)
  assert(result.code == 0, result.stderr)
end

-- The user's role and its bindings, made with the commands that `aicr-run rbac` prints; or they are deleted.
local function role(is_wanted)
  local printed = binary.run({ "rbac", "-n", "default", "--recipe", nccl.RECIPE, nccl.SUITE }).stdout
  kubectl((is_wanted and "apply" or "delete") .. " -f -", printed)
  for command in printed:gmatch "#   kubectl ([^\n]+ %-%-user=)NAME" do
    if is_wanted then
      kubectl(command .. USER)
    else
      kubectl((command:gsub(" create (%w+ %S+) .*", " delete %1"):gsub("^create (%w+ %S+) .*", "delete %1")))
    end
  end
end

local RECORDED <const> = folder .. "/recorded"

local WHOLE <const> = {
  {
    name = "a delivered runtime at 338 GB/s passes for a user with the role that rbac prints, and is recorded",
    kubeconfig = ("%s/kubeconfig-%s"):format(cluster.STATE, USER), words = { "--record", RECORDED },
    outcome = "pass", says = { "338.33 GB/s, >= 300 required" }, check = function(row, check)
      assert.equal(0, row.result.code)
      assert.equal("delivered-artifact", check.extra.runtimeSource)
      assert.truthy(attachment(check, "provenance.json"))
    end,
  },
  {
    name = "at 250 GB/s it fails", params = { runtime_image = image.SLOW }, outcome = "fail", code = "INTERNAL",
    reason = "below-floor", says = { "250" }, check = function(row)
      assert.equal(1, row.result.code)
      contains(row.result.stdout, "(runtime image: aicr.local/nccl:slow)")
    end,
  },
  {
    name = "with rows that are cut it is an error", params = { runtime_image = image.CUT }, outcome = "error",
    reason = "incomplete-sweep", says = { "was to reach 16G and ended at 1G" }, check = function(row)
      assert.equal(3, row.result.code)
    end,
  },
  {
    name = "a worker with wrong wiring fails with a good number", outcome = "fail", code = "INTERNAL",
    reason = "worker-wiring", act = then_go(function(at)
      local path = at:pods_path(at:first "node")
      local annotation = objects.must("GET", path).metadata.annotations["networking.gke.io/interfaces"]
      objects.must("PATCH", path, { metadata = { annotations = {
        ["networking.gke.io/interfaces"] = annotation:gsub("lyra%-gpu%-nic%-k2", "lyra-gpu-nic-k1"),
      } } }, MERGE)
    end), says = { "wiring: ", "puts eth1 and eth2 on network \"lyra-gpu-nic-k1\"" },
  },
  {
    name = "R-06: the built-in runtime passes where nothing is delivered", recipe = PLAIN, outcome = "pass",
    act = then_go(function(at)
      local pod = objects.must("GET", at:pods_path(at:first "node"))
      at.row.interfaces = pod.metadata.annotations["networking.gke.io/interfaces"]
    end),
    check = function(row, check)
      assert.equal("cluster-capability", check.extra.runtimeSource)
      for k = 1, 8 do
        contains(row.interfaces, ('{"interfaceName":"eth%d","network":"lyra-gpu-nic-k%d"}'):format(k, k))
      end
    end,
  },
  {
    name = "a worker that is replaced midway does not keep it from passing", outcome = "pass",
    act = then_go(function(at)
      local gone = at:first "node"
      objects.must("DELETE", at:pods_path(gone))
      at:wait("another worker", function()
        local live = 0
        for _, pod in ipairs(nccl.pods(at.namespace, "node")) do
          local daemon = (pod.status.initContainerStatuses or {})[1]
          live = live + (pod.metadata.name ~= gone and daemon and daemon.started and 1 or 0)
        end
        return live == 2
      end)
    end),
  },
  {
    name = "a foreign pod in its namespace is left, and so is the namespace", short = true,
    act = before_namespace(training.leave_pod), outcome = "error", code = "CONFLICT", reason = "namespace-in-use",
    says = { "theirs" }, stays = true,
  },
  {
    name = "a foreign lock is respected", short = true, act = before_namespace(leave_lock), outcome = "error",
    code = "CONFLICT", reason = "locked", says = { "somebody" }, stays = true,
  },
  {
    name = "a supplied runtime passes", recipe = PLAIN, runtime = nccl.supplied("cat /logs/good\n"), outcome = "pass",
    check = function(_, check)
      assert.equal("recipe-supplied-runtime", check.extra.runtimeSource)
    end,
  },
  {
    name = "a launcher that fails is an error with what it says of the cause", recipe = PLAIN, runtime = nccl.supplied
      "echo 'node-a:1:1 [0] NCCL WARN Call to ibv_reg_mr failed'; exit 3", outcome = "error",
    reason = "launcher-failed", says = { "launch: ", "node exited with 3", "(memlock)" }, check = function(_, check)
      contains(attachment(check, "launcher.log"), "NCCL WARN Call to ibv_reg_mr failed")
    end,
  },
  {
    name = "a launcher that hangs is a time-out", recipe = PLAIN, runtime = nccl.supplied "echo begun; sleep 600",
    params = { job_timeout = "15s" }, outcome = "error", code = "TIMEOUT", reason = "launcher-timeout",
    says = { "did not succeed within 15s" },
  },
  {
    name = "a launcher that its node evicts is an error", recipe = PLAIN, runtime = nccl.supplied "sleep 600",
    act = running_then(function(at)
      objects.must("PATCH", at:pods_path(at:first "launcher") .. "/status", { status = {
        phase = "Failed", reason = "Evicted", message = "The node was low on resource: memory." } }, MERGE)
    end), outcome = "error", reason = "launcher-failed", says = { "Evicted; The node was low on resource" },
  },
  {
    name = "a launcher that is deleted is an error", recipe = PLAIN, runtime = nccl.supplied "sleep 600",
    act = running_then(function(at)
      objects.must("DELETE", at:pods_path(at:first "launcher"))
    end), outcome = "error", reason = "launcher-deleted",
  },
  {
    name = "a launcher without a row is an error", recipe = PLAIN, runtime = nccl.supplied "echo nothing to say",
    outcome = "error", code = "INTERNAL", reason = "no-rows",
  },
  {
    name = "a launcher with half a row is an error", recipe = PLAIN, runtime = nccl.supplied "cat /logs/half",
    outcome = "error", reason = "incomplete-sweep", says = { "ended at 8G" },
  },
  {
    name = "wrong values fail, however good the number is", recipe = PLAIN, runtime = nccl.supplied "cat /logs/wrong",
    outcome = "fail", code = "INTERNAL", reason = "wrong-values",
    says = { "correctness: ", "6 wrong values, first at 16G" },
  },
  {
    name = "100 MB of noise before the table do not keep it from passing", recipe = PLAIN, runtime = nccl.supplied
      "yes 'node-a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via NET' | head -c 100000000\ncat /logs/good\n",
    outcome = "pass", says = { "338.33" },
  },
  {
    name = "a log that is lost is replaced by the termination message", params = { runtime_image = image.LATE },
    act = lose_log, outcome = "pass", says = { "338.33 GB/s" }, check = function(_, check)
      contains(json.encode(check.evidence), "338.33 GB/s (runtime image: aicr.local/nccl:late) at 16G, by the"
        .. " termination message")
    end,
  },
  {
    name = "a lost log with its rows in the termination message is an error where nobody knows what was asked for",
    recipe = PLAIN, runtime = nccl.supplied("cat /logs/good\n" .. TO_MESSAGE .. nccl.HOLD), act = lose_log,
    outcome = "error", reason = "incomplete-sweep", says = { "which was asked for is not known" },
  },
  {
    name = "a lost log with nothing in the termination message is an error", recipe = PLAIN,
    runtime = nccl.supplied("cat /logs/good\n" .. nccl.HOLD), act = lose_log, outcome = "error",
  },
  {
    name = "R-20: a launcher that never appears is a time-out", recipe = PLAIN,
    runtime = nccl.supplied("sleep 600", { dependsOn = json.array { { name = "node", status = "Complete" } } }),
    params = { launcher_timeout = "3s" }, outcome = "error", code = "TIMEOUT", reason = "launcher-missing",
  },
  {
    name = "R-21: a namespace that stays makes an error of a pass", recipe = PLAIN,
    runtime = nccl.supplied(prints "good"), params = { cleanup_timeout = "1s" }, act = then_go(hold_back),
    outcome = "error", reason = "cleanup", stays = true, check = function(row, check)
      contains(check.message, "namespace/" .. row.namespace)
      contains(check.fix, "delete namespace/" .. row.namespace)
      free(row)
    end,
  },
  {
    name = "R-22: a namespace that stays does not hide a failure", recipe = PLAIN,
    runtime = nccl.supplied(prints "slow"), params = { cleanup_timeout = "1s" }, act = then_go(hold_back),
    outcome = "fail", reason = "below-floor", stays = true, check = function(row, check)
      contains(json.encode(check), "delete namespace/" .. row.namespace)
      free(row)
    end,
  },
}

-- Rows about the cluster, one after another; most end before anything is made.
local function runtimes(change)
  return function(parts)
    for _, item in ipairs(parts.lists[recording.RUNTIMES].items) do
      if item.metadata.name == "torch-distributed-tcpxo" then
        change(item.spec.template.spec.replicatedJobs[1].template.spec.template.spec, item)
      end
    end
  end
end

local function cordon(name, is_cordoned)
  nccl.patch_node(name, { spec = { unschedulable = is_cordoned or json.null } })
end

-- n2 is changed while the row runs.
local function with_n2(change, back)
  return function(f)
    change()
    local ok, err = pcall(f)
    back()
    assert(ok, err)
  end
end

local TRAINJOBS <const> = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainjobs.trainer.kubeflow.org"

local function without_trainjobs(f)
  local crd = objects.bare(objects.must("GET", TRAINJOBS))
  crd.status = nil
  objects.must("DELETE", TRAINJOBS)
  cluster.eventually("it is gone", 30, function()
    return objects.send("GET", TRAINJOBS).http == 404
  end)
  local ok, err = pcall(f)
  objects.must("POST", (TRAINJOBS:gsub("/[^/]*$", "")), crd)
  cluster.eventually("it is served again", 30, function()
    return objects.send("GET", "/apis/trainer.kubeflow.org/v1alpha1/trainjobs").http == 200
  end)
  assert(ok, err)
end

local function made_nothing(row)
  assert.is_nil(row.namespace)
end

local STATES <const> = {
  {
    name = "R-03: one node that is not cordoned", around = with_n2(function() cordon("n2", true) end,
      function() cordon("n2", false) end),
    outcome = "fail", code = "NOT_FOUND", reason = "too-few-nodes", says = { "cordoned: n2" }, check = made_nothing,
  },
  {
    name = "R-03: one node with GPUs", around = with_n2(function() nccl.set_gpus("n2", 0) end,
      function() nccl.set_gpus("n2", 8) end),
    outcome = "fail", code = "NOT_FOUND", reason = "too-few-nodes", says = { "n1" }, check = made_nothing,
  },
  {
    name = "R-04: 8 and 7 GPUs", around = with_n2(function() nccl.set_gpus("n2", 7) end,
      function() nccl.set_gpus("n2", 8) end),
    outcome = "fail", code = "INTERNAL", reason = "gpu-counts", says = { "n2 (7/8)" }, check = made_nothing,
  },
  {
    name = "no node that is not cordoned", around = with_n2(function() cordon("n1", true) cordon("n2", true) end,
      function() cordon("n1", false) cordon("n2", false) end),
    outcome = "fail", code = "INTERNAL", reason = "no-gpu-nodes", says = { "cordoned: n1, n2" }, check = made_nothing,
  },
  {
    name = "R-17: one node without the profile file", around = with_n2(function() nccl.install("n2", false) end,
      function() nccl.install("n2", true) end),
    outcome = "fail", code = "INVALID_REQUEST", reason = "tcpxo-not-ready",
    says = { "has not finished on 1 of 2 nodes", "nccl-env-profile.sh): n2" }, check = made_nothing,
  },
  {
    name = "R-05: nothing delivered and 7 networks", recipe = PLAIN, change = function(parts)
      local networks = parts.lists[recording.NETWORKS].items
      for i = #networks, 1, -1 do
        if networks[i].metadata.name == "lyra-gpu-nic-k8" then
          table.remove(networks, i)
        end
      end
    end, outcome = "fail", code = "INTERNAL", reason = "too-few-networks", says = { "has 7" }, check = made_nothing,
  },
  {
    name = "R-07: a delivered runtime that is missing", change = function(parts)
      parts.lists[recording.RUNTIMES] = recording.list(recording.RUNTIMES, {})
    end, outcome = "fail", code = "NOT_FOUND", reason = "runtime-not-deployed", check = function(row, check)
      assert.equal("delivered-artifact", check.extra.runtimeSource)
      assert.is_nil(attachment(check, "provenance.json"))
      made_nothing(row)
    end,
  },
  {
    name = "R-13: a delivered worker with 4 GPUs on nodes with 8", change = runtimes(function(spec)
      spec.containers[1].resources = { limits = { ["nvidia.com/gpu"] = "4" }, requests = { ["nvidia.com/gpu"] = "4" } }
    end), outcome = "fail", code = "INVALID_REQUEST", reason = "shipped-worker", check = made_nothing,
  },
  {
    name = "R-08, R-18: a delivered worker without its daemon, on a network that is not ready", takes_gpus = true,
    change = function(parts)
      runtimes(function(spec) spec.initContainers = nil end)(parts)
      for _, network in ipairs(parts.lists[recording.NETWORKS].items) do
        if network.metadata.name == "lyra-gpu-nic-k3" then
          network.status.conditions = json.array { { type = "Ready", status = "False", reason = "Spec",
            message = "not ready", lastTransitionTime = "2026-05-04T09:00:00Z" } }
        end
      end
    end,
    outcome = "fail", code = "INTERNAL", reason = "worker-wiring", says = { "no init container tcpxo-daemon" },
  },
  {
    name = "R-19: a daemon that starts on index 0 only", takes_gpus = true, change = runtimes(function(spec)
      spec.initContainers[1].startupProbe = { periodSeconds = 1, failureThreshold = 1000, exec = {
        command = json.array { "sh", "-c", "test $JOB_COMPLETION_INDEX = 0" } } }
    end), act = function(at)
      at:sees "workers 1/2 running"
      at:sees "launcher running"
      at.namespace = at.run:told(nccl.SPACES)
      at:go()
    end, outcome = "fail", code = "INTERNAL", reason = "daemon-not-started", says = { "index 1 of 2" },
  },
  {
    name = "R-23: a recipe that declares Trainer, whose CRD is missing", recipe = DECLARED, around = without_trainjobs,
    params = { trainer_timeout = "3s" },
    outcome = "fail", code = "NOT_FOUND", reason = "not-found", says = { "trainjobs.trainer.kubeflow.org is not there"
      .. " after 3s", "kubectl apply --server-side -k" },
  },
  {
    name = "Trainer's CRD is missing and nobody declares it", recipe = PLAIN, around = without_trainjobs,
    params = { trainer_timeout = "3s" },
    outcome = "error", code = "NOT_FOUND", reason = "not-found", says = { "kubectl apply --server-side -k" },
  },
}

local function judge(row)
  local check = row.result and row.result.check
  local said = ("%s\n%s"):format(row.problem, row.result and row.result.stdout .. (row.result.stderr or ""):sub(-3000))
  assert.is_nil(row.problem, said)
  assert.truthy(check, said)
  assert.equal(row.outcome, check.outcome, said)
  assert.equal(row.code or check.code, check.code, said)
  assert.equal(row.reason or check.reason, check.reason, said)
  for _, words in ipairs(row.says or {}) do
    contains(check.message or check.result, words)
  end
  for _, other in ipairs(row.only and {} or row.result.report.checks) do
    assert.truthy(other.name == nccl.CHECK or other.outcome == "pass" or row.recipe, said)
  end
  if row.check then
    row.check(row, check)
  end
  if row.namespace then
    assert.equal(row.stays or false, training.is_there(row.namespace), said)
  end
end

-- What there is of runs, by name.
local function objects_of_runs()
  return training.objects(function(space)
    return space:find("^" .. nccl.SPACES .. "$") or space == "default"
  end)
end

describe("the GKE TCPXO suite on a cluster", function()
  local before
  lazy_setup(function()
    nccl.begin()
    objects.user(USER)
    role(true)
    before = objects_of_runs()
    rows.all(WHOLE)
  end)
  lazy_teardown(function()
    rows.end_all(WHOLE)
    role(false)
    nccl.finish()
    files.remove(folder)
  end)

  for _, row in ipairs(WHOLE) do
    it(row.name, function()
      judge(row)
    end)
  end

  it("the recording has the same verdicts of the deployment, and none of the performance", function()
    local report = binary.report { "--recording", RECORDED, "--recipe", nccl.RECIPE, nccl.SUITE }
    local live = WHOLE[1].result.report
    assert.equal(#live.checks, #report.checks)
    for i, check in ipairs(report.checks) do
      local was = live.checks[i]
      assert.equal(was.name, check.name)
      if check.name == nccl.CHECK then
        assert.equal("error", check.outcome)
        assert.truthy(({ ["not-recorded"] = true, ["read-only"] = true })[check.reason], check.reason)
      else
        assert.same({ was.outcome, was.result }, { check.outcome, check.result })
      end
    end
  end)

  for _, row in ipairs(STATES) do
    it(row.name, function()
      row.only, row.short = true, not row.takes_gpus
      nccl.bring(row.change)
      local function run()
        rows.all { row }
      end
      if row.around then
        row.around(run)
      else
        run()
      end
      judge(row)
    end)
  end

  it("nothing is left of them", function()
    rows.end_all(WHOLE)
    cluster.eventually("all that was left on purpose is gone", 60, function()
      local now = objects_of_runs()
      return #now <= #before, table.concat(now, "\n")
    end)
    assert.same(before, objects_of_runs())
  end)
end)
