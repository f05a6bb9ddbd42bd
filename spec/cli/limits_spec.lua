-- SPDX-License-Identifier: Apache-2.0
-- --jobs, --timeout and --retry with real checks.
require "aicr_native"
local files = require "spec.support.files"
local json_schema = require "spec.support.json_schema"
local site = require "spec.support.site"

local SCHEMA <const> = json_schema.load "spec/schema/report.schema.json"

local function run(contents, args, how)
  return site.with(contents, function(folder)
    local words = { folder .. "/" }
    table.move(args or {}, 1, #(args or {}), 2, words)
    local result = site.run(words, how)
    assert(not result.report or json_schema.validate(result.report, SCHEMA))
    return result
  end)
end

local function instant(text)
  local h, m, s, ms = text:match "T(%d+):(%d+):(%d+)%.(%d+)Z"
  return ((h * 60 + m) * 60 + s) * 1000 + ms
end

describe("200 checks that wait at -j 200", function()
  local contents, names = {}, {}
  for i = 1, 200 do
    names[i] = ("c%03d"):format(i)
    -- The first ones wait longest, so that they end in the reverse order.
    local ms = 2000 + (200 - i) // 2
    contents[names[i] .. ".lua"] = site.check(names[i], ('ctx:sleep("%dms") return "waited"'):format(ms))
  end
  local result = run(contents, { "-j", "200" })

  it("all pass, in plan order", function()
    assert.equal(0, result.code, result.stderr)
    local seen = {}
    for i, check in ipairs(result.report.checks) do
      seen[i] = check.name
    end
    assert.same(names, seen)
    assert.equal(200, result.report.totals.pass)
  end)

  it("wait side by side", function()
    local last_start, first_end, waited = 0, math.huge, 0
    for _, check in ipairs(result.report.checks) do
      local start = instant(check.start)
      last_start = math.max(last_start, start)
      first_end = math.min(first_end, start + check.duration_ms)
      waited = waited + check.duration_ms
    end
    assert.is_true(last_start <= first_end, "the last one began after the first had ended")
    assert.is_true(result.report.run.duration_ms < waited / 4, "they did not wait side by side")
  end)
end)

describe("-j 1", function()
  it("runs one after another", function()
    local body = 'ctx:sleep("20ms") return "waited"'
    local result = run({ ["a.lua"] = site.check("a", body), ["b.lua"] = site.check("b", body) }, { "-j1" })
    local a, b = result.checks.a, result.checks.b
    assert.is_true(instant(a.start) + a.duration_ms <= instant(b.start) + 1)
  end)
end)

describe("--timeout", function()
  local SLOW <const> = [[ctx:defer(function() ctx:sleep("10ms") ctx:evidence("cleaned") end)
    ctx:evidence("deferred") ctx:sleep("60s") return "slept"]]

  it("ends what runs with its clean-up and starts nothing more", function()
    local result = run({ ["a.lua"] = site.check("a", 'return "quick"'), ["b.lua"] = site.check("b", SLOW),
      ["c.lua"] = site.check("c", 'return "never"') }, { "-j1", "--timeout", "5s" })
    assert.equal(3, result.code, result.stderr)
    local a, b, c = result.checks.a, result.checks.b, result.checks.c
    assert.equal("pass", a.outcome)
    assert.same({ "error", "TIMEOUT", "timeout", "stopped: the run's time limit of 5s was over; it was at ctx:sleep" },
      { b.outcome, b.code, b.reason, b.message })
    assert.same({ "deferred", "cleaned" }, { b.evidence[1], b.evidence[2] })
    assert.same({ "error", "TIMEOUT", "timeout", "not started: the run's time limit of 5s was over", 0 },
      { c.outcome, c.code, c.reason, c.message, c.attempts })
    assert.is_false(result.report.run.interrupted)
    assert.is_true(result.report.run.duration_ms < 30000)
  end)

  it("ends a check that does not give way, and its neighbours are told of the limit too", function()
    local BUSY <const> = "while true do pcall(function() while true do end end) end"
    local result = run({ ["a.lua"] = site.check("a", BUSY), ["b.lua"] = site.check("b", SLOW) },
      { "--timeout", "500ms" })
    assert.equal(3, result.code, result.stderr)
    -- Longer, and a fast machine has used up a's instructions. Whether b slept or was woken when the thread was free
    -- again is not known.
    assert.equal("stopped: the run's time limit of 500ms was over", result.checks.a.message)
    assert.matches("^stopped: the run's time limit of 500ms was over", result.checks.b.message)
  end)

  it("is not felt by a run that is quicker", function()
    assert.equal(0, run({ ["a.lua"] = site.check("a", 'return "quick"') }, { "--timeout=1h" }).code)
  end)

  it("may come from the environment or a suite", function()
    local result = run({ ["b.lua"] = site.check("b", SLOW) }, {}, { env = { AICR_RUN_TIMEOUT = "3s" } })
    assert.equal("stopped: the run's time limit of 3s was over; it was at ctx:sleep", result.checks.b.message)
    site.with({ ["b.lua"] = site.check("b", SLOW), ["s.lua"] =
      'return { suite = "s", options = { timeout = "3s" }, checks = { "./b.lua" } }' }, function(folder)
      result = site.run { folder .. "/s.lua" }
      assert.equal("stopped: the run's time limit of 3s was over; it was at ctx:sleep", result.checks.b.message)
    end)
  end)
end)

describe("--retry", function()
  local LATE <const> = [[ctx:defer(function() ctx:evidence("cleaned") end)
    ctx:sleep("60s") return "late"]]

  it("repeats an error, each time anew and with its clean-up", function()
    local fields = 'params = { n = { type = "integer", default = 1 } }, timeout = "1s",'
    local result = run({ ["a.lua"] = site.check("a", "ctx:evidence('n is %d', ctx.params.n) " .. LATE, fields) },
      { "--retry", "2", "--set", "n=7" })
    assert.equal(3, result.code)
    local a = result.checks.a
    assert.same({ 3, 3, "timeout" }, { a.attempts, #a.tries, a.reason })
    assert.same({ "n is 7", "cleaned" }, { a.evidence[1], a.evidence[2] })
    assert.is_true(a.duration_ms >= 3000)
    assert.match("note  attempt 2 of at most 3 ended in error timeout", result.stdout)
  end)

  it("does not repeat a fail", function()
    local result = run({ ["a.lua"] = site.check("a", 'ctx:expect("x", 1, "==", 2)') }, { "--retry=5" })
    assert.equal(1, result.code)
    assert.equal(1, result.checks.a.attempts)
    assert.is_nil(result.checks.a.tries)
  end)
end)

describe("a run leaves", function()
  it("no journal beside its reports", function()
    site.with({ ["a.lua"] = site.check("a", 'return "x"') }, function(folder)
      site.run { folder .. "/a.lua", "-o", folder .. "/x.json" }
      local pipe = assert(io.popen("ls -A " .. files.quote(folder)))
      assert.equal("a.lua\nx.json\n", pipe:read "a")
      pipe:close()
    end)
  end)
end)
