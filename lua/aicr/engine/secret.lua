-- SPDX-License-Identifier: Apache-2.0
--- Masks the values of parameters declared secret in everything that a result carries: a check may
--- echo them into evidence or messages (cli-and-reports.md 14).
local json = require "aicr.json"

local M = {}

local MASK <const> = "***"
local ARRAY <const> = getmetatable(json.array())

local function values_of(item)
  local values = {}
  for key, given in pairs(item.params or {}) do
    local decl = item.meta.params and item.meta.params[key]
    if decl and decl.secret and type(given.value) ~= "boolean" then
      for _, value in ipairs(type(given.value) == "table" and given.value or { given.value }) do
        values[#values + 1] = tostring(value)
      end
    end
  end
  table.sort(values, function(a, b) return #a > #b end)
  return values
end

local function mask_text(s, values)
  for _, value in ipairs(values) do
    if value ~= "" then
      local first, last = s:find(value, 1, true)
      while first do
        s = s:sub(1, first - 1) .. MASK .. s:sub(last + 1)
        first, last = s:find(value, first + #MASK, true)
      end
    end
  end
  return s
end

local mask

local function mask_table(t, values)
  local out = {}
  for k, v in pairs(t) do
    out[type(k) == "string" and mask_text(k, values) or k] = mask(v, values)
  end
  return getmetatable(t) == ARRAY and json.array(out) or out
end

mask = function(v, values)
  if v == json.null then
    return v
  elseif type(v) == "string" then
    return mask_text(v, values)
  elseif type(v) == "number" then
    local masked = mask_text(tostring(v), values)
    return masked == tostring(v) and v or masked
  elseif type(v) == "table" then
    return mask_table(v, values)
  end
  return v
end

--- A copy of a done event (or any plain data) without the secrets of a check; the same value where
--- the check has none.
--- @param data any plain data
--- @param item table the planned check: params, meta.params
function M.masked(data, item)
  local values = values_of(item)
  if #values == 0 then
    return data
  end
  return mask(data, values)
end

return M
