-- SPDX-License-Identifier: Apache-2.0
--- Where the benchmark's workers may run: what the user asks for, `--node-selector` and `--toleration` of AICR
--- (validation-model.md 3.2), and how it gets into a runtime (gke-tcpxo.md 5.4). Pure.
local errors = require "aicr.native.error"
local json = require "aicr.json"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

local EFFECTS <const> = { NoSchedule = true, PreferNoSchedule = true, NoExecute = true }
local TOLERATION <const> = "KEY=VALUE:EFFECT, KEY:EFFECT or *"

-- What the user wrote is no verdict about the cluster.
local function misspelt(what, expected, found)
  errors.raise {
    code = "INVALID_REQUEST", reason = what,
    message = ("%s: expected %s, found \"%s\""):format(what, expected, text.printable(found)),
  }
end

--- The labels that nodes must have, nil when the list is empty. Raises INVALID_REQUEST/`node-selector`.
---@param terms string[] "KEY=VALUE"
---@return table<string, string>|nil
function M.selector(terms)
  local selector = {}
  for _, term in ipairs(terms) do
    local key, value = text.trim(term):match "^([%w][%w_./-]*)=([%w_.-]*)$"
    if not key then
      misspelt("node-selector", "KEY=VALUE", term)
    end
    selector[key] = value
  end
  return next(selector) and selector
end

local function toleration_of(term)
  if term == "*" then
    return { operator = "Exists" }
  end
  local rest, effect = term:match "^(.*):([^:]*)$"
  local key, value = (rest or ""):match "^([^=]+)=(.*)$"
  key = key or rest
  if not key or not key:find "^%w[%w_./-]*$" or not EFFECTS[effect] then
    misspelt("toleration", TOLERATION, term)
  elseif value then
    return { key = key, operator = "Equal", value = value, effect = effect }
  end
  return { key = key, operator = "Exists", effect = effect }
end

--- The tolerations, nil when the list is empty. Raises INVALID_REQUEST/`toleration`.
---@param terms string[] "KEY=VALUE:EFFECT", "KEY:EFFECT", "*"
---@return table[]|nil
function M.tolerations(terms)
  local tolerations = json.array()
  for i, term in ipairs(terms) do
    tolerations[i] = toleration_of(text.trim(term))
  end
  return tolerations[1] and tolerations
end

--- Gives the workers of a runtime a node selector and tolerations, in place; nil leaves what is there.
---@param runtime table
---@param selector table|nil
---@param tolerations table[]|nil
---@return table runtime
function M.stamp(runtime, selector, tolerations)
  local spec = tree.pod_template(runtime, "node").spec
  if selector then
    spec.nodeSelector = tree.copy(selector)
  end
  if tolerations then
    spec.tolerations = tree.copy(tolerations)
  end
  return runtime
end

--- A label that all nodes have with one value, as a node selector. Raises INVALID_REQUEST/`mixed-nodes` when a node
--- lacks it or has another value.
---@param label string
---@param size table of `sizing.of`
---@return table<string, string>
function M.shared_label(label, size)
  local value
  for i, labels in ipairs(size.labels) do
    local own = labels[label]
    if type(own) ~= "string" or own == "" or value and own ~= value then
      errors.raise {
        code = "INVALID_REQUEST", reason = "mixed-nodes", verdict = true,
        message = ("the benchmark's nodes must share one value of label %s: node %s has %s%s"):format(label,
          text.printable(size.nodes[i]), type(own) == "string" and ('"%s"'):format(text.printable(own)) or "none",
          value and (', node %s "%s"'):format(text.printable(size.nodes[1]), text.printable(value)) or ""),
      }
    end
    value = own
  end
  return { [label] = value }
end

return M
