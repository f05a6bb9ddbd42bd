-- SPDX-License-Identifier: Apache-2.0
--- What a server or a recording has for an object of the API may be anything: what has not the form of its kind is
--- said, and is no defect of a check.
local errors = require "aicr.native.error"
local text = require "aicr.native.text"

local M = {}

--- The name of an object, "?" where it has none.
---@param object any
---@return string
function M.name(object)
  local metadata = type(object) == "table" and object.metadata
  local name = type(metadata) == "table" and metadata.name
  return text.printable(type(name) == "string" and name or "?")
end

--- What a reader makes of an object. Raises INTERNAL/`malformed`, no verdict, where the reader stumbles.
---@generic T
---@param kind string such as "node", also as kubectl takes it
---@param object table
---@param read fun(object: table, ...): T
---@return T
function M.read(kind, object, read, ...)
  local ok, made = pcall(read, object, ...)
  if ok then
    return made
  elseif errors.is(made) then
    error(made, 0)
  end
  local name = M.name(object)
  errors.raise {
    code = "INTERNAL", reason = "malformed",
    message = ("%s %s has not the form of its kind: a part is missing or of another type. Look with: kubectl get %s %s"
      .. " -o yaml"):format(kind, name, kind, name),
  }
end

--- A whole number of a status, 0 where it is absent; stumbles over all else.
---@param n any
---@return integer
function M.count(n)
  assert(n == nil or math.type(n) == "integer" and n >= 0)
  return n or 0
end

return M
