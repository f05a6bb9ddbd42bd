-- SPDX-License-Identifier: Apache-2.0
-- ctx.k8s:exec before anything is sent: its arguments, its permission, a recording. Commands run in
-- spec/cluster/exec_spec.lua.
require "aicr_native"
local json = require "aicr.json"
local site = require "spec.support.site"

local NUL <const> = '"a\\0b"'
local ARGUMENTS <const> = {
  { '"p", "n"', "the command must be a list of words such as { \"cat\", \"/etc/hostname\" }, got nil" },
  { '"p", "n", "true"', "got string" },
  { '"p", "n", {}', "the command has no first word" },
  { '"p", "n", { "" }', "the command has no first word" },
  { '"p", "n", { "a", 7 }', "word 2 of the command must be a string without NUL, got number" },
  { '"p", "n", { ' .. NUL .. " }", "word 1 of the command must be a string without NUL" },
  { '"p", "n", { "a", stdin = "x" }', "the command must be a list of words, it also has [stdin]" },
  { '"p", "n", { "a", nil, "b" }', "the command must" },
  { 'nil, "n", { "a" }', "the name must be a string, got nil" },
  { '"p", 7, { "a" }', "the namespace must be a string, got number" },
  { '"p", "n", { "a" }, { stdin = 7 }', "option 'stdin' must be a string, got number" },
  { '"p", "n", { "a" }, { tty = true }', "unknown option 'tty'" },
  { '"p", "n", { "a" }, { timeout = "soon" }', "soon" },
  { '"p", "n", { "a" }, "c"', "the options must be a table, got string" },
}

local function run(body, needs)
  return site.with({ ["c.lua"] = site.check("c", body, ("needs = { %s },"):format(needs)) }, function(folder)
    return site.run { folder .. "/c.lua" }.checks.c
  end)
end

describe("ctx.k8s:exec refuses", function()
  local lines = {}
  for i, row in ipairs(ARGUMENTS) do
    lines[i] = ("say(%d, pcall(ctx.k8s.exec, ctx.k8s, %s))"):format(i, row[1])
  end
  local got = run([[
    local function say(n, ok, err)
      ctx:extra { ["m" .. n] = tostring(ok) .. " " .. tostring(err) }
    end
    ]] .. table.concat(lines, "\n    ") .. '\n    return "all asked"', '"exec pods anywhere"')

  for i, row in ipairs(ARGUMENTS) do
    it(row[1], function()
      assert.equal("pass", got.outcome, got.message)
      local says = got.extra["m" .. i]
      assert.equal("false ", says:sub(1, 6))
      assert.truthy(says:find(row[2], 1, true), says)
      assert.truthy(says:find("ctx.k8s:exec", 1, true) or row[2] == "soon", says)
    end)
  end

  local CALL <const> = 'ctx.k8s:exec("p", "somewhere", { "true" })'

  it("a recording", function()
    local found = run(CALL, '"exec pods anywhere"')
    assert.same({ "error", "METHOD_NOT_ALLOWED", "read-only" }, { found.outcome, found.code, found.reason })
    assert.equal("a recording cannot be changed: exec pods", found.message)
  end)

  for _, needs in ipairs { "", '"get pods"', '"exec pods"', '"exec pods in elsewhere"', '"get,create pods"' } do
    it("a check that needs " .. json.encode(needs), function()
      local found = run(CALL, needs)
      assert.same({ "error", "INVALID_REQUEST", "undeclared-permission" }, { found.outcome, found.code, found.reason })
      assert.truthy(found.message:find("exec pods/exec in somewhere", 1, true), found.message)
    end)
  end

  it("nothing that the line which it names allows", function()
    assert.equal("read-only", run(CALL, '"exec pods/exec in somewhere"').reason)
    assert.equal("read-only", run(CALL, '"get,create pods/exec in somewhere"').reason)
  end)
end)
