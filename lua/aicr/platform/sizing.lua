-- SPDX-License-Identifier: Apache-2.0
--- How many GPUs and NICs a node of a run has, and which nodes have them (platform-runtimes.md 4.5,
--- 5.4).
local json = require "aicr.json"
local native = require "aicr.native.platform"
local value = require "aicr.platform.value"
local yaml = require "aicr.yaml"

local M = {}

M.GPU = "nvidia.com/gpu"
--- More than any machine has: a number that is meant for something else.
M.MAX_PER_NODE = 256
M.MAX_NODES = 100000

local defaults

local function table_of_binary()
  defaults = defaults or yaml.decode(native.data "platforms/gpu_defaults.yaml", { schema = "recipe" })
  return defaults
end

--- What a node has where nobody says it. `known` is false for an architecture that is not in
--- recipes/platforms/gpu_defaults.yaml: sizes are then a guess.
---@param arch string
---@param platform string|nil
---@return {gpusPerNode: integer, mlnxPerNode: integer, mnnvl: boolean, known: boolean}
function M.gpu_defaults(arch, platform)
  local all = table_of_binary()
  local row = all.architectures[arch]
  local base = row or all.unknown
  local here = base.platforms and base.platforms[platform] or {}
  return {
    gpusPerNode = here.gpus or base.gpus, mlnxPerNode = here.nics or base.nics, mnnvl = base.mnnvl or false,
    known = row ~= nil,
  }
end

local function asked(name, n, low, high)
  if n ~= nil and (math.type(n) ~= "integer" or n < low or n > high) then
    value.invalid("size", "%s %s is not valid; expected a whole number from %d to %d", name, value.quoted(n), low, high)
  end
  return n
end

--- The sizes of a run: what was asked for, else the defaults.
---@param arch string
---@param platform string
---@param given {nodes: integer?, gpus: integer?, nics: integer?, mnnvl: boolean?}
---@return {NodesPerJob: integer?, GpusPerNode: integer, MlnxPerNode: integer, EnableMNNVL: boolean, warning: string?}
function M.sizes(arch, platform, given)
  local row = M.gpu_defaults(arch, platform)
  local out = {
    NodesPerJob = asked("nodes", given.nodes, 1, M.MAX_NODES),
    GpusPerNode = asked("gpus", given.gpus, 1, M.MAX_PER_NODE) or row.gpusPerNode,
    MlnxPerNode = asked("nics", given.nics, 0, M.MAX_PER_NODE) or row.mlnxPerNode,
    EnableMNNVL = row.mnnvl,
  }
  if given.mnnvl ~= nil then
    out.EnableMNNVL = given.mnnvl
  end
  if not row.known and arch ~= "" and (given.gpus == nil or given.nics == nil) then
    out.warning = ("the sizes of architecture %s are not known: %d GPUs and %d NICs a node are a guess; say them with"
      .. " --gpus and --nics"):format(value.quoted(arch), out.GpusPerNode, out.MlnxPerNode)
  end
  return out
end

local function allocatable(node)
  return node.status and value.opt(node.status.allocatable) or {}
end

--- Leaves out the nodes that say that they have fewer GPUs than a pod needs. A node that says 0 or
--- nothing stays: a device plugin that restarts says just that.
---@param nodes table[]
---@param need integer GPUs a node; 0: no filter
---@return {kept: table[], excluded: {node: string, has: integer}[], messages: string[]}
function M.gpu_capacity(nodes, need)
  local out = { kept = json.array(), excluded = json.array(), messages = json.array() }
  for _, node in ipairs(nodes) do
    local amount = value.opt(allocatable(node)[M.GPU])
    local has = need > 0 and amount ~= nil and value.whole(amount)
    if has and has > 0 and has < need then
      out.excluded[#out.excluded + 1] = { node = node.metadata.name, has = has }
      out.messages[#out.messages + 1] = ("node %s has %d GPUs, needs %d"):format(node.metadata.name, has, need)
    else
      out.kept[#out.kept + 1] = node
    end
  end
  return out
end

--- The same; raises CONFLICT/`too-few-gpus`, a verdict, when no node is left.
---@param nodes table[]
---@param need integer
---@return {kept: table[], excluded: {node: string, has: integer}[], messages: string[]}
function M.require_gpu_capacity(nodes, need)
  local out = M.gpu_capacity(nodes, need)
  if #out.kept == 0 and #out.excluded > 0 then
    local best = out.excluded[1]
    for _, row in ipairs(out.excluded) do
      best = row.has > best.has and row or best
    end
    require("aicr.native.error").raise {
      code = "CONFLICT", reason = "too-few-gpus", verdict = true, details = { excluded = out.excluded, needs = need },
      message = ("no node has %d GPUs: the best of %d, %s, has %d; --gpus %d asks for no more than that"):format(need,
        #out.excluded, best.node, best.has, best.has),
    }
  end
  return out
end

local function largest_in(v, largest)
  if type(v) ~= "table" then
    return largest
  end
  for key, member in pairs(v) do
    if (key == "limits" or key == "requests") and value.is_map(member) and value.opt(member[M.GPU]) ~= nil then
      largest = math.max(largest, value.whole(member[M.GPU]) or 0)
    end
    largest = largest_in(member, largest)
  end
  return largest
end

--- The most GPUs that a container of the objects asks for, 0 for none.
---@param objects table[] a job template, dependencies
---@return integer
function M.gpus_needed(objects)
  return largest_in(objects, 0)
end

return M
