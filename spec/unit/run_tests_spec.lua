-- SPDX-License-Identifier: Apache-2.0
-- The runner on entries of ctest that behave well and badly.
local files = require "spec.support.files"

--- Runs spec/support/run_tests on entries name -> shell text.
local function run(entries)
  local folder = files.folder()
  local lines = {}
  for name, text in pairs(entries) do
    files.write(("%s/%s.sh"):format(folder, name), text)
    lines[#lines + 1] = ('add_test(%s "/bin/sh" "%s/%s.sh")\n'):format(name, folder, name)
  end
  if entries.missing then
    lines[#lines + 1] = 'add_test(gone "/no/such/program")\n'
  end
  files.write(folder .. "/CTestTestfile.cmake", table.concat(lines))
  local pipe = assert(io.popen("env -u LD_PRELOAD spec/support/run_tests " .. files.quote(folder) .. " 2>&1"))
  local output = pipe:read "a"
  local _, _, code = pipe:close()
  files.remove(folder)
  return output:match("([^\n]*)\n$"), code, output
end

describe("run_tests", function()
  local rows = {
    { "counts good rows", "echo 1..2; echo ok 1 - a; echo ok 2 - b", "2 passed, 0 failed", 0 },
    { "takes a plan at the end", "echo ok 1 - a; echo 1..1", "1 passed, 0 failed", 0 },
    { "counts bad rows", "echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1", "1 passed, 1 failed", 1 },
    { "does not believe the exit code", "echo 1..1; echo not ok 1 - b", "0 passed, 1 failed", 1 },
    { "counts a skipped row as failed", "echo 1..2; echo ok 1 - a; echo 'ok 2 - # SKIP b'",
      "1 passed, 1 failed", 1 },
    { "counts cmocka's skipped row as failed", "echo 1..1; echo 'not ok 1 # SKIP b'", "0 passed, 1 failed", 1 },
    { "is not misled by a name", "echo 1..1; echo 'ok 1 - shows ok 2 - b # SKIP c'", "1 passed, 0 failed", 0 },
    { "counts what a crash kept from running", "echo 1..3; echo ok 1 - a; kill -SEGV $$", "1 passed, 2 failed", 1 },
    { "counts a crash after the rows", "echo 1..1; echo ok 1 - a; kill -ABRT $$", "1 passed, 1 failed", 1 },
    { "counts a bad ending after good rows", "echo 1..1; echo ok 1 - a; exit 3", "1 passed, 1 failed", 1 },
    { "wants a plan", "echo ok 1 - a", "1 passed, 1 failed", 1 },
    { "wants no more rows than planned", "echo 1..1; echo ok 1 - a; echo ok 2 - b", "2 passed, 1 failed", 1 },
    { "wants rows", "echo hello", "0 passed, 1 failed", 1 },
    { "wants more than an empty plan", "echo 1..0", "0 passed, 1 failed", 1 },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local last, code, output = run { one = row[2] }
      assert.equal(row[3], last, output)
      assert.equal(row[4], code)
    end)
  end

  it("adds all entries up", function()
    assert.equal("3 passed, 1 failed", (run {
      a = "echo 1..2; echo ok 1 - a; echo ok 2 - b", b = "echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1",
    }))
  end)

  it("counts a program that is not there as failed", function()
    assert.equal("1 passed, 1 failed", (run { missing = "echo 1..1; echo ok 1 - a" }))
  end)

  it("counts no tests at all as failed", function()
    local last, code = run {}
    assert.equal("0 passed, 1 failed", last)
    assert.equal(1, code)
  end)

  it("says how many cases a person has left out", function()
    local build = assert(os.getenv "AICR_BUILD")
    local pipe = assert(io.popen(("env -u LD_PRELOAD spec/support/busted %s --list spec/cluster | wc -l")
      :format(files.quote(build))))
    local cases = tonumber(pipe:read "a")
    pipe:close()
    assert.is_true(cases > 10)
    pipe = assert(io.popen(("env -u LD_PRELOAD spec/support/run_tests %s --without cluster -R '^fuzz.yaml$'")
      :format(files.quote(build))))
    local output = pipe:read "a"
    assert.is_true(pipe:close(), output)
    -- That it comes up and goes down are cases too.
    assert.matches(("\n%%d+ passed, 0 failed, %d skipped\n$"):format(cases + 2), output)
    assert.falsy(output:find("cluster", 1, true), output)
  end)

  local FLAKY <const> = "echo 1..1; if mkdir $0.seen; then echo not ok 1 - a; exit 1; fi; echo ok 1 - a"

  it("runs what failed on the test cluster once more", function()
    local last, code, output = run { ["cluster.flaky"] = FLAKY, ["cluster.good"] = "echo 1..1; echo ok 1 - b" }
    assert.equal("2 passed, 0 failed", last, output)
    assert.equal(0, code)
    assert.matches("FAIL  cluster.flaky.-\nagain cluster.flaky\nok    cluster.flaky", output)
  end)

  it("believes a second failure", function()
    local last, code = run { ["cluster.bad"] = "echo 1..1; echo not ok 1 - a; exit 1" }
    assert.equal("0 passed, 1 failed", last)
    assert.equal(1, code)
  end)

  it("runs nothing else once more, nor a cluster on which much fails", function()
    assert.equal("0 passed, 1 failed", (run { flaky = FLAKY }))
    assert.equal("0 passed, 4 failed", (run {
      ["cluster.a"] = FLAKY, ["cluster.b"] = FLAKY, ["cluster.c"] = FLAKY, ["cluster.d"] = FLAKY,
    }))
  end)

  it("shows what a failing entry said, not what a good one did", function()
    local _, _, output = run {
      a = "echo 1..1; echo ok 1 - quiet; echo chatter",
      b = "echo 1..1; echo not ok 1 - loud; echo '#   because'; echo to stderr >&2; exit 1",
    }
    assert.truthy(output:find("not ok 1 - loud", 1, true), output)
    assert.truthy(output:find("because", 1, true), output)
    assert.truthy(output:find("to stderr", 1, true), output)
    assert.falsy(output:find("chatter", 1, true), output)
  end)
end)
