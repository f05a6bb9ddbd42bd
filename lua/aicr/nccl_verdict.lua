-- SPDX-License-Identifier: Apache-2.0
--- From what a benchmark wrote to the figure to judge it by, or to why there is none (nccl-benchmark.md 5.4 rules 7 and
--- 8, design 13). The table in the log decides; where it is missing or cut, the termination message. What was measured
--- and is wrong comes back as a fault for `ctx:fail`; what could not be measured is raised, and is no verdict.
---
--- `details.subject` says what it was: `launch`, `correctness`, `transport`, `wiring` or `speed`.
local errors = require "aicr.native.error"
local hints = require "aicr.nccl_hints"
local nccl = require "aicr.nccl"
local table_rows = require "aicr.nccl_runtime.rows"
local text = require "aicr.native.text"

local M = {}

local OP <const> = "all_reduce"
-- What the benchmark that we start is of, and bytes of a value; it prints the bytes of whole values.
local TYPE <const>, REDOP <const>, FLOAT <const> = "float", "sum", 4
-- The launcher writes the last 3900 bytes of its rows, and blanks at their ends were trimmed: of about as many the
-- first row may be cut.
local MESSAGE_MAX <const> = 3800

-- The row to judge by. A mean of the cycles of `-N` would hide one that was slow.
local function select_row(run)
  return nccl.select(run, { repeats = "slowest" })
end

--- A fault or an error about a subject, with a hint where the log shows a signature.
local function about(subject, reason, message, hint)
  return {
    code = "INTERNAL", reason = reason, details = { subject = subject, hint = hint and hint.code },
    message = ("%s: %s%s"):format(subject, message, hint and ("; %s (%s): %s"):format(hint.cause, hint.code, hint.line)
      or ""),
  }
end

local function undecided(subject, reason, log, fmt, ...)
  errors.raise(about(subject, reason, fmt:format(...), hints.of(log)))
end

local function size_text(bytes)
  local units, n = { "", "K", "M", "G", "T" }, 1
  while bytes >= 1024 and bytes % 1024 == 0 and n < #units do
    bytes, n = bytes // 1024, n + 1
  end
  return bytes .. units[n]
end

M.size_text = size_text

-- The size of the last step of a sweep that doubles.
local function last_step(first, last)
  while first > 0 and first <= last // 2 do
    first = first * 2
  end
  return first
end

