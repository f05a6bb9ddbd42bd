-- SPDX-License-Identifier: Apache-2.0
--- NIC resources, networks and plug-in releases: platform-runtimes.md 5.5 to 5.7 and rows 90 to 96 of
--- its section 8.
require "aicr_native"
local gke = require "aicr.gke"
local json = require "aicr.json"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"

local function node(name, allocatable, annotations)
  return { metadata = { name = name, annotations = annotations }, spec = {}, status = { allocatable = allocatable } }
end

describe("detect_nic_resource", function()
  local function detect(list, more)
    local nodes, run = {}, { platform = "onprem", arch = "gb300", nics = 8 }
    for i, allocatable in ipairs(list) do
      nodes[i] = node("n" .. i, allocatable)
    end
    for key, member in pairs(more or {}) do
      run[key] = member
    end
    return platform.detect_nic_resource(nodes, run)
  end
  local IB8 <const>, IB1 <const> = { ["rdma/ib"] = "8" }, { ["rdma/ib"] = "1" }
  local BOTH <const> = { ["rdma/ib"] = "8", ["nvidia.com/mlnxnics"] = "8" }

  it("8.90 takes the only one that all nodes have", function()
    assert.same({ resource = "rdma/ib" }, detect { IB8, IB8 })
  end)
  it("8.91 takes none that a node has too few of", function()
    local got = detect { IB8, IB1 }
    assert.equal("", got.resource)
    assert.equal("rdma/ib below count 8 on some nodes; --nics says how many a node has, --nic-resource which are meant",
      got.why)
  end)
  it("8.92 takes none of several", function()
    local got = detect { BOTH, BOTH }
    assert.equal("", got.resource)
    assert.equal("several NIC resources are on every node: nvidia.com/mlnxnics, rdma/ib; say which one with"
      .. " --nic-resource", got.why)
  end)
  it("says that no node has one", function()
    assert.is_truthy(detect({ {}, { ["nvidia.com/gpu"] = "4" } }).why:find("no node has a NIC resource", 1, true))
  end)
  it("takes one of two that only some nodes have both of", function()
    assert.equal("rdma/ib", detect { BOTH, IB8 }.resource)
  end)
  it("asks for at least one", function()
    assert.equal("rdma/ib", detect({ IB1 }, { nics = 0 }).resource)
    assert.equal("", detect({ { ["rdma/ib"] = "0" } }, { nics = 0 }).resource)
  end)
  it("leaves a quantity that is none out", function()
    assert.equal("", detect({ { ["rdma/ib"] = "many" } }, { nics = 1 }).resource)
  end)
  it("takes what the user says, and none where the user says none", function()
    assert.same({ resource = "rdma/x" }, detect({ BOTH }, { given = "rdma/x" }))
    assert.same({ resource = "" }, detect({ IB8 }, { given = "" }))
  end)
  it("looks only on premises, for the architectures that need it", function()
    assert.same({ resource = "" }, detect({ IB8 }, { platform = "aws" }))
    assert.same({ resource = "" }, detect({ IB8 }, { arch = "h100" }))
  end)
end)

local PREFIX <const> = "networking.gke.io.networks/"

