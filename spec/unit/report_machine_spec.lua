-- SPDX-License-Identifier: Apache-2.0
-- The native and the JUnit report, both from the same model.
require "aicr_native"
local human = require "aicr.report.human"
local json = require "aicr.json"
local json_schema = require "spec.support.json_schema"
local junit = require "aicr.report.junit"
local lom = require "lxp.lom"
local native = require "aicr.report.native"
local result = require "aicr.engine.result"

local SCHEMA <const> = json_schema.load("spec/schema/report.schema.json")

local function res(name, outcome, fields)
  local r = {
    name = name, phase = "deployment", tags = {}, path = "checks/" .. name .. ".lua",
    file = "checks/" .. name .. ".lua", origin = "file", explain = name, outcome = outcome,
    result = "it holds", duration_ms = 402, attempts = 1, notes = {}, trace = {}, params = {},
    steps = {},
    expectations = {}, measures = {}, series = {}, evidence = {}, log = {}, resources = {},
    attachments = {},
  }
  if outcome == "fail" or outcome == "error" then
    r.code, r.reason, r.message = "CONFLICT", "bad", "it is bad"
  elseif outcome == "skip" then
    r.reason, r.message = "platform", "not for platform gcp"
  end
  for k, v in pairs(fields or {}) do
    r[k] = v
  end
  return r
end

local function model(results, fields)
  local run = {
    version = "0.1.0", id = "20260310t201044-7f3a", start = 1773173444872, stop = 1773173448076,
    seed = 20260310,
    notes = {}, results = results, target = { context = "train-01" },
    recipe = { name = "h100-gke", sha256 = ("a"):rep(64) },
  }
  for k, v in pairs(fields or {}) do
    run[k] = v
  end
  return result.model(run)
end

local function decoded(results, fields)
  local report = json.decode(native.render(model(results, fields)))
  assert(json_schema.validate(report, SCHEMA))
  return report
end

