-- SPDX-License-Identifier: Apache-2.0
--- What every GPU node of a platform has to offer for its fabric, read from
--- recipes/platforms/fabric.yaml, whose head says how it is written.
local fragment = require "aicr.platform.fragment"
local json = require "aicr.json"
local match = require "aicr.platform.match"
local native = require "aicr.native.platform"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

M.FILE = "recipes/platforms/fabric.yaml"

local KNOWN <const> = { GpusPerNode = true, MlnxPerNode = true }
local TOP <const> = { rows = true, plugins = true }

local need_text, refuse, step = fragment.need_text, fragment.refuse, fragment.step

local function need_count(at, v)
  if type(v) == "table" and v["$value"] ~= nil then
    return
  elseif math.type(v) ~= "integer" or v < 1 then
    refuse(at, "expected a whole number from 1, got %s", json.encode(v))
  end
end

local function need_keys(at, map, known)
  if not value.is_map(map) then
    refuse(at, "expected an object, got %s", json.encode(map))
  end
  for key in pairs(map) do
    if not known[key] then
      refuse(at, "%s is not known%s", value.quoted(key), value.suggestion(key, sorted_keys(known)))
    end
  end
end

local function need_list(at, list, check)
  if not value.is_list(list) then
    refuse(at, "expected a list")
  end
  for i, item in ipairs(list) do
    check(step(at, i), item)
  end
end

local function counted_name(known)
  return function(at, item)
    need_keys(at, item, known)
    need_text(step(at, "name"), item.name)
    need_count(step(at, "count"), item.count)
    if item.driver ~= nil then
      need_text(step(at, "driver"), item.driver)
    end
  end
end

local RESOURCE <const> = counted_name { name = true, count = true, ["$when"] = true }
local CLASS <const> = counted_name { name = true, count = true, driver = true, ["$when"] = true }

local FIELDS <const> = {
  name = need_text,
  when = match.check,
  resources = function(at, v) need_list(at, v, RESOURCE) end,
  networks = need_count,
  nicResource = need_count,
  deviceClasses = function(at, v) need_list(at, v, CLASS) end,
  gpus = function(at, v)
    if v ~= "claims" then
      refuse(at, "expected claims, got %s", json.encode(v))
    end
  end,
  computeDomain = function(at, v)
    need_keys(at, v, { driver = true, nodeLabel = true })
    need_text(step(at, "driver"), v.driver)
    need_text(step(at, "nodeLabel"), v.nodeLabel)
  end,
  nothing = need_text,
}

local function plugin(at, row)
  need_keys(at, row, { resource = true, images = true, except = true })
  need_text(step(at, "resource"), row.resource)
  need_list(step(at, "images"), row.images, need_text)
  if row.except ~= nil then
    need_list(step(at, "except"), row.except, need_text)
  end
end

local function check_row(file, i, row, names)
  local at = { file = file, key = ("rows[%d]"):format(i), known = KNOWN, fragment = function() end, stack = {} }
  if not value.is_map(row) or type(row.name) ~= "string" then
    refuse(at, "a row has a name")
  end
  at = { file = file, row = row.name, key = "", known = KNOWN, fragment = at.fragment, stack = {} }
  if names[row.name] then
    refuse(at, "there are two rows of this name")
  end
  names[row.name] = true
  need_keys(at, row, FIELDS)
  if row.when == nil then
    refuse(at, "a row says when it holds")
  end
  local resolved = fragment.resolve(at, row)
  for _, field in ipairs(sorted_keys(resolved)) do
    FIELDS[field](step(at, field), resolved[field])
  end
  return resolved
end

--- Reads the table. Raises INVALID_REQUEST/`override` with file, row and key.
---@param text string YAML
---@param file string its name, for messages
---@return {rows: table[], plugins: table[]}
function M.load(text, file)
  local read = fragment.read(text, file)
  need_keys({ file = file }, read, TOP)
  need_list({ file = file, key = "rows" }, read.rows, function() end)
  need_list({ file = file, key = "plugins" }, read.plugins, plugin)
  local out, names = { rows = {}, plugins = read.plugins }, {}
  for i, row in ipairs(read.rows) do
    out.rows[i] = check_row(file, i, row, names)
  end
  return out
end

local function append(list, more)
  table.move(value.list(more), 1, #value.list(more), #list + 1, list)
end

local built_in

local function table_of_binary()
  built_in = built_in or M.load(native.data "platforms/fabric.yaml", M.FILE)
  return built_in
end

--- What every GPU node has to offer there: what all rows that match ask for together.
---@param name string the platform
---@param arch string
---@param sizes {GpusPerNode: integer, MlnxPerNode: integer}
---@return aicr.platform.Fabric
function M.fabric(name, arch, sizes)
  local out = { rows = json.array(), resources = json.array(), classes = json.array(), claimed_gpus = false }
  for _, row in ipairs(table_of_binary().rows) do
    if match.matches(row.when, { Platform = name, GPUArchitecture = arch }) then
      local made = fragment.render(row, sizes)
      out.rows[#out.rows + 1] = row.name
      append(out.resources, made.resources)
      append(out.classes, made.deviceClasses)
      out.networks = made.networks or out.networks
      out.nics = made.nicResource or out.nics
      out.claimed_gpus = out.claimed_gpus or made.gpus == "claims"
      if made.computeDomain then
        out.domain_driver, out.domain_label = made.computeDomain.driver, made.computeDomain.nodeLabel
      end
      out.nothing = made.nothing or out.nothing
    end
  end
  return out
end

--- The labels of nodes that say which NVLink domain they are of, in any row.
---@return string[]
function M.domain_labels()
  local labels, seen = {}, {}
  for _, row in ipairs(table_of_binary().rows) do
    local label = row.computeDomain and row.computeDomain.nodeLabel
    if label and not seen[label] then
      seen[label], labels[#labels + 1] = true, label
    end
  end
  return labels
end

--- The last path segments of the images of the device plug-ins that offer a resource; none: no plug-in is known.
---@param resource string
---@return string[] images
---@return string[] except how containers begin that are something else
function M.plugin_images(resource)
  for _, row in ipairs(table_of_binary().plugins) do
    local prefix = row.resource:match "^(.*)%*$"
    if row.resource == resource or prefix and resource:sub(1, #prefix) == prefix then
      return row.images, row.except or {}
    end
  end
  return {}, {}
end

return M
