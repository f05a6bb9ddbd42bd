-- SPDX-License-Identifier: Apache-2.0
--- What the log of a failed or slow benchmark points at: signatures, each with its cause and what to do
--- (nccl-benchmark.md 9). Data, in order of priority; the first that matches is told.
local text = require "aicr.native.text"

local M = {}

-- `any`: lists of words; all words of one of them must stand in a line. `slow`: only of a benchmark that ended and was
-- slow. `fabric`: what to do about it is the platform's to say, where it says something.
local SIGNATURES <const> = {
  {
    code = "driver-missing", any = { { "libcuda.so.1", "cannot open" }, { "no CUDA-capable device" } },
    cause = "there is no NVIDIA driver in the container",
    action = "see that the worker asks for GPUs and that the device plug-in runs: "
      .. "kubectl get pods -A -o wide | grep -i nvidia",
  },
  {
    code = "driver-mismatch", any = { { "driver version is insufficient" }, { "forward compatibility was attempted" } },
    cause = "the CUDA libraries of the image are newer than the nodes' driver",
    action = "take an image for this driver: --set nccl-all-reduce-bw.runtime_image=IMAGE",
  },
  {
    code = "fabric-not-ready", any = { { "system not yet initialized" }, { "Cuda failure", "802" } },
    cause = "the fabric manager of the NVSwitches is not ready",
    action = "look at nvidia-fabricmanager on the nodes, and reset the GPUs",
  },
  {
    code = "gpu-count", any = { { "Invalid number of GPUs" } },
    cause = "a rank was given more GPUs than it sees", action = "one GPU a rank: -g 1, and as many slots as GPUs",
  },
  {
    code = "duplicate-gpu", any = { { "Duplicate GPU detected" }, { "Multiple Ranks are using the same GPU" } },
    cause = "two ranks of a node use one GPU", action = "look at LOCAL_RANK and CUDA_VISIBLE_DEVICES of the workers",
  },
  {
    code = "shm-too-small",
    any = { { "/dev/shm/nccl-", "extend" }, { "/dev/shm", "No space left on device" },
      { "Error while creating shared memory segment" } },
    cause = "/dev/shm of the worker is too small",
    action = "mount an emptyDir with medium Memory at /dev/shm of the worker",
  },
  {
    code = "memlock", any = { { "Call to ibv_reg_mr failed" }, { "ibv_create_qp failed" } },
    cause = "the container may not lock enough memory", action = "give the worker the capability IPC_LOCK",
  },
  {
    code = "no-ib-device", any = { { "NET/IB : No device found" } },
    cause = "NCCL finds no RDMA device", action = "ask for the rdma/* resource, and look at /dev/infiniband",
  },
  {
    code = "ibverbs-missing", any = { { "Failed to open libibverbs.so" } },
    cause = "the image has no rdma-core", action = "take an image that has it",
  },
  {
    code = "plugin-failed-fallback-socket", fabric = true,
    any = { { "Failed to initialize NET plugin" }, { "Failed to initialize any NET plugin" } },
    cause = "NCCL's network plug-in was found and did not start, so NCCL goes over sockets",
    action = "look at the daemon beside the worker and at the plug-in's installer: kubectl get daemonsets -A "
      .. "| grep tcpxo",
  },
  {
    code = "socket-fallback", fabric = true,
    any = { { "Using network Socket" }, { "NET/Plugin: Could not find" }, { "via NET/Socket" } },
    cause = "NCCL went over TCP sockets: its network plug-in was not found",
    action = "look at the worker's LD_LIBRARY_PATH, nccl-env-profile.sh and the tcpxo-daemon: "
      .. "kubectl get daemonsets -A | grep tcpxo",
  },
  {
    code = "daemon-displaced", any = { { "Number of GPUs detected 7" } },
    cause = "the daemon sees seven of eight GPUs: a gVNIC network took the slot of a GPU's NIC",
    action = "create the node pool again without a gVNIC network: aicr-run gke-gpu-nic-topology",
  },
  {
    code = "no-interface", any = { { "no socket interface found" } },
    cause = "NCCL_SOCKET_IFNAME matches no interface of the pod", action = "name one that is there, such as eth0",
  },
  {
    code = "wrong-interface", any = { { "exceeded error retry count" }, { "socket", "Connection refused" },
      { "socketPollConnect", "Connection" } },
    cause = "the ranks cannot reach each other over the interface that NCCL chose",
    action = "set NCCL_SOCKET_IFNAME=eth0, and look for a NetworkPolicy: kubectl get networkpolicies -A",
  },
  {
    code = "roce-gid", any = { { "Got completion", "status=12" }, { "IBV_WC_RETRY_EXC_ERR" } },
    cause = "packets of the RDMA fabric do not arrive", action = "look at NCCL_IB_GID_INDEX (show_gids), VLAN and PFC",
  },
  {
    code = "qp-unreachable", any = { { "ibv_modify_qp failed" } },
    cause = "two NICs have no route to each other", action = "NCCL_CROSS_NIC=0, NCCL_IB_HCA, routes of each rail",
  },
  {
    code = "mixed-link-layer", any = { { "Attempted to connect incompatible devices" } },
    cause = "InfiniBand and RoCE are mixed", action = "choose one with NCCL_IB_HCA",
  },
  {
    code = "nvls-multicast",
    any = { { "transport/nvls.cc", "Cuda failure" }, { "NVLink SHARP", "Multicast memory" } },
    cause = "NVLink SHARP cannot be set up: the fabric manager was restarted without a reset of the GPUs",
    action = "reset the GPUs; to tell, run once with NCCL_NVLS_ENABLE=0",
  },
  {
    code = "imex", any = { { "Cuda failure 800" }, { "cuMemImportFromShareableHandle" } },
    cause = "the IMEX channel is not mounted, or its domain is not up", action = "nvidia-imex-ctl -N",
  },
  {
    code = "version-mismatch",
    any = { { "Mismatched NCCL version" }, { "NCCL version mismatch" }, { "Message truncated : received" } },
    cause = "the ranks have different versions of NCCL",
    action = "see that all nodes have one NCCL (with TCPXO: one release of its installer)",
  },
  {
    code = "topo-file", any = { { "XML", "wrong version" }, { "Attribute arch of node cpu not found" } },
    cause = "NCCL_TOPO_FILE does not suit this NCCL", action = "unset it, or take the file for this version",
  },
  {
    code = "fd-limit", any = { { "Too many open files" } },
    cause = "too few file descriptors for so many ranks", action = "raise nofile of the container runtime",
  },
  {
    code = "oom", any = { { "out of memory" } },
    cause = "a GPU has not enough free memory for the largest size",
    action = "see what else runs on the GPUs: kubectl get pods -A -o wide; or take a smaller max_size",
  },
  {
    code = "launcher-ssh",
    any = { { "Could not resolve hostname" }, { "ORTE was unable to reliably start" },
      { "Permission denied (publickey" }, { "ssh:", "Connection refused" }, { "ssh:", "Connection timed out" } },
    cause = "mpirun does not reach the workers by ssh: their sshd is not up",
    action = "look at the workers' logs in attachment workers.txt: without sshd in the image apt-get needs a mirror",
  },
  {
    code = "logs-gone", any = { { "unable to retrieve container logs" } },
    cause = "the node has thrown the log away", action = "run again; the termination message has the end of it",
  },
  {
    code = "nvls-unavailable", slow = true, any = { { "NVLS multicast support is not available" } },
    cause = "NVLink SHARP is off: about a quarter less on nodes of eight GPUs",
    action = "look at the fabric manager and NCCL_NVLS_ENABLE",
  },
  {
    code = "gdr-disabled", slow = true, any = { { "GPU Direct RDMA Disabled" } },
    cause = "GPU memory goes through the host's memory",
    action = "load nvidia-peermem or the open kernel module; look at NCCL_NET_GDR_LEVEL",
  },
}

