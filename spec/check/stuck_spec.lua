-- SPDX-License-Identifier: Apache-2.0
--- The one thing that Lua cannot interrupt: a call of a C function that takes for ever (design 3).
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"

describe("a check that is stuck in one call", function()
  local folder, result, journal

  setup(function()
    folder = files.folder()
    files.write(folder .. "/a.lua", [[
return { name = "a", phase = "deployment", summary = "It is so", run = function() return "ended before" end }
]])
    files.write(folder .. "/b.lua", [[
return {
  name = "b", phase = "deployment", summary = "It is so",
  run = function(ctx)
    ctx:sleep("200ms")
    return tostring(("a"):rep(60):find((".-"):rep(30) .. "b"))
  end,
}
]])
    result = binary.run { folder .. "/a.lua", folder .. "/b.lua", "-o", folder .. "/report.json" }
    journal = result.stderr:match "are in (%S+)"
  end)

  teardown(function()
    files.remove(folder)
  end)

  it("ends the process with 70 and names the check", function()
    assert.equal(70, result.code)
    assert.matches("b.lua is stuck in one call of a C function", result.stderr, 1, true)
    assert.matches("fix  ", result.stderr, 1, true)
  end)

  it("leaves what had ended in the journal beside the report", function()
    assert.equal(folder, journal:match "^(.*)/")
    local lines = {}
    for line in files.read(journal):gmatch "[^\n]+" do
      lines[#lines + 1] = json.decode(line)
    end
    assert.equal(1, #lines)
    assert.equal("a", lines[1].name)
    assert.equal("pass", lines[1].outcome)
    assert.equal("ended before", lines[1].result)
  end)
end)

describe("the journal", function()
  it("is gone after a run that ended by itself", function()
    local folder = files.folder()
    files.write(folder .. "/a.lua", [[
return { name = "a", phase = "deployment", summary = "It is so", run = function() return "x" end }
]])
    assert.equal(0, binary.run { folder .. "/a.lua", "-o", folder .. "/report.json" }.code)
    local listing = assert(io.popen("ls -A " .. files.quote(folder)))
    assert.equal("a.lua\nreport.json\n", listing:read "a")
    listing:close()
    files.remove(folder)
  end)
end)
