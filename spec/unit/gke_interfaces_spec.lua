-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local gke = require "aicr.native.gke"
local json = require "aicr.json"
local raised = require "spec.support.raised"
local vectors = require "spec.support.vectors"

-- What our error must show for each word of the vectors: a reason, and a part of the message where
-- one reason covers several rules.
local WHY = {
  parse_interfaces = {
    not_json = { "annotation-malformed", "not valid JSON" },
    empty = { "annotation-empty", "empty list" },
    first_entry = { "annotation-first-entry", 'wanted "eth0" → "default"' },
  },
  validate_interfaces = {
    count = { "mapping-invalid", "wanted 8 interfaces (eth1..eth8), got " },
    interface_name = { "mapping-invalid", "must be one of eth1..eth8" },
    interface_duplicate = { "mapping-invalid", "duplicate interface" },
    network_reserved = { "mapping-invalid", "reserved for eth0" },
    network_name = { "mapping-invalid", "1 to 41 of a-z 0-9 -" },
    network_substring = { "mapping-invalid", 'contain "gpu-nic"' },
    network_duplicate = { "mapping-invalid", "duplicate network" },
    list_segment = { "mapping-invalid", "wanted INTERFACE=NETWORK" },
    list_blank = { "mapping-invalid", "interface list is empty" },
  },
}
WHY.parse_interface_list = WHY.validate_interfaces

-- The rows of gke-tcpxo.md 7.1 and 7.3 carry no word; it stands in the tables there.
local WORDS = {
  ["P-03"] = "empty", ["P-04"] = "empty",
  ["V-03"] = "count", ["V-04"] = "interface_name", ["V-05"] = "interface_duplicate",
  ["V-06"] = "network_reserved", ["V-08"] = "network_name", ["V-09"] = "network_name",
  ["V-10"] = "network_substring", ["V-11"] = "network_duplicate", ["V-12"] = "network_substring",
}
for _, id in ipairs { "13", "14", "15", "16", "17", "18", "21", "23", "27", "30" } do
  WORDS["P-" .. id] = "first_entry"
end
for _, id in ipairs { "06", "07", "08", "09", "10", "11", "12", "25", "29", "31", "32", "36" } do
  WORDS["P-" .. id] = "not_json"
end

local function refused(row, err)
  assert.equal(row.code, err.code)
  assert.is_true(err.verdict)
  local word = row.why or WORDS[row.id:match "^%u%-%d+"]
  local wanted = assert(WHY[row.op][word], "no word for " .. row.id)
  assert.equal(wanted[1], err.reason)
  assert.is_truthy(err.message:find(wanted[2], 1, true), err.message)
end

local function each(op, argument, f)
  for _, row in ipairs(vectors.rows(vectors.GKE, op)) do
    it(row.id, function()
      local value = assert(row.args[argument])
      if not row.ok then
        refused(row, raised(f, value))
        return
      end
      local result = f(value)
      if row.result ~= json.null then
        assert.same(row.result, result)
      end
      if op == "validate_interfaces" then
        assert.equal(value, result)
      end
    end)
  end
end

describe("parse_interfaces", function()
  each("parse_interfaces", "text", gke.parse_interfaces)
end)

describe("validate_interfaces", function()
  each("validate_interfaces", "pairs", gke.validate_interfaces)
end)

describe("parse_interface_list", function()
  each("parse_interface_list", "text", gke.parse_interface_list)
end)

