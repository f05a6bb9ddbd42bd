-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on GKE with GPUDirect-TCPXO as a TrainingRuntime (gke-tcpxo.md 5.4, 6): mpirun in a launcher, sshd in
--- each worker, beside it the daemon that moves GPU memory to the NICs. Pure.
local gke = require "aicr.gke"
local json = require "aicr.json"

local M = {}

--- Name of the runtime.
M.NAME = "nccl-all-reduce-runtime"
--- The image with nccl-tests for MPI.
M.IMAGE = "nvcr.io/nvidia/pytorch:25.06-py3"
--- Its daemon; it belongs with release v1.0.15 of the NCCL plug-in's installer.
M.DAEMON_IMAGE = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21"
--- Where the installer puts NCCL and its plug-in on a node.
M.HOST_LIBRARIES = "/home/kubernetes/bin/nvidia"
--- Below it: what proves that the installer has finished.
M.PROFILE = "lib64/nccl-env-profile.sh"

local LIBRARIES <const> = "/usr/local/nvidia"
local KEYS <const> = "/tmp/mpi-keys"
local LD_PATH <const> = "/usr/lib/x86_64-linux-gnu:/usr/local/nvidia/lib64"

-- An image that has sshd need not reach a package mirror.
local SSHD_BEGIN <const> = [[
set -x &&
if [ ! -x /usr/sbin/sshd ]; then
  apt-get update && apt-get install -y --no-install-recommends openssh-server
fi &&
mkdir -p /var/run/sshd /root/.ssh &&
chmod 0755 /var/run/sshd &&
chmod 0700 /root/.ssh &&
cp /tmp/mpi-keys/* /root/.ssh/ &&
chmod 0600 /root/.ssh/id_rsa &&
chmod 0644 /root/.ssh/id_rsa.pub /root/.ssh/authorized_keys &&
]]
local SSHD_END <const> = [[
echo "PermitUserEnvironment yes" >> /etc/ssh/sshd_config &&
exec /usr/sbin/sshd -De
]]

--- The program of the fixture's worker: the host's own settings for NCCL.
M.FIXTURE_BOOTSTRAP = SSHD_BEGIN .. [[
NCCL_LIB_DIR=/usr/local/nvidia/lib64 . /usr/local/nvidia/lib64/nccl-env-profile.sh &&
env | grep -E '^(NCCL|CUDA)_' > /root/.ssh/environment &&
]] .. SSHD_END

--- The program of a delivered worker: the settings that the shipped runtime declares, and no others.
M.DELIVERED_BOOTSTRAP = SSHD_BEGIN .. [[
env | grep -E '^(NCCL_|CUDA_|LD_LIBRARY_PATH=)' > /root/.ssh/environment &&
]] .. SSHD_END

-- The table also goes to the termination message, which no rotation of the log takes away. Of a run that failed the
-- kubelet takes the end of the log instead, so nothing is written then.
local LAUNCH <const> = [==[
set -o pipefail
PATH="$PATH:/usr/local/mpi/bin"
log=/tmp/nccl-tests.log
mpirun "$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
if [ "$code" -eq 0 ]; then
  row='^[[:space:]]*[0-9]+[[:space:]]+[0-9]+[[:space:]]+[[:alnum:]_]+[[:space:]]'
  grep -E "$row|Avg bus bandwidth" "$log" | tail -c 3900 > /dev/termination-log || true
fi
exit "$code"
]==]

local COPY_KEYS <const> = [[
set -ex
mkdir -p /root/.ssh
cp /tmp/mpi-keys/id_rsa /tmp/mpi-keys/authorized_keys /root/.ssh/
chmod 700 /root/.ssh
chmod 600 /root/.ssh/id_rsa /root/.ssh/authorized_keys
]]

local array = json.array

local function mount(name, path, read_only)
  return { name = name, mountPath = path, readOnly = read_only }
end

-- The words of mpirun (gke-tcpxo.md 5.4, launcher args, in order).
local function launcher_args(v)
  return array {
    "-np", tostring(v.gpus * v.workers), "--allow-run-as-root",
    "--mca", "plm_rsh_args", "-o StrictHostKeyChecking=no -o ConnectTimeout=10 -o ConnectionAttempts=300",
    "--mca", "oob_tcp_if_include", gke.DEFAULT_INTERFACE,
    "--mca", "btl_tcp_if_include", gke.DEFAULT_INTERFACE,
    "-x", "UCX_NET_DEVICES=" .. gke.DEFAULT_INTERFACE,
    "-x", "LD_LIBRARY_PATH=" .. LD_PATH,
    "-x", "NCCL_DEBUG=WARN",
    "-x", "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY=/dev/aperture_devices",
    "-x", "NCCL_DYNAMIC_CHUNK_SIZE=524288",
    "-x", "CUDA_DEVICE_MAX_CONNECTIONS=1",
    "/usr/local/bin/all_reduce_perf_mpi", "-b", v.min_size, "-e", v.max_size, "-f", "2", "-g", "1",
  }
end

local function launcher(v)
  return {
    spec = {
      tolerations = array { { operator = "Exists" } },
      initContainers = array { {
        name = "fix-ssh-perms", image = M.IMAGE, command = array { "/bin/sh", "-c" }, args = array { COPY_KEYS },
        volumeMounts = array { mount("mpi-ssh-auth", KEYS, true), mount("ssh-config", "/root/.ssh") },
      } },
      containers = array { {
        name = gke.NODE_JOB, image = M.IMAGE, command = array { "/bin/bash", "-c", LAUNCH, "bash" },
        args = launcher_args(v), terminationMessagePolicy = "FallbackToLogsOnError",
        env = array { { name = "LD_LIBRARY_PATH", value = LD_PATH .. ":/usr/local/cuda/lib64" } },
        resources = { limits = { cpu = "2", memory = "128Mi" } },
        volumeMounts = array { mount("ssh-config", "/root/.ssh") },
      } },
      volumes = array { { name = "ssh-config", emptyDir = {} } },
    },
  }
end

local function daemon(v)
  return {
    name = gke.SIDECAR, image = M.DAEMON_IMAGE, imagePullPolicy = "Always", restartPolicy = "Always",
    command = array { "/bin/sh", "-c" },
    args = array { ("set -ex\nchmod 755 /fts/entrypoint_rxdm_container.sh\n"
      .. "exec /fts/entrypoint_rxdm_container.sh --num_hops=2 --num_nics %d\n"):format(v.gpus) },
    securityContext = { capabilities = { add = array { "NET_ADMIN", "NET_BIND_SERVICE" } } },
    env = array { { name = "LD_LIBRARY_PATH", value = LIBRARIES .. "/lib64" } },
    volumeMounts = array {
      mount("nvtcpxo-libraries", LIBRARIES, true), mount("nvtcpxo-sys", "/hostsysfs"),
      mount("nvtcpxo-proc-sys", "/hostprocsysfs"),
    },
  }
end

local function host_volume(name, path)
  return { name = name, hostPath = { path = path } }
end

local function worker(v)
  return {
    metadata = { annotations = {
      [gke.DEVICES_ANNOTATION] = gke.devices_annotation(v.gpus),
      [gke.DEFAULT_INTERFACE_ANNOTATION] = gke.DEFAULT_INTERFACE,
      [gke.INTERFACES_ANNOTATION] = gke.interfaces_annotation(v.networks),
    } },
    spec = {
      initContainers = array { daemon(v) },
      containers = array { {
        name = gke.NODE_JOB, image = M.IMAGE, command = array { "sh", "-c" }, args = array { M.FIXTURE_BOOTSTRAP },
        resources = { limits = { ["nvidia.com/gpu"] = v.gpus }, requests = { ["nvidia.com/gpu"] = v.gpus } },
        securityContext = { capabilities = { add = array { "IPC_LOCK" } } },
        volumeMounts = array {
          mount("dshm", "/dev/shm"), mount("nvtcpxo-libraries", LIBRARIES, true),
          mount("nvtcpxo-aperture-devices", "/dev/aperture_devices"),
        },
      } },
      volumes = array {
        { name = "dshm", emptyDir = { medium = "Memory" } },
        host_volume("nvtcpxo-libraries", M.HOST_LIBRARIES), host_volume("nvtcpxo-sys", "/sys"),
        host_volume("nvtcpxo-proc-sys", "/proc/sys"),
        host_volume("nvtcpxo-aperture-devices", "/dev/aperture_devices"),
      },
    },
  }
end

--- The benchmark on that many nodes.
---@param v table {namespace, workers, gpus (of each node), min_size, max_size ("1K", "16G"), networks (names, sorted)}
---@return table TrainingRuntime
function M.runtime(v)
  return {
    apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime",
    metadata = {
      name = M.NAME, namespace = v.namespace, labels = { ["trainer.kubeflow.org/framework"] = "mpi" },
    },
    spec = {
      mlPolicy = { mpi = {
        mpiImplementation = "OpenMPI", numProcPerNode = v.gpus, runLauncherAsNode = false, sshAuthMountPath = KEYS,
      } },
      template = { spec = {
        network = { enableDNSHostnames = true, publishNotReadyAddresses = true },
        replicatedJobs = array {
          { name = "launcher", replicas = 1, template = { spec = { template = launcher(v) } } },
          { name = gke.NODE_JOB, template = { spec = { template = worker(v) } } },
        },
        successPolicy = { operator = "All", targetReplicatedJobs = array { "launcher" } },
      } },
    },
  }
end

return M
