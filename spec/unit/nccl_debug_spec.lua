-- SPDX-License-Identifier: Apache-2.0
--- What NCCL's own lines say: the vectors of nccl-benchmark.md 7.6 and 0.1.
-- luacheck: no max line length
require "aicr_native"
local nccl = require "aicr.nccl"

local function codes(evidence)
  local found = {}
  for i, item in ipairs(evidence.warnings) do
    found[i] = item.code
  end
  return found
end

-- The text, and what of the evidence it makes; `count` is the number of NCCL's lines.
local rows = {
  { "D01", "w0:21:21 [0] NCCL INFO Using network FasTrak", { network = "FasTrak", family = "fastrak" } },
  { "D02", "w0:21:21 [0] NCCL INFO Using network AWS Libfabric", { network = "AWS Libfabric", family = "efa" } },
  { "D03", "w1:9:30 [2] NCCL INFO Channel 03/0 : 11[3] -> 2[2] [receive] via NET/IB/5/GDRDMA",
    { paths = { { path = "NET/IB", count = 1, gdr = 1, pxn = 0, read = 0 } }, socket_channels = 0 } },
  { "D04", "w1:9:30 [2] NCCL INFO Channel 04/0 : 2[2] -> 11[3] [send] via NET/IB/5(7)/GDRDMA/Shared",
    { paths = { { path = "NET/IB", count = 1, gdr = 1, pxn = 1, read = 0 } } } },
  { "D05", "w1:9:30 [2] NCCL INFO Channel 00/1 : 2[2] -> 3[3] via P2P/CUMEM/read",
    { paths = { { path = "P2P/CUMEM", count = 1, gdr = 0, pxn = 0, read = 1 } } } },
  { "D06", "old:5:8 [1] NCCL INFO Channel 01 : 1[101d0] -> 0[101c0] via SHM/direct/direct",
    { paths = { { path = "SHM", count = 1, gdr = 0, pxn = 0, read = 0 } } } },
  { "D07", "w0:21:21 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
    { ofi = { provider = "efa", fabric = "efa-direct", nics = 32 } } },
  { "D08", "w0:21:21 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_4:1/RoCE [RO]; OOB eth0:10.2.0.7<0>",
    { ib = { none = false, relaxed_ordering = true, devices = {
      { name = "mlx5_0", port = 1, link = "IB" }, { name = "mlx5_1", port = 1, link = "IB" },
      { name = "mlx5_4", port = 1, link = "RoCE" } } } }, { "mixed-links" } },
  { "D09", "w0:21:21 [0] NCCL INFO comm 0x55aa10 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0",
    { topology = { ranks = 16, nodes = 2, local_ranks = 8 }, mnnvl = false } },
  { "D10", "w0:21:21 [0] NCCL INFO NVLS multicast support is not available on dev 0",
    { nvls = { available = false, comms = 0 } } },
  { "D11", "w0:21:40 [0] NCCL INFO AllReduce: 8589934592 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..15}",
    { algorithms = { { op = "AllReduce", bytes = 8589934592, algo = "NVLS_TREE", proto = "SIMPLE", channels = 16,
      count = 1 } } } },
  { "D11 in another spelling", "w0:21:40 [0] NCCL INFO AllReduce: 8 Bytes -> Algo NVLSTree proto Simple channel{Lo..Hi}={0..15}",
    { algorithms = { { op = "AllReduce", bytes = 8, algo = "NVLS_TREE", proto = "SIMPLE", channels = 16, count = 1 } } } },
  { "D11 of 2.32", "w0:21:40 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1} cgaClusterSize 4",
    { algorithms = { { op = "AllReduce", bytes = 8, algo = "RING", proto = "LL", channels = 2, count = 1 } } } },
  { "D12", "w0:21:40 [0] NCCL INFO 8388608 Bytes -> Algo 1 proto 2 time 812.500000",
    { algorithms = { { bytes = 8388608, algo = "RING", proto = "SIMPLE", count = 1 } } } },
  { "D13", "\n[2026-02-03 04:05:06] w2:70:90 [5] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-ab12 to 9637892 bytes, error: No space left on device (28)",
    { hints = { "shm-too-small" }, warns = { {
      host = "w2", pid = 70, device = 5, file = "misc/shmutils.cc", at = 87, count = 1,
      text = "Error: failed to extend /dev/shm/nccl-ab12 to 9637892 bytes, error: No space left on device (28)",
    } } } },
  { "D13 of 2.30.5", "[2026-02-03 04:05:06] w2.x:70:90 [-1] a.cc:87 (init\xff) NCCL WARN b\xff",
    { warns = { { host = "w2.x", pid = 70, device = -1, file = "a.cc", at = 87, count = 1, text = "b?" } } } },
  { "D14", "w2:70:90 [5] NCCL INFO transport/shm.cc:551 -> 2",
    { trace = { { host = "w2", file = "transport/shm.cc", at = 551, result = 2, count = 1 } } } },
  { "D15", "[1,3]<stdout>:w2:70:90 [3] NCCL INFO ncclCommInitRankConfig comm 0x7f rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 9b000 commId 0x1d - Init START",
    { init = { started = { 3 }, completed = {}, missing = { 3 } } } },
  { "D15 and its end", "w2:70:90 [3] NCCL INFO comm 0x7f rank 3 nranks 8 - Init START\nw2:70:90 [3] NCCL INFO comm 0x7f rank 3 nranks 8 - Init COMPLETE\nw2:70:90 [3] NCCL INFO comm 0x7f rank 5 nranks 8 - Init START",
    { init = { started = { 3, 5 }, completed = { 3 }, missing = { 5 } } } },
  { "D16", "w0:21:21 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0,mlx5_1.",
    { env = { { name = "NCCL_IB_HCA", value = "mlx5_0,mlx5_1" } } } },
  { "D17", "NCCL version 2.27.7+cuda12.8", { version = "2.27.7", cuda = "12.8" } },
  { "D17 with a prefix", "w0:21:21 [0] NCCL INFO NCCL version 2.18.1+cuda12.1", { version = "2.18.1", cuda = "12.1" } },
  { "D18", "w0:21:21 [0] NCCL INFO Using network IB\nw0:21:21 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 0",
    { network = "IB", gdr = { enabled = 0, disabled = 0, ring_on = 0, ring_off = 1, dmabuf = false } }, { "gdr-disabled" } },
  { "D19", "w0:21:21 [0] NCCL INFO Failed to initialize NET plugin FasTrak\nw0:21:21 [0] NCCL INFO Using network Socket",
    { network = "Socket", hints = { "plugin-failed-fallback-socket" } } },
  { "D20", "w0:21:21 [0] NCCL INFO MNNVL 1 cliqueId 7ffe cliqueSize 8 cliqueRank 5", { mnnvl = true, clique_size = 8 } },
  { "a time stamp without brackets", "2026-11-30T12:08:09.525 w0:21:21 [0] NCCL INFO Using network gIB",
    { network = "gIB", family = "gib", lines = 1 } },
  { "a device that is any integer", "w0:21:21 [32767] NCCL INFO cudaDriverVersion 13010", { driver = 13010 } },
  { "bootstrap", "w0:21:21 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>",
    { bootstrap = { interface = "eth0", address = "10.0.0.7" } } },
  { "bootstrap of old", "w0:21:21 [0] NCCL INFO Bootstrap : Using [0]eth0:10.0.0.7<0>",
    { bootstrap = { interface = "eth0", address = "10.0.0.7" } } },
  { "plugins", "w0:1:1 [0] NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v10)\nw0:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so\nw0:1:1 [0] NCCL INFO Initialized NET plugin IB",
    { plugins = { loaded = { "Libfabric" }, missing = { "libnccl-net.so" }, initialized = { "IB" }, failed = {} } } },
  { "channels", "w0:1:1 [0] NCCL INFO 16 coll channels, 0 collnet channels, 8 nvls channels, 16 p2p channels, 2 p2p channels per peer",
    { channels = { coll = 16, collnet = 0, nvls = 8, p2p = 16, p2p_per_peer = 2 } } },
  { "NVLS", "w0:1:1 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)\nw0:1:1 [0] NCCL INFO NVLS comm 0x55 headRank 0 nHeads 8",
    { nvls = { available = true, comms = 1 } } },
  { "NVLS that one device lacks", "w0:1:1 [0] NCCL INFO NVLS multicast support is not available on dev 0\nw0:1:1 [1] NCCL INFO NVLS multicast support is available on dev 1",
    { nvls = { available = false, comms = 0 } } },
  { "sockets", "w0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0", { socket_channels = 1 } },
  { "ranks that differ", "w0:1:1 [0] NCCL INFO Using network IB\nw1:1:1 [0] NCCL INFO Using network Socket\nw2:1:1 [0] NCCL INFO Using network IB",
    { networks = { { name = "IB", count = 2 }, { name = "Socket", count = 1 } } }, { "networks-differ" } },
  { "warnings that differ in numbers", "w0:1:1 [0] a.cc:1 NCCL WARN Call to ibv_create_qp failed with error 12 0xab\nw1:2:1 [0] a.cc:1 NCCL WARN Call to ibv_create_qp failed with error 12 0x9\n",
    { warns = { { host = "w0", pid = 1, device = 0, file = "a.cc", at = 1, count = 2,
      text = "Call to ibv_create_qp failed with error 12 0xab" } } } },
  { "no line of NCCL", "a b\nx:1 [0] NCCL INFO Using network IB\nNCCL INFO Using network IB", { lines = 0, networks = {} } },
}

