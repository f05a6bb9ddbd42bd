-- SPDX-License-Identifier: Apache-2.0
--- A check that runs a TrainJob on the test cluster, for specs. Its launcher and workers are shell texts.
local cluster = require "spec.support.cluster"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local M = {}

--- What a benchmark prints, as nccl-tests do.
M.TABLE = [[
# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    35.47    0.03    0.05      0    34.83    0.03    0.06      0
        2048           512     float     sum      -1    35.82    0.06    0.11      0    35.46    0.06    0.11      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.0825
#
]]

--- Shell words that print it.
M.PRINT = "cat <<'END'\n" .. M.TABLE .. "END\n"

--- Waits short enough for a test.
M.TIMES = [[{ renew = "1s", look = "500ms", log_every = "100ms", trainer_every = "200ms", webhook_every = "100ms",
  trainer = "2s", cleanup = "40s" }]]

-- The Lua text of a check; what is in braces is filled in.
local BODY <const> = [[
    local json = require "aicr.json"
    local training = require "aicr.training"
    local function job(name, text)
      return { name = name, replicas = 1, template = { spec = { backoffLimit = {backoff}, template = { spec = {
        restartPolicy = "{restart}", terminationGracePeriodSeconds = {grace},
        containers = { { name = "node", image = {image}, imagePullPolicy = "Never",
          command = { "sh", "-c", text }, resources = name == "node" and { limits = { ["nvidia.com/gpu"] = "8" } }
          or nil } } } } } } }
    end
    local seen, order = {}, 0
    local result = training.run(ctx, {
      namespace = {namespace}, lock = "spec-lock", times = {times},
      runtime = { apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime",
        metadata = { name = "spec-runtime", labels = { ["trainer.kubeflow.org/framework"] = "mpi" } },
        spec = {
          mlPolicy = { numNodes = 2, mpi = { numProcPerNode = 8, mpiImplementation = "OpenMPI",
            sshAuthMountPath = "/tmp/mpi-keys", runLauncherAsNode = false } },
          template = { spec = { network = { enableDNSHostnames = true, publishNotReadyAddresses = true },
            successPolicy = { operator = "All", targetReplicatedJobs = { "launcher" } },
            replicatedJobs = { job("launcher", {launcher}), job("node", {worker}) } } },
        } },
      job = { apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainJob", metadata = { name = "spec-job" },
        spec = { runtimeRef = { name = "spec-runtime", apiGroup = "trainer.kubeflow.org", kind = "TrainingRuntime" },
          trainer = { numNodes = 2 } } },
      launcher = { job = "launcher", container = "node" }, workers = { job = "node", count = 2 },
      watch = function(pod, kind)
        local name = pod.metadata.name
        local phase = kind == "DELETED" and "gone" or pod.status.phase
        if not seen[name] then order = order + 1 end
        seen[name] = seen[name] or {}
        seen[name][phase] = true
      end,
      complete = function(text) return text:find("Avg bus bandwidth", 1, true) ~= nil end,
      created = function(runtime) ctx:extra { stored = runtime.metadata.uid ~= nil } end,
      {options}
    })
    ctx:extra { log = result.log, complete = result.complete, termination = result.termination or "",
      launcher = result.launcher.metadata.name, workers = order, seen = json.encode(seen) }
    return "it ran"
]]

--- The text of the check.
---@param how table namespace, launcher and worker (shell texts), times, image, options (Lua members), restart, grace,
--- backoff
---@return string
function M.check(how)
  local values = {
    namespace = ("%q"):format(how.namespace), launcher = ("%q"):format(how.launcher or M.PRINT),
    worker = ("%q"):format(how.worker or "sleep 600"), times = how.times or M.TIMES,
    image = ("%q"):format(how.image or "aicr.local/busybox:1"), options = how.options or "",
    restart = how.restart or "Never", grace = tostring(how.grace or 0), backoff = tostring(how.backoff or 0),
  }
  return runs.check([[require("aicr.training").needs, ]] .. (how.needs or ""), "5m",
    (BODY:gsub("{(%l+)}", values)))
end

local count = 0

--- A name for a namespace that is not there.
---@return string
function M.namespace()
  count = count + 1
  return ("aicr-spec-training-%x-%d"):format(os.time(), count)
end

--- Is there such a namespace?
---@param name string
---@return boolean
function M.is_there(name)
  return objects.send("GET", "/api/v1/namespaces/" .. name).http ~= 404
end

--- Removes a namespace and waits until it is gone.
---@param name string
function M.remove(name)
  objects.send("DELETE", "/api/v1/namespaces/" .. name)
  cluster.eventually("namespace " .. name .. " is gone", 60, function()
    return not M.is_there(name)
  end)
end

--- Runs the check to its end.
---@param how table of M.check
---@param seconds? integer
---@return table of spec.support.cluster_run
function M.run(how, seconds)
  local result = runs.run(M.check(how), how.run or {}, seconds or 90)
  assert(result.check, result.stderr)
  return result
end

return M
