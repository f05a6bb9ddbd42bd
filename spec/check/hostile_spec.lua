-- SPDX-License-Identifier: Apache-2.0
--- The catalogue spec/fixtures/hostile through the real program: one check a file, whose line `-- expect:` says what it
--- must end as. `-- expect: OUTCOME [CODE] [REASON] [| WORDS]`, words of its message or result; `-- expect: refused |
--- WORDS` for a file that must not become a check at all. All of them run in one run, with honest checks among them.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"

local FOLDER <const> = "spec/fixtures/hostile/"
local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"

-- The rows of a folder: path, name, want (words), says.
local function rows_of(folder)
  local rows = {}
  local pipe = assert(io.popen("LC_ALL=C ls " .. folder .. "*.lua"))
  for path in pipe:lines() do
    local expect = assert(files.read(path):match "\n%-%- expect: ([^\n]+)", path .. " says nothing")
    local want, says = expect:match "^(.-) | (.*)$"
    rows[#rows + 1] = {
      path = path, want = want or expect, says = says,
      name = path:match "([^/]+)%.lua$":gsub("_", "-"),
    }
  end
  pipe:close()
  assert(#rows > 10, "no catalogue in " .. folder)
  return rows
end

local function paths_of(rows, keep)
  local paths = {}
  for _, row in ipairs(rows) do
    if not keep or keep(row) then
      paths[#paths + 1] = row.path
    end
  end
  return paths
end

local function is_neighbour(row)
  return row.name:find("^neighbour%-") ~= nil
end

local function run(paths)
  return binary.report(table.move(paths, 1, #paths, 3, { "--recording", RECORDING }))
end

-- All of a result but the times.
local function timeless(check)
  local copy = {}
  for k, v in pairs(check) do
    if k ~= "start" and k ~= "started" and k ~= "stop" and k ~= "duration_ms" then
      copy[k] = v
    end
  end
  return copy
end

local function ending(check)
  local words = { check.outcome }
  for _, field in ipairs { "code", "reason" } do
    if type(check[field]) == "string" then
      words[#words + 1] = check[field]
    end
  end
  return table.concat(words, " ")
end

local function told(check)
  local texts = {}
  for _, field in ipairs { "message", "result" } do
    if type(check[field]) == "string" then
      texts[#texts + 1] = check[field]
    end
  end
  return table.concat(texts, "\n")
end

describe("a hostile check", function()
  local rows = rows_of(FOLDER)
  local report

  setup(function()
    report = run(paths_of(rows))
  end)

  for _, row in ipairs(rows) do
    it(("%s ends as %s"):format(row.name, row.want), function()
      local check = binary.check(report, row.name)
      local said = told(check):sub(1, 300)
      assert.equal(row.want, ending(check), said)
      if row.says then
        assert.truthy(told(check):find(row.says, 1, true), said)
      end
    end)
  end

  it("leaves the run a report of all of them and the exit code of a fail", function()
    assert.equal(#rows, #report.checks)
    assert.equal(1, report.exit)
  end)

  it("changes nothing of its neighbours' results", function()
    local alone = run(paths_of(rows, is_neighbour))
    assert.equal(0, alone.exit)
    assert.equal(3, #alone.checks)
    for _, check in ipairs(alone.checks) do
      assert.same(timeless(check), timeless(binary.check(report, check.name)))
    end
  end)

  it("leaves no valid text invalid: the report is what was read", function()
    local got = binary.check(report, "text-escape")
    assert.equal("\27[31mgreen ]]> </system-out> \"quoted\" \u{FFFD}\u{FFFD}", got.result)
  end)
end)

describe("a file that is no check", function()
  local rows = rows_of(FOLDER .. "load/")
  local result

  setup(function()
    local args = paths_of(rows)
    args[#args + 1] = FOLDER .. "neighbour_aaa.lua"
    result = binary.run(args)
  end)

  for _, row in ipairs(rows) do
    it(("load/%s is refused"):format(row.name), function()
      assert.equal("refused", row.want)
      local found
      for line in result.stderr:gmatch "[^\n]+" do
        if line:find(row.path, 1, true) then
          found = line
          assert.truthy(line:find(row.says, 1, true), line:sub(1, 300))
        end
      end
      assert.truthy(found, "nothing is said of it")
    end)
  end

  it("lets nothing run", function()
    assert.equal(2, result.code)
    assert.equal("", result.stdout)
    assert.truthy(result.stderr:find("no check was run", 1, true))
  end)
end)

describe("a file's form", function()
  local folder
  local CHECK <const> = 'return { name = "form", phase = "deployment", summary = "It is so",\n'
    .. '  run = function() return "fine" end }\n'

  before_each(function()
    folder = files.folder()
  end)

  after_each(function()
    files.remove(folder)
  end)

  for what, head in pairs { ["a byte order mark"] = "\xEF\xBB\xBF", ["a #! line"] = "#!/usr/bin/env -S aicr-run\n",
    ["both"] = "\xEF\xBB\xBF#!/usr/bin/env -S aicr-run\n" } do
    it("may begin with " .. what, function()
      files.write(folder .. "/form.lua", head .. CHECK)
      local result = binary.run { folder .. "/form.lua", "-f", "json" }
      assert.equal(0, result.code, result.stderr)
      assert.equal("fine", json.decode(result.stdout).checks[1].result)
    end)
  end

  it("is never bytecode", function()
    files.write(folder .. "/form.lua", string.dump(assert(load(CHECK))))
    local result = binary.run { folder .. "/form.lua" }
    assert.equal(2, result.code)
    assert.matches("attempt to load a binary chunk", result.stderr, 1, true)
  end)
end)