-- The whole rows of a termination message, whether it says that the benchmark's own floor was missed, and its average.
-- It has no column header, and its front may be cut.
local function message_rows(message)
  if not message or message == "" then
    return {}, false, nil
  elseif #message >= MESSAGE_MAX then
    message = message:match "^[^\n]*\n(.*)$" or ""
  end
  -- It was trimmed: its last line is whole.
  local runs = nccl.parse(message .. "\n", { lenient = true, op = OP }).runs
  local rows, missed, average = {}, false, nil
  for _, run in ipairs(runs) do
    missed, average = missed or run.bw_status == "FAILED", run.avg_busbw or average
    for _, row in ipairs(run.rows) do
      rows[#rows + 1] = row.ip and row or nil
    end
  end
  return rows, missed, average
end

local function finite(value)
  return value == value and value < math.huge
end

-- The figure of the largest size of such rows, nil when there is none: the slowest of its repeats.
local function message_figure(rows, average)
  local found
  for _, row in ipairs(rows) do
    local oop = row.oop
    if not found or row.size > found.size or row.size == found.size and oop.busbw < found.busbw then
      found = {
        size = row.size, busbw = oop.busbw, algbw = oop.algbw, time_us = oop.time_us, wrong = oop.wrong,
        type = row.type, redop = row.redop, root = row.root, from = "termination message", average = average,
      }
    end
  end
  return found
end

-- How many values of the rows are wrong, and the size at which the first of them is.
local function wrong_values(rows)
  local total, first = 0, nil
  for _, row in ipairs(rows) do
    for _, figures in ipairs { row.oop, row.ip } do
      local wrong = figures.wrong or 0
      first = first or wrong > 0 and row.size or nil
      total = total + math.min(wrong, math.maxinteger - total)
    end
  end
  return total, first
end

local function check_correct(run, rows)
  local wrong, first = wrong_values(run and run.wrong_total > 0 and run.rows or rows)
  wrong = math.max(wrong, run and run.wrong_total or 0)
  local oob = run and run.oob
  if wrong == 0 and not (oob and (oob.count > 0 or oob.status ~= "OK")) then
    return nil
  end
  return about("correctness", "wrong-values", wrong > 0 and ("the all-reduce gave %d wrong values%s"):format(wrong,
    first and ", first at " .. size_text(first) or "")
    or ("the all-reduce gave values out of bounds: %d %s"):format(oob.count, text.printable(oob.status)))
end

local function has_warning(run, code)
  for _, warning in ipairs(run.warnings) do
    if warning.code == code then
      return true
    end
  end
  return false
end

local function lost_rows(runs)
  for _, run in ipairs(runs) do
    if has_warning(run, "too-many-rows") then
      return true
    end
  end
  return false
end

-- Was it the benchmark that was asked for, on as many ranks?
local function check_launch(run, log, asked)
  if run.op and run.op ~= OP then
    undecided("launch", "other-collective", log, "the log is of %s, not of %s", text.printable(run.op), OP)
  elseif has_warning(run, "mpi-not-enabled") then
    undecided("launch", "mpi-not-enabled", log, "each process ran alone: the program was not built for MPI, or mpirun's"
      .. " variables did not reach it")
  end
  local ranks = run.group_ranks or run.ranks
  if asked.ranks and ranks and ranks ~= asked.ranks then
    undecided("launch", "rank-count", log, "%d ranks were asked for, the log lists %d", asked.ranks, ranks)
  end
  -- Between the GPUs of one node the number says nothing of the fabric.
  local hosts = #run.hosts
  if run.group_ranks and table_rows.group_hosts(run) == 1 then
    undecided("launch", "host-count", log, "all %d ranks of a group ran on one node", ranks)
  elseif asked.hosts and hosts > 0 and run.ranks_listed == ranks and hosts ~= asked.hosts then
    undecided("launch", "host-count", log, "the ranks were to run on %d nodes, the log lists %d", asked.hosts, hosts)
  end
end

-- What makes a whole table unfit, by the words of `nccl.select`: subject, reason, sentence.
local UNFIT <const> = {
  { "unsupported-format", "launch", "unsupported-format", "the table is of nccl-tests 1.x, which is not read" },
  { "errors", "transport", "benchmark-errors", "the benchmark met errors" },
  { "unvalidated", "correctness", "unvalidated", "the values were not checked (-c 0)" },
  { "interleaved", "launch", "interleaved-runs", "lines of several runs are mixed in the log" },
  { "not-finite", "speed", "not-finite", "the bandwidth is no number" },
  { "inconsistent", "speed", "inconsistent-row", "time, size and bandwidth of the row contradict each other" },
}

local function has(problems, word)
  for _, problem in ipairs(problems) do
    if problem == word then
      return true
    end
  end
  return false
end

-- The first error that the benchmark told of, nil when there is none. A last error of NCCL may stand below the footer
-- of a run that went well.
local function failure_of(run)
  for _, failure in ipairs(run and run.errors or {}) do
    if failure.kind ~= "error" then
      return text.printable(failure.text)
    end
  end
  return nil
end

local function check_sound(run, selection, log)
  for _, row in ipairs(UNFIT) do
    if has(selection.problems, row[1]) then
      undecided(row[2], row[3], log, "%s%s", row[4], row[1] == "errors" and ": " .. (failure_of(run) or "") or "")
    end
  end
end

-- The size that must be reached: what was asked for, else what the log says was.
local function wanted_size(run, selection, asked)
  if asked.max_bytes then
    local bytes = last_step(asked.min_bytes or asked.max_bytes, asked.max_bytes)
    return bytes - bytes % FLOAT
  end
  return selection and selection.requested or run and run.params.max_bytes
end

local function incomplete(run, selection, said, wanted, log)
  local largest = math.max(selection and selection.size or 0, said and said.size or 0)
  if largest == 0 then
    undecided("launch", "no-rows", log, "the log has no row of a whole table")
  elseif not wanted then
    undecided("launch", "incomplete-sweep", log, "the largest size is %s; which was asked for is not known",
      size_text(largest))
  elseif largest >= wanted then
    undecided("launch", "incomplete-sweep", log, "the log ends before the summary of the benchmark")
  end
  local reduced = run and run.params.max_bytes_reduced
  undecided("launch", "incomplete-sweep", log, "the benchmark was to reach %s and ended at %s%s", size_text(wanted),
    size_text(largest), reduced and (": the memory of the GPUs allows %s"):format(size_text(reduced)) or "")
end

local function disagree(log, logged, size, said)
  undecided("launch", "evidence-disagrees", log, "the log says %.2f GB/s at %s, the termination message %.2f GB/s at"
    .. " %s", logged, size_text(size), said.busbw, size_text(said.size))
end

-- Is the row that decides one of an all-reduce on these ranks, and of the sweep that was asked for?
local function check_row(figure, ranks, wanted, log)
  if table_rows.is_other(figure) then
    undecided("launch", "other-collective", log, "the row at %s has root %s and operation %s: it is of no %s",
      size_text(figure.size), figure.root, figure.redop and text.printable(figure.redop), OP)
  elseif not table_rows.has_factor(figure, ranks) then
    undecided("launch", "rank-count", log, "%.2f GB/s of bus bandwidth and %.2f GB/s of bandwidth are not of %s on %s"
      .. " ranks", figure.busbw, figure.algbw, OP, ranks or "any number of")
  elseif figure.size > wanted then
    undecided("launch", "other-sweep", log, "the benchmark was to end at %s, and there is a row of %s",
      size_text(wanted), size_text(figure.size))
  end
end

-- Size, time, algbw and busbw of each size, once: of its slowest repeat.
local function curve_of(rows)
  local curve, slowest = {}, {}
  for _, row in ipairs(rows) do
    local oop, known = row.oop, slowest[row.size]
    if finite(oop.busbw) and finite(oop.algbw) and finite(oop.time_us) and not (known and known.busbw <= oop.busbw) then
      slowest[row.size] = { size = row.size, time_us = oop.time_us, algbw = oop.algbw, busbw = oop.busbw }
    end
  end
  for _, point in pairs(slowest) do
    curve[#curve + 1] = point
  end
  table.sort(curve, function(a, b)
    return a.size < b.size
  end)
  return curve
end

-- Is it the average of a run, or of one that gives none?
local function has_average(runs, average)
  for _, run in ipairs(runs) do
    if run.complete and (run.avg_busbw == nil or run.avg_busbw == average) then
      return true
    end
  end
  return false
end

-- What decides: the log's row when its table is whole, else that of the termination message.
local function choose(run, selection, said, wanted, log, said_rows, runs)
  local in_log = selection and wanted and selection.size >= wanted
  local in_message = said and wanted and said.size >= wanted
  local whole = in_log and not has(selection.problems, "incomplete")
  if selection and in_log and (whole or in_message) then
    check_sound(run, selection, log)
  end
  local stranger, logged = table_rows.stranger(said_rows, runs)
  if in_log and said and said.size > selection.size then
    disagree(log, selection.busbw, selection.size, said)
  elseif stranger then
    disagree(log, logged, stranger.size, { busbw = stranger.oop.busbw, size = stranger.size })
  elseif whole then
    if said and said.average and not has_average(runs, said.average) then
      undecided("launch", "evidence-disagrees", log, "the log says an average of %g GB/s, the termination message %g",
        run.avg_busbw, said.average)
    end
    selection.from = "log"
    return selection
  elseif not in_message then
    incomplete(run, selection, said, wanted, log)
  elseif not said.average then
    undecided("launch", "incomplete-sweep", log, "the termination message has no summary of the benchmark")
  elseif failure_of(run) then
    undecided("transport", "benchmark-errors", log, "the benchmark met errors: %s", failure_of(run))
  elseif said.wrong == nil then
    undecided("correctness", "unvalidated", log, "the values were not checked")
  elseif not finite(said.busbw) then
    undecided("speed", "not-finite", log, "the bandwidth is no number")
  elseif not (run and run.cpu_time) and not table_rows.has_speed(said) then
    undecided("speed", "inconsistent-row", log, "time, size and bandwidth of the row contradict each other")
  end
  return said
end

-- A fault of any run of that log: what a later run got right does not undo it.
local function first_fault(runs, rows)
  for i, run in ipairs(runs) do
    local fault = (run.op == nil or run.op == OP or i == #runs) and check_correct(run, {})
    if fault then
      return fault
    end
  end
  return check_correct(runs[#runs], rows)
end

-- Could both be runs of one benchmark? What a log does not say is no difference.
local function are_alike(a, b)
  return (a.op == nil or b.op == nil or a.op == b.op)
    and (a.group_ranks == nil or b.group_ranks == nil or a.group_ranks == b.group_ranks)
end

-- The run to judge by, and how many there are beside it that reached the size: the last, or a slower one before it.
local function slowest_run(runs, asked, log)
  local last = runs[#runs]
  local selection = last and last.complete and select_row(last)
  local found, slowest, others = last, selection and selection.busbw, 0
  for i = 1, selection and #runs - 1 or 0 do
    local run = runs[i]
    local own = are_alike(run, last) and select_row(run)
    if own and own.size >= (wanted_size(run, own, asked) or math.huge) then
      others = others + 1
      if own.busbw < slowest then
        found, slowest = run, own.busbw
      end
    end
  end
  if found and found ~= last and not found.complete then
    undecided("launch", "incomplete-sweep", log, "an earlier run in the log gave %.2f GB/s, less than the last, and did"
      .. " not end", slowest)
  end
  return found, others
end

-- Is the table of the sweep that was asked for, and are its rows those that the benchmark had?
local function check_rows(figure, run, asked, log)
  local uneven = figure.from == "log" and table_rows.uneven(run.rows, figure.size)
  if uneven then
    undecided("launch", "interleaved-runs", log, "there are %s rows of %s than of any other size", uneven,
      size_text(figure.size))
  end
  local what, found, wanted = table_rows.other_sweep(run or { params = {} }, asked)
  if what then
    undecided("launch", "other-sweep", log, "the benchmark says that its %s is %d, and %d was asked for", what, found,
      wanted)
  elseif asked.max_bytes and (figure.type ~= TYPE or figure.redop ~= REDOP) then
    undecided("launch", "other-sweep", log, "the row at %s is of %s %s, and %s %s was asked for",
      size_text(figure.size), text.printable(figure.type), text.printable(tostring(figure.redop)), TYPE, REDOP)
  end
end

-- Are the rows that were read those of which the benchmark gives the average?
local function check_average(run, asked, log)
  local mean = table_rows.other_average(run, asked.min_bytes or run.params.min_bytes)
  if mean then
    undecided("speed", "inconsistent-row", log, "the rows have an average of %.2f GB/s, and the benchmark says %.2f",
      mean, run.avg_busbw)
  end
end

-- What the table as a whole says against its row.
local function check_table(run, runs, log)
  local unit = table_rows.foreign_unit(log)
  if unit then
    undecided("launch", "unsupported-format", log, "the table has the unit %s, not us and GB/s", text.printable(unit))
  elseif run and run.ranks_listed == 0 and table_rows.have_ranks(runs) then
    undecided("launch", "interleaved-runs", log, "the ranks that the log lists are not of the table that is judged")
  end
end

local function below_own_floor(figure)
  return about("speed", "below-own-floor", ("%.2f GB/s at %s, and the benchmark's own floor (NCCL_TESTS_MIN_BW) was not"
    .. " reached"):format(figure.busbw, size_text(figure.size)))
end

--- The figure to judge by: `{busbw, algbw, time_us, size, type, redop, from = "log" or "termination message", ranks,
--- hosts, network, others, curve}`; or nil and a fault `{code, reason, message, details}`, reasons `wrong-values`,
--- `below-own-floor`. Raises
--- INTERNAL, no verdict: `no-rows`, `incomplete-sweep`, `evidence-disagrees`, `other-collective`, `mpi-not-enabled`,
--- `rank-count`, `host-count`, `unsupported-format`, `benchmark-errors`, `unvalidated`, `interleaved-runs`,
--- `not-finite`, `inconsistent-row`, `other-sweep`.
---@param log string
---@param termination string|nil
---@param asked {min_bytes: integer|nil, max_bytes: integer|nil, ranks: integer|nil, hosts: integer|nil} nil: what the
--- log says
---@return table|nil figure
---@return table|nil fault
function M.read(log, termination, asked)
  -- A log that does not name its operation is held to the figures of this one.
  local result, rows, missed, average = nccl.parse(log, { op = OP, debug = true }), message_rows(termination)
  local fault = first_fault(result.runs, rows)
  if fault then
    return nil, fault
  elseif has_warning(result, "too-many-runs") or lost_rows(result.runs) then
    undecided("launch", "interleaved-runs", log, "the log has more runs or rows than are read")
  end
  local run, others = slowest_run(result.runs, asked, log)
  if run then
    check_launch(run, log, asked)
  end
  local selection, said = run and select_row(run), message_figure(rows, average)
  local wanted = wanted_size(run, selection, asked)
  local figure = choose(run, selection, said, wanted, log, rows, result.runs)
  check_table(run, result.runs, log)
  check_rows(figure, run, asked, log)
  check_row(figure, run and (run.group_ranks or run.ranks) or asked.ranks, wanted, log)
  if figure.from == "log" then
    check_average(run, asked, log)
  end
  if run and run.bw_status == "FAILED" or missed then
    return nil, below_own_floor(figure)
  end
  figure.ranks = run and (run.group_ranks or run.ranks)
  figure.hosts = run and #run.hosts or 0
  figure.evidence = result.evidence
  figure.network = result.evidence and result.evidence.network
  figure.others = others
  figure.curve = curve_of(figure.from == "log" and run.rows or rows)
  return figure
end

-- A curve that still rises has not seen what the fabric can do.
local function still_rises(curve)
  local last, before = curve[#curve], curve[#curve - 1]
  return before and last.size == 2 * before.size and last.busbw > 1.05 * before.busbw
end

--- What a slow benchmark points at: `{code, cause, action, line}`, nil when nothing does.
---@param figure table of `read`
---@param log string
---@param look string|nil where to look on this platform when its fabric is not used
---@return table|nil
function M.why_slow(figure, log, look)
  local hint = hints.of(log, { slow = true, look = look })
  if not hint and still_rises(figure.curve) then
    hint = {
      code = "small-max", cause = "the bandwidth still rises at the largest size: the sweep is too short",
      action = "--set nccl-all-reduce-bw.max_size=16G", line = "",
    }
  end
  return hint
end

local function points(curve, name)
  local list = {}
  for i, row in ipairs(curve) do
    list[i] = { row.size, row[name] }
  end
  return list
end

local function describe(figure)
  local words = {}
  if figure.ranks then
    words[1] = ("%d ranks on %d nodes"):format(figure.ranks, figure.hosts)
  end
  words[#words + 1] = figure.type
  words[#words + 1] = figure.redop ~= "" and figure.redop or nil
  words[#words + 1] = figure.network and "transport " .. text.printable(figure.network)
  words[#words + 1] = "out-of-place"
  return table.concat(words, " · ")
end

--- Records the figure and its curve, and expects it to reach the floor (gke-tcpxo.md 5.8): not more than `tolerance`, a
--- share, below it.
---@param ctx aicr.ctx
---@param figure table of `read`
---@param log string
---@param want {floor: number, text: string, tolerance: number, image: string|nil, wired: boolean|nil, look: string|nil}
--- text: the floor as it was written; wired: the wiring was looked at; look: where to look on this platform
---@return string phrase
function M.measure(ctx, figure, log, want)
  ctx:series("time", "bytes", "µs", points(figure.curve, "time_us"))
  ctx:series("algbw", "bytes", "GB/s", points(figure.curve, "algbw"))
  ctx:series("busbw", "bytes", "GB/s", points(figure.curve, "busbw"))
  ctx:evidence("%s", describe(figure))
  if not figure.ranks then
    ctx:evidence("ranks and nodes were not seen in the log")
  end
  if (figure.others or 0) > 0 then
    ctx:evidence("the log has %d whole runs; the slowest is judged", figure.others + 1)
  end
  if (figure.repeats or 1) > 1 then
    ctx:evidence("%s was measured %d times; the slowest is judged", size_text(figure.size), figure.repeats)
  end
  local image = want.image and (" (runtime image: %s)"):format(want.image) or ""
  ctx:evidence("%.2f GB/s%s at %s, by the %s; constraint %s", figure.busbw, image, size_text(figure.size), figure.from,
    text.printable(want.text))
  local hint = M.why_slow(figure, log, want.look)
  local over = figure.over and text.printable(figure.over)
  ctx:measure("busbw", figure.busbw, "GB/s", {
    op = ">=", value = math.tointeger(want.floor) or want.floor, tolerance = want.tolerance, code = "INTERNAL",
    reason = "below-floor", fix = hint and hint.action or want.look,
    why = ("speed: %slaunch and values were sound%s"):format(want.wired and "wiring, "
      or over and ("transport (%s), "):format(over) or "", hint and ("; %s (%s)"):format(hint.cause, hint.code) or ""),
  })
  return ("%.2f GB/s%s%s, %s required"):format(figure.busbw, over and " over " .. over or "", image,
    text.printable(want.text))
end

--- What an earlier start of a launcher that was started again says against the figure of its last: a fault, nil. Raises
--- INTERNAL/`incomplete-sweep`, no verdict, where it was slower.
---@param before string the log of that start
---@param figure table of `read`
---@return table|nil fault
function M.of_start(before, figure)
  local runs = nccl.parse(before, { op = OP }).runs
  local fault = first_fault(runs, {})
  for _, run in ipairs(runs) do
    local own = not fault and select_row(run)
    if own and run.bw_status == "FAILED" then
      fault = below_own_floor(own)
    elseif own and own.size >= figure.size and own.busbw < figure.busbw then
      undecided("launch", "incomplete-sweep", before, "an earlier start of the launcher gave %.2f GB/s at %s, less than"
        .. " the last, and failed", own.busbw, size_text(own.size))
    end
  end
  return fault
end

--- What a launcher that did not succeed says of itself: a fault when its log shows wrong values; else nil and the
--- error, with the subject and a hint, to be raised.
---@param err aicr.Error of `training.run`
---@param log string|nil
---@return table|nil fault
---@return table fields for `errors.raise`
function M.of_failure(err, log)
  if log then
    local fault = first_fault(nccl.parse(log, { lenient = true, op = OP }).runs, {})
    if fault then
      return fault, {}
    end
  end
  local hint = log and hints.of(log)
  local fields = about("launch", err.reason, err.message, hint)
  fields.code, fields.cause, fields.verdict = err.code, err.cause, err.verdict
  return nil, fields
end

return M
