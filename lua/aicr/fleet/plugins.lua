-- SPDX-License-Identifier: Apache-2.0
--- DaemonSets of device plug-ins: which offer a resource, and are they rolled out?
local errors = require "aicr.native.error"
local fabric = require "aicr.platform.fabric"
local nics = require "aicr.fleet.nics"
local node = require "aicr.fleet.node"
local rollout = require "aicr.fleet.rollout"
local shape = require "aicr.fleet.shape"
local text = require "aicr.native.text"

local M = {}

M.GPU = node.GPU

local FIELDS <const> = {
  "metadata.name", "metadata.namespace", "metadata.generation", "metadata.deletionTimestamp",
  "spec.template.spec.containers[*].image", "spec.template.spec.containers[*].name",
  "status.observedGeneration", "status.desiredNumberScheduled", "status.updatedNumberScheduled",
  "status.numberAvailable",
}

-- The last path segment of an image, without tag and digest.
local function image_name(image)
  return (tostring(image):gsub("@.*$", ""):match "[^/]*$":gsub(":.*$", ""))
end

local function containers_of(set)
  local pod, out = set.spec and set.spec.template and set.spec.template.spec or {}, {}
  for i, container in ipairs(pod.containers or {}) do
    out[i] = { name = tostring(container.name), image = image_name(container.image) }
  end
  return out
end

local function reduce(set)
  local status = set.status or {}
  return {
    name = ("%s/%s"):format(text.printable(set.metadata.namespace), text.printable(set.metadata.name)),
    deleted = set.metadata.deletionTimestamp ~= nil,
    containers = containers_of(set), generation = shape.count(set.metadata.generation),
    observed = shape.count(status.observedGeneration), desired = shape.count(status.desiredNumberScheduled),
    updated = shape.count(status.updatedNumberScheduled), available = shape.count(status.numberAvailable),
  }
end

