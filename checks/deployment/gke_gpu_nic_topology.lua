-- SPDX-License-Identifier: Apache-2.0
--- Every a3-megagpu-8g node must show its eight GPU NICs as eth1..eth8, each on a GPU NIC network
--- (gke-tcpxo.md 4.3, in its order).
local gke = require "aicr.gke"
local recipe = require "aicr.recipe"
local verify = require "aicr.verify"

local LOOK <const> = "kubectl get nodes -l " .. gke.NODE_SELECTOR
  .. " -o yaml | grep networking.gke.io/nic-info"

-- Said once, on every way out after the nodes were listed.
local function record_coverage(ctx, verified, total)
  ctx:extra { nodesValidated = tostring(verified), nodesTotal = tostring(total) }
  ctx:coverage { verified = verified, total = total }
end

-- Sums up what the nodes say.
local function inspect(nodes, gpu_networks)
  local sum = { verified = 0, bare = 0, unplaced = 0, problems = {} }
  for _, node in ipairs(nodes) do
    local seen = gke.node_topology(node, gpu_networks)
    if seen.verified then
      sum.verified = sum.verified + 1
      sum.unplaced = sum.unplaced + (seen.placed and 0 or 1)
    elseif not seen.annotated then
      sum.bare = sum.bare + 1
    end
    table.move(seen.problems, 1, #seen.problems, #sum.problems + 1, sum.problems)
  end
  return sum
end

local function fail_for(ctx, problems)
  ctx:fail {
    code = "CONFLICT",
    reason = "nic-topology",
    message = ("the recipe declares %s, but not every node maps its %d GPU NIC slots to"
      .. " eth1..eth8: %s"):format(gke.COMPONENT, gke.REQUIRED, table.concat(problems, "; ")),
    why = "A GPU without its own NIC leaves the fabric. The usual cause is a gVNIC additional"
      .. " network of the node pool, which takes a GPU NIC's PCI slot while the node looks healthy.",
    fix = "Create the node pool again without a gVNIC additional network. Look with: " .. LOOK,
  }
end

return {
  name = "gke-gpu-nic-topology",
  phase = "deployment",
  summary = "Every a3-megagpu-8g node maps its eight GPU NIC slots to eth1..eth8",
  platforms = { "gcp" },
  tags = { "network", "tcpxo" },
  component = gke.COMPONENT,
  timeout = "2m",
  needs = { "list nodes", "list networks.networking.gke.io" },
  doc = [[
An a3-megagpu-8g node has one NIC for each of its eight GPUs. GKE reports them in two annotations of
the node: networking.gke.io/nic-info (which interface sits in which PCI slot) and
networking.gke.io/north-interfaces (which address is on which network).

The check wants eth1..eth8 on every such node and nothing unexpected beside them, and, where both
annotations are there, each of them on a GPU NIC network. Nodes without nic-info cannot be verified:
they are counted, and when no node can be verified the check is skipped. Which of the GPU NIC
networks an interface is on is not compared with the recipe.]],
  fixes = {
    ["api-not-served"] = gke.PROVISIONING,
    ["no-gpu-nodes"] = "Check that the a3-megagpu-8g node pool exists, is not scaled to zero and"
      .. " carries the label. Look with: kubectl get nodes -L cloud.google.com/gke-accelerator",
  },

  run = function(ctx)
    if not recipe.declares(ctx.recipe, gke.COMPONENT) then
      ctx:skip {
        reason = "not-declared",
        message = recipe.undeclared(ctx.recipe, gke.COMPONENT),
      }
    end
    local nodes, unlisted = ctx:try(ctx.k8s.list, ctx.k8s, "nodes", { label = gke.NODE_SELECTOR })
    verify.require_list(ctx, unlisted, { subject = "the NICs of a3-megagpu-8g nodes" })
    if #nodes == 0 then
      record_coverage(ctx, 0, 0)
      ctx:fail {
        code = "NOT_FOUND",
        reason = "no-gpu-nodes",
        message = ("the recipe declares %s, but the cluster has no a3-megagpu-8g node (label %s)")
          :format(gke.COMPONENT, gke.NODE_SELECTOR),
      }
    end
    local networks, unread = ctx:try(gke.gpu_nic_networks, ctx.k8s)
    if unread then
      record_coverage(ctx, 0, #nodes)
      verify.require_list(ctx, unread, { subject = "the networks of the nodes' NICs" })
    end

    local sum = inspect(nodes, gke.names(networks))
    record_coverage(ctx, sum.verified, #nodes)
    ctx:evidence("%d of %d nodes verified, %d without %s", sum.verified, #nodes, sum.bare,
      gke.NIC_INFO_ANNOTATION)
    if sum.unplaced > 0 then
      ctx:evidence("displacement unverified on %d nodes: %s", sum.unplaced, #networks == 0
        and "the cluster has no GPU NIC networks" or "no " .. gke.NORTH_INTERFACES_ANNOTATION)
    end
    if #sum.problems > 0 then
      fail_for(ctx, sum.problems)
    end
    if sum.verified == 0 then
      ctx:skip {
        reason = "not-annotated",
        message = ("none of %d a3-megagpu-8g nodes can be verified: %d without annotation %s")
          :format(#nodes, sum.bare, gke.NIC_INFO_ANNOTATION),
      }
    end
    local phrase = ("%d of %d nodes verified"):format(sum.verified, #nodes)
    if sum.unplaced > 0 then
      return ("%s, displacement unverified on %d"):format(phrase, sum.unplaced)
    end
    return phrase .. (sum.verified == #nodes and ", all map 8 interfaces" or "")
  end,
}
