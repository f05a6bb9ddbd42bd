-- SPDX-License-Identifier: Apache-2.0
--- Masks the values of parameters declared secret, and of the Secrets that a check has read, in everything that a
--- result carries: a check may echo them into evidence or messages (cli-and-reports.md 14, design 11).
local json = require "aicr.json"

local M = {}

local MASK <const> = "***"
local ARRAY <const> = getmetatable(json.array())
--- A line of a longer secret, or its beginning where a text was cut, is masked from this length on.
local PART <const> = 6

--- Members of records that this program writes itself: they decide how a result is drawn.
local OWN <const> = {
  steps = { outcome = true, duration_ms = true },
  expectations = { op = true, ok = true, code = true },
  measures = { ok = true, tolerance = true }, coverage = { verified = true, total = true },
  log = { level = true }, resources = { removed = true },
}

local function add_text(values, value)
  values[#values + 1] = value
  if value:find("\n", 1, true) then
    for line in value:gmatch("[^\r\n]+") do
      if #line >= PART then
        values[#values + 1] = line
      end
    end
  end
end

--- Notes the values of Secrets that a check has read by now.
--- @param item table the planned check
--- @param values any array of strings, or nothing
function M.saw(item, values)
  local seen = item.seen_secrets or {}
  for _, value in ipairs(type(values) == "table" and values or {}) do
    if type(value) == "string" then
      seen[value] = true
    end
  end
  item.seen_secrets = seen
end

local function values_of(item)
  local values = {}
  for value in pairs(item.seen_secrets or {}) do
    add_text(values, value)
  end
  for key, given in pairs(item.params or {}) do
    local decl = item.meta.params and item.meta.params[key]
    if decl and decl.secret and type(given.value) ~= "boolean" then
      for _, value in ipairs(type(given.value) == "table" and given.value or { given.value }) do
        add_text(values, tostring(value))
      end
    end
  end
  table.sort(values, function(a, b) return #a > #b or #a == #b and a < b end)
  return values
end

--- Where at the end of a text a secret begins that was cut there; nil: nowhere.
local function cut_at(s, value)
  local body = s:gsub("…$", "")
  local head, first = value:sub(1, PART), 1
  while #head == PART do
    local at = body:find(head, first, true)
    if not at then
      return nil
    elseif value:sub(1, #body - at + 1) == body:sub(at) then
      return at
    end
    first = at + 1
  end
end

local function mask_text(s, values)
  for _, value in ipairs(values) do
    local first, last = s:find(value, 1, true)
    while value ~= "" and first do
      s = s:sub(1, first - 1) .. MASK .. s:sub(last + 1)
      first, last = s:find(value, first + #MASK, true)
    end
    local cut = cut_at(s, value)
    s = cut and s:sub(1, cut - 1) .. MASK or s
  end
  return s
end

local function mask_number(n, values)
  for _, value in ipairs(values) do
    if tonumber(value) == n then
      return MASK
    end
  end
  return n
end

local mask

local function mask_table(t, values, own)
  local out = {}
  for k, v in pairs(t) do
    if own and own[k] then
      out[k] = v
    else
      out[type(k) == "string" and mask_text(k, values) or k] = mask(v, values)
    end
  end
  return getmetatable(t) == ARRAY and json.array(out) or out
end

mask = function(v, values)
  if v == json.null then
    return v
  elseif type(v) == "string" then
    return mask_text(v, values)
  elseif type(v) == "number" then
    return mask_number(v, values)
  elseif type(v) == "table" then
    return mask_table(v, values)
  end
  return v
end

--- Calls f with each value that no recording may hold.
--- @param plan table the planned checks
--- @param f function(string)
function M.each(plan, f)
  for _, item in ipairs(plan) do
    for _, value in ipairs(values_of(item)) do
      f(value)
    end
  end
end

--- A copy of any plain data without the secrets of a check; the same value where it has none.
--- @param data any plain data
--- @param item table the planned check: params, meta.params
function M.masked(data, item)
  local values = values_of(item)
  if #values == 0 then
    return data
  end
  return mask(data, values)
end

--- One entry of a list of a record; a word and a number stay what they are.
local function mask_entry(name, entry, values)
  if type(entry) ~= "table" then
    return mask(entry, values)
  end
  local out = mask_table(entry, values, OWN[name])
  if name == "expectations" and out.reason ~= entry.reason then
    out.reason = "masked"
  elseif name == "measures" and out.value == MASK then
    out.value = json.null
  end
  return out
end

local function mask_list(name, list, values)
  local out = {}
  if type(list) ~= "table" or list == json.null then
    return list
  elseif name == "coverage" then
    return mask_table(list, values, OWN[name])
  end
  for k, entry in pairs(list) do
    out[k] = mask_entry(name, entry, values)
  end
  return getmetatable(list) == ARRAY and json.array(out) or out
end

--- A record of the host without the secrets of a check.
--- @param record table|nil the record of a done event
--- @param item table the planned check
function M.record(record, item)
  local values = values_of(item)
  if #values == 0 or type(record) ~= "table" then
    return record
  end
  local out = {}
  for name, list in pairs(record) do
    if name == "extra" or name == "cleanup" then
      out[name] = mask(list, values)
    else
      out[name] = mask_list(name, list, values)
    end
  end
  return out
end

local TEXTS <const> = { "result", "message", "why", "fix", "details", "notes", "trace" }

--- Takes the secrets of a check out of its outcome.
--- @param out table of outcome.of
--- @param item table the planned check
--- @return table the same
function M.outcome(out, item)
  local values = values_of(item)
  if #values == 0 then
    return out
  end
  for _, key in ipairs(TEXTS) do
    out[key] = mask(out[key], values)
  end
  if out.reason and mask_text(out.reason, values) ~= out.reason then
    out.reason = "masked"
  end
  return out
end

return M
