-- SPDX-License-Identifier: Apache-2.0
--- Runs a Kubeflow TrainJob to its end and takes what it wrote (gke-tcpxo.md 5.6, 5.7, 5.9, 5.10; design 13): in a
--- namespace of its own, under a lock, and with nothing of it left.
local api = require "aicr.training.api"
local arguments = require "aicr.ctx.arguments"
local built = require "aicr.training.built"
local diagnose = require "aicr.training.diagnose"
local follow = require "aicr.training.follow"
local kept = require "aicr.ctx.kept"
local lock = require "aicr.training.lock"
local log = require "aicr.training.log"
local namespace = require "aicr.training.namespace"
local native = require "aicr.native.task"
local objects = require "aicr.training.objects"
local recipe = require "aicr.recipe"
local trainer = require "aicr.training.trainer"

local M = {}

local COMPONENT <const> = "kubeflow-trainer"

--- Permissions, for the `needs` of a check. Everything happens in a namespace that does not exist before.
M.needs = {
  "get,list namespaces", "create,delete namespaces anywhere",
  "list,watch,get,logs pods", "delete pods anywhere", "list events",
  "get leases.coordination.k8s.io", "create,patch leases.coordination.k8s.io anywhere",
  "get customresourcedefinitions.apiextensions.k8s.io",
  "get validatingwebhookconfigurations.admissionregistration.k8s.io", "get services", "list deployments.apps",
  "get trainingruntimes.trainer.kubeflow.org", "create,update,delete trainingruntimes.trainer.kubeflow.org anywhere",
  "get trainjobs.trainer.kubeflow.org", "create,delete trainjobs.trainer.kubeflow.org anywhere",
}

local TIMES <const> = {
  namespace = "5m", stale = "20m", renew = "1m", prune = "60m", trainer = "3m", trainer_every = "5s", runtime = "2m",
  webhook = "1m", webhook_every = "500ms", replace = "5m", launcher = "5m", run = "30m", look = "5s",
  log_every = "2s", cleanup = "5m",
}
-- Of the minute that clean-up has after the check.
local LATE_CLEANUP_MS <const> = 48000

local OPTIONS <const> = {
  namespace = true, lock = true, prune = true, declared = true, runtime = true, job = true, launcher = true,
  workers = true, times = true, watch = true, complete = true, created = true, line = true, failed = true,
  objects = true, built = true,
}

local WHAT <const> = "training.run"

local function need(v, kind, what)
  if type(v) ~= kind then
    error(("%s: %s must be a %s, got %s"):format(WHAT, what, kind, type(v)), 4)
  end
  return v
end

local function read_times(given)
  local out = {}
  given = given == nil and {} or arguments.take(given, TIMES, WHAT .. ": times")
  for name, default in pairs(TIMES) do
    local text = need(given[name] == nil and default or given[name], "string", "times." .. name)
    out[name] = { text = text, ms = kept.duration(text) }
  end
  return out
end

local function object_of(options, name, kind)
  local object = need(options[name], "table", name)
  if object.kind ~= kind then
    error(("%s: %s must be a %s, got %s"):format(WHAT, name, kind, tostring(object.kind)), 4)
  end
  need(object.apiVersion, "string", name .. ".apiVersion")
  need(need(object.metadata, "table", name .. ".metadata").name, "string", name .. ".metadata.name")
end

local function read_options(ctx, given)
  local options = arguments.take(given, OPTIONS, WHAT .. ": options")
  need(options.namespace, "string", "namespace")
  need(options.lock, "string", "lock")
  if options.built ~= nil then
    built.spread(options, WHAT)
  end
  object_of(options, "runtime", "TrainingRuntime")
  object_of(options, "job", "TrainJob")
  for _, object in ipairs(need(options.objects or {}, "table", "objects")) do
    need(object.apiVersion, "string", "objects: apiVersion")
    need(need(object.metadata, "table", "objects: metadata").name, "string", "objects: metadata.name")
  end
  local launcher = arguments.take(options.launcher, { job = true, container = true }, WHAT .. ": launcher")
  need(launcher.job, "string", "launcher.job")
  need(launcher.container, "string", "launcher.container")
  local workers = arguments.take(options.workers, { job = true, count = true }, WHAT .. ": workers")
  need(workers.job, "string", "workers.job")
  need(workers.count, "number", "workers.count")
  for _, name in ipairs { "watch", "complete", "created", "line", "failed" } do
    if options[name] ~= nil then
      need(options[name], "function", name)
    end
  end
  if options.prune ~= nil and #need(options.prune, "string", "prune") < 3 then
    error(WHAT .. ": prune: a beginning of at least three characters", 3)
  end
  if options.declared == nil then
    options.declared = recipe.declares(ctx.recipe, COMPONENT)
  end
  return options
