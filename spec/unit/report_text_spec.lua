-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local formats = require "aicr.report.formats"
local json = require "aicr.json"
local message = require "aicr.engine.message"
local ordered = require "aicr.report.ordered"
local text = require "aicr.report.text"

describe("a duration", function()
  for _, row in ipairs {
    { 0, "0.0s" }, { 49, "0.0s" }, { 400, "0.4s" }, { 9949, "9.9s" }, { 9950, "10s" },
    { 12000, "12s" }, { 59499, "59s" },
    { 59500, "1m 00s" }, { 112000, "1m 52s" }, { 3599499, "59m 59s" }, { 3599500, "1h 00m" },
    { 3780000, "1h 03m" },
    { 90000000, "25h 00m" }, { -5, "0.0s" },
  } do
    it(("of %d ms is %s"):format(row[1], row[2]), function()
      assert.equal(row[2], text.duration(row[1]))
    end)
  end

  for _, row in ipairs { { 300000, "5m" }, { 90000, "90s" }, { 7200000, "2h" },
    { 1500, "1500ms" } } do
    it(("of %d ms is %s as a limit"):format(row[1], row[2]), function()
      assert.equal(row[2], text.time_limit(row[1]))
    end)
  end
end)

describe("wrapping", function()
  for _, row in ipairs {
    { "a b c", nil, { "a b c" } }, { "aaaa bbbb cccc", 9, { "aaaa bbbb", "cccc" } },
    { "aaaaaaaaaaaaaaaaaaaa", 8,
      { "aaaaaaaa", "aaaaaaaa", "aaaa" } }, { "é é é é é é", 9, { "é é é é é", "é" } },
        { "ééééééééé é", 8, { "éééééééé", "é é" } },
    { "", 10, { "" } }, { "aaaa bbbb", 1, { "aaaa", "bbbb" } },
    { "look: kubectl get a 'b; c' -o d; if not: aicr-run --list", 12,
      { "look:", "kubectl get a 'b; c' -o d", "if not:", "aicr-run --list" } },
    { "kubectl get nodes && kubectl get pods", 12, { "kubectl get nodes && kubectl get pods" } },
    { "see kubectl for more than this", 12, { "see kubectl", "for more", "than this" } },
    { "aicr-run 1.2 of a: b", 12, { "aicr-run 1.2", "of a: b" } },
  } do
    it(("of '%s' at %s"):format(row[1], tostring(row[2])), function()
      assert.same(row[3], text.wrap(row[1], row[2]))
    end)
  end
end)

describe("a value in words", function()
  for _, row in ipairs {
    { "x", "x", '"x"' }, { "", '""', '""' }, { json.null, "(none)", "nothing" }, { 3, "3", "3" },
    { 0.5, "0.5", "0.5" },
    { true, "true", "true" }, { { "a", "b" }, "a, b", '["a","b"]' },
    { { k = 1 }, "k=1", '{"k":1}' }, { json.array(), "(none)", "[]" },
  } do
    it(("is %s or %s"):format(row[2], row[3]), function()
      assert.equal(row[2], text.value(row[1]))
      assert.equal(row[3], text.quoted(row[1]))
    end)
  end

  it("is none for nil", function()
    assert.same({ "(none)", "nothing" }, { text.value(nil), text.quoted(nil) })
  end)
end)

describe("an expectation in words", function()
  for _, row in ipairs {
    { { what = "gpus", op = "==", expected = 8, actual = 7 }, { "gpus: got 7, required == 8" } },
    { { what = "name", op = "~=", expected = "Socket", actual = "Socket" },
      { 'name: got "Socket", required ~= "Socket"' } },
    { { what = "x", op = "same_set", expected = { "a", "b" }, actual = { "b", "c", "d" } },
      { "x: missing a", "x: unexpected c, d" } },
    { { what = "x", op = "same_set", expected = { "a" }, actual = json.array() },
      { "x: missing a" } },
    { { what = "x", op = "same_set", expected = { "a" }, actual = json.null },
      { 'x: got nothing, required same_set ["a"]' } },
    { { what = "x", op = "same_list", expected = { "a" }, actual = { "b" } },
      { 'x: got ["b"], required same_list ["a"]' } },
  } do
    it("is " .. row[2][1], function()
      assert.same(row[2], text.expectation(row[1]))
    end)
  end
end)

