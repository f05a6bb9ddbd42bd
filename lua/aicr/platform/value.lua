-- SPDX-License-Identifier: Apache-2.0
--- Decoded JSON, as the parts of aicr.platform read and build it.
local errors = require "aicr.native.error"
local json = require "aicr.json"
local quantity = require "aicr.quantity"
local text = require "aicr.native.text"

local M = {}

--- Is it a list? A literal that nobody marked is one when it has items.
function M.is_list(v)
  return type(v) == "table" and (json.is_array(v) or #v > 0)
end

--- Is it an object?
function M.is_map(v)
  return type(v) == "table" and not M.is_list(v)
end

--- A whole number of things, nil for anything else: 7.9999999 GPUs are not eight, though a quantity rounds up.
---@param amount any a quantity of Kubernetes
---@return integer|nil
function M.whole(amount)
  local ok, count = pcall(quantity.value, amount)
  return ok and quantity.compare(amount, count) == 0 and count or nil
end

--- The value, nil for `json.null`.
function M.opt(v)
  if v ~= json.null then
    return v
  end
end

--- The list, an empty one for nil and `json.null`.
function M.list(v)
  if v == nil or v == json.null then
    return json.array()
  end
  return v
end

--- A copy that shares no table; lists stay lists.
function M.copy(v)
  if type(v) ~= "table" then
    return v
  end
  local out = M.is_list(v) and json.array() or {}
  for k, member in pairs(v) do
    out[k] = M.copy(member)
  end
  return out
end

--- Are the values equal as JSON? Numbers compare by value, lists in order. Strictly, 8 is not 8.0, and no empty list
--- an empty map.
function M.equal(a, b, strictly)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b and (not strictly or math.type(a) == math.type(b))
  elseif M.is_list(a) ~= M.is_list(b) then
    return not strictly and next(a) == nil and next(b) == nil
  end
  for k, member in pairs(a) do
    if not M.equal(member, b[k], strictly) then
      return false
    end
  end
  for k in pairs(b) do
    if a[k] == nil then
      return false
    end
  end
  return true
end

--- The item of a list with that name, and its position.
function M.named(list, name)
  for i, item in ipairs(M.is_list(list) and list or {}) do
    if M.is_map(item) and item.name == name then
      return item, i
    end
  end
end

--- A list of the given items.
function M.array(...)
  return json.array { ... }
end

--- The text in double quotes, fit for a terminal; cut when it is long.
function M.quoted(v)
  local s = tostring(v)
  if #s > 200 then
    s = s:sub(1, 200) .. "…"
  end
  s = s:gsub('[\\"]', "\\%0"):gsub("%c", function(c) return ("\\x%02x"):format(c:byte()) end)
  return '"' .. text.printable(s) .. '"'
end

--- A decoded value for a message: text in quotes, all else as JSON, or its type where JSON has no word for it.
function M.shown(v)
  if type(v) == "string" then
    return M.quoted(v)
  end
  local ok, written = pcall(json.encode, v)
  if not ok then
    return type(v)
  end
  return text.printable(#written > 200 and written:sub(1, 200) .. "…" or written)
end

--- The words in a sentence; the nearest one to `word` where one is near.
function M.suggestion(word, words)
  local near = type(word) == "string" and text.nearest(word, words)
  return near and (('; did you mean "%s"?'):format(near)) or ("; known: %s"):format(table.concat(words, ", "))
end

--- Raises INVALID_REQUEST: what was given is wrong, whatever the cluster says.
function M.invalid(reason, fmt, ...)
  errors.raise { code = "INVALID_REQUEST", reason = reason, message = fmt:format(...) }
end

return M
