-- SPDX-License-Identifier: Apache-2.0
--- Who sets the parameters of a run (cli-and-reports.md 2.2, 10.1), the last one winning: the
--- default, the recipe, the suite, `--values`, the environment, the command line. Secrets come from
--- `--set-file` and the environment only.
local json = require "aicr.json"
local message = require "aicr.engine.message"
local native = require "aicr.native.text"
local params = require "aicr.engine.params"
local sorted_keys = require "aicr.base.sorted_keys"
local suites = require "aicr.engine.suite"
local yaml = require "aicr.yaml"

local M = {}

local FILE_MAX <const> = 1024 * 1024
local ALL <const> = "all"

--- `[CHECK.]KEY=VALUE` in its parts; nil when it is none.
local function split(text)
  local left, value = text:match("^([^=]*)=(.*)$")
  if not left or left == "" then
    return nil
  end
  local check, key = left:match("^([^.]+)%.(.+)$")
  return { left = left, check = check, key = key or left, value = value }
end

--- Every item of AICR_RUN_SET may be a piece of a secret that held a comma.
local function may_hold_secret(items, source)
  if source.from ~= "environment" then
    return false
  end
  for _, item in ipairs(items) do
    if params.has_secret(item) then
      return true
    end
  end
  return false
end

local function apply_one(items, set, source, problems)
  if set.check then
    params.assign_named(items, set.check, set.key, set.value, source, problems)
  elseif not params.assign_all(items, set.key, set.value, source, problems) then
    params.unknown_to_all(items, set.key, source, problems)
  end
end

local function known(items, set)
  for _, item in ipairs(items) do
    local here = not set.check or set.check == item.name
    if here and item.meta.params and item.meta.params[set.key] then
      return true
    end
  end
  return false
end

--- Applies `[CHECK.]KEY=VALUE` texts.
--- @param items table
--- @param texts table|nil list
--- @param source aicr.source `by` names the option
function M.set(items, texts, source, problems)
  local hide = may_hold_secret(items, source)
  for i, text in ipairs(texts or {}) do
    local set = split(text)
    if not set then
      local shown = hide and (" item %d"):format(i) or (' "%s"'):format(text)
      problems:add("%s%s: expected [CHECK.]KEY=VALUE", source.by, shown)
    else
      local secretive = hide and not known(items, set)
      apply_one(items, set, {
        from = source.from, option = source.option, secret = source.secret, hide = secretive,
        by = ("%s %s"):format(source.by, secretive and ("item %d"):format(i) or set.left),
      }, problems)
    end
  end
end

--- The content of a file as a value; one line end that closes it is not part of it.
--- @return string|nil content
--- @return string|nil why it cannot be read
function M.content(path, host)
  local text, why = host.read_file(path)
  if not text then
    return nil, why or "cannot be read"
  elseif #text > FILE_MAX then
    return nil, "it is larger than 1 MiB"
  elseif native.utf8(text) ~= text then
    return nil, "it is not valid UTF-8"
  end
  return (text:gsub("\r?\n$", ""))
end

--- Applies `[CHECK.]KEY=FILE` texts.
--- @param items table
--- @param texts table|nil list
--- @param source aicr.source `by` is the option's name
function M.set_file(items, texts, host, source, problems)
  for _, text in ipairs(texts or {}) do
    local set = split(text)
    local by = ("%s %s"):format(source.by, set and set.left or ('"%s"'):format(text))
    if not set or set.value == "" then
      problems:add("%s: expected [CHECK.]KEY=FILE", by)
    else
      local value, why = M.content(set.value, host)
      if not value then
        problems:add("%s: %s: %s", by, set.value, why)
      else
        set.value = value
        apply_one(items, set,
          { from = source.from, by = by, option = source.option, secret = true }, problems)
      end
    end
  end
end