-- Bytes of a log that are looked at, from its end; of a line that is shown.
local LOOK_MAX <const>, LINE_MAX <const> = 4 * 1024 * 1024, 300

local function has_all(line, words)
  for _, word in ipairs(words) do
    if not line:find(word, 1, true) then
      return false
    end
  end
  return true
end

-- The first line of the text that has all the words.
local function line_with(log, words)
  local from = 1
  while true do
    local at = log:find(words[1], from, true)
    if not at then
      return nil
    end
    local last = log:find("\n", at, true) or #log + 1
    local first = at
    while first > from and log:byte(first - 1) ~= 10 do
      first = first - 1
    end
    local line = log:sub(first, last - 1)
    if has_all(line, words) then
      return text.printable(#line > LINE_MAX and line:sub(1, LINE_MAX) .. " …" or line)
    end
    from = last
  end
end

--- The first signature that a log shows: `{code, cause, action, line}`, nil when it shows none.
---@param log string
---@param opts {slow: boolean|nil, look: string|nil}|nil slow: the benchmark ended, and was slow; look: where to look on
--- its platform when the fabric is not used
---@return table|nil
function M.of(log, opts)
  local seen = #log > LOOK_MAX and log:sub(-LOOK_MAX) or log
  for _, signature in ipairs(SIGNATURES) do
    if not signature.slow or opts and opts.slow then
      for _, words in ipairs(signature.any) do
        local line = line_with(seen, words)
        if line then
          local look = signature.fabric and opts and opts.look
          return { code = signature.code, cause = signature.cause, action = look or signature.action, line = line }
        end
      end
    end
  end
  return nil
end

return M
