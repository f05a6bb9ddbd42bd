-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local interrupt = require "spec.support.interrupt"
local json = require "aicr.json"

local OK <const> = "spec/fixtures/recordings/lyra-ok"
local BODY <const> = {
  passes = 'return "as it should be"',
  fails = 'ctx:fail { code = "CONFLICT", reason = "not-so", message = "it is not so" }',
  errs = 'error("a defect of the check")',
  skips = 'ctx:skip { reason = "not-applicable", message = "does not apply" }',
  sleeps = 'ctx:progress("it sleeps") ctx:sleep("60s") return "slept"',
}

--- Writes a check for each name; gives their paths.
local function write(folder, names)
  local paths = {}
  for i, name in ipairs(names) do
    paths[i] = ("%s/%s.lua"):format(folder, name)
    files.write(paths[i], ('return {\n  name = "%s", phase = "deployment", summary = "It is so",\n'
      .. "  run = function(ctx)\n    %s\n  end,\n}\n"):format(name, BODY[name]))
  end
  return paths
end

--- Runs those checks, and sends the signals once the one that sleeps does.
local function signalled(names, signals, before)
  return files.with_folder(function(folder)
    local sent = {}
    for i, signal in ipairs(signals) do
      sent[i] = { signal, "it sleeps" }
    end
    local result = interrupt.all { { args = write(folder, names), signals = sent, before = before } }[1]
    result.stderr = result.stderr:gsub("%[%d[^\n]*it sleeps\n", "")
    return result
  end)
end

--- Writes a check for each name and runs them in this order.
local function run(names, args, how)
  local folder = files.folder()
  local words = { "--recording", OK, "-o", folder .. "/report.json" }
  table.move(write(folder, names), 1, #names, 5, words)
  for _, word in ipairs(args or {}) do
    words[#words + 1] = word
  end
  local result = binary.run(words, how)
  local report = folder .. "/report.json"
  result.report = files.exists(report) and json.decode(files.read(report)) or nil
  files.remove(folder)
  return result
end

describe("the exit code", function()
  local rows = {
    { { "passes" }, {}, 0 },
    { { "skips" }, {}, 0 },
    { { "passes", "skips" }, {}, 0 },
    { { "passes", "skips" }, { "--strict" }, 1 },
    { { "passes", "fails" }, {}, 1 },
    { { "errs" }, {}, 3 },
    { { "errs", "passes" }, {}, 3 },
    { { "errs", "skips" }, { "--strict" }, 1 },
    { { "errs", "fails", "passes" }, {}, 1 },
    { { "fails", "errs" }, { "-x" }, 1 },
    { { "passes" }, { "--tags", "no-such-tag" }, 4 },
    { { "passes" }, { "--phase", "performance" }, 4 },
    { { "passes" }, { "--skip", "passes" }, 0 },
    { { "passes" }, { "--set", "passes.nothing=1" }, 2 },
    { { "passes" }, { "no-such-check" }, 2 },
    { { "passes" }, { "--recipe", "/no/such/file" }, 2 },
    { { "passes" }, { "-o", "report.unknown" }, 2 },
    { { "passes" }, { "-o", "json:/no/such/folder/report" }, 3 },
    { { "fails" }, { "-o", "json:/no/such/folder/report" }, 1 },
  }
  for _, row in ipairs(rows) do
    local names, args, code = table.unpack(row)
    it(("is %d for %s %s"):format(code, table.concat(names, ", "),
      table.concat(args, " ")), function()
      local result = run(names, args)
      assert.equal(code, result.code, result.stderr .. result.stdout)
      if code == 2 then
        assert.equal("", result.stdout)
        assert.is_nil(result.report)
        assert.match("^aicr%-run: ", result.stderr)
      else
        assert.is_table(result.report)
      end
    end)
  end

  it("is in the report", function()
    assert.equal(3, run({ "errs" }).report.run.exit_code)
  end)

  it("is 70 when the engine itself breaks", function()
    local folder = files.folder()
    files.write(folder .. "/lua/aicr/engine/main.lua", 'error("broken")\n')
    local result = binary.run { "--source", folder, "--list" }
    files.remove(folder)
    assert.equal(70, result.code)
    assert.equal("", result.stdout)
    assert.match("broken", result.stderr)
  end)
end)

describe("a signal", function()
  for signal, code in pairs { HUP = 129, INT = 130, TERM = 143 } do
    it(("SIG%s ends with %d and a report"):format(signal, code), function()
      local result = signalled({ "sleeps", "passes" }, { signal })
      assert.equal(code, result.code, result.stderr)
      assert.is_true(result.report.run.interrupted)
      assert.equal("error", result.checks.sleeps.outcome)
      assert.equal("CANCELED", result.checks.sleeps.code)
    end)
  end
end)

describe("a hang-up", function()
  it("that comes again, or after another signal, does not cut the clean-up short", function()
    for sent, code in pairs { [{ "HUP", "HUP", "HUP", "HUP" }] = 129, [{ "TERM", "HUP", "HUP" }] = 143 } do
      local result = signalled({ "sleeps" }, sent)
      assert.equal(code, result.code, result.stderr)
      assert.equal("", result.stderr)
      assert.is_true(result.report.run.interrupted)
    end
  end)
  it("is ignored where it was before", function()
    local result = signalled({ "passes", "sleeps" }, { "HUP", "TERM" }, "trap '' HUP; ")
    assert.equal(143, result.code, result.stderr)
  end)
end)

describe("a reader of stdout that went away", function()
  it("ends the output, not the run", function()
    local result = run({ "passes", "fails" }, {}, { stdout = "| true" })
    assert.equal("", result.stderr)
    assert.equal(2, #result.report.checks)
    assert.equal(1, result.report.run.exit_code)
  end)
end)
