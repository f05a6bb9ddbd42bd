-- SPDX-License-Identifier: Apache-2.0
--- What the methods of ctx ask of their arguments. Errors name the place of the check's call.
local errors = require "aicr.native.error"
local kept = require "aicr.ctx.kept"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"

local clip = kept.clip

local M = {}

-- Bytes of a text of an ending: so much, escaped, always fits the record.
local TEXT_MAX <const> = 16 * 1024

function M.misuse(fmt, ...)
  error(fmt:format(...), 3)
end

function M.need(v, kind, what)
  if type(v) ~= kind then
    error(("%s must be a %s, got %s"):format(what, kind, type(v)), 3)
  end
  return v
end

-- The fields of an options table, each read once and without its metatable: what was checked is what is used.
function M.take(t, known, what)
  if type(t) ~= "table" then
    error(("%s must be a table, got %s"):format(what, type(t)), 3)
  end
  local taken = {}
  for k, v in next, t do
    if not known[k] then
      local names = sorted_keys(known)
      local near = type(k) == "string" and text.nearest(k, names)
      error(("%s: unknown field '%s'; %s"):format(what, tostring(k),
        near and ("did you mean '%s'?"):format(near) or "expected one of: " .. table.concat(names, ", ")), 3)
    end
    taken[k] = v
  end
  return taken
end

-- Cuts the texts of an ending.
function M.clip_texts(t, what)
  for _, field in ipairs { "message", "why", "fix" } do
    local v = t[field]
    if v ~= nil and type(v) ~= "string" then
      error(("%s: %s must be a string, got %s"):format(what, field, type(v)), 3)
    end
    t[field] = v and clip(v, TEXT_MAX)
  end
end

function M.need_code(code, what)
  local ok, made = pcall(errors.new, { code = code, reason = "x", message = "x" })
  if not ok then
    error(("%s: %s"):format(what, tostring(made)), 3)
  end
end

function M.need_reason(reason, what)
  if type(reason) ~= "string" or #reason > 47 or not reason:find("^[a-z][a-z0-9-]*$") then
    local show = require "aicr.ctx.compare".show
    error(("%s: reason must be a lower-case word with hyphens, got %s"):format(what, show(reason)), 3)
  end
end

return M
