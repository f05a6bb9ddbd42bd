-- SPDX-License-Identifier: Apache-2.0
--- Writes the reports of a run where they are wanted: files first, then stdout.
local formats = require "aicr.report.formats"
local message = require "aicr.engine.message"
local result = require "aicr.engine.result"

local M = {}

--- @param signal string|nil the one that ended it: that counts for the run
local function failed(host, run, name, why, signal)
  run.unwritten = true
  run.signal = run.signal or signal
  run.exit_code = result.exit_code(run.totals, run)
  host.write("stderr", message.format(("cannot write the report %s: %s"):format(name, why
    or "no reason given")))
end

--- True when stdout gets the human report line by line, as checks end: on a terminal.
function M.streams(reports, terminal)
  return reports.format == "human" and terminal.stdout_tty == true
end

--- Writes all reports. One that cannot be written makes the exit code say so.
--- @param host table the border
--- @param reports table of formats.parse
--- @param run table the result model
--- @param options table terminal, quiet, verbose
--- @param watch table|nil the watch that streamed the human report
function M.write(host, reports, run, options, watch)
  local plain = { terminal = { utf8 = true }, quiet = options.quiet, verbose = options.verbose }
  run.json_report = reports.json_file
  for _, output in ipairs(reports.outputs) do
    local ok, why, signal = host.write(output.file, formats.render(output.format, run, plain))
    if not ok then
      failed(host, run, output.file, why, signal)
    end
  end
  local ok, why
  if watch and watch.report then
    ok, why = watch:close(run)
  else
    ok, why = host.write("-", formats.render(reports.format, run, options))
  end
  if not ok then
    failed(host, run, "to stdout", why)
  end
end

return M
