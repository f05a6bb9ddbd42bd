-- SPDX-License-Identifier: Apache-2.0
--- Whether the TCPXO installer has finished on each node of the benchmark: one probe pod a node (gke-tcpxo.md 5.5). On
--- a new node it may still be at work; the benchmark would fail minutes later and not say why.
local errors = require "aicr.native.error"
local json = require "aicr.json"
local skeleton = require "aicr.nccl_runtime.gke_skeleton"
local text = require "aicr.native.text"
local words = require "aicr.training.words"

local M = {}

--- Permissions that `run` needs.
M.needs = { "create,delete pods in run", "wait,logs pods in run" }

local MARKER <const> = "tcpxo-artifact-missing"
local MOUNT <const> = "/host"
-- Probes at once.
local LANES <const> = 16

local array = json.array

local function probe_pod(node, image)
  return {
    apiVersion = "v1", kind = "Pod",
    metadata = {
      generateName = "nccl-tcpxo-probe-", labels = { ["app.kubernetes.io/component"] = "nccl-tcpxo-preflight" },
    },
    spec = {
      nodeName = node, restartPolicy = "Never", tolerations = array { { operator = "Exists" } },
      containers = array { {
        name = "probe", image = image, command = array { "/bin/sh", "-c" },
        args = array { ("test -f %s/%s || { echo %s; exit 1; }"):format(MOUNT, skeleton.PROFILE, MARKER) },
        volumeMounts = array { { name = "libraries", mountPath = MOUNT, readOnly = true } },
      } },
      volumes = array { {
        name = "libraries", hostPath = { path = skeleton.HOST_LIBRARIES, type = "DirectoryOrCreate" },
      } },
    },
  }
end

-- An error of a probe says which node it was on.
local function of_node(node, code, message, cause)
  errors.raise {
    code = code, reason = cause and cause.reason or "probe-failed", cause = cause, details = cause and cause.details,
    message = ("cannot tell whether node %s is ready for TCPXO: %s"):format(text.printable(node), message),
  }
end

local function tried(ctx, node, code, message, f)
  local result, err = ctx:try(f)
  if err then
    of_node(node, code or err.code, message, err)
  end
  return result
end

-- Is the installer done on that node?
local function probe(ctx, node, opts)
  local pod = tried(ctx, node, "INTERNAL", "its probe pod cannot be made", function()
    return ctx.k8s:create(probe_pod(node, opts.image))
  end)
  local name, namespace = pod.metadata.name, pod.metadata.namespace
  local function look()
    local image = ("its probe pod of image %s (parameter probe_image) did not end"):format(text.printable(opts.image))
    return tried(ctx, node, nil, image, function()
      return ctx.k8s:wait("pods", name, namespace, function(now)
        local phase = now and now.status and now.status.phase or "gone"
        local held = phase == "Pending" and words.trouble(now)
        return phase == "Succeeded" or phase == "Failed", held and ("%s, %s"):format(phase, held) or phase
      end, { timeout = opts.timeout })
    end)
  end
  local ended = look()
  local ready = ended.status.phase == "Succeeded"
  if not ready then
    local log = tried(ctx, node, "INTERNAL", "its probe pod failed and its log cannot be read", function()
      return ctx.k8s:logs(name, namespace, { container = "probe", limit = 4096 })
    end)
    if not log:find(MARKER, 1, true) then
      of_node(node, "INTERNAL", ("its probe pod %s failed and wrote: %s"):format(name, text.printable(log)))
    end
  end
  -- What is left of it is removed when the check ends, whatever becomes of this.
  ctx:try(ctx.k8s.delete, ctx.k8s, "pods", name, namespace, { wait = false })
  return ready
end

--- Probes every node. Raises INVALID_REQUEST/`tcpxo-not-ready` (a verdict) with all nodes that are not ready; TIMEOUT
--- and others when a probe could not be made.
---@param ctx aicr.ctx
---@param nodes string[]
---@param opts {image: string, timeout: string}
function M.run(ctx, nodes, opts)
  ctx:progress("looks whether the TCPXO installer has finished on %d nodes", #nodes)
  local ready, following = {}, 0
  local lanes = {}
  for lane = 1, math.min(LANES, #nodes) do
    lanes[lane] = function()
      while following < #nodes do
        following = following + 1
        local i = following
        ready[i] = probe(ctx, nodes[i], opts)
      end
    end
  end
  ctx:all(lanes)
  local missing = {}
  for i, node in ipairs(nodes) do
    if ready[i] == false then
      missing[#missing + 1] = text.printable(node)
    end
  end
  if #missing > 0 or #nodes == 0 then
    errors.raise {
      code = "INVALID_REQUEST", reason = "tcpxo-not-ready", verdict = true,
      message = #nodes == 0 and "there is no node to look at"
        or ("the TCPXO installer has not finished on %d of %d nodes (no %s/%s): %s"):format(#missing, #nodes,
          skeleton.HOST_LIBRARIES, skeleton.PROFILE, table.concat(missing, ", ")),
    }
  end
end

return M
