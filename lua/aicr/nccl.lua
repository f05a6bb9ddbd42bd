-- SPDX-License-Identifier: Apache-2.0
--- Logs of nccl-tests and of NCCL (nccl-benchmark.md 5 and 7). The shapes stand in
--- lua/aicr/meta/nccl.lua.
local errors = require "aicr.native.error"
local native = require "aicr.native.nccl"

local M = {}

-- Longest text that is given as a whole, in bytes (nccl-benchmark.md 5.4, rule 9).
local TEXT_MAX <const> = 64 << 20

local function read(source, opts)
  local parser <close> = native.parser(opts)
  if type(source) ~= "string" then
    for chunk in source do
      native.feed(parser, chunk)
    end
  elseif #source > TEXT_MAX then
    errors.raise {
      code = "INVALID_REQUEST", reason = "too-large",
      message = ("the text has %d bytes, over the %d that are read; give a function that reads it in"
        .. " chunks"):format(#source, TEXT_MAX),
    }
  else
    native.feed(parser, source)
  end
  return native.finish(parser)
end

--- Reads the text output of nccl-tests. Raises INVALID_REQUEST/`too-large` for a text over 64 MiB.
---@param source aicr.nccl.Source
---@param opts? aicr.nccl.ParseOpts
---@return aicr.nccl.Result
function M.parse(source, opts)
  return read(source, opts)
end

--- Reads a file of nccl-tests' `-J`. Raises INVALID_REQUEST/`too-large`.
---@param text string
---@return aicr.nccl.Result
function M.parse_json(text)
  return native.parse_json(text)
end

--- What NCCL_DEBUG lines say of the transport.
---@param source aicr.nccl.Source
---@return aicr.nccl.Evidence
function M.parse_debug(source)
  return read(source, { debug = true }).evidence
end

--- Bandwidths of a collective (nccl-benchmark.md 2.1).
---@param op string
---@param bytes integer as nccl-tests prints it
---@param seconds number above 0
---@param ranks integer
---@return number algbw
---@return number busbw
function M.busbw(op, bytes, seconds, ranks)
  return native.busbw(op, bytes, seconds, ranks)
end

-- The choice of a row.

local PLACEMENTS <const> = { oop = true, ip = true, worst = true }
local REPEATS <const> = { median = true, slowest = true }

local function median(values)
  table.sort(values)
  local n = #values
  return n % 2 == 1 and values[n // 2 + 1] or (values[n // 2] + values[n // 2 + 1]) / 2
end

local function wanted(row, opts)
  return not row.truncated and (opts.size == nil or row.size == opts.size)
    and (opts.type == nil or row.type == opts.type)
    and (opts.redop == nil or row.redop == opts.redop)
    and (opts.root == nil or row.root == opts.root)
end

-- The whole rows of the largest size, in groups that differ in type, operation or root.
local function groups_of(rows, opts)
  local largest
  for _, row in ipairs(rows) do
    if wanted(row, opts) and (not largest or row.size > largest) then
      largest = row.size
    end
  end
  local groups, by_key = {}, {}
  for _, row in ipairs(rows) do
    if wanted(row, opts) and row.size == largest then
      local key = ("%s %s %s"):format(row.type, row.redop, row.root)
      if not by_key[key] then
        by_key[key] = {}
        groups[#groups + 1] = by_key[key]
      end
      table.insert(by_key[key], row)
    end
  end
  return groups
end

-- The row of the least bandwidth; of one whose bandwidth is no number before all others.
local function slowest_row(group, placement)
  local found
  for _, row in ipairs(group) do
    local busbw, least = row[placement].busbw, found and found[placement].busbw
    if busbw ~= busbw then
      return row
    elseif not found or busbw < least then
      found = row
    end
  end
  return found
end

-- nil when a repeat has no figures there.
local function figures_of(group, placement, repeats)
  local columns = { busbw = {}, algbw = {}, time_us = {} }
  local wrong, finite = 0, true
  for i, row in ipairs(group) do
    local figures = row[placement]
    if not figures then
      return nil
    end
    for name, values in pairs(columns) do
      local value = figures[name]
      if value ~= value or value == math.huge then
        finite, value = false, 0.0
      end
      values[i] = value
    end
    wrong = wrong and figures.wrong and wrong + math.min(figures.wrong, math.maxinteger - wrong)
  end
  local one = repeats == "slowest" and slowest_row(group, placement)
  for name, values in pairs(columns) do
    columns[name] = one and one[placement][name] or median(values)
  end
  local first = one or group[1]
  return {
    size = first.size, type = first.type, redop = first.redop, root = first.root, line = first.line,
    placement = placement, repeats = #group, wrong = wrong, finite = finite,
    busbw = columns.busbw, algbw = columns.algbw, time_us = columns.time_us,
  }
end

local function slowest(groups, placement, repeats)
  local found
  for _, group in ipairs(groups) do
    for _, at in ipairs(placement == "worst" and { "oop", "ip" } or { placement }) do
      local figures = figures_of(group, at, repeats)
      if figures and (not found or figures.busbw < found.busbw) then
        found = figures
      end
    end
  end
  return found
end

-- The size that the last step of the sweep asks for.
local function last_step(params)
  local first, last = params.min_bytes, params.max_bytes
  if not first or not last or last < first then
    return nil
  end
  local factor, step = params.step_factor, params.step_bytes
  if factor and factor > 1 and first > 0 then
    local size = first
    while size <= last // factor do
      size = size * factor
    end
    return size
  elseif step and step > 0 then
    return first + (last - first) // step * step
  end
  return last
end

local function requested(run, selection)
  local bytes = last_step(run.params)
  return bytes and native.printed_size(run.op, bytes, selection.type, run.group_ranks or run.ranks)
end

local function has_warning(run, code)
  for _, warning in ipairs(run.warnings) do
    if warning.code == code then
      return true
    end
  end
  return false
end

-- A last error of NCCL may stand below the footer of a run that went well.
local function has_failed(run)
  for _, failure in ipairs(run.errors) do
    if failure.kind ~= "error" then
      return true
    end
  end
  return false
end

local function any_inconsistent(run, selection)
  for _, row in ipairs(run.rows) do
    if row.size == selection.size and row.inconsistent then
      return true
    end
  end
  return false
end

local function problems_of(run, s, finite)
  local oob, average = run.oob, run.avg_busbw
  local rows <const> = {
    { "unsupported-format", run.format == "unsupported" or run.format == nil },
    { "incomplete", not run.complete },
    { "errors", has_failed(run) },
    { "wrong-data", run.wrong_total > 0 or (oob ~= nil and (oob.status ~= "OK" or oob.count > 0)) },
    { "unvalidated", not s.validated },
    { "not-reached", not s.reached },
    { "not-finite", not finite or (average ~= nil and (average ~= average or average == math.huge)) },
    { "inconsistent", any_inconsistent(run, s) },
    { "interleaved", has_warning(run, "interleaved-runs") or has_warning(run, "mpi-not-enabled") },
    { "low-bandwidth", run.bw_status == "FAILED" },
  }
  local problems = {}
  for _, row in ipairs(rows) do
    if row[2] then
      problems[#problems + 1] = row[1]
    end
  end
  return problems
end

--- Chooses the row to judge a run by (nccl-benchmark.md 5.4, rules 7 and 8).
---@param run aicr.nccl.Run
---@param opts? aicr.nccl.SelectOpts
---@return aicr.nccl.Selection? nil when there is no whole row
function M.select(run, opts)
  opts = opts or {}
  local placement = opts.placement or "oop"
  if not PLACEMENTS[placement] then
    error(("placement must be oop, ip or worst, not %s"):format(tostring(placement)), 2)
  elseif opts.repeats ~= nil and not REPEATS[opts.repeats] then
    error(("repeats must be median or slowest, not %s"):format(tostring(opts.repeats)), 2)
  end
  local s = slowest(groups_of(run.rows, opts), placement, opts.repeats)
  if not s then
    return nil
  end
  local finite = s.finite
  s.finite = nil
  s.validated = s.wrong ~= nil and run.params.validation ~= 0
  s.requested = requested(run, s)
  s.reached = s.requested ~= nil and s.size >= s.requested
  s.problems = problems_of(run, s, finite)
  return s
end

return M
