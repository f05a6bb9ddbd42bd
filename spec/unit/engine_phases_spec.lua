-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local phases = require "aicr.engine.phases"
local vectors = require "spec.support.vectors"

local FILE <const> = "validation-sample.jsonl"

-- One line a problem, as the vectors spell it.
local function problem_text(problem)
  local words = { problem.kind, problem.name, problem.phase, problem.other }
  return table.concat(words, " ")
end

local OPS = {}

OPS["phase.select"] = function(args)
  return phases.select(args.phases)
end

OPS["phase.status"] = function(args)
  local status, failing = phases.status(args.tests)
  return { status = status, failing = failing }
end

OPS["phases.run"] = function(args)
  local turn = {}
  for i, phase in ipairs(args.phases) do
    turn[phase] = args.statuses[i]
  end
  local out = {}
  for i, p in ipairs(phases.run(args.phases, args.catalog, args.failFast,
    function(name) return turn[name] end)) do
    out[i] = { phase = p.phase, status = p.status, skippedTests = p.skipped }
  end
  return out
end

OPS["preflight.problems"] = function(args)
  local out = {}
  for i, problem in ipairs(phases.declared_problems(args.phases, args, args.catalog)) do
    out[i] = problem_text(problem)
  end
  return out
end

OPS["preflight.checks"] = function(args)
  if #phases.declared_problems(args.phases, args, args.catalog) > 0 then
    return nil
  end
  return phases.declared_checks(args.phases, args, args.catalog)
end

OPS["preflight.skip"] = function(args)
  local names = {}
  for i, check in ipairs(args.catalog) do
    names[i] = check.name
  end
  return #phases.unknown_skips(args.skip, names) == 0 or nil
end

local EXPECTED_ROWS <const> = {
  ["phase.select"] = 18, ["phase.status"] = 11, ["phases.run"] = 12, ["preflight.problems"] = 8,
  ["preflight.checks"] = 10, ["preflight.skip"] = 8,
}

for op, run in pairs(OPS) do
  describe(op, function()
    local rows = vectors.rows(FILE, op)

    it("has all its vectors", function()
      assert.equal(EXPECTED_ROWS[op], #rows)
    end)

    for _, row in ipairs(rows) do
      it(row.id, function()
        local result = run(row.args)
        if row.ok then
          assert.same(row.result, result)
        else
          assert.is_nil(result)
        end
      end)
    end
  end)
end

describe("the phases of a run", function()
  it("are all three when none is named, in the fixed order", function()
    assert.same({ "deployment", "conformance", "performance" }, phases.select {})
    assert.same({ "deployment", "conformance", "performance" }, phases.select { "all" })
  end)

  it("name what is refused", function()
    assert.same({ nil, "readiness" }, { phases.select { "readiness" } })
    assert.same({ nil, "all" }, { phases.select { "deployment", "all" } })
  end)
end)
