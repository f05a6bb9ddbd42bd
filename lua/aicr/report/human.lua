-- SPDX-License-Identifier: Apache-2.0
--- The report for people (cli-and-reports.md 6).
local curve = require "aicr.report.curve"
local diff = require "aicr.report.diff"
local styles = require "aicr.report.style"
local text = require "aicr.report.text"

local M = {}

local opt = text.opt

local NAME_WIDTH <const> = 26
local DURATION_WIDTH <const> = 6
local PLACE_COLUMN <const> = 65
local EVIDENCE <const> = 20
--- Lines of what does not hold, and names in one of them.
local FINDINGS <const> = 40
local PHRASE <const> = 60
local PHRASE_ROOM <const> = 20

local WORD <const> = { fail = "failed", error = "error" }

local EXIT <const> = {
  [1] = "at least one check failed",
  [3] = "no check failed, but at least one ended without a verdict",
  [4] = "no check was selected, nothing ran",
  [129] = "interrupted (SIGHUP)",
  [130] = "interrupted (SIGINT)",
  [143] = "terminated (SIGTERM)",
}

local Page = {}
Page.__index = Page

function Page:add(line)
  self.last = line:gsub("%s+$", "")
  self[#self + 1] = self.last .. "\n"
end

function Page:blank()
  if self.last and self.last ~= "" then
    self:add("")
  end
end

function Page:take()
  local out = table.concat(self)
  for i = #self, 1, -1 do
    self[i] = nil
  end
  return out
end

--- Printable text in the style's character set.
function Page:show(s)
  return self.style.plain(text.printable(s))
end

--- Text after a prefix, wrapped under itself.
function Page:hang(prefix, prefix_width, s, kind)
  local style = self.style
  local room = style.width and style.width - prefix_width
  for i, line in ipairs(text.wrap(s, room)) do
    local painted = kind and style.paint(kind, line) or line
    self:add((i == 1 and prefix or (" "):rep(prefix_width)) .. painted)
  end
end

--- Several lines of text from outside, each wrapped, behind an indent.
function Page:paragraph(indent, s, kind)
  for _, line in ipairs(text.printable_lines(s)) do
    self:hang((" "):rep(indent), indent, self.style.plain(line), kind)
  end
end

local function header_parts(page, run)
  local target, parts = run.target, { "aicr-run " .. run.version }
  if opt(target.context) then
    parts[#parts + 1] = page:show(target.context)
  end
  if opt(target.recording) then
    parts[#parts + 1] = "recording " .. page:show(target.recording)
  end
  if opt(target.server_version) then
    parts[#parts + 1] = "Kubernetes " .. page:show(target.server_version)
  end
  if opt(target.platform) then
    local told = opt(target.observed) ~= target.platform and opt(target.platform_from)
    parts[#parts + 1] = page:show(target.platform) .. (told and (" (%s)"):format(told) or "")
  end
  if opt(target.gpu_nodes) then
    local empty = opt(target.gpu_nodes_empty)
    parts[#parts + 1] = ("%s%s, %s"):format(text.count(target.gpu_nodes, "GPU node"),
      empty and (" (%d more labelled, without GPUs)"):format(empty) or "",
      text.count(target.gpus, "GPU"))
  end
  if run.recipe then
    parts[#parts + 1] = "recipe " .. page:show(run.recipe.name)
  end
  return parts
end

local function header(page, run)
  local dot, width = page.style.glyphs.dot, page.style.width
  local line
  for _, part in ipairs(header_parts(page, run)) do
    if not line then
      line = part
    elseif width and text.width(line) + text.width(dot) + text.width(part) > width then
      page:hang("", 0, line)
      line = "  " .. part
    else
      line = line .. dot .. part
    end
  end
  page:hang("", 0, line)
end

--- What makes every answer doubtful stands above all results, also in a quiet report.
local function warnings(page, run)
  if run.target.insecure then
    page:hang("", 0, "WARNING: nothing proves that these answers are the server's: its certificate is not verified "
      .. "(insecure-skip-tls-verify or http:// in the kubeconfig)", "fail")
  end
end

--- True for a result whose message stands in full in a block of its own.
local function wants_detail(result)
  return result.shown == "fail" or result.shown == "error"
end

local function plain_phrase(result)
  if result.shown == "waived" then
    return ("waived until %s: %s (failed: %s)"):format(result.waived.expires, result.waived.reason,
      result.result)
  elseif result.outcome == "skip" then
    return ("skipped: %s, %s"):format(result.reason, result.result)
  elseif result.outcome == "error" then
    return ("%s: %s"):format(result.reason, result.result)
  end
  return result.result or ""
end

local function phrase(result)
  local said = plain_phrase(result)
  return result.tries and ("%s (attempt %d)"):format(said, result.attempts) or said
end

--- The phrase of a check's line. A long one is cut where the whole message stands below; a fail
--- then begins with its reason, as an error always does.
local function line_text(page, result)
  local style = page.style
  local line = style.plain(table.concat(text.printable_lines(phrase(result)), " "))
  if not wants_detail(result) or text.width(line) <= PHRASE then
    return line
  elseif result.outcome == "fail" then
    line = ("%s: %s"):format(page:show(result.reason), line)
  end
  return text.shortened(line, PHRASE, style.glyphs.more)
end

local function check_line(page, result, name_width)
  local style, shown = page.style, result.shown
  local glyph = text.pad(style.glyphs[shown], style.glyph_width)
  local name, took = page:show(result.name), text.duration(result.duration_ms)
  local gap = name_width + DURATION_WIDTH - text.width(name) - text.width(took)
  local head = name .. (" "):rep(math.max(gap, 1)) .. took .. "   "
  local indent = 2 + style.glyph_width + 1
  local first = line_text(page, result)
  if style.width and indent + text.width(head) > style.width then
    page:hang("  " .. style.paint(shown, glyph) .. " ", indent, name .. " " .. took)
    page:hang((" "):rep(indent + 2), indent + 2, first)
    return
  end
  local used = indent + text.width(head)
  if style.width and style.width - used < PHRASE_ROOM then
    page:add("  " .. style.paint(shown, glyph) .. " " .. head)
    page:hang((" "):rep(indent + 2), indent + 2, first)
    return
  end
  page:hang("  " .. style.paint(shown, glyph) .. " " .. head, used, first)
end

local function detail_head(page, result)
  local style = page.style
  local glyph = style.glyphs[result.shown]
  local head = ("%s %s  %s  %s"):format(glyph, page:show(result.name), WORD[result.outcome],
    page:show(result.reason))
  local place = result.origin ~= "doctor" and result.file
  if place then
    place = page:show(result.line and ("%s:%d"):format(place, result.line) or place)
    place = result.origin == "built-in" and place .. " (built-in)" or place
  end
  local used = text.width(head)
  if not place or (style.width and used > style.width) then
    page:hang("", 0, head, result.shown)
    if place then
      page:hang("    ", 4, place, "dim")
    end
    return
  end
  head = style.paint(result.shown, head)
  local column = math.max(PLACE_COLUMN, used + 2)
  if style.width and column + text.width(place) > style.width then
    column = math.max(used + 2, style.width - text.width(place))
  end
  if style.width and column + text.width(place) > style.width then
    page:add(head)
    page:hang("    ", 4, place, "dim")
  else
    page:add(head .. (" "):rep(column - used) .. style.paint("dim", place))
  end
end

local function labelled(page, label, s)
  local prefix = "    " .. text.pad(label, 6)
  for i, line in ipairs(text.printable_lines(s)) do
    page:hang(i == 1 and prefix or (" "):rep(10), 10, page.style.plain(line))
  end
end

--- Says how much is left out, and where it is whole.
local function left_out(page, run, n, what, indent)
  if n > 0 then
    page:paragraph(indent, ("%s %d more %s %s"):format(page.style.glyphs.more, n, what,
      run.json_report and "in " .. run.json_report or "with -f json"))
  end
end

--- The last lines of a list.
local function last_lines(page, run, lines, indent)
  left_out(page, run, #lines - EVIDENCE, "lines", indent)
  for i = math.max(1, #lines - EVIDENCE + 1), #lines do
    page:paragraph(indent, lines[i], "dim")
  end
end

local function evidence(page, run, result)
  if #result.evidence > 0 then
    page:blank()
    last_lines(page, run, result.evidence, 4)
  end
end

--- What a check printed, as lines.
local function log_lines(result)
  local lines = {}
  for _, entry in ipairs(result.log) do
    local level = opt(entry.level)
    local label = (level and level ~= "info") and ("log (%s): "):format(level) or "log: "
    for line in (tostring(opt(entry.text) or "") .. "\n"):gmatch("([^\n]*)\n") do
      lines[#lines + 1] = label .. line
    end
  end
  return lines
end

local function findings(page, run, result)
  local compared = text.diff_of(result.details)
  if compared then
    local lines, more = diff.lines(compared, page.style)
    page:blank()
    for _, line in ipairs(lines) do
      page:add(line)
    end
    left_out(page, run, more, more == 1 and "row that differs" or "rows that differ", 6)
    return
  end
  local said = text.findings(result, FINDINGS)
  if #said > 0 then
    page:blank()
    for i = 1, math.min(#said, FINDINGS) do
      page:paragraph(6, said[i])
    end
    left_out(page, run, #said - FINDINGS, "lines", 6)
  end
end

--- The table of a benchmark.
local function table_of(page, result, indent)
  local lines = curve.lines(result, page.style, indent)
  if #lines > 0 then
    page:blank()
  end
  for _, line in ipairs(lines) do
    page:hang((" "):rep(indent), indent, line)
  end
end

local function measure_lines(result)
  local lines = {}
  for i, m in ipairs(result.measures) do
    local line = ("%s %s"):format(text.value(m.name), text.value(m.value))
    if opt(m.unit) then
      line = line .. " " .. m.unit
    end
    if opt(m.limit) then
      line = ("%s, required %s"):format(line, text.limit(m.limit))
    end
    lines[i] = line
  end
  return lines
end

local function see(result)
  if result.reason == "no-cluster" or result.origin == "recipe" or result.origin == "doctor" then
    return nil
  end
  return "aicr-run --explain " .. (result.explain or result.path)
end

-- The name of the check whose block has told the same error whole: a cluster that is out of reach ends all of them.
local function told_before(told, result)
  if result.outcome ~= "error" then
    return nil
  end
  local key = table.concat({ result.reason, result.message, result.why or "", result.fix or "" }, "\0")
  local first = told[key]
  told[key] = first or result.name
  return first
end

local function detail(page, run, result, verbose, told)
  local first = told_before(told, result)
  page:blank()
  detail_head(page, result)
  page:paragraph(4, first and ("the same error as that of %s, above"):format(first) or result.message)
  for _, line in ipairs(result.trace) do
    page:paragraph(6, "in  " .. line, "dim")
  end
  findings(page, run, result)
  table_of(page, result, 4)
  evidence(page, run, result)
  if verbose then
    last_lines(page, run, log_lines(result), 4)
  end
  page:blank()
  if result.why and not first then
    labelled(page, "why", result.why)
  end
  if result.fix and not first then
    labelled(page, "fix", result.fix)
  end
  local more = see(result)
  if more then
    labelled(page, "see", more)
  end
  for _, note in ipairs(result.notes) do
    labelled(page, "note", note)
  end
end

--- What was compared, in lines. What is a measure too is told as that.
local function compared_lines(result)
  local measured, lines = {}, {}
  for _, m in ipairs(result.measures) do
    measured[("%s %s"):format(text.value(m.name), text.value(m.value))] = true
  end
  for _, e in ipairs(result.expectations) do
    local what = tostring(opt(e.what) or "value")
    if not e.ok then
      table.move(text.expectation(e), 1, 2, #lines + 1, lines)
    elseif not measured[("%s %s"):format(what, text.value(e.actual))] then
      lines[#lines + 1] = ("%s: %s %s %s"):format(what, text.quoted(e.actual), opt(e.op) or "==",
        text.quoted(e.expected))
    end
  end
  return lines
end

local function passing_detail(page, run, result)
  table_of(page, result, 8)
  last_lines(page, run, result.evidence, 8)
  last_lines(page, run, compared_lines(result), 8)
  last_lines(page, run, log_lines(result), 8)
  for _, note in ipairs(result.notes) do
    page:paragraph(8, "note: " .. note, "dim")
  end
end

local TOTALS <const> = {
  { "pass", "passed", "passed" }, { "fail", "failed", "failed" }, { "error", "error", "errors" },
  { "waived", "waived", "waived" }, { "skip", "skipped", "skipped" },
}

--- `5 checks: 4 passed, 1 skipped`
function M.counts(totals)
  local parts = {}
  for _, row in ipairs(TOTALS) do
    if totals[row[1]] > 0 then
      parts[#parts + 1] = text.count(totals[row[1]], row[2], row[3])
    end
  end
  local head = text.count(totals.checks, "check")
  return #parts == 0 and head or head .. ": " .. table.concat(parts, ", ")
end

local function exit_reason(run)
  if run.exit_code == 1 and run.totals.fail == 0 then
    return "a check was skipped or waived, and --strict counts that as a failure"
  elseif run.exit_code == 3 and run.totals.error == 0 then
    return run.unrecorded and "the recording is not whole" or "a report could not be written"
  end
  return EXIT[run.exit_code]
end

local function closing(page, run)
  local dot, totals = page.style.glyphs.dot, run.totals
  page:blank()
  local took = text.duration(run.stop - run.start)
  page:hang("", 0, M.counts(totals) .. dot .. took .. dot .. ("seed %s"):format(run.seed))
  if totals.checks > 0 and totals.pass + totals.fail + totals.error == 0 and not run.strict then
    page:hang("", 0, "note: nothing was verified. Use --strict to make this a failure.")
  end
  for _, note in ipairs(run.notes) do
    page:hang("", 0, page:show("note: " .. note))
  end
  if run.exit_code ~= 0 then
    page:hang("", 0, ("exit %d: %s"):format(run.exit_code, exit_reason(run)))
  end
end

local Report = {}
Report.__index = Report

--- The line of a check that ended, below its phase.
function Report:result(result)
  local page, options = self.page, self.options
  if options.quiet and not wants_detail(result) then
    return
  end
  if result.phase ~= self.phase then
    self.phase = result.phase
    page:blank()
    page:add(page.style.paint("bold", result.phase))
  end
  check_line(page, result, self.name_width)
  if options.verbose and not wants_detail(result) then
    passing_detail(page, self.run, result)
    last_lines(page, self.run, measure_lines(result), 8)
  end
end

--- The details of what went wrong, the totals and the notes.
--- @param run table the result model
function Report:close(run)
  local told = {}
  for _, result in ipairs(run.results) do
    if wants_detail(result) then
      detail(self.page, run, result, self.options.verbose, told)
    end
  end
  closing(self.page, run)
end

--- The text since the last call.
function Report:take()
  return self.page:take()
end

--- Begins a report that can be written while the checks run.
--- @param run table version, target, recipe
--- @param names table the names of the checks that will be shown
--- @param options table terminal (utf8, color, width), quiet, verbose
function M.open(run, names, options)
  local page = setmetatable({ style = styles.new(options.terminal) }, Page)
  if not options.quiet then
    header(page, run)
  end
  warnings(page, run)
  local width = NAME_WIDTH
  for _, name in ipairs(names) do
    width = math.max(width, text.width(page:show(name)) + 1)
  end
  return setmetatable({ page = page, run = run, options = options, name_width = width }, Report)
end

--- The text of the whole report.
--- @param run table the result model
--- @param options table as for open
function M.render(run, options)
  local names = {}
  for i, result in ipairs(run.results) do
    names[i] = result.name
  end
  local report = M.open(run, names, options)
  for _, result in ipairs(run.results) do
    report:result(result)
  end
  report:close(run)
  return report:take()
end

return M
