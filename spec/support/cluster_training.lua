-- SPDX-License-Identifier: Apache-2.0
--- A check that runs a TrainJob on the test cluster, for specs. Its launcher and workers are shell texts.
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"
local site = require "spec.support.site"

local M = {}

--- What a benchmark prints, as nccl-tests do.
M.TABLE = [[
# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    35.47    0.03    0.05      0    34.83    0.03    0.06      0
        2048           512     float     sum      -1    35.82    0.06    0.11      0    35.46    0.06    0.11      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.0825
#
]]

--- Shell words that print it, and that wait until M.go is called.
M.PRINT = "cat <<'END'\n" .. M.TABLE .. "END\n"
M.HOLD = "until [ -e /tmp/go ]; do sleep 0.1; done\n"

-- Waits short enough for a test.
local TIMES <const> = {
  renew = "1s", look = "500ms", log_every = "100ms", trainer_every = "200ms", webhook_every = "100ms", trainer = "2s",
  cleanup = "40s",
}

-- The Lua text of a check; what is in braces is filled in.
local BODY <const> = [[
    local json = require "aicr.json"
    local training = require "aicr.training"
    local function job(name, text, image)
      return { name = name, replicas = 1, template = { spec = { backoffLimit = {backoff}, template = { spec = {
        restartPolicy = "{restart}", terminationGracePeriodSeconds = {grace},
        containers = { { name = "node", image = image, imagePullPolicy = "Never",
          command = { "sh", "-c", text }, resources = name == "node" and { limits = { ["nvidia.com/gpu"] = {gpus} } }
          or nil } } } } } } }
    end
    local seen, pods = {}, 0
    local result = training.run(ctx, {
      namespace = {namespace}, lock = "spec-lock", times = json.decode({times}), declared = {declared},
      runtime = { apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime",
        metadata = { name = "spec-runtime", labels = { ["trainer.kubeflow.org/framework"] = "mpi" } },
        spec = {
          mlPolicy = { numNodes = 2, mpi = { numProcPerNode = 8, mpiImplementation = "OpenMPI",
            sshAuthMountPath = "/tmp/mpi-keys", runLauncherAsNode = false } },
          template = { spec = { network = { enableDNSHostnames = true, publishNotReadyAddresses = true },
            successPolicy = { operator = "All", targetReplicatedJobs = { "launcher" } },
            replicatedJobs = {
              job("launcher", {launcher}, "aicr.local/busybox:1"), job("node", {worker}, {image}) } } },
        } },
      job = { apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainJob", metadata = { name = "spec-job" },
        spec = { suspend = {suspend}, trainer = { numNodes = 2 },
          runtimeRef = { name = "spec-runtime", apiGroup = "trainer.kubeflow.org", kind = "TrainingRuntime" } } },
      launcher = { job = "launcher", container = "node" }, workers = { job = "node", count = 2 },
      watch = function(pod, kind)
        local name = pod.metadata.name
        pods = pods + (seen[name] and 0 or 1)
        seen[name] = seen[name] or {}
        seen[name][kind == "DELETED" and "gone" or pod.status.phase] = true
      end,
      complete = function(text)
        ctx:extra { read = json.encode(text) }
        return text:find("Avg bus bandwidth", 1, true) ~= nil
      end,
      created = function(runtime)
        ctx:extra { stored = runtime.metadata.uid, jobs = #runtime.spec.template.spec.replicatedJobs }
        {created}
      end,
      {options}
    })
    ctx:extra { log = result.log, complete = result.complete, termination = result.termination or "",
      launcher = result.launcher.metadata.name, workers = pods, seen = json.encode(seen),
      restarts = result.restarts, before = json.encode(result.before) }
    return "it ran"
]]

local function quoted(text)
  return ("%q"):format(text)
end

--- The text of the check.
---@param how table namespace; launcher, worker (shell texts), image (of workers), gpus (a worker's), times (over
--- TIMES), restart, grace, backoff, suspend; created (Lua statements), options (Lua members), needs, declared
---@return string
function M.check(how)
  local times = {}
  for _, from in ipairs { TIMES, how.times or {} } do
    for name, value in pairs(from) do
      times[name] = value
    end
  end
  local values = {
    namespace = quoted(how.namespace), launcher = quoted(how.launcher or M.PRINT),
    worker = quoted(how.worker or "sleep 600"), times = quoted(json.encode(times)),
    image = quoted(how.image or "aicr.local/busybox:1"), options = how.options or "", created = how.created or "",
    restart = how.restart or "Never", grace = tostring(how.grace or 0), backoff = tostring(how.backoff or 0),
    gpus = tostring(how.gpus or 0), suspend = tostring(how.suspend or false),
    declared = tostring(how.declared or false),
  }
  return runs.check([[require("aicr.training").needs, ]] .. (how.needs or ""), how.timeout or "5m",
    (BODY:gsub("{(%l+)}", values)))
end

local count = 0

--- A name for a namespace that is not there.
---@return string
function M.namespace()
  count = count + 1
  return ("aicr-spec-training-%x-%d"):format(os.time(), count)
end

local function path(name)
  return "/api/v1/namespaces/" .. name
end

--- Is there such a namespace?
---@param name string
---@return boolean
function M.is_there(name)
  return objects.send("GET", path(name)).http ~= 404
end

--- Makes a namespace as an earlier run would have left it.
---@param name string
---@param labels? table in the place of its labels
function M.leave_namespace(name, labels)
  objects.must("POST", "/api/v1/namespaces", { metadata = {
    name = name, labels = labels or { ["app.kubernetes.io/managed-by"] = "aicr-run", ["aicr-run/run"] = "earlier" },
  } })
end

--- Makes a pod "theirs" that does not end.
function M.leave_pod(namespace)
  -- There may be no service account yet.
  objects.must("POST", path(namespace) .. "/serviceaccounts", { metadata = { name = "spec" } })
  objects.must("POST", path(namespace) .. "/pods", cluster.pod("theirs", "sleep 600", { serviceAccountName = "spec" }))
end

--- Is there such a namespace, and not on its way out?
---@param name string
---@return boolean
function M.is_active(name)
  local answer = objects.send("GET", path(name))
  return answer.http == 200 and json.decode(answer.body).status.phase == "Active"
end

--- Makes a Lease that somebody holds.
---@param namespace string
---@param age integer seconds since it was renewed
function M.leave_lock(namespace, age)
  local renewed = os.date("!%Y-%m-%dT%H:%M:%S.000000Z", os.time() - age)
  objects.must("POST", ("/apis/coordination.k8s.io/v1/namespaces/%s/leases"):format(namespace), {
    metadata = { name = "spec-lock" }, spec = { holderIdentity = "somebody", renewTime = renewed },
  })
end

--- The Lease of a namespace.
---@return table
function M.lock(namespace)
  return objects.must("GET", ("/apis/coordination.k8s.io/v1/namespaces/%s/leases/spec-lock"):format(namespace))
end

--- Gives the lock to somebody else.
function M.take_lock(namespace)
  objects.must("PATCH", ("/apis/coordination.k8s.io/v1/namespaces/%s/leases/spec-lock"):format(namespace),
    { spec = { holderIdentity = "somebody" } }, "application/merge-patch+json")
end

--- Removes a namespace.
---@param name string
function M.remove(name)
  objects.send("DELETE", path(name))
end

--- The pods of a replicated job, by name.
---@param namespace string
---@param job "launcher"|"node"
---@return table[]
function M.pods(namespace, job)
  return objects.must("GET", ("/api/v1/namespaces/%s/pods?labelSelector=jobset.sigs.k8s.io/replicatedjob-name%%3D%s")
    :format(namespace, job)).items
end

--- Lets a launcher that holds go on.
function M.go(namespace)
  cluster.kubectl("-n", namespace, "exec", M.pods(namespace, "launcher")[1].metadata.name, "--", "touch", "/tmp/go")
end

--- The rules of the role that `aicr-run rbac` makes for the check.
---@param how table of M.check
---@return table[]
function M.rules(how)
  return site.with({ ["probe.lua"] = M.check(how) }, function(folder)
    local list = json.decode(binary.run({ "rbac", "-f", "json", folder .. "/probe.lua" }).stdout)
    assert(#list.items == 1 and list.items[1].kind == "ClusterRole", "one role for all")
    return list.items[1].rules
  end)
end

local KINDS <const> = "trainjobs,trainingruntimes,jobsets,jobs,pods,leases,configmaps,secrets,services,serviceaccounts"

--- Every object in the namespaces of that name, and those namespaces themselves.
---@param is_one fun(namespace: string): boolean
---@return string[] "kind namespace/name"
function M.objects(is_one)
  local found = {}
  local list = cluster.kubectl("get", "namespaces," .. KINDS, "-A", "--no-headers", "-o",
    "custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name")
  for kind, space, name in list:gmatch "(%S+) +(%S+) +(%S+)\n" do
    if is_one(kind == "Namespace" and name or space) then
      found[#found + 1] = ("%s %s/%s"):format(kind, space, name)
    end
  end
  return found
end

--- Starts the check.
---@param how table of M.check; run: of spec.support.cluster_run
---@return table run
function M.start(how)
  return runs.start(M.check(how), how.run or {})
end

return M
