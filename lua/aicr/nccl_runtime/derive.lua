-- SPDX-License-Identifier: Apache-2.0
--- A benchmark from a runtime that a recipe ships: the shipped worker, with the benchmark's program in it (gke-tcpxo.md
--- 5.4b). What the number says of the shipped runtime holds only as far as nothing else was changed: the baseline
--- refuses what the benchmark would lose, the guard what it would change. Pure.
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local json = require "aicr.json"
local paths = require "aicr.nccl_runtime.paths"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

--- The resource that a worker asks for.
M.GPU = "nvidia.com/gpu"
--- The fields of the worker's container that are the benchmark's own.
M.OWNED = { "image", "command", "args", "resources", "terminationMessagePolicy" }

local WORKER <const>, LAUNCHER <const> = gke.NODE_JOB, "launcher"
local REQUIRED_ENV <const> = { "NCCL_FASTRAK_IFNAME", "NCCL_SOCKET_IFNAME" }
local SECTIONS <const> = { "limits", "requests" }

local function owned_paths()
  local found = {}
  for i, field in ipairs(M.OWNED) do
    found[i] = ("spec.containers[%s].%s"):format(WORKER, field)
  end
  return found
end

local OWNED_PATHS <const> = owned_paths()

local function unfit(fmt, ...)
  errors.raise {
    code = "INVALID_REQUEST", reason = "shipped-worker", verdict = true,
    message = ("ClusterTrainingRuntime %s cannot be measured as shipped: its worker container %s"):format(gke.RUNTIME,
      fmt:format(...)),
  }
end

-- A quantity as it is printed: 8 and 8.0 are "8", text stays as it is.
local function printed(quantity)
  return tostring(type(quantity) == "number" and math.tointeger(quantity) or quantity)
end

local function check_resources(worker)
  for _, section in ipairs(sorted_keys(tree.map(worker, "resources"))) do
    if section ~= "limits" and section ~= "requests" then
      unfit("has resources.%s, which the benchmark would drop", text.printable(section))
    end
    for _, name in ipairs(sorted_keys(tree.map(worker, "resources", section))) do
      if name ~= M.GPU then
        unfit("has resources.%s.%s, which the benchmark would drop", section, text.printable(name))
      end
    end
  end
  for _, section in ipairs(SECTIONS) do
    if tree.dig(worker, "resources", section, M.GPU) == nil then
      unfit("has no resources.%s.%s, which the benchmark would put there", section, M.GPU)
    end
  end
end

--- What must hold of the shipped worker for the benchmark to lose nothing of it (gke-tcpxo.md 5.4b, baseline).
--- Raises INVALID_REQUEST, reason `shipped-worker`.
---@param template table the worker pod template
---@param gpus integer|nil GPUs of each node; not compared when nil
function M.check_baseline(template, gpus)
  local worker = tree.container(template, WORKER)
  if not worker then
    unfit("named %s is not there", WORKER)
  end
  for _, field in ipairs { "command", "args" } do
    if worker[field] ~= nil then
      unfit("has %s, which the benchmark replaces: what it does would be lost", field)
    end
  end
  for _, name in ipairs(REQUIRED_ENV) do
    if not tree.named(worker.env, name) then
      unfit("has no %s in its env, without which the fabric is not used", name)
    end
  end
  check_resources(worker)
  if worker.terminationMessagePolicy ~= nil then
    unfit("has terminationMessagePolicy, which the benchmark would clear")
  end
  for _, section in ipairs(gpus and SECTIONS or {}) do
    local asked = printed(tree.dig(worker, "resources", section, M.GPU))
    if asked ~= printed(gpus) then
      unfit("has resources.%s.%s %s, but the nodes have %d GPUs each", section, M.GPU, text.printable(asked), gpus)
    end
  end
end

