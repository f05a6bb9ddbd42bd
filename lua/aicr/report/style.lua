-- SPDX-License-Identifier: Apache-2.0
--- Glyphs and colours of human output, in UTF-8 or ASCII, with or without colour.
local M = {}

local UNICODE <const> = {
  pass = "✓", fail = "✗", error = "!", skip = "○", waived = "~",
  dot = " · ", range = "…", more = "…", differs = "≠", mark = "╎",
  bar = { "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" }, spark = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
}

local ASCII <const> = {
  pass = "ok", fail = "FAIL", error = "ERR", skip = "skip", waived = "waiv",
  dot = " | ", range = "...", more = "...", differs = "!=", mark = "|", bar = { "#" },
}

local COLOUR <const> = {
  pass = "32", fail = "1;31", error = "35", skip = "33", waived = "33", dim = "2", bold = "1",
}

--- Words that stand for characters that ASCII lacks, in text of this program.
local PLAIN <const> = {
  ["→"] = "->", ["≥"] = ">=", ["≤"] = "<=", ["…"] = "...", ["·"] = "|", ["—"] = "-", ["≠"] = "!=", ["µ"] = "u",
}

--- A style for a terminal.
--- @param terminal table utf8, color, width (nil: unlimited)
--- @return table glyphs, width, glyph_width, paint(kind, text), plain(text)
function M.new(terminal)
  local glyphs = terminal.utf8 and UNICODE or ASCII
  return {
    glyphs = glyphs,
    width = terminal.width,
    glyph_width = terminal.utf8 and 1 or 4,
    paint = function(kind, s)
      if not terminal.color or s == "" then
        return s
      end
      return ("\27[%sm%s\27[0m"):format(COLOUR[kind], s)
    end,
    plain = function(s)
      if terminal.utf8 then
        return s
      end
      s = s:gsub(utf8.charpattern, PLAIN)
      return (s:gsub("[\xC2-\xF4][\x80-\xBF]*", "?"))
    end,
  }
end

return M