describe("ordered JSON", function()
  it("writes members as given and leaves out nil", function()
    assert.equal('{\n  "b": 1,\n  "a": []\n}\n',
      ordered.encode(ordered.object("b", 1, "x", nil, "a", ordered.array {})))
    assert.equal("{}\n", ordered.encode(ordered.object()))
  end)

  it("sorts plain tables and tells lists from objects", function()
    assert.equal('{\n  "a": 1,\n  "b": [\n    true\n  ],\n  "c": {}\n}\n',
      ordered.encode { b = { true }, a = 1, c = {} })
  end)

  it("escapes and repairs strings", function()
    assert.equal('"\\"\\\\\\n\\u0000\\u001f\u{FFFD}ü"\n', ordered.encode("\"\\\n\0\31\255ü"))
  end)

  for _, v in ipairs { 0 / 0, math.huge, -math.huge, json.null } do
    it("writes null for " .. tostring(v), function()
      assert.equal("null\n", ordered.encode(v))
    end)
  end

  it("reads back what was decoded", function()
    local source = '{"a":[1,2.5,"x",null,true,{"b":[]}],"c":{}}'
    assert.equal(source, json.encode(json.decode(ordered.encode(json.decode(source)))))
  end)
end)

describe("--format and --output", function()
  local function parse(options)
    local problems = message.problems()
    local reports = formats.parse(options, problems)
    return reports, problems:any() and problems:text() or ""
  end

  for _, row in ipairs {
    { "r.json", "json", "r.json" }, { "o/j.xml", "junit", "o/j.xml" },
    { "human:r.txt", "human", "r.txt" },
    { "json:x", "json", "x" }, { "junit:a:b", "junit", "a:b" }, { "C:r.json", "json", "C:r.json" },
  } do
    it("takes " .. row[1], function()
      local reports, problems = parse { output = { row[1] } }
      assert.equal("", problems)
      assert.same({ { format = row[2], file = row[3] } }, reports.outputs)
    end)
  end

  for _, row in ipairs {
    { "r.ctrf.json", "format ctrf is not available yet" },
    { "r.md", "format markdown is not available yet" },
    { "r.html", "format html is not available yet" },
    { "r.tap", "format tap is not available yet" },
    { "github:-", "is not a file" }, { "json:-", "stdout is not a file" },
    { "r.txt", "the name does not say which format is meant" },
    { "jason:x", 'unknown format "jason"; did you mean "json"?' },
    { "", "expected [FMT:]FILE" }, { ".json", "the name does not say which format is meant" },
  } do
    it(("refuses '%s'"):format(row[1]), function()
      local _, problems = parse { output = { row[1] } }
      assert.truthy(problems:find(row[2], 1, true), problems)
    end)
  end

  for _, row in ipairs {
    { "ctrf", "--format: format ctrf is not available yet\n  fix  one of: human, json, junit" },
    { "jnit", '--format: unknown format "jnit"; did you mean "junit"?' },
  } do
    it("refuses the format " .. row[1], function()
      local _, problems = parse { format = row[1] }
      assert.truthy(problems:find(row[2], 1, true), problems)
    end)
  end
end)

describe("a message", function()
  it("has the form of the reference", function()
    assert.equal("aicr-run: cannot reach it\n  GET /version\n  why  the VPN\n  fix  connect\n",
      message.format { what = "cannot reach it", more = { "GET /version" }, why = "the VPN",
        fix = "connect" })
  end)

  it("never sends control characters", function()
    local out = message.format { what = "a\n\27[1m", more = { "\7" }, why = "\r", fix = "\255" }
    assert.is_nil(out:gsub("\n", ""):find("[\0-\31\127-\255]"))
    assert.equal(4, select(2, out:gsub("\n", "")))
  end)
end)
