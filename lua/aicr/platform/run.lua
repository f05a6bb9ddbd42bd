-- SPDX-License-Identifier: Apache-2.0
--- A training run as objects: runtime, what it depends on and TrainJob, with the override rows of
--- its platform applied (platform-runtimes.md 3.6, 4.4). Pure.
local attempt = require "aicr.base.attempt"
local env = require "aicr.platform.env"
local json = require "aicr.json"
local match = require "aicr.platform.match"
local merge = require "aicr.platform.merge"
local names = require "aicr.platform.names"
local overrides = require "aicr.platform.overrides"
local patch = require "aicr.platform.patch"
local runtime = require "aicr.platform.runtime"
local sizing = require "aicr.platform.sizing"
local value = require "aicr.platform.value"

local M = {}

M.MPIRUN = "/usr/local/mpi/bin/mpirun"
--- Seconds after which `timeout` ends mpirun, whoever looks after the job.
M.MPI_SECONDS = 3600
--- Permissions to make what the rows bring beside a runtime, for the `needs` of a check.
M.NEEDS = {
  "create computedomains.resource.nvidia.com anywhere if served",
  "create resourceclaimtemplates.resource.k8s.io anywhere if served",
}

local SSH_OPTIONS <const> = "-o StrictHostKeyChecking=no -o ConnectionAttempts=10"

