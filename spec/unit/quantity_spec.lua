-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local quantity = require "aicr.quantity"
local raised = require "spec.support.raised"

describe("quantity", function()
  local rows = {
    -- quantity, value, milli
    { "8", 8, 8000 },
    { 8, 8, 8000 },
    { 8.0, 8, 8000 },
    { 0.5, 1, 500 },
    { 1e15, 1000000000000000, 1000000000000000000 },
    { "500m", 1, 500 },
    { "64Gi", 68719476736, 68719476736000 },
    { "1e3", 1000, 1000000 },
  }
  for _, row in ipairs(rows) do
    it(("reads %s"):format(row[1]), function()
      assert.equal(row[2], quantity.value(row[1]))
      assert.equal(row[3], quantity.milli(row[1]))
      assert.equal("integer", math.type(quantity.value(row[1])))
      assert.equal(0, quantity.compare(row[1], row[1]))
    end)
  end

  it("compares", function()
    assert.equal(-1, quantity.compare("1Gi", "1025Mi"))
    assert.equal(0, quantity.compare("0.5", "500m"))
    assert.equal(1, quantity.compare(9, "8"))
  end)

  for _, name in ipairs { "value", "milli", "compare" } do
    it(name .. " refuses what is none and escapes it", function()
      local err = raised(quantity[name], "8\n", "8")
      assert.equal("INVALID_REQUEST", err.code)
      assert.equal("quantity", err.reason)
      assert.is_false(err.verdict)
      assert.equal('"8\\n" is not a quantity such as 8, 500m, 64Gi or 1e3', err.message)
    end)

    it(name .. " wants strings or numbers", function()
      local ok, message = pcall(quantity[name], {}, {})
      assert.is_false(ok)
      assert.is_truthy(tostring(message):find("string expected", 1, true))
    end)
  end

  it("says that it does not fit", function()
    assert.equal('quantity "8Ei" does not fit into 64 bits', raised(quantity.value, "8Ei").message)
    assert.equal('quantity "1E" does not fit into 64 bits in thousandths',
      raised(quantity.milli, "1E").message)
  end)
end)
