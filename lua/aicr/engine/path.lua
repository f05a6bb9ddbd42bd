-- SPDX-License-Identifier: Apache-2.0
--- Lexical paths with `/`.
local M = {}

--- The folder of a path: `a/b.lua` → `a`, `b.lua` → `.`, `/b` → `/`.
function M.dirname(path)
  local dir = path:match("^(.*)/[^/]*$")
  if dir == "" then
    return "/"
  end
  return dir or "."
end

--- The last part of a path.
function M.basename(path)
  return path:match("([^/]*)/*$")
end

--- Without `.`, empty parts, and `..` where a part stands before it.
function M.normalize(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." and #parts > 0 and parts[#parts] ~= ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  local joined = table.concat(parts, "/")
  if path:sub(1, 1) == "/" then
    return "/" .. joined
  end
  return joined == "" and "." or joined
end

--- `path` seen from the folder `dir`; an absolute path stays.
function M.join(dir, path)
  if path:sub(1, 1) == "/" then
    return path
  elseif dir == "." then
    return M.normalize(path)
  end
  return M.normalize(dir .. "/" .. path)
end

--- True when a relative path cannot leave the folder that it is seen from.
function M.inside(path)
  local normal = M.normalize(path)
  return normal:sub(1, 1) ~= "/" and normal ~= ".." and normal:sub(1, 3) ~= "../"
end

return M
