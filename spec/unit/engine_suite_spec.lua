-- SPDX-License-Identifier: Apache-2.0
-- What a suite sets for a run, its waivers, and what retries leave in a report.
require "aicr_native"
local engines = require "spec.support.engine"
local fake_host = require "spec.support.fake_host"
local json = require "aicr.json"
local main = require "aicr.engine.main"

local engine, outcomes = engines.run, engines.outcomes
local FAIL <const>, ERROR <const> = engines.FAIL, engines.ERROR
local EMBEDDED <const>, FACTS <const> = engines.EMBEDDED, engines.FACTS

describe("a suite's options", function()
  local function with(options, fields)
    fields = fields or {}
    fields.operands = { "s/suite.lua" }
    fields.disk = { ["s/suite.lua"] = { suite = "s", options = options,
      checks = { "node-health", "nccl-bw" } } }
    return engine(fields)
  end

  it("apply, and the command line wins", function()
    local _, _, _, report = with { phase = { "deployment" }, seed = 7 }
    assert.same({ "node-health pass" }, outcomes(report))
    assert.equal(7, report.run.seed)
    _, _, _, report = with({ phase = { "deployment" }, seed = 7 },
      { options = { phase = { "performance" }, seed = 8 } })
    assert.same({ "nccl-bw pass" }, outcomes(report))
    assert.equal(8, report.run.seed)
  end)

  it("write reports beside the suite", function()
    local fields = { operands = { "s/suite.lua" }, embedded = EMBEDDED,
      endings = { target = FACTS },
      disk = { ["s/suite.lua"] = { suite = "s", options = { output = { "o/x.json" } },
        checks = { "node-health" } } } }
    local host = fake_host.new(fields)
    assert.equal(0, main(fake_host.command(fields), host))
    assert.is_string(host.state.written["s/o/x.json"])
  end)

  for _, row in ipairs {
    { { kubeconfig = "x" }, "s/suite.lua: options.kubeconfig may not be set by a suite" },
    { { set_file = { "a=b" } }, "options.set_file may not be set by a suite" },
    { { record = "x" }, "options.record may not be set by a suite" },
    { { recording = "x" }, "options.recording may not be set by a suite" },
    { { output = { "../x.json" } }, "options.output: ../x.json lies outside the suite's folder" },
    { { output = { "json:/tmp/x" } }, "options.output: json:/tmp/x lies outside the suite's folder" },
    { { pahse = { "x" } }, 'unknown option "pahse"; did you mean "phase"?' },
    { { keep = true }, "options.keep is not available yet" },
    { { timeout = "30" }, 'suite option timeout: expected a duration such as 90s or 5m, found "30"' },
    { { jobs = 0 }, 'suite option jobs: expected an integer of at least 1, found "0"' },
    { { retry = 101 }, 'suite option retry: expected an integer from 0 to 100, found "101"' },
    { { strict = "yes" }, "options.strict: expected boolean, found string" },
    { { phase = { 1 } }, "options.phase: expected text or a list of texts, found table" },
    { "x", "s/suite.lua: options: expected a table, found string" },
  } do
    it("are refused: " .. row[2], function()
      local code, _, err = with(row[1])
      assert.equal(2, code)
      assert.truthy(err:find(row[2], 1, true), err)
    end)
  end

  it("waive a failure, and a bad waiver is refused", function()
    local function waive(waiver)
      return engine {
        operands = { "s.lua" }, endings = { ["node-health"] = FAIL },
        disk = { ["s.lua"] = { suite = "s", checks = { "node-health" },
          waive = { ["node-health"] = waiver } } },
      }
    end
    local code, out, _, report = waive { reason = "OPS-812", expires = "2099-06-30" }
    assert.equal(0, code)
    assert.same({ reason = "OPS-812", expires = "2099-06-30" }, report.checks[1].waived)
    assert.equal(1, report.totals.waived)
    assert.truthy(out:find("~ node%-health .* waived until 2099%-06%-30: OPS%-812 %(failed: it is bad%)"))
    code, _, _, report = waive { reason = "OPS-812", expires = "2001-06-30" }
    assert.equal(1, code)
    assert.same({ "the waiver of this check expired on 2001-06-30: OPS-812" },
      report.checks[1].notes)
    local _, _, err = waive { expires = "2099-06-30" }
    assert.truthy(err:find('waive["node-health"] needs a reason', 1, true))
    for _, day in ipairs { "2026-13-01", "2026-02-30", "26-01-01", "2026-06-30T00:00:00Z" } do
      _, _, err = waive { reason = "x", expires = day }
      assert.truthy(err:find(('expected a date such as "2026-06-30", found "%s"'):format(day), 1, true), err)
    end
    _, _, err = waive { reason = "x", expires = "2099-06-30", until_ = "x" }
    assert.truthy(err:find('waive["node-health"]: unknown field "until_"', 1, true))
    _, _, err = waive { reason = "x", expires = "soon" }
    assert.truthy(err:find('expected a date such as "2026-06-30", found "soon"', 1, true))
    _, _, err = waive "x"
    assert.truthy(err:find('waive["node-health"] needs a reason', 1, true))
  end)
end)

