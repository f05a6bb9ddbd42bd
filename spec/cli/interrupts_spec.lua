-- SPDX-License-Identifier: Apache-2.0
-- Signals at every point of a run (cli-and-reports.md 3).
require "aicr_native"
local interrupt = require "spec.support.interrupt"
local json = require "aicr.json"
local json_schema = require "spec.support.json_schema"
local site = require "spec.support.site"

local SCHEMA <const> = json_schema.load "spec/schema/report.schema.json"
local CODE <const> = { INT = 130, TERM = 143 }
local COUNT <const> = 6

-- A check that says where it is, and stays where `hold` says.
local BODY <const> = [[local name, hold = "NAME", ctx.params.hold
    local function at(where, wait)
      ctx:progress("%s %s", name, where)
      ctx:sleep(hold == name .. " " .. where and wait or "5ms")
    end
    at("begins", "60s")
    ctx:defer(function() ctx:evidence("first ran") end)
    ctx:defer(function() at("cleans", "8s") ctx:evidence("second ran") end)
    ctx:evidence("deferred")
    at("works", "60s")
    return "worked"]]

local function checks()
  local contents = {}
  for i = 1, COUNT do
    local name = "c" .. i
    contents[name .. ".lua"] = site.check(name, (BODY:gsub("NAME", name)),
      'params = { hold = { type = "string", default = "" } },')
  end
  return contents
end

local EVIDENCE <const> = {
  begins = "", works = "deferred, second ran, first ran", cleans = "deferred, second ran, first ran",
}

