-- SPDX-License-Identifier: Apache-2.0
--- The sources of a tree as spec/lint reads them: kind, folder, text, and the
--- text without comments and strings.
local files = require "spec.support.files"

local M = {}

--- Output lines of a shell command and whether it succeeded.
function M.shell(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  return lines, pipe:close() == true
end

local function blank(text)
  return (text:gsub("[^\n]", " "))
end

--- C without comments, strings and character constants; lines stay. With
--- keep_line_comments those of the // kind are left in.
local function strip_c(text, keep_line_comments)
  local out, at = {}, 1
  while at <= #text do
    local from, to = text:find("^/%*.-%*/", at)
    if not from and not keep_line_comments then
      from, to = text:find("^//[^\n]*", at)
    end
    local kind = "comment"
    if not from then
      local mark = text:match("^[\"']", at)
      if mark then
        kind, from, to = "text", at, at + 1
        while to < #text and text:sub(to, to) ~= mark do
          to = to + (text:sub(to, to) == "\\" and 2 or 1)
        end
      end
    end
    if from then
      local gone = text:sub(from, to)
      out[#out + 1] = kind == "text" and gone:sub(1, 1) .. blank(gone:sub(2, -2)) .. gone:sub(-1)
        or blank(gone)
      at = to + 1
    else
      local plain = text:match("^[^/\"']+", at) or text:sub(at, at)
      out[#out + 1] = plain
      at = at + #plain
    end
  end
  return table.concat(out)
end

--- Lua without comments and, unless keep_strings, strings; lines stay.
local function strip_lua(text, keep_strings)
  local out, at = {}, 1
  local function long(from)
    local level = text:match("^%[(=*)%[", from)
    if not level then
      return nil
    end
    local _, to = text:find("]" .. level .. "]", from, true)
    return to or #text
  end
  while at <= #text do
    local to
    if text:find("^%-%-", at) then
      to = long(at + 2) or (text:find("\n", at, true) or #text + 1) - 1
    elseif text:find("^%[=*%[", at) then
      to = long(at)
    else
      local mark = text:match("^[\"']", at)
      if mark then
        to = at + 1
        while to < #text and text:sub(to, to) ~= mark do
          to = to + (text:sub(to, to) == "\\" and 2 or 1)
        end
      end
    end
    if to then
      local gone = text:sub(at, to)
      out[#out + 1] = keep_strings and gone:sub(1, 2) ~= "--" and gone or blank(gone)
      at = to + 1
    else
      local plain = text:match("^[^%-%[\"']+", at) or text:sub(at, at)
      out[#out + 1] = plain
      at = at + #plain
    end
  end
  return table.concat(out)
end

--- A source: path, folder below runtime (C), kind "c" | "h" | "lua" | "script"
--- | "cmake", text, and code(): the text without comments and strings.
local Source = {}
Source.__index = Source

function Source:code()
  if not self.stripped then
    local is_c = self.kind == "c" or self.kind == "h"
    self.stripped = is_c and strip_c(self.text) or self.kind == "lua" and strip_lua(self.text)
      or self.text
  end
  return self.stripped
end

--- Lua without comments.
function Source:without_comments()
  return strip_lua(self.text, true)
end

--- C without comments of the /* kind.
function Source:without_block_comments()
  return strip_c(self.text, true)
end

local function kind_of(path, text)
  local ending = path:match("%.(%a+)$")
  if ending == "c" or ending == "h" or ending == "lua" or ending == "cmake" then
    return ending
  elseif path:match("CMakeLists%.txt$") then
    return "cmake"
  elseif text:match("^#![^\n]*lua") or path:match("%.busted$") or path:match("%.luacheckrc$") then
    return "lua"
  elseif text:match("^#!") or path:match("Makefile$") then
    return "script"
  end
end

--- The lines of a text as a list.
function M.lines(text)
  local lines = {}
  for line in (text .. (text:sub(-1) == "\n" and "" or "\n")):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

--- All sources below root, sorted by path; build output, fixtures and corpora
--- are left out.
function M.list(root)
  local found = {}
  local lines = M.shell("cd " .. files.quote(root) .. " && find . -type f -not -path './build/*' "
    .. "-not -path './.git/*' -not -path './spec/fixtures/*' -not -path './spec/fuzz/corpus/*'")
  table.sort(lines)
  for _, line in ipairs(lines) do
    local path = line:sub(3)
    local text = files.read(root .. "/" .. path)
    local kind = kind_of(path, text)
    if kind then
      found[#found + 1] = setmetatable({
        path = path, kind = kind, text = text, folder = path:match("^runtime/(%a+)/"),
        in_runtime = path:match("^runtime/") ~= nil, is_c = kind == "c" or kind == "h",
      }, Source)
    end
  end
  return found
end

return M
