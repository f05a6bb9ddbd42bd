-- SPDX-License-Identifier: Apache-2.0
--- Draws `details.diff`: the rows that differ, the row before them, and equal runs in one line.
local text = require "aicr.report.text"

local M = {}

local INDENT <const> = 6
local COLUMN <const> = 20
--- Rows that stand in full, at most.
local MOST <const> = 40
--- What a value needs beside the name of its side; below that it stands under it.
local ROOM <const> = 16

local function cell(value, style)
  return style.plain(text.printable(text.value(value)))
end

local differs = text.differs

--- Which rows stand in full: those that differ, the one before each group of them, and a single
--- one that would stand alone as `equal`.
local function shown_rows(rows)
  local shown = {}
  for i, row in ipairs(rows) do
    if differs(row) then
      shown[i] = true
      if i > 1 then
        shown[i - 1] = true
      end
    end
  end
  local alone = {}
  for i = 1, #rows do
    alone[i] = not shown[i] and (i == 1 or shown[i - 1]) and (i == #rows or shown[i + 1])
  end
  for i = 1, #rows do
    shown[i] = shown[i] or alone[i]
  end
  return shown
end

--- The last row that is drawn when at most MOST stand in full, and how many that differ come later.
local function cut(rows, shown)
  local drawn, last, left = 0, #rows, 0
  for i, row in ipairs(rows) do
    if drawn == MOST then
      last = math.min(last, i - 1)
      left = left + (differs(row) and 1 or 0)
    elseif shown[i] then
      drawn = drawn + 1
    end
  end
  return left > 0 and last or #rows, left
end

local function widths(rows, last, shown, diff, style)
  local key, left, right = 0, text.width(cell(diff.left, style)), text.width(cell(diff.right, style))
  for i = 1, last do
    local row = rows[i]
    if shown[i] then
      key = math.max(key, text.width(cell(row.k, style)))
      left = math.max(left, text.width(cell(row.l, style)))
      right = math.max(right, text.width(cell(row.r, style)))
    end
  end
  return key + 3, math.max(left + 2, COLUMN), right
end

local function mark(row, style)
  if not differs(row) then
    return (" "):rep(INDENT)
  end
  local glyph = style.glyphs.differs
  return (" "):rep(INDENT - 1 - text.width(glyph)) .. style.paint("fail", glyph) .. " "
end

local function side_by_side(row, columns, style)
  return mark(row, style) .. text.pad(cell(row.k, style), columns.key)
    .. text.pad(cell(row.l, style), columns.left) .. cell(row.r, style)
end

--- A row whose values stand under the names of their sides, for very narrow terminals.
local function piled(row, names, style, out)
  local function add(prefix, indent, s)
    for i, line in ipairs(text.wrap(s, style.width - indent)) do
      out[#out + 1] = (i == 1 and prefix or (" "):rep(indent)) .. line
    end
  end
  add(mark(row, style), INDENT, cell(row.k, style))
  for side, value in ipairs { cell(row.l, style), cell(row.r, style) } do
    add((" "):rep(INDENT), INDENT, names[side])
    add((" "):rep(INDENT + 2), INDENT + 2, value)
  end
end

--- A row whose two sides stand under each other, for narrow terminals.
local function stacked(row, columns, style, diff, out)
  local names = { cell(diff.left, style), cell(diff.right, style) }
  local name_width = math.max(text.width(names[1]), text.width(names[2])) + 2
  local start = INDENT + columns.key + name_width
  if style.width - start < ROOM then
    piled(row, names, style, out)
    return
  end
  for side, value in ipairs { cell(row.l, style), cell(row.r, style) } do
    local head = side == 1 and mark(row, style) .. text.pad(cell(row.k, style), columns.key)
      or (" "):rep(INDENT + columns.key)
    for i, line in ipairs(text.wrap(value, style.width - start)) do
      out[#out + 1] = (i == 1 and head .. text.pad(names[side], name_width) or (" "):rep(start))
        .. line
    end
  end
end

local function equal_run(rows, first, last, style, out)
  local name = cell(rows[first].k, style) .. style.glyphs.range .. cell(rows[last].k, style)
  out[#out + 1] = (" "):rep(INDENT) .. name .. "  equal"
end

local function draw_rows(rows, last, shown, out, style, draw)
  local first
  for i = 1, last do
    local row = rows[i]
    if not shown[i] then
      first = first or i
    else
      if first then
        equal_run(rows, first, i - 1, style, out)
        first = nil
      end
      draw(row)
    end
  end
  if first then
    equal_run(rows, first, last, style, out)
  end
end

--- The lines of a comparison.
--- @param diff table of text.diff_of
--- @param style table report.style
--- @return table lines
--- @return integer rows that differ and are not among them
function M.lines(diff, style)
  local rows, out = diff.rows, {}
  local shown = shown_rows(rows)
  local last, more = cut(rows, shown)
  local key, left, right = widths(rows, last, shown, diff, style)
  local columns = { key = key, left = left }
  if not next(shown) then
    equal_run(rows, 1, #rows, style, out)
    return out, more
  end
  if style.width and INDENT + key + left + right > style.width then
    draw_rows(rows, last, shown, out, style, function(row)
      stacked(row, columns, style, diff, out)
    end)
    return out, more
  end
  out[1] = (" "):rep(INDENT + key) .. text.pad(cell(diff.left, style), left) .. cell(diff.right, style)
  draw_rows(rows, last, shown, out, style, function(row)
    out[#out + 1] = side_by_side(row, columns, style)
  end)
  return out, more
end

return M
