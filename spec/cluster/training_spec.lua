-- SPDX-License-Identifier: Apache-2.0
-- aicr.training on the real Trainer: what a TrainJob wrote is taken, whatever goes wrong is told, and nothing is left.
require "aicr_native"
local json = require "aicr.json"
local cluster = require "spec.support.cluster"
local objects = require "spec.support.cluster_objects"
local training = require "spec.support.cluster_training"

-- Rows run side by side. Each: its name, how (of training.check), before(namespace), act(namespace, run) while it
-- runs, outcome, reason, code, stays (what it does not remove), check(result, namespace), after(namespace) in
-- any case.
local PATIENCE_S <const> = 240

local function attachment(result, name)
  for _, item in ipairs(result.check.attachments or {}) do
    if item.name == name then
      return item.text
    end
  end
end

local function contains(text, ...)
  for _, words in ipairs { ... } do
    assert.truthy(tostring(text):find(words, 1, true), ("%q is not in %s"):format(words, text))
  end
end

local function running(_, run)
  run:saw("workers 2/2 running, launcher running", PATIENCE_S)
end

local function running_then(f)
  return function(namespace, run)
    running(namespace, run)
    f(namespace, run)
  end
end

local HELD <const> = training.HOLD .. training.PRINT

-- Takes the runtime away once it was made: the webhook then sees none.
local HIDE <const> = [[
      ctx.k8s:delete("trainingruntimes.trainer.kubeflow.org", "spec-runtime", runtime.metadata.namespace)]]

local function first_pod(namespace, job)
  return training.pods(namespace, job)[1].metadata.name
end

local function pod_path(namespace, name)
  return ("/api/v1/namespaces/%s/pods/%s"):format(namespace, name)
end

-- The launcher's node has its log no more. In the place of its folder is a file: kubelet has a log made anew that is
-- not there.
local function lose_log(namespace)
  local lost = cluster.command { "sh", "-c", ("d=$(echo %s/n*/pod-logs/%s_spec-job-launcher-*) && rm -r $d/node && "
    .. "echo >$d/node"):format(cluster.DATA, namespace) }
  assert(lost.code == 0, lost.stderr)
end