--- What always holds after a signal.
local function assert_clean(result, signal)
  assert.equal(CODE[signal], result.code, result.stderr)
  assert.equal("", result.left)
  assert.same({ "report.json" }, result.files)
  assert(json_schema.validate(result.report, SCHEMA))
  assert.is_true(result.report.run.interrupted)
  assert.equal(CODE[signal], result.report.run.exit_code)
  assert.equal(COUNT, #result.report.checks)
  for _, check in ipairs(result.report.checks) do
    local evidence = table.concat(check.evidence, ", ")
    assert.is_true(evidence == "" or evidence == EVIDENCE.works, check.name .. ": " .. evidence)
    assert.is_true(check.outcome == "pass" or check.reason == "interrupted", check.name)
    assert.is_true(check.outcome ~= "pass" or evidence ~= "", check.name)
    if check.reason == "interrupted" then
      assert.equal(evidence ~= "", check.message:find("; its clean-up ran to its end", 1, true) ~= nil, check.message)
    end
  end
end

local function points(signal, jobs, folder)
  local runs = {}
  -- Those that clean up when the signal comes go to the end of it: side by side.
  for _, where in ipairs { "begins", "works", "cleans" } do
    for i = 1, COUNT do
      local point = ("c%d %s"):format(i, where)
      runs[#runs + 1] = {
        number = i, where = where, point = point, signals = { { signal, point } },
        args = { folder .. "/", "-j", tostring(jobs), "--set", "hold=" .. point },
      }
    end
  end
  return runs
end

for _, row in ipairs { { "INT", 1 }, { "TERM", 3 } } do
  local signal, jobs = row[1], row[2]
  local runs, results
  site.with(checks(), function(folder)
    runs = points(signal, jobs, folder)
    results = interrupt.all(runs)
  end)

  describe(("SIG%s at -j %d while"):format(signal, jobs), function()
    for n, run in ipairs(runs) do
      local result = results[n]
      it(run.point, function()
        assert_clean(result, signal)
        local check = result.checks["c" .. run.number]
        assert.equal(EVIDENCE[run.where], table.concat(check.evidence, ", "))
        assert.equal(run.where == "cleans" and "pass" or "error", check.outcome)
        if run.where ~= "cleans" then
          assert.same({ "CANCELED", "interrupted" }, { check.code, check.reason })
        end
      end)
      if jobs == 1 then
        it(run.point .. ": those before it ended, those after it did not start", function()
          for i = 1, COUNT do
            local check = result.checks["c" .. i]
            if i < run.number then
              assert.same({ "pass", 1 }, { check.outcome, check.attempts })
            elseif i > run.number then
              assert.same({ 0, "not started: the run was interrupted by SIG" .. signal },
                { check.attempts, check.message })
            end
          end
          assert.match("exit " .. CODE[signal], result.stdout)
        end)
      end
    end
  end)
end

describe("a second signal", function()
  local results
  site.with({
    ["a.lua"] = site.check("a", [[ctx:defer(function() ctx:progress("a cleans") ctx:sleep("50s") end)
      ctx:progress("a works") ctx:sleep("60s") return "x"]]),
    ["b.lua"] = site.check("b", 'ctx:sleep("60s") return "x"'),
    ["c.lua"] = site.check("c", 'return "x"'),
  }, function(folder)
    results = interrupt.all {
      { args = { folder .. "/", "-j2" }, signals = { { "INT", "a works" }, { "INT", "a cleans" } } },
      { args = { folder .. "/", "-j2" }, signals = { { "TERM", "a works" }, { "INT", "a cleans" } } },
    }
  end)

  for i, code in ipairs { 130, 143 } do
    it("stops at once, with the reports of what is there: " .. code, function()
      local result = results[i]
      assert.equal(code, result.code, result.stderr)
      assert.same({ "report.json" }, result.files)
      assert.equal("", result.left)
      assert.is_true(result.report.run.duration_ms < 40000)
      local a, b, c = result.checks.a, result.checks.b, result.checks.c
      assert.match("^stopped by a second SIG%u+: its clean%-up was not awaited$", a.message)
      assert.same({ "interrupted", "interrupted", "interrupted" }, { a.reason, b.reason, c.reason })
      assert.match("aicr%-run: stopped by a second SIG%u+: the clean%-up of a was not awaited\n"
        .. "  fix  look what is left of run " .. result.report.run.id:gsub("%-", "%%-")
        .. ": aicr%-run doctor .*a%.lua\n",
        result.stderr)
    end)
  end
end)

describe("a signal before the first check", function()
  -- The files take a while to be read, so that the signal comes meanwhile.
  local contents = {}
  for i = 1, COUNT do
    contents[("c%d.lua"):format(i)] = "local n = 0\nfor i = 1, 2e7 do n = n + i end\n"
      .. site.check("c" .. i, 'return "x"')
  end
  local result
  site.with(contents, function(folder)
    result = interrupt.all { { args = { folder .. "/" }, signals = { { "INT", "/caught" } } } }[1]
  end)

  it("starts none and leaves a report", function()
    assert_clean(result, "INT")
    for _, check in ipairs(result.report.checks) do
      assert.same({ "interrupted", 0 }, { check.reason, check.attempts })
    end
  end)
end)

describe("a signal while a report waits for a reader", function()
  local results
  site.with({ ["a.lua"] = site.check("a", 'return "x"'),
    ["b.lua"] = site.check("b", 'ctx:expect("n", 1, "==", 2)') }, function(folder)
    local runs = {}
    for i, name in ipairs { "INT", "TERM" } do
      runs[i] = {
        args = { folder .. (i == 1 and "/a.lua" or "/"), "-o", "json:@/pipe", "-o", "junit:@/late" },
        signals = { { name, "/exists @/out/report.json" } }, before = "mkfifo @/pipe; ", capture = "@/late",
      }
    end
    results = interrupt.all(runs)
  end)

  for i, code in ipairs { 130, 143 } do
    it("ends the run with " .. code .. ", and the other reports are written", function()
      local result = results[i]
      assert.equal(code, result.code, result.stderr)
      assert.match("cannot write the report .*/pipe: interrupted, nobody reads it\n", result.stderr)
      assert.match("\nexit " .. code .. ": ", result.stdout)
      assert.equal(i, #result.report.checks)
      assert.is_false(result.report.run.interrupted)
      assert.match("^<%?xml", result.captured)
    end)
  end
end)

describe("a signal while reports are written", function()
  -- The reader of the pipe waits until the signal was sent; the report is larger than a pipe holds.
  local BIG <const> = site.check("a",
    'for i = 1, 3000 do ctx:evidence("%d " .. ("x"):rep(200), i) end return "x"')
  local result
  site.with({ ["a.lua"] = BIG }, function(folder)
    result = interrupt.all {
      {
        args = { folder .. "/", "-o", "json:@/pipe" },
        signals = { { "INT", "/exists @/out/report.json" } },
        before = "mkfifo @/pipe; (exec 3<@/pipe; sleep 2; cat <&3 >@/read) &", capture = "@/read",
      },
    }[1]
  end)

  it("leaves them whole, and the verdict stands", function()
    assert.equal(0, result.code, result.stderr)
    assert.same({ "report.json" }, result.files)
    assert.is_false(result.report.run.interrupted)
    assert.same(result.report.checks, json.decode(result.captured).checks)
  end)
end)
