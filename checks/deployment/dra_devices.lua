-- SPDX-License-Identifier: Apache-2.0
--- Where pods claim devices of DRA, the API, the device classes and the devices on each node must be there
--- (platform-runtimes.md 4.3, D2 and D7). Which classes: recipes/platforms/fabric.yaml.
local classes = require "aicr.fleet.classes"
local fleet = require "aicr.fleet"

local function class_of(ctx, seen, name)
  local class = ctx.k8s:find("deviceclasses.v1.resource.k8s.io", name)
  if not class then
    ctx:coverage { verified = 0, total = seen.total }
    ctx:fail {
      code = "NOT_FOUND", reason = "no-device-class",
      message = ("there is no device class %s, which pods on %s %s claim from"):format(name, seen.platform, seen.arch),
    }
  end
  return class
end

local function require_devices(ctx, seen, wanted, driver)
  local of = fleet.devices(ctx, seen, driver)
  local short = fleet.short_of(seen, wanted.count, function(node) return of[node.name] or 0 end)
  if #short > 0 then
    fleet.fail_short(ctx, seen, {
      reason = "too-few-devices", what = ("devices of driver %s (class %s)"):format(driver, wanted.name),
      need = wanted.count, rows = short,
      why = ("pods claim %d of them on a node and stay Pending where there are fewer"):format(wanted.count),
    })
  end
end

return {
  name = "dra-devices",
  phase = "deployment",
  summary = "The device classes that pods claim from exist, and every GPU node has the devices",
  tags = { "dra", "network" },
  timeout = "2m",
  needs = { fleet.needs, "get deviceclasses.resource.k8s.io" },
  params = fleet.params {
    driver = { type = "list", default = "", help = "CLASS=DRIVER,…: of a class that does not say it" },
  },
  doc = [[
On some platforms pods do not ask for GPUs or NICs as resources of the node, but claim devices (DRA). Then the API
resource.k8s.io/v1 must be served, each device class that the claims name must exist, and the driver must have published
enough devices of each node in ResourceSlices. recipes/platforms/fabric.yaml names classes and numbers by platform and
architecture; elsewhere the check skips.

The driver of a class is the one that the table names, else the one that the class's own expression compares
device.driver with; where neither says it, it is an error until the parameter driver does. Whether devices are free is
not looked at.]],
  fixes = {
    ["api-not-served"] = "resource.k8s.io/v1 needs Kubernetes 1.34 or newer: kubectl api-resources --api-group"
      .. " resource.k8s.io",
    ["no-gpu-nodes"] = "kubectl get nodes -L nvidia.com/gpu.product",
    ["no-usable-nodes"] = "kubectl describe nodes; kubectl uncordon NODE where it is cordoned",
    ["no-device-class"] = "Install the DRA driver that brings it. Look with: kubectl get deviceclasses",
    ["too-few-devices"] = "kubectl get resourceslices --field-selector spec.nodeName=NODE -o yaml; then the log of the"
      .. " driver's pod on that node. Where the nodes are meant to have fewer: --set gpus=N or --set nics=N",
  },

  run = function(ctx)
    local seen = fleet.read(ctx)
    local found = {}
    if #seen.fabric.classes == 0 then
      fleet.skip(ctx, seen, "no device of DRA")
    end
    for _, wanted in ipairs(seen.fabric.classes) do
      local driver = classes.driver(ctx, class_of(ctx, seen, wanted.name), wanted)
      require_devices(ctx, seen, wanted, driver)
      found[#found + 1] = ("%d devices of driver %s (class %s)"):format(wanted.count, driver, wanted.name)
    end
    return ("%s have %s"):format(fleet.covered(ctx, seen), table.concat(found, ", "))
  end,
}
