-- SPDX-License-Identifier: Apache-2.0
--- What ctx does, through the real program.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"

-- Runs one check whose run is `body`; more fields of the check in `fields`.
local function run(body, fields, args)
  local folder = files.folder()
  files.write(folder .. "/one.lua", ([[
return {
  name = "one", phase = "deployment", summary = "It is so", %s
  run = function(ctx)
%s
  end,
}
]]):format(fields or "", body))
  local words = { folder .. "/one.lua" }
  for _, arg in ipairs(args or {}) do
    words[#words + 1] = arg
  end
  local report = binary.report(words)
  files.remove(folder)
  return report.checks[1], report
end

describe("ctx:expect", function()
  local rows = {
    { "1, '==', 1.0", true }, { "nil, '==', nil", true }, { "nil, '==', 1", false },
    { "{a = {1, 2}}, '==', {a = {1, 2}}", true }, { "{a = {1, 2}}, '==', {a = {2, 1}}", false },
    { "{a = 1}, '==', {}", false }, { "{}, '==', {a = 1}", false },
    { "1, '~=', 2", true }, { "1, '~=', 1", false }, { "nil, '~=', 'v1'", false }, { "'v', '~=', nil", true },
    { "1, '<', 2", true }, { "2, '<', 2", false }, { "2, '<=', 2", true },
    { "3, '>', 2", true }, { "2, '>=', 3", false },
    { "nil, '>=', 1", false }, { "0/0, '>=', 0", false }, { "0/0, '<=', 0", false },
    { "'eth3', 'matches', '^eth%d$'", true }, { "'eth33', 'matches', '^eth%d$'", false },
    { "nil, 'matches', '.'", false },
    { "'a.b', 'contains', '.'", true }, { "'ab', 'contains', '.'", false }, { "{1, 'x'}, 'contains', 'x'", true },
    { "{1}, 'contains', 'x'", false }, { "nil, 'contains', 'x'", false },
    { "{1, 2}, 'same_list', {1, 2}", true }, { "{2, 1}, 'same_list', {1, 2}", false },
    { "{}, 'same_list', {}", true }, { "{1}, 'same_list', {}", false }, { "nil, 'same_list', {}", false },
    { "{2, 1}, 'same_set', {1, 2}", true }, { "{1, 1}, 'same_set', {1}", false }, { "{1}, 'same_set', {1, 1}", false },
    { "{{a=1}}, 'same_set', {{a=1}}", true }, { "nil, 'same_set', {}", false },
    { "{1, nil, 3}, 'same_list', {1}", false }, { "{1, nil, 3}, 'same_set', {1}", false },
    { "{a = 1}, 'same_list', {}", false }, { "{a = 1}, 'same_set', {}", false },
    { "{1, a = 2}, 'same_list', {1}", false }, { "{1, a = 2}, 'same_set', {1}", false },
    { "{nil, 'x'}, 'contains', 'x'", true }, { "{nil, 'x'}, 'contains', nil", false },
  }
  for _, row in ipairs(rows) do
    it(("%s is %s"):format(row[1], row[2]), function()
      local got = run(("    ctx:expect('it', %s)"):format(row[1]))
      assert.equal(row[2] and "pass" or "fail", got.outcome, got.message)
      assert.equal(1, #got.expectations)
      assert.equal(row[2], got.expectations[1].ok)
      if not row[2] then
        assert.equal("CONFLICT", got.code)
        assert.equal("expectation", got.reason)
      end
    end)
  end

  for _, row in ipairs {
    "'8', '==', 8", "8, '==', '8'", "'8', '~=', 8", "'9', '>=', 8", "9, '>=', '8'",
    "{1}, 'same_list', {1, nil, 3}", "{}, 'same_list', {a = 1}", "{}, 'same_set', {a = 1}",
    "math.huge, '>=', 8", "-math.huge, '<', 8", "8, '<=', math.huge", "8, '>', -math.huge",
  } do
    it(row .. " is the check's slip, no verdict", function()
      local got = run(("    ctx:expect('it', %s)"):format(row))
      assert.equal("error", got.outcome, got.message)
      assert.equal("script", got.reason)
    end)
  end

  it("says both sides and the options' reason, code and fix", function()
    local got = run([[
    ctx:expect("GPUs of node a", 7, "==", 8, {reason = "too-few", code = "NOT_FOUND", fix = "add one"})]])
    assert.equal("NOT_FOUND", got.code)
    assert.equal("too-few", got.reason)
    assert.equal("GPUs of node a: got 7, required == 8", got.message)
    assert.equal("add one", got.fix)
  end)

  it("shows line ends in its sides", function()
    local got = run([[    ctx:expect("its log", "a\n\\n\tb", "==", "c\r\n")]])
    assert.equal([[its log: got "a\n\\n\tb", required == "c\r\n"]], got.message)
    assert.same({ got.message }, require "aicr.report.text".expectation(got.expectations[1]))
  end)

  it("keeps all expectations of a check, the false ones decide", function()
    local got = run([[
    ctx:expect("a", 1, "==", 1)
    ctx:expect("b", 1, "==", 2)
    ctx:expect("c", 1, "==", 3)
    return "done"]])
    assert.equal("fail", got.outcome)
    assert.equal(3, #got.expectations)
    assert.matches("b: got 1, required == 2", got.message, 1, true)
  end)

  it("stops at a false must", function()
    local got = run([[
    ctx:must("b", 1, "==", 2)
    ctx:evidence("never")
    return "done"]])
    assert.equal("fail", got.outcome)
    assert.same({}, got.evidence or {})
  end)

  it("shows a table that is no list as it is, not what a list of it would lack", function()
    local text = require "aicr.report.text"
    local lines = text.expectation { what = "set", op = "same_set", expected = { 1 }, actual = { a = 1 } }
    assert.same({ 'set: got {"a":1}, required same_set [1]' }, lines)
  end)

  it("gives the rows of a list that differs", function()
    local got = run([[ctx:expect("order", {"a", "c"}, "same_list", {"a", "b", "c"}, {key = "place"})]])
    local diff = got.details.diff
    assert.equal("place", diff.key)
    assert.equal(3, #diff.rows)
    assert.same({ k = "2", l = "b", r = "c" }, diff.rows[2])
    assert.equal("c", diff.rows[3].l)
    assert.equal(require "aicr.json".null, diff.rows[3].r)
  end)
end)

describe("ctx:measure", function()
  local rows = {
    { "270, 'GB/s', {op='>=', value=300, tolerance=0.1}", true },
    { "269.99, 'GB/s', {op='>=', value=300, tolerance=0.1}", false },
    { "300, 'GB/s', {op='>=', value=300}", true },
    { "110, 'ms', {op='<=', value=100, tolerance=0.1}", true },
    { "110.1, 'ms', {op='<=', value=100, tolerance=0.1}", false },
    { "0/0, 'GB/s', {op='>=', value=300}", false },
    { "-105, 'dB', {op='>=', value=-100, tolerance=0.1}", true },
    { "-111, 'dB', {op='>=', value=-100, tolerance=0.1}", false },
    { "-95, 'dB', {op='<=', value=-100, tolerance=0.1}", true },
  }
  it("has no verdict on a rate in no time", function()
    for _, value in ipairs { "1 / 0", "-1 / 0" } do
      local got = run(("    ctx:measure('busbw', %s, 'GB/s', {op='>=', value=300})"):format(value))
      assert.equal("error", got.outcome, got.message)
      assert.equal("script", got.reason)
    end
  end)
  for _, row in ipairs(rows) do
    it(row[1], function()
      local got = run(("    ctx:measure('busbw', %s)"):format(row[1]))
      assert.equal(row[2] and "pass" or "fail", got.outcome, got.message)
      assert.equal(row[2], got.measures[1].ok)
    end)
  end
end)

describe("ctx", function()
  it("try gives error objects as values and nothing else", function()
    local got = run([[
    local json = require "aicr.json"
    local value, err = ctx:try(json.decode, "{")
    ctx:expect("value", value, "==", nil)
    ctx:expect("code", err.code, "==", "INVALID_REQUEST")
    ctx:expect("text", tostring(err), "contains", "[INVALID_REQUEST] ")
    ctx:expect("more", {ctx:try(function() return 1, 2, 3 end)}, "same_list", {1, 2, 3})
    ctx:try(function() error("a bug") end)]])
    assert.equal("error", got.outcome)
    assert.equal("script", got.reason)
    assert.matches("a bug", got.message, 1, true)
  end)

  it("a request that was not declared stands, whatever catches its refusal", function()
    for _, body in ipairs { "pcall(function() ctx.k8s:list('pods') end)", "ctx:try(ctx.k8s.list, ctx.k8s, 'pods')" } do
      local got = run(body .. "\n    return 'fine'", "needs = {'list nodes'},",
        { "--recording", "spec/fixtures/recordings/lyra-ok" })
      assert.equal("error", got.outcome, got.message)
      assert.equal("undeclared-permission", got.reason)
    end
  end)

  it("an error object that is not caught ends the check with its code and reason", function()
    local got = run([[require "aicr.json".decode("{")]])
    assert.equal("error", got.outcome)
    assert.equal("INVALID_REQUEST", got.code)
    assert.equal("malformed", got.reason)
  end)

  it("step passes results and names the part", function()
    local got = run([[
    local a, b = ctx:step("first", function() return 1, 2 end)
    ctx:expect("results", {a, b}, "same_list", {1, 2})]])
    assert.equal("pass", got.outcome)
    assert.equal("first", got.steps[1].name)
    assert.equal("pass", got.steps[1].outcome)
  end)

  it("defer runs last in, first out, also after a fail and a Lua error", function()
    for _, last in ipairs { "ctx:fail{reason='x', message='m'}", "error('x')", "return 'fine'" } do
      local got = run(([[
    ctx:defer(function() ctx:evidence("one") end)
    ctx:defer(function() ctx:evidence("two") end)
    %s]]):format(last))
      assert.same({ "two", "one" }, got.evidence)
    end
  end)

  it("a clean-up that fails turns a pass into an error", function()
    local got = run([[
    ctx:defer(function() error("cannot delete") end)
    return "fine"]])
    assert.equal("error", got.outcome)
    assert.equal("cleanup", got.reason)
  end)

  it("a clean-up that fails leaves a fail a fail", function()
    local got = run([[
    ctx:defer(function() error("cannot delete") end)
    ctx:fail{reason = "mine", message = "m"}]])
    assert.equal("fail", got.outcome)
    assert.equal("mine", got.reason)
  end)

  it("a clean-up function cannot skip the check", function()
    local got = run [[
    ctx:defer(function() pcall(ctx.skip, ctx, {reason = "x", message = "m"}) end)
    return "verified"]]
    assert.equal("pass", got.outcome, got.message)
  end)

  it("fails stand however large they are and whatever catches them", function()
    local got = run [[
    local a, b = {}, {}
    for i = 1, 30000 do a[i], b[i] = "a" .. i, "b" .. i end
    for k = 1, 6 do pcall(function() ctx:expect("x" .. k, a, "same_list", b) end) end
    return "all fine"]]
    assert.equal("fail", got.outcome)
    assert.equal("expectation", got.reason)
  end)

  it("a true expectation counts however large it is", function()
    local got = run [[
    local a = {}
    for i = 1, 30000 do a[i] = "node-" .. i end
    ctx:expect("names", a, "same_list", a)]]
    assert.equal("pass", got.outcome, got.message)
  end)

  for _, depth in ipairs { 60, 64, 200, 254, 300 } do
    it(("details of %d levels end their own check only"):format(depth), function()
      local got = run(([[
    local t = {}
    for _ = 1, %d do t = {t} end
    ctx:fail{reason = "deep", message = "m", details = t}]]):format(depth))
      assert.equal("fail", got.outcome)
      assert.equal("deep", got.reason)
    end)
  end

  it("a deadline is seen however slow the instructions are", function()
    local got = run([[for _ = 1, 1e9 do local _ = ("x"):rep(50 << 20) end]], [[timeout = "1s",]])
    assert.equal("error", got.outcome)
    assert.equal("TIMEOUT", got.code)
  end)

  it("a deadline ends a sleeping check and its defer runs", function()
    local got = run([[
    ctx:defer(function() ctx:evidence("cleaned") end)
    pcall(function() ctx:sleep("1h") end)
    return "fine"]], [[timeout = "1s",]])
    assert.equal("error", got.outcome)
    assert.equal("TIMEOUT", got.code)
    assert.same({ "cleaned" }, got.evidence)
  end)

  it("a deadline tells what was waited for, and where", function()
    local LIMIT <const> = "^the check did not end within its time limit of 1s; it was at "
    local rows = {
      { 'ctx:sleep("1h")', "ctx:sleep$", 4 },
      { [[ctx:eventually("it is so", { timeout = "1h", every = "10ms" }, function() return false, "Pend\0ing" end)]],
        'ctx:eventually "it is so", last seen: Pend ing$', 4 },
      { 'pcall(function() ctx:step("s", function()\nctx:sleep("1h") end) end)', "ctx:sleep$", 5 },
      { [[pcall(function() ctx:eventually("over", { timeout = "1h" }, function() error("x") end) end)
        ctx:sleep("1h")]], "ctx:sleep$", 5 },
      { 'ctx:all {\na = function() ctx:sleep("1h") end,\nb = function() ctx:sleep("1h") end }',
        "ctx:sleep; and 1 more side by side$", 5 },
    }
    for _, row in ipairs(rows) do
      local got = run(row[1], [[timeout = "1s",]])
      assert.equal("timeout", got.reason)
      assert.matches(LIMIT .. row[2], got.message)
      assert.equal(row[3], got.line, row[1])
    end
  end)

  it("a deadline of what only computes tells where", function()
    local got = run("while true do end", [[timeout = "200ms",]])
    assert.same({ "the check did not end within its time limit of 200ms", 4 }, { got.message, got.line })
  end)

  it("eventually passes when it becomes true and says what it saw last when not", function()
    local got = run([[
    local n = 0
    ctx:eventually("three", {timeout = "1m", every = "10ms"}, function() n = n + 1; return n == 3, n end)
    ctx:eventually("never", {timeout = "50ms", every = "10ms"}, function() return false, "1 of 2" end)]])
    assert.equal("fail", got.outcome)
    assert.equal("TIMEOUT", got.code)
    assert.equal("never-true", got.reason)
    assert.equal("never: not true after 50ms, last seen: 1 of 2", got.message)
  end)

  it("a condition that is missing is told with those that hold", function()
    local got = run([[    ctx.k8s:wait("nodes", "lyra-gpu-a", nil, "condition=Drained", { timeout = "1s" })]],
      'needs = { "wait nodes" },', { "--recording", "spec/fixtures/recordings/lyra-ok" })
    assert.equal("never-true", got.reason, got.message)
    assert.matches("last seen: no condition Drained, but Ready=True", got.message, 1, true)
  end)

  it("counts what does not fit the record and keeps the verdict", function()
    local got = run([[
    for i = 1, 5000 do ctx:evidence("line %d", i) end
    ctx:fail{reason = "late", message = "still here"}]])
    assert.equal("fail", got.outcome)
    assert.equal("late", got.reason)
  end)

  it("coverage stands in the report and --strict asks for all of it", function()
    local body = [[
    ctx:coverage{verified = 1, total = 2}
    return "1 of 2 nodes verified"]]
    local got = run(body)
    assert.equal("pass", got.outcome)
    got = run(body, nil, { "--strict" })
    assert.equal("fail", got.outcome)
    assert.equal("CONFLICT", got.code)
    assert.equal("coverage", got.reason)
  end)

  it("gives parameters by their type and refuses unknown ones", function()
    local fields = [[params = { floor = {type = "integer", default = 8}, name = {type = "string"} },]]
    local got = run([[
    ctx:expect("floor", ctx.params.floor, "==", 9)
    ctx:expect("name", ctx.params.name, "==", nil)
    return ctx.params.flor]], fields, { "--set", "floor=9" })
    assert.equal("error", got.outcome)
    assert.matches("ctx.params has no 'flor'", got.message, 1, true)
    assert.is_true(got.expectations[1].ok)
    assert.is_true(got.expectations[2].ok)
  end)

  it("gives the arguments after --", function()
    local got = run([[
    ctx:expect("args", {ctx.args[1], ctx.args[2]}, "same_list", {"a", "-x"})]], nil, { "--", "a", "-x" })
    assert.equal("pass", got.outcome, got.message)
  end)

  it("random numbers follow the seed", function()
    local one = run([[return tostring(math.random(1 << 40))]], nil, { "--seed", "7" })
    local two = run([[return tostring(math.random(1 << 40))]], nil, { "--seed", "7" })
    assert.equal(one.result, two.result)
  end)
end)
