-- SPDX-License-Identifier: Apache-2.0
--- From log and termination message to the figure: gke-tcpxo.md 7.8 B-05 to B-09 as design 13 overrules them, and
--- nccl-benchmark.md 5.4 rules 7 and 8.
require "aicr_native"
local errors = require "aicr.native.error"
local nccl_log = require "spec.support.nccl_log"
local verdict = require "aicr.nccl_verdict"

local G16 <const>, G8 <const> = 17179869184, 8589934592
local ASKED <const> = { min_bytes = 1024, max_bytes = G16, ranks = 16, hosts = 2 }

local function figure_of(log, termination, asked)
  local figure, fault = verdict.read(log, termination, asked or ASKED)
  assert.is_nil(fault)
  return figure
end

describe("the figure", function()
  it("B-05 is that of the largest size", function()
    local figure = figure_of(nccl_log.log(), nil)
    assert.same({ 338.33, G16, "log", 16, 2, "float", "sum" }, { figure.busbw, figure.size, figure.from, figure.ranks,
      figure.hosts, figure.type, figure.redop })
    assert.equal(25, #figure.curve)
    assert.same({ 1024, G16 }, { figure.curve[1].size, figure.curve[25].size })
  end)

  it("stands in both", function()
    local log = nccl_log.log()
    assert.equal("log", figure_of(log, nccl_log.termination(log)).from)
  end)

  it("B-06 is the termination message's when the log lost the table", function()
    local log = nccl_log.log()
    local teardown = ("worker-0:500:600 [0] NCCL WARN NET/FasTrak closing\n"):rep(200)
    local figure = figure_of(teardown, nccl_log.termination(log))
    assert.same({ 338.33, "termination message" }, { figure.busbw, figure.from })
    assert.is_true(#figure.curve > 20)
  end)

  it("is the termination message's when the log's table is cut", function()
    local log = nccl_log.log { last = G8, footer = false }
    local figure = figure_of(log, nccl_log.termination(nccl_log.log()))
    assert.same({ 338.33, "termination message" }, { figure.busbw, figure.from })
  end)

  it("is the termination message's when the log lost its front", function()
    local log = nccl_log.log()
    assert.equal(338.33, figure_of(log:sub(log:find("  8388608 ", 1, true), -1), nccl_log.termination(log)).busbw)
  end)

  it("does not come of a first row that may be cut", function()
    local log = nccl_log.log { min = 8 }
    local message = nccl_log.row(400000000000, 999.0, 16):sub(2) .. nccl_log.row(4, 0.1, 16):rep(8)
      .. nccl_log.termination(log)
    assert.truthy(message:find "^%s*%d+")
    assert.is_true(#message >= 3900)
    assert.same({ G16, 338.33 }, { figure_of("", message).size, figure_of("", message).busbw })
  end)

  it("of a supplied runtime is at the size that its log says was asked for", function()
    assert.equal(100.0, figure_of(nccl_log.log { busbw = 100.0, max = 1 << 30 }, nil, {}).busbw)
  end)

  it("of another factor than two ends at the last step", function()
    local log = nccl_log.log { min = 1000, max = 1024000 }:gsub("maxBytes 1024000", "maxBytes 1300000")
    assert.equal(1024000, figure_of(log, nil, { min_bytes = 1000, max_bytes = 1300000, ranks = 16 }).size)
  end)
end)

describe("there is no figure", function()
  local whole = nccl_log.log()
  local rows = {
    { "B-07 no row", "no-rows", "", nil },
    { "only NCCL's lines", "no-rows", "worker-0:500:600 [0] NCCL INFO x\n", nil },
    { "B-08 the message says something else", "evidence-disagrees", whole,
      nccl_log.termination(nccl_log.log { busbw = 4.0 }) },
    { "the message has a larger size", "evidence-disagrees", whole, nccl_log.row(2 * G16, 338.33, 16) },
    { "B-09 a row and nothing else", "no-rows", nccl_log.row(G16, 338.33, 16), nil },
    { "the sweep ended before its end", "incomplete-sweep", nccl_log.log { last = G8 }, nil },
    { "it did, and the message too", "incomplete-sweep", nccl_log.log { last = G8 },
      nccl_log.termination(nccl_log.log { last = G8 }) },
    { "the log ends before the summary", "incomplete-sweep", nccl_log.log { footer = false }, nil },
    { "less was asked for", "incomplete-sweep", nccl_log.log { max = G8 }, nil },
    { "the last row is cut", "incomplete-sweep", (nccl_log.log { footer = false }):sub(1, -40), nil },
    { "values were not checked", "unvalidated", nccl_log.log { validation = 0 }, nil },
    { "nor were those of the message", "unvalidated", "", nccl_log.termination(nccl_log.log { validation = 0 }) },
    { "as many ranks as were not asked for", "rank-count", nccl_log.log { ranks = 8 }, nil },
    { "on one node", "host-count", nccl_log.log { hosts = 1 }, nil },
    { "on one node, of a supplied runtime", "host-count", nccl_log.log { hosts = 1 }, nil, {} },
    { "on more nodes", "host-count", nccl_log.log { hosts = 4 }, nil },
    { "another collective", "other-collective", (whole:gsub("all_reduce_perf", "all_gather_perf")), nil },
    { "another one that the log does not name", "inconsistent-row",
      (whole:gsub("# Collective test[^\n]*\n", ""):gsub("338%.33", "169.16")), nil },
    { "each process ran alone", "mpi-not-enabled", (whole:gsub("Rank  1 ", "Rank  0 ")), nil },
    { "the bandwidth is no number", "not-finite", (whole:gsub("338%.33", "   inf")), nil },
    { "figures that contradict each other", "inconsistent-row", (whole:gsub("338%.33", "999.33")), nil },
    { "what asked for what is not known", "incomplete-sweep", (whole:gsub("# nThread[^\n]*\n", "")), nil, {} },
  }
  for _, row in ipairs(rows) do
    it("when " .. row[1] .. ": " .. row[2], function()
      local ok, err, fault = pcall(verdict.read, row[3], row[4], row[5] or ASKED)
      assert.is_false(ok, fault and fault.message)
      assert.is_true(errors.is(err), tostring(err))
      assert.same({ "INTERNAL", row[2], false }, { err.code, err.reason, err.verdict }, err.message)
      assert.truthy(err.details.subject)
      assert.equal(1, err.message:find(err.details.subject .. ": ", 1, true))
    end)
  end
end)

describe("wrong values are a verdict", function()
  local rows = {
    { "at the largest size", nccl_log.log { wrong = { [G16] = 3 } }, nil },
    { "at another size", nccl_log.log { wrong = { [1048576] = 1 } }, nil },
    { "in a sweep that was cut", nccl_log.log { wrong = { [1048576] = 1 }, last = G8, footer = false }, nil },
    { "that only the message shows", "", nccl_log.termination(nccl_log.log { wrong = { [G16] = 3 } }) },
    { "with a footer that says so", (nccl_log.log():gsub("values : 0 OK", "values : 2 FAILED")), nil },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local figure, fault = verdict.read(row[2], row[3], ASKED)
      assert.is_nil(figure)
      assert.same({ "INTERNAL", "wrong-values", "correctness" }, { fault.code, fault.reason, fault.details.subject })
    end)
  end
end)

describe("what the benchmark itself says", function()
  it("of its own floor is a verdict", function()
    local log = nccl_log.log():gsub("(# Avg bus bandwidth    : %S+) ", "%1 FAILED")
    local figure, fault = verdict.read(log, nil, ASKED)
    assert.is_nil(figure)
    assert.same({ "INTERNAL", "below-own-floor", "speed" }, { fault.code, fault.reason, fault.details.subject })
  end)

  it("of an error goes before the termination message", function()
    local log = nccl_log.log { last = 1024, footer = false }
      .. "worker-0: Test NCCL failure all_reduce.cu:45 'unhandled system error (run with NCCL_DEBUG=INFO)'\n"
    local ok, err = pcall(verdict.read, log, nccl_log.termination(nccl_log.log()), ASKED)
    assert.is_false(ok)
    assert.equal("benchmark-errors", err.reason)
    assert.truthy(err.message:find("unhandled system error", 1, true), err.message)
  end)
end)

describe("a slow benchmark", function()
  it("points at sockets", function()
    local log = "worker-0:500:600 [0] NCCL INFO Using network Socket\n" .. nccl_log.log { busbw = 4.05 }
    local figure = figure_of(log, nil)
    local hint = verdict.why_slow(figure, log)
    assert.equal("socket-fallback", hint.code)
    assert.truthy(hint.line:find("Using network Socket", 1, true))
    assert.equal("Socket", figure.network)
  end)

  it("points at a sweep that is too short", function()
    local log = nccl_log.log { busbw = 200.0, max = 4096, half = 4096 }
    assert.equal("small-max", verdict.why_slow(figure_of(log, nil, {}), log).code)
  end)

  it("may point at nothing", function()
    local log = nccl_log.log { busbw = 200.0 }
    assert.is_nil(verdict.why_slow(figure_of(log, nil), log))
  end)
end)

describe("a launcher that failed", function()
  local failed = errors.new { code = "INTERNAL", reason = "launcher-failed", message = "the launcher x failed" }

  it("says why", function()
    local fault, fields = verdict.of_failure(failed, "ssh: Could not resolve hostname worker-0: Name or service\n")
    assert.is_nil(fault)
    assert.same({ "INTERNAL", "launcher-failed", "launch", "launcher-ssh" },
      { fields.code, fields.reason, fields.details.subject, fields.details.hint })
    assert.truthy(fields.message:find("launch: the launcher x failed; ", 1, true))
    errors.new(fields)
  end)

  it("with wrong values in its log is a verdict", function()
    local fault = verdict.of_failure(failed, nccl_log.log { wrong = { [G16] = 3 } })
    assert.equal("wrong-values", fault.reason)
  end)

  it("may say nothing", function()
    for _, log in ipairs { "", "x" } do
      local fault, fields = verdict.of_failure(failed, log)
      assert.is_nil(fault)
      assert.equal("launch: the launcher x failed", fields.message)
    end
    assert.equal("launch: the launcher x failed", select(2, verdict.of_failure(failed, nil)).message)
  end)
end)
