-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local gke = require "aicr.native.gke"
local json = require "aicr.json"
local raised = require "spec.support.raised"
local vectors = require "spec.support.vectors"

local WHY = {
  parse_nic_info = {
    blank = { "nic-info-missing", "absent or blank" },
    not_json = { "nic-info-malformed", "not valid JSON" },
    empty = { "nic-info-empty", "empty list" },
    interface_duplicate = { "nic-info-duplicate", "duplicate interface name \"" },
    no_entries = { "nic-info-empty", "no entry with an interface name and a PCI address" },
  },
  parse_north_interfaces = {
    blank = { "north-interfaces-malformed", "blank" },
    not_json = { "north-interfaces-malformed", "not valid JSON" },
  },
}

-- The rows of gke-tcpxo.md 7.7 carry no word; it stands in the tables there.
local WORDS = {
  ["I-03.0"] = "empty", ["I-03.1"] = "empty", ["I-03.2"] = "not_json", ["I-03.3"] = "not_json",
  ["I-03.4"] = "blank", ["I-07"] = "interface_duplicate", ["I-09"] = "no_entries",
  ["J-03.0"] = "not_json", ["J-03.1"] = "blank",
}

for _, op in ipairs { "parse_nic_info", "parse_north_interfaces" } do
  describe(op, function()
    for _, row in ipairs(vectors.rows(vectors.GKE, op)) do
      it(row.id, function()
        if row.ok then
          assert.same(row.result, gke[op](row.args.text))
          return
        end
        local err = raised(gke[op], row.args.text)
        assert.equal(row.code, err.code)
        assert.is_true(err.verdict)
        local word = assert(row.why or WORDS[row.id], "no word for " .. row.id)
        local wanted = assert(WHY[op][word], word)
        assert.equal(wanted[1], err.reason)
        assert.is_truthy(err.message:find(wanted[2], 1, true), err.message)
      end)
    end
  end)
end

describe("displaced_interfaces", function()
  for _, row in ipairs(vectors.rows(vectors.GKE, "displaced")) do
    it(row.id, function()
      assert.is_true(row.ok)
      local wanted = {}
      for i, d in ipairs(row.result) do
        wanted[i] = ('%s (ip "%s", network "%s")'):format(d.interface, d.ip, d.network)
      end
      assert.same(wanted, gke.displaced_interfaces(gke.parse_nic_info(row.args.nicInfo),
        gke.parse_north_interfaces(row.args.north), row.args.gpuNetworks))
    end)
  end

  it("escapes what the node says", function()
    assert.same({ 'eth1 (ip "1\\n", network "\\x1b")' }, gke.displaced_interfaces(
      { ips = { eth1 = "1\n" } }, { ["1\n"] = "\27" }, {}))
  end)

  it("keeps the order of the interfaces", function()
    local info = { ips = { eth8 = "8", eth2 = "2", eth5 = "5", eth0 = "0", eth9 = "9" } }
    assert.same({ 'eth2 (ip "2", network "")', 'eth5 (ip "5", network "")',
      'eth8 (ip "8", network "")' }, gke.displaced_interfaces(info, {}, {}))
  end)
end)

describe("nic-info", function()
  it("sorts the names that are not eth0..eth8 by bytes", function()
    local entries = {}
    for i, name in ipairs { "gve0", "eth9", "ETH1", "eth", "eth10", "eth08", "eth1" } do
      entries[i] = { birthName = name, pciAddress = "x" }
    end
    local info = gke.parse_nic_info(json.encode(entries))
    assert.same({ "ETH1", "eth", "eth08", "eth10", "eth9", "gve0" }, info.extra)
    assert.equal(1, info.present)
    assert.same({ "eth2", "eth3", "eth4", "eth5", "eth6", "eth7", "eth8" }, info.missing)
    assert.equal("", info.ips.eth1)
  end)

  it("quotes the name that stands twice", function()
    local entry = '{"birthName":"e\\n1","pciAddress":"x"}'
    local err = raised(gke.parse_nic_info, "[" .. entry .. "," .. entry .. "]")
    assert.equal("annotation networking.gke.io/nic-info: duplicate interface name \"e\\n1\"",
      err.message)
  end)

  it("refuses an IPv6 address that is no string, although it is not used", function()
    local text = '[{"birthName":"eth1","pciAddress":"x","birthIPv6":5}]'
    assert.equal("nic-info-malformed", raised(gke.parse_nic_info, text).reason)
    text = '[{"network":"n","ipAddress":"1","ipv6Address":[]}]'
    assert.equal("north-interfaces-malformed", raised(gke.parse_north_interfaces, text).reason)
  end)

  it("names the first of several repeated names", function()
    local text = '[{"birthName":"a","pciAddress":"x"},{"birthName":"b","pciAddress":"x"},'
      .. '{"birthName":"b","pciAddress":"x"},{"birthName":"a","pciAddress":"x"}]'
    assert.is_truthy(raised(gke.parse_nic_info, text).message:find('"b"', 1, true))
  end)
end)

describe("north-interfaces", function()
  it("drops entries without address or network", function()
    assert.same({ b = "y" }, gke.parse_north_interfaces(
      '[{"network":"x"},{"ipAddress":"a"},null,{"network":"y","ipAddress":"b"},'
        .. '{"network":"","ipAddress":"b"}]'))
  end)
end)

describe("wrong arguments", function()
  local info = { ips = {} }
  local rows = {
    { "parse_nic_info", "string expected", { {} } },
    { "parse_north_interfaces", "string expected", {} },
    { "displaced_interfaces", "a table of parse_nic_info expected", { {}, {}, {} } },
    { "displaced_interfaces", "ips must hold strings", { { ips = { eth3 = 5 } }, {}, {} } },
    { "displaced_interfaces", "network names by address expected", { info, { a = 5 }, {} } },
    { "displaced_interfaces", "network names by address expected", { info, { "a" }, {} } },
    { "displaced_interfaces", "a list of strings expected", { info, {}, { 5 } } },
    { "displaced_interfaces", "table expected", { info, {} } },
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
