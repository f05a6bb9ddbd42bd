-- SPDX-License-Identifier: Apache-2.0
--- Logs as the reference's platform package reads them, read by aicr.nccl: rows 97 to 102 and 107 of
--- platform-runtimes.md 8. The reference takes any line that looks like a row; ours reads the columns
--- that a header names, so each line of a vector gets one.
require "aicr_native"
local json = require "aicr.json"
local nccl = require "aicr.nccl"
local support = require "spec.support.platform"
local vectors = require "spec.support.vectors"

local HEAD <const> = "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
  .. "     time   algbw   busbw  #wrong"
local ROW <const> = "  8589934592  2147483648  float  sum  -1  32595  263.54  494.13  0  32550  263.90  494.81  0"

-- What ours reads otherwise on purpose, by vector.
local NO_NUMBER <const> = "nccl-tests prints no time such as 5."
local NO_NCCL_LINE <const> = "NCCL's lines name host, process and device"
local OURS <const> = {
  ["platform-02454"] = { why = NO_NUMBER, rows = {} },
  ["platform-02457"] = { why = NO_NCCL_LINE, transports = {} },
  ["platform-02505"] = { why = NO_NCCL_LINE, transports = { "FasTrak" } },
  ["platform-02573"] = { why = "this is no time stamp", rows = 0 },
}

-- The rows of a line behind a header with the same prefix.
local function rows_of(prefix, line)
  local out = {}
  for _, run in ipairs(nccl.parse(prefix .. HEAD .. "\n" .. line .. "\n").runs) do
    for _, row in ipairs(run.rows) do
      out[#out + 1] = { sizeBytes = row.size, algBW = row.oop.algbw, busBW = row.oop.busbw }
    end
  end
  return out
end

local function transports_of(lines)
  local names = {}
  for _, network in ipairs(nccl.parse_debug(table.concat(lines, "\n") .. "\n").networks) do
    names[#names + 1] = network.name
  end
  table.sort(names)
  return names
end

describe("a line of a launcher's log", function()
  for id, prefix in pairs {
    ["8.97"] = "", ["8.98"] = "2026-02-16T10:00:02.000000000Z ", ["8.99"] = "2026-08-06T09:30:29.569516911-07:00 ",
  } do
    it(id .. " is a row", function()
      assert.same({ { sizeBytes = 8589934592, algBW = 263.54, busBW = 494.13 } }, rows_of(prefix, prefix .. ROW))
    end)
  end
  it("8.100 is no row when it is a header or the average", function()
    assert.same({}, rows_of("", "#  size count type redop root time algbw busbw #wrong"))
    assert.same({}, rows_of("", "# Avg bus bandwidth : 245.1"))
  end)
  it("8.101 is a row without an operation", function()
    assert.equal(1, #rows_of("", (ROW:gsub("sum", "none"))))
  end)
  it("8.102 is a row with a time in scientific notation", function()
    assert.equal(494.13, rows_of("", (ROW:gsub("32595", "1.2e+06")))[1].busBW)
  end)
  it("8.107 names the transport", function()
    assert.same({ "Socket" }, transports_of { "host:1:1 [0] NCCL INFO Using network Socket  " })
    assert.same({ "IB", "Socket" }, transports_of {
      "h:1:1 [0] NCCL INFO Using network Socket", "h:1:1 [1] NCCL INFO Using network IB",
    })
  end)
end)

describe("strip_timestamp", function()
  for _, row in ipairs(vectors.rows(support.FILE, "strip_timestamp")) do
    it(("%s %s"):format(row.id, row.args.rev), function()
      -- Ours has no such function: what is stripped shows in a row being found behind it.
      local prefix = row.args.line:match "^(.* )x y$" or row.args.line
      local wanted = OURS[row.id] and OURS[row.id].rows or row.result ~= row.args.line and 1 or 0
      assert.equal(wanted, #rows_of(prefix, prefix .. ROW))
    end)
  end
end)

describe("nccl_parse", function()
  for _, row in ipairs(vectors.rows(support.FILE, "nccl_parse")) do
    local ours = OURS[row.id] or {}
    it(("%s %s"):format(row.id, row.args.rev), function()
      local got = {}
      for _, line in ipairs(row.args.lines) do
        local prefix = line:match "^%d%d%d%d%-%d%d%-%d%dT%S+ " or ""
        for _, found in ipairs(rows_of(prefix, line)) do
          got[#got + 1] = json.encode(found)
        end
      end
      local at = 0
      for _, wanted in ipairs(ours.rows or row.result.rows) do
        repeat
          at = at + 1
          assert.is_true(at <= #got, json.encode(wanted))
        until json.decode(got[at]).sizeBytes == wanted.sizeBytes and json.decode(got[at]).busBW == wanted.busBW
      end
      if not support.tagged(row, "nccl-improved") then
        assert.equal(#(ours.rows or row.result.rows), #got)
      end
      if row.result.transports then
        assert.same(ours.transports or row.result.transports, transports_of(row.args.lines))
      end
    end)
  end
end)

describe("the vectors of the platform package", function()
  -- Each operation has its spec; one that nobody runs would be a vector that asserts nothing.
  local SPECS <const> = "env runtime overrides run detect log"
  it("are all run", function()
    local ops, sources = {}, {}
    for name in SPECS:gmatch "%a+" do
      sources[#sources + 1] = assert(io.open(("spec/unit/platform_%s_spec.lua"):format(name))):read "a"
    end
    local all = table.concat(sources)
    for _, row in ipairs(vectors.read(support.FILE)) do
      ops[row.op] = (ops[row.op] or 0) + 1
    end
    local count = 0
    for op, n in pairs(ops) do
      count = count + n
      assert.is_truthy(all:find(('"%s"'):format(op), 1, true) or op:match "^build_%a+_runtime$", op)
    end
    assert.equal(545, count)
  end)
  it("have each row of section 8 in a spec", function()
    local text = assert(io.open "spec/unit/platform_nccl_tests_spec.lua"):read "a"
      .. assert(io.open "spec/unit/platform_nics_spec.lua"):read "a"
    for name in SPECS:gmatch "%a+" do
      text = text .. assert(io.open(("spec/unit/platform_%s_spec.lua"):format(name))):read "a"
    end
    for i = 1, 108 do
      assert.is_truthy(text:find("8%." .. i .. "%f[%D]"), "8." .. i)
    end
  end)
end)
