-- SPDX-License-Identifier: Apache-2.0
--- Over what a benchmark went, against what it had to go over: nccl-benchmark.md 7.5, on lines of NCCL.
require "aicr_native"
local errors = require "aicr.native.error"
local nccl = require "aicr.nccl"
local transport = require "aicr.nccl_runtime.transport"

-- Lines of NCCL's log as evidence: words of messages, a line each; "N*" before one repeats it.
local function seen(...)
  local lines = {}
  for i, message in ipairs { ... } do
    for rank = 0, (tonumber(message:match "^(%d+)%*") or 1) - 1 do
      lines[#lines + 1] = ("w%d:21:21 [%d] NCCL INFO %s\n"):format(i, rank, (message:gsub("^%d+%*", "")))
    end
  end
  return nccl.parse_debug(table.concat(lines))
end

local function channel(path)
  return "4*Channel 00/0 : 0[0] -> 8[0] [send] via " .. path
end

local IB <const> = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.2.0.7<0>"
local ROCE <const> = "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.2.0.7<0>"
local EFA <const> = "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)"
local WHOLE <const> = "MNNVL 1 cliqueId 7ffe cliqueSize 16 cliqueRank 5"
local HALF <const> = "MNNVL 1 cliqueId 7ffe cliqueSize 8 cliqueRank 5"
local OFF <const> = "comm 0x55aa10 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0"

-- name, want, lines, verdict ("ok", or reason), words of the message
local ROWS <const> = {
  { "EFA", { fabric = { "efa" } }, { "Using network AWS Libfabric", EFA, channel "NET/AWS Libfabric/0/GDRDMA" },
    "ok" },
  { "EFA by its newer name", { fabric = { "efa" } }, { "Using network Libfabric", channel "NET/Libfabric/0" }, "ok" },
  { "sockets for EFA", { fabric = { "efa" } }, { "16*Using network Socket", channel "NET/Socket/0" }, "wrong-transport",
    "4 channels go over TCP sockets (NET/Socket), where efa is to carry them" },
  { "sockets for EFA, and no channel", { fabric = { "efa" } }, { "Using network Socket" }, "wrong-transport",
    "NCCL used the network Socket, where it is to use efa" },
  { "another provider of libfabric", { fabric = { "efa" } }, { "Using network Libfabric", channel "NET/Libfabric/0",
    "NET/OFI Selected provider is tcp, fabric is 10.0.0.0/8 (found 1 nics)" }, "wrong-transport", "the provider tcp" },
  { "InfiniBand", { fabric = { "ib" } }, { "Using network IB", IB, channel "NET/IB/5/GDRDMA" }, "ok" },
  { "InfiniBand by its plug-in", { fabric = { "ib" } }, { "Using network IBext_v10", channel "NET/IBext_v10/5" },
    "ok" },
  { "RoCE for InfiniBand", { fabric = { "ib" } }, { "Using network IB", ROCE, channel "NET/IB/5" }, "wrong-transport",
    "NCCL used IB over links of kind RoCE, where it is to use ib" },
  { "InfiniBand beside an adapter of the node's own network", { fabric = { "ib" } }, { "Using network IB",
    "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_an0:1/RoCE [RO]; OOB eth0:10.2.0.7<0>", channel "NET/IB/0" }, "ok" },
  { "InfiniBand for RoCE", { fabric = { "roce" } }, { "Using network IB", IB, channel "NET/IB/5" }, "wrong-transport" },
  { "either", { fabric = { "ib", "roce" } }, { "Using network IB", ROCE, channel "NET/IB/5" }, "ok" },
  { "InfiniBand for EFA", { fabric = { "efa" } }, { "Using network IB", IB, channel "NET/IB/5" }, "wrong-transport" },
  { "gIB", { fabric = { "gib", "roce" } }, { "Using network gIB", channel "NET/gIB/0/GDRDMA" }, "ok" },
  { "some ranks over sockets", { fabric = { "ib" } }, { "12*Using network IB", "4*Using network Socket",
    channel "NET/IB/1" }, "wrong-transport", "the ranks used different networks: IB (12 times), Socket (4 times)" },
  { "some channels over sockets", { fabric = { "ib" } }, { "Using network IB", channel "NET/IB/1",
    channel "NET/Socket/0" }, "wrong-transport" },
  { "TCP on purpose", { fabric = { "socket" } }, { "Using network Socket", channel "NET/Socket/0" }, "ok" },
  { "InfiniBand, where TCP is meant", { fabric = { "socket" } }, { "Using network IB", channel "NET/IB/0" },
    "wrong-transport" },
  { "nothing said", { fabric = { "ib" } }, { "NCCL_IB_HCA set by environment to mlx5_0." }, "transport-unknown" },
  { "no channel said", { fabric = { "ib" } }, { "Using network IB", IB }, "transport-unknown", "no channel over it" },
  { "channels, and no network", { fabric = { "ib" } }, { OFF, channel "NET/IB/0" }, "transport-unknown" },
  { "NVLink between all nodes", { fabric = { "efa" }, nvlink = true }, { "Using network Socket", WHOLE }, "ok" },
  { "NVLink between all nodes, and nothing else wanted", { nvlink = true }, { "Using network Socket", WHOLE }, "ok" },
  { "NVLink, and channels over sockets", { nvlink = true }, { WHOLE, channel "NET/Socket/0" }, "wrong-transport",
    "where multi-node NVLink is to carry them" },
  { "no NVLink", { fabric = { "efa" }, nvlink = true }, { "Using network Libfabric", OFF, channel "NET/Libfabric/0" },
    "wrong-transport",
    "no multi-node NVLink (MNNVL 0; network Libfabric), where it is to use multi-node NVLink and efa" },
  { "NVLink not told of", { fabric = { "efa" }, nvlink = true },
    { "Using network Libfabric", channel "NET/Libfabric/0" }, "transport-unknown", "(MNNVL)" },
  { "two domains over EFA", { fabric = { "efa" }, nvlink = true }, { "Using network Libfabric", HALF,
    channel "NET/Libfabric/0" }, "ok" },
  { "two domains over sockets", { fabric = { "efa" }, nvlink = true }, { "Using network Socket", HALF },
    "wrong-transport" },
  { "two domains over sockets, and nothing else wanted", { nvlink = true }, { "Using network Socket", HALF },
    "wrong-transport" },
  { "two domains over whatever there is", { nvlink = true }, { "Using network IB", HALF, channel "NET/IB/0" }, "ok" },
}

describe("the transport", function()
  for _, row in ipairs(ROWS) do
    it(("%s: %s"):format(row[1], row[4]), function()
      local ok, fault = pcall(transport.fault, seen(table.unpack(row[3])), row[2], 16)
      if row[4] == "ok" then
        assert.is_true(ok, tostring(fault))
        assert.is_nil(fault)
        return
      end
      assert.equal(row[4] ~= "transport-unknown", ok, tostring(fault))
      assert.is_true(ok or errors.is(fault) and not fault.verdict)
      assert.same({ row[4], "INTERNAL" }, { fault.reason, fault.code })
      assert.equal("transport", fault.details.subject)
      assert.truthy(fault.message:find(row[5] or "transport: ", 1, true), fault.message)
    end)
  end

  it("is not known without a log of NCCL", function()
    local ok, err = pcall(transport.fault, nil, { fabric = { "ib" } }, 16)
    assert.is_false(ok)
    assert.equal("transport-unknown", err.reason)
  end)

  it("is told by what was kept of a log that lost its beginning", function()
    local keep, kept = transport.keeper()
    for _, line in ipairs { "w0:1:1 [0] NCCL INFO Using network Socket", "w0:1:1 [0] NCCL INFO NET/Plugin: none",
      "w0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0" } do
      keep(line)
    end
    assert.is_nil(kept():find("Plugin", 1, true))
    local evidence = transport.evidence(nccl.parse_debug "x\n", "x\n", kept())
    assert.same({ "Socket", 1 }, { evidence.network, evidence.socket_channels })
    assert.equal("wrong-transport", transport.fault(evidence, { fabric = { "efa" } }, 16).reason)
    local whole = seen "Using network IB"
    assert.equal(whole, transport.evidence(whole, "", kept()))
    assert.is_nil(transport.evidence(nil, "", nil))
  end)

  it("keeps so much and no more", function()
    local keep, kept = transport.keeper()
    for _ = 1, 3000 do
      keep("w0:1:1 [0] NCCL INFO Using network " .. ("x"):rep(1000))
    end
    assert.is_true(#kept() > 1024 * 1024 and #kept() < 1024 * 1024 + 4096)
  end)

  it("is named", function()
    assert.equal("AWS Libfabric", transport.text(seen "Using network AWS Libfabric", 16))
    assert.equal("multi-node NVLink", transport.text(seen("Using network IB", WHOLE), 16))
    assert.equal("multi-node NVLink and IB", transport.text(seen("Using network IB", HALF), 16))
  end)
end)
