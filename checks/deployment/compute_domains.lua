-- SPDX-License-Identifier: Apache-2.0
--- Multi-node NVLink is handed out as a ComputeDomain: its API and its driver must be there (platform-runtimes.md 4.3,
--- D1). Where: recipes/platforms/fabric.yaml.
local classes = require "aicr.fleet.classes"
local domains = require "aicr.fleet.domains"
local fleet = require "aicr.fleet"

local DOMAINS <const> = "computedomains.v1beta1.resource.nvidia.com"
local CLASSES <const> = "deviceclasses.v1.resource.k8s.io"

local function require_class(ctx, seen, driver)
  local listed = ctx.k8s:list(CLASSES, { fields = { "metadata.name", "spec.selectors[*].cel.expression" } })
  for _, class in ipairs(listed) do
    if classes.selected(class) == driver then
      return
    end
  end
  ctx:coverage { verified = 0, total = seen.total }
  ctx:fail {
    code = "NOT_FOUND", reason = "no-device-class",
    message = ("none of %d device classes selects devices of driver %s: no channel can be claimed"):format(#listed,
      driver),
  }
end

-- Which nodes NVLink joins, in words. A node without the label where others have it is in no fabric.
local function say_domains(ctx, seen)
  local found = domains.of(seen)
  if #found.groups == 0 then
    return ("%s: ComputeDomains served, %s on each; which nodes share an NVLink domain is not known: none has the label"
      .. " %s, look with: %s"):format(fleet.covered(ctx, seen, 0), seen.fabric.domain_driver, found.label,
      domains.look(found))
  end
  ctx:evidence("%s: %s", found.label, domains.text(found))
  if #found.silent > 0 then
    ctx:coverage { verified = #seen.nodes - #found.silent, total = seen.total }
    ctx:fail {
      reason = "no-nvlink-domain", details = {
        diff = { key = "node", left = "a domain of the others", right = "on the node", rows = domains.apart(found) },
      },
      message = ("%d of %d GPU nodes are of no NVLink domain, they have no label %s: %s; the others have it (%s)")
        :format(#found.silent, #seen.nodes, found.label, fleet.node_names(found.silent), domains.text(found)),
    }
  end
  local words = #found.groups == 1 and "one NVLink domain"
    or ("%d NVLink domains (%s), and NVLink joins no nodes of two"):format(#found.groups, domains.text(found))
  return ("%s: ComputeDomains served, %s on each, %s"):format(fleet.covered(ctx, seen), seen.fabric.domain_driver,
    words)
end

return {
  name = "compute-domains",
  phase = "deployment",
  summary = "ComputeDomains are served, and their driver runs on every GPU node with multi-node NVLink",
  tags = { "dra", "nvlink" },
  timeout = "2m",
  needs = { fleet.needs, "list computedomains.resource.nvidia.com", "list deviceclasses.resource.k8s.io" },
  params = fleet.params(),
  doc = [[
GB200 and GB300 nodes are joined by NVLink across nodes. A job gets its share as a ComputeDomain and claims a channel of
it. The check wants resource.nvidia.com/v1beta1 and resource.k8s.io/v1 served, a device class that selects the devices
of the ComputeDomain driver, and on every GPU node a ResourceSlice of that driver, whose name
recipes/platforms/fabric.yaml has. Without them a run falls back to the network, or its pods stay Pending.

NVLink joins the nodes of one domain. Which one a node is of says the label that the same file has, written by GPU
feature discovery once the node's GPUs are in a fabric. Several domains are no fault, and are told with their nodes: a
run over two of them has the network in between. A node without the label where others have it fails; where no node has
it, the result says that it is not known, and no node counts as verified. On other architectures the check skips.]],
  fixes = {
    ["api-not-served"] = "Install the NVIDIA DRA driver for GPUs with ComputeDomains. Look with: kubectl api-resources"
      .. " | grep -e computedomains -e deviceclasses",
    ["no-gpu-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product",
    ["no-usable-nodes"] = "kubectl describe nodes; kubectl uncordon NODE where it is cordoned",
    ["no-device-class"] = "Install the NVIDIA DRA driver for GPUs with ComputeDomains again: its chart brings the"
      .. " classes. Look with: kubectl get deviceclasses -o yaml",
    ["no-nvlink-domain"] = "nvidia-smi -q on the node (Fabric: State must be Completed, Status Success), then the log"
      .. " of gpu-feature-discovery on it: kubectl get pods -A -o wide | grep gpu-feature-discovery",
    ["no-domain-driver"] = "kubectl get pods -A -o wide | grep dra-driver: its kubelet plug-in must run on every GPU"
      .. " node",
  },

  run = function(ctx)
    local seen = fleet.read(ctx)
    local driver = seen.fabric.domain_driver
    if not driver then
      fleet.skip(ctx, seen, "no ComputeDomain")
    end
    local served = ctx.k8s:list(DOMAINS, { fields = { "metadata.name" } })
    require_class(ctx, seen, driver)
    local of = fleet.devices(ctx, seen, driver)
    local short = fleet.short_of(seen, 1, function(node) return of[node.name] or 0 end)
    if #short > 0 then
      fleet.fail_short(ctx, seen, {
        reason = "no-domain-driver", what = "devices of driver " .. driver, need = 1, rows = short,
      })
    end
    ctx:evidence("%d ComputeDomains", #served)
    return say_domains(ctx, seen)
  end,
}