local function is_mapping(v)
  return type(v) == "table" and (#v == 0 or next(v) ~= 1)
    and getmetatable(v) ~= getmetatable(json.array())
end

local function parse(text, path)
  if path:find("%.json$") then
    return json.decode(text)
  end
  return yaml.decode(text, { schema = "recipe" })
end

local function error_text(err, path)
  local text = type(err) == "table" and err.message or tostring(err)
  return text:find(path, 1, true) and text or path .. ": " .. text
end

--- The content of a file of values; nil after a problem.
local function load_values(path, host, problems)
  local text, why = host.read_file(path)
  if not text then
    problems:add("--values %s: %s", path, why or "cannot be read")
    return nil
  elseif not text:find("%S") then
    return {}
  end
  local ok, data = pcall(parse, text, path)
  if not ok then
    problems:add { what = error_text(data, path) }
  elseif data == json.null then
    return {}
  elseif not is_mapping(data) then
    problems:add("%s: expected CHECK: {KEY: VALUE}, or all: {KEY: VALUE}", path)
  else
    return data
  end
end

local function values_of_all(items, section, path, others, problems)
  for _, key in ipairs(sorted_keys(section)) do
    local source = { from = "values", by = ("%s: all.%s"):format(path, key) }
    if not params.assign_all(items, key, section[key], source, problems)
      and not known(others, { key = key }) then
      params.unknown_to_all(items, key, source, problems)
    end
  end
end

local function has_name(items, name)
  for _, item in ipairs(items) do
    if item.name == name then
      return true
    end
  end
  return false
end

local function unknown_name(items, name, path, others, problems)
  local names = { ALL }
  for _, list in ipairs { items, others } do
    for _, item in ipairs(list) do
      names[#names + 1] = item.name
    end
  end
  problems:add('%s: no check named "%s"%s', path, name, message.suggestion(name, names))
end

--- Applies a file of values: `CHECK: {KEY: VALUE}`, `all: {KEY: VALUE}`. What it says of checks
--- that are not in this run is left alone.
--- @param others table items of every check that is known
function M.values(items, path, host, others, problems)
  local data = load_values(path, host, problems) or {}
  local names = sorted_keys(data)
  table.sort(names, function(a, b) return a == ALL and b ~= ALL or (b ~= ALL and a < b) end)
  for _, name in ipairs(names) do
    local section = data[name]
    if not is_mapping(section) then
      problems:add("%s: %s: expected {KEY: VALUE}", path, name)
    elseif name == ALL then
      values_of_all(items, section, path, others, problems)
    elseif has_name(items, name) then
      for _, key in ipairs(sorted_keys(section)) do
        local source = { from = "values", by = ("%s: %s.%s"):format(path, name, key) }
        params.assign_named(items, name, key, section[key], source, problems)
      end
    elseif not has_name(others, name) then
      unknown_name(items, name, path, others, problems)
    end
  end
end

local function suite_sets(job, problems)
  for _, suite in ipairs(job.suites) do
    local own = {}
    for _, item in ipairs(job.items) do
      own[#own + 1] = item.suite == suite and item or nil
    end
    M.set(own, suites.sets(suite), { from = "suite", by = suite.path .. ": options.set" }, problems)
  end
  params.entries(job.items, problems)
end

--- Gives all parameters of a run their values.
--- @param job table items, suites, recipe, options, host
--- @param given table the parsed command line: options, environment
--- @param all_checks function → items of every check that is known
function M.apply(job, given, all_checks, problems)
  local items, host = job.items, job.host
  params.defaults(items, job.recipe and job.recipe.recipe, problems)
  suite_sets(job, problems)
  local files = job.options.values or {}
  local others = #files > 0 and all_checks()
  for _, path in ipairs(files) do
    M.values(items, path, host, others, problems)
  end
  local environment, options = given.environment or {}, given.options
  local function from(origin, option)
    return { from = origin, by = option, option = option, secret = origin == "environment" }
  end
  M.set(items, environment.set, from("environment", "AICR_RUN_SET"), problems)
  M.set_file(items, environment.set_file, host, from("environment", "AICR_RUN_SET_FILE"), problems)
  M.set(items, options.set, from("command line", "--set"), problems)
  M.set_file(items, options.set_file, host, from("command line", "--set-file"), problems)
end

return M
