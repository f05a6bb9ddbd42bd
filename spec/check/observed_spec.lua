-- SPDX-License-Identifier: Apache-2.0
--- A pass that nothing stands behind says so and none with --strict; a word where what was looked for was not there.
require "aicr_native"
local site = require "spec.support.site"

local TYPO <const> = '{ label = "nvidia.com/gpu.presnt=true" }'
local NODES <const> = 'needs = { "list,get nodes", "list pods", "get configmaps", "get /version" },'

local function run(body, fields, args)
  return site.with({ ["one.lua"] = site.check("one", body, fields or NODES) }, function(folder)
    local words = { folder .. "/one.lua" }
    table.move(args or {}, 1, #(args or {}), 2, words)
    local result = site.run(words)
    return result.checks.one, result
  end)
end

describe("a check that saw nothing and compared nothing", function()
  for _, row in ipairs {
    { "a list of nothing, gone through", 'for _, n in ipairs(ctx.k8s:list("nodes", ' .. TYPO .. [[)) do
      ctx:expect(n.metadata.name, n.metadata.labels.pool, "==", "h100")
    end
    return "all are in the pool"]], "found no nodes with the label nvidia.com/gpu.presnt=true" },
    { "an iterator of nothing", 'for n in ctx.k8s:each("nodes", ' .. TYPO .. [[) do ctx:fail(n) end return "fine"]],
      "found no nodes with the label nvidia.com/gpu.presnt=true" },
    { "an object that is not there", [[
    local node = ctx.k8s:find("nodes", "n99")
    if node then ctx:expect("it", node.metadata.name, "==", "n99") end
    return "n99 is well"]], "found no nodes n99" },
    { "a read that was caught", [[
    local ok, node = pcall(function() return ctx.k8s:get("nodes", "n99") end)
    if ok then ctx:expect("it", node.metadata.name, "==", "n99") end
    return "n99 is well"]], "found no nodes n99" },
    { "a read that failed and was caught", [[
    local map = ctx:try(ctx.k8s.get, ctx.k8s, "configmaps", "settings", "kube-system")
    if map then ctx:expect("it", map.data.a, "==", "b") end
    return "the settings are right"]], "could not read configmaps settings in kube-system" },
    { "two lists of nothing", [[
    for _ in ctx.k8s:each("nodes", { label = "a=b", field = "metadata.name=x" }) do error "one" end
    for _ in ctx.k8s:each("nodes", { label = "c=d" }) do error "one" end
    return "fine"]], "found no nodes with the label a=b and the field metadata.name=x (and 1 more)" },
  } do
    it("says so in its phrase, and is an error with --strict: " .. row[1], function()
      local got = run(row[2])
      assert.equal("pass", got.outcome, got.message)
      assert.matches("; .*" .. row[3]:gsub("%p", "%%%0") .. ".*, and compared nothing$", got.result)
      assert.matches("ctx:must", got.notes[#got.notes], 1, true)
      got = run(row[2], nil, { "--strict" })
      assert.equal("error", got.outcome, got.result)
      assert.equal("INTERNAL", got.code)
      assert.equal("nothing-observed", got.reason)
      assert.matches(row[3], got.message, 1, true)
      assert.matches("ctx:must", got.fix, 1, true)
    end)
  end

  it("names the command to look with as a shell reads it", function()
    local text = site.check("one", 'ctx.k8s:list("nodes", ' .. TYPO .. ') return "fine"', NODES)
    site.with({ ["it's one.lua"] = text }, function(folder)
      local result = site.run({ folder .. "/it's one.lua", "--strict" })
      local path = "'" .. folder .. "/it'\\''s one.lua'"
      assert.matches("look with: aicr%-run %-%-recording %S+ %-vv " .. path:gsub("%p", "%%%0") .. "$",
        result.checks.one.fix)
      assert.matches("aicr-run --explain " .. path .. "\n", result.stdout, 1, true)
    end)
  end)

  it("says that it asked nothing where it needs reads", function()
    local body <const> = 'if ctx.platform ~= "no" then return "not here" end return #ctx.k8s:list("nodes") .. " nodes"'
    local got = run(body)
    assert.same({ "pass", "not here" }, { got.outcome, got.result })
    assert.equal("asked the cluster nothing and compared nothing", got.notes[1])
    got = run(body, nil, { "--strict" })
    assert.same({ "error", "nothing-observed" }, { got.outcome, got.reason })
    assert.matches("asked the cluster nothing", got.message, 1, true)
    assert.matches("ctx:skip", got.fix, 1, true)
  end)

  it("says that there was none to verify", function()
    local body <const> = 'ctx.k8s:list("nodes") ctx:coverage { verified = 0, total = %d } return "fine"'
    local got = run(body:format(0))
    assert.same({ "pass", "fine; verified 0 of 0" }, { got.outcome, got.result })
    got = run(body:format(0), nil, { "--strict" })
    assert.same({ "error", "nothing-observed" }, { got.outcome, got.reason })
    got = run(body:format(2))
    assert.same({ "pass", "fine, 0 of 2 verified" }, { got.outcome, got.result })
  end)
end)

describe("a check that may pass", function()
  for _, row in ipairs {
    { "it saw something", 'return #ctx.k8s:list("nodes") .. " nodes"' },
    { "it went through something", 'for _ in ctx.k8s:each("nodes") do break end return "fine"' },
    { "it asked for the version", 'return ctx.k8s:server_version()' },
    { "it needs nothing", 'return "fine"', "" },
    { "it compared its parameter", [[ctx:expect("it", 1, "==", 1) return "fine"]] },
    { "it waited until nothing was there", [[
    ctx:eventually("gone", { timeout = "1s" }, function() return ctx.k8s:find("nodes", "n99") == nil end)
    return "gone"]] },
    { "it waited for an end", 'ctx.k8s:wait("nodes", "n99", nil, "gone") return "gone"',
      'needs = { "wait nodes" },' },
  } do
    it("passes: " .. row[1], function()
      local got = run(row[2], row[3])
      assert.equal("pass", got.outcome, got.message)
      assert.not_matches(";", got.result, 1, true)
    end)
  end

  it("says in its phrase that nothing of what it looked for was there", function()
    local got = run([[
    local bad = {}
    for n in ctx.k8s:each("nodes", ]] .. TYPO .. [[) do bad[#bad + 1] = n.metadata.name end
    ctx:expect("bad nodes", bad, "same_list", {})
    return "no bad node"]])
    assert.equal("pass", got.outcome)
    assert.equal("no bad node; found no nodes with the label nvidia.com/gpu.presnt=true", got.result)
  end)

  it("says it in a note where something else was there", function()
    local got = run([[
    ctx:expect("nodes", #ctx.k8s:list("nodes"), ">", 0)
    for n in ctx.k8s:each("nodes", ]] .. TYPO .. [[) do ctx:fail(n) end
    return "no bad node"]])
    assert.equal("pass", got.outcome)
    assert.equal("no bad node", got.result)
    assert.same({ "found no nodes with the label nvidia.com/gpu.presnt=true" }, got.notes)
  end)

  it("says which read failed and was caught", function()
    local got = run [[
    ctx:expect("nodes", #ctx.k8s:list("nodes"), ">", 0)
    pcall(ctx.k8s.get, ctx.k8s, "configmaps", "settings", "kube-system")
    return "fine"]]
    assert.equal("pass", got.outcome)
    assert.equal(1, #got.notes)
    assert.matches("could not read configmaps settings in kube-system, and went on: ", got.notes[1], 1, true)
  end)

  it("says where both sides were absent", function()
    local body <const> = [[
    for _, n in ipairs(ctx.k8s:list("nodes")) do
      ctx:expect(n.metadata.name, n.status.kernal, "==", n.status.kernal)
    end
    %s
    return "the same kernel"]]
    local got = run(body:format "")
    assert.equal("pass", got.outcome)
    assert.matches("^the same kernel; both sides absent in all %d+ comparisons$", got.result)
    got = run(body:format 'ctx:expect("it", 1, "==", 1)')
    assert.equal("the same kernel", got.result)
    assert.matches("^both sides absent in %d+ of %d+ comparisons, first: ", got.notes[1])
  end)
end)

describe("a pattern or text that is empty", function()
  for _, row in ipairs { "'a', 'matches', ''", "'a', 'contains', ''" } do
    it(row .. " is the check's slip: all texts hold it", function()
      local got = run(("ctx:expect('it', %s)"):format(row), "")
      assert.equal("error", got.outcome)
      assert.equal("script", got.reason)
    end)
  end
end)
