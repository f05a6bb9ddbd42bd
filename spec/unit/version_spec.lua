-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local version = require "aicr.version"
local raised = require "spec.support.raised"
local vectors = require "spec.support.vectors"

local FILE = "validation-sample.jsonl"

describe("parse", function()
  for _, row in ipairs(vectors.rows(FILE, "version.parse")) do
    it(row.id, function()
      if row.ok then
        assert.same(row.result, version.parse(row.args.s))
        return
      end
      local err = raised(version.parse, row.args.s)
      assert.equal(row.code, err.code)
      assert.equal("version", err.reason)
      assert.is_false(err.verdict)
    end)
  end

  local refused = {
    "", "v", "V1", "vv1", "1.2.3.4", ".1", "1.", "1..2", "-1", "1.-1", "+", "-", "a", "1a", " 1",
    "1 ", "9223372036854775808", "1.9223372036854775808", "1.\u{661}", "1\0", "1_0", "0x1", "1.+",
    "1.2.",
  }
  for _, text in ipairs(refused) do
    it(("refuses %q"):format(text), function()
      assert.equal("version", raised(version.parse, text).reason)
    end)
  end

  local taken = {
    { "-0", 0, 0, 0, 1, "" },
    { "+5", 5, 0, 0, 1, "" },
    { "1.+5", 1, 5, 0, 2, "" },
    { "1.2.-0", 1, 2, 0, 3, "" },
    { "v007.08", 7, 8, 0, 2, "" },
    { "1-2-3", 1, 0, 0, 1, "-2-3" },
    { "1.2+3-4", 1, 2, 0, 2, "+3-4" },
    { "1.2.3-\0", 1, 2, 3, 3, "-\0" },
    { "9223372036854775807", math.maxinteger, 0, 0, 1, "" },
  }
  for _, row in ipairs(taken) do
    it(("takes %q"):format(row[1]), function()
      local v = version.parse(row[1])
      assert.same({ table.unpack(row, 2) }, { v.major, v.minor, v.patch, v.precision, v.extras })
    end)
  end
end)

describe("compare and equal", function()
  for _, row in ipairs(vectors.rows(FILE, "version.compare")) do
    it(row.id, function()
      assert.is_true(row.ok)
      local a, b = row.args.a, row.args.b
      assert.same(row.result, { cmp = version.compare(a, b), equals = version.equal(a, b) })
      assert.equal(-row.result.cmp, version.compare(b, a))
      assert.equal(row.result.equals, version.equal(b, a))
    end)
  end

  local rows = {
    { "1.35.0-gke.+5", "1.35.0-gke.5", 0 },
    { "1.35.0-gke.-0", "1.35.0-gke.0", 0 },
    { "1.35.0-gke.-1", "1.35.0", 0 },
    { "1.35.0-gke.9223372036854775807", "1.35.0-gke.9223372036854775806", 1 },
    { "1.35.0-gke.9223372036854775808", "1.35.0", 0 },
    { "1.35.0-gke.1 ", "1.35.0", 0 },
    { "1.35.0-rc.1", "1.35.0", 0 },
    { "1.35-gke.9", "1.35-gke.1", 0 },
  }
  for _, row in ipairs(rows) do
    it(("%q against %q"):format(row[1], row[2]), function()
      assert.equal(row[3], version.compare(row[1], row[2]))
      assert.equal(-row[3], version.compare(row[2], row[1]))
    end)
  end

  it("name the side that is none", function()
    assert.is_truthy(raised(version.compare, "x1", "1").message:find('"x1"', 1, true))
    assert.is_truthy(raised(version.compare, "1", "x2").message:find('"x2"', 1, true))
    assert.is_truthy(raised(version.equal, "1", "x\n").message:find('"x\\n"', 1, true))
  end)
end)

describe("wrong arguments", function()
  for name, count in pairs { parse = 1, compare = 2, equal = 2 } do
    it("of " .. name, function()
      for missing = 1, count do
        local args = { "1", "1" }
        args[missing] = {}
        local ok, message = pcall(version[name], args[1], args[2])
        assert.is_false(ok)
        assert.is_truthy(tostring(message):find("string expected", 1, true))
      end
    end)
  end
end)
