-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local errors = require "aicr.native.error"

local function made(t)
  return errors.new { code = t.code or "NOT_FOUND", reason = "r", message = t.message or "m", cause = t.cause,
    verdict = t.verdict, details = t.details }
end

describe("an error object", function()
  it("has its fields and a text with the chain", function()
    local err = made { message = "outer", cause = made { code = "INTERNAL", message = "inner" }, details = { a = 1 } }
    assert.equal("NOT_FOUND", err.code)
    assert.is_false(err.verdict)
    assert.same({ a = 1 }, err.details)
    assert.equal("[NOT_FOUND] outer: [INTERNAL] inner", tostring(err))
    assert.equal("aicr.error", getmetatable(err))
    assert.has_error(function() setmetatable(err, {}) end)
  end)

  it("survives a script that destroys its fields", function()
    local err = made {}
    err.code, err.message = nil, {}
    assert.equal("[?] ?", tostring(err))
  end)

  for _, code in ipairs { "NOT_FOUND", "CONFLICT", "INVALID_REQUEST" } do
    it(code .. " may be a verdict", function()
      assert.is_true(made { code = code, verdict = true }.verdict)
    end)
  end
  for _, code in ipairs { "UNAUTHORIZED", "TIMEOUT", "INTERNAL", "SERVICE_UNAVAILABLE", "CANCELED",
    "RATE_LIMIT_EXCEEDED", "METHOD_NOT_ALLOWED" } do
    it(code .. " is never a verdict", function()
      assert.is_false(made { code = code }.verdict)
      assert.has_error(function() made { code = code, verdict = true } end)
    end)
  end

  it("is known by its metatable only", function()
    assert.is_true(errors.is(made {}))
    for _, v in ipairs { {}, "x", 1, setmetatable({}, { __metatable = "aicr.error" }) } do
      assert.is_false(errors.is(v))
    end
  end)

  it("refuses an unknown code, a missing field, a cause that is none", function()
    assert.has_error(function() errors.new { code = "NO", reason = "r", message = "m" } end)
    assert.has_error(function() errors.new { code = "CONFLICT", message = "m" } end)
    assert.has_error(function() errors.new { code = "CONFLICT", reason = "r" } end)
    assert.has_error(function() errors.new { code = "CONFLICT", reason = "r", message = "m", cause = "x" } end)
  end)
end)
