-- SPDX-License-Identifier: Apache-2.0
--- The table of what the fabric of a platform needs: what it gives, and what it refuses.
require "aicr_native"
local fabric = require "aicr.platform.fabric"
local overrides = require "aicr.platform.overrides"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"

local FILE <const> = "fabric.yaml"

local function load(rows, plugins)
  return fabric.load(("rows:\n%s\nplugins: %s\n"):format(rows, plugins or "[]"), FILE)
end

local function needs(name, arch)
  return fabric.fabric(name, arch, platform.sizes(arch, name, {}))
end

-- Names and counts of what a run's pods ask of a node beside GPUs, by the override rows.
local function asked_of(name, arch)
  local sizes = platform.sizes(arch, name, {})
  local asked = {}
  local rows = overrides.build_overrides {
    EntryName = "e", GpusPerNode = sizes.GpusPerNode, MlnxPerNode = sizes.MlnxPerNode, FrameworkType = "mpi",
    NicResourceName = name == "onprem" and "rdma/ib" or "",
  }
  for _, row in ipairs(rows) do
    for _, object in ipairs(platform.matches(row.when, { Platform = name, GPUArchitecture = arch })
      and row.dependencies or {}) do
      local job = object.kind == "TrainingRuntime" and object.spec.template.spec.replicatedJobs[1]
      local pod = job and job.template.spec.template.spec or {}
      for resource, amount in pairs(pod.containers and pod.containers[1].resources
        and pod.containers[1].resources.limits or {}) do
        asked[resource] = resource ~= "nvidia.com/gpu" and tostring(amount) or nil
      end
      local requests = object.kind == "ResourceClaimTemplate" and object.spec.spec.devices.requests or {}
      for _, request in ipairs(requests) do
        asked[request.exactly.deviceClassName] = tostring(request.exactly.count)
      end
      asked.ComputeDomain = object.kind == "ComputeDomain" and "yes" or asked.ComputeDomain
    end
  end
  return asked
end

local function looked_at(name, arch)
  local want, seen = needs(name, arch), {}
  for _, list in ipairs { want.resources, want.classes } do
    for _, row in ipairs(list) do
      seen[row.name] = tostring(row.count)
    end
  end
  if want.nics and want.nics > 0 then
    seen["rdma/ib"] = tostring(want.nics)
  end
  seen.ComputeDomain = want.domain_driver and "yes" or nil
  return seen
end

local ARCHITECTURES <const> = {
  "a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "l40", "l40s", "rtxpro6000", "unknown",
}

describe("platform.fabric", function()
  for _, name in ipairs(platform.names()) do
    it(name .. " looks at all that the pods of a run ask for", function()
      for _, arch in ipairs(ARCHITECTURES) do
        local seen = looked_at(name, arch)
        for resource, amount in pairs(asked_of(name, arch)) do
          assert.equal(amount, seen[resource], ("%s %s: %s"):format(name, arch, resource))
        end
      end
    end)
  end

  it("is held against what is really asked for", function()
    assert.same({ ["vpc.amazonaws.com/efa"] = "32" }, asked_of("aws", "h100"))
    assert.same({ ["rdma/ib"] = "8", ComputeDomain = "yes" }, asked_of("onprem", "gb200"))
    assert.same({ ["gpu.nvidia.com"] = "8", ["rdma.nscale.com"] = "8" }, asked_of("nscale", "b200"))
  end)

  it("names the rows, and none where nothing is known", function()
    assert.same({ "compute-domain", "gcp-gb-rdma" }, needs("gcp", "gb200").rows)
    assert.same({}, needs("aws", "h200").rows)
    assert.equal(8, needs("gcp", "h100").networks)
    assert.is_true(needs("nscale", "b200").claimed_gpus)
    assert.is_false(needs("nscale", "gb200").claimed_gpus)
  end)

  it("leaves out NICs that nodes have none of", function()
    assert.same({}, needs("oci", "gb200").resources)
    assert.same({ { name = "nvidia.com/mlnxnics", count = 2 } }, needs("oci", "l40s").resources)
  end)

  it("knows plug-ins by the beginning of a resource", function()
    assert.same({ "aws-efa-k8s-device-plugin" }, (fabric.plugin_images "vpc.amazonaws.com/efa"))
    assert.equal("k8s-rdma-shared-dev-plugin", fabric.plugin_images("rdma/any")[1])
    assert.same({}, (fabric.plugin_images "networking.gke.io.networks/rdma-0"))
  end)

  for _, row in ipairs {
    { "- {when: {}}", "rows[1]: a row has a name" },
    { "- {name: a}", 'row "a": a row says when it holds' },
    { "- {name: a, when: {}}\n- {name: a, when: {}}", 'row "a": there are two rows of this name' },
    { "- {name: a, when: {}, resource: []}", '"resource" is not known; did you mean "resources"?' },
    { "- {name: a, when: {platform: {equals: eks}}}", 'when.platform.equals: "eks" is no platform' },
    { "- {name: a, when: {}, resources: {}}", "resources: expected a list" },
    { "- {name: a, when: {}, resources: [{name: x}]}", "resources[1].count: expected a whole number from 1, got null" },
    { "- {name: a, when: {}, resources: [{name: x, count: 0}]}", "expected a whole number from 1, got 0" },
    { "- {name: a, when: {}, resources: [{name: x, count: '8'}]}", 'expected a whole number from 1, got "8"' },
    { "- {name: a, when: {}, resources: [{count: 1}]}", "resources[1].name: expected text" },
    { "- {name: a, when: {}, resources: [{name: x, count: 1, driver: d}]}", '"driver" is not known' },
    { "- {name: a, when: {}, networks: {$value: Gpus}}", '"Gpus" is nothing that a run says' },
    { "- {name: a, when: {}, deviceClasses: [{name: x, count: 1, driver: 7}]}", "driver: expected text" },
    { "- {name: a, when: {}, gpus: 8}", "gpus: expected claims, got 8" },
    { "- {name: a, when: {}, computeDomain: yes}", "computeDomain: expected an object" },
    { "- {name: a, when: {}, computeDomain: {}}", "computeDomain.driver: expected text" },
    { "- {name: a, when: {}, nothing: ''}", "nothing: expected text" },
  } do
    it("refuses " .. row[1]:gsub("\n", " "), function()
      local err = raised(load, row[1])
      assert.equal("override", err.reason)
      assert.truthy(err.message:find(FILE .. ": ", 1, true), err.message)
      assert.truthy(err.message:find(row[2], 1, true), err.message)
    end)
  end

  it("refuses plug-ins without images, and what else is in the file", function()
    local none = raised(load, "- {name: a, when: {}}", "[{resource: x}]")
    assert.truthy(none.message:find("plugins[1].images: expected a list", 1, true), none.message)
    local err = raised(fabric.load, "rows: []\nplugins: []\nrow: 1\n", FILE)
    assert.truthy(err.message:find('"row" is not known; did you mean "rows"?', 1, true), err.message)
    assert.equal("override", raised(fabric.load, "rows: [", FILE).reason)
  end)
end)
