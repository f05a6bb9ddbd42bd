-- SPDX-License-Identifier: Apache-2.0
--- Override rows: what a run needs on which platform, read from data and rendered for a run
--- (platform-runtimes.md 4; recipes/overrides/workloadrun.yaml says how the data is written).
local env = require "aicr.platform.env"
local errors = require "aicr.native.error"
local fragment = require "aicr.platform.fragment"
local json = require "aicr.json"
local json_patch = require "aicr.platform.patch"
local match = require "aicr.platform.match"
local merge = require "aicr.platform.merge"
local native = require "aicr.native.platform"
local runtime = require "aicr.platform.runtime"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

--- The rows that are built in.
M.FILE = "recipes/overrides/workloadrun.yaml"

local need_text, refuse, step = fragment.need_text, fragment.refuse, fragment.step

--- What a run says, as rows name it.
local KNOWN <const> = {
  EntryName = true, NodesPerJob = true, GpusPerNode = true, MlnxPerNode = true, NicResourceName = true,
  Mnnvl = true, NicCount = true, P2PLevel = true,
}

local CONFIG <const> = {
  "EntryName", "NodesPerJob", "GpusPerNode", "MlnxPerNode", "EnableMNNVL", "FrameworkType", "NicResourceName",
  "UserEnv",
}

local function need_map(at, v)
  if not value.is_map(v) then
    refuse(at, "expected an object, got %s", value.is_list(v) and "a list" or type(v))
  end
end

local function need_list(at, v)
  if not value.is_list(v) then
    refuse(at, "expected a list")
  end
end

local function need_texts(at, v)
  need_list(at, v)
  for i, item in ipairs(v) do
    need_text(step(at, i), item)
  end
end

local function check_variable(at, entry, seen)
  need_map(at, entry)
  need_text(step(at, "name"), entry.name)
  if seen[entry.name] then
    refuse(at, "%s is set twice; the first one is at %s", entry.name, seen[entry.name])
  end
  seen[entry.name] = at.key
  local given, from = value.opt(entry.value), value.opt(entry.valueFrom)
  if given ~= nil and from ~= nil then
    refuse(at, "%s has a value and a valueFrom; the API server takes one", entry.name)
  elseif given == nil and from == nil then
    refuse(at, "%s has neither a value nor a valueFrom", entry.name)
  elseif given ~= nil and type(given) ~= "string" then
    refuse(step(at, "value"), "expected text in quotes, got %s", json.encode(given))
  elseif from ~= nil then
    need_map(step(at, "valueFrom"), from)
  end
end

local function check_env(at, list)
  need_list(at, list)
  local seen = {}
  for i, entry in ipairs(list) do
    check_variable(step(at, i), entry, seen)
  end
end

local function check_pod(at, pod)
  need_map(at, pod)
  for _, field in ipairs { "containers", "initContainers" } do
    local list = value.opt(pod[field])
    if list ~= nil then
      need_list(step(at, field), list)
    end
    for i, container in ipairs(list or {}) do
      local here = step(step(at, field), i)
      need_map(here, container)
      need_text(step(here, "name"), container.name)
      if value.opt(container.env) ~= nil then
        check_env(step(here, "env"), container.env)
      end
    end
  end
end

-- What is merged into the run's own runtime has its form as far as the run looks into it.
local function check_runtime(at, object)
  local v, here = object, at
  for _, key in ipairs { "spec", "template", "spec" } do
    v, here = v[key], step(here, key)
    if v == nil then
      return
    end
    need_map(here, v)
  end
  here = step(here, "replicatedJobs")
  need_list(here, v.replicatedJobs or json.array())
  for i, job in ipairs(v.replicatedJobs or {}) do
    local inner, place = job, step(here, i)
    need_map(place, job)
    need_text(step(place, "name"), job.name)
    for _, key in ipairs { "template", "spec", "template", "spec" } do
      inner, place = inner[key], step(place, key)
      if inner == nil then
        break
      end
      need_map(place, inner)
    end
    if inner then
      check_pod(place, inner)
    end
  end
end

local function check_dependencies(at, list)
  need_list(at, list)
  for i, object in ipairs(list) do
    local here = step(at, i)
    need_map(here, object)
    need_text(step(here, "apiVersion"), object.apiVersion)
    need_text(step(here, "kind"), object.kind)
    need_map(step(here, "metadata"), object.metadata)
    need_text(step(step(here, "metadata"), "name"), object.metadata.name)
    if object.kind == runtime.KIND then
      check_runtime(here, object)
    end
  end
