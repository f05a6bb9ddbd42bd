-- SPDX-License-Identifier: Apache-2.0
--- The translation of the reference's *fail* to our *error* (design 4 and 12).
local outcome = require "spec.support.outcome"

describe("outcome.ours", function()
  for _, code in ipairs { "NOT_FOUND", "CONFLICT", "INVALID_REQUEST" } do
    it("leaves a verdict alone: " .. code, function()
      assert.equal("fail", outcome.ours("fail", code))
    end)
  end
  for _, code in ipairs { "UNAUTHORIZED", "TIMEOUT", "CANCELED", "SERVICE_UNAVAILABLE", "INTERNAL" } do
    it("makes a read that could not be made an error: " .. code, function()
      assert.equal("error", outcome.ours("fail", code))
    end)
  end
  it("makes a run without a client an error", function()
    assert.equal("error", outcome.ours("fail", "INVALID_REQUEST", true))
  end)
  it("leaves pass and skip alone", function()
    assert.equal("pass", outcome.ours("pass", nil))
    assert.equal("skip", outcome.ours("skip", nil))
  end)
  it("refuses what it does not know", function()
    assert.is_false(pcall(outcome.ours, "other", nil))
    assert.is_false(pcall(outcome.ours, "fail", nil))
  end)
end)
