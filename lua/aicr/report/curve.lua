-- SPDX-License-Identifier: Apache-2.0
--- Draws the series of a check over message sizes, as nccl-tests prints its table, with bars and a curve
--- (cli-and-reports.md 6.5). A series is drawn when its x is "bytes"; the one that a measure of its name judges, else
--- the last one, gets the bars.
local text = require "aicr.report.text"

local M = {}

local opt, list = text.opt, text.list

local BARS_MIN <const>, BAR_MAX <const>, BAR_PIPE <const>, BAR_LEAST <const> = 72, 60, 40, 8
-- Rows that are drawn, the largest sizes; series; columns of a number.
local ROWS <const>, SERIES <const>, NUMBER <const> = 40, 5, 9
local UNITS <const> = { "", "K", "M", "G", "T" }
local ROUND <const> = { 1, 2, 4, 5, 8, 10 }

local function is_number(v)
  return type(v) == "number" and v == v and v >= 0 and v < math.huge
end

-- size -> value of the points that are numbers.
local function values_of(series)
  local values = {}
  for _, point in ipairs(list(series.points)) do
    local x, y = list(point)[1], list(point)[2]
    if is_number(x) and is_number(y) then
      values[x] = y
    end
  end
  return values
end

-- The series over sizes: {name, unit, values}.
local function columns_of(result)
  local columns = {}
  for _, series in ipairs(list(result.series)) do
    if type(series) == "table" and series.x == "bytes" and #columns < SERIES then
      columns[#columns + 1] = {
        name = text.value(series.name), unit = text.value(opt(series.y) or ""), values = values_of(series),
      }
    end
  end
  return columns
end

-- What is required of a column: value, tolerance (a share).
local function required_of(result, name)
  for _, m in ipairs(list(result.measures)) do
    local op, value = text.value(opt(m.limit) or ""):match "^(>=?)%s*([%d.]+)"
    if m.name == name and op and tonumber(value) then
      return tonumber(value), is_number(opt(m.tolerance)) and m.tolerance or 0, op
    end
  end
  return nil
end

local function size_text(bytes)
  local size, unit = math.tointeger(bytes), 1
  if not size then
    return ("%g"):format(bytes)
  end
  while size >= 1024 and size % 1024 == 0 and unit < #UNITS do
    size, unit = size // 1024, unit + 1
  end
  return size .. UNITS[unit]
end

local function number_text(value)
  if not value then
    return "-"
  end
  return (value >= 1e6 and "%.1e" or value < 10 and "%.2f" or "%.1f"):format(value)
end

local function right(s, width)
  return (" "):rep(width - text.width(s)) .. s
end

-- The end of the axis: the next round number.
local function axis_end(value)
  local unit = 10.0 ^ math.floor(math.log(math.max(value, 1e-9), 10))
  for _, n in ipairs(ROUND) do
    if n * unit >= value then
      return n * unit
    end
  end
  return 10 * unit
end

local function ticks(last, width)
  local line, steps = "", width >= 32 and 4 or 2
  for i = 0, steps do
    local column = width * i // steps
    local label = ("%g"):format(last * i / steps)
    line = line .. (" "):rep(column - text.width(line)) .. label
  end
  return line
end

-- A bar of eighths, the mark where it does not reach it.
local function bar(value, last, width, mark, glyphs)
  local parts = #glyphs.bar
  local filled = math.min(math.floor(value / last * width * parts + 0.5), width * parts)
  local line = glyphs.bar[parts]:rep(filled // parts) .. (filled % parts > 0 and glyphs.bar[filled % parts] or "")
  if mark and text.width(line) <= mark then
    line = line .. (" "):rep(mark - text.width(line)) .. glyphs.mark
  end
  return line
end

local function spark(sizes, values, peak, glyphs)
  local line = {}
  for _, size in ipairs(sizes) do
    local value = values[size]
    line[#line + 1] = value and glyphs.spark[math.max(1, math.ceil(value / peak * #glyphs.spark))] or " "
  end
  return table.concat(line)
end

local function peak_of(sizes, values)
  local peak, at = 0, nil
  for _, size in ipairs(sizes) do
    if values[size] and values[size] >= peak then
      peak, at = values[size], size
    end
  end
  return peak, at
end

local function sizes_of(columns)
  local sizes, seen = {}, {}
  for _, column in ipairs(columns) do
    for size in pairs(column.values) do
      if not seen[size] then
        seen[size] = true
        sizes[#sizes + 1] = size
      end
    end
  end
  table.sort(sizes)
  return table.move(sizes, math.max(1, #sizes - ROWS + 1), #sizes, 1, {})
end

-- The column with the bars stands last.
local function judged_last(columns, result)
  for i, column in ipairs(columns) do
    if required_of(result, column.name) then
      local judged = table.remove(columns, i)
      columns[#columns + 1] = judged
      return
    end
  end
end

local function closing(result, column, sizes, style)
  local peak, at = peak_of(sizes, column.values)
  local parts = { ("peak %s %s at %s"):format(number_text(peak), column.unit, size_text(at)) }
  local required, tolerance, op = required_of(result, column.name)
  if required then
    parts[2] = ("required %s %g"):format(op == ">=" and "≥" or op, required)
      .. (tolerance > 0 and (" (%g %% tolerance: %g)"):format(tolerance * 100, required * (1 - tolerance)) or "")
  end
  if style.glyphs.spark and peak > 0 then
    parts[#parts + 1] = "curve " .. spark(sizes, column.values, peak, style.glyphs)
  end
  return style.plain(table.concat(parts, " · "))
end

-- Head, units and a line for each size; `room`: columns of the bars, nil: none.
local function rows(result, columns, sizes, room, style)
  local last = columns[#columns]
  local required = required_of(result, last.name)
  local stop = axis_end(math.max((peak_of(sizes, last.values)), required or 0))
  local mark = required and room and math.min(math.floor(required / stop * room), room - 1)
  local head, units, lines = { right("size", 6) }, { right("", 6) }, {}
  for _, column in ipairs(columns) do
    head[#head + 1] = right(style.plain(text.printable(column.name)), NUMBER)
    units[#units + 1] = right(style.plain(text.printable(column.unit)), NUMBER)
  end
  lines[1] = table.concat(head)
  lines[2] = table.concat(units) .. (room and "  " .. ticks(stop, room) or "")
  for _, size in ipairs(sizes) do
    local cells = { right(size_text(size), 6) }
    for _, column in ipairs(columns) do
      cells[#cells + 1] = right(number_text(column.values[size]), NUMBER)
    end
    local value = last.values[size]
    cells[#cells + 1] = room and value and "  " .. bar(value, stop, room, mark, style.glyphs) or nil
    lines[#lines + 1] = table.concat(cells)
  end
  return lines
end

--- The lines of a check's table, without an indent; none when it has no series over sizes.
--- @param result table of the result model
--- @param style table
--- @param indent integer columns that will stand before each line
--- @return string[]
function M.lines(result, style, indent)
  local columns = columns_of(result)
  local sizes = sizes_of(columns)
  if #sizes == 0 then
    return {}
  end
  judged_last(columns, result)
  local room = style.width and math.min(style.width - indent - 6 - NUMBER * #columns - 2 - 4, BAR_MAX) or BAR_PIPE
  if style.width and (style.width < BARS_MIN or room < BAR_LEAST) then
    room = nil
  end
  local lines = rows(result, columns, sizes, room, style)
  lines[#lines + 1] = ""
  if next(columns[#columns].values) and peak_of(sizes, columns[#columns].values) then
    lines[#lines + 1] = closing(result, columns[#columns], sizes, style)
  end
  return lines
end

return M
