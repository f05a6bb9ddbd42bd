-- SPDX-License-Identifier: Apache-2.0
--- Multi-node NVLink is handed out as a ComputeDomain: its API and its driver must be there (platform-runtimes.md 4.3,
--- D1). Where: recipes/platforms/fabric.yaml.
local classes = require "aicr.fleet.classes"
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
recipes/platforms/fabric.yaml has. Without them a run falls back to the network, or its pods stay Pending. Whether the
nodes are of one NVLink domain is not looked at. On other architectures the check skips.]],
  fixes = {
    ["api-not-served"] = "Install the NVIDIA DRA driver for GPUs with ComputeDomains. Look with: kubectl api-resources"
      .. " | grep -e computedomains -e deviceclasses",
    ["no-gpu-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product",
    ["no-usable-nodes"] = "kubectl describe nodes; kubectl uncordon NODE where it is cordoned",
    ["no-device-class"] = "Install the NVIDIA DRA driver for GPUs with ComputeDomains again: its chart brings the"
      .. " classes. Look with: kubectl get deviceclasses -o yaml",
    ["no-domain-driver"] = "kubectl get pods -A -o wide | grep dra-driver: its kubelet plug-in must run on every GPU"
      .. " node",
  },

  run = function(ctx)
    local seen = fleet.read(ctx)
    local driver = seen.fabric.domain_driver
    if not driver then
      fleet.skip(ctx, seen, "no ComputeDomain")
    end
    local domains = ctx.k8s:list(DOMAINS, { fields = { "metadata.name" } })
    require_class(ctx, seen, driver)
    local of = fleet.devices(ctx, seen, driver)
    local short = fleet.short_of(seen, 1, function(node) return of[node.name] or 0 end)
    if #short > 0 then
      fleet.fail_short(ctx, seen, {
        reason = "no-domain-driver", what = "devices of driver " .. driver, need = 1, rows = short,
      })
    end
    ctx:evidence("%d ComputeDomains", #domains)
    return ("%s: ComputeDomains served, %s on each"):format(fleet.covered(ctx, seen), driver)
  end,
}
