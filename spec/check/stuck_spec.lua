-- SPDX-License-Identifier: Apache-2.0
--- The one thing that Lua cannot interrupt: a call of a C function that takes for ever (design 3).
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"

local A <const> = 'return { name = "a", phase = "deployment", summary = "It is so",\n'
  .. '  run = function() return "ended before" end }\n'
local B <const> = [[
return {
  name = "b", phase = "deployment", summary = "It is so",
  run = function(ctx)
    ctx:sleep("200ms")
    CALL
  end,
}
]]
local MOVE <const> = "table.move({}, 1, 1 << 60, 2)"

-- Where b is stuck; `load`: before anything ran.
local rows = {
  { "a pattern that takes for ever", call = 'return tostring(("a"):rep(60):find((".-"):rep(30) .. "b"))' },
  { "a move of all there is, under pcall", call = ("pcall(function() %s end) return 'fine'"):format(MOVE) },
  { "clean-up", call = ("ctx:defer(function() %s end) return 'fine'"):format(MOVE) },
  { "the top level of a file", load = true, file = MOVE .. "\nreturn {}\n" },
}

-- All of them at the same time: each takes ten seconds.
local function begin(row)
  row.folder = files.folder()
  files.write(row.folder .. "/a.lua", A)
  files.write(row.folder .. "/b.lua", row.file or (B:gsub("CALL", function() return row.call end)))
  local at = files.quote(row.folder)
  return assert(io.popen(("cd %s && env -u LD_PRELOAD %s a.lua b.lua -o report.json 2>err >out </dev/null; echo $?")
    :format(at, files.quote(assert(os.getenv "AICR_RUN")))))
end

describe("a check that is stuck in one call:", function()
  setup(function()
    local pipes = {}
    for i, row in ipairs(rows) do
      pipes[i] = begin(row)
    end
    for i, row in ipairs(rows) do
      row.code = math.tointeger(tonumber(pipes[i]:read "l"))
      pipes[i]:close()
      row.stderr = files.read(row.folder .. "/err")
    end
  end)

  teardown(function()
    for _, row in ipairs(rows) do
      files.remove(row.folder)
    end
  end)

  for _, row in ipairs(rows) do
    describe(row[1], function()
      it("ends the process with 70 and names the check", function()
        assert.equal(70, row.code, row.stderr)
        assert.matches("aicr-run: internal: b.lua is stuck in one call of a C function for 10s", row.stderr, 1, true)
        assert.matches(row.load and "\n  fix  leave that file out, or look in it for the call that does not end\n"
          or "\n  fix  leave that check out (--skip NAME); the results of the checks that had ended are in ",
          row.stderr, 1, true)
      end)

      if row.load then
        return
      end

      it("leaves what had ended, and only that, in the journal beside the report", function()
        local journal = assert(row.stderr:match "are in (%S+)", row.stderr)
        local lines = {}
        for line in files.read(row.folder .. "/" .. journal):gmatch "[^\n]+" do
          lines[#lines + 1] = json.decode(line)
        end
        assert.equal(1, #lines)
        assert.same({ "a", "pass", "ended before" }, { lines[1].name, lines[1].outcome, lines[1].result })
        assert.is_false(files.exists(row.folder .. "/report.json"))
      end)
    end)
  end
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
