-- SPDX-License-Identifier: Apache-2.0
--- Training runtimes: objects of kind TrainingRuntime for a run (platform-runtimes.md 3). Everything
--- here is pure; configurations have the fields of the reference's RuntimeConfig.
local json = require "aicr.json"
local scripts = require "aicr.platform.scripts"
local value = require "aicr.platform.value"

local M = {}

M.API_VERSION = "trainer.kubeflow.org/v1alpha1"
M.KIND = "TrainingRuntime"
--- The job of the workers, and the container of both jobs.
M.NODE = "node"
M.LAUNCHER = "launcher"
M.GPU = "nvidia.com/gpu"
--- The scheduler that admits the pods of a run only together.
M.KAI = "kai-scheduler"
M.QUEUE_LABEL = "kai.scheduler/queue"
M.QUEUE = "default-queue"

local ANCESTOR <const> = "trainer.kubeflow.org/trainjob-ancestor-step"
local FRAMEWORK <const> = "trainer.kubeflow.org/framework"

local FIELDS <const> = {
  "EntryName", "Image", "NodesPerJob", "GpusPerNode", "Env", "Volumes", "VolumeMounts", "InitContainers",
  "Resources", "ImagePullSecrets", "GangSchedulerName", "GangSchedulerQueue", "GangSchedulerQueueLabelKey",
}
local KNOWN <const> = {}
for _, field in ipairs(FIELDS) do
  KNOWN[field] = true
end

local function integer(config, field, what)
  local n = math.type(config[field]) == "integer" and config[field]
  if not n then
    value.invalid("config", "%s: %s: expected a whole number, got %s", what, field, type(config[field]))
  end
  return n
end

local function text(config, field)
  local v = value.opt(config[field])
  return type(v) == "string" and v or ""
end

--- Fields that are misspelt would be left out in silence.
local function check(config, what)
  for field in pairs(config) do
    if not KNOWN[field] then
      value.invalid("config", "%s: unknown field %s%s", what, value.quoted(field), value.suggestion(field, FIELDS))
    end
  end
  if type(config.EntryName) ~= "string" then
    value.invalid("config", "%s: EntryName: expected text, got %s", what, type(config.EntryName))
  end
end

--- The name of the runtime of a run.
---@param entry string the run's EntryName
---@return string
function M.name(entry)
  return entry .. "-runtime"
end

--- Limits and requests of the container that has the GPUs (3.2): what is given, with the GPUs added
--- to both where neither names them.
local function resources(config)
  local given, gpus = value.copy(value.opt(config.Resources)), integer(config, "GpusPerNode", "runtime")
  if given == nil then
    given = {}
  elseif gpus <= 0 then
    return given
  end
  local limits, requests = value.opt(given.limits) or {}, value.opt(given.requests) or {}
  if limits[M.GPU] ~= nil or requests[M.GPU] ~= nil then
    return given
  end
  limits[M.GPU], requests[M.GPU] = tostring(gpus), tostring(gpus)
  given.limits, given.requests = limits, requests
  return given
end

--- The queue label of a run with a gang scheduler, nil without one (3.5).
local function gang(config)
  local name = text(config, "GangSchedulerName")
  if name == "" then
    return nil
  end
  local key, queue = text(config, "GangSchedulerQueueLabelKey"), text(config, "GangSchedulerQueue")
  key = key ~= "" and key or M.QUEUE_LABEL
  if key == "app" or key == ANCESTOR then
    value.invalid("queue-label-key",
      "GangSchedulerQueueLabelKey: %s is a label of the run itself; give the scheduler's own, such as %s",
      value.quoted(key), value.quoted(M.QUEUE_LABEL))
  end
  return { scheduler = name, key = key, queue = queue ~= "" and queue or M.QUEUE }
end

local function add_label(template, key, text_value)
  template.metadata = template.metadata or {}
  template.metadata.labels = template.metadata.labels or {}
  template.metadata.labels[key] = text_value
end

local function pod_spec(job)
  return job.template.spec.template.spec
end

--- Hands a job's pods to the gang scheduler.
local function schedule(job, by)
  if by then
    add_label(job.template, by.key, by.queue)
    add_label(job.template.spec.template, by.key, by.queue)
    pod_spec(job).schedulerName = by.scheduler
  end
  return job
