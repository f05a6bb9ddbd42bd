-- SPDX-License-Identifier: Apache-2.0
--- Resources that a check misspells: what is told names the one that the recording has.
require "aicr_native"
local site = require "spec.support.site"

local function run(need, call)
  return site.with({ ["a.lua"] = site.check("a", call .. ' return "x"', ('needs = { "%s" },'):format(need)) },
    function(folder)
      local result = site.run { folder .. "/a.lua" }
      return result.checks.a, result
    end)
end

describe("a misspelt resource", function()
  for _, row in ipairs {
    { "in check and needs", "list networkz.networking.gke.io", 'ctx.k8s:list("networkz.networking.gke.io")' },
    { "in check and needs, without its group", "list networkz", 'ctx.k8s:list("networkz")' },
  } do
    it(row[1], function()
      local check, result = run(row[2], row[3])
      assert.match('did you mean "networks.networking.gke.io"%?$', check.message)
      assert.match("^write networks.networking.gke.io in the check and in its needs, if that is meant; if not: ",
        check.fix)
      assert.truthy(result.stdout:find("    fix   write networks.networking.gke.io in the check", 1, true),
        result.stdout)
    end)
  end

  it("in needs alone", function()
    local check = run("list networkz", 'ctx.k8s:list("networks.networking.gke.io")')
    assert.same({ "error", "undeclared-permission" }, { check.outcome, check.reason })
    assert.truthy(check.message:find('"list networks.networking.gke.io"', 1, true), check.message)
  end)

  it("in the singular is none", function()
    assert.equal("pass", run("list node", 'ctx:expect("nodes", #ctx.k8s:list("node"), ">", 0)').outcome)
  end)
end)
