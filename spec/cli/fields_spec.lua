-- SPDX-License-Identifier: Apache-2.0
--- Fields that no check and no suite has: each is refused with the nearest name, else with all.
require "aicr_native"
local site = require "spec.support.site"

local GOOD <const> = site.check("good", 'return "x"', 'params = { count = { type = "integer", default = 3 } },')

-- What stands on stderr for a file of that text beside good.lua.
local function refused(text, args)
  return site.with({ ["good.lua"] = GOOD, ["it.lua"] = text }, function(folder)
    local result = site.run { folder .. "/it.lua", table.unpack(args or {}) }
    assert.equal(2, result.code, result.stderr)
    assert.is_nil(result.report)
    return (result.stderr:gsub(folder .. "/", ""))
  end)
end

local function suite(more)
  return ('return { suite = "s", checks = { "good.lua" }, %s }'):format(more)
end

local NONE <const> = "aicr-run: no check was run\n"

describe("an unknown field", function()
  for _, row in ipairs {
    { "of a parameter", site.check("it", 'return "x"', 'params = { n = { type = "integer", defualt = 3 } },'),
      'unknown field "params.n.defualt"; did you mean "default"?' },
    { "of a parameter, like none", site.check("it", 'return "x"', 'params = { n = { type = "integer", x = 3 } },'),
      'unknown field "params.n.x"; expected one of: choices, constraint, default, help, max, min, secret, type' },
    { "of a check", site.check("it", 'return "x"', 'tagz = { "a" },'), 'unknown field "tagz"; did you mean "tags"?' },
    { "of a suite", suite 'plattform = "gcp"', 'unknown field "plattform"; did you mean "platform"?' },
    { "of a suite whose list is misspelt", 'return { suite = "s", chekcs = { "good.lua" } }',
      'unknown field "chekcs"; did you mean "checks"?' },
    { "of a suite without a list", 'return { suite = "s", options = {} }', 'the field "checks" is missing' },
    { "of a check, which suites have", site.check("it", 'return "x"', 'suite = "s", waive = {},'),
      'unknown field "suite": a suite has it, a check has not' },
    { "of a check, beside one that suites have", site.check("it", 'return "x"', 'suite = "s", tagz = {},'),
      'unknown field "tagz"; did you mean "tags"?' },
    { "of a suite, which checks have", suite 'phase = "deployment"',
      'unknown field "phase": a check has it, a suite has not' },
    { "of an entry", 'return { suite = "s", checks = { { "good.lua", se = {} } } }',
      'unknown field "checks[1].se"; expected one of: as, path, set' },
    { "of options", suite 'options = { recpie = "x" }', 'unknown option "recpie"; did you mean "recipe"?' },
    { "of a waiver", suite 'waive = { good = { reason = "x", expire = "2099-01-01" } }',
      'waive["good"]: unknown field "expire"; did you mean "expires"?' },
    { "of a waiver, like none", suite 'waive = { good = { reason = "x", expires = "2099-01-01", by = "me" } }',
      'waive["good"]: unknown field "by"; expected one of: expires, reason' },
    { "of a waiver, in the place of its reason", suite 'waive = { good = { reson = "x", expires = "2099-01-01" } }',
      'waive["good"]: unknown field "reson"; did you mean "reason"?' },
    { "of what an entry sets", 'return { suite = "s", checks = { { "good.lua", set = { cuont = 1 } } } }',
      'good has no parameter "cuont"; did you mean "count"?' },
    { "of what an entry sets, like none", 'return { suite = "s", checks = { { "good.lua", set = { n = 1 } } } }',
      'good has no parameter "n"; expected one of: count, timeout' },
  } do
    it(row[1], function()
      local said = refused(row[2])
      assert.truthy(said:find("aicr-run: it.lua: " .. row[3], 1, true), said)
      assert.equal(NONE, said:sub(-#NONE))
    end)
  end
end)
