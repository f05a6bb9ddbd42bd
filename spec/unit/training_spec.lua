-- SPDX-License-Identifier: Apache-2.0
-- What aicr.training says of pods, locks and refusals. The runs themselves are tested on the test cluster.
require "aicr_native"
local api = require "aicr.training.api"
local built = require "aicr.training.built"
local errors = require "aicr.native.error"
local follow = require "aicr.training.follow"
local json = require "aicr.json"
local lock = require "aicr.training.lock"
local objects = require "aicr.training.objects"
local platform = require "aicr.platform"
local words = require "aicr.training.words"

local function pod(name, status, more)
  local made = {
    metadata = { name = name, uid = "uid-" .. name }, spec = { nodeName = "node-" .. name }, status = status,
  }
  for path, value in pairs(more or {}) do
    local where, key = path:match "^(%w+)%.(%w+)$"
    made[where][key] = value ~= json.null and value or nil
  end
  return made
end

local function waiting(reason, message)
  return { phase = "Pending", containerStatuses = {
    { name = "node", state = { waiting = { reason = reason, message = message } } } } }
end

local RUNNING <const> = { phase = "Running", containerStatuses = { { name = "node", state = { running = {} } } } }

describe("what keeps a pod from running", function()
  local rows = {
    { "nothing, when it runs", pod("a", RUNNING), nil },
    { "that it is on its way out", pod("a", RUNNING, { ["metadata.deletionTimestamp"] = "x" }), "terminating" },
    { "its end, and the reason", pod("a", { phase = "Failed", reason = "Evicted" }), "failed: Evicted" },
    { "the scheduler's words", pod("a", { phase = "Pending", conditions = {
      { type = "PodScheduled", status = "False", message = "0/2 nodes are\navailable" } } },
      { ["spec.nodeName"] = json.null }),
      "unschedulable: 0/2 nodes are available" },
    { "that nobody has looked at it", pod("a", { phase = "Pending" }, { ["spec.nodeName"] = json.null }),
      "not scheduled yet" },
    { "that it begins", pod("a", waiting "ContainerCreating"), "creating its containers" },
    { "why its image does not come", pod("a", waiting("ErrImagePull", "no such host")), "ErrImagePull: no such host" },
    { "an init container", pod("a", { phase = "Pending", initContainerStatuses = {
      { name = "i", state = { waiting = { reason = "CrashLoopBackOff" } } } } }), "CrashLoopBackOff" },
    { "nothing that can be read", pod("a", "x"), "creating its containers" },
  }
  for _, row in ipairs(rows) do
    it("is " .. row[1], function()
      assert.equal(row[3], words.trouble(row[2]))
    end)
  end
end)

describe("the progress of a run", function()
  local starting = pod("b", waiting "ContainerCreating")

  it("counts workers and tells what holds up the first that does not run", function()
    assert.equal("workers 1/2 running, node-b: pulling image, no launcher yet",
      words.progress(nil, { pod("a", RUNNING), starting }, 2, { ["uid-b"] = "pulling image" }))
    assert.equal("workers 1/2 running, node-b: creating its containers, launcher running",
      words.progress(pod("l", RUNNING), { pod("a", RUNNING), starting }, 2, {}))
  end)

  it("does not tell old events of a pod that is past them", function()
    local failed = pod("b", waiting("ErrImagePull", "denied"))
    assert.equal("workers 0/2 running, node-b: ErrImagePull: denied, launcher on node-l: creating its containers",
      words.progress(pod("l", waiting "ContainerCreating"), { failed }, 2, { ["uid-b"] = "pulling image" }))
  end)

  it("tells the newest of the events that mean something", function()
    local function event(reason, at, name)
      return { reason = reason, lastTimestamp = at, metadata = { name = name } }
    end
    assert.equal("pulling image", words.waits_for { event("Pulling", "2026-01-01T00:00:02Z", "p.2"),
      event("FailedMount", "2026-01-01T00:00:01Z", "p.9"), event("Scheduled", "2026-01-01T00:00:09Z", "p.3") })
    assert.equal("image is pulled", words.waits_for { event("Pulled", "2026-01-01T00:00:02Z", "p.2"),
      event("Pulling", "2026-01-01T00:00:02Z", "p.1") })
    assert.is_nil(words.waits_for {})
    local refused = event("TrainJobResourcesCreationFailed", "2026-01-01T00:00:03Z", "p.4")
    refused.type, refused.message = "Warning", "too\nlong"
    assert.equal("too long", words.warning { event("Created", "2026-01-01T00:00:09Z", "p.5"), refused })
    assert.is_nil(words.warning { event("Created", "2026-01-01T00:00:09Z", "p.5") })
  end)
end)