end

-- A copy with our labels, in the namespace of the run.
local function placed(run, object)
  local copy = api.marked(object, run.ctx.run_id, run.holder)
  copy.metadata.namespace = run.namespace
  return copy
end

local function claim(run)
  local ctx, times, options = run.ctx, run.times, run.options
  if options.prune then
    namespace.prune(ctx, {
      prefix = options.prune, lock = options.lock, age_ms = times.prune.ms, stale_ms = times.stale.ms,
      but = run.namespace,
    })
  end
  namespace.claim(run.ns, times.namespace.ms)
  namespace.require_idle(run.ns)
  run.lock:claim()
end

local function run_job(run)
  local follower, runtime, job = run.follower, placed(run, run.options.runtime), placed(run, run.options.job)
  follower:run_job(function(trying)
    objects.make_runtime(runtime)
    local stored = objects.read_runtime(runtime, run.times.runtime)
    if run.options.created then
      run.options.created(stored)
    end
    for _, object in ipairs(run.options.objects or {}) do
      objects.make_other(placed(run, object))
    end
    objects.remove_job(run.ctx, job.metadata.name, run.namespace, run.times.replace)
    objects.make_job(run.ctx, job, run.times, trying)
  end)
end

local function work(run)
  local ctx = run.ctx
  ctx:step("namespace", function()
    claim(run)
  end)
  ctx:step("trainer", function()
    trainer.wait(ctx, run.options.declared, run.times)
  end)
  run.lock:renew()
  ctx:step("job", function()
    local ok, err = pcall(run_job, run)
    if not ok then
      if not native.stopping() and err ~= native.STOP then
        diagnose.record(run, run.follower)
      end
      error(err, 0)
    end
  end)
  run.lock:renew()
  return ctx:step("log", function()
    local taken = log.take(run, run.follower.launcher)
    run.follower:keep_before()
    taken.restarts, taken.before = run.follower.restarts, run.follower.before
    taken.workers = run.follower.is_one_job and log.workers(run, run.follower.succeeded) or nil
    return taken
  end)
end

-- Removes what was made while the check has time; what fails is tried again, and told, after the check.
local function clean(run)
  if native.stopping() then
    return
  end
  run.ctx:progress("removes the namespace %s", run.namespace)
  local ok, err = pcall(namespace.remove, run.ns, run.times.cleanup.ms)
  if not ok and native.stopping() then
    error(err, 0)
  end
end

--- Runs a TrainJob in a namespace of its own: see lua/aicr/meta/training.lua.
function M.run(ctx, options)
  options = read_options(ctx, options)
  local run = { ctx = ctx, options = options, namespace = options.namespace, times = read_times(options.times) }
  run.holder = ("%s/%x-%s"):format(ctx.run_id, ctx:now(), tostring(run):match "%x+$")
  run.lock = lock.new(ctx, options.lock, run.namespace, run.holder, run.times.stale.ms)
  run.ns = namespace.new(ctx, run.namespace, run.holder, run.lock, {
    { resource = api.JOBS, name = options.job.metadata.name },
    { resource = api.RUNTIMES, name = options.runtime.metadata.name },
  })
  run.follower = follow.new(run)
  ctx:defer(function()
    if run.ns.sent and not run.ns.removed then
      -- What a second signal leaves is known by this.
      ctx:progress("removes the namespace %s, which this does too: kubectl delete namespace/%s", run.namespace,
        run.namespace)
    end
    namespace.remove(run.ns, LATE_CLEANUP_MS)
  end)
  local ok, result = pcall(work, run)
  clean(run)
  if not ok then
    error(result, 0)
  end
  result.seconds = (run.follower.done_ms - run.follower.launcher_ms) / 1000
  return result
end

return M