end

local function check_patch(at, list)
  need_list(at, list)
  for i, operation in ipairs(list) do
    local ok, err = pcall(json_patch.check, i, operation)
    if not ok then
      refuse(step(at, i), "%s", errors.is(err) and err.message or tostring(err))
    end
  end
end

local function check_framework(at, word)
  if word ~= "mpi" and word ~= "other" then
    refuse(at, "expected mpi or other, got %s", value.quoted(word))
  end
end

local function check_annotations(at, map)
  need_map(at, map)
  for key, text in pairs(map) do
    need_text(step(at, key), text)
  end
end

local FIELDS <const> = {
  name = need_text, when = match.check, framework = check_framework, dependencies = check_dependencies,
  podSpec = check_pod, jobAnnotations = check_annotations, trainerEnv = check_env, rankEnv = check_env,
  mpiArgs = need_texts, preCommand = need_texts, topologyKey = need_text, jobTemplate = need_map,
  jobTemplatePatch = check_patch,
}

local function check_row(at, row, names)
  need_map(at, row)
  local name = value.opt(row.name)
  if type(name) ~= "string" or name == "" then
    refuse(at, "a row has a name, which tells it apart in messages and results")
  end
  at = { file = at.file, row = name, key = "", known = at.known, fragment = at.fragment, stack = at.stack }
  if names[name] then
    refuse(at, "there are two rows of this name")
  end
  names[name] = true
  for field in pairs(row) do
    if not FIELDS[field] then
      refuse(at, "%s is not known%s", value.quoted(field), value.suggestion(field, sorted_keys(FIELDS)))
    end
  end
  return fragment.resolve(at, row), at
end

--- A fragment that is built in.
---@param name string
---@return string|nil
function M.fragment(name)
  return native.data(("overrides/_lib/%s.yaml"):format(name))
end

--- Reads rows. Raises INVALID_REQUEST/`override` with file, row and key for what cannot be meant:
--- unknown fields and names, fragments that are missing or include themselves, environments with a
--- name twice.
---@param text string YAML
---@param file string its name, for messages
---@param read_fragment? fun(name: string): string? the text of a fragment; default: those that are built in
---@return table rows for `render`
function M.load(text, file, read_fragment)
  local read = fragment.read(text, file)
  local at = { file = file, key = "rows", known = KNOWN, fragment = read_fragment or M.fragment, stack = {} }
  need_map({ file = file }, read)
  for key in pairs(read) do
    if key ~= "rows" then
      refuse({ file = file }, "%s is not known; expected: rows", value.quoted(key))
    end
  end
  need_list(at, read.rows)
  local rows, names = { file = file }, {}
  for i, row in ipairs(read.rows) do
    local resolved, here = check_row(step(at, i), row, names)
    for _, field in ipairs(sorted_keys(resolved)) do
      FIELDS[field](step(here, field), resolved[field])
    end
    if resolved.trainerEnv and resolved.rankEnv then
      refuse(here, "trainerEnv and rankEnv are both the environment of the trainer: one of them would be lost")
    end
    rows[i] = resolved
  end
  return rows
end

local built_in

local function rows_of_binary()
  if not built_in then
    built_in = M.load(native.data "overrides/workloadrun.yaml", M.FILE)
  end
  return built_in
end

local function integer(config, field)
  local n = value.opt(config[field])
  if n ~= nil and math.type(n) ~= "integer" then
    value.invalid("config", "build_overrides: %s: expected a whole number, got %s", field, type(n))
  end
  return n or 0
end

local P2P_LEVEL <const> = { [8] = "SYS", [4] = "PHB", [2] = "PHB" }

--- What rows may name, of a run.
local function said(config)
  local known = {}
  for _, field in ipairs(CONFIG) do
    known[field] = true
  end
  for field in pairs(config) do
    if not known[field] then
      value.invalid("config", "build_overrides: unknown field %s%s", value.quoted(field),
        value.suggestion(field, CONFIG))
    end
  end
  if type(config.EntryName) ~= "string" then
    value.invalid("config", "build_overrides: EntryName: expected text, got %s", type(config.EntryName))
  end
  local nic, nics = value.opt(config.NicResourceName) or "", integer(config, "MlnxPerNode")
  local gpus = integer(config, "GpusPerNode")
  return {
    EntryName = config.EntryName, NodesPerJob = integer(config, "NodesPerJob"), GpusPerNode = gpus,
    MlnxPerNode = nics, NicResourceName = nic, NicCount = nic ~= "" and nics or 0,
    Mnnvl = value.opt(config.EnableMNNVL) and "1" or "0", P2PLevel = P2P_LEVEL[gpus] or "",
  }
