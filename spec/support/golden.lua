-- SPDX-License-Identifier: Apache-2.0
local files = require "spec.support.files"
local luassert = require "luassert"

--- Holds a text against a golden file, byte for byte; with UPDATE_GOLDEN=1 it is written first.
---@param path string
---@param text string
return function(path, text)
  if os.getenv "UPDATE_GOLDEN" == "1" then
    files.write(path, text)
  end
  assert(files.exists(path), "no golden file " .. path .. "; UPDATE_GOLDEN=1 writes it")
  luassert.equal(files.read(path), text)
end