-- The members of the first object in a text, in the order written.
local function member_order(text, indent)
  local names = {}
  for name in text:gmatch("\n" .. (" "):rep(indent) .. '"([%w_]+)": ') do
    names[#names + 1] = name
  end
  return table.concat(names, " ")
end

local function children(node, tag)
  local out = {}
  for _, child in ipairs(node) do
    if type(child) == "table" and (not tag or child.tag == tag) then
      out[#out + 1] = child
    end
  end
  return out
end

local function text_of(node)
  local out = {}
  for i, child in ipairs(node) do
    out[i] = type(child) == "string" and child or ""
  end
  return table.concat(out)
end

local function parsed(results, fields)
  local text = junit.render(model(results, fields))
  local tree, why = lom.parse(text)
  assert(tree, why)
  return tree, text
end

local function cases(tree)
  local out = {}
  for _, suite in ipairs(children(tree, "testsuite")) do
    for _, case in ipairs(children(suite, "testcase")) do
      out[#out + 1] = case
    end
  end
  return out
end

local EVIL <const> = "x]]>&<\"'\n\t\r\0\1\27[31m\255\254" .. "\u{FFFE}\u{FFFF}\u{1F600}"
  .. "--><![CDATA["

local function hostile()
  return {
    res("a", "fail", {
      message = EVIL, result = EVIL, why = EVIL, fix = EVIL, evidence = { EVIL }, notes = { EVIL },
      trace = { EVIL },
      file = EVIL, path = EVIL, tags = { EVIL },
      params = { k = { value = EVIL, from = "default" } },
      extra = { [EVIL] = EVIL }, steps = { { name = EVIL, outcome = "pass", duration_ms = 1 } },
      expectations = { { what = EVIL, op = "==", expected = EVIL, actual = { [EVIL] = { EVIL } },
        ok = false } },
      measures = { { name = EVIL, value = 1, unit = EVIL, limit = EVIL } },
      log = { { level = "info", text = EVIL } },
      details = { diff = { key = EVIL, left = EVIL, right = EVIL,
        rows = { { k = EVIL, l = EVIL, r = json.null } } } },
    }),
    res("b", "skip", { message = EVIL, result = EVIL }),
    res("c", "error", { message = ("m"):rep(1 << 20), evidence = { ("e"):rep(1 << 20) } }),
  }
end

describe("the native report", function()
  it("writes its members in the order of the reference", function()
    local text = native.render(model { res("a", "fail", {
      line = 31, why = "w", fix = "f", details = { a = 1 }, started = 1773173446100,
      extra = { n = 1 },
      coverage = { verified = 1, total = 2 }, notes = { "n" }, trace = { "t" },
    }) })
    assert.equal("schema tool run target recipe totals checks notes", member_order(text, 2))
    assert.equal("name version id start stop duration_ms exit_code seed interrupted strict context platform "
      .. "platform_from server_version gpu_nodes gpus recording name sha256 checks pass fail error skip waived",
        member_order(text, 4))
    assert.equal("name phase tags file line origin outcome code reason result message why fix details waived start "
      .. "duration_ms attempts params steps expectations measures series evidence log resources attachments extra "
      .. "coverage notes trace", member_order(text, 6))
  end)

  it("says null for what is known to be none and leaves out what does not apply", function()
    local report = decoded({ res("a", "pass") }, { recipe = false })
    assert.equal(json.null, report.recipe)
    assert.equal(json.null, report.target.platform)
    assert.equal(json.null, report.checks[1].waived)
    for _, name in ipairs { "code", "reason", "message", "line", "start", "extra", "coverage",
      "details" } do
      assert.is_nil(report.checks[1][name])
    end
  end)

  it("says of a target only where it is so that nothing proves its answers", function()
    assert.is_nil(decoded({}).target.insecure)
    assert.is_true(decoded({}, { target = { insecure = true } }).target.insecure)
  end)

  it("writes times, seeds and big integers as the reference says", function()
    local text = native.render(model({ res("a", "pass", {
      started = 1773173446100,
      measures = {
        { name = "big", value = 9007199254740993, unit = "B" },
        { name = "edge", value = 1 << 53, unit = "B" },
        { name = "least", value = math.mininteger, unit = "B" },
        { name = "part", value = 0.1, unit = "B" },
        { name = "whole", value = 3.0, unit = "B" },
      },
    }) }))
    for _, expected in ipairs {
      '"start": "2026-03-10T20:10:44.872Z"', '"start": "2026-03-10T20:10:46.100Z"',
        '"duration_ms": 3204',
      '"value": "9007199254740993"', '"value": 9007199254740992', '"value": "-9223372036854775808"',
        '"value": 0.1',
      '"value": 3.0',
    } do
      assert.truthy(text:find(expected, 1, true), expected)
    end
  end)

  it("writes null and a line of evidence for what is not finite", function()
    local out = { outcome = "pass", result = "x", notes = {} }
    local measures = {}
    for i, v in ipairs { 0 / 0, math.huge, -math.huge, 1.5 } do
      measures[i] = { name = "m" .. i, value = v, unit = "s" }
    end
    local item = { name = "a", phase = "deployment", path = "a.lua", origin = "file",
      meta = { name = "a" } }
    local event = { started = 1, duration_ms = 2, record = { measures = measures } }
    local report = decoded { result.new(item, out, event) }
    assert.equal(json.null, report.checks[1].measures[1].value)
    assert.equal(json.null, report.checks[1].measures[3].value)
    assert.equal(3, #report.checks[1].evidence)
    assert.truthy(report.checks[1].evidence[2]:find("measure m2 is not a finite number: inf", 1,
      true))
  end)

  it("masks secret parameters and names origins", function()
    local item = {
      name = "a", phase = "deployment", path = "a.lua", origin = "file",
      meta = { name = "a", params = { token = { type = "string", secret = true } } },
      params = { token = { value = "hunter2", from = "environment" },
        n = { value = 2, from = "suite" } },
    }
    local report = decoded { result.new(item, { outcome = "pass", result = "x" }) }
    assert.same({ token = { value = "***", from = "environment" },
      n = { value = 2, from = "suite" } },
      report.checks[1].params)
  end)

  it("keeps code, reason and details", function()
    local details = { diff = { key = "k", left = "l", right = "r",
      rows = { { k = "1", l = "a", r = json.null } } } }
    local report = decoded { res("a", "fail",
      { code = "NOT_FOUND", reason = "network-missing", details = details }) }
    assert.same({ "NOT_FOUND", "network-missing" },
      { report.checks[1].code, report.checks[1].reason })
    assert.equal(json.null, report.checks[1].details.diff.rows[1].r)
  end)

  it("stays valid whatever the cluster says", function()
    local text = native.render(model(hostile()))
    assert.is_truthy(utf8.len(text))
    assert.is_nil(text:find("[\0-\9\11-\31]"))
    local report = json.decode(text)
    assert(json_schema.validate(report, SCHEMA))
    assert.truthy(report.checks[1].message:find("\u{FFFD}", 1, true))
    assert.truthy(report.checks[1].message:find("\27[31m", 1, true))
  end)

  it("is valid for zero checks", function()
    assert.same({ checks = 0, pass = 0, fail = 0, error = 0, skip = 0, waived = 0 },
      decoded({}).totals)
    assert.truthy(native.render(model {}):find('"checks": []', 1, true))
  end)

  it("is what the schema holds against it", function()
    local report = json.decode(native.render(model { res("a", "fail") }))
    for _, spoil in ipairs {
      function(r) r.extra = 1 end, function(r) r.totals.pass = -1 end,
        function(r) r.run.id = "x" end,
      function(r) r.checks[1].code = "BAD" end, function(r) r.checks[1].reason = nil end,
      function(r) r.checks[1].reason = "Upper" end, function(r) r.checks[1].outcome = "passed" end,
      function(r) r.checks[1].name = "A" end, function(r) r.checks[1].surplus = true end,
      function(r) r.target.platform = "gke" end, function(r) r.run.start = "2026-03-10" end,
      function(r) r.checks[1].evidence = {} end, function(r) r.run.exit_code = 2 end,
    } do
      local copy = json.decode(json.encode(report))
      spoil(copy)
      assert.is_false((json_schema.validate(copy, SCHEMA)))
    end
    assert.is_true((json_schema.validate(report, SCHEMA)))
  end)
end)

describe("the JUnit report", function()
  it("has one suite a phase with counts, seconds and a time without zone", function()
    local tree = parsed { res("a", "pass"), res("b", "fail"),
      res("c", "error", { duration_ms = 2100 }),
      res("d", "skip", { duration_ms = 0 }),
        res("p", "pass", { phase = "performance", duration_ms = 300 }) }
    assert.same({ "aicr-run", "5", "1", "1", "1", "3.204" }, {
      tree.attr.name, tree.attr.tests, tree.attr.failures, tree.attr.errors, tree.attr.skipped,
        tree.attr.time,
    })
    local suites = children(tree, "testsuite")
    assert.equal(2, #suites)
    assert.same({ "deployment", "4", "2026-03-10T20:10:44", "train-01" },
      { suites[1].attr.name, suites[1].attr.tests, suites[1].attr.timestamp,
        suites[1].attr.hostname })
    assert.same({ "performance", "1", "0", "0", "0" }, {
      suites[2].attr.name, suites[2].attr.tests, suites[2].attr.failures, suites[2].attr.errors,
        suites[2].attr.skipped,
    })
    local first = cases(tree)[1].attr
    assert.same({ "a", "deployment", "checks/a.lua", "0.402" },
      { first.name, first.classname, first.file, first.time })
  end)

  it("says run, seed and recipe as properties", function()
    local tree = parsed { res("a", "pass") }
    local list = children(children(children(tree, "testsuite")[1], "properties")[1], "property")
    local out = {}
    for i, p in ipairs(list) do
      out[i] = p.attr.name .. "=" .. p.attr.value
    end
    assert.same({ "aicr-run.run=20260310t201044-7f3a", "aicr-run.seed=20260310",
      "recipe=h100-gke" }, out)
  end)

  it("says as a property that nothing proves the answers", function()
    local _, text = parsed({ res("a", "pass") }, { target = { insecure = true } })
    assert.truthy(text:find('<property name="aicr-run.insecure" value="true"/>', 1, true))
    _, text = parsed { res("a", "pass") }
    assert.is_nil(text:find("insecure", 1, true))
  end)

  it("has the message as attribute and as text, with the comparison and the fix", function()
    local tree = parsed { res("a", "fail", {
      message = "2 of 8 differ", reason = "mapping-mismatch", fix = "apply it again",
      details = { diff = { key = "k", left = "l", right = "r",
        rows = { { k = "eth1", l = "a", r = "a" }, { k = "eth2", l = "b", r = "c" } } } },
    }) }
    local failure = children(cases(tree)[1], "failure")[1]
    assert.same({ "mapping-mismatch", "2 of 8 differ" },
      { failure.attr.type, failure.attr.message })
    assert.equal("2 of 8 differ\neth2: expected b, got c\nfix: apply it again", text_of(failure))
  end)

  it("has an error for an error, skipped for skip and waived", function()
    local tree = parsed {
      res("a", "error", { reason = "forbidden", message = "cannot list" }), res("b", "skip"),
      res("c", "fail", { waived = { reason = "OPS-812", expires = "2026-06-30" } }),
    }
    local list = cases(tree)
    assert.equal("forbidden", children(list[1], "error")[1].attr.type)
    assert.equal("not for platform gcp", text_of(children(list[2], "skipped")[1]))
    assert.equal("waived until 2026-06-30: OPS-812 (failed: it is bad)",
      text_of(children(list[3], "skipped")[1]))
    assert.equal(0, #children(list[3], "failure"))
  end)

  it("puts evidence, measures and notes into system-out, behind the outcome", function()
    local tree = parsed { res("a", "fail", {
      evidence = { "8 read" }, notes = { "later: x" },
      measures = { { name = "busbw", value = 327.2, unit = "GB/s", limit = ">= 250" } },
    }) }
    local all = children(cases(tree)[1])
    assert.same({ "failure", "system-out" }, { all[1].tag, all[2].tag })
    assert.equal('8 read\nbusbw=327.2 GB/s limit=">= 250"\nnote: later: x', text_of(all[2]))
  end)

  it("caps system-out, keeping head and tail", function()
    local tree = parsed { res("a", "pass",
      { evidence = { "HEAD" .. ("é"):rep(100000) .. "TAIL" } }) }
    local out = text_of(children(cases(tree)[1], "system-out")[1])
    assert.is_true(#out <= 64 * 1024)
    assert.truthy(out:find("^HEAD"))
    assert.truthy(out:find("TAIL$"))
    assert.truthy(out:find("bytes left out", 1, true))
  end)

  it("keeps names unique", function()
    local list = cases((parsed { res("a", "pass"), res("a", "pass"), res("a", "pass") }))
    assert.same({ "a", "a (2)", "a (3)" },
      { list[1].attr.name, list[2].attr.name, list[3].attr.name })
  end)

  it("stays well-formed whatever the cluster says", function()
    local tree, text = parsed(hostile(),
      { target = { context = EVIL }, recipe = { name = EVIL, sha256 = "" } })
    assert.is_truthy(utf8.len(text))
    assert.is_nil(text:find("[\0-\8\11\12\14-\31]"))
    assert.is_nil(text:find("\u{FFFE}", 1, true))
    assert.is_nil(text:find("\u{FFFF}", 1, true))
    assert.equal(3, #cases(tree))
    assert.truthy(text_of(children(cases(tree)[1], "failure")[1]):find("x]]>&<\"'", 1, true))
  end)

  it("is valid for zero checks", function()
    local tree = parsed({})
    assert.same({ "0", 0 }, { tree.attr.tests, #children(tree, "testsuite") })
  end)
end)

describe("the counts", function()
  local KINDS <const> = { "pass", "fail", "error", "skip", "waived" }

  for mask = 0, (1 << #KINDS) - 1 do
    local results, words = {}, {}
    for i, kind in ipairs(KINDS) do
      if mask >> (i - 1) & 1 == 1 then
        for n = 1, i do
          local fields = kind == "waived" and { waived = { reason = "r", expires = "2099-01-01" } }
            or nil
          results[#results + 1] = res(("%s-%d"):format(kind, n), kind == "waived" and "fail"
            or kind, fields)
        end
        words[#words + 1] = kind
      end
    end
    it("agree in all formats for " .. (#words > 0 and table.concat(words, ", ") or "zero checks"),
      function()
      local totals = decoded(results).totals
      assert.equal(#results, totals.checks)
      assert.equal(totals.checks, totals.pass + totals.fail + totals.error + totals.skip + totals.waived)
      local attr = parsed(results).attr
      assert.same({ totals.checks, totals.fail, totals.error, totals.skip + totals.waived },
        { tonumber(attr.tests), tonumber(attr.failures), tonumber(attr.errors),
          tonumber(attr.skipped) })
      local line = human.render(model(results),
        { terminal = { utf8 = true } }):match("\n(%d+ checks?[^·]*) ·")
      local said = { passed = 0, failed = 0, error = 0, errors = 0, skipped = 0, waived = 0 }
      for n, word in line:gmatch("(%d+) (%a+)") do
        said[word] = tonumber(n)
      end
      assert.same({ totals.pass, totals.fail, totals.error, totals.skip, totals.waived },
        { said.passed, said.failed, said.error + said.errors, said.skipped, said.waived })
    end)
  end
end)
