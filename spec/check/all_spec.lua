-- SPDX-License-Identifier: Apache-2.0
--- ctx:all, through the real program.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"

-- Runs one check whose run is `body` on the example cluster.
local function run(body, fields)
  local folder = files.folder()
  files.write(folder .. "/one.lua", ([[
return {
  name = "one", phase = "deployment", summary = "It is so",
  needs = {"list nodes", "list networks.networking.gke.io"}, %s
  run = function(ctx)
%s
  end,
}
]]):format(fields or "", body))
  local report = binary.report { "--recording", "spec/fixtures/recordings/lyra-ok", folder .. "/one.lua" }
  files.remove(folder)
  return report.checks[1]
end

describe("ctx:all", function()
  it("gives first results by key", function()
    local got = run [[
    local r = ctx:all { a = function() return 1, 2 end, [3] = function() return "x" end, n = function() end }
    ctx:expect("results", r, "==", { a = 1, [3] = "x" })]]
    assert.equal("pass", got.outcome, got.message)
  end)

  it("takes no function at all", function()
    assert.equal("pass", run [[ctx:expect("results", ctx:all {}, "==", {})]].outcome)
  end)

  it("takes 1000 functions and says of more that they are too many", function()
    local body = [[
    local many = {}
    for i = 1, %d do many[i] = function() return i end end
    ctx:must("the last", ctx:all(many)[%d], "==", %d)]]
    assert.equal("pass", run(body:format(1000, 1000, 1000)).outcome)
    assert.matches("more than 1000 functions side by side", run(body:format(1001, 1, 1)).message, 1, true)
  end)

  it("waits side by side", function()
    local got = run [[
    local t = {}
    for i = 1, 50 do t[i] = function() ctx:sleep("2s") return i end end
    local r = ctx:all(t)
    ctx:expect("last", r[50], "==", 50)]]
    assert.equal("pass", got.outcome, got.message)
    assert.is_true(got.duration_ms < 60000, got.duration_ms)
  end)

  it("reads the cluster side by side", function()
    local got = run [[
    local r = ctx:all {
      nodes = function() return #ctx.k8s:list("nodes") end,
      networks = function()
        local n = 0
        for _ in ctx.k8s:each("networks.networking.gke.io") do n = n + 1 end
        return n
      end,
    }
    ctx:expect("nodes", r.nodes, "==", 3)
    ctx:expect("networks", r.networks, "==", 9)]]
    assert.equal("pass", got.outcome, got.message)
  end)

  it("nests", function()
    local got = run [[
    local r = ctx:all {
      a = function()
        return ctx:all { b = function() ctx:sleep("1ms") return ctx:all { c = function() return 7 end } end }
      end,
    }
    ctx:expect("deep", r.a.b.c, "==", 7)]]
    assert.equal("pass", got.outcome, got.message)
  end)

  it("one error ends the others and leaves", function()
    local got = run [[
    local ok, err = pcall(function()
      ctx:all {
        a = function() ctx:sleep("1h") ctx:evidence("never") end,
        b = function() ctx:sleep("10ms") error("mine") end,
        c = function() ctx:all { function() ctx:sleep("1h") end } end,
      }
    end)
    ctx:expect("ok", ok, "==", false)
    ctx:expect("error", err, "contains", "mine")]]
    assert.equal("pass", got.outcome, got.message)
    assert.is_true(got.duration_ms < 60000)
  end)

  it("error objects keep their kind", function()
    local got = run [[ctx:all { function() ctx.k8s:list("pods") end }]]
    assert.equal("error", got.outcome)
    assert.equal("undeclared-permission", got.reason)
  end)

  it("a fail in one of them ends the check", function()
    local got = run [[
    pcall(function() ctx:all { function() ctx:fail { reason = "mine", message = "m" } end } end)
    return "fine"]]
    assert.equal("fail", got.outcome)
    assert.equal("mine", got.reason)
  end)

  it("the deadline ends all of them", function()
    local got = run([[
    pcall(function() ctx:all { function() ctx:sleep("1h") end, function() while true do ctx:sleep("10ms") end end } end)
    return "fine"]], [[timeout = "300ms",]])
    assert.equal("error", got.outcome)
    assert.equal("TIMEOUT", got.code)
  end)

  it("an endless loop in one of them meets the budget", function()
    local got = run [[ctx:all { function() while true do end end, function() ctx:sleep("1h") end }]]
    assert.equal("error", got.outcome)
    assert.equal("budget", got.reason)
  end)

  it("a yield of its own is told", function()
    local got = run [[ctx:all { function() coroutine.yield() end }]]
    assert.equal("error", got.outcome)
    assert.matches("yielded by itself", got.message, 1, true)
  end)

  it("closes what is open in the ones that it ends", function()
    local got = run [[
    pcall(function()
      ctx:all {
        function()
          local _ <close> = setmetatable({}, { __close = function() ctx:evidence("closed") end })
          ctx:sleep("1h")
        end,
        function() ctx:sleep("5ms") error("x") end,
      }
    end)
    return "fine"]]
    assert.equal("pass", got.outcome, got.message)
    assert.same({ "closed" }, got.evidence)
  end)

  it("refuses what is no function, and too many of them", function()
    assert.equal("script", run [[ctx:all { a = 1 }]].reason)
    assert.equal("script", run [[
    local t = {}
    for i = 1, 1500 do t[i] = function() end end
    ctx:all(t)]].reason)
  end)
end)
