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

-- Parts and shares of GPUs are offered under the name of whole ones.
local function fail_cut(ctx, seen)
  local cut = {}
  for _, node in ipairs(ctx.params.gpus and {} or seen.nodes) do
    cut[#cut + 1] = node.cut and not seen.fabric.claimed_gpus and node or nil
  end
  if #cut > 0 then
    ctx:coverage { verified = #seen.nodes - #cut, total = seen.total }
    ctx:fail {
      code = "CONFLICT", reason = "gpus-cut",
      message = ("%d of %d GPU nodes offer parts or shares of GPUs, which look like as many GPUs (their product ends in"
        .. " -MIG-… or -SHARED): %s"):format(#cut, #seen.nodes, fleet.node_names(cut)),
    }
  end
end

-- A device plug-in takes a GPU that is not well out of what is allocatable; the capacity keeps it.
local function fail_unwell(ctx, seen)
  local rows = seen.fabric.claimed_gpus and {} or fleet.short_of(seen, fleet.gpu_capacity, function(node)
    return node.gpus
  end)
  if #rows > 0 then
    fleet.fail_short(ctx, seen, {
      reason = "unwell-gpus", what = "GPUs allocatable than they have", rows = rows,
      why = "the device plug-in does not offer a GPU that it finds unhealthy",
    })
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
discovery, GKE, AKS or Karpenter, or some nvidia.com/gpu) and wants on each as many allocatable GPUs as the architecture
has; where that is not known, as many as on the node with most. On AWS, Azure and OCI nodes of the same instance type as
one with GPUs count too, marked or not: neither driver nor feature discovery may have reached them. Where the platform
hands out GPUs by claims, they are the devices of the driver gpu.nvidia.com.

A node that offers fewer GPUs than its capacity fails too: the device plug-in finds one unhealthy. So do parts (MIG) and
shares (time slicing) of GPUs, which are offered under the same name, unless the parameter gpus says how many are meant.

Nodes that are cordoned, not ready or tainted as out of use (by Kubernetes, its cloud or an autoscaler) are listed with
the reason and count as not verified; a ready node that offers no GPU fails. With the parameter nodes, or a number of
nodes in the recipe, fewer nodes than that fail. Nodes of two architectures are an error until the parameter arch says
which are meant.]],
  fixes = {
    ["no-gpu-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product,nvidia.com/gpu.present; if the nodes have GPUs and"
      .. " no label, choose them with --set node_selector=KEY=VALUE",
    ["no-usable-nodes"] = "kubectl describe nodes; kubectl uncordon NODE where it is cordoned",
    ["no-gpus-offered"] = "kubectl get pods -A -o wide | grep -e device-plugin -e dra-driver; then the log of the pod"
      .. " on that node",
    ["too-few-gpus"] = "kubectl describe node NODE; nvidia-smi on it names a GPU that fell off. Where the nodes are"
      .. " meant to have fewer: --set gpus=N",
    ["gpus-cut"] = "kubectl get nodes -L nvidia.com/gpu.product,nvidia.com/mig.config,nvidia.com/gpu.replicas; where"
      .. " parts are meant: --set gpus=N",
    ["unwell-gpus"] = "kubectl describe node NODE | grep -A12 -e ^Capacity -e ^Allocatable; nvidia-smi and dmesg on it"
      .. " (Xid) say which GPU and why",
    ["too-few-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product; --set nodes=N where fewer are meant",
  },

  run = function(ctx)
    local seen = fleet.read(ctx)
    fleet.fail_empty(ctx, seen)
    fail_cut(ctx, seen)
    local need = seen.gpus_known and seen.sizes.GpusPerNode or most(seen.nodes)
    local short = fleet.short_of(seen, need, function(node) return node.gpus end)
    if #short > 0 then
      fleet.fail_short(ctx, seen, {
        reason = "too-few-gpus", what = "GPUs allocatable", need = need, rows = short,
        why = ("%s; a job that asks for %d GPUs of a node stays Pending there"):format(
          ctx.params.gpus and "so many are asked for" or (seen.gpus_known and seen.arch or "other") .. " nodes have "
            .. need, need),
      })
    end
    fail_unwell(ctx, seen)
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
        message = ("%d GPU nodes are asked for, and %d offer all GPUs"):format(seen.asked, #seen.nodes),
      }
    end
    return ("%s offer %d GPUs each"):format(words, most(seen.nodes))
  end,
}
