-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local emptied = require "aicr.engine.emptied"
local engines = require "spec.support.engine"

local check, engine, recipe = engines.check, engines.run, engines.recipe

local DISK <const> = {
  ["s/a.lua"] = check("a", { tags = { "gke", "slow" } }), ["s/b.lua"] = check "b",
  ["s/c.lua"] = check("c", { phase = "performance", tags = { "nccl" } }),
  ["none/_hidden.lua"] = check "hidden",
  ["suite.lua"] = { suite = "s", checks = {} },
  ["declares.yaml"] = recipe { deployment = { checks = { "node-health" } },
    performance = { checks = { "nccl-bw" } } },
  ["silent.yaml"] = recipe {},
}

describe("an empty selection says why:", function()
  for _, row in ipairs {
    { "the phase", { "s/" }, { phase = { "conformance" } },
      "--phase conformance kept 0 of 3 checks; their phases: deployment, performance" },
    { "two phases", { "s/a.lua" }, { phase = { "conformance", "performance" } },
      "--phase conformance --phase performance kept 0 of 1 check; their phases: deployment" },
    { "the tags", { "s/" }, { tags = { "smoke", "gke,!slow" } },
      "--tags 'smoke' --tags 'gke,!slow' kept 0 of 3 checks; their tags: gke, nccl, slow" },
    { "tags that nobody has", { "s/b.lua" }, { tags = { "smoke" } },
      "--tags 'smoke' kept 0 of 1 check; they have no tags" },
    { "the tags after the phase", { "s/" }, { phase = { "performance" }, tags = { "gke" } },
      "--tags 'gke' kept 0 of 1 check; their tags: nccl" },
    { "a folder", { "none/" }, {}, "none/ holds no check" },
    { "a suite and a folder", { "suite.lua", "none/" }, {}, "suite.lua, none/ hold no check" },
    { "a phase the recipe says nothing of", {}, { recipe = "declares.yaml",
        phase = { "conformance" } },
      "--phase conformance kept none of the checks that the recipe declares; "
        .. "their phases: deployment (1), performance (1)" },
    { "a recipe without checks", {}, { recipe = "silent.yaml" },
      "the recipe declares no check: name one, or a suite" },
  } do
    it(row[1], function()
      local code, out, err, report = engine { operands = row[2], disk = DISK, options = row[3] }
      assert.equal(4, code)
      assert.equal("", err)
      assert.truthy(out:find("note: " .. row[4] .. "\n", 1, true), out)
      assert.equal(row[4], report.notes[1])
    end)
  end

  it("the platform", function()
    local gcp = { ["checks/deployment/gke.lua"] = check("gke", { platforms = { "gcp" } }),
      ["lua/aicr/engine/target.lua"] = "return {}" }
    local WHY <const> = "the platform aws kept 0 of 1 check; their platforms: gcp"
    local code, out = engine { embedded = gcp, options = { platform = "aws" } }
    assert.equal(4, code)
    assert.truthy(out:find("note: " .. WHY .. "\n", 1, true), out)
    for _, how in ipairs { "human", "json" } do
      local planned, _, err = engine { embedded = gcp,
        options = { platform = "aws", dry_run = true, format = how } }
      assert.equal(4, planned)
      assert.equal("aicr-run: no check is selected: " .. WHY .. "\n", err)
    end
  end)

  for _, look in ipairs { "list", "explain", "dry_run" } do
    it("on stderr with " .. look, function()
      local code, _, err = engine { operands = { "s/b.lua" }, disk = DISK,
        options = { [look] = true, tags = { "zzz" } } }
      assert.equal(4, code)
      assert.equal("aicr-run: no check is selected: --tags 'zzz' kept 0 of 1 check; they have no tags\n",
        err)
    end)
  end

  it("a selection that holds a check says nothing of it", function()
    local _, out, err, report = engine { operands = { "s/" }, disk = DISK,
      options = { phase = { "performance" } } }
    assert.equal("", err)
    assert.is_nil(out:find("kept", 1, true))
    assert.same({}, report.notes)
  end)

  it("ten values, and how many more there are", function()
    local tags = {}
    for i = 1, 12 do
      tags[i] = ("t%02d"):format(i)
    end
    local why = emptied.by_tags({ { meta = { tags = tags } } }, { "x" })
    assert.truthy(why:find("their tags: t01, t02, t03, t04, t05, t06, t07, t08, t09, t10 and 2 more", 1,
      true), why)
  end)
end)
