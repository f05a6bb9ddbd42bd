-- SPDX-License-Identifier: Apache-2.0
-- What a person sees, byte for byte. UPDATE_GOLDEN=1 writes the files anew.
require "aicr_native"
local binary = require "spec.support.binary"
local golden = require "spec.support.golden"

local GOLDEN <const> = "spec/cli/golden/"

local function arguments(recording, more)
  local words = {
    "--recording", "spec/fixtures/recordings/" .. recording, "--recipe", "recipes/lyra.yaml",
    "checks/gke_tcpxo.lua", "--phase", "deployment", "--seed", "1",
  }
  return table.move(more or {}, 1, #(more or {}), #words + 1, words)
end

--- The output with durations of one kind and line numbers out.
local function normalised(text)
  return (text:gsub("%d+%.%d+s", "0.0s"):gsub("(%.lua):%d+", "%1:LINE"))
end

local function compare(name, text)
  golden(GOLDEN .. name .. ".txt", text)
end

local rows = {
  { "terminal_80", { terminal = 80, env = { TERM = "xterm" } } },
  { "terminal_20", { terminal = 20, env = { TERM = "xterm" } } },
  { "terminal_120", { terminal = 120, env = { TERM = "xterm" } } },
  { "terminal_no_color", { terminal = 80, env = { TERM = "xterm", NO_COLOR = "1" } } },
  { "terminal_dumb", { terminal = 80, env = { TERM = "dumb" } } },
  { "pipe", {} },
  { "ascii", { env = { LC_ALL = "C" } } },
  { "pipe_color", { env = { FORCE_COLOR = "1" } } },
}

describe("human output", function()
  for _, row in ipairs(rows) do
    local name, how = row[1], row[2]
    it("of a failing run: " .. name, function()
      local result = binary.run(arguments "lyra-swapped", how)
      assert.equal(1, result.code)
      assert.equal("", result.stderr)
      compare(name, normalised(result.stdout))
    end)
  end

  it("of a passing run in a terminal", function()
    local result = binary.run(arguments "lyra-ok", rows[1][2])
    assert.equal(0, result.code)
    compare("passing", normalised(result.stdout))
  end)

  it("of a passing run that is verbose", function()
    compare("verbose", normalised(binary.run(arguments("lyra-ok", { "-v" })).stdout))
  end)

  it("of a run that is quiet", function()
    compare("quiet_ok", normalised(binary.run(arguments("lyra-ok", { "-q" })).stdout))
    compare("quiet_swapped", normalised(binary.run(arguments("lyra-swapped", { "-q" })).stdout))
  end)
end)

describe("width", function()
  -- Commands to type are not counted: they stay whole.
  local function longest(text)
    local most = 0
    for line in text:gsub("\27%[[%d;]*m", ""):gmatch "([^\r\n]*)\r?\n" do
      local is_command = line:find "^%s+kubectl " or line:find "^%s+see%s+aicr%-run "
      most = is_command and most or math.max(most, utf8.len(line) or #line)
    end
    return most
  end

  it("comes from the terminal, COLUMNS does not change it", function()
    for _, columns in ipairs { 20, 27, 40, 60, 80, 100 } do
      local how = { terminal = columns, env = { TERM = "xterm", COLUMNS = "200" } }
      assert.is_true(longest(binary.run(arguments "lyra-swapped", how).stdout) <= columns)
    end
  end)
  it("of 20 columns loses nothing", function()
    local function words(text)
      return (text:gsub("%s+", ""))
    end
    local wide = words(normalised(binary.run(arguments("lyra-swapped", { "--color=never", "-p", "deployment" }),
      { terminal = 200, env = { TERM = "dumb" } }).stdout))
    local narrow = words(normalised(binary.run(arguments("lyra-swapped", { "--color=never" }),
      { terminal = 20, env = { TERM = "dumb" } }).stdout))
    for _, part in ipairs { "lyra-gpu-nic-k4", "torch-distributed-tcpxo", "mapping-mismatch", "seed1",
      "exit1:atleastonecheckfailed" } do
      assert.truthy(wide:find(part, 1, true), part)
      assert.truthy(narrow:find(part, 1, true), part)
    end
  end)
  it("breaks no command to type", function()
    local out = binary.run(arguments("lyra-swapped", { "--color=never" }),
      { terminal = 20, env = { TERM = "dumb" } }).stdout
    assert.truthy(out:find("\n%s+kubectl get clustertrainingruntime torch%-distributed%-tcpxo %-o yaml\r?\n"), out)
    assert.truthy(out:find("see   aicr-run --explain checks/deployment/gke_gpu_nic_networks.lua", 1, true), out)
  end)
  it("comes from COLUMNS where the terminal has none", function()
    local how = { terminal = 0, env = { TERM = "xterm", COLUMNS = "62" } }
    assert.is_true(longest(binary.run(arguments "lyra-swapped", how).stdout) <= 62)
  end)
  it("is 80 where nothing tells", function()
    for _, value in ipairs { "", "0", "-5", "wide", "99999999999999999999" } do
      local how = { terminal = 0, env = { TERM = "xterm", COLUMNS = value } }
      local most = longest(binary.run(arguments "lyra-swapped", how).stdout)
      assert.is_true(most <= 80 and most > 70, value .. ": " .. most)
    end
  end)
  it("is unlimited in a pipe", function()
    local how = { env = { COLUMNS = "40" } }
    assert.is_true(longest(binary.run(arguments "lyra-swapped", how).stdout) > 120)
  end)
end)

describe("colour", function()
  local function has_color(how, more)
    how.env = how.env or {}
    how.env.TERM = how.env.TERM or "xterm"
    return binary.run(arguments("lyra-swapped", more), how).stdout:find("\27[", 1, true) ~= nil
  end

  local T <const> = 80
  local table_of_cases = {
    { true, {}, { terminal = T } },
    { false, {}, {} },
    { true, {}, { terminal = T, env = { NO_COLOR = "" } } },
    { false, {}, { terminal = T, env = { NO_COLOR = "0" } } },
    { false, {}, { terminal = T, env = { TERM = "dumb" } } },
    { true, {}, { env = { FORCE_COLOR = "1" } } },
    { true, {}, { env = { CLICOLOR_FORCE = "1" } } },
    { true, {}, { env = { CLICOLOR_FORCE = "1", TERM = "dumb" } } },
    { false, {}, { env = { FORCE_COLOR = "0", CLICOLOR_FORCE = "0" } } },
    { false, {}, { env = { FORCE_COLOR = "1", NO_COLOR = "1" } } },
    { true, { "--color=always" }, { env = { NO_COLOR = "1", TERM = "dumb" } } },
    { false, { "--color=never" }, { terminal = T, env = { FORCE_COLOR = "1" } } },
    { true, { "--color=never", "--color=auto" }, { terminal = T } },
  }
  for i, case in ipairs(table_of_cases) do
    local wanted, more, how = table.unpack(case)
    it(("%d is %s"):format(i, wanted and "on" or "off"), function()
      assert.equal(wanted, has_color(how, more))
    end)
  end

  for _, format in ipairs { "json", "junit" } do
    it("never gets into " .. format, function()
      assert.is_false(has_color({ env = { FORCE_COLOR = "1" } }, { "-f", format, "--color=always" }))
    end)
  end
end)
