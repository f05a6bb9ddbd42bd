-- SPDX-License-Identifier: Apache-2.0
--- The whole GKE TCPXO suite on the test cluster: its two nodes as those of the recorded one, with eight GPUs each, and
--- runs of the suite that the spec follows.
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local gke = require "spec.support.cluster_gke"
local image = require "spec.support.cluster_nccl_image"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local recording = require "spec.support.recording"
local runs = require "spec.support.cluster_run"

local M = {}

M.CHECK = "nccl-all-reduce-bw"
M.SUITE = "checks/gke_tcpxo.lua"
M.RECIPE = "recipes/lyra.yaml"
local NODES <const> = { "n1", "n2" }
local MERGE <const> = "application/merge-patch+json"
local PROFILE <const> = "host/bin/nvidia/lib64/nccl-env-profile.sh"
local GPU <const> = "nvidia.com/gpu"

local LABELS <const> = {
  "cloud.google.com/gke-accelerator", GPU .. ".product", "node.kubernetes.io/instance-type",
}

--- Waits short enough for a test, by the check's parameters.
M.PARAMS = {
  probe_image = "aicr.local/busybox:1", trainer_interval = "200ms", webhook_interval = "100ms", log_interval = "100ms",
  look_interval = "1s", cleanup_timeout = "60s",
}

--- Changes a node's object.
---@param name "n1"|"n2"
---@param patch table
---@param status? boolean is it one of its status?
function M.patch_node(name, patch, status)
  objects.must("PATCH", "/api/v1/nodes/" .. name .. (status and "/status" or ""), patch, MERGE)
end

--- So many GPUs.
function M.set_gpus(name, count)
  local some = { [GPU] = tostring(count) }
  M.patch_node(name, { status = { capacity = some, allocatable = some } }, true)
end

--- Takes a node's TCPXO installation away, or puts it there.
---@param name "n1"|"n2"
---@param is_there boolean
function M.install(name, is_there)
  local path = ("%s/%s/%s"):format(cluster.DATA, name, PROFILE)
  if is_there then
    files.write(path, "export NCCL_FASTRAK_IFNAME=eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8 CUDA_VISIBLE_DEVICES=all\n")
  else
    os.remove(path)
  end
end

-- Labels and annotations of the recorded nodes, or null for each.
local function dress(is_on)
  local recorded = recording.read().lists[recording.NODES].items
  for i, name in ipairs(NODES) do
    local meta = recorded[i].metadata
    local labels, annotations = {}, {}
    for _, label in ipairs(LABELS) do
      labels[label] = is_on and meta.labels[label] or json.null
    end
    for key, value in pairs(meta.annotations) do
      annotations[key] = is_on and value or json.null
    end
    M.patch_node(name, { metadata = { labels = labels, annotations = annotations } })
    M.install(name, is_on)
  end
end

--- The recorded cluster's objects beside the nodes.
---@return table parts of spec.support.recording
function M.parts()
  local parts = recording.read()
  parts.lists[recording.NODES] = recording.list(recording.NODES, {})
  return parts
end

--- Makes the cluster's objects those; nothing: the healthy ones.
---@param change? fun(parts: table)
function M.bring(change)
  local parts = M.parts()
  if change then
    change(parts)
  end
  assert(not gke.bring(parts))
end

--- Before all.
function M.begin()
  assert(files.exists(cluster.DATA .. "/n1/runc-of-node"), "the test cluster was made by an older spec/cluster/up: take"
    .. " it down with spec/cluster/down")
  image.make()
  image.serve()
  gke.begin()
  M.bring()
  dress(true)
end

--- After all.
function M.finish()
  dress(false)
  image.serve_no_more()
  gke.finish()
end

--- A recipe that ships no runtime.
---@param has_trainer? boolean does it declare Trainer?
---@return string
function M.plain_recipe(has_trainer)
  local text = files.read(M.RECIPE)
  text = text:gsub("\nconfiguration:.-\nconstraints:", "\nconstraints:", 1)
  return (text:gsub("\n  %- name: kubeflow%-trainer.-\ndeploymentOrder",
    (has_trainer and "\n  - {name: kubeflow-trainer, type: Helm}" or "") .. "\ndeploymentOrder", 1))
end

local function job(name, text, more)
  local container = {
    name = "node", image = image.NGC, imagePullPolicy = "Never", command = json.array { "sh", "-c", text },
  }
  local spec = { restartPolicy = "Never", terminationGracePeriodSeconds = 0, containers = json.array { container } }
  local entry = { name = name, replicas = 1, template = { spec = { backoffLimit = 0, template = { spec = spec } } } }
  for key, value in pairs(more or {}) do
    entry[key] = value
  end
  return entry
end

--- Shell words that wait for M.go.
M.HOLD = "until [ -e /tmp/go ]; do sleep 0.1; done\n"

--- A runtime to supply: its workers need no GPU, so that many runs fit beside each other.
---@param launcher string shell text
---@param more? table of the launcher's job
---@return string
function M.supplied(launcher, more)
  return json.encode {
    apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime",
    metadata = {
      name = "spec-runtime", namespace = "${NAMESPACE}", labels = { ["trainer.kubeflow.org/framework"] = "mpi" },
    },
    spec = {
      mlPolicy = { numNodes = 2, mpi = { numProcPerNode = 8, mpiImplementation = "OpenMPI",
        sshAuthMountPath = "/tmp/mpi-keys", runLauncherAsNode = false } },
      template = { spec = {
        network = { enableDNSHostnames = true, publishNotReadyAddresses = true },
        successPolicy = { operator = "All", targetReplicatedJobs = json.array { "launcher" } },
        replicatedJobs = json.array { job("launcher", launcher, more), job("node", "sleep 600") },
      } },
    },
  }
end

--- Starts the suite.
---@param how table params (of the check, over PARAMS), words (more of the command line), recipe (its path), only (the
--- check alone), and of cluster_run: kubeconfig, before, keep, env
---@return table run
function M.start(how)
  local args = { "--recipe", how.recipe or M.RECIPE, "--log-level", "trace", how.only and M.CHECK or M.SUITE }
  for _, from in ipairs { M.PARAMS, how.params or {} } do
    for name, value in pairs(from) do
      args[#args + 1] = "--set"
      args[#args + 1] = ("%s.%s=%s"):format(M.CHECK, name, value)
    end
  end
  table.move(how.words or {}, 1, #(how.words or {}), #args + 1, args)
  return runs.start(nil, {
    args = args, check = M.CHECK, kubeconfig = how.kubeconfig, keep = how.keep, before = how.before,
    env = how.env or { AICR_RUN_HEARTBEAT = "100ms" },
  })
end

--- How the namespaces of the runs begin, as a pattern.
M.SPACES = "aicr%-nccl%-perf%-default%-[%w-]+"

--- The pods of a job of a run.
---@param namespace string
---@param name "launcher"|"node"
---@return table[]
function M.pods(namespace, name)
  return objects.must("GET", ("/api/v1/namespaces/%s/pods?labelSelector=jobset.sigs.k8s.io/replicatedjob-name%%3D%s")
    :format(namespace, name)).items
end

--- Lets the launcher of a run print its log, or end.
function M.go(namespace)
  local result = cluster.ctl("kubectl", "-n", namespace, "exec", M.pods(namespace, "launcher")[1].metadata.name, "-c",
    "node", "--", "touch", "/tmp/go")
  -- 137: the container ended before touch had.
  assert(result.code == 0 or result.code == 137, result.stderr)
end

return M
