-- SPDX-License-Identifier: Apache-2.0
--- The parameters of the all-reduce benchmark, and what of them `aicr.training` waits for.
local errors = require "aicr.native.error"
local fleet = require "aicr.fleet"
local duration = require("aicr.time").duration

local M = {}

-- Waiting time of `training.run` -> parameter, default, help (gke-tcpxo.md 6, timeouts).
local TIMES <const> = {
  namespace = { "namespace_timeout", "5m", "for an old namespace of that name to be gone" },
  stale = { "lock_stale", "20m", "after which a lock that nobody renewed is taken over" },
  renew = { "lock_renew", "1m", "between renewals of the lock" },
  prune = { "prune_age", "60m", "after which namespaces of earlier runs are removed" },
  trainer = { "trainer_timeout", "3m", "for Trainer's controller to be ready" },
  trainer_every = { "trainer_interval", "5s", "between looks at Trainer" },
  runtime = { "runtime_timeout", "2m", "for the runtime to be visible" },
  webhook = { "webhook_timeout", "1m", "for Trainer's webhook to know the runtime" },
  webhook_every = { "webhook_interval", "500ms", "between attempts to make the TrainJob" },
  replace = { "replace_timeout", "5m", "for an old TrainJob to be gone" },
  launcher = { "launcher_timeout", "5m", "for the launcher's pod to appear" },
  run = { "job_timeout", "30m", "for the launcher to succeed" },
  look = { "look_interval", "5s", "between looks at the TrainJob" },
  log_every = { "log_interval", "2s", "between readings of a log that is not complete" },
  cleanup = { "cleanup_timeout", "5m", "for the namespace to be removed" },
}

--- Declarations, for the `params` of a check.
---@return table<string, aicr.Param>
function M.declare()
  local params = fleet.params {
    nic_resource = { type = "string", default = "", help = "on premises: the resource of the NICs, such as rdma/ib" },
    driver = { type = "list", default = "", help = "CLASS=DRIVER,…: of a device class that does not say it" },
    gpus = { type = "integer", min = 1, max = 256, help = "GPUs of each node to take; default: all" },
    nics = { type = "integer", min = 0, max = 256, help = "NICs a worker asks for; default: by architecture" },
    min_busbw = { type = "bandwidth", help = "floor in GB/s; default: the recipe's constraint nccl-all-reduce-bw" },
    tolerance = { type = "number", default = 0.1, min = 0, max = 0.5, help = "share of the floor that may be missing" },
    min_size = { type = "size", min = 1, help = "first size of the sweep; default: 8, with TCPXO 1K" },
    max_size = { type = "size", default = "16G", min = 1, help = "last size of the sweep, the one that is judged" },
    fabric = {
      type = "string", default = "",
      help = "what must carry it: efa ib roce gib tcpxo socket (AICR_NCCL_FABRIC); default: by platform",
    },
    mnnvl = { type = "boolean", help = "use multi-node NVLink; default: on gb200 and gb300" },
    runtime_image = {
      type = "string", default = "", help = "image with nccl-tests for MPI (AICR_NCCL_RUNTIME_IMAGE)",
    },
    overrides = {
      type = "string", default = "", help = "YAML of override rows behind the built-in ones: --set-file",
    },
    runtime = { type = "string", default = "", help = "YAML of a TrainingRuntime to measure instead: --set-file" },
    node_selector = { type = "list", default = "", help = "KEY=VALUE,… for the workers (AICR_NODE_SELECTOR)" },
    toleration = { type = "list", default = "", help = "KEY=VALUE:EFFECT,… of the workers (AICR_TOLERATIONS)" },
    probe_image = { type = "string", default = "busybox:1.36", help = "image with sh, for the probe of each node" },
    probe_timeout = { type = "duration", default = "2m", help = "for the probe of a node to end" },
  }
  for _, time in pairs(TIMES) do
    params[time[1]] = { type = "duration", default = time[2], help = time[3] }
  end
  return params
end

-- Parameter, the least that it may be or which other it must be above, and why.
local NO_PAUSE <const> = "the API server would be asked without a pause"
local LEAST <const> = {
  { "lock_stale", above = "lock_renew", why = "its lock would be free for others while it runs" },
  { "lock_stale", least = "1m", why = "locks of runs that are at work would be taken over" },
  { "prune_age", least = "1m", why = "namespaces of runs that begin would be removed" },
  { "lock_renew", least = "100ms", why = NO_PAUSE }, { "trainer_interval", least = "10ms", why = NO_PAUSE },
  { "webhook_interval", least = "10ms", why = NO_PAUSE }, { "look_interval", least = "10ms", why = NO_PAUSE },
  { "log_interval", least = "10ms", why = NO_PAUSE },
}

--- Refuses waiting times that contradict each other, or leave the API server no rest. Raises INVALID_REQUEST/`times`.
---@param params table `ctx.params`
function M.check(params)
  for _, row in ipairs(LEAST) do
    local given, bound = params[row[1]], row.least or params[row.above]
    local ms, bound_ms = duration(given), duration(bound)
    if ms < bound_ms or row.above and ms == bound_ms then
      errors.raise {
        code = "INVALID_REQUEST", reason = "times",
        message = ("parameter %s is %s, and must be %s %s: %s"):format(row[1], given, row.least and "at least"
          or ("more than parameter %s,"):format(row.above), bound, row.why),
      }
    end
  end
end

--- The `times` of `training.run`.
---@param params table `ctx.params`
---@return aicr.training.Times
function M.times(params)
  local times = {}
  for name, time in pairs(TIMES) do
    times[name] = params[time[1]]
  end
  return times
end

return M
