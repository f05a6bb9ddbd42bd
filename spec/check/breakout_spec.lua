-- SPDX-License-Identifier: Apache-2.0
--- Attempts to leave the sandbox, to hang a run, to leave something behind and to get a pass that was not earned,
--- through the real program: many checks in few runs, and an honest neighbour in each whose result must not change.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local lom = require "lxp.lom"

local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"

local HEAD <const> = [[
return { name = "NAME", phase = "deployment", summary = "It is so", NEEDS
  run = function(ctx)
]]
local NEIGHBOUR <const> = [[
return { name = "zz-neighbour", phase = "deployment", summary = "It is so", needs = { "list nodes" },
  run = function(ctx)
    ctx:sleep("20ms")
    ctx:must("nodes", #ctx.k8s:list("nodes"), "==", 3)
    return "three nodes, " .. ctx.k8s:server_version() .. (" %d"):format(2)
  end }
]]

-- A check whose run is `body`, which begins in line 3.
local function source(name, body, needs)
  return (HEAD:gsub("%u%u%u%u%u?", { NAME = name, NEEDS = ("needs = { %s },"):format(needs or '"list nodes"') }))
    .. body .. "\n  end }\n"
end

-- Runs all rows in one run.
local function run_rows(folder, rows)
  local words = { "--recording", RECORDING }
  for i, row in ipairs(rows) do
    row.name = ("row-%02d"):format(i)
    words[#words + 1] = ("%s/%s.lua"):format(folder, row.name)
    files.write(words[#words], source(row.name, row[2], row.needs))
  end
  files.write(folder .. "/zz-neighbour.lua", NEIGHBOUR)
  words[#words + 1] = folder .. "/zz-neighbour.lua"
  return binary.report(words)
end

local function expect_row(report, row)
  local got = binary.check(report, row.name)
  local said = tostring(got.message or got.result):sub(1, 400)
  assert.equal(row.outcome or "error", got.outcome, said)
  if row.outcome ~= "pass" then
    assert.equal(row.reason or "script", got.reason, said)
  end
  for _, words in ipairs(row.says or {}) do
    assert.truthy(said:find(words, 1, true), said)
  end
end

local function catalogue(what, rows, beside)
  describe(what, function()
    local folder, report

    setup(function()
      folder = files.folder()
      if beside then
        beside(folder)
      end
      report = run_rows(folder, rows)
    end)

    teardown(function()
      files.remove(folder)
    end)

    for _, row in ipairs(rows) do
      it(row[1], function()
        expect_row(report, row)
      end)
    end

    it("leaves its neighbour alone, and the run its exit code", function()
      local got = binary.check(report, "zz-neighbour")
      assert.equal("pass", got.outcome, got.message)
      assert.equal("three nodes, v1.32.6-gke.1013000 2", got.result)
      local worst = 0
      for _, row in ipairs(rows) do
        worst = row.outcome == "fail" and 1 or worst == 0 and (row.outcome or "error") == "error" and 3 or worst
      end
      assert.equal(worst, report.exit)
      assert.equal(#rows + 1, #report.checks)
    end)
  end)
end

-- Every method, by its name, on what is not its object.
local selves = {}

-- The names of the methods of ctx and of ctx.k8s, where they are listed.
local CTX_SOURCE <const> = files.read "lua/aicr/ctx.lua"
local function listed(block, pattern, more)
  local names = more
  for name in assert(CTX_SOURCE:match(block), block):gmatch(pattern) do
    names[#names + 1] = name
  end
  assert(#names > 8)
  return names
end

local function foreign(object, method)
  selves[#selves + 1] = {
    ("%s.%s on a foreign self"):format(object, method),
    ([[
    local liar = setmetatable({}, { __eq = function() return true end, __index = %s })
    local wrong = {}
    for _, self in ipairs { {}, liar, "text", 7, true, %s, print, coroutine.create(print) } do
      local ok, err = pcall(%s.%s, self, "nodes", "lyra-gpu-a")
      local says = tostring(err)
      if ok or not says:find("bad argument #1 to '%s:%s' (%s expected, got", 1, true) then
        wrong[#wrong + 1] = type(self) .. ": " .. says
      end
    end
    assert(not pcall(%s.%s))
    ctx:expect("refused", table.concat(wrong, "; "), "==", "")
    return "all refused"]]):format(object, object == "ctx" and "ctx.k8s" or "ctx", object, method, object, method,
      object, object, method),
    outcome = "pass",
  }
end

for _, method in ipairs(listed("\nlocal K8S_METHODS <const> = (%b{})", "([%w_]+) = [A-Z]",
  { "get", "find", "list", "each" })) do
  foreign("ctx.k8s", method)
end
for _, method in ipairs(listed("\nlocal METHODS <const> = (%b{})", "([%w_]+) = [A-Z]", { "defer" })) do
  foreign("ctx", method)
end

catalogue("a method called on a foreign self", selves)

catalogue("leaving the sandbox", {
  { "names that are not there", [[
    local found = {}
    for _, name in ipairs { "io", "os", "debug", "package", "load", "loadstring", "loadfile", "dofile",
      "collectgarbage", "getfenv", "setfenv", "module", "newproxy", "arg", "_LOADED", "unpack" } do
      if pcall(function() return _G[name] end) then found[#found + 1] = name end
    end
    ctx:expect("found", table.concat(found, " "), "==", "")
    ctx:expect("dump", string.dump, "==", nil)
    return "nothing there"]], outcome = "pass" },
  { "rawset puts nothing in the place of a library's functions", [[
    for _, name in ipairs { "error", "pcall", "type", "tostring", "next", "rawequal", "setmetatable", "select",
      "string", "table", "math", "require", "ipairs", "pairs" } do
      rawset(_G, name, function() return true end)
    end
    ctx:fail { reason = "mine", message = "still told" }]], outcome = "fail", reason = "mine",
    says = { "still told" } },
  { "an _ENV of its own reaches nothing more", [[
    local _ENV = setmetatable({ ctx = ctx, pcall = pcall }, { __index = function(_, k) return k end })
    ctx:expect("io", io, "==", "io")
    return "own"]], outcome = "pass" },
  { "the environment's upvalue replaced", [[
    _ENV = { ctx = ctx }
    ctx:must("print", print, "==", nil)
    return "own"]], outcome = "pass" },
  { "the metatable of the globals", [[
    ctx:expect("metatable", getmetatable(_G), "==", "aicr.globals")
    return setmetatable(_G, {})]], says = { "protected metatable" } },
  { "the metatable of strings", [[
    ctx:expect("metatable", getmetatable(""), "==", false)
    getmetatable("").__index = nil]], says = { "attempt to index a boolean value" } },
  { "methods of strings replaced", [[
    for name in pairs(string) do string[name] = function() return "forged" end end
    ctx:fail { reason = "mine", message = ("%d of %d"):format(1, 2) }]], outcome = "fail", reason = "mine",
    says = { "1 of 2" } },
  { "tables of the library emptied", [[
    for _, t in ipairs { string, table, math, utf8, coroutine } do
      for name in pairs(t) do t[name] = nil end
    end
    ctx:expect("nodes", #ctx.k8s:list("nodes", { label = "a!=b" }), "==", 4)]], outcome = "fail",
    reason = "expectation", says = { "got 3, required == 4" } },
  { "metatables of ctx, ctx.k8s, an iteration and an error", [[
    local _, _, _, box = ctx.k8s:each("nodes")
    local ok, err = pcall(ctx.k8s.get, ctx.k8s, "nodes", "none")
    for _, v in ipairs { ctx, ctx.k8s, ctx.params, box, err } do
      ctx:expect("metatable", type(getmetatable(v)), "==", "string")
      if type(v) == "table" then
        ctx:expect("set", pcall(setmetatable, v, {}), "==", false)
      end
    end
    return "all protected"]], outcome = "pass", needs = '"list nodes", "get nodes"' },
  { "functions of the iteration's object on another", [[
    local _, _, _, box = ctx.k8s:each("nodes")
    for _, self in ipairs { ctx, "x", {}, print } do
      ctx:expect("close", pcall(box.close, self), "==", false)
    end
    box:close() box:close()
    return "refused"]], outcome = "pass" },
  { "bytecode and load through other names", [[
    for _, f in ipairs { "load", "loadstring" } do
      ctx:expect(f, rawget(_G, f), "==", nil)
    end
    for _, t in ipairs { string, table, utf8, coroutine, math } do
      ctx:expect("load", rawget(t, "load") or rawget(t, "dump"), "==", nil)
    end
    return "none"]], outcome = "pass" },
  { "a finalizer under another name", [[
    local mt = {}
    local t = setmetatable({}, mt)
    mt.__gc = function() while true do end end
    t = nil
    for _ = 1, 50 do local _ = ("x"):rep(1000000) end
    return "not called"]], outcome = "pass" },
  { "the check's own coroutine", [[
    local co, main = coroutine.running()
    ctx:expect("thread", co, "==", nil)
    ctx:expect("main", main, "==", true)
    local inner = coroutine.wrap(function() return coroutine.running() end)()
    ctx:expect("inner", type(inner), "==", "thread")
    return "hidden"]], outcome = "pass" },
})

catalogue("require", {
  { "private modules", [[
    local open = {}
    for _, name in ipairs { "aicr.native", "aicr.native.task", "aicr.native.k8s", "aicr.native.error", "aicr.task",
      "aicr.task.describe", "aicr.ctx", "aicr.ctx.compare", "aicr.ctx.kept", "aicr.engine.main", "aicr.report.human",
      "aicr" } do
      if pcall(require, name) then open[#open + 1] = name end
    end
    ctx:expect("open", table.concat(open, " "), "==", "")
    return "all private"]], outcome = "pass" },
  { "names that are no names", [[
    local open = {}
    for _, name in ipairs { "", ".", "..", "../outside", "...", "a..b", ".a", "a.", "/etc/passwd", "a/../../outside",
      "a\\b", "aicr/json", "aicr.json.", "aicr..json", "_G", "package", "string", "io", "\0", "good\0",
      "good\0/../../x",
      "aicr.json\0", "aicr.native.task\0", ("a"):rep(5000), ("a."):rep(90) .. "a", "no-such", "row-01.lua", "linked",
      "folder.good", "broken", "endless_link" } do
      local ok, got = pcall(require, name)
      if ok then open[#open + 1] = ("%q %s"):format(name, tostring(got)) end
    end
    ctx:expect("open", table.concat(open, "; "), "==", "")
    return "all refused"]], outcome = "pass" },
  { "values that are no names", [[
    for _, name in ipairs { {}, true, print, setmetatable({}, { __tostring = function() return "good" end }) } do
      ctx:expect(type(name), pcall(require, name), "==", false)
    end
    ctx:expect("nothing", pcall(require), "==", false)
    return "refused"]], outcome = "pass" },
  { "a file of its own in the place of a library", [[
    ctx:expect("decode", type(require("aicr.json").decode), "==", "function")
    ctx:expect("verify", type(require("aicr.verify").require), "==", "function")
    return "embedded"]], outcome = "pass" },
  { "a module that changes libraries", [[
    require "tamper"
    ctx:fail { reason = "mine", message = require("aicr.json").encode({}) }]], outcome = "fail", reason = "mine",
    says = { "forged" } },
  { "what a module of another check left (first)", [[
    local kept = require "kept"
    ctx:expect("ctx", kept.ctx, "==", nil)
    kept.ctx, kept.n = ctx, (kept.n or 0) + 1
    ctx:sleep("10ms")
    ctx:expect("n", require("kept").n, "==", 1)
    return "fresh"]], outcome = "pass" },
  { "what a module of another check left (second)", [[
    local kept = require "kept"
    ctx:expect("ctx", kept.ctx, "==", nil)
    kept.ctx, kept.n = ctx, (kept.n or 0) + 1
    ctx:sleep("10ms")
    ctx:expect("n", require("kept").n, "==", 1)
    return "fresh"]], outcome = "pass" },
  { "a module that fails the first time", [[
    ctx:expect("first", pcall(require, "moody"), "==", false)
    ctx:expect("again", pcall(require, "moody"), "==", false)
    return "not half loaded"]], outcome = "pass" },
}, function(folder)
  for name, text in pairs {
    ["good.lua"] = "return {}", ["aicr/json.lua"] = "return { decode = 1 }", ["aicr/verify.lua"] = "return {}",
    ["kept.lua"] = "return {}", ["moody.lua"] = "error('not now')",
    ["tamper.lua"] = "local json = require 'aicr.json' json.encode = function() return 'forged' end return json",
  } do
    files.write(folder .. "/" .. name, text)
  end
  assert(os.execute(("cd %s && ln -s /etc/passwd linked.lua && ln -s . folder && ln -s no-such broken.lua"
    .. " && ln -s endless_link.lua endless_link.lua"):format(files.quote(folder))))
end)

catalogue("coroutines and endings", {
  { "a primitive wrapped itself", [[return coroutine.wrap(ctx.sleep)(ctx, "1ms")]],
    says = { "must be called by the check itself" } },
  { "a primitive through pcall and metamethods of its own", [[
    local t = setmetatable({}, { __index = function() ctx:sleep("1ms") return "slept" end })
    ctx:expect("slept", t.x, "==", "slept")
    return "fine"]], outcome = "pass" },
  { "an iteration finished by a coroutine", [[
    local next_node = ctx.k8s:each("nodes")
    return coroutine.wrap(function() return next_node().metadata.name end)()]],
    says = { "must be called by the check itself" } },
  { "an iteration closed while another function waits for it", [[
    local next_node, _, _, box = ctx.k8s:each("nodes")
    ctx:all { a = function() next_node() next_node() end, b = function() box:close() end }
    return "went on"]], says = { "this iteration is over" } },
  { "one iteration in many functions", [[
    local next_node = ctx.k8s:each("nodes")
    local n, all = 0, {}
    for i = 1, 20 do all[i] = function() for _ in next_node do n = n + 1 end end end
    pcall(ctx.all, ctx, all)
    ctx:expect("nodes", n, "==", 3)
    return "three"]], outcome = "pass" },
  { "fail, skip and pass in one", [[
    pcall(ctx.skip, ctx, { reason = "not-here", message = "m" })
    pcall(ctx.fail, ctx, { reason = "mine", message = "m" })
    return "fine"]], outcome = "fail", reason = "mine" },
  { "a fail in a coroutine that is dropped", [[
    coroutine.resume(coroutine.create(function() ctx:fail { reason = "mine", message = "m" } end))
    return "fine"]], outcome = "fail", reason = "mine" },
  { "a fail in a coroutine that closes", [[
    local co = coroutine.create(function()
      local _ <close> = setmetatable({}, { __close = function() ctx:fail { reason = "mine", message = "m" } end })
      coroutine.yield()
    end)
    coroutine.resume(co)
    coroutine.close(co)
    return "fine"]], outcome = "fail", reason = "mine" },
  { "a fail in every handler", [[
    xpcall(error, function() ctx:fail { reason = "mine", message = "m" } end)
    return "fine"]], outcome = "fail", reason = "mine" },
  { "a fail in gsub, in sort, in tostring", [[
    pcall(string.gsub, "x", "x", function() ctx:expect("in gsub", 1, "==", 2) end)
    pcall(table.sort, { 2, 1 }, function() ctx:fail { reason = "mine", message = "m" } end)
    return "fine"]], outcome = "fail", reason = "expectation" },
  { "the value that ends a check, raised again", [[
    local _, stop = pcall(ctx.skip, ctx, { reason = "not-here", message = "m" })
    error(stop, 0)]], outcome = "skip", reason = "not-here" },
  { "ctx:try round an ending", [[
    ctx:try(function() ctx:fail { reason = "mine", message = "m" } end)
    return "fine"]], outcome = "fail", reason = "mine" },
  { "a fail in ctx:all beside one that never ends", [[
    pcall(ctx.all, ctx, { a = function() while true do ctx:sleep("1h") end end,
      b = function() ctx:fail { reason = "mine", message = "m" } end })
    return "fine"]], outcome = "fail", reason = "mine" },
  { "a fail in clean-up", [[
    ctx:defer(function() ctx:fail { reason = "mine", message = "m" } end)
    return "fine"]], outcome = "fail", reason = "mine" },
  { "clean-up that makes clean-up", [[
    local n = 0
    local function again() n = n + 1 if n < 50 then ctx:defer(again) else error("fifty") end end
    ctx:defer(again)
    return "fine"]], reason = "cleanup", says = { "fifty" } },
})

catalogue("a pass that was not earned", {
  { "an empty phrase", [[return ""]], says = { "an empty phrase" } },
  { "a phrase of blanks", [[return " \n\t "]], says = { "an empty phrase" } },
  { "nothing expected, nothing returned", [[local _ = ctx]], says = { "returned nothing" } },
  { "values that are no phrase", [[return setmetatable({}, { __tostring = function() return "fine" end })]],
    says = { "returned a table" } },
  { "a liar's ==", [[
    local liar = setmetatable({}, { __eq = function() return true end })
    ctx:expect("liar", liar, "==", setmetatable({ 1 }, getmetatable(liar)))
    return "fine"]], outcome = "fail", reason = "expectation" },
  { "a liar's < and length", [[
    local liar = setmetatable({}, { __lt = function() return true end, __le = function() return true end,
      __len = function() return 9 end })
    ctx:expect("liar", liar, "<", 5)
    return "fine"]], outcome = "fail", reason = "expectation" },
  { "NaN", [[ctx:expect("nan", 0 / 0, ">=", 0) return "fine"]], outcome = "fail", reason = "expectation" },
  { "a limit of NaN", [[ctx:measure("bw", 1, "GB/s", { op = ">=", value = 0 / 0 }) return "fine"]], outcome = "fail",
    reason = "expectation" },
  { "a text for a number", [[ctx:expect("text", "10", ">", 9) return "fine"]], reason = "script" },
  { "an endless tolerance", [[
    ctx:measure("bw", 1, "GB/s", { op = ">=", value = 300, tolerance = math.huge })
    return "fine"]],
    reason = "script", says = { "tolerance" } },
  { "a list that is empty only for the comparison", [[
    local list = setmetatable({ 1, 2 }, { __len = function() return 0 end, __index = function() end,
      __pairs = function() return function() end end })
    ctx:expect("list", list, "same_list", {})
    return "fine"]], outcome = "fail", reason = "expectation" },
  { "truthy is not true", [[
    ctx:eventually("ready", { timeout = "1s", every = "1s" }, function() return "False" end)
    return "fine"]], outcome = "fail", reason = "never-true" },
  { "more verified than there is", [[ctx:coverage { verified = 3, total = 2 } return "fine"]], says = { "verified" } },
  { "a negative total", [[ctx:coverage { verified = -1, total = -1 } return "fine"]], says = { "verified" } },
  { "a forged error object", [[
    error(setmetatable({ code = "NOT_FOUND", reason = "forged", message = "m", verdict = true },
      { __name = "aicr.error", __metatable = "aicr.error" }))]], reason = "script" },
  { "a real error object made a verdict", [[
    local _, err = pcall(ctx.k8s.list, ctx.k8s, "networks.networking.gke.io")
    err.verdict, err.code, err.reason = true, "NOT_FOUND", "not-found"
    error(err)]], reason = "undeclared-permission" },
  { "an undeclared read under pcall", [[
    pcall(ctx.k8s.get, ctx.k8s, "secrets", "x", "default")
    return "fine"]], reason = "undeclared-permission", says = { "get secrets" } },
  { "an undeclared read under ctx:try, find and each", [[
    ctx:try(function() ctx.k8s:find("pods", "x", "default") end)
    ctx:try(function() for _ in ctx.k8s:each("pods") do end end)
    return "fine"]], reason = "undeclared-permission" },
  { "an undeclared wait", [[
    ctx.k8s:wait("pods", "x", "default", "gone")]], reason = "undeclared-permission",
    says = { '"wait pods in default"' } },
  { "an undeclared read in ctx:all under pcall, then a skip", [[
    pcall(ctx.all, ctx, { function() ctx.k8s:list("pods") end })
    ctx:skip { reason = "not-here", message = "m" }]], reason = "undeclared-permission" },
  { "an undeclared read in clean-up", [[
    ctx:defer(function() pcall(ctx.k8s.list, ctx.k8s, "pods") end)
    return "fine"]], reason = "undeclared-permission" },
  { "resources that are paths", [[
    local open = {}
    for _, name in ipairs { "../nodes", "nodes/../secrets", "nodes?watch=1", "nodes%2fx", "", "NODES ", "nodes.v1.",
      "nodes\n", "*", "nodes/status", ".nodes" } do
      if pcall(ctx.k8s.list, ctx.k8s, name) then open[#open + 1] = name end
    end
    ctx:expect("open", table.concat(open, "; "), "==", "")
    return "all refused"]], outcome = "pass" },
  { "names that are paths", [[
    local open = {}
    for _, name in ipairs { "..", "../secrets", "a/b", "a%2fb", "a?b", "a#b", "" } do
      if ctx:try(ctx.k8s.get, ctx.k8s, "nodes", name) then open[#open + 1] = name end
    end
    ctx:expect("open", table.concat(open, "; "), "==", "")
    return "none is there"]], outcome = "pass", needs = '"get nodes"' },
  { "needs that are widened afterwards", [[
    return #ctx.k8s:list("pods")]], reason = "undeclared-permission",
    needs = 'coroutine.isyieldable() and "list pods" or "list nodes"' },
})

-- What steers a terminal or reorders a line, and what XML cannot hold.
local STEER <const> = "\\27[2J\\27]0;owned\\7\\194\\155" .. "31m\\u{202e}\\u{2066}\\u{200f}\\8\\r\\0\\xff]]>&"
  .. "<![CDATA[<x y='\\\"'>"
local RAW <const> = { "\27", "\7", "\8", "\r", "\0", "\u{9b}", "\u{202e}", "\u{2066}", "\u{200f}", "\xff" }

describe("hostile text", function()
  local folder, runs = nil, {}

  setup(function()
    folder = files.folder()
    local fields = ('name = "NAME", phase = "deployment", summary = "\\u{202e}]]>&<", doc = S .. "doc\\n" .. S,\n'
      .. '  fixes = { ["mine"] = S .. "fix" },\n'
      .. '  params = { p = { type = "string", default = S .. "p", help = S .. "help" } },\n')
    local body = [[
    ctx:progress("%s", S) ctx:evidence("%s", S .. "evidence") print(S .. "printed") warn(S, "warned\n", S)
    ctx:step("step" .. S, function() end) ctx:extra { ["k" .. S] = S } ctx:attach("a" .. S, S, S)
    ctx:measure("m" .. S, 1, S) ctx:series("s" .. S, S, S, { { S, 1 } })
    ctx:expect("e" .. S, S, "==", S, { key = S, unit = S })
]]
    local endings = {
      ["text-fail"] = "ctx:fail { reason = 'mine', message = S .. 'm', why = S, fix = S, details = { [S] = S,"
        .. " diff = { key = S, left = S, right = S, rows = { { k = S, l = S, r = 'x' } } } } }",
      ["text-skip"] = "ctx:skip { reason = 'mine', message = S .. 'm' }",
      ["text-error"] = "error(S .. 'm')",
      ["text-object"] = "local _, err = pcall(ctx.k8s.get, ctx.k8s, 'nodes', 'none')"
        .. " err.message, err.reason, err.code = S, S, S err.details = { [S] = S } error(err)",
      ["text-cleanup"] = "ctx:defer(function() error(S .. 'cleanup') end) return S .. 'result'",
      ["text-pass"] = "return S .. 'result' .. '\\u{fffe}\\u{ffff}'",
    }
    for name, ending in pairs(endings) do
      files.write(("%s/%s.lua"):format(folder, name), ('local S <const> = "%s"\n'
        .. "return { needs = { 'get nodes' }, %s\n  run = function(ctx)\n%s    %s\n  end }\n"):format(STEER,
        (fields:gsub("NAME", name)), body, ending))
    end
    local function run(name, ...)
      runs[name] = binary.run { "--recording", RECORDING, folder .. "/", ... }
    end
    run("human", "--verbose", "-o", folder .. "/x.xml", "-o", folder .. "/x.json")
    run("junit", "-f", "junit")
    run("json", "-f", "json")
    run("--explain", "--explain")
    run("--list", "--list")
    run("--dry-run", "--dry-run")
  end)

  teardown(function()
    files.remove(folder)
  end)

  for _, name in ipairs { "human", "junit", "json", "--explain", "--list", "--dry-run" } do
    it("reaches nobody raw in " .. name, function()
      local result, machine = runs[name], name == "json" or name == "junit"
      assert.equal(name:find "^%-%-" and 0 or 1, result.code, result.stderr)
      for what, output in pairs { stdout = result.stdout, stderr = result.stderr } do
        for _, bytes in ipairs(RAW) do
          -- Machines read what only reorders a line as it is.
          if not (machine and what == "stdout" and bytes:find "^\xe2") then
            local at = output:find(bytes, 1, true)
            assert.is_nil(at, at and ("%s of %s: %q"):format(what, name, output:sub(math.max(at - 60, 1), at + 20)))
          end
        end
      end
      assert.truthy(name:find "^%-%-" or result.stdout:find("m", 1, true))
    end)
  end

  it("leaves the reports well formed, and their words readable", function()
    for _, text in ipairs { runs.junit.stdout, files.read(folder .. "/x.xml") } do
      local tree = assert(lom.parse(text))
      assert.equal("testsuites", tree.tag)
      assert.is_nil(text:find "\xef\xbf[\xbe\xbf]", "XML has no such characters")
    end
    for _, text in ipairs { runs.json.stdout, files.read(folder .. "/x.json") } do
      assert.truthy(utf8.len(text))
      local got = binary.check(json.decode(text), "text-pass")
      assert.truthy(got.result:find("]]>&<![CDATA[", 1, true))
    end
    local outcomes = {}
    for _, check in ipairs(json.decode(runs.json.stdout).checks) do
      outcomes[#outcomes + 1] = check.name .. " " .. check.outcome
    end
    table.sort(outcomes)
    assert.same({ "text-cleanup error", "text-error error", "text-fail fail", "text-object error", "text-pass pass",
      "text-skip skip" }, outcomes)
  end)
end)

describe("a recording that names other files", function()
  local LINE <const> = '{"group":"","version":"v1","resource":"nodes","verb":"list","http":200,'
    .. '"contentType":"application/json","file":"%s"}\n'
  local CANARY <const> = '{"apiVersion":"v1","kind":"NodeList","metadata":{},"items":[{"metadata":{"name":"canary"}}]}'

  for _, name in ipairs { "../canary.json", "/etc/passwd", "a/../../canary.json", "a/./../../canary.json", "link.json",
    "linked/canary.json", "./../canary.json", "..", "", "a\\u0000", "objects/../../canary.json" } do
    it(("%q discloses nothing"):format(name), function()
      local folder = files.folder()
      files.write(folder .. "/canary.json", CANARY)
      files.write(folder .. "/c.lua", source("c", "return ctx.k8s:list('nodes')[1].metadata.name"))
      files.write(folder .. "/rec/index.jsonl", LINE:format(name))
      files.write(folder .. "/rec/a/x", "")
      assert(os.execute(("cd %s && ln -s ../canary.json link.json && ln -s .. linked"):format(
        files.quote(folder .. "/rec"))))
      local result = binary.run { "--recording", folder .. "/rec", folder .. "/c.lua", "-f", "json" }
      files.remove(folder)
      assert.not_equal(0, result.code)
      for _, text in ipairs { result.stdout, result.stderr } do
        assert.is_nil(text:find('"canary"', 1, true) or text:find("root:", 1, true), text)
      end
      assert.matches("fix", result.stderr .. result.stdout, 1, true)
    end)
  end
end)

describe("a run", function()
  it("leaves no file and no process behind, whatever its checks do", function()
    local folder = files.folder()
    local mark = "AICR_BREAKOUT=" .. folder
    local endings = { "error('x')", "while true do end", "ctx:fail { reason = 'x', message = 'm' }",
      "ctx:defer(function() error('left') end) return 'fine'", "ctx:sleep('1h')", "ctx.k8s:list('pods')",
      "local t = {} while true do t[#t + 1] = ('x'):rep(1 << 20) .. #t end",
      "ctx:attach('../x', 'y', 'z') return 'fine'",
      "for o in ctx.k8s:each('nodes') do return o.metadata.name end" }
    for i, ending in ipairs(endings) do
      files.write(("%s/checks/c%d.lua"):format(folder, i),
        (source("c" .. i, ending):gsub("needs", 'timeout = "300ms", needs', 1)))
    end
    files.write(folder .. "/tmp/keep", "")
    local result = binary.run({ "--recording", RECORDING, folder .. "/checks/", "--retry", "1" },
      { env = { TMPDIR = folder .. "/tmp", AICR_BREAKOUT = folder } })
    assert.equal(1, result.code, result.stderr)
    local pipe = assert(io.popen(("cd %s && find . -type f | grep -av '^./checks/c'; "
      .. "grep -lasz %s /proc/[0-9]*/environ; true"):format(files.quote(folder), files.quote("^" .. mark .. "$"))))
    assert.equal("./tmp/keep\n", pipe:read "a")
    pipe:close()
    files.remove(folder)
  end)
end)
