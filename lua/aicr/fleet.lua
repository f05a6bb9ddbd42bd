-- SPDX-License-Identifier: Apache-2.0
--- The GPU nodes of a cluster, as the deployment checks of a platform look at them: which there are,
--- which of them count, and what each has to offer (platform-runtimes.md 5, 9). Nothing is guessed:
--- what the nodes do not say as one is an error that names the parameter which settles it.
local detect = require "aicr.platform.detect"
local devices = require "aicr.fleet.devices"
local errors = require "aicr.native.error"
local excluded = require "aicr.fleet.excluded"
local node = require "aicr.fleet.node"
local platform = require "aicr.platform"
local fabric = require "aicr.platform.fabric"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"

local M = {}

-- Kinds of nodes of which it is told what they offer.
local GROUPS_MAX <const> = 3

--- For a check's `needs`.
M.needs = { "list nodes", devices.needs }

--- For a check's `params`.
---@return table<string, aicr.Param>
function M.params(more)
  local params = {
    arch = {
      type = "string", default = "", help = 'architecture of the GPUs, such as h100; "" for what recipe or nodes say',
    },
    gpus = { type = "integer", min = 1, max = 256, help = "GPUs a node must offer; default: by architecture" },
    nics = { type = "integer", min = 0, max = 256, help = "NICs a node must offer; default: by architecture" },
    nodes = { type = "integer", min = 1, max = 100000, help = "GPU nodes there must be; default: the recipe's" },
    node_selector = { type = "list", default = "", help = "KEY=VALUE,…: only these nodes, which all must have GPUs" },
  }
  for name, param in pairs(more or {}) do
    params[name] = param
  end
  return params
end

M.node_names = excluded.names

local function invalid(code, reason, fmt, ...)
  errors.raise { code = code, reason = reason, message = fmt:format(...) }
end

local function criteria(ctx, key)
  local all = type(ctx.recipe) == "table" and ctx.recipe.criteria
  return type(all) == "table" and all[key] or nil
end

-- The architecture that somebody said, and who.
local function asked_architecture(ctx)
  local given = ctx.params.arch
  if given ~= "" then
    if not given:match "^%l[%l%d]*$" then
      invalid("INVALID_REQUEST", "architecture", 'parameter arch: expected lower-case letters and digits, such as h100,'
        .. ' found "%s"', text.printable(given))
    end
    return given, "parameter arch"
  end
  local accelerator = criteria(ctx, "accelerator")
  if type(accelerator) == "string" and accelerator ~= "any" and accelerator ~= "" then
    return (accelerator:lower():gsub("-", "")), "the recipe's criteria"
  end
end

local function asked_nodes(ctx)
  local n = ctx.params.nodes or criteria(ctx, "nodes")
  return math.type(n) == "integer" and n or 0
end

