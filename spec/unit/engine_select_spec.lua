-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local message = require "aicr.engine.message"
local select_checks = require "aicr.engine.select"

local function item(name, phase, fields)
  local meta = { name = name, phase = phase or "deployment" }
  for k, v in pairs(fields or {}) do
    meta[k] = v
  end
  return { name = name, phase = meta.phase, meta = meta, path = name .. ".lua" }
end

local function choose(items, options, all_names)
  local problems = message.problems()
  local chosen = select_checks.choose(items, options or {}, function() return all_names or {} end,
    problems)
  local names = {}
  for i, it_ in ipairs(chosen) do
    names[i] = it_.name
  end
  return table.concat(names, " "), problems, chosen
end

local function problem(items, options, all_names)
  local _, problems = choose(items, options, all_names)
  local list = {}
  for i, p in ipairs(problems.list) do
    list[i] = type(p) == "table" and p.what or p
  end
  return table.concat(list, "\n")
end

local THREE <const> = { item("p", "performance"), item("c", "conformance"), item "b", item "a" }

describe("selecting checks", function()
  it("orders by phase, and keeps the order given inside one", function()
    assert.equal("b a c p", (choose(THREE)))
  end)

  for _, row in ipairs {
    { { "performance", "deployment" }, "b a p" }, { { "all" }, "b a c p" },
    { { "conformance" }, "c" },
    { { "conformance", "conformance" }, "c" },
  } do
    it("takes the phases " .. table.concat(row[1], " "), function()
      assert.equal(row[2], (choose(THREE, { phase = row[1] })))
    end)
  end

  it("refuses an unknown phase with the nearest name", function()
    assert.equal('--phase "deploymnt" is not valid; expected one of: deployment, conformance, performance, all; '
      .. 'did you mean "deployment"?', problem(THREE, { phase = { "deploymnt" } }))
  end)

  it("refuses all beside another phase", function()
    assert.equal("--phase all stands alone; it was given with others",
      problem(THREE, { phase = { "all", "deployment" } }))
  end)

  local TAGGED <const> = {
    item("x", nil, { tags = { "gke", "slow" } }), item("y", nil, { tags = { "gke" } }),
      item("z", nil, { tags = { "smoke" } }),
    item "w",
  }
  for _, row in ipairs {
    { { "gke" }, "x y" }, { { "gke,!slow" }, "y" }, { { "gke,!slow", "smoke" }, "y z" },
    { { "!gke" }, "z w" },
    { { "!gke,!smoke" }, "w" }, { { "none" }, "" }, { { "gke , ! slow" }, "y" }, { {}, "x y z w" },
  } do
    it(("takes the tags '%s'"):format(table.concat(row[1], "' or '")), function()
      assert.equal(row[2], (choose(TAGGED, { tags = row[1] })))
    end)
  end

  for _, expr in ipairs { "", ",", "gke,", "!", "gke,,slow" } do
    it(("refuses the tags '%s'"):format(expr), function()
      assert.truthy(problem(TAGGED, { tags = { expr } }):find("a tag is missing", 1, true))
    end)
  end

  it("keeps a check that the user skips, decided", function()
    local names, _, chosen = choose(THREE, { skip = { "a" } })
    assert.equal("b a c p", names)
    assert.same({ "skip", "skipped-by-user" },
      { chosen[2].preset.outcome, chosen[2].preset.reason })
    assert.is_nil(chosen[1].preset)
  end)

  it("refuses to skip a name that nobody has, with the nearest", function()
    assert.equal('--skip: no check named "gpu-helth"; did you mean "gpu-health"?',
      problem({ item "gpu-health" }, { skip = { "gpu-helth" } }))
  end)

  it("lets a name be skipped that exists and is not selected", function()
    assert.equal("", problem({ item "a" }, { skip = { "other" } }, { "other" }))
  end)

  it("refuses a name found twice, and says where", function()
    local twin = item "a"
    twin.path = "other/a.lua"
    assert.equal('two checks are named "a": a.lua and other/a.lua', problem { item "a", twin })
    assert.equal('the check "a" (a.lua) is selected twice', problem { item "a", item "a" })
  end)

  it("refuses a name that is none", function()
    assert.truthy(problem({ item "A b" }):find('"A b" is no name for a check', 1, true))
    assert.truthy(problem({ item(("a"):rep(64)) }):find("at most 63", 1, true))
  end)

  it("refuses an unknown platform with the nearest", function()
    assert.equal('a.lua: unknown platform "gkee"; did you mean "gke"?',
      problem { item("a", nil, { platforms = { "gkee" } }) })
  end)

  it("puts what is required first", function()
    assert.equal("c b a", (choose { item("a", nil, { requires = { "b" } }),
      item("b", nil, { requires = { "c" } }), item "c" }))
  end)

  it("ignores a requirement that does not run", function()
    assert.equal("a", (choose { item("a", nil, { requires = { "elsewhere" } }) }))
  end)

  it("shows the chain of a cycle", function()
    local text = problem {
      item("z", nil, { requires = { "a" } }), item("a", nil, { requires = { "b" } }),
      item("b", nil, { requires = { "c" } }), item("c", nil, { requires = { "a" } }),
    }
    assert.equal("the checks require each other: a → b → c → a", text)
    assert.equal("the checks require each other: a → a",
      problem { item("a", nil, { requires = { "a" } }) })
  end)

  it("refuses to require what runs later", function()
    assert.equal("a (deployment) requires p, which runs later (performance)",
      problem { item("a", nil, { requires = { "p" } }), item("p", "performance") })
  end)

  it("shows all offenders at once", function()
    local _, problems = choose({ item "a", item "a" },
      { skip = { "x" }, phase = { "no" }, tags = { "" } })
    assert.equal(4, #problems.list)
  end)
end)
