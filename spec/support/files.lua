-- SPDX-License-Identifier: Apache-2.0
--- Files and temporary folders for specs.
local M = {}

--- A word for the shell.
---@param word string
---@return string
local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end
M.quote = quote

--- The contents of a file.
---@param path string
---@return string
function M.read(path)
  local file = assert(io.open(path, "rb"))
  local contents = file:read "a"
  file:close()
  return contents
end

--- Does the file exist?
---@param path string
---@return boolean
function M.exists(path)
  local file = io.open(path, "rb")
  if file then
    file:close()
  end
  return file ~= nil
end

local made = {}

--- Writes a file and the folders on the way to it.
---@param path string
---@param contents string
function M.write(path, contents)
  local folder = path:match "^(.*)/[^/]*$"
  if folder and not made[folder] then
    assert(os.execute("mkdir -p " .. quote(folder)))
    made[folder] = true
  end
  local file = assert(io.open(path, "wb"))
  file:write(contents)
  file:close()
end

--- A fresh empty folder; `M.remove` it at the end.
---@return string
function M.folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute("mkdir " .. quote(name)))
  return name
end

--- Removes a folder of `M.folder` and all in it.
---@param folder string
function M.remove(folder)
  assert(folder:match "^/tmp/lua_%w+$" or folder:match "^/.*/lua_%w+$", "not one of ours: " .. folder)
  assert(os.execute("rm -r " .. quote(folder)))
end

--- Calls f with a fresh empty folder, which is removed whatever happens; gives what f returns.
---@param f fun(folder: string): ...
function M.with_folder(f)
  local folder = M.folder()
  local results = table.pack(pcall(f, folder))
  M.remove(folder)
  if not results[1] then
    error(results[2], 0)
  end
  return table.unpack(results, 2, results.n)
end

return M