-- Names each architecture with how many nodes have it, and one of them.
local function architectures(nodes)
  local count, first, words = {}, {}, {}
  for _, one in ipairs(nodes) do
    local arch = one.arch ~= "" and one.arch or nil
    if arch then
      count[arch], first[arch] = (count[arch] or 0) + 1, first[arch] or one.name
    end
  end
  for arch, n in pairs(count) do
    words[#words + 1] = ("%s on %d, such as %s"):format(text.printable(arch), n, text.printable(first[arch]))
  end
  table.sort(words)
  return words, next(count)
end

local function decide_architecture(ctx, nodes)
  local asked, by = asked_architecture(ctx)
  if asked then
    return asked, by
  end
  local words, arch = architectures(nodes)
  if #words == 0 then
    invalid("INVALID_REQUEST", "architecture-unknown", "none of %d GPU nodes says which GPUs it has: no label %s, no"
      .. " device of %s with a productName; say it with --set arch=NAME", #nodes, detect.PRODUCT_LABEL,
      detect.DRA_DRIVER)
  elseif #words > 1 then
    invalid("CONFLICT", "mixed-architectures", "the GPU nodes have more than one architecture: %s; say which one is"
      .. " meant with --set arch=NAME", table.concat(words, "; "))
  end
  return arch, "what the nodes say"
end

local function decide_platform(ctx, nodes)
  if ctx.platform then
    if nodes[1].looks_like then
      ctx:evidence("the platform is %s as was said; node %s looks like %s", ctx.platform, text.printable(nodes[1].name),
        nodes[1].looks_like)
    end
    return ctx.platform
  end
  local objects = {}
  for i, one in ipairs(nodes) do
    objects[i] = one.object
  end
  local found = platform.detect_platform(objects)
  if not found.told then
    invalid("INVALID_REQUEST", "platform-unknown", "the GPU nodes do not say which platform this is: %s; say it with"
      .. " --platform, one of %s", found.why, platform.names_list())
  end
  return found.platform
end

local function no_nodes(ctx, seen, why)
  ctx:coverage { verified = 0, total = asked_nodes(ctx) }
  ctx:fail { code = "NOT_FOUND", reason = "no-gpu-nodes", message = ("none of %d nodes %s"):format(seen, why) }
end

-- The ResourceSlices, where nodes may have GPUs as devices of DRA that no label and no resource tells of. Where labels
-- tell of some, they are read if they can be: other nodes may have none.
local function slices_for(ctx, fleet, marked, silent)
  if #marked == 0 or silent > 0 and not asked_architecture(ctx) then
    return devices.slices(ctx, fleet)
  end
  for _, one in ipairs(marked) do
    if one.offers[node.GPU] == nil then
      return (ctx:try(devices.slices, ctx, fleet))
    end
  end
end

-- The nodes that are marked as GPU nodes, or that a selector chose, or that have devices of GPUs.
local function gpu_nodes(ctx, fleet)
  local all = node.list(ctx)
  node.mark_alike(all)
  local chosen = #ctx.params.node_selector > 0
  local marked, silent = {}, 0
  for _, one in ipairs(all) do
    if chosen or one.marked then
      marked[#marked + 1] = one
      silent = silent + (one.arch == "" and 1 or 0)
    end
  end
  local slices = slices_for(ctx, fleet, marked, silent)
  if slices then
    local products = detect.products_of_slices(slices)
    marked = {}
    for _, one in ipairs(all) do
      local product = products[one.name]
      one.arch = one.arch == "" and product and platform.gpu_architecture(product) or one.arch
      if chosen or one.marked or product then
        marked[#marked + 1] = one
      end
    end
  end
  if #marked == 0 then
    no_nodes(ctx, #all, "is a GPU node: no label " .. detect.PRODUCT_LABEL .. ", no GPU that it offers")
  end
  return marked, #all
end

-- GPUs of each node: an extended resource, or devices.
local function count_gpus(ctx, fleet, nodes)
  local of = fleet.fabric.claimed_gpus and devices.count(ctx, fleet, detect.DRA_DRIVER) or nil
  for _, one in ipairs(nodes) do
    one.gpus = of and (of[one.name] or 0) or node.amount(one, node.GPU)
  end
end

local function describe(ctx, fleet)
  ctx:evidence("%s %s (%s): %d GPU nodes, %d of them looked at", fleet.platform, text.printable(fleet.arch), fleet.by,
    #fleet.nodes + #fleet.excluded, #fleet.nodes)
  excluded.tell(ctx, fleet)
end

--- Reads the GPU nodes and what is asked of them. Ends the check with NOT_FOUND/`no-gpu-nodes` or `no-usable-nodes`
--- when none is left; raises `mixed-platforms`, `platform-unknown`, `mixed-architectures`, `architecture-unknown`,
--- `architecture`, `quantity`, `size`, and what the client raises, none of them verdicts.
---@param ctx aicr.ctx
---@return aicr.fleet.Fleet
function M.read(ctx)
  local fleet = { asked = asked_nodes(ctx) }
  local nodes, seen = gpu_nodes(ctx, fleet)
  fleet.platform = decide_platform(ctx, nodes)
  fleet.arch, fleet.by = decide_architecture(ctx, nodes)
  local params = ctx.params
  fleet.sizes = platform.sizes(fleet.arch, fleet.platform, { gpus = params.gpus, nics = params.nics })
  fleet.arch_known = platform.gpu_defaults(fleet.arch, fleet.platform).known
  fleet.gpus_known = fleet.arch_known or params.gpus ~= nil
  fleet.fabric = fabric.fabric(fleet.platform, fleet.arch, fleet.sizes)
  count_gpus(ctx, fleet, nodes)
  fleet.nodes, fleet.excluded, fleet.others = excluded.sort(nodes, fleet.arch, asked_architecture(ctx) ~= nil)
  fleet.total = math.max(fleet.asked, #fleet.nodes + #fleet.excluded)
  describe(ctx, fleet)
  if #fleet.nodes + #fleet.excluded == 0 then
    no_nodes(ctx, seen, ("has %s GPUs (%s says so): %s"):format(text.printable(fleet.arch), fleet.by,
      table.concat((architectures(nodes)), "; ")))
  elseif #fleet.nodes == 0 then
    ctx:coverage { verified = 0, total = fleet.total }
    ctx:fail {
      code = "NOT_FOUND", reason = "no-usable-nodes",
      message = ("none of %d GPU nodes can be looked at: %s"):format(#fleet.excluded, excluded.text(fleet.excluded)),
    }
  end
  return fleet
end

--- Records how many nodes were verified, and gives the words for it: "5 of 6 GPU nodes", with those that were left out.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param verified? integer default: all that were looked at
---@return string
function M.covered(ctx, fleet, verified)
  verified = verified or #fleet.nodes
  ctx:coverage { verified = verified, total = fleet.total }
  local words = ("%d of %d GPU nodes"):format(verified, fleet.total)
  if #fleet.excluded > 0 then
    words = ("%s (left out: %s)"):format(words, excluded.text(fleet.excluded))
  end
  if #fleet.others > 0 then
    words = ("%s (of another architecture: %s)"):format(words, excluded.text(fleet.others))
  end
  return words
end

--- Ends the check with CONFLICT/`no-gpus-offered` where nodes are ready but offer no GPU.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
function M.fail_empty(ctx, fleet)
  local empty = {}
  for _, row in ipairs(fleet.excluded) do
    empty[#empty + 1] = row.empty and { name = row.node } or nil
  end
  if #empty > 0 then
    M.covered(ctx, fleet)
    ctx:fail {
      reason = "no-gpus-offered",
      message = ("%d of %d GPU nodes are ready but offer no GPU: %s"):format(#empty, fleet.total, M.node_names(empty)),
    }
  end
end

--- Ends the check as a skip: the fabric needs nothing of that kind there, or nothing is known of it.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param what string such as "no device of DRA"
function M.skip(ctx, fleet, what)
  local needs, where = fleet.fabric, ("%s %s"):format(fleet.platform, text.printable(fleet.arch))
  if #needs.rows == 0 then
    ctx:skip {
      reason = "not-known",
      message = ("%s has no row for %s: nothing is known of what its fabric needs"):format(fabric.FILE, where),
    }
  elseif not fleet.arch_known and ctx.params.nics == nil then
    ctx:skip {
      reason = "not-known",
      message = ("how many NICs nodes of %s have is not known; say it with --set nics=N"):format(where),
    }
  end
  ctx:skip {
    reason = "not-needed",
    message = ("%s needs %s (%s: %s)"):format(where, what, fabric.FILE,
      needs.nothing or table.concat(needs.rows, ", ")),
  }
end

--- How many devices of a driver each node has, by its name; none is no key. Reads the ResourceSlices once.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param driver string
---@return table<string, integer>
function M.devices(ctx, fleet, driver)
  return devices.count(ctx, fleet, driver)
end

--- How much of a resource a node offers, 0 where it does not.
---@param one aicr.fleet.Node
---@param resource string
---@return integer
function M.amount(one, resource)
  return node.amount(one, resource)
end

--- How many GPUs a node says that it has, well or not; 0 where it says none.
---@param one aicr.fleet.Node
---@return integer
function M.gpu_capacity(one)
  return node.gpu_capacity(one)
end

--- The rows of nodes that have less than they need: `{k = node, l = needed, r = has}`, for a comparison.
---@param fleet aicr.fleet.Fleet
---@param need integer|fun(one: aicr.fleet.Node): integer
---@param has fun(one: aicr.fleet.Node): integer
---@return table[]
function M.short_of(fleet, need, has)
  local rows = {}
  for _, one in ipairs(fleet.nodes) do
    local n, wanted = has(one), type(need) == "function" and need(one) or need
    if n < wanted then
      rows[#rows + 1] = { k = one.name, l = tostring(wanted), r = tostring(n) }
    end
  end
  return rows
end

-- What nodes without a resource offer instead, once for those that offer the same: its name may be another.
local function tell_offers(ctx, fleet, rows)
  local without, groups, by_offers = {}, {}, {}
  for _, row in ipairs(rows) do
    without[row.k] = row.r == "0" or nil
  end
  for _, one in ipairs(fleet.nodes) do
    if without[one.name] then
      local group = by_offers[one.offers] or { offers = one.offers }
      if not by_offers[one.offers] then
        by_offers[one.offers], groups[#groups + 1] = group, group
      end
      group[#group + 1] = one
    end
  end
  for i = 1, math.min(#groups, GROUPS_MAX) do
    local words = {}
    for _, name in ipairs(sorted_keys(groups[i].offers)) do
      words[#words + 1] = ("%s=%s"):format(text.printable(name), text.printable(tostring(groups[i].offers[name])))
    end
    ctx:evidence("%s offer: %s", M.node_names(groups[i]), #words > 0 and excluded.some(words) or "nothing of the kind")
  end
end

--- Ends the check with such rows: a fail that names the nodes and both sides.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param t {reason: string, what: string, need: integer|nil, rows: table[], why: string?, fix: string?,
---  offers: boolean?} need: nil where it differs; offers: those that have none are told with what they offer
function M.fail_short(ctx, fleet, t)
  local words = {}
  for i, row in ipairs(t.rows) do
    words[i] = ("%s (%s%s)"):format(text.printable(row.k), row.r, t.need and "" or " of " .. row.l)
  end
  ctx:coverage { verified = #fleet.nodes - #t.rows, total = fleet.total }
  if t.offers then
    tell_offers(ctx, fleet, t.rows)
  end
  ctx:fail {
    code = "CONFLICT", reason = t.reason, why = t.why, fix = t.fix,
    message = ("%d of %d GPU nodes have fewer %s: %s"):format(#t.rows, #fleet.nodes,
      t.need and ("than %d %s"):format(t.need, t.what) or t.what, excluded.some(words)),
    details = { diff = { key = "node", left = "required", right = "on the node", rows = t.rows } },
  }
end

return M
