-- SPDX-License-Identifier: Apache-2.0
--- A benchmark whose objects are wholly built: from the catalogue of tests, the builders and the override rows of its
--- platform, as `aicr-run render` prints them (platform-runtimes.md 3, 4, 6). A platform's file says the rest.
local claims = require "aicr.nccl_runtime.claims"
local domains = require "aicr.fleet.domains"
local errors = require "aicr.native.error"
local fleet = require "aicr.fleet"
local fleet_nics = require "aicr.fleet.nics"
local nics = require "aicr.platform.nics"
local objects = require "aicr.nccl_runtime.objects"
local placement = require "aicr.nccl_runtime.placement"
local platform = require "aicr.platform"
local quantity = require "aicr.quantity"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

local KIND <const>, WORKER <const> = "TrainingRuntime", "node"
local UNITS <const> = { [""] = 0, K = 10, M = 20, G = 30, T = 40 }

local function names_of(nodes)
  local names = {}
  for i, one in ipairs(nodes) do
    names[i] = one.name
  end
  return names
end

-- Bytes of a size as nccl-tests takes it.
local function bytes_of(size)
  local number, unit = size:match "^(%d+)(%a?)$"
  return math.tointeger(tonumber(number)) << UNITS[unit]
end

-- What stands behind a word of the program's arguments.
local function argument(args, word)
  for i, one in ipairs(args) do
    if one == word then
      return args[i + 1]
    end
  end
end

-- GPUs of each node; ends the check where nodes have fewer than others, or than was asked for.
local function gpus_of(ctx, seen)
  local gpus = ctx.params.gpus or 0
  for _, one in ipairs(ctx.params.gpus and {} or seen.nodes) do
    gpus = math.max(gpus, one.gpus)
  end
  local short = fleet.short_of(seen, gpus, function(one) return one.gpus end)
  if #short > 0 then
    fleet.fail_short(ctx, seen, { reason = "gpu-counts", what = "GPUs", need = gpus, rows = short })
  end
  return gpus
end

local function require_nodes(ctx, seen)
  local words = fleet.covered(ctx, seen)
  if #seen.nodes < math.max(seen.asked, 2) then
    ctx:fail {
      code = "NOT_FOUND", reason = "too-few-nodes",
      message = seen.asked > 2 and ("%d GPU nodes are asked for, and it can run on %s"):format(seen.asked, words)
        or ("the benchmark measures between nodes and needs two: it can run on %s"):format(words),
    }
  end
  return words
end

local function sizes_of(ctx, request, gpus)
  local sizes = platform.sizes(request.arch, request.platform, {
    gpus = gpus, nics = ctx.params.nics, mnnvl = ctx.params.mnnvl,
  })
  if sizes.warning then
    errors.raise {
      code = "INVALID_REQUEST", reason = "sizes-unknown",
      message = ("how many NICs a node of architecture %s has is not known; say it with --set nics=N"):format(
        text.printable(request.arch)),
    }
  end
  return sizes
end

-- The resource under which NICs are asked for, where that is the site's.
local function nic_resource(ctx, request, seen, sizes)
  if ctx.params.nic_resource ~= "" then
    return ctx.params.nic_resource
  elseif nics.needs_resource(request.platform, request.arch) and sizes.MlnxPerNode > 0 then
    return fleet_nics.resource(ctx, seen, sizes.MlnxPerNode)
  end
end