describe("parse_debug", function()
  for _, row in ipairs(rows) do
    it(row[1], function()
      local evidence = nccl.parse_debug(row[2] .. "\n")
      for field, value in pairs(row[3]) do
        assert.same(value, evidence[field], field)
      end
      assert.same(row[4] or {}, codes(evidence))
    end)
  end

  it("has no network where none, or several, are named", function()
    assert.is_nil(nccl.parse_debug "".network)
    assert.is_nil(nccl.parse_debug(rows[1][2] .. "\n" .. rows[2][2]).network)
  end)

  it("reads what a function gives", function()
    local chunks = { "w0:21:21 [0] NCCL INFO Using net", "work IB\n" }
    local evidence = nccl.parse_debug(function() return table.remove(chunks, 1) end)
    assert.equal("IB", evidence.network)
  end)

  it("keeps lists within bounds, and says so", function()
    local lines = {}
    for i = 1, 3000 do
      lines[i] = ("w0:1:1 [0] NCCL INFO Using network N%d\nw0:1:1 [0] NCCL INFO NCCL_X%d set by environment to y"
        .. "\nw0:1:1 [0] NCCL INFO %d Bytes -> Algo 1 proto 2 time 1\nw0:1:1 [0] NCCL INFO a.cc:%d -> 2"
        .. "\nw0:1:1 [0] a.cc:1 NCCL WARN %s"):format(i, i, i, i, ("xyz"):rep(i))
    end
    local evidence = nccl.parse_debug(table.concat(lines, "\n"))
    assert.equal(16, #evidence.networks)
    assert.equal(128, #evidence.env)
    assert.equal(256, #evidence.algorithms)
    assert.equal(32, #evidence.trace)
    assert.equal(20, #evidence.warns)
    assert.same({ "networks-differ", "too-many-entries" }, codes(evidence))
  end)
end)
