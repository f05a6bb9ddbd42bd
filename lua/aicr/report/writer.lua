-- SPDX-License-Identifier: Apache-2.0
--- Writes the reports of a run where they are wanted: files first, then stdout.
local formats = require "aicr.report.formats"
local message = require "aicr.engine.message"
local rbac = require "aicr.engine.rbac"
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

--- Shows on stderr what could not be written where it was wanted, so that no result is lost: not again what a file has.
--- @param lost table list of {name, format}
--- @param kept table format -> the file that has it
local function show_lost(host, run, lost, kept, plain)
  for _, report in ipairs(lost) do
    local file = kept[report.format]
    if file then
      host.write("stderr", message.format(("that report is whole in %s"):format(file)))
    else
      kept[report.format] = "what follows"
      host.write("stderr", message.format(("the %s report that could not be written follows"):format(report.format)))
      host.write("stderr", formats.render(report.format, run, plain))
    end
  end
end

--- Says before the first check which reports could not be written: there is time to mend it until the end.
--- @param host table the border
--- @param reports table of formats.parse
function M.warn(host, reports)
  for _, output in ipairs(reports.outputs) do
    local ok, why = host.can_write(output.file)
    if not ok then
      local folder = output.file:match "^(.*)/[^/]*$"
      local missing = folder and folder ~= "" and not host.real_path(folder)
      host.write("stderr", message.format {
        what = ("warning: --output %s: as it is now the report cannot be written: %s; it would be shown here"):format(
          output.file, why or "no reason given"),
        fix = missing and "mkdir -p " .. rbac.shell(folder) .. ", before the run ends"
          or "name a file in a folder that you may write to and that has room: --output [FMT:]FILE",
      })
    end
  end
end

--- Writes all reports. One that cannot be written makes the exit code say so.
--- @param host table the border
--- @param reports table of formats.parse
--- @param run table the result model
--- @param options table terminal, quiet, verbose
--- @param watch table|nil the watch that streamed the human report
function M.write(host, reports, run, options, watch)
  local plain = { terminal = { utf8 = true }, quiet = options.quiet, verbose = options.verbose }
  local lost, kept = {}, {}
  run.json_report = reports.json_file
  for _, output in ipairs(reports.outputs) do
    local ok, why, signal = host.write(output.file, formats.render(output.format, run, plain))
    if ok then
      kept[output.format] = output.file
    else
      failed(host, run, output.file, why, signal)
      lost[#lost + 1] = output
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
    lost[#lost + 1] = reports
  end
  show_lost(host, run, lost, kept, plain)
end

return M
