-- SPDX-License-Identifier: Apache-2.0
--- What a name, a file, a folder or a suite resolves to (design.md 7): a list of items
--- `{name, phase, meta, path, source, roots, origin}`. Offenders are collected, never thrown.
local emptied = require "aicr.engine.emptied"
local message = require "aicr.engine.message"
local paths = require "aicr.engine.path"
local sorted_keys = require "aicr.base.sorted_keys"
local suites = require "aicr.engine.suite"

local M = {}

local DEPTH <const> = 32
local DEFAULT_SUITE <const> = "aicr-run.lua"
local BUILT_IN <const> = "built-in"

local Catalog = {}
Catalog.__index = Catalog

local function is_bare(name)
  return not name:find("/", 1, true) and not name:find("%.lua$")
end

local function load_problem(path, answer)
  local where = answer.file or path
  if answer.line then
    where = ("%s:%d"):format(where, answer.line)
  end
  local text = tostring(answer.message)
  if text:sub(1, #where) == where then
    return text
  end
  return where .. ": " .. text
end

--- Loads a source once; nil and a problem when it does not load.
function Catalog:load(file)
  local key = file.origin .. ":" .. file.path
  local known = self.loaded[key]
  if known == nil then
    local answer = self.host.load { path = file.path, source = file.source, roots = file.roots }
    known = answer.ok and { kind = answer.kind, meta = answer.meta } or false
    self.loaded[key] = known
    if not known then
      self.problems:add { what = load_problem(file.path, answer) }
    end
  end
  return known or nil
end

local function item_of(file, loaded)
  return {
    name = loaded.meta.name, phase = loaded.meta.phase, meta = loaded.meta,
    path = file.path, source = file.source, roots = file.roots, origin = file.origin,
  }
end

function Catalog:embedded_file(path)
  local source = self.host.embedded(path)
  return source and { path = path, source = source, roots = {}, origin = BUILT_IN }
end

local function on_disk(path, source, suite_dir)
  local roots = { paths.dirname(path) }
  if suite_dir and suite_dir ~= roots[1] then
    roots[2] = suite_dir
  end
  return { path = path, source = source, roots = roots, origin = "file" }
end

--- The reason why a path that cannot be read is nevertheless there, or nil.
function Catalog:unreadable(path, why)
  for _, entry in ipairs(self.host.list_dir(paths.dirname(path)) or {}) do
    if entry.name == paths.basename(path) and entry.type ~= "dir" then
      return why or "cannot be read"
    end
  end
end

--- A file on disk, else the embedded one of the same path.
--- @return table|nil file
--- @return string|nil problem a file is there and cannot be read
function Catalog:file(path, suite_dir)
  local source, why = self.host.read_file(path)
  if source then
    return on_disk(path, source, suite_dir)
  end
  local unreadable = self:unreadable(path, why)
  if unreadable then
    return nil, unreadable
  end
  return self:embedded_file(paths.normalize(path))
end

local function hidden(name)
  return name:find("^[_.]") ~= nil
end

function Catalog:walk(dir, depth, found)
  local entries, why = self.host.list_dir(dir)
  if not entries then
    if depth > 0 then
      self.problems:add("%s: %s", dir, why or "cannot be read")
    end
    return false
  end
  for _, entry in ipairs(entries) do
    local path = (dir:gsub("/+$", "")) .. "/" .. entry.name
    if not hidden(entry.name) then
      if entry.type == "link" then
        -- It may lead back: the walk would not end.
        self.problems:add { what = path .. ": a link to a folder is not followed",
          fix = "name the folder behind it as an operand of its own, and take the link away" }
      elseif entry.type == "dir" and depth == DEPTH then
        self.problems:add("%s: over %d folders in one another", path, DEPTH)
      elseif entry.type == "dir" then
        self:walk(path, depth + 1, found)
      elseif entry.type == "file" and entry.name:find("%.lua$") then
        found[#found + 1] = path
      end
    end
  end
  return true
end

--- All files of a folder, on disk, else embedded, in byte order of path; nil: there is none.
function Catalog:folder(dir, suite_dir)
  local found, files = {}, {}
  if self:walk(dir, 0, found) then
    table.sort(found)
    for _, path in ipairs(found) do
      local source, why = self.host.read_file(path)
      if source then
        files[#files + 1] = on_disk(path, source, suite_dir)
      else
        self.problems:add("%s: %s", path, why or "cannot be read")
      end
    end
    return files
  end
  for _, path in ipairs(self.host.embedded_list(paths.normalize(dir) .. "/")) do
    if not path:find("/[_.]") then
      files[#files + 1] = self:embedded_file(path)
    end
  end
  return #files > 0 and files or nil
end

function Catalog:index(files, index, other)
  for _, file in ipairs(files) do
    local loaded = self:load(file)
    if loaded and loaded.kind == "check" then
      local item = item_of(file, loaded)
      local twin = index[item.name] or (other and other[item.name])
      if twin then
        self.problems:add(message.twins(item.name, twin.path, item.path))
      else
        index[item.name] = item
      end
    end
  end
end

--- The built-in checks by name.
function Catalog:built_in()
  if not self.built_ins then
    self.built_ins = {}
    local files = {}
    for _, path in ipairs(self.host.embedded_list("checks/")) do
      if path:find("%.lua$") and not path:find("/[_.]") then
        files[#files + 1] = self:embedded_file(path)
      end
    end
    self:index(files, self.built_ins)
  end
  return self.built_ins
end

--- The checks below the folders of AICR_RUN_PATH by name.
function Catalog:on_path()
  if not self.path_checks then
    self.path_checks = {}
    for _, dir in ipairs(self.path) do
      local found = {}
      if not self:walk(dir, 0, found) then
        self.problems:add("AICR_RUN_PATH: %s: no such folder", dir)
      end
      self:index(self:folder(dir) or {}, self.path_checks, self:built_in())
    end
  end
  return self.path_checks
end

--- All names that a bare operand may be, sorted.
function Catalog:names()
  return sorted_keys(self:built_in(), self:on_path())
end

--- A copy of the named check's item, or nil.
function Catalog:named(name)
  local item = self:built_in()[name] or self:on_path()[name]
  if item then
    local copy = {}
    for k, v in pairs(item) do
      copy[k] = v
    end
    return copy
  end
end

-- What can stand where a name does: a built-in suite of that name, then a command.
local COMMANDS <const> = { "doctor", "rbac", "render" }

function Catalog:unknown_name(name, where)
  local near = message.suggestion(name, self:names())
  local problem = {
    what = ('%sno check named "%s"%s'):format(where, name, near), fix = "see which there are: aicr-run --list",
  }
  local suite = ("checks/%s.lua"):format((name:gsub("-", "_")))
  if self.host.embedded(suite) then
    problem.fix = "run the suite: aicr-run " .. suite
  elseif near == "" then
    problem.what = problem.what .. message.suggestion(name, COMMANDS)
  end
  if self.host.list_dir(name) then
    problem.why = "a folder of that name is here"
    problem.fix = ("aicr-run %s/"):format(name)
  end
  self.problems:add(problem)
end

function Catalog:add_folder(dir, suite_dir, items, where)
  local files = self:folder(dir, suite_dir)
  if not files then
    local suite = "checks/" .. dir
    local fix = dir:find("%.lua$") and (self.host.embedded(suite) and "run the built-in suite: aicr-run " .. suite
      or "aicr-run NAME runs a built-in check by its name") or nil
    self.problems:add { what = ("%sno such file or folder: %s"):format(where, dir), fix = fix }
    return
  end
  local before = #items
  for _, file in ipairs(files) do
    local loaded = self:load(file)
    if loaded and loaded.kind == "check" then
      items[#items + 1] = item_of(file, loaded)
    end
  end
  if #items == before then
    self.empty[#self.empty + 1] = where .. emptied.by_nothing { dir }
  end
end

--- Resolves one word: a name, a file, a folder.
--- @return table|nil suite the loaded file when it is a suite
function Catalog:resolve(word, items, suite)
  local where = suite and suite.path .. ": " or ""
  if is_bare(word) then
    local item = self:named(word)
    if item then
      items[#items + 1] = item
    else
      self:unknown_name(word, where)
    end
    return
  end
  local dir = suite and paths.dirname(suite.path)
  local path = dir and paths.join(dir, word) or word
  local file, why = self:file(path, dir)
  if why then
    self.problems:add("%s%s: %s", where, path, why)
  elseif not file then
    self:add_folder(path, dir, items, where)
  else
    local loaded = self:load(file)
    if loaded and loaded.kind == "check" then
      items[#items + 1] = item_of(file, loaded)
    elseif loaded then
      return { path = file.path, meta = loaded.meta, origin = file.origin }
    end
  end
end

function Catalog:add_entry(entry, suite, items)
  local first = #items + 1
  local word = type(entry) == "table" and entry.path or entry
  if self:resolve(word, items, suite) then
    self.problems:add("%s: %s is a suite; a suite lists checks", suite.path, word)
    return
  end
  if type(entry) ~= "table" then
    return
  end
  if entry.set ~= nil and (type(entry.set) ~= "table" or #entry.set > 0) then
    self.problems:add("%s: set of %s: expected a table KEY = VALUE", suite.path, word)
    return
  elseif entry.as and #items > first then
    self.problems:add('%s: "as" names one check, and %s is a folder', suite.path, word)
    return
  end
  for i = first, #items do
    items[i].set = entry.set
    items[i].name = entry.as or items[i].name
  end
end

function Catalog:add_suite(suite, items)
  local first = #items + 1
  for _, entry in ipairs(suite.meta.checks or {}) do
    self:add_entry(entry, suite, items)
  end
  suites.validate(suite, self.host, self.problems)
  suites.adopt(suite, table.move(items, first, #items, 1, {}), self.problems)
  self.suites[#self.suites + 1] = suite
end

--- Resolves the operands.
--- @param operands table list of words
--- @return table items in the order given
--- @return table suites that were among them
function Catalog:operands(operands)
  local items = {}
  for _, word in ipairs(operands) do
    local suite = self:resolve(word, items)
    if suite then
      self:add_suite(suite, items)
    end
  end
  return items, self.suites
end

--- The operand that stands for none: `./aicr-run.lua` where it exists.
function Catalog:default_operand()
  if self.host.read_file(DEFAULT_SUITE) then
    return "./" .. DEFAULT_SUITE
  end
end

local function in_order_of_path(catalog, index)
  local items = {}
  for name in pairs(index) do
    items[#items + 1] = catalog:named(name)
  end
  table.sort(items, function(a, b) return a.path < b.path end)
  return items
end

--- All built-in checks, in byte order of path.
function Catalog:all_built_in()
  return in_order_of_path(self, self:built_in())
end

--- All checks that have a name to type: the built-in ones, then those of AICR_RUN_PATH.
function Catalog:every()
  local items = self:all_built_in()
  local more = in_order_of_path(self, self:on_path())
  return table.move(more, 1, #more, #items + 1, items)
end

--- A catalog over the host's files.
--- @param host table the border
--- @param path table folders of AICR_RUN_PATH
--- @param problems table message.problems()
function M.new(host, path, problems)
  return setmetatable({
    host = host, path = path or {}, problems = problems, loaded = {}, suites = {}, empty = {},
  }, Catalog)
end

return M
