-- SPDX-License-Identifier: Apache-2.0
--- Hostile and clumsy checks through the real program: each ends alone, as an error with its file and line, and the
--- other checks finish.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"

local HEAD <const> = [[
return {
  name = "NAME",
  phase = "deployment",
  summary = "It is so",
  run = function(ctx)
]]

-- A check whose run is `body`, which begins in line 6.
local function source(name, body)
  return HEAD:gsub("NAME", name) .. body .. "\n  end,\n}\n"
end

local rows = {
  { "returns nothing and expects nothing", "local _ = ctx", reason = "script" },
  { "returns a number", "return 5", reason = "script" },
  { "returns a table", "return {}", reason = "script" },
  { "returns false", "return false", reason = "script" },
  { "indexes nil", "local t\nreturn t.x", reason = "script", line = 7, message = "attempt to index a nil value" },
  { "raises nil", "error(nil)", reason = "script", message = "nil" },
  { "raises a table", "error({})", reason = "script", message = "table" },
  { "raises a table that lies",
    "error(setmetatable({}, {__tostring = function() error('no') end}))", reason = "script" },
  { "loops for ever", "while true do end", reason = "budget", line = 6 },
  { "loops for ever inside pcall",
    "while true do pcall(function() while true do end end) end", reason = "budget", line = 6 },
  { "loops in a coroutine of its own",
    "return coroutine.wrap(function() while true do end end)()", reason = "budget" },
  { "allocates without end", "local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1000000) .. #t end",
    reason = "memory", line = 7 },
  { "makes a huge string", "return ('x'):rep(1 << 40)", reason = "script", line = 6 },
  { "recurses without end", "local function f() return 1 + f() end\nreturn f()", reason = "script", line = 6,
    message = "stack overflow" },
  { "writes a global", "answer = 42\nreturn 'x'", reason = "script", line = 6,
    message = "a check may not set the global 'answer'" },
  { "reads an unknown global", "return tostring(answer)", reason = "script", line = 6,
    message = "no global 'answer' in a check" },
  { "reaches for io", "return io.open('/etc/passwd')", reason = "script", line = 6, message = "no global 'io'" },
  { "reaches for os", "return os.getenv('HOME')", reason = "script", line = 6, message = "no global 'os'" },
  { "reaches for debug", "return debug.traceback()", reason = "script", line = 6, message = "no global 'debug'" },
  { "loads code", "return load('return 1')()", reason = "script", line = 6, message = "no global 'load'" },
  { "dumps code", "return string.dump(function() end)", reason = "script", line = 6 },
  { "requires a private module", "return require 'aicr.native.task'", reason = "script", line = 6,
    message = "module 'aicr.native.task' is private" },
  { "requires the engine", "return require 'aicr.engine.main'", reason = "script", line = 6, message = "private" },
  { "requires what is embedded code's", "return require 'aicr.base.attempt'", reason = "script", line = 6,
    message = "module 'aicr.base.attempt' is private" },
  { "requires a path", "return require '../../etc/passwd'", reason = "script", line = 6, message = "bad module name" },
  { "requires nothing", "return require 'nothing.here'", reason = "script", line = 6,
    message = "no module 'nothing.here'" },
  { "yields by itself", "coroutine.yield()\nreturn 'x'", reason = "script", line = 6, message = "yielded by itself" },
  { "sets a field of ctx", "ctx.recipe = {}", reason = "script", line = 6, message = "ctx.recipe cannot be set" },
  { "misspells a method", "ctx:evidnce('x')", reason = "script", line = 6, message = "ctx has no 'evidnce'" },
  { "misspells a method of k8s", "ctx.k8s:lst('nodes')", reason = "script", line = 6,
    message = "ctx.k8s has no 'lst'" },
  { "changes the environment's metatable", "setmetatable(_G, {})\nreturn 'x'", reason = "script", line = 6,
    message = "protected metatable" },
  { "sets a finalizer", "setmetatable({}, {__gc = function() while true do end end})\nreturn 'x'", reason = "script",
    line = 6, message = "a check may not use __gc" },
  { "loops in __close", "local x <close> = setmetatable({}, {__close = function() while true do end end})\nreturn 'x'",
    reason = "budget" },
  { "skips without a reason", "ctx:skip{message = 'x'}", reason = "script", line = 6, message = "reason must be" },
  { "fails with an unknown code", "ctx:fail{code = 'BAD', reason = 'x', message = 'x'}", reason = "script",
    line = 6, message = "unknown code" },
  { "fails with an unknown field", "ctx:fail{mesage = 'x', reason = 'x'}", reason = "script", line = 6,
    message = "did you mean 'message'" },
  { "fails with a field like none", "ctx:skip{xyz = 'x', reason = 'x'}", reason = "script", line = 6,
    message = "unknown field 'xyz'; expected one of: message, reason" },
  { "fails with a text", [[ctx:fail('1 "x"')]], reason = "script", line = 6,
    message = [[ctx:fail takes a table, got string: write ctx:fail { reason = "a-word", message = "1 \"x\"" }]] },
  { "skips with a text", "ctx:skip('not here')", reason = "script", line = 6,
    message = 'ctx:skip takes a table, got string: write ctx:skip { reason = "a-word", message = "not here" }' },
  { "skips with nothing", "ctx:skip()", reason = "script", line = 6,
    message = 'ctx:skip takes a table, got nothing: write ctx:skip { reason = "a-word", message = "what was seen" }' },
  { "uses an unknown operator", "ctx:expect('x', 1, '=', 1)", reason = "script", line = 6,
    message = [[row-%02d.lua:6: ctx:expect: unknown operator "=": ==]] },
  { "compares text with a number", "ctx:expect('x', '8', '>=', 8)", reason = "script", line = 6,
    message = [[row-%02d.lua:6: expect: "8" >= 8 compares text]] },
  { "calls a list as an iterator", "for _ in require('aicr.json').decode('[1]') do end", reason = "script", line = 6,
    message = "row-%02d.lua:6: a list is no iterator: write for _, item in ipairs(LIST) do" },
  { "a method that ctx nearly has", "ctx:expct('x', 1, '==', 1)", reason = "script", line = 6,
    message = "ctx has no 'expct'; did you mean 'expect'?" },
  { "a method that ctx.k8s nearly has", "ctx.k8s:sever_version()", reason = "script", line = 6,
    message = "ctx.k8s has no 'sever_version'; did you mean 'server_version'?" },
  { "a primitive in a coroutine of its own",
    "return coroutine.wrap(function() ctx:sleep('1ms') end)()", reason = "script", line = 6,
    message = "must be called by the check itself" },
  { "catches its own stop and goes on",
    "pcall(function() ctx:fail{reason = 'mine', message = 'm'} end)\nreturn 'fine'",
    outcome = "fail", reason = "mine", code = "CONFLICT" },
  { "catches its own skip and passes on purpose",
    "pcall(function() ctx:skip{reason = 'mine', message = 'm'} end)\nreturn 'fine'",
    outcome = "skip", reason = "mine" },
  { "a false expectation is caught and forgotten",
    "pcall(function() ctx:must('x', 1, '==', 2) end)\nreturn 'fine'",
    outcome = "fail", reason = "expectation", code = "CONFLICT" },
  { "an error after a false expectation",
    "ctx:expect('x', 1, '==', 2)\nerror('late')", outcome = "fail", reason = "expectation", code = "CONFLICT" },
  { "changes string for itself only", "string.format = function() return 'x' end\nreturn ('%d'):format(3)",
    outcome = "pass" },
  { "prints", "print('hello')\nreturn 'x'", outcome = "pass" },
}

describe("a check in the sandbox", function()
  local folder, report

  setup(function()
    folder = files.folder()
    for i, row in ipairs(rows) do
      local name = ("row-%02d"):format(i)
      files.write(("%s/%s.lua"):format(folder, name), source(name, row[2]))
    end
    files.write(folder .. "/zz-neighbour.lua", source("zz-neighbour", "return 'still here'"))
    report = binary.report { folder }
  end)

  teardown(function()
    files.remove(folder)
  end)

  for i, row in ipairs(rows) do
    it(row[1], function()
      local got = binary.check(report, ("row-%02d"):format(i))
      assert.equal(row.outcome or "error", got.outcome, got.message)
      assert.equal(row.reason, got.reason, got.message)
      if not row.outcome then
        assert.equal("INTERNAL", got.code)
        assert.matches("row%-%d%d%.lua$", got.file)
      end
      if row.code then
        assert.equal(row.code, got.code)
      end
      if row.line then
        assert.equal(row.line, got.line, got.message)
      end
      if row.message then
        assert.truthy(got.message:find((row.message:gsub("%%02d", ("%02d"):format(i))), 1, true), got.message)
      end
    end)
  end

  it("leaves its neighbours alone", function()
    local got = binary.check(report, "zz-neighbour")
    assert.equal("pass", got.outcome)
    assert.equal("still here", got.result)
    assert.equal(1, report.exit)
  end)
end)
