-- SPDX-License-Identifier: Apache-2.0
--- The choice of a row to judge a run by, and the formulas (nccl-benchmark.md 2.1, 5.4).
-- luacheck: no max line length
require "aicr_native"
local nccl = require "aicr.nccl"
local nccl_log = require "spec.support.nccl_log"
local raised = require "spec.support.raised"

local H <const>, PARAMETERS <const> = nccl_log.TABLE_HEAD, nccl_log.PARAMETERS
local ROW <const> = "     1048576        262144     float     sum      -1    88.25   11.88   20.79       0    87.50   11.98"
  .. "   20.97       0"

local function run_of(text, opts)
  local result = nccl.parse(text, opts)
  assert.equal(1, #result.runs)
  return result.runs[1]
end

describe("busbw", function()
  -- nccl-benchmark.md 2.1, for 4 ranks and 1 GB in 10 ms.
  for op, factor in pairs {
    all_reduce = 1.5, all_gather = 0.75, reduce_scatter = 0.75, broadcast = 1, reduce = 1, alltoall = 0.75,
    sendrecv = 1, gather = 0.75, scatter = 0.75, alltoallv = 0.75,
  } do
    it(op, function()
      local algbw, busbw = nccl.busbw(op, 1000000000, 0.01, 4)
      assert.is_true(math.abs(algbw - 100) < 1e-9)
      assert.is_true(math.abs(busbw - 100 * factor) < 1e-9)
    end)
  end

  it("hypercube leaves the own block out", function()
    local algbw, busbw = nccl.busbw("hypercube", 1000000000, 0.01, 4)
    assert.is_true(math.abs(algbw - 75) < 1e-9)
    assert.equal(algbw, busbw)
  end)

  it("is 0 for one rank, and refuses nonsense", function()
    local _, busbw = nccl.busbw("all_reduce", 1024, 1.0, 1)
    assert.equal(0.0, busbw)
    for _, args in ipairs { { "x", 1, 1.0, 1 }, { "reduce", -1, 1.0, 1 }, { "reduce", 1, 0.0, 1 },
      { "reduce", 1, 0 / 0, 1 }, { "reduce", 1, 1.0, 0 } } do
      local err = raised(nccl.busbw, table.unpack(args))
      assert.equal("INVALID_REQUEST argument", err.code .. " " .. err.reason)
    end
  end)
end)

describe("the requested size", function()
  local function selected(op, first, last, step, size, ranks)
    local parameters = PARAMETERS:format(first, last):gsub("2%(factor%)", step)
    local list = {}
    for rank = 0, ranks - 1 do
      list[#list + 1] = ("#  Rank %d Group  0 Pid 4 on a device %d [0000:1b:00] NVIDIA H100\n"):format(rank, rank)
    end
    return nccl.select(run_of(parameters .. table.concat(list) .. H
      .. ROW:gsub(" 1048576 ", (" %d "):format(size)) .. "\n", { op = op }))
  end

  for _, case in ipairs {
    { "all_reduce", 8, 1048576, "2(factor)", 1048576, 2, true },
    { "all_reduce", 8, 1048576, "2(factor)", 524288, 2, false },
    { "all_reduce", 1048576, 2000000, "2(factor)", 1048576, 2, true },
    { "all_reduce", 1048576, 3145728, "1048576(bytes)", 3145728, 2, true },
    { "all_reduce", 1048576, 3145728, "1048576(bytes)", 2097152, 2, false },
    { "all_gather", 1048576, 1048576, "2(factor)", 1048512, 12, true },
    { "all_gather", 1048576, 1048576, "2(factor)", 1048560, 12, true }, -- older than 2.13.12
    { "all_gather", 1048576, 1048576, "2(factor)", 1048320, 12, false },
    { "all_reduce", 1048576, 1048576, "2(factor)", 1048512, 12, false },
  } do
    it(("%s of %d to %d by %s at %d"):format(table.unpack(case)), function()
      assert.equal(case[7], selected(table.unpack(case, 1, 6)).reached)
    end)
  end
end)

describe("the choice", function()
  local function row(size, kind, busbw, ip_busbw, wrong)
    return (" %d 8 %s sum -1 1.00 0.00 %s %s 1.00 0.00 %s 0\n"):format(size, kind, busbw, wrong or "0", ip_busbw)
  end
  local END <const> = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.00\n"

  it("is the largest size, wherever it stands", function()
    local run = run_of(H .. row(64, "float", 3, 2) .. row(32, "float", 9, 9) .. END)
    assert.equal(64, nccl.select(run).size)
    assert.equal(32, nccl.select(run, { size = 32 }).size)
    assert.is_nil(nccl.select(run, { size = 16 }))
  end)

  it("is the slowest of what differs at that size, or what is asked for", function()
    local run = run_of(H .. row(64, "float", 3, 2) .. row(64, "half", 1, 5) .. row(64, "half", 2, 5) .. END)
    local s = nccl.select(run)
    assert.same({ "half", 1.5, 2 }, { s.type, s.busbw, s.repeats })
    assert.equal("float", nccl.select(run, { type = "float" }).type)
    assert.is_nil(nccl.select(run, { redop = "prod" }))
    s = nccl.select(run, { placement = "worst" })
    assert.same({ "half", "oop", 1.5 }, { s.type, s.placement, s.busbw })
    assert.equal(2.0, nccl.select(run, { placement = "ip" }).busbw)
  end)

  it("is the slowest of the repeats where that is asked for", function()
    local run = run_of(H .. row(64, "float", 3, 2) .. row(64, "float", 1, 9) .. row(64, "float", 2, 9, "7") .. END)
    local s = nccl.select(run, { repeats = "slowest" })
    assert.same({ 1.0, 3, 7, run.rows[2].line }, { s.busbw, s.repeats, s.wrong, s.line })
    assert.equal(2.0, nccl.select(run, { repeats = "median" }).busbw)
    assert.equal(2.0, nccl.select(run, { repeats = "slowest", placement = "ip" }).busbw)
    run = run_of(H .. row(64, "float", 3, 2) .. row(64, "float", "nan", 9) .. END)
    local problems = nccl.select(run, { repeats = "slowest" }).problems
    assert.equal("not-finite", problems[#problems])
  end)

  it("never passes on what is not finite", function()
    for _, figure in ipairs { "inf", "nan", "-nan" } do
      local problems = nccl.select(run_of(H .. row(64, "float", figure, 5) .. END)).problems
      assert.equal("not-finite", problems[#problems])
      problems = nccl.select(run_of(H .. row(64, "float", 5, 5) .. END:gsub("1%.00", figure))).problems
      assert.equal("not-finite", problems[#problems])
    end
  end)

  it("has nothing to say against a sound run", function()
    local s = nccl.select(run_of(PARAMETERS:format(64, 64) .. H .. row(64, "float", 3, 2) .. END))
    assert.same({}, s.problems)
    assert.is_true(s.validated and s.reached)
    assert.equal(64, s.requested)
  end)

  it("knows wrong data by the rows, the footer, or both", function()
    local first = PARAMETERS:format(64, 64) .. H
    for _, text in ipairs {
      row(32, "float", 3, 2, "7") .. row(64, "float", 3, 2) .. END,
      row(64, "float", 3, 2) .. END:gsub("0 OK", "0 FAILED"),
      row(64, "float", 3, 2) .. END:gsub("0 OK", "3 OK"),
    } do
      assert.same({ "wrong-data" }, nccl.select(run_of(first .. text)).problems)
    end
  end)

  it("takes a failure of the program, not a last error below a good end", function()
    local first = PARAMETERS:format(64, 64) .. H .. row(64, "float", 3, 2)
    local run = run_of(first .. END .. "# error: something earlier\n")
    assert.equal("error", run.errors[1].kind)
    assert.same({}, nccl.select(run).problems)
    run = run_of(first .. "a: Test timeout (60s) common.cu:7\n" .. END)
    assert.equal("timeout (60s)", run.errors[1].text)
    assert.same({ "errors" }, nccl.select(run).problems)
  end)

  it("refuses an unknown placement", function()
    assert.has_error(function() return nccl.select(run_of(H), { placement = "best" }) end)
    assert.has_error(function() return nccl.select(run_of(H), { repeats = "best" }) end)
  end)
end)