describe("the end of a launcher", function()
  it("is told with exit codes, restarts and what disrupted it", function()
    local ended = pod("l", { phase = "Failed", reason = "Evicted", message = "low on memory", conditions = {
      { type = "DisruptionTarget", status = "True", message = "preempted" } },
      containerStatuses = { { name = "node", restartCount = 3, state = { running = {} },
        lastState = { terminated = { exitCode = 137, reason = "OOMKilled" } } },
        { name = "other", state = { terminated = { exitCode = 0 } } } } })
    assert.equal("Evicted; low on memory; preempted; container node exited with 137 (OOMKilled), restarted 3 times",
      words.ending(ended, "node"))
    assert.equal("its pod says nothing of why", words.ending(pod("l", { phase = "Failed" }), "node"))
  end)

  it("gives the termination message of its container alone, trimmed", function()
    local ended = pod("l", { containerStatuses = {
      { name = "other", state = { terminated = { exitCode = 0, message = "other" } } },
      { name = "node", state = { terminated = { exitCode = 0, message = "\n rows \n" } } } } })
    assert.equal("rows", words.termination(ended, "node"))
    assert.is_nil(words.termination(ended, "third"))
    local again = { name = "node", lastState = { terminated = { exitCode = 1, message = "rows of a start before" } } }
    again.state = { terminated = { exitCode = 0 } }
    assert.is_nil(words.termination(pod("l", { containerStatuses = { again } }), "node"))
    again.state = { waiting = { reason = "CrashLoopBackOff" } }
    assert.equal("rows of a start before", words.termination(pod("l", { containerStatuses = { again } }), "node"))
    assert.is_nil(words.termination(pod("l", { containerStatuses = { { name = "node", state = { terminated = {
      exitCode = 0, message = " \n" } } } } }), "node"))
  end)

  it("survives what no server sends", function()
    for _, status in ipairs { { containerStatuses = "x" }, { containerStatuses = { 1, "x", { name = 7, state = 3 } } },
      { conditions = { 1 }, containerStatuses = { { name = "node", state = { terminated = { exitCode = "x" } } } } },
    } do
      assert.is_string(words.ending(pod("l", status), "node"))
      assert.is_string(words.progress(pod("l", status), { pod("w", status) }, 1, {}))
      assert.is_false(words.has_started(pod("l", status), "other"))
    end
  end)
end)

describe("a refused TrainJob", function()
  local function refused(http, message)
    return errors.new { code = "INVALID_REQUEST", reason = "invalid", message = message, details = { http = http } }
  end

  it("is made again where the webhook does not see its runtime, and only then", function()
    assert.is_true(objects.is_not_seen(refused(500,
      "x must be created before the TrainJob is created"), "r"))
    for _, http in ipairs { 400, 403, 422 } do
      assert.is_true(objects.is_not_seen(refused(http, 'trainingruntimes "bench" not found'), "bench"))
    end
    assert.is_false(objects.is_not_seen(refused(500, 'trainingruntimes "bench" not found'), "bench"))
    assert.is_false(objects.is_not_seen(refused(403, 'trainingruntimes "other" not found'), "bench"))
    assert.is_false(objects.is_not_seen(refused(422, "numNodes: Invalid value of bench"), "bench"))
    assert.is_false(objects.is_not_seen("bench not found", "bench"))
  end)
end)

describe("a lock", function()
  local function lease(spec, created)
    return { metadata = { creationTimestamp = created }, spec = spec }
  end

  it("is as old as its renewal, else its claim, else itself", function()
    local at = api.milliseconds "2026-01-01T00:10:00Z"
    assert.equal(60000, lock.age(lease { renewTime = "2026-01-01T00:09:00.000000Z",
      acquireTime = "2026-01-01T00:00:00Z" }, at))
    assert.equal(120000, lock.age(lease { acquireTime = "2026-01-01T00:08:00.000000Z" }, at))
    assert.equal(300000, lock.age(lease({ renewTime = "yesterday" }, "2026-01-01T00:05:00Z"), at))
    assert.equal(math.maxinteger, lock.age(lease(nil), at))
  end)

  it("has times as Kubernetes reads them", function()
    assert.equal("2026-01-01T00:09:00.000000Z", api.micro_time(api.milliseconds "2026-01-01T00:09:00Z"))
    assert.equal("2026-01-01T00:09:00.057000Z", api.micro_time(api.milliseconds "2026-01-01T00:09:00Z" + 57))
  end)
end)

