-- SPDX-License-Identifier: Apache-2.0
--- On which nodes pods of a DaemonSet are missing or not ready. Only looked at where a rollout is known to be short.
local excluded = require "aicr.fleet.excluded"
local shape = require "aicr.fleet.shape"
local value = require "aicr.platform.value"

local M = {}

M.needs = "list pods"

local FIELDS <const> = {
  "metadata.name", "metadata.ownerReferences[*].kind", "metadata.ownerReferences[*].name", "spec.nodeName",
  "status.conditions[*].type", "status.conditions[*].status",
}

local function is_ready(pod)
  for _, condition in ipairs(value.list(pod.status and pod.status.conditions)) do
    if condition.type == "Ready" then
      return condition.status == "True"
    end
  end
  return false
end

-- The node of a pod that is ready and of the DaemonSet of that name, nil for another.
local function node_of(pod, name)
  for _, owner in ipairs(value.list(pod.metadata.ownerReferences)) do
    if owner.kind == "DaemonSet" and owner.name == name then
      return is_ready(pod) and pod.spec and pod.spec.nodeName or nil
    end
  end
end

--- The GPU nodes without a ready pod of these DaemonSets, in words: "; without a ready pod: n2". "" where pods cannot
--- be read, which the evidence says: the verdict stands without them.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
---@param sets {name: string}[] NAMESPACE/NAME
---@return string
function M.missing(ctx, fleet, sets)
  local ready, without = {}, {}
  for _, set in ipairs(sets) do
    local namespace, name = set.name:match "^([^/]+)/(.+)$"
    local pods, err = ctx:try(ctx.k8s.list, ctx.k8s, "pods", { namespace = namespace, fields = FIELDS })
    if not pods then
      ctx:evidence("on which nodes pods of %s are missing cannot be read: %s", set.name, err.message)
      return ""
    end
    for _, pod in ipairs(pods) do
      ready[shape.read("pod", pod, node_of, name) or ""] = true
    end
  end
  for _, one in ipairs(fleet.nodes) do
    without[#without + 1] = not ready[one.name] and one or nil
  end
  return #without > 0 and "; without a ready pod: " .. excluded.names(without) or ""
end

return M
