-- SPDX-License-Identifier: Apache-2.0
--- What stands on a terminal after some output: line ends, cursor up, erase to the end, colours.
local M = {}

local ACTIONS = {}

function ACTIONS.A(screen, n)
  assert(screen.row - n >= 1, "the cursor left the screen")
  screen.row = screen.row - n
end

function ACTIONS.J(screen)
  for row = #screen.lines, screen.row, -1 do
    screen.lines[row] = row == screen.row and screen.lines[row]:sub(1, screen.column) or nil
  end
end

function ACTIONS.m() end

local function put(screen, s)
  for row = #screen.lines + 1, screen.row do
    screen.lines[row] = ""
  end
  local line = screen.lines[screen.row]
  assert(screen.column == #line or screen.column == 0, "written over")
  screen.lines[screen.row] = screen.column == 0 and s .. line:sub(#s + 1) or line .. s
  screen.column = screen.column + #s
end

--- The lines that are left.
---@param output string
---@return string[]
function M.after(output)
  local screen = { lines = {}, row = 1, column = 0 }
  local at = 1
  while at <= #output do
    local text = output:match("^[^\r\n\27]+", at)
    local number, letter = output:match("^\27%[([%d;]*)(%a)", at)
    if text then
      put(screen, text)
      at = at + #text
    elseif letter then
      assert(ACTIONS[letter], "unknown escape sequence " .. letter)(screen, tonumber(number) or 1)
      at = at + 3 + #number
    else
      screen.row = screen.row + (output:sub(at, at) == "\n" and 1 or 0)
      screen.column = 0
      at = at + 1
    end
  end
  return screen.lines
end

return M
