-- SPDX-License-Identifier: Apache-2.0
--- Reads the table that a check or a suite file returns: every field is known and has its type (cli-and-reports.md
-- 10.1, 11). Runs in the throw-away state in which the file was executed.
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"
local time = require "aicr.time"
local json = require "aicr.json"
local native = require "aicr.native.task"

-- Kept before any user code runs. What the file returned is read raw: its metatables have no say.
local array, encode, duration_of = json.array, json.encode, time.duration

local M = {}

local PHASES <const> = { "deployment", "conformance", "performance" }
local PARAM_TYPES <const> = { "string", "integer", "number", "boolean", "duration", "size", "bandwidth", "list" }

local NEEDS_MAX <const> = 256
local STRING_MAX <const> = 256 * 1024
-- Bytes of what a file says of itself.
local META_MAX <const> = 1024 * 1024

local function fail(fmt, ...)
  error(fmt:format(...), 0)
end

local function quoted(v)
  return type(v) == "string" and ('"%s"'):format(text.printable(v)) or type(v)
end

local function suggestion(word, list)
  local near = type(word) == "string" and text.nearest(word, list)
  return near and ('; did you mean "%s"?'):format(near) or ""
end

local function contains(list, v)
  for _, x in ipairs(list) do
    if x == v then
      return true
    end
  end
  return false
end

-- One reader a type: (value, path) -> plain value, or raises.
local read = {}

