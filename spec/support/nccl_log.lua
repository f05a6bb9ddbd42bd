-- SPDX-License-Identifier: Apache-2.0
--- Logs of all_reduce_perf as it prints them, with figures that agree with each other. For specs.
local M = {}

--- The head of a table, without the blanks at the ends of its lines.
M.TABLE_HEAD = [[
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
]]
--- The line of the parameters, for the sizes in bytes.
M.PARAMETERS = "# nThread 1 nGpus 1 minBytes %d maxBytes %d step: 2(factor) warmup iters: 1 iters: 20"
  .. " agg iters: 1 validation: 1 graph: 0 unalign: 0\n"

local HEAD <const> = "# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22807\n"
  .. "# Collective test starting: all_reduce_perf_mpi\n"
  .. "# nThread 1 nGpus 1 minBytes %d maxBytes %d step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: %d"
  .. " graph: 0 unalign: 0\n#\n# Using devices\n"
local BLANK <const> = (" "):rep(10)
local COLUMNS <const> = "#\n#" .. (" "):rep(62) .. "out-of-place" .. (" "):rep(23) .. "in-place" .. BLANK .. "\n"
  .. "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw"
  .. "  #wrong \n#        (B)    (elements)" .. (" "):rep(31) .. "(us)  (GB/s)  (GB/s)" .. (" "):rep(13)
  .. "(us)  (GB/s)  (GB/s)" .. BLANK .. "\n"

-- What stands in a width as nccl-tests prints a time or a bandwidth.
local function placement(size, busbw, ranks, wrong)
  local algbw = busbw / (2 * (ranks - 1) / ranks)
  local us = size / algbw / 1e3
  return ("  %7.2f  %6.2f  %6.2f  %5s"):format(us, algbw, busbw, wrong)
end

--- One row.
---@param size integer
---@param busbw number
---@param ranks integer
---@param wrong string|integer|nil
---@return string with its line end
function M.row(size, busbw, ranks, wrong)
  local half = placement(size, busbw, ranks, wrong or 0)
  return ("%12d  %12d  %8s  %6s  %6s%s%s\n"):format(size, size // 4, "float", "sum", "-1", half, half)
end

-- The bandwidth of a size where only that of the largest is given; half of it is reached at `half` bytes.
local function rising(busbw, half)
  return function(size)
    return busbw * size / (size + half)
  end
end

--- A log. Fields: `busbw` at the largest size (338.33), `min`, `max` bytes, `ranks` (16), `hosts` (2), `wrong` (size ->
--- count), `half` (bytes), `validation` (1), `last` (the largest size that is printed), `footer` (false: none).
---@param o table|nil
---@return string
function M.log(o)
  o = o or {}
  local ranks, hosts, max = o.ranks or 16, o.hosts or 2, o.max or 17179869184
  local busbw = o.busbw or 338.33
  local parts = { HEAD:format(o.min or 1024, max, o.validation or 1) }
  for rank = 0, ranks - 1 do
    local host = rank * hosts // ranks
    parts[#parts + 1] = ("#  Rank %2d Group  0 Pid %6d on  worker-%d device %2d [0000:%02x:00] NVIDIA H100 80GB HBM3\n")
      :format(rank, 500 + rank, host, rank % (ranks // hosts), 4 + rank)
  end
  parts[#parts + 1] = COLUMNS
  local at, size, sum, count, wrongs = rising(busbw, o.half or max / 1024), o.min or 1024, 0.0, 0, 0
  while size <= (o.last or max) do
    local figure = size == max and busbw or at(size)
    local wrong = o.validation == 0 and "N/A" or o.wrong and o.wrong[size] or 0
    parts[#parts + 1] = M.row(size, figure, ranks, wrong)
    sum, count, size = sum + figure, count + 1, size * 2
    wrongs = wrongs + (tonumber(wrong) or 0)
  end
  if o.footer ~= false then
    parts[#parts + 1] = ("# Out of bounds values : %d %s\n# Avg bus bandwidth    : %g \n#\n"):format(wrongs,
      wrongs == 0 and "OK" or "FAILED", sum / math.max(count, 1))
    parts[#parts + 1] = "# Collective test concluded: all_reduce_perf_mpi\n#\n\n"
  end
  return table.concat(parts)
end

--- What the launcher leaves as its termination message: the rows and the average, the last 3900 bytes, trimmed.
---@param log string
---@return string
function M.termination(log)
  local kept = {}
  for line in log:gmatch "[^\n]*\n" do
    if line:find "^%s*%d+%s+%d+%s+%w+%s" or line:find("Avg bus bandwidth", 1, true) then
      kept[#kept + 1] = line
    end
  end
  return (table.concat(kept):sub(-3900):gsub("^%s+", ""):gsub("%s+$", ""))
end

return M
