-- SPDX-License-Identifier: Apache-2.0
--- A benchmark runtime that the recipe or the user brings (gke-tcpxo.md 5.1 step 2, 5.2). It owns its wiring: nothing
--- of a platform is added or checked.
local attempt = require "aicr.base.attempt"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"
local yaml = require "aicr.yaml"

local M = {}

M.CONSTRAINT = "nccl-benchmark-runtime"
M.REFERENCE = "nccl-benchmark-runtime-ref"

local API <const>, KIND <const> = "trainer.kubeflow.org/v1alpha1", "TrainingRuntime"

local function unfit(reason, fmt, ...)
  errors.raise {
    code = "INVALID_REQUEST", reason = reason, verdict = true,
    message = "the supplied benchmark runtime " .. fmt:format(...),
  }
end

-- The text as an object of the right kind with a worker job.
local function read(carrier)
  local object, err = attempt(yaml.decode, carrier)
  if err then
    unfit("runtime-malformed", "is no YAML: %s", err.message)
  end
  local kind, version = tree.text(object, "kind") or "nothing", tree.text(object, "apiVersion") or "nothing"
  if kind ~= KIND or version ~= API then
    unfit("runtime-kind", "must be a %s of %s, found %s of %s", KIND, API, text.printable(kind),
      text.printable(version))
  end
  gke.node_template(object)
  return object
end

-- The text with its variables replaced.
local function rendered(carrier, v)
  local values = {
    NAMESPACE = v.namespace, WORKER_COUNT = tostring(v.workers), GPU_COUNT_PER_NODE = tostring(v.gpus),
    GPU_COUNT = tostring(v.workers * v.gpus), TEST_TYPE = "all_reduce_perf", MIN_MESSAGE_SIZE = v.min_size,
    MAX_MESSAGE_SIZE = v.max_size,
  }
  return (carrier:gsub("%${([%u_]+)}", values))
end

-- A variable may stand where YAML takes no brace, so that the text is looked at with some values in place.
local SAMPLE <const> = { namespace = "default", workers = 2, gpus = 8, min_size = "1K", max_size = "1K" }

--- Looks at a supplied runtime before anything of the cluster is read. Raises INVALID_REQUEST (a verdict), reasons
--- `runtime-malformed`, `runtime-kind` and those of `gke.node_template`.
---@param carrier string YAML with ${…} for what is known only later
---@return table object with sample values
function M.check(carrier)
  return read(rendered(carrier, SAMPLE))
end

--- The runtime for these nodes: `${NAMESPACE}`, `${WORKER_COUNT}`, `${GPU_COUNT_PER_NODE}`, `${GPU_COUNT}`,
--- `${TEST_TYPE}`, `${MIN_MESSAGE_SIZE}`, `${MAX_MESSAGE_SIZE}` are replaced (gke-tcpxo.md 5.4). Raises as `check`.
---@param carrier string
---@param v table {namespace, workers, gpus, min_size, max_size}
---@return table TrainingRuntime
function M.render(carrier, v)
  return read(rendered(carrier, v))
end

return M