local function append(list, more)
  for _, item in ipairs(value.list(more)) do
    list[#list + 1] = item
  end
  return list
end

--- A word as a POSIX shell reads it back.
---@param word string
---@return string
function M.quote(word)
  if word ~= "" and not word:find "[^%w@%%+=:,./_-]" then
    return word
  end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- The rows that apply, with a name for those of a user that have none.
local function matching(rows, user, run)
  local out = {}
  local context = {
    Platform = run.Platform, GPUArchitecture = run.GPUArchitecture, WorkloadKind = "TrainJob",
    TopologyMode = value.opt(run.Topology) and "topology" or "simple",
    DomainCount = value.opt(run.DomainCount) or 0, Config = value.opt(run.Config),
  }
  for i, row in ipairs(append(append({}, rows), user)) do
    if match.matches(row.when, context) then
      local is_user = i > #rows
      out[#out + 1] = {
        row = is_user and overrides.of_user(row, run.Runtime.EntryName, run.FrameworkType == "mpi") or row, index = i,
        name = row.name or ("user-%d"):format(i - #rows), user = is_user, changed = false,
      }
    end
  end
  return out
end

--- Later rows come before earlier ones, and the user's own arguments last: the last value counts.
local function mpi_args(run, matched)
  local args = append(json.array(), run.UserMPIArgs)
  for _, m in ipairs(matched) do
    local of_row = value.list(m.row.mpiArgs)
    if #of_row > 0 then
      m.changed = true
      args = append(append(json.array(), of_row), args)
    end
  end
  return args
end

local function mpi_command(run, all_env, matched)
  local own = mpi_args(run, matched)
  local args = value.array("-N", tostring(run.Runtime.GpusPerNode), "--allow-run-as-root", "--mca", "plm_rsh_args",
    SSH_OPTIONS)
  append(append(args, env.mpi_env_args(all_env, own)), own)
  args[#args + 1] = run.Binary
  local path = value.opt(run.MpirunPath) or M.MPIRUN
  return value.array("timeout", tostring(M.MPI_SECONDS), path), append(args, run.Args)
end

local function command_of(run, all_env, matched)
  if run.FrameworkType == "mpi" then
    return mpi_command(run, all_env, matched)
  elseif run.FrameworkType == "torch" then
    local args = json.array()
    if value.opt(run.Module) then
      args[1] = "-m"
    end
    return value.array "torchrun", append(append(args, run.Command), run.Args)
  elseif #value.list(run.Command) == 0 then
    value.invalid("config", "build_run: an exec run needs a Command")
  end
  return append(json.array(), run.Command), append(json.array(), run.Args)
end

--- The command behind the lines of the rows, in a shell.
local function with_pre_command(command, args, matched)
  local lines = json.array()
  for _, m in ipairs(matched) do
    local of_row = value.list(m.row.preCommand)
    m.changed = m.changed or #of_row > 0
    append(lines, of_row)
  end
  if #lines == 0 then
    return command, args
  end
  local words = {}
  for _, word in ipairs(append(append({}, command), args)) do
    words[#words + 1] = M.quote(word)
  end
  lines[#lines + 1] = "exec " .. table.concat(words, " ")
  return value.array("/bin/bash", "-c"), value.array(table.concat(lines, "\n"))
end

local function first_job(run, command, args)
  return {
    spec = {
      workload = {
        trainJob = {
          runtimeRef = {
            apiGroup = "trainer.kubeflow.org", kind = runtime.KIND, name = runtime.name(run.Runtime.EntryName),
          },
          trainer = {
            image = run.Runtime.Image,
            command = command,
            args = #args > 0 and args or nil,
            numNodes = run.Runtime.NodesPerJob,
            numProcPerNode = run.Runtime.GpusPerNode,
          },
        },
      },
    },
  }
end

--- Applies one row to {job, dependencies, orchestration}; a new state.
local function apply(state, row)
  local after = { job = state.job, dependencies = state.dependencies, orchestration = state.orchestration }
  if value.opt(row.jobTemplate) then
    after.job = merge.merge_job(state.job, row.jobTemplate)
  end
  if value.opt(row.jobTemplatePatch) ~= nil then
    local job, err = attempt(patch.apply, after.job, row.jobTemplatePatch)
    if err then
      value.invalid("override", "row %s: jobTemplatePatch: %s", value.quoted(row.name or "of the user"), err.message)
    end
    after.job = job
  end
  for _, object in ipairs(value.list(row.dependencies)) do
    after.dependencies = merge.merge_dependency(after.dependencies, object)
  end
  if value.opt(row.orchestration) then
    -- A key of a row keeps what else was asked for, such as strictDomain.
    after.orchestration = merge.merge_job(state.orchestration, row.orchestration)
  end
  return after
end

local function configuration(run, user_env)
  return {
    EntryName = run.Runtime.EntryName, NodesPerJob = run.Runtime.NodesPerJob,
    GpusPerNode = run.Runtime.GpusPerNode, MlnxPerNode = value.opt(run.MlnxPerNode),
    EnableMNNVL = value.opt(run.EnableMNNVL) or false, FrameworkType = run.FrameworkType,
    NicResourceName = value.opt(run.NicResourceName), UserEnv = user_env,
  }
end

--- The run's own runtime: the user's environment behind the common one.
local function own_runtime(run, all_env)
  local config = {}
  for key, member in pairs(run.Runtime) do
    config[key] = value.opt(member)
  end
  config.Env = all_env
  local own = runtime.build(run.FrameworkType, config)
  -- On the pods of every job: a TrainJob can carry pull secrets only with some versions of Trainer.
  for _, job in ipairs(own.spec.template.spec.replicatedJobs) do
    local secrets = value.list(run.Runtime.ImagePullSecrets)
    job.template.spec.template.spec.imagePullSecrets = #secrets > 0 and value.copy(secrets) or nil
  end
  return own
end

local FIELDS <const> = {
  "Platform", "GPUArchitecture", "FrameworkType", "Runtime", "MlnxPerNode", "EnableMNNVL", "NicResourceName",
  "Command", "Module", "Binary", "Args", "MpirunPath", "UserMPIArgs", "UserOverrides", "OverrideRows", "Topology",
  "DomainCount", "Config",
}

-- The builders take any number, as those of the reference do; a run of so many is not meant.
local function need_size(field, n, most)
  if math.type(n) == "integer" and (n < 0 or n > most) then
    value.invalid("size", "build_run: %s: %d is not valid; expected a whole number from 0 to %d", field, n, most)
  end
end

--- Fields that are misspelt would be left out in silence.
local function check(run)
  for field in pairs(run) do
    local known = false
    for _, name in ipairs(FIELDS) do
      known = known or name == field
    end
    if not known then
      value.invalid("config", "build_run: unknown field %s%s", value.quoted(field), value.suggestion(field, FIELDS))
    end
  end
  local arch = value.opt(run.GPUArchitecture) or ""
  if value.opt(run.Platform) ~= nil and run.Platform ~= "" and not names.is_name(run.Platform) then
    value.invalid("config", "build_run: Platform: %s is not valid; expected one of: %s", value.shown(run.Platform),
      names.names_list())
  elseif type(arch) ~= "string" or arch ~= "" and not arch:match "^%l[%l%d]*$" then
    value.invalid("config", "build_run: GPUArchitecture: expected lower-case letters and digits, such as h100, got %s",
      value.shown(arch))
  elseif type(run.Runtime) ~= "table" then
    value.invalid("config", "build_run: Runtime: expected a table, got %s", type(run.Runtime))
  elseif run.FrameworkType == "mpi" and type(run.Binary) ~= "string" then
    value.invalid("config", "build_run: an MPI run needs a Binary")
  end
  env.need_entries("build_run: Runtime.Env", run.Runtime.Env)
  need_size("Runtime.NodesPerJob", run.Runtime.NodesPerJob, sizing.MAX_NODES)
  need_size("Runtime.GpusPerNode", run.Runtime.GpusPerNode, sizing.MAX_PER_NODE)
  need_size("MlnxPerNode", run.MlnxPerNode, sizing.MAX_PER_NODE)
end

-- What is at the end of keys, nil where one is missing: an override may have brought an object of any form.
local function member(v, ...)
  for _, key in ipairs { ... } do
    v = value.is_map(v) and v[key] or nil
  end
  return v
end

local function train_job_of(job)
  local v = member(job, "spec", "workload", "trainJob")
  if not value.is_map(v) or not value.is_map(v.trainer) then
    value.invalid("override", "the overrides leave the job no spec.workload.trainJob.trainer")
  end
  return v
end

-- The launcher has no GPU, but where all nodes are tainted it has no other place either.
local function tolerate_alike(dependencies)
  for _, object in ipairs(dependencies) do
    local jobs = object.kind == runtime.KIND and member(object, "spec", "template", "spec", "replicatedJobs")
    local worker, launcher = value.named(jobs, runtime.NODE), value.named(jobs, runtime.LAUNCHER)
    local pod = launcher and member(launcher, "template", "spec", "template", "spec")
    if worker and pod then
      pod.tolerations = pod.tolerations
        or value.copy(member(worker, "template", "spec", "template", "spec", "tolerations"))
    end
  end
end

-- What rows put into containers and ranks do not get. `kept`: `args` are still mpirun's, no override changed them.
local function unreached(run, state, trainer, args, kept, all_env)
  if run.FrameworkType ~= "mpi" then
    return json.array()
  end
  local function env_of(job)
    for _, object in ipairs(state.dependencies) do
      local jobs = object.kind == runtime.KIND and member(object, "spec", "template", "spec", "replicatedJobs")
      local pod = member(value.named(jobs, job), "template", "spec", "template", "spec")
      local list = member(value.named(pod and pod.containers, runtime.NODE), "env")
      if list then
        return list
      end
    end
  end
  local of_launcher = append(append(json.array(), env_of(runtime.LAUNCHER)), trainer.env)
  return env.unreached(env_of(runtime.NODE), of_launcher, kept and args or value.list(trainer.args), all_env)
end

--- The run with the given rows applied.
---@param run aicr.platform.Run
---@param rows table[] as `build_overrides` gives them
---@return aicr.platform.Built
function M.compose(run, rows)
  local all_env = env.merge_env(env.base_nccl_env(value.opt(run.EnableMNNVL) or false), run.Runtime.Env)
  local own = own_runtime(run, all_env)
  local matched = matching(rows, value.list(run.UserOverrides), run)
  local command, args = command_of(run, all_env, matched)
  local of_mpirun = args
  command, args = with_pre_command(command, args, matched)
  local state = {
    job = first_job(run, command, args),
    dependencies = value.array(own),
    orchestration = { topology = value.copy(value.opt(run.Topology)) },
  }
  for _, m in ipairs(matched) do
    local after = apply(state, m.row)
    m.changed = m.changed or not value.equal(state, after)
    state = after
  end
  local train_job = train_job_of(state.job)
  local dependencies = runtime.gang_schedule(state.dependencies, run.Runtime)
  tolerate_alike(dependencies)
  local rows_out = json.array()
  for i, m in ipairs(matched) do
    rows_out[i] = { name = m.name, index = m.index, changed = m.changed, user = m.user, file = m.row.file }
  end
  local trainer = train_job.trainer
  return {
    rows = rows_out,
    unreached = unreached(run, state, trainer, of_mpirun, value.equal(trainer.args, args), all_env),
    dependencies = dependencies,
    trainer = train_job.trainer,
    topology = state.orchestration.topology,
    train_job = {
      apiVersion = runtime.API_VERSION, kind = "TrainJob",
      metadata = { name = run.Runtime.EntryName, labels = { app = run.Runtime.EntryName } },
      spec = train_job,
    },
  }
end

-- The rows of a file of the user's for this run, each with the file's name.
local function rows_of_file(rows, config)
  local out = rows and overrides.render(rows, config) or json.array()
  for _, row in ipairs(out) do
    row.file = rows.file
  end
  return out
end

--- The objects of a run on its platform: `dependencies` (the runtime first), `train_job`, and which
--- rows applied.
---@param run aicr.platform.Run
---@return aicr.platform.Built
function M.build_run(run)
  check(run)
  local config = configuration(run, value.opt(run.Runtime.Env))
  local whole = {}
  for field, member_of in pairs(run) do
    whole[field] = member_of
  end
  whole.UserOverrides = append(append(json.array(), run.UserOverrides), rows_of_file(value.opt(run.OverrideRows),
    config))
  return M.compose(whole, overrides.build_overrides(config))
end

--- The configuration of the override rows for a run.
M.configuration = configuration

return M