-- What a worker asks of its node, each node must have: its pod would stay Pending, and the benchmark end without a
-- word of why. Of cpu and memory nobody knows what is free.
local function require_resources(ctx, seen, runtime)
  local worker = tree.container(tree.pod_template(runtime, WORKER), WORKER)
  local limits = tree.map(worker, "resources", "limits")
  local names = {}
  for name in pairs(limits) do
    names[#names + 1] = name:find("/", 1, true) and name or nil
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local need = quantity.value(tostring(limits[name]))
    local short = fleet.short_of(seen, need, function(one) return fleet.amount(one, name) end)
    if #short > 0 then
      fleet.fail_short(ctx, seen, {
        reason = "too-few-resources", what = name .. " allocatable", need = need, rows = short, offers = true,
        why = ("each worker asks for %d %s and would stay Pending"):format(need, name),
      })
    end
  end
end

-- Where nothing but NVLink carries it, all nodes must be of one domain: NCCL would go over TCP between two.
local function require_domain(ctx, seen, transport)
  local found = transport.nvlink and seen.fabric.domain_label and domains.of(seen)
  if not found then
    return
  elseif #found.groups == 0 then
    ctx:evidence("whether the nodes share an NVLink domain is not known: none has the label %s", found.label)
    return
  end
  ctx:evidence("NVLink domains, %s: %s", found.label, domains.text(found))
  local rows = domains.apart(found)
  if #rows > 0 and not transport.fabric then
    ctx:fail {
      reason = "several-nvlink-domains",
      message = ("multi-node NVLink is to carry all of it, and %d of %d nodes are not of the domain that node %s is of:"
        .. " %s%s"):format(#rows, #seen.nodes, found.groups[1].nodes[1].name, domains.text(found),
        #found.silent > 0 and "; without the label: " .. fleet.node_names(found.silent) or ""),
      fix = ("choose the nodes of one domain with --set nccl-all-reduce-bw.node_selector=%s=%s, or say what carries it"
        .. " between domains with --set nccl-all-reduce-bw.fabric=NAME. Look with: %s"):format(found.label,
        found.groups[1].name, domains.look(found)),
      details = { diff = { key = "node", left = "the first domain", right = "on the node", rows = rows } },
    }
  end
end

local function describe(ctx, request, test, built, words, sizes)
  local rows, own = {}, {}
  for _, row in ipairs(built.rows) do
    rows[#rows + 1] = not row.user and row.name or nil
    own[#own + 1] = row.file and text.printable(row.name) or nil
  end
  ctx:evidence("%s, %d GPUs of each", words, sizes.GpusPerNode)
  ctx:evidence("built for %s %s: program and environment %s, rows %s%s", request.platform,
    text.printable(request.arch), test.row, #rows > 0 and table.concat(rows, " ") or "none",
    #own > 0 and (" and %s of parameter overrides"):format(table.concat(own, " ")) or "")
  if #built.unreached > 0 then
    ctx:evidence("set in containers, and not for the ranks: %s; a row of parameter overrides can forward it, mpiArgs:"
      .. " [-x, NAME=VALUE]", text.printable(table.concat(built.unreached, " ")))
  end
  if built.topology then
    ctx:evidence("the nodes should share the label %s, which is not looked at", built.topology.topologyKey)
  end
  if test.published then
    ctx:evidence("published for such nodes: %.2f GB/s with %d nodes, as an order of magnitude",
      test.published.busBandwidthGBps, test.published.nodes)
  end
end

--- The nodes of the benchmark and what is made for them. Ends the check when nodes are not enough, or do not offer what
--- workers ask for. Raises what `aicr.fleet.read` raises; INVALID_REQUEST/`sizes-unknown`, `other-architecture`.
---@param ctx aicr.ctx
---@param request table of `request.read`
---@return table size as of `sizing.of`, and runtime, job, objects, transport, min_bytes
function M.size(ctx, request)
  local seen = request.fleet or fleet.read(ctx)
  if seen.arch ~= request.arch then
    errors.raise {
      code = "INVALID_REQUEST", reason = "other-architecture",
      message = ("the benchmark is for %s, and the GPU nodes are %s (%s)"):format(text.printable(request.arch),
        text.printable(seen.arch), seen.by),
    }
  end
  local words, gpus = require_nodes(ctx, seen), gpus_of(ctx, seen)
  local sizes = sizes_of(ctx, request, gpus)
  local test, built = objects.build(objects.ALL_REDUCE, {
    platform = request.platform, arch = request.arch, nodes = #seen.nodes, gpus = gpus, nics = sizes.MlnxPerNode,
    mnnvl = sizes.EnableMNNVL, nic_resource = nic_resource(ctx, request, seen, sizes), image = request.image,
    min_bytes = request.min_size, max_bytes = request.max_size, overrides = request.overrides,
  })
  describe(ctx, request, test, built, words, sizes)
  local names = names_of(seen.nodes)
  local size = {
    nodes = names, workers = #names, gpus = gpus, total = #names * gpus, job = built.train_job, objects = {},
    covers = #names < seen.total and words or nil, min_bytes = bytes_of(argument(test.args, "-b")),
    transport = {
      fabric = request.fabric and { request.fabric } or request.row.fabric,
      nvlink = request.row.nvlink and sizes.EnableMNNVL or nil,
    },
  }
  for _, object in ipairs(built.dependencies) do
    if object.kind == KIND then
      size.runtime = object
    else
      size.objects[#size.objects + 1] = object
    end
  end
  require_resources(ctx, seen, size.runtime)
  claims.require(ctx, seen, size.runtime, size.objects)
  require_domain(ctx, seen, size.transport)
  return size
end

--- What is applied for these nodes.
---@param _ aicr.ctx
---@param request table
---@param _source table
---@param size table of `size`
---@return table TrainingRuntime
---@return table job TrainJob
---@return table[] objects what both need
function M.runtime(_, request, _source, size)
  return placement.pin(size.runtime, size.nodes, request.selector, request.tolerations), size.job, size.objects
end

--- A platform's file.
---@param own {LOOK: string, needs: string[]|nil} LOOK: where to look when its fabric is not used
---@return table
function M.platform(own)
  return {
    needs = { claims.needs, own.needs or {} }, LOOK = own.LOOK, size = M.size, runtime = M.runtime,
    preflight = function() end, observed = function() end,
  }
end

return M