describe("a copy with our labels", function()
  it("leaves the caller's object as it is", function()
    local own = { metadata = { name = "x", labels = { a = "b" } }, spec = { c = 1 } }
    local copy = api.marked(own, "run-1", "run-1/holder")
    assert.same({ a = "b", ["app.kubernetes.io/managed-by"] = "aicr-run", ["aicr-run/run"] = "run-1" },
      copy.metadata.labels)
    assert.same({ ["aicr-run/holder"] = "run-1/holder" }, copy.metadata.annotations)
    assert.same({ metadata = { name = "x", labels = { a = "b" } }, spec = { c = 1 } }, own)
  end)
end)

it("foreign text is one line and cut between characters", function()
  assert.equal("a b", api.clip "a\n\tb")
  local long = api.clip(("ä"):rep(1000))
  assert.truthy(utf8.len(long) and #long <= 604, long)
  assert.is_string(api.clip(("\xff\x80"):rep(1000)))
end)

describe("a run of what build_run gave", function()
  local function spread(framework, more)
    local options = { built = platform.build_run {
      Platform = "aws", GPUArchitecture = "gb300", FrameworkType = framework, Command = { "x" }, Binary = "x",
      Runtime = { EntryName = "r", Image = "i", NodesPerJob = 2, GpusPerNode = 4 },
    } }
    for key, value in pairs(more or {}) do
      options[key] = value
    end
    built.spread(options, "training.run")
    return options
  end

  it("takes its objects, and the job that decides", function()
    local options = spread "mpi"
    assert.equal("r-runtime TrainJob ComputeDomain ResourceClaimTemplate", table.concat({ options.runtime.metadata.name,
      options.job.kind, options.objects[1].kind, options.objects[2].kind }, " "))
    assert.equal(2, #options.objects)
    assert.same({ job = "launcher", container = "node" }, options.launcher)
    assert.same({ job = "node", count = 2 }, options.workers)
    assert.is_nil(options.built)
    assert.same({ job = "node", container = "node" }, spread "torch".launcher)
  end)

  it("is refused with a part of its own, or when it is something else", function()
    assert.has_error(function() spread("exec", { job = {} }) end,
      "training.run: built gives job: leave one of them out")
    assert.has_error(function() spread("exec", { built = {} }) end,
      "training.run: built must be what aicr.platform.build_run gave")
  end)
end)

describe("the pods of a run of one job", function()
  local told, follower

  before_each(function()
    told = {}
    follower = follow.new {
      ctx = { progress = function(_, fmt, ...) told[#told + 1] = fmt:format(...) end },
      options = { job = { metadata = { name = "r" } }, launcher = { job = "node", container = "node" },
        workers = { job = "node", count = 3 } },
    }
    follower.is_made = true
  end)

  local function see(kind, name, index, phase)
    local one = pod(name, phase and { phase = phase } or nil)
    one.metadata.labels = { ["jobset.sigs.k8s.io/replicatedjob-name"] = "node",
      ["batch.kubernetes.io/job-completion-index"] = index }
    follower:see(kind, one)
    return follower.is_done
  end

  it("have all to succeed, each number once, pod 0 as its launcher", function()
    assert.is_nil(see("ADDED", "b", "1", "Running"))
    assert.is_nil(follower.launcher)
    assert.is_nil(see("ADDED", "a", "0", "Running"))
    assert.equal("workers 1/2 running, launcher running", told[#told])
    assert.is_nil(see("MODIFIED", "a", "0", "Succeeded"))
    assert.is_nil(see("ADDED", "c", "2", "Failed"))
    assert.is_nil(see("MODIFIED", "b", "1", "Succeeded"))
    assert.is_nil(see("DELETED", "c", "2", nil))
    assert.is_nil(see("MODIFIED", "b", "1", "Succeeded"))
    assert.is_true(see("ADDED", "c2", "2", "Succeeded"))
    assert.equal("a", follower.launcher.metadata.name)
    assert.equal("c2", follower.succeeded[2].metadata.name)
  end)

  it("end the run where pod 0 fails", function()
    see("ADDED", "a", "0", "Running")
    local ok, err = pcall(see, "MODIFIED", "a", "0", "Failed")
    assert.is_false(ok)
    assert.equal("launcher-failed", err.reason)
  end)
end)
