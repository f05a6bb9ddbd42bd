-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local fake_host = require "spec.support.fake_host"
local main = require "aicr.engine.main"
local progress = require "aicr.report.progress"

local ITEM <const> = { name = "nccl-all-reduce-bw", timeout_ms = 1800000 }

-- A watch with a clock of its own; gives it, and what was written as { target, text }.
local function watch(terminal, options)
  local written, clock = {}, { ms = 0 }
  local host = {
    monotonic = function() return clock.ms end,
    write = function(target, text)
      written[#written + 1] = { target, text }
      return true
    end,
  }
  options = options or {}
  options.terminal = terminal
  local run = { version = "0.1.0", target = {}, names = { "nccl-all-reduce-bw", "other", "third" } }
  return progress.new(host, run, options), written, clock
end

local function ended(name, shown)
  return { name = name, shown = shown, outcome = shown, phase = "deployment", result = "fine",
    duration_ms = 100,
    evidence = {}, notes = {}, measures = {} }
end

describe("the heartbeat", function()
  it("is a line every 30 s for each running check", function()
    local w, written, clock = watch { utf8 = true }
    assert.equal(1000, w.tick_ms)
    clock.ms = 16000
    w:begun(ITEM)
    w:said(ITEM, "workers 1/2 Running\27[31m")
    for ms = 16000, 128000, 1000 do
      clock.ms = ms
      w:tick()
    end
    assert.equal(3, #written)
    assert.equal("stderr", written[1][1])
    assert.equal("[46s] nccl-all-reduce-bw: running 30s of 30m — workers 1/2 Running\\x1b[31m\n", written[1][2])
    assert.equal("[1m46s] nccl-all-reduce-bw: running 1m30s of 30m — workers 1/2 Running\\x1b[31m\n", written[3][2])
  end)

  it("ends with its check, and is ASCII where it must", function()
    local w, written, clock = watch { utf8 = false }
    w:begun(ITEM)
    w:said(ITEM, "é → x")
    clock.ms = 30000
    w:tick()
    assert.equal("[30s] nccl-all-reduce-bw: running 30s of 30m - ? -> x\n", written[1][2])
    w:ended(ended("nccl-all-reduce-bw", "pass"))
    clock.ms = 90000
    w:tick()
    assert.equal(1, #written)
  end)
end)

describe("the live region", function()
  local LIVE <const> = { utf8 = true, live = 60 }

  it("is redrawn at most ten times a second and erased at the end", function()
    local w, written, clock = watch(LIVE)
    assert.equal(100, w.tick_ms)
    w:begun(ITEM)
    w:said(ITEM, "pulling")
    for ms = 0, 1000, 10 do
      clock.ms = ms
      w:tick()
    end
    assert.equal(11, #written)
    assert.equal("  ⠋ nccl-all-reduce-bw             0.0s / 30m   pulling\n  0/3 done · 0.0s\n",
      written[1][2])
    assert.equal("\27[2A\27[J", written[2][2]:sub(1, 7))
    w:stop()
    assert.equal("\27[2A\27[J", written[12][2])
    w:stop()
    assert.equal(12, #written)
  end)

  it("never wraps", function()
    local w, written = watch(LIVE)
    w:begun(ITEM)
    w:said(ITEM, ("long é "):rep(50))
    w:tick()
    for line in written[1][2]:gmatch("[^\n]+") do
      assert.is_true(utf8.len(line) < 60)
    end
  end)

  it("is taken away before a line of the report", function()
    local w, written = watch(LIVE, { stream = true })
    assert.same({ "-", "aicr-run 0.1.0\n" }, written[1])
    w:begun(ITEM)
    w:tick()
    w:ended(ended("nccl-all-reduce-bw", "pass"))
    assert.equal("\27[2A\27[J", written[3][2])
    assert.same({ "-", "\ndeployment\n  ✓ nccl-all-reduce-bw          0.1s   fine\n" }, written[4])
    w:tick()
    assert.equal(4, #written)
  end)
end)

describe("the human report on a terminal", function()
  local function run(terminal, unwritable)
    local function check(name, phase)
      return { name = name, phase = phase or "deployment", summary = "x" }
    end
    local host = fake_host.new {
      disk = { ["s/a.lua"] = check "a", ["s/b.lua"] = check "b",
        ["s/p.lua"] = check("p", "performance") },
      endings = { b = { fail = { code = "CONFLICT", reason = "bad", message = "it is bad" } } },
      last_first = true,
      unwritable = unwritable,
    }
    local given = fake_host.command { operands = { "s/" }, terminal = terminal,
      options = { seed = 1 } }
    return main(given, host), host.state.written["-"] or "", host.state.written.stderr or ""
  end

  local function lines(text)
    local out = {}
    for line in text:gmatch("[^\n]+") do
      out[#out + 1] = line
    end
    return out
  end

  it("comes in the order of completion, and holds what a file would", function()
    local code, streamed = run { stdout_tty = true, utf8 = true }
    local _, whole = run { stdout_tty = false, utf8 = true }
    assert.equal(1, code)
    assert.is_true(streamed:find("✗ b", 1, true) < streamed:find("✓ a", 1, true))
    assert.is_true(whole:find("✓ a", 1, true) < whole:find("✗ b", 1, true))
    local one, two = lines(streamed), lines(whole)
    table.sort(one)
    table.sort(two)
    assert.same(two, one)
  end)

  it("that cannot be written is said once, and the exit code stays", function()
    local code, _, err = run({ stdout_tty = true, utf8 = true },
      { ["-"] = "No space left on device" })
    assert.equal(1, code)
    assert.truthy(err:find("^aicr%-run: cannot write the report to stdout: No space left on device\n"
      .. "aicr%-run: the human report that could not be written follows\naicr%-run %d"), err)
    assert.equal(1, select(2, err:gsub("No space left on device", "")))
  end)
end)