local ROWS <const> = {
  {
    name = "is run to its end, and its log and termination message are taken",
    how = { launcher = HELD .. "echo '  in short ' >/dev/termination-log", gpus = 8 }, act = running_then(training.go),
    outcome = "pass", check = function(result)
      local extra = result.check.extra
      assert.equal(training.TABLE, extra.log)
      assert.is_true(extra.complete)
      assert.equal("in short", extra.termination)
      contains(extra.launcher, "spec-job-launcher-0-0-")
      assert.truthy(extra.stored)
      assert.equal(2, extra.workers)
      for _, phases in pairs(json.decode(extra.seen)) do
        assert.is_true(phases.Running)
      end
    end,
  },
  {
    name = "shows what its caller makes of the launcher's lines as they come",
    how = { launcher = "echo step 1; echo nothing\n" .. HELD,
      options = [[line = function(line) return line:match "^step.*" end,]] },
    act = function(namespace, run)
      run:saw("workers 2/2 running, launcher running: step 1", PATIENCE_S)
      training.go(namespace)
    end,
    outcome = "pass",
  },
  {
    name = "whose launcher fails is an error, with what it and the workers wrote",
    how = { launcher = training.HOLD .. "echo it went wrong; exit 3", worker = "echo a worker; sleep 600" },
    act = running_then(training.go),
    outcome = "error", reason = "launcher-failed", code = "INTERNAL", check = function(result)
      contains(result.check.message, "spec-job-launcher-0-0-", "container node exited with 3")
      contains(attachment(result, "launcher.log"), "it went wrong")
      contains(attachment(result, "workers.txt"), "spec-job-node-0-0-", "spec-job-node-0-1-")
    end,
  },
  {
    name = "whose launcher hangs is a time-out that says what was seen",
    how = { launcher = "echo it begins; sleep 600", times = { run = "20s" }, grace = 30 },
    outcome = "error", reason = "launcher-timeout", code = "TIMEOUT", check = function(result)
      contains(result.check.message, "did not succeed within 20s", "launcher running")
      contains(attachment(result, "launcher.log"), "it begins")
    end,
  },
  {
    name = "whose launcher is deleted is an error", how = { launcher = "sleep 600" },
    act = running_then(function(namespace)
      objects.must("DELETE", pod_path(namespace, first_pod(namespace, "launcher")))
    end),
    outcome = "error", reason = "launcher-deleted", code = "INTERNAL",
  },
  {
    name = "whose launcher is evicted by request is an error that says so", how = { launcher = "sleep 600" },
    act = running_then(function(namespace)
      local name = first_pod(namespace, "launcher")
      objects.must("POST", pod_path(namespace, name) .. "/eviction", {
        apiVersion = "policy/v1", kind = "Eviction", metadata = { name = name, namespace = namespace },
      })
    end),
    outcome = "error", reason = "launcher-deleted", check = function(result)
      contains(result.check.message, "Eviction API: evicting")
    end,
  },
  {
    name = "whose launcher is evicted by its node is an error that says so", how = { launcher = "sleep 600" },
    act = running_then(function(namespace)
      objects.must("PATCH", pod_path(namespace, first_pod(namespace, "launcher")) .. "/status", { status = {
        phase = "Failed", reason = "Evicted", message = "The node was low on resource: memory." } },
        "application/merge-patch+json")
    end),
    outcome = "error", reason = "launcher-failed", check = function(result)
      contains(result.check.message, "Evicted; The node was low on resource: memory.")
    end,
  },
  {
    name = "whose launcher succeeds at its third start gives what it wrote before",
    how = { restart = "OnFailure", backoff = 5, launcher = [=[
      n=$(cat /dev/shm/n 2>/dev/null || echo 0); echo "start $n"; echo $((n + 1)) >/dev/shm/n
      [ $n -ge 2 ] || { sleep 2; exit 1; }
      ]=] .. training.PRINT }, outcome = "pass", check = function(result)
      local extra = result.check.extra
      assert.equal(2, extra.restarts)
      contains(extra.before, "start 1")
      contains(extra.log, "start 2")
    end,
  },
  {
    name = "whose launcher restarts until its job gives up is an error that says how often",
    how = { launcher = "echo no peer; exit 9", restart = "OnFailure", backoff = 1 },
    outcome = "error", check = function(result)
      assert.truthy(({ ["launcher-deleted"] = true, ["job-failed"] = true })[result.check.reason], result.check.reason)
      contains(result.check.message, "exited with 9")
    end,
  },
  {
    name = "whose workers cannot start is a time-out that says why",
    how = { launcher = "sleep 600", image = "aicr.local/absent:1", times = { run = "20s" } },
    outcome = "error", reason = "launcher-timeout", check = function(result)
      contains(result.check.message, "workers 0/2 running, n", "ErrImageNeverPull")
      contains(attachment(result, "workers.txt"), "waiting: ErrImageNeverPull")
    end,
  },
  {
    name = "that makes no launcher is a time-out that says what it says", how = {
      suspend = true, times = { launcher = "3s" } },
    outcome = "error", reason = "launcher-missing", code = "TIMEOUT", check = function(result)
      contains(result.check.message, "no launcher pod of the TrainJob spec-job appeared within 3s",
        "the TrainJob says: suspended")
    end,
  },
  {
    name = "loses a worker midway and gets another one: both are told",
    how = { launcher = HELD, backoff = 2 },
    act = running_then(function(namespace, run)
      local gone = first_pod(namespace, "node")
      objects.must("DELETE", pod_path(namespace, gone))
      run:saw("workers 1/", PATIENCE_S)
      cluster.eventually("another worker runs", PATIENCE_S, function()
        local live = 0
        for _, pod in ipairs(training.pods(namespace, "node")) do
          live = live + (pod.metadata.name ~= gone and pod.status.phase == "Running" and 1 or 0)
        end
        return live == 2, live
      end)
      training.go(namespace)
    end),
    outcome = "pass", check = function(result)
      assert.equal(3, result.check.extra.workers)
      contains(result.check.extra.seen, '"gone":true')
    end,
  },
  {
    name = "whose table is only in the termination message is read again, then taken as it is",
    how = { launcher = "echo rotated away; echo '# Avg bus bandwidth    : 1' >/dev/termination-log" },
    outcome = "pass", check = function(result)
      assert.equal("rotated away\n", result.check.extra.log)
      assert.is_false(result.check.extra.complete)
      assert.equal("# Avg bus bandwidth    : 1", result.check.extra.termination)
    end,
  },
  {
    name = "whose log its node has lost is taken from the termination message",
    how = { launcher = HELD .. "echo '# Avg bus bandwidth    : 2' >/dev/termination-log" },
    act = running_then(function(namespace)
      lose_log(namespace)
      training.go(namespace)
    end),
    outcome = "pass", check = function(result)
      assert.equal("", result.check.extra.log)
      assert.is_false(result.check.extra.complete)
      assert.equal("# Avg bus bandwidth    : 2", result.check.extra.termination)
      contains(json.encode(result.check.evidence), "its termination message is taken")
    end,
  },
  {
    name = "whose log its node has lost is an error where there is no termination message",
    how = { launcher = HELD }, act = running_then(function(namespace)
      lose_log(namespace)
      training.go(namespace)
    end),
    outcome = "error", reason = "log-unavailable", code = "INTERNAL", check = function(result)
      contains(result.check.message, "the log of the launcher spec-job-launcher-0-0-", "cannot be read")
    end,
  },
  {
    name = "whose runtime the webhook sees late is made again until it does",
    how = { times = { webhook = "4m" }, created = [[
      ctx.k8s:create { apiVersion = runtime.apiVersion, kind = runtime.kind, spec = runtime.spec,
        metadata = { name = "copy", namespace = runtime.metadata.namespace, labels = runtime.metadata.labels } }]]
      .. HIDE },
    act = function(namespace, run)
      run:saw("does not see the runtime yet", PATIENCE_S)
      local path = ("/apis/trainer.kubeflow.org/v1alpha1/namespaces/%s/trainingruntimes"):format(namespace)
      local runtime = objects.bare(objects.must("GET", path .. "/copy"))
      runtime.metadata.name = "spec-runtime"
      objects.must("POST", path, runtime)
    end,
    outcome = "pass",
  },
  {
    name = "whose runtime the webhook never sees is a time-out",
    how = { times = { webhook = "1s" }, created = HIDE },
    outcome = "error", reason = "runtime-not-visible", code = "TIMEOUT", check = function(result)
      contains(result.check.message, "the webhook of Trainer does not see the runtime spec-runtime after 1s")
    end,
  },
}

