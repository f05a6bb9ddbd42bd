-- SPDX-License-Identifier: Apache-2.0
--- The wiring of worker pods: gke-tcpxo.md 5.7, vectors R-18 and R-19.
require "aicr_native"
local gke = require "aicr.gke"
local json = require "aicr.json"
local wiring = require "aicr.nccl_runtime.wiring"

local function annotation(change)
  local entries = json.array { { interfaceName = "eth0", network = "default" } }
  for i = 1, 8 do
    entries[i + 1] = { interfaceName = "eth" .. i, network = "lyra-gpu-nic-k" .. i }
  end
  if change then
    change(entries)
  end
  return json.encode(entries)
end

local function pod(index, change, started)
  local object = {
    metadata = {
      name = "tj-node-0-" .. index,
      labels = { ["batch.kubernetes.io/job-completion-index"] = tostring(index) },
      annotations = {
        [gke.DEFAULT_INTERFACE_ANNOTATION] = "eth0", [gke.INTERFACES_ANNOTATION] = annotation(),
      },
    },
    spec = { initContainers = json.array { { name = "tcpxo-daemon", restartPolicy = "Always" } } },
    status = { initContainerStatuses = json.array { { name = "tcpxo-daemon", started = started ~= false } } },
  }
  if change then
    change(object)
  end
  return object
end

local function interfaces(change)
  return function(object)
    object.metadata.annotations[gke.INTERFACES_ANNOTATION] = annotation(change)
  end
end

describe("a worker pod", function()
  it("is wired", function()
    assert.is_nil(wiring.fault(pod(0)))
  end)

  it("may list its interfaces in any order, on networks of any name", function()
    assert.is_nil(wiring.fault(pod(0, interfaces(function(entries)
      entries[2], entries[9] = entries[9], entries[2]
      entries[3].network = "vpc1"
    end))))
  end)

  it("of a shipped runtime has its networks", function()
    local mapping = gke.parse_interfaces(annotation())
    assert.is_nil(wiring.fault(pod(0, interfaces(function(entries)
      entries[2], entries[9] = entries[9], entries[2]
    end)), mapping))
    local crossed = pod(0, interfaces(function(entries)
      entries[2].network, entries[3].network = entries[3].network, entries[2].network
    end))
    assert.is_nil(wiring.fault(crossed))
    assert.truthy(wiring.fault(crossed, mapping):find('eth1 on network "lyra-gpu-nic-k2", the deployed runtime on '
      .. '"lyra-gpu-nic-k1"', 1, true))
  end)

  local rows = {
    { "R-18 without the daemon", "no init container tcpxo-daemon", function(p)
      p.spec.initContainers = json.array()
    end },
    { "with a daemon that ends", "restartPolicy Always", function(p)
      p.spec.initContainers[1].restartPolicy = nil
    end },
    { "with the daemon among its containers only", "no init container", function(p)
      p.spec.containers, p.spec.initContainers = p.spec.initContainers, nil
    end },
    { "with another default interface", 'is "eth1", wanted "eth0"', function(p)
      p.metadata.annotations[gke.DEFAULT_INTERFACE_ANNOTATION] = "eth1"
    end },
    { "without annotations", "default-interface is \"\"", function(p) p.metadata.annotations = nil end },
    { "without the mapping", "no annotation networking.gke.io/interfaces", function(p)
      p.metadata.annotations[gke.INTERFACES_ANNOTATION] = nil
    end },
    { "with a mapping that is no JSON", "networking.gke.io/interfaces", function(p)
      p.metadata.annotations[gke.INTERFACES_ANNOTATION] = "[{"
    end },
    { "of eight entries", "has 8 entries, wanted 9", interfaces(function(e) table.remove(e) end) },
    { "of ten entries", "has 10 entries, wanted 9", interfaces(function(e)
      e[10] = { interfaceName = "eth9", network = "x" }
    end) },
    { "with eth9", '"eth9", wanted eth1..eth8', interfaces(function(e) e[9].interfaceName = "eth9" end) },
    { "with a line break behind a name", "wanted eth1..eth8", interfaces(function(e)
      e[9].interfaceName = "eth8\n"
    end) },
    { "with eth1 twice", "eth1 twice", interfaces(function(e) e[3].interfaceName = "eth1" end) },
    { "on the pod network", "on network default", interfaces(function(e) e[3].network = "default" end) },
    { "with two on one network", "eth1 and eth2 on network", interfaces(function(e)
      e[3].network = e[2].network
    end) },
    { "whose first entry is not eth0", "networking.gke.io/interfaces", interfaces(function(e)
      e[1], e[2] = e[2], e[1]
    end) },
  }
  for _, row in ipairs(rows) do
    it("is not wired " .. row[1], function()
      local fault = wiring.fault(pod(3, row[3]))
      assert.truthy(fault and fault:find(row[2], 1, true), fault)
      assert.truthy(fault:find("pod tj-node-0-3: ", 1, true), fault)
      assert.is_nil(fault:find "[\0-\8\11-\31]")
    end)
  end

  it("of another shape is not wired", function()
    for _, object in ipairs { {}, { metadata = "x", spec = 3 }, { metadata = { annotations = json.array { 1 } } } } do
      assert.truthy(wiring.fault(object))
    end
  end)
end)

describe("what was seen of the workers", function()
  it("is enough when each index had its daemon started", function()
    local seen = wiring.observed()
    seen:see(pod(0))
    seen:see(pod(1))
    assert.is_nil(seen:verdict(2))
  end)

  it("stays, though the daemon has ended since", function()
    local seen = wiring.observed()
    seen:see(pod(0, nil, false))
    seen:see(pod(0, nil, true))
    seen:see(pod(0, nil, false))
    assert.is_nil(seen:verdict(1))
  end)

  it("R-19 lacks index 1", function()
    local seen = wiring.observed()
    seen:see(pod(0))
    seen:see(pod(1, nil, false))
    local fault = seen:verdict(2)
    assert.same({ "INTERNAL", "daemon-not-started" }, { fault.code, fault.reason })
    assert.truthy(fault.message:find("index 1 of 2", 1, true), fault.message)
  end)

  it("of a restarted pod counts for its own index only", function()
    local seen = wiring.observed()
    seen:see(pod(0))
    seen:see(pod(0, function(p) p.metadata.name = "tj-node-0-0-again" end))
    assert.equal("daemon-not-started", seen:verdict(2).reason)
  end)

  it("R-18 names every pod that was wired wrongly, sorted", function()
    local seen = wiring.observed()
    local function bare(p) p.spec.initContainers = nil end
    seen:see(pod(1, bare))
    seen:see(pod(0, bare))
    seen:see(pod(1))
    local fault = seen:verdict(2)
    assert.same({ "INTERNAL", "worker-wiring" }, { fault.code, fault.reason })
    assert.truthy(fault.message:find("pod tj%-node%-0%-0: .*; pod tj%-node%-0%-1: "), fault.message)
  end)

  it("may be nothing, which is no verdict", function()
    local ok, err = pcall(function() return wiring.observed():verdict(2) end)
    assert.is_false(ok)
    assert.same({ "INTERNAL", "no-workers-seen", false }, { err.code, err.reason, err.verdict })
  end)
end)
