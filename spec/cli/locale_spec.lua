-- SPDX-License-Identifier: Apache-2.0
-- Locales made for this spec: one whose numbers have a comma, one that is not UTF-8.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local site = require "spec.support.site"

local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"

local MEASURES <const> = site.check("measures", [[ctx:measure("busbw", 327.25, "GB/s", { op = ">=", value = 1234.5 })
    ctx:evidence("%.2f", 0.25) ctx:evidence("%s", ctx.params.ratio) return "é → x"]],
  'params = { ratio = { type = "number", default = 0.125, max = 0.5 } },')

local folder = files.folder()
assert(os.execute(("unset LD_PRELOAD; localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 && "
  .. "localedef -i de_DE -f ISO-8859-1 %s/de_DE.ISO-8859-1"):format(folder, folder)),
  "localedef cannot make locales: Debian package locales")

teardown(function()
  files.remove(folder)
end)

local function environment(locale)
  return { LOCPATH = folder, LC_ALL = locale }
end

--- The output of one check in a locale, without times and ids.
local function run(locale, args, how)
  return site.with({ ["m.lua"] = MEASURES }, function(dir)
    how = how or {}
    how.env = environment(locale)
    how.env.TERM = "xterm"
    local result = binary.run({ "--recording", RECORDING, dir .. "/m.lua", "--seed", "1", "-v",
      table.unpack(args or {}) }, how)
    assert.equal("", result.stderr)
    assert.equal(1, result.code)
    return (result.stdout:gsub(dir, "FOLDER"):gsub('"[^"\n]*%d%d:%d%d:%d%d[^"\n]*"', '"TIME"')
      :gsub('("duration_ms"%s*:%s*)%d+', "%10"):gsub('("id"%s*:%s*)"[%w-]+"', '%1"ID"')
      :gsub('(aicr%-run%.run" value=)"[^"]*"', '%1"ID"'):gsub('time="[%d.]+"', 'time="0"')
      :gsub("%d+%.%ds", "0.0s"))
  end)
end

describe("a locale whose numbers have a comma", function()
  it("is really one", function()
    local pipe = assert(io.popen(("env -u LD_PRELOAD LOCPATH=%s LC_ALL=de_DE.UTF-8 locale decimal_point"):format(
      folder)))
    assert.equal(",\n", pipe:read "a")
    pipe:close()
  end)

  for _, format in ipairs { "json", "junit", "human" } do
    it("changes nothing in " .. format, function()
      local here = run("de_DE.UTF-8", { "-f", format })
      assert.equal(run("C.UTF-8", { "-f", format }), here)
      assert.truthy(here:find("327.25", 1, true))
      assert.truthy(here:find("0.125", 1, true))
      assert.is_nil(here:find("327,25", 1, true))
    end)
  end

  it("changes nothing on a terminal", function()
    assert.equal(run("C.UTF-8", nil, { terminal = 80 }), run("de_DE.UTF-8", nil, { terminal = 80 }))
  end)

  it("changes nothing in what is typed", function()
    assert.truthy(run("de_DE.UTF-8", { "--set", "ratio=0.25" }):find("0.25", 1, true))
    local result = site.with({ ["m.lua"] = MEASURES }, function(dir)
      return binary.run({ dir .. "/m.lua", "--set", "ratio=0,25" }, { env = environment "de_DE.UTF-8" })
    end)
    assert.equal(2, result.code)
    assert.match('expected a number %(number%), found "0,25"', result.stderr)
  end)
end)

describe("a locale that is not UTF-8", function()
  it("gets ASCII for people and UTF-8 in machine formats", function()
    local out = run "de_DE.ISO-8859-1"
    assert.is_nil(out:find("[\128-\255]"))
    assert.equal(run("C", {}), out)
    assert.equal(run("C.UTF-8", { "-f", "json" }), run("de_DE.ISO-8859-1", { "-f", "json" }))
  end)
end)
