-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local fake_host = require "spec.support.fake_host"
local json = require "aicr.json"
local main = require "aicr.engine.main"

local PARAMS <const> = {
  nodes = { type = "integer", default = 2 }, words = { type = "list", default = { "a", "b" } },
  token = { type = "string", secret = true }, name = { type = "string" },
}

local function check(name, fields)
  local meta = { name = name, phase = "deployment", summary = "x" }
  for k, v in pairs(fields or {}) do
    meta[k] = v
  end
  return meta
end

local DISK <const> = {
  ["s.lua"] = { suite = "s", platform = "gke", options = { jobs = 8, set = "a.nodes=3" },
    checks = { "./p.lua", "./b.lua", "./a.lua", "./c.lua" },
    waive = { b = { reason = "known", expires = "2099-01-01" } } },
  ["a.lua"] = check("a", { params = PARAMS, timeout_ms = 90000 }),
  ["b.lua"] = check("b", { requires = { "a" } }),
  ["c.lua"] = check("c", { platforms = { "aws" } }),
  ["p.lua"] = check("p", { phase = "performance" }),
  ["f"] = "hunter2\n",
}

local function plan(fields)
  fields.disk, fields.operands = DISK, fields.operands or { "s.lua" }
  fields.options = fields.options or {}
  fields.options.dry_run = true
  fields.options.seed = 1
  fields.options.set_file = { "token=f" }
  local host = fake_host.new(fields)
  local code = main(fake_host.command(fields), host)
  assert.is_nil(host.state.where, "the cluster was looked at")
  assert.same({}, host.state.started)
  return code, host.state.written["-"] or "", host.state.written.stderr or "", host.state
end

local WHOLE <const> = [[
plan: 4 checks, 8 side by side, at most 1h, 1 repetition of an error, platform gcp (suite), seed 1

deployment
  1  a
     timeout 90s (check), a.lua (file)
       name   (none)
       nodes  5       command line
       token  ***     command line
       words  a, b    default
  2  b
     timeout 10s (command line), after a, a fail is waived until 2099-01-01, b.lua (file)
  3  c
     skip: platform, not for platform gcp
     timeout 5m (default), c.lua (file)

performance
  4  p
     timeout 30m (default), alone, p.lua (file)

nothing was run, the cluster was not looked at
]]

describe("--dry-run", function()
  it("prints the plan in its order, with who set each parameter", function()
    local code, out, err = plan { options = { set = { "nodes=5", "b.timeout=10s" }, retry = 1, timeout = "1h" } }
    assert.same({ 0, "" }, { code, err })
    assert.equal(WHOLE, out)
  end)

  it("shows the suite's values where nobody else sets any", function()
    local _, out = plan {}
    assert.truthy(out:find("nodes  3       suite\n", 1, true), out)
  end)

  it("leaves the platform open where nothing names it", function()
    local code, out = plan { operands = { "a.lua", "c.lua" } }
    assert.equal(0, code)
    assert.truthy(out:find("platform not known before the cluster is looked at", 1, true))
    assert.is_nil(out:find("not for platform", 1, true))
  end)

  it("prints JSON", function()
    local code, out = plan { options = { set = { "nodes=5" }, format = "json", skip = { "p" },
      output = { "x.json" } } }
    assert.equal(0, code)
    local document = json.decode(out)
    assert.equal("aicr-run/plan/1", document.schema)
    assert.same({ seed = 1, jobs = 8, retry = 0, fail_fast = false, strict = false }, document.run)
    assert.same({ "gcp", "suite" }, { document.target.platform, document.target.platform_from })
    local names = {}
    for i, c in ipairs(document.checks) do
      names[i] = c.name
    end
    assert.same({ "a", "b", "c", "p" }, names)
    local a, b, c, p = table.unpack(document.checks)
    assert.same({ value = 5, from = "command line" }, a.params.nodes)
    assert.same({ value = "***", from = "command line" }, a.params.token)
    assert.same({ 90000, "check", false }, { a.timeout_ms, a.timeout_from, a.exclusive })
    assert.same({ "a" }, { table.unpack(b.requires) })
    assert.same({ reason = "known", expires = "2099-01-01" }, b.waived)
    assert.equal("platform", c.decided.reason)
    assert.same({ true, "skipped-by-user" }, { p.exclusive, p.decided.reason })
    assert.same({ format = "json", file = "x.json" }, document.outputs[1])
    assert.is_nil(out:find("hunter2", 1, true))
  end)

  it("writes no report", function()
    local _, _, _, state = plan { options = { output = { "x.json" } } }
    assert.is_nil(state.written["x.json"])
  end)

  it("keeps to the width, and to ASCII", function()
    local _, out = plan { terminal = { width = 40, utf8 = false } }
    for line in out:gmatch "[^\n]+" do
      assert.is_true(#line <= 40, line)
    end
    assert.is_nil(out:find("[\128-\255]"))
  end)

  it("is 4 for an empty plan, 2 for a mistake", function()
    assert.equal(4, (plan { options = { tags = { "none" } } }))
    local code, out, err = plan { options = { set = { "nodez=1" } } }
    assert.same({ 2, "" }, { code, out })
    assert.truthy(err:find('no selected check has a parameter "nodez"', 1, true))
  end)
end)
