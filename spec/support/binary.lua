-- SPDX-License-Identifier: Apache-2.0
--- Runs the built program (environment AICR_RUN) as a user does.
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

--- Runs it with those arguments.
---@param args string[]
---@return table {code=, stdout=, stderr=}
function M.run(args)
  local folder = files.folder()
  local words = { files.quote(assert(os.getenv "AICR_RUN", "AICR_RUN is not set")) }
  for i, arg in ipairs(args) do
    words[i + 1] = files.quote(arg)
  end
  local command = ("%s >%s/out 2>%s/err </dev/null"):format(table.concat(words, " "), folder, folder)
  local _, how, code = os.execute(command)
  local result = {
    code = code, stdout = files.read(folder .. "/out"), stderr = files.read(folder .. "/err"),
  }
  files.remove(folder)
  assert(how == "exit", ("ended by signal %s: %s"):format(code, result.stderr))
  return result
end

--- Runs it with `-f json` and decodes the report.
---@param args string[]
---@return table report with .exit the exit code
function M.report(args)
  local words = table.move(args, 1, #args, 1, {})
  words[#words + 1] = "-f"
  words[#words + 1] = "json"
  local result = M.run(words)
  assert(result.stdout ~= "", "no report; exit " .. result.code .. ": " .. result.stderr)
  local report = json.decode(result.stdout)
  report.exit = result.code
  return report
end

--- The result of one check in a report.
---@param report table
---@param name string
---@return table
function M.check(report, name)
  for _, check in ipairs(report.checks) do
    if check.name == name then
      return check
    end
  end
  error("no check " .. name .. " in the report")
end

return M
