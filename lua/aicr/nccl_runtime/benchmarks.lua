-- SPDX-License-Identifier: Apache-2.0
--- Which benchmark there is for a platform and an architecture: recipes/platforms/benchmarks.yaml, whose head says how
--- it is written.
local fragment = require "aicr.platform.fragment"
local json = require "aicr.json"
local match = require "aicr.platform.match"
local native = require "aicr.native.platform"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

M.FILE = "recipes/platforms/benchmarks.yaml"

--- What can carry a benchmark between nodes: family of networks as `aicr.nccl` names it, and of InfiniBand's its link.
M.FABRICS = {
  efa = { family = "efa" }, ib = { family = "ib", link = "IB" }, roce = { family = "ib", link = "RoCE" },
  gib = { family = "gib" }, tcpxo = { family = "fastrak" }, socket = { family = "socket" },
}

local need_text, refuse, step = fragment.need_text, fragment.refuse, fragment.step

local function need_file(at, v)
  need_text(at, v)
  if not v:find "^%l[%l%d_]*$" then
    refuse(at, "expected the name of a file in lua/aicr/nccl_runtime/, got %s", value.quoted(v))
  end
end

local function need_true(at, v)
  if v ~= true then
    refuse(at, "expected true, got %s", json.encode(v))
  end
end

local function need_fabrics(at, v)
  if not value.is_list(v) or #v == 0 then
    refuse(at, "expected a list")
  end
  for i, name in ipairs(v) do
    if not M.FABRICS[name] then
      refuse(step(at, i), "%s is no fabric%s", value.quoted(name),
        value.suggestion(tostring(name), sorted_keys(M.FABRICS)))
    end
  end
end

local function need_floor(at, v)
  if type(v) ~= "number" or v <= 0 then
    refuse(at, "expected GB/s, got %s", json.encode(v))
  end
end

local ROW <const> = {
  name = need_text, when = match.check, runtime = need_file, fabric = need_fabrics, nvlink = need_true,
  missing = need_text,
}
local PROFILE <const> = { name = need_text, other = need_true, floor = need_floor }

-- Checks an entry of a list; gives its place for what else is wrong with it.
local function check_entry(file, list, i, entry, fields, names)
  local at = { file = file, key = ("%s[%d]"):format(list, i) }
  if not value.is_map(entry) or type(entry.name) ~= "string" then
    refuse(at, "it has a name")
  end
  at = { file = file, row = entry.name, key = "" }
  if names[entry.name] then
    refuse(at, "there are two of this name")
  end
  names[entry.name] = true
  for _, key in ipairs(sorted_keys(entry)) do
    if not fields[key] then
      refuse(at, "%s is not known%s", value.quoted(key), value.suggestion(key, sorted_keys(fields)))
    end
    fields[key](step(at, key), entry[key])
  end
  return at
end

local function check_row(at, row)
  if row.when == nil then
    refuse(at, "a row says when it holds")
  elseif (row.runtime == nil) == (row.missing == nil) then
    refuse(at, "a row has either a runtime or, in its place, missing")
  elseif row.missing and (row.fabric or row.nvlink) then
    refuse(at, "where the benchmark is missing nothing carries it")
  end
end

--- Reads the table. Raises INVALID_REQUEST/`override` with file, row and key.
---@param text string YAML
---@param file string its name, for messages
---@return table for `row_of`, `profile_of`
function M.load(text, file)
  local read = fragment.read(text, file)
  if not value.is_map(read) or not value.is_list(read.rows) or not value.is_list(read.profiles) then
    refuse({ file = file }, "expected an object with the lists rows and profiles")
  end
  for key in pairs(read) do
    if key ~= "rows" and key ~= "profiles" then
      refuse({ file = file }, "%s is not known; expected: rows, profiles", value.quoted(key))
    end
  end
  local names = {}
  for i, row in ipairs(read.rows) do
    check_row(check_entry(file, "rows", i, row, ROW, names), row)
  end
  names = {}
  for i, profile in ipairs(read.profiles) do
    local at = check_entry(file, "profiles", i, profile, PROFILE, names)
    if not profile.name:find "^[%l%d]+/[%l%d]+$" then
      refuse(step(at, "name"), "expected ACCELERATOR/SERVICE")
    end
  end
  return read
end

--- A row, as recipes/platforms/benchmarks.yaml says.
---@class aicr.nccl_runtime.Row
---@field name string
---@field when table
---@field runtime string|nil
---@field fabric string[]|nil
---@field nvlink true|nil
---@field missing string|nil

--- The row of a table for a pair, nil: there is none.
---@param all table what `load` gave
---@param platform string
---@param arch string
---@return aicr.nccl_runtime.Row|nil
function M.row_of(all, platform, arch)
  local found
  for _, row in ipairs(all.rows) do
    found = match.matches(row.when, { Platform = platform, GPUArchitecture = arch }) and row or found
  end
  return found
end

local built_in

local function table_of_binary()
  built_in = built_in or M.load(native.data "platforms/benchmarks.yaml", M.FILE)
  return built_in
end

--- The row for a pair, nil: there is none.
---@param platform string
---@param arch string
---@return aicr.nccl_runtime.Row|nil
function M.row(platform, arch)
  return M.row_of(table_of_binary(), platform, arch)
end

--- The names of the files that rows have, sorted.
---@return string[]
function M.runtimes()
  local names = {}
  for _, row in ipairs(table_of_binary().rows) do
    names[row.runtime or 0] = row.runtime
  end
  return sorted_keys(names)
end

--- AICR's profile of that name, nil: there is none.
---@param name string
---@return {name: string, other: boolean?, floor: number?}|nil
function M.profile(name)
  return value.named(table_of_binary().profiles, name)
end

--- The names of all profiles, sorted.
---@return string[]
function M.profiles()
  local names = {}
  for i, profile in ipairs(table_of_binary().profiles) do
    names[i] = profile.name
  end
  table.sort(names)
  return names
end

return M
