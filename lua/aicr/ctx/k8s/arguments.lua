-- SPDX-License-Identifier: Apache-2.0
--- The checks of what `ctx.k8s` is called with. Embedded code only.
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"

local M = {}

--- The options as a table of their own.
-- @param opts table|nil
-- @param known table name to type
-- @param what string the method, for messages
function M.options(opts, known, what)
  if opts == nil then
    return {}
  elseif type(opts) ~= "table" then
    error(("%s: the options must be a table, got %s"):format(what, type(opts)), 4)
  end
  local taken = {}
  for k, v in next, opts do
    local wanted = known[k]
    if not wanted then
      local near = type(k) == "string" and text.nearest(k, sorted_keys(known))
      error(("%s: unknown option '%s'%s"):format(what, tostring(k),
        near and ("; did you mean '%s'?"):format(near) or ": " .. table.concat(sorted_keys(known), ", ")), 4)
    end
    local got = wanted == "integer" and math.type(v) or type(v)
    if got ~= wanted then
      error(("%s: option '%s' must be %s %s, got %s"):format(what, k, wanted == "integer" and "an" or "a", wanted,
        type(v)), 4)
    end
    taken[k] = v
  end
  return taken
end

local function need(value, what, name, optional)
  if type(value) ~= "string" and not (optional and value == nil) then
    error(("%s: %s must be a string, got %s"):format(what, name, type(value)), 5)
  end
end

--- The arguments (resource, name [, namespace]).
function M.named(resource, name, namespace, what)
  need(resource, what, "the resource")
  need(name, what, "the name")
  need(namespace, what, "the namespace", true)
end

--- An object that can be sent.
-- @param generated boolean may metadata.generateName stand for the name?
function M.object(object, what, generated)
  if type(object) ~= "table" then
    error(("%s: the object must be a table, got %s"):format(what, type(object)), 4)
  end
  need(object.apiVersion, what, "apiVersion")
  need(object.kind, what, "kind")
  local meta = object.metadata
  if type(meta) ~= "table" then
    error(("%s: the object needs metadata with a name"):format(what), 4)
  end
  if not (generated and type(meta.generateName) == "string") then
    need(meta.name, what, "metadata.name")
  end
  need(meta.namespace, what, "metadata.namespace", true)
  return object
end

return M