describe("the interfaces annotation", function()
  local E0 = '{"interfaceName":"eth0","network":"default"}'

  it("names its key and both sides when the first entry is wrong", function()
    local err = raised(gke.parse_interfaces, '[{"interfaceName":"eth1","network":"lyra\\n"}]')
    assert.equal('annotation networking.gke.io/interfaces: the first entry is '
      .. '"eth1" → "lyra\\n", ' .. 'wanted "eth0" → "default"', err.message)
  end)

  it("says which entry has the wrong type", function()
    local err = raised(gke.parse_interfaces, "[" .. E0 .. ',{"interfaceName":"eth1","network":5}]')
    assert.equal("annotation networking.gke.io/interfaces is not valid JSON of its type: "
      .. 'entry 1: "network" is a number, wanted a string', err.message)
    err = raised(gke.parse_interfaces, "[" .. E0 .. ",null,[]]")
    assert.equal("annotation networking.gke.io/interfaces is not valid JSON of its type: "
      .. "entry 2 is a list, wanted an object", err.message)
    err = raised(gke.parse_interfaces, "true")
    assert.equal("annotation networking.gke.io/interfaces is not valid JSON of its type: "
      .. "it is a boolean, wanted a list", err.message)
  end)

  it("lets a syntax error anywhere win over a wrong type before it", function()
    local err = raised(gke.parse_interfaces, '["x",{"network":5},]')
    assert.is_nil(err.message:find("entry", 1, true))
    assert.is_truthy(err.message:find("is not valid JSON: ", 1, true))
  end)

  it("keeps a value that a later null would erase, and takes the later of two", function()
    assert.same({ { interfaceName = "a", network = "y" } }, gke.parse_interfaces(
      "[" .. E0 .. ',{"interfaceName":"a","INTERFACENAME":null,"network":"x","Network":"y"}]'))
  end)

  it("compares bytes beyond a NUL", function()
    local err = raised(gke.parse_interfaces,
      '[{"interfaceName":"eth0\\u0000","network":"default"}]')
    assert.equal("annotation-first-entry", err.reason)
    assert.same({ { interfaceName = "a\0b", network = "" } }, gke.parse_interfaces(
      "[" .. E0 .. ',{"interfaceName":"a\\u0000b"}]'))
  end)

  -- A Go decoder stops at 10,000 levels; nothing valid is nested past two.
  for _, row in ipairs { { 62, true }, { 63, false } } do
    it(("takes %d levels below an entry: %s"):format(row[1], row[2]), function()
      local text = '[{"interfaceName":"eth0","network":"default","x":'
        .. ("["):rep(row[1]) .. ("]"):rep(row[1]) .. "}]"
      if row[2] then
        assert.same({}, gke.parse_interfaces(text))
      else
        assert.equal("annotation-malformed", raised(gke.parse_interfaces, text).reason)
      end
    end)
  end

  -- What the API server admits for all annotations of an object.
  for _, row in ipairs { { 262144, true }, { 262145, false } } do
    it(("takes %d bytes: %s"):format(row[1], row[2]), function()
      local text = "[" .. E0 .. "]"
      text = text .. (" "):rep(row[1] - #text)
      if row[2] then
        assert.same({}, gke.parse_interfaces(text))
      else
        local err = raised(gke.parse_interfaces, text)
        assert.equal("annotation-malformed", err.reason)
        assert.is_truthy(err.message:find("256 KiB", 1, true))
      end
    end)
  end

  it("gives an empty list that stays one", function()
    assert.equal("[]", json.encode(gke.parse_interfaces("[" .. E0 .. "]")))
  end)
end)

describe("interfaces_annotation", function()
  it("writes eth0 and one interface a network, without spaces", function()
    assert.equal('[{"interfaceName":"eth0","network":"default"},'
      .. '{"interfaceName":"eth1","network":"a-gpu-nic"},'
      .. '{"interfaceName":"eth2","network":"b-gpu-nic"}]',
      gke.interfaces_annotation { "a-gpu-nic", "b-gpu-nic" })
  end)

  it("goes on with eth9 for a ninth network", function()
    local names = {}
    for i = 1, 9 do
      names[i] = "gpu-nic-" .. i
    end
    local pairs_read = gke.parse_interfaces(gke.interfaces_annotation(names))
    assert.equal(9, #pairs_read)
    assert.same({ interfaceName = "eth9", network = "gpu-nic-9" }, pairs_read[9])
  end)

  it("escapes what it is given", function()
    assert.same({ { interfaceName = "eth1", network = 'a"\\\0\n' } },
      gke.parse_interfaces(gke.interfaces_annotation { 'a"\\\0\n' }))
  end)

  it("is only eth0 without networks", function()
    assert.same({}, gke.parse_interfaces(gke.interfaces_annotation {}))
  end)
end)

describe("devices_annotation", function()
  it("lists the GPUs and then the shared devices", function()
    assert.equal("- path: /dev/nvidia0\n- path: /dev/nvidia1\n- path: /dev/nvidiactl\n"
      .. "- path: /dev/nvidia-uvm\n- path: /dev/dmabuf_import_helper\n",
      gke.devices_annotation(2))
  end)

  it("lists only the shared devices without GPUs", function()
    assert.equal("- path: /dev/nvidiactl\n- path: /dev/nvidia-uvm\n"
      .. "- path: /dev/dmabuf_import_helper\n", gke.devices_annotation(0))
  end)
end)

describe("wrong arguments", function()
  local rows = {
    { "parse_interfaces", "string expected", {} },
    { "parse_interface_list", "string expected", {} },
    { "validate_interfaces", "table expected", "x" },
    { "validate_interfaces", "a list of {interfaceName, network} expected", { "x" } },
    { "validate_interfaces", "interfaceName must be a string, got nil", { {} } },
    { "validate_interfaces", "network must be a string, got number",
      { { interfaceName = "eth1", network = 5 } } },
    { "interfaces_annotation", "a list of strings expected", { 5 } },
    { "devices_annotation", "0 to 64 GPUs expected", -1 },
    { "devices_annotation", "0 to 64 GPUs expected", 65 },
  }
  for _, row in ipairs(rows) do
    it(("of %s: %s"):format(row[1], row[2]), function()
      local ok, message = pcall(gke[row[1]], row[3])
      assert.is_false(ok)
      assert.is_string(message)
      assert.is_truthy(message:find(row[2], 1, true), message)
    end)
  end
end)
