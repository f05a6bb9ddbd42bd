-- SPDX-License-Identifier: Apache-2.0
--- The table of the benchmark: numbers, ratios, targets.
local M = {}

local Report = {}
Report.__index = Report

local HEAD <const> = { "", "wall ms", "CPU ms", "MiB", "MB/s", "ratio", "of", "target", "met" }
local FLAT <const> = 1.5

local function number(x)
  return x and ((x < 100 and "%.1f" or "%.0f"):format(x)) or "-"
end

--- What a row is compared with: the ratio, and of what it is one.
local function ratio_of(row, m)
  local base, by = row.base, row.by or "wall"
  if not base then
    return nil, ""
  elseif by == "speed" then
    return base.cpu / m.cpu, "speed"
  end
  return m[by] / base[by], by == "rss" and "memory" or by
end

--- All targets of a row: their text, and whether the numbers keep them.
local function targets(row, m, ratio, speed)
  local texts, met = {}, true
  local function target(wanted, text, kept)
    if wanted then
      texts[#texts + 1] = text:format(wanted)
      met = met and kept
    end
  end
  target(row.wall_max, "<= %d ms", m.wall and row.wall_max and m.wall <= row.wall_max)
  target(row.rss_max, "<= %d MiB", m.rss and row.rss_max and m.rss <= row.rss_max)
  target(row.ratio_max, "<= %gx", ratio and row.ratio_max and ratio <= row.ratio_max)
  target(row.ratio_min, ">= %gx", ratio and row.ratio_min and ratio >= row.ratio_min)
  target(row.speed_min, ">= %d MB/s", speed and row.speed_min and speed >= row.speed_min)
  target(row.flat and FLAT, "flat (<= %.1fx)", ratio and ratio <= FLAT)
  return table.concat(texts, ", "), #texts > 0 and (met and "yes" or "no") or ""
end

--- Adds a row.
--- @param row table {name, numbers or nil, base=, by="wall"|"rss"|"speed", bytes=, wall_max=,
---   rss_max=, ratio_max=, ratio_min=, speed_min=, flat=}
function Report:row(row)
  local name, m = row[1], row[2]
  if not m then
    self.lines[#self.lines + 1] = { name, "could not run" }
    return
  end
  local ratio, of = ratio_of(row, m)
  local speed = row.bytes and row.bytes / 1e3 / (m.wall or m.cpu)
  local text, met = targets(row, m, ratio, speed)
  self.lines[#self.lines + 1] = {
    name, number(m.wall), number(m.cpu), number(m.rss), speed and number(speed) or "",
    ratio and ("%.2f"):format(ratio) or "", of, text, met,
  }
end

--- The table as text.
function Report:text()
  local width, out = {}, {}
  for _, line in ipairs(self.lines) do
    for i, cell in ipairs(line) do
      width[i] = math.max(width[i] or 0, #cell)
    end
  end
  for n, line in ipairs(self.lines) do
    local cells = {}
    for i, cell in ipairs(line) do
      local left = i == 1 or i >= 7
      cells[i] = ("%" .. (left and "-" or "") .. width[i] .. "s"):format(cell)
    end
    out[n] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return table.concat(out, "\n")
end

--- An empty table.
function M.new()
  return setmetatable({ lines = { HEAD } }, Report)
end

return M