function read.string(v, path)
  if type(v) ~= "string" then
    fail("%s: expected a string, got %s", path, quoted(v))
  elseif #v > STRING_MAX then
    fail("%s: expected at most %d bytes of text, got %d", path, STRING_MAX, #v)
  end
  return v
end

function read.line(v, path)
  read.string(v, path)
  if v == "" or v:find("[%c]") then
    fail("%s: expected one line of text, got %s", path, quoted(v))
  end
  return v
end

function read.name(v, path)
  read.string(v, path)
  if #v > 63 or not v:find("^[a-z0-9-]+$") then
    fail("%s: expected lower-case letters, digits and hyphens, at most 63, got %s", path, quoted(v))
  end
  return v
end

function read.boolean(v, path)
  if type(v) ~= "boolean" then
    fail("%s: expected true or false, got %s", path, quoted(v))
  end
  return v
end

function read.phase(v, path)
  if not contains(PHASES, v) then
    fail("%s: expected deployment, conformance or performance, got %s%s", path, quoted(v), suggestion(v, PHASES))
  end
  return v
end

function read.duration(v, path)
  read.string(v, path)
  local ok, ms = pcall(duration_of, v)
  if not ok or ms <= 0 then
    fail('%s: expected a duration such as "90s" or "5m", got %s', path, quoted(v))
  end
  return ms
end

read["function"] = function(v, path)
  if type(v) ~= "function" then
    fail("%s: expected a function, got %s", path, quoted(v))
  end
  return nil -- does not leave the state
end

-- The values 1..n of a list; refuses any other key.
local function members_of(v, path)
  local n = 0
  while rawget(v, n + 1) ~= nil do
    n = n + 1
  end
  for k in next, v do
    if math.type(k) ~= "integer" or k < 1 or k > n then
      fail("%s: expected a list, found the key %s", path, quoted(k))
    end
  end
  return table.move(v, 1, n, 1, {})
end

-- A list of values of one type, with nothing else in the table.
local function list_of(item)
  return function(v, path)
    if type(v) ~= "table" then
      fail("%s: expected a list, got %s", path, quoted(v))
    end
    local out = array {}
    for i, x in ipairs(members_of(v, path)) do
      out[i] = read[item](x, ("%s[%d]"):format(path, i))
    end
    return out
  end
end

read.names = list_of "name"
read.lines = list_of "line"

local function needs_into(out, v, path, depth)
  if type(v) ~= "table" or depth > 8 then
    fail('%s: expected a list of lines such as "list nodes", got %s', path, quoted(v))
  end
  for i, x in ipairs(members_of(v, path)) do
    local at = ("%s[%d]"):format(path, i)
    if type(x) == "table" then
      needs_into(out, x, at, depth + 1)
    elseif #out == NEEDS_MAX then
      fail("%s: more than %d lines", path, NEEDS_MAX)
    else
      out[#out + 1] = read.line(x, at)
    end
  end
end

--- needs: a list of lines; a library's list may stand in it.
function read.needs(v, path)
  local out = array {}
  needs_into(out, v, path, 0)
  native.check_needs(out)
  return out
end

function read.fixes(v, path)
  if type(v) ~= "table" then
    fail("%s: expected a table reason = text, got %s", path, quoted(v))
  end
  local out = {}
  for k, x in next, v do
    local reason = read.name(k, path .. " key")
    out[reason] = read.string(x, path .. "." .. reason)
  end
  return out
end

-- A value that may be any plain data.
function read.any(v, path)
  local ok, err = pcall(encode, v)
  if not ok then
    fail("%s: expected plain data: %s", path, tostring(err):gsub("^.-: ", "", 1))
  end
  return v
end

-- The nearest of the known fields, else all of them.
local function expected(word, fields)
  local near = suggestion(word, fields)
  return near ~= "" and near or "; expected one of: " .. table.concat(fields, ", ")
end

-- The field to name of those that the spec has not, the same in each run: one that `other` has not either comes first.
local function unknown_field(v, spec, other)
  local first, least
  for k in next, v do
    if not spec[k] then
      local rank = (other[k] and "1" or "0") .. quoted(k)
      if not least or rank < least then
        first, least = k, rank
      end
    end
  end
  return first
end

-- Reads the table v by a spec {field = {type, required}}; `kind` is what it is, where it could be taken for another:
-- {word, other (that one's spec), its (its word), meant (the fields to suggest, when they are not its own)}.
local function read_table(v, path, spec, kind)
  local prefix = path == "" and "" or path .. "."
  if type(v) ~= "table" then
    fail("%s: expected a table, got %s", path, quoted(v))
  end
  local k = unknown_field(v, spec, kind and kind.other or {})
  if k ~= nil then
    local name = type(k) == "string" and ('"%s%s"'):format(prefix, text.printable(k)) or quoted(k)
    if kind and kind.other[k] then
      fail("unknown field %s: %s has it, %s has not", name, kind.its, kind.word)
    end
    fail("unknown field %s%s", name, expected(k, kind and kind.meant or sorted_keys(spec)))
  end
  local out = {}
  for _, field in ipairs(sorted_keys(spec)) do
    local how, value = spec[field], rawget(v, field)
    if value ~= nil then
      out[how[3] or field] = read[how[1]](value, prefix .. field)
    elseif how[2] then
      fail('the field "%s%s" is missing', prefix, field)
    end
  end
  return out
end

local PARAM <const> = {
  type = { "param_type", true },
  default = { "any" },
  help = { "string" },
  min = { "any" },
  max = { "any" },
  choices = { "any" },
  secret = { "boolean" },
  constraint = { "line" },
}

function read.param_type(v, path)
  if not contains(PARAM_TYPES, v) then
    fail("%s: expected one of %s, got %s%s", path, table.concat(PARAM_TYPES, ", "), quoted(v),
      suggestion(v, PARAM_TYPES))
  end
  return v
end

function read.params(v, path)
  if type(v) ~= "table" then
    fail("%s: expected a table key = {type = …}, got %s", path, quoted(v))
  end
  local out = {}
  for k, x in next, v do
    if type(k) ~= "string" or not k:find("^[a-z][a-z0-9_]*$") or #k > 63 then
      fail("%s: a parameter's name is lower-case letters, digits and _, got %s", path, quoted(k))
    end
    out[k] = read_table(x, ("%s.%s"):format(path, k), PARAM)
  end
  return out
end

local CHECK <const> = {
  name = { "name", true },
  phase = { "phase", true },
  summary = { "line", true },
  run = { "function", true },
  platforms = { "names" },
  tags = { "names" },
  timeout = { "duration", false, "timeout_ms" },
  exclusive = { "boolean" },
  requires = { "names" },
  component = { "line" },
  params = { "params" },
  needs = { "needs" },
  doc = { "string" },
  fixes = { "fixes" },
}

local ENTRY <const> = { as = { "name" }, set = { "any" }, path = { "line" } }

function read.entries(v, path)
  if type(v) ~= "table" then
    fail("%s: expected a list of checks, got %s", path, quoted(v))
  end
  local out = array {}
  for i, x in ipairs(members_of(v, path)) do
    local at = ("%s[%d]"):format(path, i)
    if type(x) == "table" then
      local copy = {}
      for k, value in next, x do
        copy[k == 1 and "path" or k] = value
      end
      out[i] = read_table(copy, at, ENTRY)
      if not out[i].path then
        fail("%s: the check's path or name is missing", at)
      end
    else
      out[i] = read.line(x, at)
    end
  end
  return out
end

local SUITE <const> = {
  suite = { "line", true },
  platform = { "name" },
  options = { "any" },
  checks = { "entries", true },
  waive = { "any" },
}

-- The fields of two specs: a misspelt `checks` makes a suite look like a check.
local function either(one, other)
  local names = {}
  for _, spec in ipairs { one, other } do
    for name in pairs(spec) do
      names[name] = true
    end
  end
  return sorted_keys(names)
end

-- Describes what a file returned.
local function describe(value)
  if type(value) ~= "table" then
    fail("the file must return a table (a check with run, or a suite with checks), it returned %s", quoted(value))
  end
  local function has(field)
    return rawget(value, field) ~= nil
  end
  if not has "run" and (has "checks" or has "suite" and not has "phase") then
    return { kind = "suite", meta = read_table(value, "", SUITE, { word = "a suite", other = CHECK, its = "a check" }) }
  end
  local meant = not has "run" and either(CHECK, SUITE) or nil
  return { kind = "check", meta = read_table(value, "", CHECK, {
    word = "a check", other = SUITE, its = "a suite", meant = meant,
  }) }
end

--- Metadata of a source as JSON text: `{kind="check"|"suite", meta={…}}`.
-- @param chunk function the user's file
-- @return string
-- @raise a string that names the field and what was expected
function M.describe(chunk)
  local described = encode(describe(chunk()))
  if #described > META_MAX then
    fail("the file describes itself in %d bytes, at most %d", #described, META_MAX)
  end
  return described
end

return M
