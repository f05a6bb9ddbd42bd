-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local gke = require "aicr.native.gke"
local json = require "aicr.json"
local raised = require "spec.support.raised"
local vectors = require "spec.support.vectors"

-- The rows of gke-tcpxo.md 7.3 and 7.4 carry no word; it stands in the tables there.
local WORDS = {
  ["M-02"] = "position:1", ["M-03"] = "count", ["M-04"] = "position:5",
  ["E-02"] = "missing", ["E-03"] = "not_usable", ["E-04"] = "missing", ["E-05"] = "missing",
}

local function word_of(row)
  return assert(row.why or WORDS[row.id], "no word for " .. row.id)
end

local function shown(pair)
  return pair and pair.interfaceName .. " → " .. pair.network or json.null
end

describe("verify_mapping", function()
  for _, row in ipairs(vectors.rows(vectors.GKE, "verify_mapping")) do
    it(row.id, function()
      local recorded, deployed = row.args.recorded, row.args.deployed
      if row.ok then
        assert.equal(0, select("#", gke.verify_mapping(recorded, deployed)))
        return
      end
      local err = raised(gke.verify_mapping, recorded, deployed)
      assert.equal(row.code, err.code)
      assert.is_true(err.verdict)
      assert.is_truthy(err.message:find("torch-distributed-tcpxo", 1, true))
      local word = word_of(row)
      if word == "count" then
        assert.equal("mapping-count", err.reason)
        assert.is_truthy(err.message:find(("%d interfaces deployed"):format(#deployed), 1, true))
        assert.is_truthy(err.message:find(("records %d:"):format(#recorded), 1, true))
      else
        assert.equal("mapping-mismatch", err.reason)
        local position = word:match "^position:(%d+)$"
        assert.is_truthy(err.message:find(("pair %s is "):format(position), 1, true), err.message)
      end
      local diff = err.details.diff
      assert.same({ "position", "recipe", "deployed" }, { diff.key, diff.left, diff.right })
      assert.equal(math.max(#recorded, #deployed), #diff.rows)
      for i, line in ipairs(diff.rows) do
        assert.same({ k = tostring(i), l = shown(recorded[i]), r = shown(deployed[i]) }, line)
      end
    end)
  end

  it("names both pairs, quoted", function()
    local err = raised(gke.verify_mapping,
      { { interfaceName = "eth1", network = "a" } },
      { { interfaceName = "eth1", network = "b\27[0m" } })
    assert.equal('runtime torch-distributed-tcpxo: pair 1 is "eth1" → "b\\x1b[0m", the recipe '
      .. 'records "eth1" → "a": the deployed artifact diverges from the recipe', err.message)
  end)

  it("tells names that differ only after a NUL apart", function()
    local err = raised(gke.verify_mapping,
      { { interfaceName = "eth1", network = "a\0b" } },
      { { interfaceName = "eth1", network = "a\0c" } })
    assert.equal("mapping-mismatch", err.reason)
    assert.equal("eth1 → a\0c", err.details.diff.rows[1].r)
  end)
end)

describe("verify_networks_exist", function()
  for _, row in ipairs(vectors.rows(vectors.GKE, "verify_networks_exist")) do
    it(row.id, function()
      local args = row.args
      if row.ok then
        assert.equal(0, select("#",
          gke.verify_networks_exist(args.deployed, args.usable, args.present)))
        return
      end
      local err = raised(gke.verify_networks_exist, args.deployed, args.usable, args.present)
      assert.equal(row.code, err.code)
      assert.is_true(err.verdict)
      local reason = word_of(row) == "missing" and "network-missing" or "network-not-usable"
      assert.equal(reason, err.reason)

      -- The message lists exactly the offending pairs, sorted.
      local known, usable, wanted = {}, {}, {}
      for _, name in ipairs(args.present) do known[name] = true end
      for _, name in ipairs(args.usable) do usable[name] = true end
      for _, pair in ipairs(args.deployed) do
        local bad = not known[pair.network]
        if reason == "network-not-usable" then
          bad = known[pair.network] and not usable[pair.network]
        end
        if bad then
          wanted[#wanted + 1] = ('"%s" → "%s"'):format(pair.interfaceName, pair.network)
        end
      end
      table.sort(wanted)
      local listed = err.message:match ": (.-); [tu]"
      assert.equal(table.concat(wanted, ", "), listed)
      assert.is_truthy(err.message:find("torch-distributed-tcpxo", 1, true))
    end)
  end

  local DEPLOYED = {
    { interfaceName = "eth2", network = "n2" }, { interfaceName = "eth1", network = "n1" },
  }

  it("names what the cluster has", function()
    assert.equal("runtime torch-distributed-tcpxo uses networks that the cluster does not have: "
      .. '"eth1" → "n1", "eth2" → "n2"; the cluster has: "a", "b"',
      raised(gke.verify_networks_exist, DEPLOYED, { "a" }, { "a", "b" }).message)
    assert.is_truthy(raised(gke.verify_networks_exist, DEPLOYED, {}, {}).message
      :find("the cluster has: none", 1, true))
  end)

  it("names what is usable", function()
    assert.equal("runtime torch-distributed-tcpxo uses networks that exist but are not ready or "
      .. 'not bound: "eth2" → "n2"; usable: "n1", "n3"',
      raised(gke.verify_networks_exist, DEPLOYED, { "n1", "n3" }, { "n1", "n2", "n3" }).message)
  end)

  it("says how many names it left out of a long list", function()
    local present = {}
    for i = 1, 500 do
      present[i] = ("a-gpu-nic-with-a-rather-long-name-%03d"):format(i)
    end
    local message = raised(gke.verify_networks_exist, DEPLOYED, {}, present).message
    assert.is_true(#message < 2000)
    local listed = select(2, message:gsub("a%-gpu%-nic%-with", ""))
    assert.equal(500 - listed, tonumber(message:match " and (%d+) more$"))
  end)
end)

describe("wrong arguments", function()
  local pair = { interfaceName = "eth1", network = "n" }
  local rows = {
    { "verify_mapping", "table expected", { { pair } } },
    { "verify_mapping", "a list of {interfaceName, network} expected", { { pair }, { 1 } } },
    { "verify_networks_exist", "a list of strings expected", { { pair }, { 1 }, {} } },
    { "verify_networks_exist", "a list of strings expected", { { pair }, {}, { {} } } },
    { "verify_networks_exist", "table expected", { { pair }, {} } },
  }
  for _, row in ipairs(rows) do
    it(("of %s: %s"):format(row[1], row[2]), function()
      local ok, message = pcall(gke[row[1]], table.unpack(row[3]))
      assert.is_false(ok)
      assert.is_string(message)
      assert.is_truthy(message:find(row[2], 1, true), message)
    end)
  end
end)
