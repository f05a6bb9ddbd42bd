-- SPDX-License-Identifier: Apache-2.0
--- Whether rows of a benchmark's table are what they are taken for: of this collective, of as many ranks, and of one
--- table (nccl-benchmark.md 2.1, 5.4 rule 6). Pure.
local M = {}

-- Half of the last digit that nccl-tests prints of a bandwidth.
local function half_digit(value)
  return value < 1000 and 0.005 or value < 10000 and 0.05 or 0.5
end

local function finite(value)
  return value == value and value < math.huge
end

--- Does its bus bandwidth follow from its bandwidth by all-reduce's factor 2(n-1)/n? Without n: by that of any n of two
--- or more. What is no number does, for others to refuse.
---@param row {algbw: number, busbw: number}
---@param ranks integer|nil
---@return boolean
function M.has_factor(row, ranks)
  if not finite(row.algbw) or not finite(row.busbw) then
    return true
  end
  local low = (row.busbw - half_digit(row.busbw)) / (row.algbw + half_digit(row.algbw))
  local under = row.algbw - half_digit(row.algbw)
  local high = under > 0 and (row.busbw + half_digit(row.busbw)) / under or math.huge
  local least, most = 1.0, 2.0
  if ranks then
    least = 2 * (ranks - 1) / ranks
    most = least
  end
  return low <= most and high >= least
end

--- Does its bandwidth follow from its size and time? To a hundredth, or to the digit that long times are printed with.
---@param row {size: integer, time_us: number, algbw: number}
---@return boolean
function M.has_speed(row)
  local wanted = row.time_us > 0 and row.size / row.time_us / 1e3 or math.huge
  local share = row.time_us < 1e7 and 0.01 or 0.05
  return not finite(row.algbw) or math.abs(wanted - row.algbw) <= half_digit(row.algbw) + share * row.algbw
end

--- Is it of a collective with a root or without an operation, and so of no all-reduce?
---@param row {root: integer|nil, redop: string|nil}
---@return boolean
function M.is_other(row)
  return row.root ~= nil and row.root ~= -1 or row.redop == "none"
end

--- Are there more or fewer rows of that size than of any other? A table that is repeated repeats all of its rows.
---@param list aicr.nccl.Row[]
---@param size integer
---@return "more"|"fewer"|nil
function M.uneven(list, size)
  local counts, most = {}, 0
  for _, row in ipairs(list) do
    counts[row.size] = (counts[row.size] or 0) + 1
  end
  for other, count in pairs(counts) do
    most = other ~= size and math.max(most, count) or most
  end
  local own = counts[size] or 0
  if most > 0 and own ~= most then
    return own > most and "more" or "fewer"
  end
end

-- Do the sizes double from the first on, each as often?
local function is_whole(list, first)
  local counts, largest = {}, first
  for _, row in ipairs(list) do
    if not row.ip or row.truncated then
      return false
    end
    counts[row.size], largest = (counts[row.size] or 0) + 1, math.max(largest, row.size)
  end
  local size, seen = first, 0
  while size > 0 and size <= largest and counts[size] == counts[first] do
    size, seen = size * 2, seen + (counts[size] or 0)
  end
  return seen == #list and seen > 0
end

--- The mean of a table's bandwidths, where all rows are there and it is not the average that the benchmark gives.
---@param run aicr.nccl.Run
---@param first integer|nil its first size
---@return number|nil
function M.other_average(run, first)
  local said = run.avg_busbw
  if not (said and finite(said) and first and is_whole(run.rows, first)) then
    return nil
  end
  local sum = 0.0
  for _, row in ipairs(run.rows) do
    sum = sum + row.oop.busbw + row.ip.busbw
  end
  local mean = sum / (2 * #run.rows)
  return finite(mean) and math.abs(mean - said) > 0.02 + 0.002 * math.abs(said) and mean or nil
end

--- What the benchmark says of itself that is not what was asked for: a word and both numbers, nil.
---@param run aicr.nccl.Run
---@param asked {min_bytes: integer|nil, max_bytes: integer|nil}
---@return string|nil what
---@return integer found
---@return integer wanted
function M.other_sweep(run, asked)
  local params = run.params
  for _, row in ipairs {
    { "first size", params.min_bytes, asked.min_bytes }, { "last size", params.max_bytes, asked.max_bytes },
    { "step factor", params.step_factor, 2 }, { "operations in one", params.agg_iters, 1 },
  } do
    if row[2] and row[3] and row[2] ~= row[3] then
      return row[1], row[2], row[3]
    end
  end
  return nil, 0, 0
end

-- size -> the bandwidths that were printed of it
local function printed(runs)
  local by_size = {}
  for _, run in ipairs(runs) do
    for _, row in ipairs(run.rows) do
      by_size[row.size] = by_size[row.size] or {}
      by_size[row.size][tostring(row.oop.busbw)] = row.oop.busbw
    end
  end
  return by_size
end

--- The first of some rows that is of a size of the runs, but of none of their bandwidths: the row and one of theirs;
--- nil when there is none.
---@param list aicr.nccl.Row[]
---@param runs aicr.nccl.Run[]
---@return aicr.nccl.Row|nil
---@return number|nil busbw
function M.stranger(list, runs)
  local by_size = printed(runs)
  for _, row in ipairs(list) do
    local known = by_size[row.size]
    if known and not known[tostring(row.oop.busbw)] then
      local _, other = next(known)
      return row, other
    end
  end
  return nil
end

--- Does any of the runs list a rank?
---@param runs aicr.nccl.Run[]
---@return boolean
function M.have_ranks(runs)
  for _, run in ipairs(runs) do
    if run.ranks_listed > 0 then
      return true
    end
  end
  return false
end

--- Ranks of a list that are in the group of rank 0, by node: how many nodes those are; 0 when no rank is listed.
---@param run aicr.nccl.Run
---@return integer
function M.group_hosts(run)
  local group, seen, count = nil, {}, 0
  for _, device in ipairs(run.devices) do
    group = device.rank == 0 and device.group or group
  end
  for _, device in ipairs(run.devices) do
    if (group == nil or device.group == nil or device.group == group) and not seen[device.host] then
      seen[device.host], count = true, count + 1
    end
  end
  return count
end

--- The unit in a table's second line that is not that of its figures, nil when there is none: bandwidths are GB/s,
--- times microseconds.
---@param log string
---@return string|nil
function M.foreign_unit(log)
  for line in log:gmatch "#%s+%(B%)([^\n]*)" do
    for unit in line:gmatch "%(([%a/]+)%)" do
      if unit:find "/s$" and unit ~= "GB/s" or unit:find "^[mn]?s$" then
        return unit
      end
    end
  end
  return nil
end

return M
