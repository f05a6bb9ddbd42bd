-- SPDX-License-Identifier: Apache-2.0
--- A folder of checks made for one spec, and the program run over it on a recording.
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"

--- The text of a check.
---@param name string
---@param body string what `run` does
---@param fields? string further fields, each closed by a comma
---@return string
function M.check(name, body, fields)
  return ('return {\n  name = "%s", phase = "deployment", summary = "It is so", %s\n'
    .. "  run = function(ctx)\n    %s\n  end,\n}\n"):format(name, fields or "", body)
end

--- Calls f with a fresh folder that holds those files.
---@param contents table name → text
---@param f function(folder)
function M.with(contents, f)
  return files.with_folder(function(folder)
    for name, text in pairs(contents) do
      files.write(folder .. "/" .. name, text)
    end
    return f(folder)
  end)
end

--- Runs the program on the recording with a JSON report beside stdout.
---@param args string[]
---@param how? table of binary.run
---@return table {code=, stdout=, stderr=, report=, checks = name → result}
function M.run(args, how)
  return M.with({}, function(folder)
    local report = folder .. "/report.json"
    local words = { "--recording", RECORDING, "-o", report, table.unpack(args) }
    local result = binary.run(words, how)
    result.report = files.exists(report) and json.decode(files.read(report)) or nil
    result.checks = {}
    for _, check in ipairs(result.report and result.report.checks or {}) do
      result.checks[check.name] = check
    end
    return result
  end)
end

return M