end

local function job_of(name, labels, pod)
  return {
    name = name,
    template = { metadata = labels and { labels = labels }, spec = { template = { spec = pod } } },
  }
end

local function document(config, framework, policy, spec)
  return {
    apiVersion = M.API_VERSION,
    kind = M.KIND,
    metadata = {
      name = M.name(config.EntryName),
      labels = { [FRAMEWORK] = framework, app = config.EntryName },
    },
    spec = { mlPolicy = policy, template = { spec = spec } },
  }
end

local function with(list, more)
  for _, item in ipairs(value.list(more)) do
    list[#list + 1] = value.copy(item)
  end
  return list
end

local function env(config)
  local list = value.opt(config.Env)
  return list == nil and json.null or value.copy(value.list(list))
end

local function shared_memory()
  return { name = "dshm", emptyDir = { medium = "Memory" } }
end

local function shared_memory_mount()
  return { name = "dshm", mountPath = "/dev/shm" }
end

local function build_single(config, what)
  check(config, what)
  local first = value.list(config.InitContainers)
  local pod = {
    terminationGracePeriodSeconds = 30,
    securityContext = { seccompProfile = { type = "RuntimeDefault" } },
    initContainers = #first > 0 and value.copy(first) or nil,
    containers = value.array {
      name = M.NODE,
      image = text(config, "Image"),
      env = env(config),
      resources = resources(config),
      volumeMounts = with(value.array(shared_memory_mount()), config.VolumeMounts),
    },
    volumes = with(value.array(shared_memory()), config.Volumes),
  }
  local job = job_of(M.NODE, { [ANCESTOR] = "trainer", app = config.EntryName }, pod)
  local policy = {
    numNodes = integer(config, "NodesPerJob", what),
    torch = { numProcPerNode = integer(config, "GpusPerNode", what) },
  }
  return document(config, "torch", policy, { replicatedJobs = value.array(schedule(job, gang(config))) })
end

--- The runtime of a run that torchrun starts (3.3).
---@param config aicr.platform.RuntimeConfig
---@return table
function M.build_torch_runtime(config)
  return build_single(config, "build_torch_runtime")
end

--- The runtime of a run of any command: the same object, the command comes from the TrainJob.
---@param config aicr.platform.RuntimeConfig
---@return table
function M.build_exec_runtime(config)
  return build_single(config, "build_exec_runtime")
end

local function ssh_mount()
  return { name = "mpi-ssh-auth", mountPath = scripts.SSH_RAW, readOnly = true }
end

local function keys_mount()
  return { name = "ssh-keys", mountPath = scripts.SSH_HOME }
end

local function hostfile_mount()
  return { name = "mpi-hostfile", mountPath = scripts.HOSTFILE_DIR, readOnly = true }
end

local function worker_job(config)
  return job_of(M.NODE, nil, {
    restartPolicy = "OnFailure",
    containers = value.array {
      name = M.NODE,
      image = text(config, "Image"),
      env = env(config),
      command = value.array("sh", "-c"),
      args = value.array(scripts.WORKER),
      readinessProbe = { initialDelaySeconds = 5, tcpSocket = { port = 22 } },
      securityContext = { capabilities = { add = value.array "IPC_LOCK" } },
      resources = resources(config),
      volumeMounts = value.array(ssh_mount(), shared_memory_mount()),
    },
    volumes = value.array(shared_memory()),
  })
end

local function launcher_init(config, waits)
  local mounts = value.array(ssh_mount(), keys_mount())
  if waits then
    mounts[3] = hostfile_mount()
  end
  return {
    name = "fix-ssh-permissions",
    image = text(config, "Image"),
    command = value.array("sh", "-c"),
    args = value.array(scripts.LAUNCHER_INIT .. (waits and scripts.WAIT_FOR_WORKERS or "")),
    volumeMounts = mounts,
  }
end

local function launcher_job(config)
  local waits = text(config, "GangSchedulerName") == M.KAI
  local job = job_of(M.LAUNCHER, { [ANCESTOR] = "trainer" }, {
    restartPolicy = "OnFailure",
    initContainers = value.array(launcher_init(config, waits)),
    containers = value.array {
      name = M.NODE,
      image = text(config, "Image"),
      env = env(config),
      resources = { limits = { cpu = "2", memory = "1Gi" } },
      volumeMounts = value.array(ssh_mount(), keys_mount()),
    },
    volumes = value.array { name = "ssh-keys", emptyDir = {} },
  })
  job.dependsOn = not waits and value.array { name = M.NODE, status = "Ready" } or nil
  return job
end

--- The runtime of a run that mpirun starts from a launcher pod (3.4). Volumes, mounts and init
--- containers are not used; the number of workers comes from the TrainJob.
---@param config aicr.platform.RuntimeConfig
---@return table
function M.build_mpi_runtime(config)
  check(config, "build_mpi_runtime")
  local by = gang(config)
  local policy = {
    numNodes = 1,
    mpi = {
      mpiImplementation = "OpenMPI",
      numProcPerNode = integer(config, "GpusPerNode", "build_mpi_runtime"),
      sshAuthMountPath = scripts.SSH_RAW,
    },
  }
  return document(config, "mpi", policy, {
    network = { publishNotReadyAddresses = true },
    successPolicy = { operator = "All", targetReplicatedJobs = value.array(M.LAUNCHER) },
    replicatedJobs = value.array(schedule(worker_job(config), by), schedule(launcher_job(config), by)),
  })
end

local BUILDERS <const> = {
  torch = M.build_torch_runtime, exec = M.build_exec_runtime, mpi = M.build_mpi_runtime,
}

--- The runtime of a framework; raises INVALID_REQUEST/`config` for one that there is not.
---@param framework "torch"|"exec"|"mpi"
---@param config aicr.platform.RuntimeConfig
---@return table
function M.build(framework, config)
  local build = BUILDERS[framework]
  if not build then
    value.invalid("config", "framework %s is not known; expected one of: exec, mpi, torch", value.quoted(framework))
  end
  return build(config)
end

-- Opens the launcher's gate of a run that the scheduler admits as a whole, and has it wait inside.
local function open_gate(spec, launcher)
  local gate = value.list(launcher.dependsOn)
  if #gate ~= 1 or not value.equal(gate[1], { name = M.NODE, status = "Ready" }) then
    return
  end
  launcher.dependsOn, spec.startupPolicy = nil, nil
  local pod = pod_spec(launcher)
  pod.initContainers = value.list(pod.initContainers)
  if not value.named(pod.initContainers, "wait-for-workers") then
    pod.initContainers[#pod.initContainers + 1] = {
      name = "wait-for-workers",
      image = pod.containers and pod.containers[1] and pod.containers[1].image,
      command = value.array("sh", "-c"),
      args = value.array("set -e\n" .. scripts.WAIT_FOR_WORKERS),
      volumeMounts = value.array(ssh_mount(), keys_mount(), hostfile_mount()),
    }
  end
end

-- An override may have brought a job without pods, which nothing can schedule.
local function need_pods(job, object)
  local v = job
  for _, key in ipairs { "template", "spec", "template", "spec" } do
    v = value.is_map(v) and v[key] or nil
  end
  if not value.is_map(v) then
    value.invalid("override", "job %s of %s %s has no pod template for the gang scheduler",
      value.quoted(value.is_map(job) and job.name or nil), M.KIND, value.quoted(object.metadata.name))
  end
end

--- Hands the runtimes among merged dependencies to a gang scheduler (3.5): overrides and objects of
--- the user's may have brought jobs that know nothing of it.
---@param dependencies table[]
---@param config aicr.platform.RuntimeConfig the three GangScheduler fields count
---@return table[] a new list
function M.gang_schedule(dependencies, config)
  local out, by = value.copy(dependencies), gang(config)
  for _, document_of in ipairs(by and out or {}) do
    local spec = document_of.kind == M.KIND and document_of.spec and document_of.spec.template
      and document_of.spec.template.spec
    for _, job in ipairs(spec and value.list(spec.replicatedJobs) or {}) do
      need_pods(job, document_of)
      schedule(job, by)
      if job.name == M.LAUNCHER and by.scheduler == M.KAI and document_of.spec.mlPolicy
        and document_of.spec.mlPolicy.mpi then
        open_gate(spec, job)
      end
    end
  end
  return out
end

return M