-- The networks of the host's eth1.. in that order, as a node says it.
local function annotations(order)
  local nic, north = json.array(), json.array()
  for i, network in ipairs(order) do
    local ip = "10.0.0." .. i
    nic[i] = { birthIP = ip, birthName = "eth" .. i, pciAddress = ("0000:%02d:00.0"):format(i) }
    north[#order + 1 - i] = { network = network, ipAddress = ip }
  end
  return { [gke.NIC_INFO_ANNOTATION] = json.encode(nic), [gke.NORTH_INTERFACES_ANNOTATION] = json.encode(north) }
end

local function gke_node(name, count, notes)
  local allocatable = { [PREFIX .. "default"] = "1", ["nvidia.com/gpu"] = "8" }
  for i = 1, count do
    allocatable[PREFIX .. "net-" .. i] = "1"
    allocatable[PREFIX .. "net-" .. i .. ".IP"] = "8"
  end
  return node(name, allocatable, notes)
end

describe("detect_gke_networks", function()
  local HOST <const> = { "net-3", "net-1", "net-2", "net-8", "net-7", "net-6", "net-5", "net-4" }
  local BY_NAME <const> = { "net-1", "net-2", "net-3", "net-4", "net-5", "net-6", "net-7", "net-8" }
  local DEFAULT <const> = {
    "gpu-nic0", "gpu-nic1", "gpu-nic2", "gpu-nic3", "gpu-nic4", "gpu-nic5", "gpu-nic6", "gpu-nic7",
  }

  it("8.93 is the order of the host's interfaces where all nodes agree", function()
    local notes = annotations(HOST)
    local got = platform.detect_gke_networks { gke_node("a", 8, notes), gke_node("b", 8, notes) }
    assert.same({ networks = HOST, order = "host" }, got)
  end)
  local broken = annotations(HOST)
  broken[gke.NIC_INFO_ANNOTATION] = "[{"
  local twice = { "net-3", "net-3", "net-2", "net-8", "net-7", "net-6", "net-5", "net-4" }
  for what, notes in pairs {
    ["missing"] = {}, ["no JSON"] = broken, ["of another order"] = annotations(BY_NAME),
    ["of one network twice"] = annotations(twice), ["of seven interfaces"] = annotations { table.unpack(HOST, 1, 7) },
  } do
    it("8.94 is by name where nic-info of one node is " .. what, function()
      local got = platform.detect_gke_networks { gke_node("a", 8, annotations(HOST)), gke_node("b", 8, notes) }
      assert.same({ networks = BY_NAME, order = "name" }, got)
    end)
  end
  for _, count in ipairs { 7, 9, 0 } do
    it(("8.95 are the names by convention where nodes share %d"):format(count), function()
      local got = platform.detect_gke_networks { gke_node("a", count), gke_node("b", count) }
      assert.same(DEFAULT, got.networks)
      local seen = count == 0 and "no network is on every node" or ("%d networks, net-1, "):format(count)
      assert.equal(seen, got.warning:sub(1, #seen))
    end)
  end
  it("count those that every node has", function()
    assert.equal("default", platform.detect_gke_networks({ gke_node("a", 8), gke_node("b", 7) }).order)
    assert.equal("name", platform.detect_gke_networks({ gke_node("a", 8), gke_node("b", 9) }).order)
    assert.equal("default", platform.detect_gke_networks({}).order)
  end)
  it("are those that the user says", function()
    assert.same({ networks = { "x" }, order = "given" }, platform.detect_gke_networks({}, { networks = { "x" } }))
  end)
  it("become pairs of the annotation", function()
    local pairs_of = platform.interface_pairs(DEFAULT)
    assert.same({ interfaceName = "eth0", network = "default" }, pairs_of[1])
    assert.same({ interfaceName = "eth8", network = "gpu-nic7" }, pairs_of[9])
    assert.equal(9, #pairs_of)
  end)
end)

describe("detect_tcpxo_release", function()
  local IMAGE <const> = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev"
  local NODES <const> = { node "a", node "b" }

  local function pod(name, image, more)
    local out = {
      metadata = { name = "p" },
      spec = { nodeName = name, initContainers = { { image = image } }, containers = { {} } },
      status = { phase = "Running" },
    }
    for key, member in pairs(more or {}) do
      out[key] = member
    end
    return out
  end

  local function detect(a, b, more)
    return platform.detect_tcpxo_release(NODES, { pod("a", IMAGE .. a), pod("b", IMAGE .. b, more) })
  end

  local rows = {
    { "8.96", ":v1.0.16", ":v1.0.16", "v1.0.16", 12, "v1.0.22" },
    { "8.96", ":v1.0.16", ":v1.0.17", "v1.0.15", 12, "v1.0.21",
      "different releases of the TCPXO plug-in: v1.0.16, v1.0.17" },
    { "8.96", ":v1.1.0", ":v1.1.0", "v1.0.17", 13, "v1.0.23", "release v1.1.0 of the TCPXO plug-in is not known" },
    { "a suffix", ":v1.0.17-1", ":v1.0.17", "v1.0.17", 13, "v1.0.23" },
    { "a digest", ":v1.0.17@sha256:00", ":v1.0.17", "v1.0.17", 13, "v1.0.23" },
    { "only a digest", "@sha256:00", ":v1.0.17", "v1.0.15", 12, "v1.0.21", "on node a is without a tag" },
    { "another form", ":latest", ":latest", "v1.0.15", 12, "v1.0.21", 'on node a is with the tag "latest"' },
    { "an older one", ":v1.0.8", ":v1.0.8", "v1.0.15", 12, "v1.0.21", "release v1.0.8 of the TCPXO plug-in" },
  }
  for _, row in ipairs(rows) do
    it(("%s %s %s"):format(row[1], row[2], row[3]), function()
      local got = detect(row[2], row[3])
      assert.same({ row[4], row[5], row[6], row[7] == nil }, { got.tag, got.cuda, got.daemon, got.exact })
      if row[7] then
        assert.is_truthy(got.warning:find(row[7], 1, true), got.warning)
        assert.is_truthy(got.warning:find("the option release", 1, true))
      else
        assert.is_nil(got.warning)
      end
    end)
  end
  for what, more in pairs {
    ["is being deleted"] = { metadata = { deletionTimestamp = "2026-01-01T00:00:00Z" } },
    ["does not run"] = { status = { phase = "Pending" } },
  } do
    it("counts no pod that " .. what, function()
      assert.is_truthy(detect(":v1.0.17", ":v1.0.17", more).warning:find("no running pod with the image .* on node b"))
    end)
  end
  it("is what the user says", function()
    assert.equal("v1.0.23", platform.detect_tcpxo_release({}, {}, { release = "v1.0.17" }).daemon)
    assert.equal("release", raised(platform.detect_tcpxo_release, {}, {}, { release = "new" }).reason)
    assert.is_false(platform.detect_tcpxo_release({}, {}).exact)
  end)
end)
