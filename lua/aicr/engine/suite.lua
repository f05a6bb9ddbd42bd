-- SPDX-License-Identifier: Apache-2.0
--- What a suite may set, and its options under those of the command line and the environment.
local message = require "aicr.engine.message"
local paths = require "aicr.engine.path"
local platform = require "aicr.engine.platform"
local sorted_keys = require "aicr.base.sorted_keys"
local time = require "aicr.time"

local M = {}

--- Options that a suite may set, and their types. Paths are relative to the suite's file.
local ALLOWED <const> = {
  phase = "list", tags = "list", skip = "list", recipe = "path", platform = "string",
  namespace = "string", context = "string",
  set = "list", jobs = "integer", fail_fast = "boolean", strict = "boolean", seed = "integer",
  format = "string", output = "outputs", quiet = "boolean", verbose = "integer",
  log_level = "string", timeout = "string", retry = "integer", values = "files",
}

--- Kinds of options that are lists, and those that name files: these lie in the suite's folder.
local LISTS <const> = { list = true, outputs = true, files = true }
local INSIDE <const> = { outputs = true, files = true }

local LATER <const> = {
  snapshot = true, keep = true,
  color = true,
  node_selector = true, toleration = true, log_format = true, rerun = true,
}

local REFUSED <const> = {
  kubeconfig = "a suite must not choose the credentials",
  set_file = "a suite must not read files of the machine it runs on",
  record = "a suite must not choose where a recording is written",
  recording = "a suite must not choose which cluster is looked at",
}

local function fits(kind, value)
  if LISTS[kind] then
    if type(value) ~= "table" then
      return type(value) == "string"
    end
    for _, item in ipairs(value) do
      if type(item) ~= "string" then
        return false
      end
    end
    return true
  elseif kind == "integer" then
    return math.type(value) == "integer"
  elseif kind == "path" then
    return type(value) == "string"
  end
  return type(value) == kind
end

local TYPE_NAME <const> = {
  list = "text or a list of texts", outputs = "text or a list of texts",
  files = "text or a list of texts", path = "text", string = "text",
}

--- Where a file really is, or would be made; nil where not even its folder is there.
local function real(host, path)
  return host.real_path(path) or host.real_path(paths.dirname(path))
end

