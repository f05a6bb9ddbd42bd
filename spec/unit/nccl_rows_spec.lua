-- SPDX-License-Identifier: Apache-2.0
--- What must not pass for the bandwidth that was asked for: other runs, rows, ranks, sweeps and units in the same texts
--- (nccl-benchmark.md 2.1, 5.4 rules 6 to 8; design 13).
require "aicr_native"
local errors = require "aicr.native.error"
local nccl_log = require "spec.support.nccl_log"
local rows = require "aicr.nccl_runtime.rows"
local verdict = require "aicr.nccl_verdict"

local G16 <const>, G8 <const> = 17179869184, 8589934592
local ASKED <const> = { min_bytes = 1024, max_bytes = G16, ranks = 16, hosts = 2 }
local SWEEP <const> = { min_bytes = 1024, max_bytes = G16 }

-- The log with one more row behind its table.
local function with_row(log, row)
  return (log:gsub("# Out of bounds", function()
    return row .. "# Out of bounds"
  end, 1))
end

-- With the average that its rows have.
local function averaged(log)
  local sum, count = 0.0, 0
  for busbw in log:gmatch "\n +%d+ +%d+ +%a+ +%a+ +%S+ +%S+ +%S+ +(%S+)" do
    sum, count = sum + tonumber(busbw), count + 1
  end
  return (log:gsub("(Avg bus bandwidth    : )%S+", function(words) return ("%s%g"):format(words, sum / count) end))
end

-- The log with its row of 16G changed.
local function last_row(log, change)
  return (log:gsub(" +17179869184 [^\n]*\n", change))
end

