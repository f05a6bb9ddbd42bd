-- SPDX-License-Identifier: Apache-2.0
--- What the older revision of the reference ("rev": "S" in the vectors) answers where ours follows
--- the newer one: each function makes the older answer of ours, so that all else is compared.
local json = require "aicr.json"
local support = require "spec.support.platform"
local value = require "aicr.platform.value"

local M = {}

--- The older revision knew one queue label.
function M.config(config)
  local out = value.copy(config)
  out.GangSchedulerQueueLabelKey = nil
  return out
end

local function launcher(runtime)
  return (value.named(runtime.spec.template.spec.replicatedJobs, "launcher"))
end

--- No queue label on pods; in MPI runtimes no environment, and the launcher always gated.
function M.runtime(runtime)
  local out = value.copy(runtime)
  for _, job in ipairs(out.spec.template.spec.replicatedJobs) do
    local pod = job.template.spec.template
    pod.metadata = nil
    if out.spec.mlPolicy.mpi then
      pod.spec.containers[1].env = nil
    end
  end
  local job = launcher(out)
  if job then
    job.dependsOn = json.array { { name = "node", status = "Ready" } }
    local init = job.template.spec.template.spec.initContainers[1]
    init.volumeMounts[3] = nil
    init.args[1] = "<launcher-init-script>"
  end
  return support.marked(out)
end

return M
