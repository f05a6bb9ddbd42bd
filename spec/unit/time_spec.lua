-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local raised = require "spec.support.raised"
local time = require "aicr.time"

describe("time", function()
  it("reads and writes instants in milliseconds", function()
    assert.equal(1773173444872, time.parse "2026-03-10T20:10:44.872Z")
    assert.equal("2026-03-10T20:10:44.872Z", time.format(1773173444872))
    assert.equal("integer", math.type(time.parse "1970-01-01T00:00:00Z"))
  end)

  it("reads durations in milliseconds", function()
    assert.equal(5400000, time.duration "1h30m")
    assert.equal(0, time.duration "0")
  end)

  it("shows durations to people", function()
    assert.equal("0.4s", time.format_duration(402))
    assert.equal("1h 03m", time.format_duration(3780000))
  end)

  it("refuses a bare number with the units", function()
    local err = raised(time.duration, "90")
    assert.same({ "INVALID_REQUEST", "duration", false }, { err.code, err.reason, err.verdict })
    assert.equal('duration "90" lacks a unit: write h, m, s or ms after the number, such as 90s',
      err.message)
    assert.equal("duration", raised(time.duration, 90).reason)
  end)

  it("refuses what is no instant and escapes it", function()
    local err = raised(time.parse, "now\n")
    assert.same({ "INVALID_REQUEST", "time", false }, { err.code, err.reason, err.verdict })
    assert.is_truthy(err.message:find('"now\\n" is not a time', 1, true))
  end)

  for name, wanted in pairs { duration = "string expected", parse = "string expected",
      format = "number expected", format_duration = "number expected" } do
    it("wants the right argument for " .. name, function()
      local ok, message = pcall(time[name], {})
      assert.is_false(ok)
      assert.is_truthy(tostring(message):find(wanted, 1, true))
    end)
  end

  it("has whole milliseconds", function()
    local ok, message = pcall(time.format, 1.5)
    assert.is_false(ok)
    assert.is_truthy(tostring(message):find("no integer representation", 1, true))
  end)
end)