-- The same ranks as two groups, one a node.
local function split(log)
  return (log:gsub("(Rank%s+(%d+)) Group  0", function(rank, n)
    return ("%s Group  %d"):format(rank, n // 8)
  end))
end

local function tagged(log, tag)
  return (log:gsub("[^\n]+", tag .. "%0"))
end

local whole <const> = nccl_log.log()
local eight <const> = nccl_log.log { ranks = 8 }
-- The ranks of one log before the table of another.
local split_table <const> = split(whole):match "^(.-)#%s+size" .. eight:match "#%s+size.*$"
local nameless <const> = whole:gsub("#  Rank[^\n]*\n", ""):gsub("# Collective test[^\n]*\n", "")

describe("no bandwidth", function()
  local cases = {
    { "of a row that something else printed", "interleaved-runs",
      with_row(nccl_log.log { busbw = 50.0 }, nccl_log.row(G16, 900.0, 16)), nil },
    { "of a row beyond the sweep", "other-sweep",
      with_row(nccl_log.log { busbw = 50.0 }, nccl_log.row(2 * G16, 900.0, 16)), nil },
    { "of a larger sweep", "other-sweep", nccl_log.log { max = 2 * G16 }, nil },
    { "of a larger sweep that only the message shows", "other-sweep", "",
      nccl_log.termination(nccl_log.log { max = 2 * G16 }) },
    { "of other ranks that only the message shows", "rank-count", "", nccl_log.termination(eight) },
    { "of other ranks in a log without their list", "rank-count", (eight:gsub("#  Rank[^\n]*\n", "")), nil },
    { "of another collective that only the message shows", "rank-count", "",
      (nccl_log.termination(whole):gsub("338%.33", "169.16")), SWEEP },
    { "of a collective with a root", "other-collective", (nameless:gsub("    %-1", "     0")), nil },
    { "of a time that does not fit", "inconsistent-row", "",
      (nccl_log.termination(whole):gsub("(17179869184.-%-1) +%d+%.%d+", "%1  9521.00")), SWEEP },
    { "of a table below the ranks of another", "interleaved-runs",
      (nccl_log.log { hosts = 1 }:gsub("(#%s+size[^\n]*\n)", "%1%1")), nil },
    { "of a group on one node", "host-count", split_table, nil, {} },
    { "of a table in other units", "unsupported-format", (whole:gsub("%(us%)", "(ms)"):gsub("%(GB/s%)", "(MB/s)")),
      nil },
    { "of the first of too many runs", "interleaved-runs",
      nccl_log.log({ min = G8, busbw = 400.0 }):rep(256) .. nccl_log.log { busbw = 1.0 }, nil },
    { "of a message that is of another run than the log's cut table", "evidence-disagrees",
      nccl_log.log { last = G8, footer = false, busbw = 10.0 }, nccl_log.termination(whole) },
    { "of a row that is another's", "inconsistent-row",
      last_row(nccl_log.log { busbw = 50.0 }, function() return nccl_log.row(G16, 900.0, 16) end), nil },
    { "of a table whose own row was cut", "interleaved-runs", last_row(nccl_log.log { busbw = 50.0 }, function(row)
      return row:gsub("%d+\n$", "\n") .. nccl_log.row(G16, 900.0, 16)
    end), nil },
    { "of a table that lacks a repeat of it", "interleaved-runs",
      with_row(whole, whole:match "\n( +%d.*\n) +17179869184"), nil },
    { "of more rows than are read", "interleaved-runs", with_row(whole, nccl_log.row(1024, 1.0, 16):rep(20000)), nil },
    { "of another type", "other-sweep", (whole:gsub("   float ", "    int8 ")), nil },
    { "of another operation", "other-sweep", (whole:gsub(" sum ", " max ")), nil },
    { "of a sweep with another end", "other-sweep", (whole:gsub("maxBytes %d+", "maxBytes 34359738368")), nil },
    { "of a sweep with another begin", "other-sweep", (whole:gsub("minBytes %d+", "minBytes 8")), nil },
    { "of larger steps", "other-sweep", (whole:gsub("2%(factor%)", "4(factor)")), nil },
    { "of many operations at once", "other-sweep", (whole:gsub("agg iters: 1 ", "agg iters: 64 ")), nil },
    { "after a slower run that did not end", "incomplete-sweep", nccl_log.log { busbw = 10.0, footer = false } .. whole,
      nil },
    { "after a slower run that met errors", "benchmark-errors", nccl_log.log { busbw = 10.0 }:gsub("# Out of",
      "w: Test NCCL failure x.cu:4 'boom'\n%0") .. whole, nil },
    { "after a slower run on other nodes", "host-count", nccl_log.log { busbw = 10.0, hosts = 4 } .. whole, nil },
    { "after a slower run that does not list its ranks", "interleaved-runs", nccl_log.log { busbw = 10.0 }:gsub(
      "#  Rank[^\n]*\n", "") .. whole, nil },
    { "of a message with a row and nothing else", "incomplete-sweep", "", nccl_log.row(G16, 338.33, 16) },
    { "of a message with another average", "evidence-disagrees", whole,
      (nccl_log.termination(whole):gsub("(Avg bus bandwidth    : )%S+", "%110.5")) },
    { "of a log with a message of another run that ended sooner", "evidence-disagrees", whole,
      nccl_log.termination(nccl_log.log { last = G8, busbw = 10.0 }) },
    { "of a repeated row with a message of another run", "evidence-disagrees",
      with_row(whole, nccl_log.row(G16, 338.33, 16)), nccl_log.termination(nccl_log.log { busbw = 4.0 }) },
  }
  for _, case in ipairs(cases) do
    it(case[1] .. ": " .. case[2], function()
      local ok, err, fault = pcall(verdict.read, case[3], case[4], case[5] or ASKED)
      assert.is_false(ok, fault and fault.message)
      assert.is_true(errors.is(err), tostring(err))
      assert.same({ "INTERNAL", case[2], false }, { err.code, err.reason, err.verdict }, err.message)
    end)
  end
end)

describe("of several runs in a log", function()
  local slow <const> = nccl_log.log { busbw = 10.0 }

  it("wrong values of an earlier one stay a verdict", function()
    local figure, fault = verdict.read(nccl_log.log { wrong = { [G16] = 3 } } .. whole, nil, ASKED)
    assert.is_nil(figure)
    assert.equal("wrong-values", fault.reason)
  end)

  for name, log in pairs {
    ["slow first"] = slow .. whole, ["slow last"] = whole .. slow,
    ["tags"] = tagged(slow, "[1,0]<stdout>:") .. tagged(whole, "[1,1]<stdout>:"),
  } do
    it("the slowest whole one is judged: " .. name, function()
      local figure = verdict.read(log, nil, ASKED)
      assert.same({ 10.0, 1 }, { figure.busbw, figure.others })
    end)
  end

  it("wrong values of an earlier one are why a launcher failed", function()
    local fault = verdict.of_failure(errors.new { code = "INTERNAL", reason = "launcher-failed", message = "x" },
      nccl_log.log { wrong = { [G16] = 3 } } .. nccl_log.log { last = 2048, footer = false })
    assert.equal("wrong-values", fault.reason)
  end)

  it("one that was cut does not count", function()
    local figure = verdict.read(nccl_log.log { busbw = 10.0, last = G8, footer = false } .. whole, nil, ASKED)
    assert.same({ 338.33, 0 }, { figure.busbw, figure.others })
  end)

  it("the last must be whole", function()
    local ok, err = pcall(verdict.read, whole .. nccl_log.log { footer = false }, nil, ASKED)
    assert.is_false(ok)
    assert.equal("incomplete-sweep", err.reason)
  end)
end)

describe("of several cycles in a run", function()
  -- The rows of all logs in the table of the first.
  local function cycles(first, ...)
    local more = {}
    for _, log in ipairs { ... } do
      for line in log:gmatch "[^\n]+\n" do
        more[#more + 1] = line:find "^ +%d" and line or nil
      end
    end
    return averaged(with_row(first, table.concat(more)))
  end

  local slow <const> = nccl_log.log { busbw = 10.0 }
  for name, log in pairs { first = cycles(slow, whole), last = cycles(whole, slow), ["one of three"] = cycles(whole,
    slow, whole) } do
    it("the slow one is judged: " .. name, function()
      local figure = verdict.read(log, nil, ASKED)
      assert.same({ 10.0, 0 }, { figure.busbw, figure.others })
      assert.is_true(figure.repeats > 1)
      assert.same({ 25, 10.0 }, { #figure.curve, figure.curve[25].busbw })
      assert.is_true(figure.curve[20].busbw < 10.0)
    end)
  end
end)

describe("a sweep", function()
  it("of sizes that no float fills ends at the whole floats", function()
    local log = nccl_log.log { min = 1000, max = 2000 }:gsub("minBytes 1000 maxBytes 2000",
      "minBytes 1001 maxBytes 3000")
    assert.equal(2000, verdict.read(log, nil, { min_bytes = 1001, max_bytes = 3000, ranks = 16, hosts = 2 }).size)
  end)
end)

describe("the floor of the benchmark itself", function()
  it("is missed when only the message says so", function()
    local said = nccl_log.termination(whole):gsub("(Avg bus bandwidth    : %S+)", "%1 FAILED")
    local figure, fault = verdict.read("", said, ASKED)
    assert.is_nil(figure)
    assert.equal("below-own-floor", fault.reason)
  end)
end)

describe("a row", function()
  it("has the factor of its ranks as far as its digits say", function()
    assert.is_true(rows.has_factor({ algbw = 180.44, busbw = 338.33 }, 16))
    assert.is_false(rows.has_factor({ algbw = 180.44, busbw = 338.33 }, 8))
    assert.is_true(rows.has_factor({ algbw = 0.01, busbw = 0.01 }, 16))
    assert.is_true(rows.has_factor({ algbw = 0.0, busbw = 0.01 }, 16))
    assert.is_true(rows.has_factor({ algbw = 100.0, busbw = 100.0 }, 2))
    assert.is_true(rows.has_factor { algbw = 100.0, busbw = 199.9 })
    assert.is_false(rows.has_factor { algbw = 100.0, busbw = 93.75 })
    assert.is_true(rows.has_factor({ algbw = 0.0 / 0.0, busbw = 1.0 }, 16))
  end)

  it("follows from its size and time", function()
    assert.is_true(rows.has_speed { size = G16, time_us = 95211, algbw = 180.44 })
    assert.is_false(rows.has_speed { size = G16, time_us = 9521, algbw = 180.44 })
    assert.is_false(rows.has_speed { size = G16, time_us = 0, algbw = 180.44 })
  end)

  it("may repeat as often as the others do", function()
    local list = { { size = 4 }, { size = 8 }, { size = 4 }, { size = 8 } }
    assert.is_nil(rows.uneven(list, 8))
    list[5] = { size = 8 }
    assert.equal("more", rows.uneven(list, 8))
    assert.equal("fewer", rows.uneven({ { size = 8 }, { size = 4 }, { size = 4 } }, 8))
    assert.is_nil(rows.uneven({ { size = 8 }, { size = 8 } }, 8))
  end)
end)
