-- SPDX-License-Identifier: Apache-2.0
--- Messages on stderr in the form of cli-and-reports.md 9: what, then why and fix.
local native = require "aicr.native.text"
local text = require "aicr.report.text"

local NO_VERDICT <const> = 3

local M = {}

--- The lines of a message, closed by a line end.
--- @param m string|table text, or {what, more (list of lines), why, fix}
function M.format(m)
  if type(m) == "string" then
    m = { what = m }
  end
  local lines = { "aicr-run: " .. text.printable(m.what) }
  for _, line in ipairs(m.more or {}) do
    lines[#lines + 1] = "  " .. text.printable(line)
  end
  for _, key in ipairs { "why", "fix" } do
    if m[key] then
      lines[#lines + 1] = ("  %-4s %s"):format(key, text.printable(m[key]))
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Prints what a command was asked for to stdout, and says when it cannot be written whole.
--- @param host table the border
--- @param out string
--- @param code integer|nil the exit code where it can be; nil: 0
--- @return integer exit code
function M.print(host, out, code)
  local ok, why = host.write("-", out)
  if ok then
    return code or 0
  end
  host.write("stderr", M.format(("cannot write to standard output: %s"):format(why or "no reason given")))
  return NO_VERDICT
end

--- `; did you mean "x"?` when a known word is near, else nothing.
--- @param word string
--- @param known table list of strings
function M.suggestion(word, known)
  local nearest = native.nearest(word, known)
  return nearest and ('; did you mean "%s"?'):format(nearest) or ""
end

local LISTED <const> = 10

--- The same; where none is near, the known words, when there are not too many to read.
--- @param word string
--- @param known table list of strings
function M.known(word, known)
  local near = M.suggestion(word, known)
  if near ~= "" or #known == 0 or #known > LISTED then
    return near
  end
  return "; expected one of: " .. table.concat(known, ", ")
end

--- Two checks of one name.
--- @param name string
--- @param one string the path of one of them
--- @param other string
--- @return table for Problems:add
function M.twins(name, one, other)
  return {
    what = ('two checks are named "%s": %s and %s'):format(name, one, other),
    fix = 'change `name` in one of the files, or name only one of them on the command line; in a suite: '
      .. '{ "PATH", as = "NAME" }',
  }
end

local Problems = {}
Problems.__index = Problems

--- Adds an offender: a format string with its arguments, or a message table.
function Problems:add(what, ...)
  if type(what) == "string" and select("#", ...) > 0 then
    what = what:format(...)
  end
  self.list[#self.list + 1] = what
end

--- True when there is at least one.
function Problems:any()
  return #self.list > 0
end

--- All offenders and what was not done, for stderr.
--- @param undone string|nil nil: checks
function Problems:text(undone)
  local out = {}
  for i, problem in ipairs(self.list) do
    out[i] = M.format(problem)
  end
  out[#out + 1] = M.format(undone or "no check was run")
  return table.concat(out)
end

--- A collector of usage errors: all are shown at once, before the cluster is touched.
function M.problems()
  return setmetatable({ list = {} }, Problems)
end

return M
