-- SPDX-License-Identifier: Apache-2.0
--- Every GPU node must offer all of its GPUs, and as many as its architecture has (platform-runtimes.md 4.5, 5.4).
local fleet = require "aicr.fleet"

local function most(nodes)
  local n = 0
  for _, node in ipairs(nodes) do
    n = math.max(n, node.gpus)
  end
  return n
end

local function fail_empty(ctx, seen)
  local empty = {}
  for _, row in ipairs(seen.excluded) do
    empty[#empty + 1] = row.empty and { name = row.node } or nil
  end
  if #empty > 0 then
    fleet.covered(ctx, seen)
    ctx:fail {
      reason = "no-gpus-offered",
      message = ("%d of %d GPU nodes are ready but offer no GPU: %s"):format(#empty, seen.total,
        fleet.node_names(empty)),
    }
  end
end

return {
  name = "gpu-nodes",
  phase = "deployment",
  summary = "Every GPU node offers all of its GPUs, as many as its architecture has",
  tags = { "gpu" },
  timeout = "2m",
  needs = fleet.needs,
  params = fleet.params(),
  doc = [[
A job that wants eight GPUs of each node does not start on one that offers seven, and no message says so: its pod stays
Pending. The check looks at every node that is marked as a GPU node (labels of GPU feature discovery, node feature
discovery or GKE, or a capacity of nvidia.com/gpu) and wants on each as many allocatable GPUs as the architecture has;
where that is not known, as many as on the node with most. Where the platform hands out GPUs by claims, they are the
devices of the driver gpu.nvidia.com.

Nodes that are cordoned or not ready are listed with the reason and count as not verified; a ready node that offers no
GPU fails. With the parameter nodes, or a number of nodes in the recipe, fewer nodes than that fail. Nodes of two
architectures are an error until the parameter arch says which are meant.]],
  fixes = {
    ["no-gpu-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product,nvidia.com/gpu.present; if the nodes have GPUs and"
      .. " no label, choose them with --set node_selector=KEY=VALUE",
    ["no-usable-nodes"] = "kubectl describe nodes; kubectl uncordon NODE where it is cordoned",
    ["no-gpus-offered"] = "kubectl get pods -A -o wide | grep -e device-plugin -e dra-driver; then the log of the pod"
      .. " on that node",
    ["too-few-gpus"] = "kubectl describe node NODE; nvidia-smi on it names a GPU that fell off. Where the nodes are"
      .. " meant to have fewer: --set gpus=N",
    ["too-few-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product; --set nodes=N where fewer are meant",
  },

  run = function(ctx)
    local seen = fleet.read(ctx)
    fail_empty(ctx, seen)
    local need = seen.sizes_known and seen.sizes.GpusPerNode or most(seen.nodes)
    local short = fleet.short_of(seen, need, function(node) return node.gpus end)
    if #short > 0 then
      fleet.fail_short(ctx, seen, {
        reason = "too-few-gpus", what = "GPUs allocatable", need = need, rows = short,
        why = ("%s; a job that asks for %d GPUs of a node stays Pending there"):format(
          seen.sizes_known and seen.arch .. " nodes have " .. need or "other nodes have " .. need, need),
      })
    end
    local more = fleet.short_of(seen, most(seen.nodes), function(node) return node.gpus end)
    if #more > 0 then
      fleet.fail_short(ctx, seen, {
        reason = "uneven-gpus", what = "GPUs, as other nodes have", need = most(seen.nodes), rows = more,
        fix = "Choose nodes of one size with --set node_selector=KEY=VALUE. Look with: kubectl describe node NODE",
      })
    end
    local words = fleet.covered(ctx, seen)
    if #seen.nodes < seen.asked then
      ctx:fail {
        code = "NOT_FOUND", reason = "too-few-nodes",
        message = ("%d GPU nodes are asked for: %s offer all GPUs"):format(seen.asked, words),
      }
    end
    return ("%s offer %d GPUs each"):format(words, most(seen.nodes))
  end,
}