-- Rows about what was there before.
local function leave(namespace)
  training.leave_namespace(namespace)
end

local function is_idle(namespace)
  assert.is_nil(training.pods(namespace, "launcher")[1])
end

local function hold(namespace)
  training.leave_namespace(namespace)
  local map = objects.config_map(namespace, "held", { finalizers = json.array { "example.com/held" } })
  objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(namespace), map)
  objects.must("DELETE", "/api/v1/namespaces/" .. namespace)
end

local function free(namespace)
  objects.send("PATCH", ("/api/v1/namespaces/%s/configmaps/held"):format(namespace),
    { metadata = { finalizers = json.null } }, "application/merge-patch+json")
end

local API <const> = "trainer.kubeflow.org/v1alpha1"
local OLD_POD <const> = { spec = {
  restartPolicy = "Never", containers = json.array { { name = "node", image = "aicr.local/busybox:1" } },
} }
local OLD_RUNTIME <const> = {
  apiVersion = API, kind = "TrainingRuntime", metadata = { name = "spec-runtime" },
  spec = { mlPolicy = { numNodes = 1 }, template = { spec = { replicatedJobs = json.array {
    { name = "node", replicas = 1, template = { spec = { template = OLD_POD } } },
  } } } },
}
local OLD_JOB <const> = {
  apiVersion = API, kind = "TrainJob",
  metadata = { name = "spec-job", finalizers = json.array { "example.com/held" } },
  spec = { suspend = true, runtimeRef = { name = "spec-runtime", kind = "TrainingRuntime" } },
}

-- Something in the namespace that is not removed: clean-up is given up after a while.
local function hold_back(namespace)
  objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(namespace),
    objects.config_map(namespace, "held", { finalizers = json.array { "example.com/held" } }))
end

table.insert(ROWS, 1, {
  name = "whose namespace cannot be removed is an error that names it, with the command",
  how = { launcher = HELD, times = { cleanup = "1s" } }, act = running_then(function(namespace)
    hold_back(namespace)
    training.go(namespace)
  end),
  outcome = "error", reason = "cleanup", stays = true, check = function(result, namespace)
    contains(result.check.message, "namespace/" .. namespace, "example.com/held")
    contains(result.check.fix, "delete namespace/" .. namespace)
  end,
  after = free,
})

