-- SPDX-License-Identifier: Apache-2.0
--- The benchmark from source to figure, on a TrainJob that is a function: gke-tcpxo.md 5.6, 5.7, 5.11, vectors B-01 to
--- B-03, B-07, R-06, R-14, R-18, R-19.
require "aicr_native"
local attempt = require "aicr.base.attempt"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local json = require "aicr.json"
local nccl_log = require "spec.support.nccl_log"
local params = require "aicr.nccl_runtime.params"
local recording = require "spec.support.recording"
local tree = require "aicr.nccl_runtime.tree"

local SIZE <const> = {
  nodes = { "lyra-gpu-a", "lyra-gpu-b" }, workers = 2, gpus = 8, total = 16,
  labels = { { ["cloud.google.com/gke-accelerator"] = "h" }, { ["cloud.google.com/gke-accelerator"] = "h" } },
}
local REQUEST <const> = { min_size = "1K", max_size = "16G", min_bytes = 1024, max_bytes = 17179869184 }

local function shipped()
  for _, item in ipairs(recording.read().lists[recording.RUNTIMES].items) do
    if item.metadata.name == gke.RUNTIME then
      return item
    end
  end
end

-- A ctx that keeps what it is told; a fail raises {fail = …}.
local function fake()
  local defaults = {}
  for name, decl in pairs(params.declare()) do
    defaults[name] = decl.default
  end
  local ctx = {
    params = defaults, run_id = "r1", namespace = "ns", platform = "gcp", evidences = {}, attached = {}, k8s = {},
    measures = {}, serieses = {}, probed = {},
  }
  function ctx.k8s:list()
    return recording.read().lists[recording.NETWORKS].items
  end
  function ctx:try(f, ...) return attempt(f, ...) end
  function ctx:fail(t) error({ fail = t }, 0) end
  function ctx:evidence(fmt, ...) self.evidences[#self.evidences + 1] = fmt:format(...) end
  function ctx:attach(name, _, bytes) self.attached[name] = bytes end
  function ctx:series(name, _, _, points) self.serieses[name] = points end
  function ctx:measure(name, value, unit, limit)
    limit.ok = value >= limit.value - limit.value * limit.tolerance
    self.measures[#self.measures + 1] = { name, value, unit, limit }
    return limit.ok
  end
  return ctx
end

-- The modules with a training.run of ours and without probes.
local function load(run)
  local kept = {}
  for name in pairs(package.loaded) do
    if name:find "^aicr%.nccl_runtime%." or name == "aicr.training" then
      kept[name], package.loaded[name] = package.loaded[name], nil
    end
  end
  package.loaded["aicr.training"] = { needs = {}, run = run }
  package.loaded["aicr.nccl_runtime.gke_preflight"] = {
    needs = {}, run = function(ctx, nodes) ctx.probed = nodes end,
  }
  local benchmark, platform = require "aicr.nccl_runtime.benchmark", require "aicr.nccl_runtime.gke"
  for name in pairs(package.loaded) do
    if name:find "^aicr%.nccl_runtime%." or name == "aicr.training" then
      package.loaded[name] = nil
    end
  end
  for name, module in pairs(kept) do
    package.loaded[name] = module
  end
  return benchmark, platform
end

-- Worker pods as the runtime's template makes them.
local function pods_of(options, change)
  local pods = {}
  for index = 0, 1 do
    local pod = tree.copy(tree.pod_template(options.runtime, "node"))
    pod.metadata.name = "tj-node-0-" .. index
    pod.metadata.labels = { ["batch.kubernetes.io/job-completion-index"] = tostring(index) }
    pod.status = { initContainerStatuses = json.array { { name = "tcpxo-daemon", started = true } } }
    if change then
      change(pod, index)
    end
    pods[#pods + 1] = pod
  end
  return pods
end

-- Runs it: how {delivered, stored (changes what the server keeps), log, termination, change (of pods), err (of
-- training), failed (its log)}.
local function run(how)
  local ctx, given = fake(), nil
  local benchmark, platform = load(function(_, options)
    given = options
    if options.created then
      local stored = tree.copy(options.runtime)
      if how.stored then
        how.stored(tree.pod_template(stored, "node"))
      end
      options.created(stored)
    end
    for _, pod in ipairs(pods_of(options, how.change)) do
      options.watch(pod, "ADDED")
      options.watch({ metadata = { name = pod.metadata.name } }, "DELETED")
    end
    if how.err then
      if how.failed then
        options.failed(how.failed)
      end
      error(how.err, 0)
    end
    return {
      log = how.log or nccl_log.log(), termination = how.termination, before = how.before,
      restarts = how.restarts or how.before and #how.before,
    }
  end)
  local source = { class = "x", platform = platform, shipped = how.delivered and shipped() or nil }
  local request = setmetatable(how.request or {}, { __index = REQUEST })
  local ok, result = pcall(function()
    return benchmark.figure(ctx, request, source, SIZE, benchmark.run(ctx, request, source, SIZE))
  end)
  return ok, result, ctx, given
end

describe("the benchmark", function()
  it("R-06 of what the cluster can do is wired by name", function()
    local ok, figure, ctx, given = run {}
    assert.is_true(ok, tostring(figure))
    assert.equal(338.33, figure.busbw)
    assert.same(SIZE.nodes, ctx.probed)
    local template = tree.pod_template(given.runtime, "node")
    local wanted = { "lyra-gpu-nic-k1", "lyra-gpu-nic-k2", "lyra-gpu-nic-k3", "lyra-gpu-nic-k4", "lyra-gpu-nic-k5",
      "lyra-gpu-nic-k6", "lyra-gpu-nic-k7", "lyra-gpu-nic-k8" }
    assert.equal(gke.interfaces_annotation(wanted), template.metadata.annotations[gke.INTERFACES_ANNOTATION])
    assert.same({ ["cloud.google.com/gke-accelerator"] = "h" }, template.spec.nodeSelector)
    assert.equal("Exists", template.spec.tolerations[1].operator)
    assert.is_nil(given.created)
    assert.is_nil(ctx.attached["provenance.json"])
  end)

  it("is a TrainJob of that runtime, in a namespace of the run", function()
    local _, _, _, given = run { delivered = true }
    assert.same({ "aicr-nccl-perf-default-r1", "aicr-nccl-run-lock", "aicr-nccl-perf-" },
      { given.namespace, given.lock, given.prune })
    assert.same({ name = "nccl-all-reduce-runtime", apiGroup = "trainer.kubeflow.org", kind = "TrainingRuntime" },
      given.job.spec.runtimeRef)
    assert.equal(2, given.job.spec.trainer.numNodes)
    assert.equal("30m", given.times.run)
    assert.is_true(given.complete "# Avg bus bandwidth    : 1")
    assert.is_false(given.complete "")
    assert.equal("16G: 338.33 GB/s", given.line(nccl_log.row(17179869184, 338.33, 16)))
    assert.is_nil(given.line "# comment")
  end)

  it("R-14 of what is delivered says what it changed", function()
    local ok, figure, ctx = run { delivered = true }
    assert.is_true(ok, tostring(figure))
    local found = json.decode(ctx.attached["provenance.json"])
    assert.truthy(found.shippedDigest:find "^%x+$")
    assert.equal("spec.containers[node].args", found.overriddenPaths[1])
    local said = table.concat(ctx.evidences, "\n")
    assert.truthy(said:find(found.derivedDigest, 1, true))
    assert.truthy(said:find(("inherited: %d paths: "):format(#found.inheritedPaths), 1, true), said)
    assert.truthy(said:find(("and %d more, in provenance.json"):format(#found.inheritedPaths - 5), 1, true), said)
  end)

  it("takes the user's image, nodes and tolerations", function()
    local _, _, _, given = run { delivered = true, request = {
      image = "registry.example/x:1", selector = { pool = "x" }, tolerations = json.array { { operator = "Exists" } },
    } }
    local template = tree.pod_template(given.runtime, "node")
    assert.same({ pool = "x" }, template.spec.nodeSelector)
    assert.same({ operator = "Exists" }, template.spec.tolerations[1])
    assert.equal("registry.example/x:1", template.spec.containers[1].image)
    assert.equal("registry.example/tcpxo-daemon:v1.0.21", template.spec.initContainers[1].image)
  end)

  local function no_daemon(pod) pod.spec.initContainers = json.array() end

  it("R-18 fails over the wrong wiring, however fast it is", function()
    local ok, err = run { delivered = true, change = no_daemon }
    assert.is_false(ok)
    assert.same({ "INTERNAL", "worker-wiring", "wiring" }, { err.fail.code, err.fail.reason, err.fail.details.subject })
  end)

  local changes = {
    ["an environment variable"] = function(template)
      table.insert(template.spec.containers[1].env, { name = "NCCL_NET", value = "Socket" })
    end,
    ["one value"] = function(template) template.spec.hostNetwork = true end,
    ["other networks"] = function(template) template.metadata.annotations[gke.INTERFACES_ANNOTATION] = "[]" end,
    ["a sidecar"] = function(template) table.insert(template.spec.containers, { name = "mesh" }) end,
    ["a node selector"] = function(template) template.spec.nodeSelector = { pool = "y" } end,
  }
  for what, change in pairs(changes) do
    it("is not run where the server keeps a worker with other content: " .. what, function()
      local ok, err = run { delivered = true, stored = change, request = { image = "registry.example/x:1" } }
      assert.is_false(ok)
      assert.same({ "INTERNAL", "object-changed", false }, { err.code, err.reason, err.verdict })
    end)
  end

  it("fails over other networks than those that were delivered", function()
    local ok, err = run { delivered = true, change = function(pod)
      local key = gke.INTERFACES_ANNOTATION
      pod.metadata.annotations[key] = pod.metadata.annotations[key]:gsub('("network"%s*:%s*")([^"]*%d)', "%1x%2")
    end }
    assert.is_false(ok)
    assert.equal("worker-wiring", err.fail.reason)
    assert.truthy(err.fail.message:find("the deployed runtime on", 1, true), err.fail.message)
  end)

  it("R-19 fails where a daemon did not start", function()
    local ok, err = run { change = function(pod, index)
      pod.status.initContainerStatuses[1].started = index == 0
    end }
    assert.is_false(ok)
    assert.same({ "INTERNAL", "daemon-not-started" }, { err.fail.code, err.fail.reason })
    assert.truthy(err.fail.message:find("index 1", 1, true))
  end)

  local FAILED <const> = errors.new { code = "INTERNAL", reason = "launcher-failed", message = "the launcher failed" }

  it("fails of its wiring when the launcher failed and the wiring was wrong", function()
    local ok, err = run { change = no_daemon, err = FAILED, failed = "x" }
    assert.is_false(ok)
    assert.equal("worker-wiring", err.fail.reason)
    assert.truthy(err.fail.why:find("the launcher failed", 1, true))
  end)

  it("has no verdict when the launcher failed, and a hint", function()
    local ok, err = run { err = FAILED, failed = "ssh: Could not resolve hostname x" }
    assert.is_false(ok)
    assert.same({ "INTERNAL", "launcher-failed", false, "launcher-ssh" },
      { err.code, err.reason, err.verdict, err.details.hint })
  end)

  it("leaves another error of the job as it is", function()
    local locked = errors.new { code = "CONFLICT", reason = "locked", message = "another run" }
    local ok, err = run { err = locked }
    assert.is_false(ok)
    assert.equal(locked, err)
  end)

  it("B-07 shows the end of a log without a row", function()
    local ok, err, ctx = run { log = ("x\n"):rep(500) .. "the last line\n" }
    assert.is_false(ok)
    assert.same({ "INTERNAL", "no-rows", false }, { err.code, err.reason, err.verdict })
    assert.equal("log: the last line", ctx.evidences[#ctx.evidences])
    assert.equal(100, select(2, ctx.attached["launcher.log"]:gsub("\n", "")))
  end)

  local starts = {
    ["wrong values"] = { nccl_log.log { wrong = { [1048576] = 1 } }, "wrong-values" },
    ["its own floor"] = { nccl_log.log():gsub("(# Avg bus bandwidth    : %S+) ", "%1 FAILED"), "below-own-floor" },
    ["less bandwidth"] = { nccl_log.log { busbw = 10.0, footer = false }, "incomplete-sweep" },
  }
  for what, case in pairs(starts) do
    it("does not pass by a start after one that failed with " .. what, function()
      local ok, err = run { before = { "ssh: Could not resolve hostname x", case[1] } }
      assert.is_false(ok)
      assert.equal(case[2], (err.fail or err).reason)
    end)
  end

  it("passes by a start after others, and tells of them", function()
    local ok, figure, ctx = run { before = { "ssh: Could not resolve hostname x" }, restarts = 2 }
    assert.is_true(ok, tostring(figure))
    assert.truthy(table.concat(ctx.evidences, "\n"):find("started again 2 times; what it wrote in 1 of them is gone", 1,
      true))
  end)

  it("fails of wrong values", function()
    local ok, err = run { log = nccl_log.log { wrong = { [1048576] = 1 } } }
    assert.is_false(ok)
    assert.same({ "wrong-values", "correctness" }, { err.fail.reason, err.fail.details.subject })
    assert.truthy(err.fail.message:find("first at 1M", 1, true), err.fail.message)
  end)
end)

describe("a floor as it is written", function()
  local request = require "aicr.nccl_runtime.request"

  for written, number in pairs { [">= 300"] = 300, ["300 GB/s"] = 300, ["<= 300 GB/s bus"] = 300, ["0.01"] = 0.01,
    ["300 of bandwidth"] = 300 } do
    it(("%q is %g"):format(written, number), function()
      assert.equal(number, request.floor(written))
    end)
  end

  for _, written in ipairs { "3 00", ">= 3 00 GB/s", "1 TB/s", "300 MB/s", "300 Gb/s", "300 GiB/s", "300 gbps", ">= 0",
    "-0", "1e-9", "0.009", "300GB/s", "-5", "" } do
    it(("%q is none"):format(written), function()
      local ok, err = pcall(request.floor, written)
      assert.is_false(ok)
      assert.same({ "INVALID_REQUEST", "constraint", true }, { err.code, err.reason, err.verdict })
    end)
  end
end)

describe("the floor", function()
  local verdict = require "aicr.nccl_verdict"
  local constraint = require "aicr.constraint"
  local rows = {
    { "B-01", ">= 300", 270.0, true }, { "B-02", ">= 300", 269.99, false }, { "B-03", "300 GB/s", 338.33, true },
    { "B-03", "300", 338.33, true }, { "B-03", "<= 300", 338.33, true },
  }
  for _, row in ipairs(rows) do
    it(("%s %s is %s by %.2f GB/s"):format(row[1], row[2], row[4] and "reached" or "missed", row[3]), function()
      local log, ctx = nccl_log.log { busbw = row[3] }, fake()
      local figure = verdict.read(log, nil, { max_bytes = 17179869184, min_bytes = 1024, ranks = 16 })
      local phrase = verdict.measure(ctx, figure, log, {
        floor = constraint.threshold(row[2]), text = row[2], tolerance = 0.1,
      })
      local limit = ctx.measures[1][4]
      assert.same({ row[3], row[4], 300, "INTERNAL", "below-floor" }, { ctx.measures[1][2], limit.ok, limit.value,
        limit.code, limit.reason })
      assert.equal(("%.2f GB/s, %s required"):format(row[3], row[2]), phrase)
      assert.equal(25, #ctx.serieses.busbw)
      assert.same({ 17179869184, row[3] }, ctx.serieses.busbw[25])
      assert.equal(25, #ctx.serieses.algbw)
    end)
  end

  for said, text in pairs {
    ["ranks and nodes were not seen in the log"] = "",
    ["the log has 2 whole runs; the slowest is judged"] = nccl_log.log { busbw = 310.0 } .. nccl_log.log(),
  } do
    it("tells that " .. said, function()
      local ctx = fake()
      local figure = verdict.read(text, nccl_log.termination(text == "" and nccl_log.log() or text),
        { max_bytes = 17179869184, min_bytes = 1024, ranks = 16 })
      verdict.measure(ctx, figure, text, { floor = 300, text = "300", tolerance = 0.1 })
      local found = 0
      for _, line in ipairs(ctx.evidences) do
        found = found + (line == said and 1 or 0)
      end
      assert.equal(1, found, table.concat(ctx.evidences, "\n"))
    end)
  end

  it("names the image where it is another", function()
    local log, ctx = nccl_log.log(), fake()
    local figure = verdict.read(log, nil, {})
    assert.equal("338.33 GB/s (runtime image: x:1), 300 required", verdict.measure(ctx, figure, log, {
      floor = 300, text = "300", tolerance = 0.1, image = "x:1",
    }))
  end)
end)
