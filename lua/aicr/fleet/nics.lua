-- SPDX-License-Identifier: Apache-2.0
--- Resources of the fabric whose names the nodes say: NICs on premises, networks of GPUDirect-TCPXO
--- (platform-runtimes.md 5.5, 5.6).
local errors = require "aicr.native.error"
local platform = require "aicr.platform"
local rules = require "aicr.platform.nics"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"
local node = require "aicr.fleet.node"

local M = {}

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
    words[i] = ("%s on %d of %d"):format(text.printable(name), enough[name], #fleet.nodes)
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
      message = ("%d networks must be on every GPU node beside the default one: %s"):format(count,
        text.printable((found.warning:match "^(.-), needed" or found.warning))),
    }
  end
  return ("%d networks: %s"):format(#found.networks, text.printable(table.concat(found.networks, " ")))
end

return M