-- Users who may do what the check needs, and no more.
local function of_user(user)
  return function(_, how)
    how.run.kubeconfig = objects.user(user)
    objects.grant(user, training.rules(how))
  end
end

table.insert(ROWS, 2, {
  name = "is run by a user who may do no more than it needs", how = {}, before = of_user "spec-trainer",
  outcome = "pass", after = function()
    objects.revoke "spec-trainer"
  end,
})

table.insert(ROWS, 2, {
  name = "whose lock cannot be read in the end leaves its namespace, and names it",
  how = { launcher = HELD, times = { cleanup = "1s" } }, before = of_user "spec-locksmith",
  act = running_then(function(namespace)
    local rules = {}
    for _, rule in ipairs(training.rules { namespace = namespace }) do
      rules[#rules + 1] = rule.apiGroups[1] ~= "coordination.k8s.io" and rule or nil
    end
    objects.grant("spec-locksmith", rules)
    training.go(namespace)
  end),
  outcome = "error", reason = "forbidden", stays = true, check = function(result, namespace)
    contains(json.encode(result.check), ("namespace/%s is left"):format(namespace),
      "remove it with: kubectl delete namespace/" .. namespace)
  end,
  after = function()
    objects.revoke "spec-locksmith"
  end,
})

table.move({
  {
    name = "in a namespace that aicr-run has not made is refused, and that one stays",
    how = {}, before = function(namespace) training.leave_namespace(namespace, { owner = "somebody" }) end,
    outcome = "error", reason = "namespace-foreign", code = "CONFLICT", stays = true,
  },
  {
    name = "in a namespace with a pod at work is refused, and both stay", how = {},
    before = function(namespace)
      leave(namespace)
      training.leave_pod(namespace)
    end,
    outcome = "error", reason = "namespace-in-use", code = "CONFLICT", stays = true,
    check = function(result, namespace)
      contains(result.check.message, "theirs")
      assert.is_nil(objects.must("GET", pod_path(namespace, "theirs")).metadata.deletionTimestamp)
    end,
  },
  {
    name = "is refused while somebody holds the lock, which stays as it is", how = {},
    before = function(namespace)
      leave(namespace)
      training.leave_lock(namespace, 30)
    end,
    outcome = "error", reason = "locked", code = "CONFLICT", stays = true, check = function(result, namespace)
      contains(result.check.message, "somebody renewed its lock spec-lock")
      assert.equal("somebody", training.lock(namespace).spec.holderIdentity)
      is_idle(namespace)
    end,
  },
  {
    name = "takes over a lock that is stale, and the namespace with it", how = {},
    before = function(namespace)
      leave(namespace)
      training.leave_lock(namespace, 21 * 60)
    end,
    outcome = "pass", check = function(result)
      contains(json.encode(result.check.evidence), "taken over from somebody")
    end,
  },
  {
    name = "takes the place of one of that name, and its runtime of that runtime", how = {},
    before = function(namespace)
      leave(namespace)
      local path = ("/apis/%s/namespaces/%s"):format(API, namespace)
      objects.must("POST", path .. "/trainingruntimes", OLD_RUNTIME)
      cluster.eventually("a TrainJob is taken", 30, function()
        local answer = objects.send("POST", path .. "/trainjobs", OLD_JOB)
        return answer.http == 201, answer.body
      end)
    end,
    act = function(namespace, run)
      run:saw("an old TrainJob spec-job is being removed", PATIENCE_S)
      objects.must("PATCH", ("/apis/%s/namespaces/%s/trainjobs/spec-job"):format(API, namespace),
        { metadata = { finalizers = json.null } }, "application/merge-patch+json")
    end,
    outcome = "pass", check = function(result)
      assert.equal(2, result.check.extra.jobs)
    end,
  },
  {
    name = "waits for an old namespace to finish terminating", how = {}, before = hold,
    act = function(namespace, run)
      run:saw(("an old namespace %s is terminating"):format(namespace), PATIENCE_S)
      free(namespace)
    end,
    outcome = "pass",
  },
  {
    name = "does not wait for ever for an old namespace", how = { times = { namespace = "2s" } }, before = hold,
    outcome = "error", reason = "namespace-terminating", code = "TIMEOUT", stays = true,
    after = free,
  },
  {
    name = "that loses its lock to somebody is an error, and removes nothing", how = { launcher = "sleep 600" },
    act = running_then(function(namespace)
      training.take_lock(namespace)
    end),
    outcome = "error", reason = "lock-lost", code = "CONFLICT", stays = true, check = function(result, namespace)
      contains(result.check.message, "somebody holds it")
      assert.equal("somebody", training.lock(namespace).spec.holderIdentity)
      assert.is_nil(training.pods(namespace, "launcher")[1].metadata.deletionTimestamp)
    end,
  },
  {
    name = "whose lock is deleted is an error, and removes nothing", how = { launcher = "sleep 600" },
    act = running_then(function(namespace)
      objects.must("DELETE", ("/apis/coordination.k8s.io/v1/namespaces/%s/leases/spec-lock"):format(namespace))
    end),
    outcome = "error", reason = "lock-lost", code = "CONFLICT", stays = true, check = function(result)
      contains(result.check.message, "it was deleted")
    end,
  },
  {
    name = "whose namespace is deleted midway is an error", how = { launcher = "sleep 600" },
    act = running_then(function(namespace)
      training.remove(namespace)
    end),
    outcome = "error",
  },
}, 1, 10, #ROWS + 1, ROWS)

local function start(row)
  row.namespace = training.namespace()
  row.how.namespace = row.namespace
  row.how.needs = row.how.created and [["delete trainingruntimes.trainer.kubeflow.org anywhere"]]
  row.how.run = { keep = true }
  if row.before then
    row.before(row.namespace, row.how)
  end
  row.run = training.start(row.how)
end

local function judge(row)
  assert(row.acted == nil or row.acted[1], row.acted and row.acted[2])
  local result = row.run:finish(PATIENCE_S)
  row.run = nil
  assert.truthy(result.check, result.stderr)
  local said = result.stdout .. result.stderr
  assert.equal(row.outcome, result.check.outcome, said)
  assert.equal(row.reason or result.check.reason, result.check.reason, said)
  assert.equal(row.code or result.check.code, result.check.code, said)
  assert.equal(row.outcome == "pass", result.check.fix == nil, said)
  if row.check then
    row.check(result, row.namespace)
  end
  local there = training.is_there(row.namespace)
  training.remove(row.namespace)
  assert.equal(row.stays or false, there)
end

-- As many as the machine takes.
local SIDE_BY_SIDE <const> = 6

describe("before a TrainJob", function()
  it("old namespaces are removed, not those that are held, at work, another tool's or named otherwise", function()
    local prefix = training.namespace() .. "-"
    local names = {}
    for _, name in ipairs { "idle", "stale", "held", "busy", "theirs" } do
      names[name] = prefix .. name
      training.leave_namespace(names[name], name == "theirs" and { owner = "somebody" } or nil)
    end
    names.own, names.other = prefix .. "own", "x" .. prefix .. "idle"
    training.leave_namespace(names.other)
    finally(function()
      for _, name in pairs(names) do
        training.remove(name)
      end
    end)
    training.leave_lock(names.stale, 3600)
    training.leave_lock(names.held, 60)
    training.leave_pod(names.busy)
    os.execute "sleep 1.1" -- they are older than a second
    local result = training.start { namespace = names.own, suspend = true, times = { launcher = "1s", prune = "1s" },
      options = ("prune = %q,"):format(prefix) }:finish(PATIENCE_S)
    assert.equal("launcher-missing", result.check.reason, result.stdout .. result.stderr)
    local there = {}
    for name, namespace in pairs(names) do
      there[name] = training.is_active(namespace)
    end
    assert.same({ idle = false, stale = false, held = true, busy = true, theirs = true, own = false, other = true },
      there)
  end)
end)

for first = 1, #ROWS, SIDE_BY_SIDE do
  describe("a TrainJob", function()
    local rows = table.move(ROWS, first, math.min(#ROWS, first + SIDE_BY_SIDE - 1), 1, {})
    lazy_setup(function()
      for _, row in ipairs(rows) do
        start(row)
      end
      -- All of them before one is waited for: to remove a namespace takes its time.
      for _, row in ipairs(rows) do
        row.acted = row.act and { pcall(row.act, row.namespace, row.run) }
      end
    end)
    lazy_teardown(function()
      for _, row in ipairs(rows) do
        if row.run then
          row.run:kill()
        end
        if row.after then
          row.after(row.namespace)
        end
        training.remove(row.namespace)
      end
    end)
    for _, row in ipairs(rows) do
      it(row.name, function()
        judge(row)
      end)
    end
  end)
end