-- Appends the entries whose names are not there yet.
local function append_named(map, key, entries)
  for _, entry in ipairs(entries) do
    if not tree.named(map[key], entry.name) then
      map[key] = tree.is_list(map[key]) and map[key] or json.array()
      map[key][#map[key] + 1] = tree.copy(entry)
    end
  end
end

-- Does a variable that mpirun would export change what the shipped worker declares?
local function is_fabric(variable)
  if variable:find("^UCX_") or variable:find("^NCCL_DEBUG=") then
    return false
  end
  return variable:find("^NCCL_") ~= nil or variable:find("^CUDA_") ~= nil or variable:find("^LD_LIBRARY_PATH=") ~= nil
end

-- The words of mpirun without the exports that would go before the shipped env.
local function without_fabric(words)
  local kept, i = json.array(), 1
  while i <= #words do
    local value = words[i] == "-x" and words[i + 1]
    if type(value) == "string" and is_fabric(value) then
      i = i + 1
    else
      kept[#kept + 1] = words[i]
    end
    i = i + 1
  end
  return kept
end

-- Paths at which something may be new, lists and their members as a whole: what was shipped in them stays as it is.
local function added(shipped, derived)
  local new = { ["spec.volumes"] = tree.dig(shipped, "spec", "volumes") == nil }
  local mounts = ("spec.containers[%s].volumeMounts"):format(WORKER)
  local before, after = tree.container(shipped, WORKER), tree.container(derived, WORKER)
  new[mounts] = tree.dig(before, "volumeMounts") == nil
  for path, lists in pairs {
    ["spec.volumes"] = { tree.list(shipped, "spec", "volumes"), tree.list(derived, "spec", "volumes") },
    [mounts] = { tree.list(before, "volumeMounts"), tree.list(after, "volumeMounts") },
  } do
    for _, entry in ipairs(lists[2]) do
      local name = tree.text(entry, "name")
      if name and not tree.named(lists[1], name) then
        new[("%s[%s]"):format(path, name)] = true
      end
    end
  end
  return new
end

-- The paths at which two templates differ outside of what the benchmark owns or adds, and of others that may differ.
local function outside(shipped, derived, others)
  local found, new = {}, added(shipped, derived)
  for _, path in ipairs(paths.changed(shipped, derived)) do
    if not paths.overlaps(path, OWNED_PATHS) and not new[path] and not paths.overlaps(path, others) then
      found[#found + 1] = path
    end
  end
  return #found > 0 and text.printable(table.concat(found, ", ")) or nil
end

--- Refuses a derived worker that differs from the shipped one elsewhere than in what the benchmark owns or adds (5.4b,
--- guard). Raises INTERNAL, reason `derivation`: our defect, no verdict.
---@param shipped table pod template
---@param derived table pod template
function M.guard(shipped, derived)
  local found = outside(shipped, derived, {})
  if found then
    errors.raise {
      code = "INTERNAL", reason = "derivation",
      message = ("the benchmark's worker would differ from that of %s outside of what the benchmark owns, at %s")
        :format(gke.RUNTIME, found),
    }
  end
end

-- What of a worker the user's own nodes, tolerations and image replace (5.4).
local REPLACED <const> = {
  selector = { "spec.nodeSelector" }, tolerations = { "spec.tolerations" },
  image = { ("spec.initContainers[%s].image"):format(WORKER), "spec.initContainers[fix-ssh-perms].image",
    "spec.containers[fix-ssh-perms].image" },
}

--- The guard again, of the runtime that the API server keeps: defaults and webhooks may have changed it since. Raises
--- INTERNAL, reason `object-changed`, no verdict; INVALID_REQUEST, reasons of `gke.node_template`.
---@param shipped table ClusterTrainingRuntime
---@param stored table TrainingRuntime
---@param request table of `request.read`
function M.guard_stored(shipped, stored, request)
  local others = {}
  for field, list in pairs(REPLACED) do
    table.move(request[field] and list or {}, 1, request[field] and #list or 0, #others + 1, others)
  end
  local found = outside(gke.node_template(shipped), gke.node_template(stored), others)
  if found then
    errors.raise {
      code = "INTERNAL", reason = "object-changed",
      message = ("the benchmark's worker is kept by the API server with other content than that of %s, at %s: the"
        .. " number would not speak for what is delivered"):format(gke.RUNTIME, found),
    }
  end
end

--- The benchmark with the shipped worker (5.4b): kind, launcher and policies of the skeleton, the shipped pod template
--- whole, in it the benchmark's own fields. Neither argument is changed. Raises INVALID_REQUEST, reasons of
--- `gke.node_template` and `shipped-worker`; INTERNAL/`derivation`.
---@param skeleton table TrainingRuntime
---@param shipped table ClusterTrainingRuntime
---@param bootstrap string the worker's program, which must leave the shipped env as it is
---@param gpus integer|nil GPUs of each node; not compared when nil
---@return table runtime
function M.derive(skeleton, shipped, bootstrap, gpus)
  local before = gke.node_template(shipped)
  M.check_baseline(before, gpus)
  local runtime, template = tree.copy(skeleton), tree.copy(before)
  local ours = tree.pod_template(runtime, WORKER)
  local worker, program = tree.container(template, WORKER), tree.container(ours, WORKER)
  for _, field in ipairs(M.OWNED) do
    worker[field] = tree.copy(program[field])
  end
  worker.args = json.array { bootstrap }
  append_named(worker, "volumeMounts", tree.list(program, "volumeMounts"))
  template.spec = tree.is_map(template.spec) and template.spec or {}
  append_named(template.spec, "volumes", tree.list(ours, "spec", "volumes"))
  M.guard(before, template)

  local job = tree.named(runtime.spec.template.spec.replicatedJobs, WORKER)
  job.template.spec.template = template
  local launcher = tree.container(tree.pod_template(runtime, LAUNCHER), WORKER)
  launcher.args = without_fabric(launcher.args)
  return runtime
end

--- The digest of a pod template: sha256 of its JSON with sorted keys (5.11).
---@param template table
---@return string hexadecimal
function M.digest(template)
  return text.sha256(json.encode(template))
end

--- What was measured, against what was shipped (5.11): both digests, the paths at which they differ, the paths that
--- were taken over as they were. Raises INVALID_REQUEST, reasons of `gke.node_template`.
---@param shipped table ClusterTrainingRuntime
---@param stored table TrainingRuntime as the API server keeps it
---@return table {shippedDigest, derivedDigest, overriddenPaths, inheritedPaths}
function M.provenance(shipped, stored)
  local before, after = gke.node_template(shipped), gke.node_template(stored)
  local overridden, inherited = paths.changed(before, after), {}
  for _, path in ipairs(paths.leaves(before)) do
    if not paths.overlaps(path, overridden) then
      inherited[#inherited + 1] = path
    end
  end
  return {
    shippedDigest = M.digest(before), derivedDigest = M.digest(after),
    overriddenPaths = overridden, inheritedPaths = inherited,
  }
end

return M
