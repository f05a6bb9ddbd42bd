-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local binary = require "spec.support.binary"
local cases = require "spec.support.cases"
local faults = require "spec.support.faults"
local files = require "spec.support.files"
local json = require "aicr.json"
local recording = require "spec.support.recording"

local NAME <const> = "gke-gpu-nic-networks"
local RECORDINGS <const> = "spec/fixtures/recordings/"

describe(NAME, function()
  cases.vectors(NAME, it)
  cases.faults(NAME, it)
end)

describe(NAME .. " tells the operator what gke-tcpxo.md 4.4 asks for", function()
  local PROVISIONING <const> = {
    "gke-nccl-tcpxo", "of 8", "One Network per GPU NIC is required", "GKENetworkParamSet", '"gpu-nic"',
    "in its own name", "come with the cluster's provisioning", "--enable-multi-networking cannot",
    "kubectl get network.networking.gke.io", "https://",
  }
  local rows = {
    ["missing-network"] = PROVISIONING,
    ["api-not-served"] = PROVISIONING,
    ["not-ready"] = {
      "gke-nccl-tcpxo", "the networks exist", "only 7 of 8 are Ready", "binding", "lyra-gpu-nic-k4",
      "Both objects must exist and be Ready", "provisioned with the cluster",
      "kubectl describe network.networking.gke.io", "kubectl get gkenetworkparamset",
    },
  }
  for fault, wanted in pairs(rows) do
    it("of " .. fault, function()
      local told = cases.told(fault)
      for _, words in ipairs(wanted) do
        assert.truthy(told:find(words, 1, true), ("%q not in %s"):format(words, told))
      end
    end)
  end
end)

describe(NAME .. " on objects that are being deleted", function()
  local WHEN <const> = "2026-03-10T20:10:44Z"
  for _, row in ipairs {
    { key = recording.NETWORKS, name = "lyra-gpu-nic-k3", says = "; being deleted: network lyra-gpu-nic-k3" },
    { key = recording.RUNTIMES, name = "torch-distributed-tcpxo", says = "; being deleted: torch-distributed-tcpxo" },
  } do
    it("says so with its pass: " .. row.name, function()
      local parts = recording.read()
      for _, object in ipairs(parts.lists[row.key].items) do
        object.metadata.deletionTimestamp = object.metadata.name == row.name and WHEN or nil
      end
      files.with_folder(function(folder)
        recording.write(folder, parts)
        local got = binary.check(binary.report { "--recording", folder, "--recipe", "recipes/lyra.yaml",
          "checks/gke_tcpxo.lua", "-p", "deployment" }, NAME)
        assert.equal("pass", got.outcome, got.message)
        assert.equal("8 interfaces: recipe = deployed, all on cluster" .. row.says, got.result)
      end)
    end)
  end
end)

describe("the shipped recordings", function()
  it("lyra-ok: two passing checks", function()
    local result = cases.golden("lyra-ok", RECORDINGS .. "lyra-ok")
    assert.equal(0, result.code)
    assert.equal("", result.stderr)
  end)

  it("lyra-swapped: a fail that shows the two pairs", function()
    local result = cases.golden("lyra-swapped", RECORDINGS .. "lyra-swapped")
    assert.equal(1, result.code)
    assert.truthy(result.stdout:find("lyra-gpu-nic-k4", 1, true))
  end)

  it("lyra-swapped is lyra-ok with two pairs exchanged and nothing else", function()
    local healthy = recording.read()
    faults.swap_pairs(healthy)
    assert.equal(json.encode(recording.read(RECORDINGS .. "lyra-swapped")), json.encode(healthy))
  end)

  it("lyra-ok: the report holds the evidence", function()
    local report = binary.report { "--recording", RECORDINGS .. "lyra-ok", "--recipe", "recipes/lyra.yaml",
      NAME }
    local check = binary.check(report, NAME)
    assert.equal("8 interfaces: recipe = deployed, all on cluster", check.result)
    assert.equal(2, #check.evidence)
    for n = 1, 8 do
      assert.truthy(check.evidence[1]:find("lyra-gpu-nic-k" .. n, 1, true))
    end
    assert.is_nil(check.evidence[1]:find("default", 1, true))
    assert.truthy(check.evidence[2]:find("torch-distributed-tcpxo: 8 interfaces", 1, true))
  end)

  it("a swapped pair carries the complete comparison", function()
    local report = binary.report { "--recording", RECORDINGS .. "lyra-swapped", "--recipe",
      "recipes/lyra.yaml", NAME }
    local diff = binary.check(report, NAME).details.diff
    assert.equal(8, #diff.rows)
    for i, row in ipairs(diff.rows) do
      assert.equal(tostring(i), row.k)
      assert.equal(("eth%d → lyra-gpu-nic-k%d"):format(i, i), row.l)
      assert.equal(i ~= 3 and i ~= 4, row.l == row.r)
    end
  end)
end)