--- True when a file lies below the suite's folder, whatever links and `..` stand in its path.
local function is_inside(suite, file, host)
  local dir = paths.dirname(suite.path)
  local base, place = host.real_path(dir), real(host, paths.join(dir, file))
  if not paths.inside(file) then
    return false
  elseif not base or not place or place == base then
    return true
  end
  local prefix = base == "/" and base or base .. "/"
  return place:sub(1, #prefix) == prefix
end

local function check_files(suite, name, value, host, problems)
  for _, target in ipairs(type(value) == "table" and value or { value }) do
    local file = ALLOWED[name] == "outputs" and target:match("^%a+:(.+)$") or target
    if not is_inside(suite, file, host) then
      problems:add("%s: options.%s: %s lies outside the suite's folder", suite.path, name, target)
    end
  end
end

local function check_option(suite, name, value, host, problems)
  if REFUSED[name] then
    problems:add {
      what = ("%s: options.%s may not be set by a suite"):format(suite.path, name),
      why = REFUSED[name],
      fix = ("give it on the command line: --%s"):format((name:gsub("_", "-"))),
    }
  elseif LATER[name] then
    problems:add("%s: options.%s is not available yet", suite.path, name)
  elseif not ALLOWED[name] then
    problems:add('%s: unknown option "%s"%s', suite.path, name,
      message.suggestion(name, sorted_keys(ALLOWED, LATER)))
  elseif not fits(ALLOWED[name], value) then
    local kind = ALLOWED[name]
    problems:add("%s: options.%s: expected %s, found %s", suite.path, name, TYPE_NAME[kind] or kind,
      type(value))
  elseif INSIDE[ALLOWED[name]] then
    check_files(suite, name, value, host, problems)
  end
end

local function is_date(text)
  return type(text) == "string" and text:find("^%d%d%d%d%-%d%d%-%d%d$") ~= nil
    and pcall(time.parse, text .. "T00:00:00Z")
end

local WAIVER <const> = { "expires", "reason" }

local function check_waiver_fields(suite, name, waiver, problems)
  for _, field in ipairs(sorted_keys(waiver)) do
    if field ~= "reason" and field ~= "expires" then
      problems:add('%s: waive["%s"]: unknown field "%s"%s', suite.path, name, field,
        message.known(tostring(field), WAIVER))
    end
  end
end

local function check_waivers(suite, problems)
  for _, name in ipairs(sorted_keys(suite.meta.waive)) do
    local waiver = suite.meta.waive[name]
    if type(waiver) == "table" then
      check_waiver_fields(suite, name, waiver, problems)
    end
    if type(waiver) ~= "table" or type(waiver.reason) ~= "string" or waiver.reason == "" then
      problems:add('%s: waive["%s"] needs a reason', suite.path, name)
    elseif not is_date(waiver.expires) then
      problems:add('%s: waive["%s"].expires: expected a date such as "2026-06-30", found "%s"',
        suite.path, name, tostring(waiver.expires))
    end
  end
end

--- Gives the checks of a suite their waivers; a waiver of no check is a mistake.
--- @param items table the suite's checks
function M.adopt(suite, items, problems)
  local names, waive = {}, suite.meta.waive or {}
  for i, item in ipairs(items) do
    item.suite, item.waiver = suite, waive[item.name]
    names[i] = item.name
    names[item.name] = true
  end
  for _, name in ipairs(sorted_keys(waive)) do
    if not names[name] then
      problems:add('%s: waive["%s"]: the suite has no such check%s', suite.path, name,
        message.suggestion(name, names))
    end
  end
end

local function table_field(suite, field, problems)
  local value = suite.meta[field]
  if value == nil then
    return {}
  elseif type(value) ~= "table" then
    problems:add("%s: %s: expected a table, found %s", suite.path, field, type(value))
    suite.meta[field] = nil
    return {}
  end
  return value
end

--- Refuses what a suite may not say.
--- @param host table the border
function M.validate(suite, host, problems)
  local options, named = table_field(suite, "options", problems), suite.meta.platform
  table_field(suite, "waive", problems)
  if named and not platform.canonical(named) then
    problems:add('%s: unknown platform "%s"%s', suite.path, named,
      message.suggestion(named, platform.words()))
  end
  for _, name in ipairs(sorted_keys(options)) do
    check_option(suite, name, options[name], host, problems)
  end
  check_waivers(suite, problems)
end

local function relative(suite, name, value)
  local dir = paths.dirname(suite.path)
  if ALLOWED[name] == "path" or ALLOWED[name] == "files" then
    return paths.join(dir, value)
  elseif ALLOWED[name] == "outputs" then
    local format, file = value:match("^(%a+):(.+)$")
    file = paths.join(dir, file or value)
    return format and format .. ":" .. file or file
  end
  return value
end

local function option_value(suite, name, value)
  local kind = ALLOWED[name]
  if not LISTS[kind] then
    return relative(suite, name, value)
  end
  local list = {}
  for i, item in ipairs(type(value) == "table" and value or { value }) do
    list[i] = relative(suite, name, item)
  end
  return list
end

--- The options of a run: the suites' below those that were given; of two suites the first wins.
--- @param given table option name → value
--- @param suites table list of {path, meta}
--- @return table options, without what the suites set of parameters (see sets)
function M.merge(given, suites)
  local options = {}
  for name, value in pairs(given) do
    options[name] = value
  end
  for _, suite in ipairs(suites) do
    for name, value in pairs(suite.meta.options or {}) do
      if ALLOWED[name] and name ~= "set" and options[name] == nil
        and fits(ALLOWED[name], value) then
        options[name] = option_value(suite, name, value)
      end
    end
  end
  return options
end

--- The `[CHECK.]KEY=VALUE` texts that a suite sets.
function M.sets(suite)
  local set = suite.meta.options and suite.meta.options.set
  if not set or not fits("list", set) then
    return {}
  end
  return type(set) == "table" and set or { set }
end

return M
