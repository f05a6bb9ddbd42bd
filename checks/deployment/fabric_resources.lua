-- SPDX-License-Identifier: Apache-2.0
--- Every GPU node must offer the extended resources that its fabric is asked for by (platform-runtimes.md 4.3, 5.5,
--- 5.6). What that is on which platform and architecture: recipes/platforms/fabric.yaml.
local fleet = require "aicr.fleet"
local nics = require "aicr.fleet.nics"

local function require_resource(ctx, seen, wanted)
  local short = fleet.short_of(seen, wanted.count, function(node) return fleet.amount(node, wanted.name) end)
  if #short > 0 then
    fleet.fail_short(ctx, seen, {
      reason = "too-few-resources", what = wanted.name .. " allocatable", need = wanted.count, rows = short,
      offers = true,
      why = ("pods on %s %s ask for %d %s; without them they stay Pending, or NCCL runs over TCP"):format(seen.platform,
        seen.arch, wanted.count, wanted.name),
    })
  end
end

return {
  name = "fabric-resources",
  phase = "deployment",
  summary = "Every GPU node offers the network resources that its platform's fabric needs",
  tags = { "network" },
  timeout = "2m",
  needs = fleet.needs,
  params = fleet.params {
    nic_resource = { type = "string", default = "", help = "on premises: the resource of the NICs, such as rdma/ib" },
  },
  doc = [[
A fabric that is there but not offered is not used: the device plug-in of its NICs tells the node how many there are,
and pods ask for them by name: vpc.amazonaws.com/efa, nvidia.com/mlnxnics, rdma/…, networking.gke.io.networks/….
recipes/platforms/fabric.yaml says which name and how many by platform and architecture; the check wants at least so
many allocatable on every GPU node.

Where the name differs from site to site (on premises) it is the one resource rdma/… or nvidia.com/mlnxnics that every
node has enough of; if that is not exactly one, the parameter nic_resource says which. On GKE with TCPXO eight networks
must be on all nodes, whatever they are called. Not looked at, because its names are the site's: attachments of
networks (OCI), topology files (Azure), interfaces. Where nothing is known of a platform and architecture the check
skips and says so.]],
  fixes = {
    ["no-gpu-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product",
    ["no-usable-nodes"] = "kubectl describe nodes; kubectl uncordon NODE where it is cordoned",
    ["too-few-resources"] = "kubectl describe node NODE | grep -A12 ^Allocatable; then the log of the device plug-in on"
      .. " it: kubectl get pods -A -o wide --field-selector spec.nodeName=NODE; where"
      .. " the nodes are meant to have fewer NICs: --set nics=N",
    ["too-few-networks"] = "kubectl get networks.networking.gke.io; the node pool must have been created with all eight"
      .. " networks",
    ["no-nic-resource"] = "kubectl get nodes -o yaml | grep -e rdma/ -e mlnxnics; --set nic_resource=NAME names"
      .. " another resource, --set nics=N another number",
  },

  run = function(ctx)
    local seen = fleet.read(ctx)
    local needs, found = seen.fabric, {}
    for _, wanted in ipairs(needs.resources) do
      require_resource(ctx, seen, wanted)
      found[#found + 1] = ("%d %s"):format(wanted.count, wanted.name)
    end
    if needs.networks then
      found[#found + 1] = nics.require_networks(ctx, seen, needs.networks)
    end
    if needs.nics and needs.nics > 0 then
      local name = nics.resource(ctx, seen, needs.nics)
      require_resource(ctx, seen, { name = name, count = needs.nics })
      found[#found + 1] = ("%d %s"):format(needs.nics, name)
    end
    if #found == 0 then
      fleet.skip(ctx, seen, "no extended resource")
    end
    return ("%s offer %s"):format(fleet.covered(ctx, seen), table.concat(found, ", "))
  end,
}
