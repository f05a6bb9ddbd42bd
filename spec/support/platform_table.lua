-- SPDX-License-Identifier: Apache-2.0
--- Runs of every platform, GPU and framework (platform-runtimes.md 4.2), what their pods have to get of what was asked,
--- and the table of what they got. Pure.
local json = require "aicr.json"
local platform = require "aicr.platform"
local quantity = require "aicr.quantity"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

M.ARCHITECTURES = {
  "a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "l40", "l40s", "rtxpro6000", "unknown",
}
M.FRAMEWORKS = { "torch", "exec", "mpi" }
--- The user's own variable of each run.
M.MINE = { name = "SPEC_USER", value = "its own" }
--- Label that no node has.
M.NEVER = "aicr-spec/never"

local NODES <const> = 2
local ANCESTOR <const> = "trainer.kubeflow.org/trainjob-ancestor-step"
-- Where a NIC's name has to be told.
local NIC <const> = { onprem = "rdma/ib" }
-- What Trainer sets itself, for torchrun and for mpirun.
local ADDED <const> = {
  PET_NNODES = true, PET_NPROC_PER_NODE = true, PET_NODE_RANK = true, PET_MASTER_ADDR = true, PET_MASTER_PORT = true,
  OMPI_MCA_orte_default_hostfile = true, OMPI_MCA_orte_keep_fqdn_hostnames = true,
  OMPI_MCA_orte_set_default_slots = true, OMPI_MCA_plm_rsh_args = true,
}