describe("a waiver", function()
  local function suite(waive, checks)
    return { suite = "s", checks = checks or { "node-health" }, waive = waive }
  end
  local KNOWN <const> = { reason = "known", expires = "2099-06-30" }

  it("of no check in the suite is a mistake", function()
    local code, _, err = engine { operands = { "s.lua" },
      disk = { ["s.lua"] = suite { ["node-helth"] = KNOWN } } }
    assert.equal(2, code)
    assert.truthy(err:find('s.lua: waive["node-helth"]: the suite has no such check; '
      .. 'did you mean "node-health"?', 1, true), err)
  end)

  it("is for the checks of its own suite, by the name they have there", function()
    local code, _, _, report = engine { operands = { "a.lua", "b.lua" },
      endings = { ["node-health"] = FAIL, ["nccl-bw"] = FAIL },
      disk = {
        ["a.lua"] = suite({ other = KNOWN }, { { path = "node-health", as = "other" } }),
        ["b.lua"] = suite(nil, { "node-health" }),
      } }
    assert.equal(1, code)
    assert.equal("2099-06-30", report.checks[1].waived.expires)
    assert.equal(json.null, report.checks[2].waived)
  end)

  it("that has expired counts again, and every format says so", function()
    local fields = { operands = { "s.lua" }, embedded = EMBEDDED, endings = { target = FACTS,
      ["node-health"] = FAIL }, options = { output = { "o.json", "o.xml" } },
      disk = { ["s.lua"] = suite { ["node-health"] = { reason = "OPS-1", expires = "2026-03-09" } } } }
    local host = fake_host.new(fields)
    assert.equal(1, main(fake_host.command(fields), host))
    for _, target in ipairs { "-", "o.json", "o.xml" } do
      assert.truthy(host.state.written[target]:find(
        "the waiver of this check expired on 2026-03-09: OPS-1", 1, true), target)
    end
  end)
end)

describe("--retry", function()
  it("leaves its attempts in the report and a word on the line", function()
    local code, out, _, report = engine { operands = { "node-health" }, options = { retry = 2,
      verbose = 1 }, endings = { ["node-health"] = { ERROR, { result = "well" } } } }
    assert.equal(0, code)
    local one = report.checks[1]
    assert.same({ 2, 2, "error", "script", "pass" }, { one.attempts, #one.tries,
      one.tries[1].outcome, one.tries[1].reason, one.tries[2].outcome })
    assert.truthy(out:find("well (attempt 2)", 1, true))
    assert.truthy(out:find("note: attempt 1 of at most 3 ended in error script: x.lua:2: boom", 1, true))
  end)
end)
