-- SPDX-License-Identifier: Apache-2.0
--- Runs the built program (environment AICR_RUN) as a user does.
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

--- Runs it with those arguments.
---@param args string[]
---@param how? table env: variables to set; before: words before the command; stdout: what stands
--- in the place of ">FILE", such as ">&-" or "| true" (code is then that of the pipe); terminal:
--- columns of a terminal that stdout then is (line ends become \r\n); live: stderr is that terminal too
---@return table {code=, stdout=, stderr=}
function M.run(args, how)
  how = how or {}
  local folder = files.folder()
  local words = { files.quote(assert(os.getenv "AICR_RUN", "AICR_RUN is not set")) }
  for i, arg in ipairs(args) do
    words[i + 1] = files.quote(arg)
  end
  local command = (how.before and how.before .. " " or "") .. table.concat(words, " ")
  local variables = ""
  for name, value in pairs(how.env or {}) do
    variables = ("%s %s=%s"):format(variables, name, files.quote(value))
  end
  -- The sanitizer's runtime is for the interpreter; the program has its own.
  local env = "env -u LD_PRELOAD" .. variables
  if how.terminal then
    command = ("stty cols %d && %s %s"):format(how.terminal, command,
      how.live and "" or ("2>%s/err"):format(folder))
    command = ("%s script -qec %s /dev/null >%s/out"):format(env, files.quote(command), folder)
  else
    command = ("%s %s 2>%s/err %s"):format(env, command, folder, how.stdout or (">%s/out"):format(folder))
  end
  local _, ending, code = os.execute(command .. " </dev/null")
  local result = {
    code = code,
    stdout = files.exists(folder .. "/out") and files.read(folder .. "/out") or "",
    stderr = files.exists(folder .. "/err") and files.read(folder .. "/err") or "",
  }
  files.remove(folder)
  assert(ending == "exit", ("ended by signal %s: %s"):format(code, result.stderr))
  return result
end

--- Runs it with `-f json` and decodes the report.
---@param args string[]
---@return table report with .exit the exit code
function M.report(args)
  local words = table.move(args, 1, #args, 3, { "-f", "json" })
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