--- A run as a check would ask for it.
---@param name string
---@param arch string
---@param framework string
---@param more? table entry (the run's name), overrides
---@return table run entry, platform, arch, framework, built
function M.run(name, arch, framework, more)
  more = more or {}
  local sizes = platform.sizes(arch, name, { nodes = NODES })
  local entry = more.entry or ("%s-%s-%s"):format(name, arch, framework)
  local built = platform.build_run {
    Platform = name, GPUArchitecture = arch, FrameworkType = framework, MlnxPerNode = sizes.MlnxPerNode,
    EnableMNNVL = sizes.EnableMNNVL, NicResourceName = NIC[name], UserOverrides = more.overrides,
    Command = framework == "torch" and { "train.py" } or framework == "exec" and { "python", "t.py" } or nil,
    Binary = framework == "mpi" and "all_reduce_perf" or nil, Args = { "-b", "8" },
    Runtime = {
      EntryName = entry, Image = "img", NodesPerJob = NODES, GpusPerNode = sizes.GpusPerNode, Env = { M.MINE },
      ImagePullSecrets = { { name = "s" } },
    },
  }
  return { entry = entry, platform = name, arch = arch, framework = framework, built = built }
end

--- All of them.
---@return table[]
function M.runs()
  local out = {}
  for _, name in ipairs(platform.names()) do
    for _, arch in ipairs(M.ARCHITECTURES) do
      for _, framework in ipairs(M.FRAMEWORKS) do
        out[#out + 1] = M.run(name, arch, framework)
      end
    end
  end
  return out
end

--- One run of all those whose objects are the same but for the run's name.
---@param runs table[] {entry=, built=}
---@return table[] first of each kind
---@return table<string, table> by entry, the first of its kind
function M.distinct(runs)
  local out, by_text, by_entry = {}, {}, {}
  for _, run in ipairs(runs) do
    local text = json.encode { run.built.dependencies, run.built.train_job }
    text = text:gsub(run.entry:gsub("%-", "%%-"), "RUN")
    if not by_text[text] then
      by_text[text] = run
      out[#out + 1] = run
    end
    by_entry[run.entry] = by_text[text]
  end
  return out, by_entry
end

--- The runtime of a run's objects.
---@param run table
---@return table
function M.runtime(run)
  return run.built.dependencies[1]
end

local function env_with(list, more)
  local out = value.copy(value.list(list))
  for _, entry in ipairs(value.list(more)) do
    local _, at = value.named(out, entry.name)
    out[at or #out + 1] = value.copy(entry)
  end
  return out
end

-- What the TrainJob says of the job that is the trainer's.
local function with_trainer(job, trainer)
  local container = value.named(job.template.spec.template.spec.containers, "node")
  container.image, container.command, container.args = trainer.image, trainer.command, trainer.args
  container.env = env_with(container.env, trainer.env)
end

--- The JobSet that a run asks for: the runtime's, in the trainer's job with what the TrainJob says, with so many pods
--- as that says, and annotations of a job on its pods, whatever the controllers hand on.
---@param run table
---@return table its spec
function M.asked(run)
  local spec, trainer = value.copy(M.runtime(run).spec.template.spec), run.built.train_job.spec.trainer
  for _, job in ipairs(spec.replicatedJobs) do
    local meta, pod = job.template.metadata or {}, job.template.spec.template
    if (meta.labels or {})[ANCESTOR] == "trainer" then
      with_trainer(job, trainer)
    end
    job.template.spec.parallelism = job.name == "node" and trainer.numNodes or 1
    for key, text in pairs(meta.annotations or {}) do
      pod.metadata = pod.metadata or {}
      pod.metadata.annotations = pod.metadata.annotations or {}
      pod.metadata.annotations[key] = text
    end
  end
  return spec
end

local function same_leaf(sent, got, path)
  if sent == got then
    return true
  end
  local is_amount = path:find("%.limits%.") or path:find("%.requests%.")
  return is_amount and got ~= nil and quantity.compare(sent, got) == 0
end

local function add_lost(out, sent, got, path)
  if type(sent) ~= "table" then
    if not same_leaf(sent, got, path) then
      out[#out + 1] = ("%s: asked %s, got %s"):format(path, json.encode(sent), got == nil and "nothing" or
        json.encode(got))
    end
  elseif next(sent) ~= nil and type(got) ~= "table" then
    out[#out + 1] = ("%s: got nothing"):format(path)
  else
    for _, key in ipairs(value.is_list(sent) and {} or sorted_keys(sent)) do
      add_lost(out, sent[key], got and got[key], path .. "." .. key)
    end
    for i, item in ipairs(value.is_list(sent) and sent or {}) do
      -- Trainer puts its variables before those of the TrainJob: no order counts among them.
      local other = got[i]
      if path:find "%.env$" then
        other = value.named(got, item.name)
      end
      add_lost(out, item, other, ("%s[%d]"):format(path, i))
    end
  end
  return out
end

--- What of a value is not there; amounts are compared as quantities.
---@param sent any
---@param got any
---@param path string
---@return string[]
function M.lost(sent, got, path)
  return add_lost({}, sent, got, path)
end

--- Variables that a container has twice, or with another value than the run's.
---@param container table
---@return string[]
function M.twice(container)
  local out, seen = {}, {}
  for _, entry in ipairs(value.list(container.env)) do
    out[#out + 1] = seen[entry.name] and entry.name or nil
    seen[entry.name] = true
  end
  return out
end

local function words(list, f)
  local out = {}
  for _, item in ipairs(value.list(list)) do
    out[#out + 1] = f(item)
  end
  return table.concat(out, " ")
end

local function common(name)
  return value.named(platform.base_nccl_env(false), name)
end

-- The environment without what every run has and what Trainer sets; what a row changed of the common one is in it.
local function shown_env(list, mnnvl)
  return words(list, function(entry)
    local base = common(entry.name)
    local plain = base and (entry.value == base.value or entry.name == "NCCL_MNNVL_ENABLE" and entry.value == mnnvl)
    if not plain and not ADDED[entry.name] and entry.name ~= M.MINE.name then
      return ("%s=%s"):format(entry.name, entry.value or "(from elsewhere)")
    end
  end)
end

local function shown_amounts(resources)
  local out, is_asked = {}, true
  for _, name in ipairs(sorted_keys(resources and resources.limits or {})) do
    local amount, asked = resources.limits[name], resources.requests and resources.requests[name]
    is_asked = is_asked and asked ~= nil and quantity.compare(asked, amount) == 0
    out[#out + 1] = ("%s %s"):format(name, tostring(amount))
  end
  return (is_asked and "" or "limits only: ") .. table.concat(out, ", ")
end

local function shown_claims(pod, entry)
  local out, resources = {}, value.named(pod.containers, "node").resources
  for _, claim in ipairs(value.list(resources and resources.claims)) do
    local of = value.named(pod.resourceClaims, claim.name)
    local from = of and of.resourceClaimTemplateName or "nowhere"
    out[#out + 1] = ("%s from %s"):format(claim.name, from:sub(1, #entry) == entry and "RUN" .. from:sub(#entry + 1)
      or from)
  end
  return table.concat(out, ", ")
end

local function shown_tolerations(pod)
  return words(pod.tolerations, function(one)
    return ("%s%s:%s"):format(one.key, one.value and "=" .. one.value or "", one.effect)
  end)
end

local function shown_annotations(template)
  local all = template.metadata and template.metadata.annotations or {}
  return words(sorted_keys(all), function(key)
    if not key:find "jobset.sigs.k8s.io" and not key:find "kubernetes.io/" then
      return ("%s=%s"):format(key, (all[key]:gsub("%s", "")))
    end
  end)
end

-- What mpirun hands on to the ranks, without what every run has.
local function shown_ranks(container, mnnvl)
  local list, script = json.array(), table.concat(container.args or {}, " ")
  for name, text in script:gmatch "%-x ([%w_]+)=(%S+)" do
    list[#list + 1] = { name = name, value = text }
  end
  return shown_env(list, mnnvl)
end

local function shown_lines(container)
  local script = container.command and container.command[1] == "/bin/bash" and container.args[1]
  return script and script:match "^(.*)\nexec [^\n]*$":gsub("\n", "; ") or ""
end

local COLUMNS <const> = {
  "platform", "GPU", "framework", "rows of workloadrun.yaml", "job", "pods", "resources", "claims", "tolerations",
  "annotations", "environment", "to the ranks", "before the command", "MNNVL",
}

-- The cells of a job's pods, as they came out, from the fourth column on.
local function cells(one, job)
  local name, pod = job.name, job.pod.spec
  local container = value.named(pod.containers, "node")
  local mnnvl = value.named(container.env, "NCCL_MNNVL_ENABLE").value
  return {
    words(one.run.built.rows, function(row) return row.name end), name, tostring(job.count),
    shown_amounts(container.resources), shown_claims(pod, one.entry), shown_tolerations(pod),
    shown_annotations(job.pod), shown_env(container.env, mnnvl),
    name == "launcher" and shown_ranks(container, mnnvl) or "", shown_lines(container), mnnvl == "1" and "on" or "off",
  }
end

-- Long cells are told below the table.
local LONG <const> = { [7] = "A", [8] = "E", [9] = "X", [10] = "L" }

local function shortened(all, refs, order)
  for i, letter in pairs(LONG) do
    local text = all[i]
    if text ~= "" and not refs[letter .. text] then
      order[letter] = order[letter] or {}
      table.insert(order[letter], text)
      refs[letter .. text] = letter .. #order[letter]
    end
    all[i] = text ~= "" and refs[letter .. text] or ""
  end
  return all
end

local HEAD <const> = [[
# What pods get, by platform, GPU and framework

Generated by `platform_table_spec.lua` from what Trainer %s and JobSet %s made of the
objects of `aicr.platform.build_run` on the test cluster (`UPDATE_GOLDEN=1` writes it
anew): the pod template of the Job, or of the JobSet where the Job waits for others. Runs
whose objects are the same but for their name were made once. The spec also compares all
that was asked for with what came out, here and of real pods.

Each run has two nodes with the GPUs and NICs of its architecture, a variable of the
user's and a pull secret; on premises the NICs are rdma/ib. All pods have these, the
common NCCL environment and shared memory: they are left out here, and so is what Trainer
adds for torchrun and mpirun. Requests are the limits unless it says so. GPUs with the
same cells are one line.

The environment of a container reaches no rank of MPI: sshd gives them a fresh one, with
what mpirun hands on. That is the column "to the ranks", beside the common environment and
the user's.

]]

local KINDS <const> = { { "A", "Annotations" }, { "E", "Environment of the container" },
  { "X", "Environment that mpirun hands on with `-x`" }, { "L", "Lines before the command" } }

-- Lines that differ in the architecture or the framework alone are one.
local function gathered(lines)
  local out, by_key = {}, {}
  for _, line in ipairs(lines) do
    local key = table.concat(line.cells, "|") .. line.platform
    local one = by_key[key .. line.framework]
    if one then
      one.archs[#one.archs + 1] = line.arch
    else
      one = { platform = line.platform, framework = line.framework, archs = { line.arch }, cells = line.cells }
      one.key = key
      by_key[key .. line.framework] = one
      out[#out + 1] = one
    end
  end
  local merged, seen = {}, {}
  for _, one in ipairs(out) do
    local key = one.key .. table.concat(one.archs, " ")
    if seen[key] then
      seen[key].framework = seen[key].framework .. " " .. one.framework
    else
      seen[key] = one
      merged[#merged + 1] = one
    end
  end
  return merged
end

--- The table, as Markdown.
---@param made {run: table, entry: string, jobs: {name: string, pod: table, count: integer}[]}[] what came out of each
--- run, or of the one of its kind with that entry; `pod` is the template of its pods
---@param versions {trainer: string, jobset: string}
---@return string
function M.markdown(made, versions)
  local lines, refs, order = {}, {}, {}
  for _, one in ipairs(made) do
    for _, job in ipairs(one.jobs) do
      lines[#lines + 1] = {
        platform = one.run.platform, arch = one.run.arch, framework = one.run.framework,
        cells = shortened(cells(one, job), refs, order),
      }
    end
  end
  local out = {
    (HEAD:format(versions.trainer, versions.jobset)), "| ", table.concat(COLUMNS, " | "), " |\n",
    ("|---"):rep(#COLUMNS), "|\n",
  }
  for _, line in ipairs(gathered(lines)) do
    out[#out + 1] = ("| %s | %s | %s | %s |\n"):format(line.platform, table.concat(line.archs, " "), line.framework,
      table.concat(line.cells, " | "))
  end
  for _, kind in ipairs(KINDS) do
    out[#out + 1] = order[kind[1]] and ("\n## %s\n\n"):format(kind[2]) or ""
    for i, text in ipairs(order[kind[1]] or {}) do
      out[#out + 1] = ("- %s%d: `%s`\n"):format(kind[1], i, text)
    end
  end
  return table.concat(out)
end

return M
