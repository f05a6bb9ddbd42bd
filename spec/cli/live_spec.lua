-- SPDX-License-Identifier: Apache-2.0
-- What is seen while checks run: the live region on a terminal, lines in the order of completion, a
-- heartbeat elsewhere.
require "aicr_native"
local binary = require "spec.support.binary"
local screen = require "spec.support.screen"
local site = require "spec.support.site"

local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"

local CHECKS <const> = {
  ["a.lua"] = site.check("a", [[ctx:progress("pulling %s", "é")
    ctx:sleep("1500ms") ctx:progress("almost") ctx:sleep("1500ms") return "slow"]]),
  ["b.lua"] = site.check("b", 'ctx:sleep("100ms") return "quick"'),
  ["c.lua"] = site.check("c", 'ctx:sleep("300ms") ctx:fail { reason = "bad", message = "it is bad" }'),
}

local function run(how, args)
  return site.with(CHECKS, function(folder)
    local result = binary.run({ "--recording", RECORDING, folder .. "/", "--seed", "1",
      table.unpack(args or {}) }, how)
    result.stdout = result.stdout:gsub("\27%[[%d;]*m", ""):gsub(folder, "FOLDER")
    result.stderr = result.stderr:gsub(folder, "FOLDER")
    return result
  end)
end

local function xterm(more)
  local how = { terminal = 100, live = true, env = { TERM = "xterm" } }
  for name, value in pairs(more or {}) do
    how.env[name] = value
  end
  return how
end

--- The lines without durations.
local function plain(lines)
  local out = {}
  for i, line in ipairs(lines) do
    out[i] = line:gsub("%d+%.%d+s", "0.0s")
  end
  return out
end

local function position(text, part)
  return assert(text:find(part, 1, true), part .. " is missing in " .. text)
end

describe("on a terminal", function()
  local live = run(xterm())

  it("the region shows what runs, and is gone at the end", function()
    assert.equal(1, live.code)
    position(live.stdout, "\xE2\xA0") -- any frame of the spinner
    position(live.stdout, "pulling é")
    position(live.stdout, "almost")
    position(live.stdout, "/3 done")
    local quiet = run({ terminal = 100, env = { TERM = "xterm" } })
    assert.equal("", quiet.stderr:gsub("%[[^\n]*\n", ""))
    assert.same(plain(screen.after(quiet.stdout)), plain(screen.after(live.stdout)))
  end)

  it("it is redrawn at most ten times a second", function()
    local frames = select(2, live.stdout:gsub("/3 done", ""))
    assert.is_true(frames >= 3, frames .. " frames")
    local seconds = tonumber(live.stdout:match "failed · ([%d.]+)s · seed")
    assert.is_true(frames <= seconds * 10 + 2, ("%d frames in %s s"):format(frames, seconds))
  end)

  it("the lines come in the order of completion", function()
    local out = table.concat(screen.after(live.stdout), "\n")
    local a, b, c = position(out, "✓ a"), position(out, "✓ b"), position(out, "✗ c")
    assert.is_true(b < c and c < a)
    assert.is_true(a < position(out, "✗ c  failed"))
  end)

  it("nothing but commands wraps in 20 columns", function()
    local how = xterm()
    how.terminal = 20
    local most = 0
    for line in run(how).stdout:gsub("\27%[%d*%a", ""):gmatch "[^\r\n]+" do
      if not line:find "^%s+%l+%s+aicr%-run " then
        most = math.max(most, utf8.len(line))
      end
    end
    assert.is_true(most <= 20, most .. " columns")
  end)

  it("an ASCII locale gets an ASCII spinner", function()
    local out = run(xterm { LC_ALL = "C" }).stdout
    assert.is_nil(out:find("[\128-\255]"))
    assert.truthy(out:find "\n?  [|/\\-] a ")
  end)

  for _, env in ipairs { { CI = "1" }, { TERM = "dumb" } } do
    it("there is none with " .. next(env) .. "=" .. env[next(env)], function()
      env.AICR_RUN_HEARTBEAT = "50ms"
      local out = run(xterm(env)).stdout
      assert.is_nil(out:find("\27[", 1, true))
      assert.truthy(out:find "%[%d+%.%ds%] a: running %d+%.%ds of 5m — pulling é\r?\n")
    end)
  end

  it("a signal leaves nothing of it either", function()
    local how = xterm()
    how.before = "timeout --foreground --preserve-status -s INT 8"
    local result = site.with({ ["a.lua"] = site.check("a", 'ctx:sleep("60s") return "x"') }, function(folder)
      return binary.run({ "--recording", RECORDING, folder .. "/a.lua" }, how)
    end)
    assert.equal(130, result.code)
    local out = table.concat(screen.after(result.stdout), "\n")
    assert.is_nil(out:find("done", 1, true), out)
    position(out, "exit 130")
  end)
end)

describe("in a pipe", function()
  it("each running check is told of, on stderr only", function()
    local result = run { env = { AICR_RUN_HEARTBEAT = "100ms" } }
    assert.truthy(result.stderr:find "^%[%d+%.%ds%] a: running %d+%.%ds of 5m — pulling é\n", result.stderr)
    assert.truthy(result.stderr:find "\n%[%d+%.%ds%] c: running ")
    assert.is_nil(result.stderr:find("\27", 1, true))
    assert.is_nil(result.stdout:find("running", 1, true))
  end)

  it("the lines come in the order of the plan", function()
    local out = run({}).stdout
    local a, b, c = position(out, "✓ a"), position(out, "✓ b"), position(out, "✗ c")
    assert.is_true(a < b and b < c)
  end)

  it("nothing is told within the first 30 s", function()
    assert.equal("", run({}).stderr)
  end)

  for _, value in ipairs { "30", "0s", "soon", "-1s" } do
    it("an interval of " .. value .. " is refused", function()
      local result = run { env = { AICR_RUN_HEARTBEAT = value } }
      assert.equal(2, result.code)
      assert.equal(('aicr-run: AICR_RUN_HEARTBEAT: expected a duration such as 90s or 5m, found "%s"\n'
        .. "aicr-run: no check was run\n"):format(value), result.stderr)
    end)
  end
end)
