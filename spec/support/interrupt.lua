-- SPDX-License-Identifier: Apache-2.0
--- Runs the program and sends it signals at given points (spec/support/interrupt), many runs side by
--- side.
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

local BATCH <const> = 6
local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"

local function words_of(args)
  local words = {}
  for i, arg in ipairs(args) do
    words[i] = files.quote(arg)
  end
  return table.concat(words, " ")
end

local function prepare(run)
  run.folder = files.folder()
  files.write(run.folder .. "/out/empty", "")
  assert(os.remove(run.folder .. "/out/empty"))
  local lines = {}
  for i, signal in ipairs(run.signals) do
    lines[i] = signal[1] .. " " .. signal[2]:gsub("@", run.folder) .. "\n"
  end
  files.write(run.folder .. "/signals", table.concat(lines))
  local args = { os.getenv "AICR_RUN", "--recording", RECORDING, "-o",
    run.folder .. "/out/report.json" }
  for _, arg in ipairs(run.args) do
    args[#args + 1] = (arg:gsub("@", run.folder))
  end
  local variables = { "env -u LD_PRELOAD AICR_RUN_HEARTBEAT=10ms" }
  for name, value in pairs(run.env or {}) do
    variables[#variables + 1] = name .. "=" .. files.quote(value)
  end
  local before = (run.before or ""):gsub("@", run.folder)
  return ("(%s %s spec/support/interrupt %s %s; wait)"):format(before, table.concat(variables, " "),
    files.quote(run.folder), words_of(args))
end

local function listing(folder)
  local pipe = assert(io.popen("ls -A " .. files.quote(folder)))
  local names = {}
  for name in pipe:lines() do
    names[#names + 1] = name
  end
  pipe:close()
  return names
end

local function collect(run)
  local report = run.folder .. "/out/report.json"
  local result = {
    code = math.tointeger(tonumber(files.read(run.folder .. "/code"))),
    stdout = files.read(run.folder .. "/stdout"), stderr = files.read(run.folder .. "/stderr"),
    left = files.read(run.folder .. "/left"), files = listing(run.folder .. "/out"), checks = {},
    report = files.exists(report) and json.decode(files.read(report)) or nil,
  }
  result.captured = run.capture and files.read((run.capture:gsub("@", run.folder)))
  for _, check in ipairs(result.report and result.report.checks or {}) do
    result.checks[check.name] = check
  end
  files.remove(run.folder)
  return result
end

--- Runs all of them, some at a time.
---@param runs table[] args (`@` = the run's folder), signals = {{name, what it waits for}}; before =
--- shell words before the command, env, capture = a file to be read at the end
---@return table[] {code=, stdout=, stderr=, report=, checks=, left= processes, files= names beside
--- the report, captured=}
function M.all(runs)
  local results = {}
  for first = 1, #runs, BATCH do
    local commands, last = {}, math.min(first + BATCH - 1, #runs)
    for i = first, last do
      commands[#commands + 1] = prepare(runs[i]) .. " &"
    end
    assert(os.execute(table.concat(commands, " ") .. " wait"))
    for i = first, last do
      results[i] = collect(runs[i])
    end
  end
  return results
end

return M
