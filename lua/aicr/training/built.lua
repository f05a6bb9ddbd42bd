-- SPDX-License-Identifier: Apache-2.0
--- Options of `training.run` from what `aicr.platform.build_run` gave. Pure.
local M = {}

local OWN <const> = { "runtime", "job", "objects", "launcher", "workers" }
local NODE <const>, LAUNCHER <const> = "node", "launcher"

--- Puts runtime, job, objects, launcher and workers in the place of `built`. A run without a launcher is one job, whose
--- pod 0 stands for it.
--- @param options table of `training.run`
--- @param what string the function, for messages
function M.spread(options, what)
  local built = options.built
  if type(built) ~= "table" or type(built.dependencies) ~= "table" or type(built.train_job) ~= "table" then
    error(what .. ": built must be what aicr.platform.build_run gave", 4)
  end
  for _, name in ipairs(OWN) do
    if options[name] ~= nil then
      error(("%s: built gives %s: leave one of them out"):format(what, name), 4)
    end
  end
  local objects = {}
  for i = 2, #built.dependencies do
    objects[#objects + 1] = built.dependencies[i]
  end
  local leader = NODE
  for _, job in ipairs(built.dependencies[1].spec.template.spec.replicatedJobs) do
    leader = job.name == LAUNCHER and LAUNCHER or leader
  end
  options.built, options.runtime, options.objects, options.job = nil, built.dependencies[1], objects, built.train_job
  options.launcher = { job = leader, container = NODE }
  options.workers = { job = NODE, count = built.train_job.spec.trainer.numNodes }
end

return M
