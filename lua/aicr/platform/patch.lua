-- SPDX-License-Identifier: Apache-2.0
--- JSON patches (RFC 6902) for the jobTemplatePatch of an override. What is given is not changed.
local json = require "aicr.json"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

local function refuse(i, fmt, ...)
  value.invalid("json-patch", "operation %d: %s", i, fmt:format(...))
end

-- The keys of a JSON pointer (RFC 6901).
local function keys_of(i, pointer)
  if type(pointer) ~= "string" or pointer ~= "" and pointer:sub(1, 1) ~= "/" then
    refuse(i, "%s is no JSON pointer", value.quoted(pointer))
  end
  local keys = {}
  for key in pointer:gmatch "/([^/]*)" do
    keys[#keys + 1] = key:gsub("~1", "/"):gsub("~0", "~")
  end
  return keys
end

-- The position in a list that a key names, up to `last`.
local function position(i, key, last)
  local n = key:match "^0$" or key:match "^[1-9]%d*$"
  n = n and #n < 10 and tonumber(n) + 1
  if not n or n > last then
    refuse(i, "%s is no place in a list of %d", value.quoted(key), last)
  end
  return n
end

local function step(i, v, key)
  local inner
  if value.is_list(v) then
    inner = v[position(i, key, #v)]
  elseif value.is_map(v) then
    inner = v[key]
  end
  if inner == nil then
    refuse(i, "there is no %s", value.quoted(key))
  end
  return inner
end

local function find(i, document, keys, last)
  local v = document
  for k = 1, last do
    v = step(i, v, keys[k])
  end
  return v
end

local function add(i, document, keys, member)
  if #keys == 0 then
    return member
  end
  local into, key = find(i, document, keys, #keys - 1), keys[#keys]
  if value.is_list(into) then
    table.insert(into, key == "-" and #into + 1 or position(i, key, #into + 1), member)
  elseif value.is_map(into) then
    into[key] = member
  else
    refuse(i, "%s is in no object and no list", value.quoted(key))
  end
  return document
end

local function remove(i, document, keys)
  if #keys == 0 then
    refuse(i, "the whole document cannot be removed")
  end
  local from, key = find(i, document, keys, #keys - 1), keys[#keys]
  step(i, from, key)
  if value.is_list(from) then
    table.remove(from, position(i, key, #from))
  else
    from[key] = nil
  end
  return document
end

local function member_of(i, operation)
  if operation.value == nil then
    refuse(i, "%s needs a value", operation.op)
  end
  return value.copy(operation.value)
end

local OPERATIONS <const> = {
  add = function(i, document, keys, operation) return add(i, document, keys, member_of(i, operation)) end,
  remove = function(i, document, keys) return remove(i, document, keys) end,
  replace = function(i, document, keys, operation)
    local member = member_of(i, operation)
    find(i, document, keys, #keys)
    return add(i, #keys > 0 and remove(i, document, keys) or document, keys, member)
  end,
  copy = function(i, document, keys, operation)
    local from = keys_of(i, operation.from)
    return add(i, document, keys, value.copy(find(i, document, from, #from)))
  end,
  move = function(i, document, keys, operation)
    local from = keys_of(i, operation.from)
    local member = find(i, document, from, #from)
    if operation.path:sub(1, #operation.from + 1) == operation.from .. "/" then
      refuse(i, "%s cannot be moved into itself", value.quoted(operation.from))
    end
    return add(i, remove(i, document, from), keys, member)
  end,
  test = function(i, document, keys, operation)
    if not value.equal(find(i, document, keys, #keys), member_of(i, operation)) then
      refuse(i, "%s is not %s", value.quoted(operation.path), json.encode(operation.value))
    end
    return document
  end,
}

--- Refuses what is no operation. Raises INVALID_REQUEST/`json-patch` with its number.
---@param i integer
---@param operation any
function M.check(i, operation)
  if not value.is_map(operation) or not OPERATIONS[operation.op] then
    refuse(i, "expected an operation: %s", table.concat(sorted_keys(OPERATIONS), ", "))
  end
  keys_of(i, operation.path)
  if operation.op == "copy" or operation.op == "move" then
    keys_of(i, operation.from)
  elseif operation.op ~= "remove" then
    member_of(i, operation)
  end
end

--- The document with the operations applied, all or none. Raises INVALID_REQUEST/`json-patch` with the
--- number of the operation.
---@param document any
---@param operations table[]
---@return any
function M.apply(document, operations)
  local out = value.copy(document)
  if not value.is_list(operations) then
    value.invalid("json-patch", "expected a list of operations")
  end
  for i, operation in ipairs(operations) do
    M.check(i, operation)
    out = OPERATIONS[operation.op](i, out, keys_of(i, operation.path), operation)
  end
  return out
end

return M