end

--- The patch of the runtime's job: its pods, and annotations on its template and its pods. Whether
--- those of a job reach its pods depends on the version of JobSet.
local function runtime_patch(row, entry)
  if not row.podSpec and not row.jobAnnotations then
    return nil
  end
  local pod = { spec = row.podSpec }
  local template = { spec = { template = pod } }
  if row.jobAnnotations then
    template.metadata = { annotations = row.jobAnnotations }
    pod.metadata = { annotations = value.copy(row.jobAnnotations) }
  end
  return {
    apiVersion = runtime.API_VERSION,
    kind = runtime.KIND,
    metadata = { name = runtime.name(entry) },
    spec = { template = { spec = { replicatedJobs = value.array { name = runtime.NODE, template = template } } } },
  }
end

local function override_containers(dependencies, user)
  for _, object in ipairs(dependencies) do
    local spec = object.kind == runtime.KIND and object.spec and object.spec.template and object.spec.template.spec
    for _, job in ipairs(spec and value.list(spec.replicatedJobs) or {}) do
      local pod = job.template and job.template.spec and job.template.spec.template
      for _, container in ipairs(pod and pod.spec and value.list(pod.spec.containers) or {}) do
        if value.opt(container.env) ~= nil then
          container.env = env.override_env(container.env, user)
        end
      end
    end
  end
end

--- A rendered row in the form that is applied.
local function assemble(row, entry, is_mpi, user)
  local out = {
    name = row.name, when = row.when, dependencies = row.dependencies, mpiArgs = row.mpiArgs,
    preCommand = row.preCommand, jobTemplate = row.jobTemplate, jobTemplatePatch = row.jobTemplatePatch,
    orchestration = row.orchestration,
  }
  local patch = runtime_patch(row, entry)
  if patch then
    out.dependencies = out.dependencies or json.array()
    out.dependencies[#out.dependencies + 1] = patch
  end
  override_containers(out.dependencies or {}, user)
  if row.topologyKey then
    out.orchestration = { topology = { topologyKey = row.topologyKey } }
  end
  local trainer = row.trainerEnv
  if row.rankEnv and is_mpi then
    out.mpiArgs = table.move(env.forward(row.rankEnv), 1, 2 * #row.rankEnv, #value.list(out.mpiArgs) + 1,
      value.list(out.mpiArgs))
  elseif row.rankEnv then
    trainer = row.rankEnv
  end
  if trainer then
    local job = { spec = { workload = { trainJob = { trainer = { env = env.override_env(trainer, user) } } } } }
    out.jobTemplate = merge.merge_job(value.opt(out.jobTemplate) or {}, job)
  end
  out.mpiArgs = out.mpiArgs and env.override_mpi_args(out.mpiArgs, user)
  return out
end

-- What a row of the file may have and `apply` does not know.
local SHORT <const> = { "podSpec", "jobAnnotations", "trainerEnv", "rankEnv", "topologyKey" }

--- An override of a user's in the form that is applied: it may have what a row of the file has. Raises
--- INVALID_REQUEST/`override` for such a part that cannot be meant.
---@param row aicr.platform.Row
---@param entry string
---@param is_mpi boolean
---@return table
function M.of_user(row, entry, is_mpi)
  local is_short, at = false, { file = "UserOverrides", row = value.opt(row.name), key = "" }
  for _, field in ipairs(SHORT) do
    if value.opt(row[field]) ~= nil then
      is_short = true
      FIELDS[field](step(at, field), row[field])
    end
  end
  return is_short and assemble(value.copy(row), entry, is_mpi, nil) or row
end

--- The rows for a run, in their order: those of all platforms, `when` chooses later.
---@param rows table what `load` gave
---@param config aicr.platform.OverrideConfig
---@return table[]
function M.render(rows, config)
  local run, out = said(config), json.array()
  local is_mpi, user = config.FrameworkType == "mpi", value.opt(config.UserEnv)
  for _, row in ipairs(rows) do
    if not row.framework or (row.framework == "mpi") == is_mpi then
      local made = fragment.render(row, run)
      made.when = made.when or {}
      out[#out + 1] = assemble(made, config.EntryName, is_mpi, user)
    end
  end
  return out
end

--- The built-in rows for a run.
---@param config aicr.platform.OverrideConfig
---@return table[]
function M.build_overrides(config)
  return M.render(rows_of_binary(), config)
end

return M
