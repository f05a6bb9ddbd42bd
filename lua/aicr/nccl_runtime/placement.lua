-- SPDX-License-Identifier: Apache-2.0
--- Puts a benchmark on the nodes that were chosen, and on no others (platform-runtimes.md 9, points 7 and 9). Pure.
local json = require "aicr.json"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

local WORKER <const> = "node"
local JOBS <const> = { WORKER, "launcher" }
local JOB_LABEL <const> = "jobset.sigs.k8s.io/replicatedjob-name"

-- One of these nodes, by name: a label such as the host name may say something else.
local function affinity(nodes)
  local terms = json.array()
  for i, name in ipairs(nodes) do
    terms[i] = { matchFields = json.array { {
      key = "metadata.name", operator = "In", values = json.array { name },
    } } }
  end
  return { nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms = terms } } }
end

-- Each worker on a node of its own, also where two would fit: the namespace has no other run's.
local function apart()
  return { requiredDuringSchedulingIgnoredDuringExecution = json.array { {
    labelSelector = { matchLabels = { [JOB_LABEL] = WORKER } }, topologyKey = "kubernetes.io/hostname",
  } } }
end

--- Pins workers and launcher to the nodes, a worker to each, in place; the launcher has the image of the workers, which
--- may be of another architecture than other nodes. As the nodes are chosen, their taints are tolerated unless the user
--- says which.
---@param runtime table TrainingRuntime
---@param nodes string[] names
---@param selector table<string, string>|nil labels that the user wants
---@param tolerations table[]|nil of the user
---@return table runtime
function M.pin(runtime, nodes, selector, tolerations)
  for _, job in ipairs(JOBS) do
    local template = tree.pod_template(runtime, job)
    local spec = template and template.spec
    if spec then
      spec.affinity = affinity(nodes)
      spec.affinity.podAntiAffinity = job == WORKER and apart() or nil
      spec.nodeSelector = selector and tree.copy(selector) or spec.nodeSelector
      spec.tolerations = tree.copy(tolerations or json.array { { operator = "Exists" } })
    end
  end
  return runtime
end

return M
