-- SPDX-License-Identifier: Apache-2.0
--- The DaemonSets that offer GPUs and fabric to the nodes must be rolled out (platform-runtimes.md 9). Which they are:
--- recipes/platforms/fabric.yaml.
local fleet = require "aicr.fleet"
local plugins = require "aicr.fleet.plugins"
local rollout = require "aicr.fleet.rollout"

local function require_offered(ctx, seen, resource, sets)
  if resource == plugins.GPU then
    fleet.fail_empty(ctx, seen)
  end
  local rows = plugins.without(seen, resource)
  if #rows > 0 then
    fleet.fail_short(ctx, seen, {
      reason = "not-offered", what = resource .. " allocatable", need = 1, rows = rows, offers = true,
      why = ("%s is rolled out, but not to these nodes, or it finds no device there"):format(plugins.names(sets)),
      fix = ("kubectl -n %s get pods -o wide --field-selector spec.nodeName=%s; the log of the plug-in's pod there"
        .. " says what it found"):format(sets[1].name:match "^[^/]*", rows[1].k),
    })
  end
end

return {
  name = "device-plugin",
  phase = "deployment",
  summary = "The device plug-ins of GPUs and fabric are rolled out to every GPU node",
  tags = { "gpu", "network" },
  timeout = "2m",
  needs = { fleet.needs, "list daemonsets.apps", rollout.needs },
  params = fleet.params {
    nic_resource = { type = "string", default = "", help = "on premises: the resource of the NICs, such as rdma/ib" },
    daemonset = { type = "list", default = "", help = "NAMESPACE/NAME,…: the plug-ins, where they are not recognized" },
  },
  doc = [[
What a node offers is what the device plug-in on it reports. The check takes the DaemonSets with a container of a known
device plug-in (its image's name; recipes/platforms/fabric.yaml has them) and wants of each what kubectl rollout status
wants: the current generation observed, every pod updated and available; and of those for one resource together at least
a pod for each GPU node, each of which must have some of the resource. Where pods are missing, the nodes without a ready
one are named. The images' names are the plug-ins' own, no
reference lists them.

Where a resource is offered by none that is known, the check fails if nodes lack the resource, and is an error if they
have it: then the parameter daemonset names the plug-in. GKE's networks and GPUs that are claimed as devices of DRA have
no plug-in of this kind and are left out; gpu-nodes, fabric-resources and dra-devices look at what they offer.]],
  fixes = {
    ["no-gpu-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product",
    ["no-usable-nodes"] = "kubectl describe nodes; kubectl uncordon NODE where it is cordoned",
    ["no-device-plugin"] = "Install the device plug-in. Look with: kubectl get daemonsets -A",
    ["no-gpus-offered"] = "kubectl get pods -A -o wide | grep device-plugin; then the log of the pod on that node",
    ["no-nic-resource"] = "kubectl get nodes -o yaml | grep -e rdma/ -e mlnxnics; --set nic_resource=NAME names"
      .. " another resource",
    ["device-plugin-unknown"] = "kubectl get daemonsets -A; --set daemonset=NAMESPACE/NAME",
    ["daemonset-missing"] = "kubectl get daemonsets -A; --set daemonset=NAMESPACE/NAME",
  },

  run = function(ctx)
    local seen = fleet.read(ctx)
    local sets = plugins.list(ctx)
    local wanted, found = plugins.resources(ctx, seen), {}
    local named = plugins.named(ctx, sets)
    for _, resource in ipairs(wanted) do
      local of = named or plugins.offering(sets, resource)
      if #of == 0 then
        plugins.not_found(ctx, seen, resource, #sets)
      end
      plugins.require_rolled_out(ctx, seen, of)
      require_offered(ctx, seen, resource, of)
      found[#found + 1] = ("%s by %s"):format(resource, plugins.names(of))
    end
    if #wanted == 0 then
      fleet.skip(ctx, seen, "no device plug-in")
    end
    return ("%s have their plug-ins: %s"):format(fleet.covered(ctx, seen), table.concat(found, ", "))
  end,
}
