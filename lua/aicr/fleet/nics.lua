-- SPDX-License-Identifier: Apache-2.0
--- Resources of the fabric whose names the nodes say: NICs on premises, networks of GPUDirect-TCPXO
--- (platform-runtimes.md 5.5, 5.6).
local errors = require "aicr.native.error"
local excluded = require "aicr.fleet.excluded"
local platform = require "aicr.platform"
local rules = require "aicr.platform.nics"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"
local node = require "aicr.fleet.node"

local M = {}

-- "rdma/ib on 2 of 3 (fewer on n2)"; of a resource that few nodes have enough of, those are named.
local function words_of(fleet, name, count, enough)
  local few, have = {}, {}
  for _, one in ipairs(fleet.nodes) do
    local into = node.amount(one, name) >= count and have or few
    into[#into + 1] = one
  end
  local told = enough >= #few and few or have
  return ("%s on %d of %d%s"):format(text.printable(name), enough, #fleet.nodes, #told == 0 and ""
    or (told == few and " (fewer on %s)" or " (%s)"):format(excluded.names(told)))
end

-- Names of NIC resources, with how many nodes have enough.
local function candidates(fleet, count)
  local enough = {}
  for _, one in ipairs(fleet.nodes) do
    for name in pairs(one.offers) do
      if name == rules.MLNX or name:sub(1, #rules.RDMA_PREFIX) == rules.RDMA_PREFIX then
        enough[name] = (enough[name] or 0) + (node.amount(one, name) >= count and 1 or 0)
      end
    end
  end
  local names, whole, words = sorted_keys(enough), {}, {}
  for i, name in ipairs(names) do
    whole[#whole + 1] = enough[name] == #fleet.nodes and name or nil
    words[i] = words_of(fleet, name, count, enough[name])
  end
  return whole, words
end

--- The resource under which NICs are asked for: the parameter nic_resource, else the only one that all nodes have
--- enough of. Ends the check with CONFLICT/`no-nic-resource` when there is none; raises INVALID_REQUEST/
--- `nic-resource-unknown`, no verdict, when there are several.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param count integer NICs a node
---@return string
function M.resource(ctx, fleet, count)
  if ctx.params.nic_resource ~= "" then
    return ctx.params.nic_resource
  end
  local whole, words = candidates(fleet, count)
  if #whole > 1 then
    errors.raise {
      code = "INVALID_REQUEST", reason = "nic-resource-unknown",
      message = ("several NIC resources are on every GPU node: %s; say which one pods ask for with --set"
        .. " nic_resource=NAME"):format(text.printable(table.concat(whole, ", "))),
    }
  elseif #whole == 0 then
    ctx:coverage { verified = 0, total = fleet.total }
    ctx:fail {
      reason = "no-nic-resource",
      message = ("no NIC resource (%s… or %s) has %d on every GPU node%s"):format(rules.RDMA_PREFIX, rules.MLNX, count,
        #words > 0 and ": " .. table.concat(words, ", ") or ", and none has any"),
    }
  end
  return whole[1]
end

-- "; fewer on n1 (7)", of the nodes that have fewer networks, "" where none has.
local function fewer(objects, count)
  local words = {}
  for _, object in ipairs(objects) do
    local n = #rules.networks_of(object)
    words[#words + 1] = n < count and ("%s (%d)"):format(text.printable(object.metadata.name), n) or nil
  end
  return #words > 0 and "; fewer on " .. excluded.some(words) or ""
end

--- Wants so many networks on every node; gives the words for it. Ends the check with CONFLICT/`too-few-networks`.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param count integer
---@return string
function M.require_networks(ctx, fleet, count)
  local objects = {}
  for i, one in ipairs(fleet.nodes) do
    local offered = {}
    for name, amount in pairs(one.offers) do
      offered[name] = node.amount(one, name) > 0 and amount or nil
    end
    objects[i] = { metadata = { name = one.name }, status = { allocatable = offered } }
  end
  local found = platform.detect_gke_networks(objects)
  if found.order == "default" then
    ctx:coverage { verified = 0, total = fleet.total }
    ctx:fail {
      reason = "too-few-networks",
      message = ("%d networks must be on every GPU node beside the default one: %s%s"):format(count,
        text.printable((found.warning:match "^(.-), needed" or found.warning)), fewer(objects, count)),
    }
  end
  return ("%d networks: %s"):format(#found.networks, text.printable(table.concat(found.networks, " ")))
end

return M
