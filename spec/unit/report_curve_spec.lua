-- SPDX-License-Identifier: Apache-2.0
--- The table of a benchmark in human output: cli-and-reports.md 6.5.
require "aicr_native"
local curve = require "aicr.report.curve"
local json = require "aicr.json"
local styles = require "aicr.report.style"
local text = require "aicr.report.text"

local ROWS <const> = {
  { 1 << 20, 105.7, 9.9, 18.6 }, { 1 << 22, 150.4, 27.9, 52.3 }, { 1 << 24, 259.1, 64.8, 121.4 },
  { 1 << 26, 617.4, 108.7, 203.8 }, { 1 << 28, 1871.8, 143.4, 268.9 }, { 1 << 30, 6504.9, 165.1, 309.5 },
  { 1 << 32, 24801.6, 173.2, 324.7 }, { 1 << 33, 49224.1, 174.5, 327.2 },
}

local function series(name, unit, column)
  local points = {}
  for i, row in ipairs(ROWS) do
    points[i] = { row[1], row[column] }
  end
  return { name = name, x = "bytes", y = unit, points = points }
end

local function result(limit)
  return {
    series = { series("time", "µs", 2), series("algbw", "GB/s", 3), series("busbw", "GB/s", 4) },
    measures = { { name = "busbw", value = 327.2, unit = "GB/s", limit = limit or ">= 250", tolerance = 0.1 } },
  }
end

local function style(width, utf8)
  return styles.new { utf8 = utf8 ~= false, color = false, width = width }
end

describe("the table of a benchmark", function()
  it("is the one of nccl-tests, with bars, the requirement and a curve", function()
    assert.same({
      "  size     time    algbw    busbw",
      "             µs     GB/s     GB/s  0       100     200     300     400",
      "    1M    105.7     9.90     18.6  █▌                  ╎",
      "    4M    150.4     27.9     52.3  ████▏               ╎",
      "   16M    259.1     64.8    121.4  █████████▊          ╎",
      "   64M    617.4    108.7    203.8  ████████████████▎   ╎",
      "  256M   1871.8    143.4    268.9  █████████████████████▌",
      "    1G   6504.9    165.1    309.5  ████████████████████████▊",
      "    4G  24801.6    173.2    324.7  ██████████████████████████",
      "    8G  49224.1    174.5    327.2  ██████████████████████████▏",
      "",
      "peak 327.2 GB/s at 8G · required ≥ 250 (10 % tolerance: 225) · curve ▁▂▃▅▇███",
    }, curve.lines(result(), style(73), 2))
  end)

  it("has signs of ASCII where there are no others", function()
    local lines = curve.lines(result(), style(73, false), 2)
    assert.equal("    4M    150.4     27.9     52.3  ####                |", lines[4])
    assert.equal("peak 327.2 GB/s at 8G | required >= 250 (10 % tolerance: 225)", lines[#lines])
    assert.is_nil(table.concat(lines):find "[\x80-\xff]")
  end)

  it("drops the bars below 72 columns and keeps the curve", function()
    local lines = curve.lines(result(), style(71), 2)
    assert.equal("    8G  49224.1    174.5    327.2", lines[10])
    assert.truthy(lines[#lines]:find("curve", 1, true))
  end)

  it("takes what the width leaves, at most 60 columns", function()
    for _, width in ipairs { 72, 80, 120, 300 } do
      for _, line in ipairs(curve.lines(result(), style(width), 4)) do
        assert.is_true(text.width(line) + 4 <= math.max(width, 90), line)
      end
    end
    local widest = 0
    for _, line in ipairs(curve.lines(result(">= 400"), style(300), 4)) do
      widest = math.max(widest, text.width(line))
    end
    assert.is_true(widest <= 6 + 27 + 2 + 60 + 4)
  end)

  it("knows no requirement where none is measured", function()
    local free = result()
    free.measures = {}
    local lines = curve.lines(free, style(73), 2)
    assert.equal("peak 327.2 GB/s at 8G · curve ▁▂▃▅▇███", lines[#lines])
    assert.is_nil(table.concat(lines):find("╎", 1, true))
  end)

  it("is not there without a series over sizes", function()
    assert.same({}, curve.lines({ series = {}, measures = {} }, style(80), 2))
    local other = { name = "x", x = "s", y = "ms", points = { { 1, 2 } } }
    assert.same({}, curve.lines({ series = { other } }, style(80), 2))
  end)

  local odd = {
    ["points that are none"] = { 1, "x", json.null, {}, { 1 }, { "a", "b" }, { 0 / 0, 1 }, { 1, 1 / 0 }, { -1, 1 } },
    ["points at zero"] = { { 0, 0 } }, ["one huge value"] = { { 1 << 62, 1e300 } },
    ["sizes that are no whole numbers"] = { { 1.5, 2.5 } },
    ["no list"] = json.null,
  }
  for what, points in pairs(odd) do
    it("stands " .. what, function()
      local lines = curve.lines({
        series = { { name = "x\27[2J", x = "bytes", y = json.null, points = points }, 3 },
        measures = { { name = "x\27[2J", value = 1, limit = ">= z" }, { name = "x\27[2J", limit = { op = ">=" } } },
      }, style(80), 2)
      assert.is_nil(table.concat(lines):find("\27", 1, true))
    end)
  end

  it("draws the forty largest of many sizes", function()
    local points = {}
    for i = 1, 1000 do
      points[i] = { i * 1000, i }
    end
    local lines = curve.lines({ series = { { name = "x", x = "bytes", y = "GB/s", points = points } } }, style(80), 2)
    assert.equal(2 + 40 + 2, #lines)
    assert.truthy(lines[42]:find("1000000", 1, true))
  end)
end)