--- The DaemonSets, each with its containers and the names of their images.
---@param ctx aicr.ctx
---@return table[]
function M.list(ctx)
  local sets = {}
  for set in ctx.k8s:each("daemonsets.apps", { fields = FIELDS }) do
    sets[#sets + 1] = shape.read("daemonset", set, reduce)
  end
  return sets
end

--- What a plug-in has to offer there: resources of which one is known, and on premises that of the NICs. Ends the check
--- or raises as `nics.resource` where which one that is is not clear.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@return string[]
function M.resources(ctx, fleet)
  local wanted = {}
  if not fleet.fabric.claimed_gpus then
    wanted[1] = node.GPU
  end
  for _, resource in ipairs(fleet.fabric.resources) do
    if #fabric.plugin_images(resource.name) > 0 then
      wanted[#wanted + 1] = resource.name
    end
  end
  if (fleet.fabric.nics or 0) > 0 then
    wanted[#wanted + 1] = nics.resource(ctx, fleet, fleet.fabric.nics)
  end
  return wanted
end

--- Those that the parameter daemonset names, nil where it names none. Raises INVALID_REQUEST/`daemonset` for a name of
--- another form; ends the check with NOT_FOUND/`daemonset-missing`.
---@param ctx aicr.ctx
---@param sets table[]
---@return table[]|nil
function M.named(ctx, sets)
  local out = {}
  for _, name in ipairs(ctx.params.daemonset) do
    local found
    for _, set in ipairs(sets) do
      found = set.name == name and set or found
    end
    if not name:match "^[^/]+/[^/]+$" then
      errors.raise {
        code = "INVALID_REQUEST", reason = "daemonset",
        message = ('parameter daemonset: expected NAMESPACE/NAME, found "%s"'):format(text.printable(name)),
      }
    elseif not found then
      ctx:fail {
        code = "NOT_FOUND", reason = "daemonset-missing",
        message = ("there is no DaemonSet %s among %d"):format(text.printable(name), #sets),
      }
    end
    out[#out + 1] = found
  end
  return #out > 0 and out or nil
end

local function begins_with(name, prefixes)
  for _, prefix in ipairs(prefixes) do
    if name:sub(1, #prefix) == prefix then
      return true
    end
  end
  return false
end

local function is_plugin(set, images, except)
  for _, container in ipairs(set.containers) do
    for _, image in ipairs(images) do
      if container.image == image and not begins_with(container.name, except) then
        return true
      end
    end
  end
  return false
end

--- Those that offer a resource, by the images of their containers.
---@param sets table[]
---@param resource string
---@return table[]
function M.offering(sets, resource)
  local images, except = fabric.plugin_images(resource)
  local out = {}
  for _, set in ipairs(sets) do
    out[#out + 1] = is_plugin(set, images, except) and set or nil
  end
  return out
end

--- Ends the check where no DaemonSet is known to offer a resource: a fail, NOT_FOUND/`no-device-plugin`, where nodes
--- lack it; else INVALID_REQUEST/`device-plugin-unknown`, no verdict, is raised.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param resource string
---@param looked integer DaemonSets that were looked at
function M.not_found(ctx, fleet, resource, looked)
  local without = 0
  for _, one in ipairs(fleet.nodes) do
    without = without + (node.amount(one, resource) == 0 and 1 or 0)
  end
  local message = ("none of %d DaemonSets is known to offer %s"):format(looked, resource)
  ctx:coverage { verified = 0, total = fleet.total }
  if without > 0 then
    ctx:fail {
      code = "NOT_FOUND", reason = "no-device-plugin",
      message = ("%s, and %d of %d GPU nodes have none"):format(message, without, #fleet.nodes),
    }
  end
  errors.raise {
    code = "INVALID_REQUEST", reason = "device-plugin-unknown",
    message = ("%s, though all GPU nodes have it: name the one that does with --set daemonset=NAMESPACE/NAME"):format(
      message),
  }
end

--- Their names.
---@param sets table[]
---@return string
function M.names(sets)
  local names = {}
  for i, set in ipairs(sets) do
    names[i] = set.name
  end
  return table.concat(names, " ")
end

-- A command of kubectl on a DaemonSet.
local function kubectl(words, set)
  return ("kubectl -n %s %s daemonset %s"):format(set.name:match "^[^/]*", words, set.name:match "/(.*)")
end

-- What is missing of a rollout, nil when nothing is.
local function missing(set)
  if set.deleted then
    return "it is being deleted, and its pods with it"
  elseif set.observed < set.generation then
    return ("generation %d was not observed yet, the last is %d"):format(set.generation, set.observed)
  elseif set.updated < set.desired then
    return ("%d of %d pods are of its current version"):format(set.updated, set.desired)
  elseif set.available < set.desired then
    return ("%d of %d pods are available"):format(set.available, set.desired)
  end
end

--- Wants each rolled out, and together a pod for each node that counts. Ends the check with CONFLICT/`not-rolled-out`
--- or `too-few-pods`.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param sets table[]
function M.require_rolled_out(ctx, fleet, sets)
  local pods = 0
  for _, set in ipairs(sets) do
    local what = missing(set)
    if what then
      ctx:coverage { verified = 0, total = fleet.total }
      ctx:fail {
        reason = "not-rolled-out",
        message = ("DaemonSet %s: %s%s"):format(set.name, what, rollout.missing(ctx, fleet, { set })),
        fix = ("%s; kubectl -n %s get pods -o wide"):format(kubectl(set.deleted and "describe"
          or "rollout status --watch=false", set), set.name:match "^[^/]*"),
      }
    end
    pods = pods + set.desired
  end
  if pods < #fleet.nodes then
    ctx:coverage { verified = 0, total = fleet.total }
    ctx:fail {
      reason = "too-few-pods",
      message = ("%d GPU nodes, but %d pods of %s%s"):format(#fleet.nodes, pods, M.names(sets),
        rollout.missing(ctx, fleet, sets)),
      fix = kubectl("describe", sets[1]) .. "; its node selector and tolerations must let it onto every GPU node",
    }
  end
end

--- The rows of nodes to which a resource is not offered, as `fleet.short_of` gives them: the pods of a DaemonSet may be
--- on other nodes than those that have the GPUs.
---@param fleet aicr.fleet.Fleet
---@param resource string
---@return table[]
function M.without(fleet, resource)
  local rows = {}
  for _, one in ipairs(fleet.nodes) do
    local n = node.amount(one, resource)
    rows[#rows + 1] = n < 1 and { k = one.name, l = "1", r = tostring(n) } or nil
  end
  return rows
end

return M
