-- SPDX-License-Identifier: Apache-2.0
--- The annotations of lua/aicr/meta name what the modules hold, and nothing else.
require "aicr_native"
local files = require "spec.support.files"

local FOLDER <const> = "lua/aicr/meta/"

local function meta_files()
  local pipe = assert(io.popen("ls " .. FOLDER))
  local names = {}
  for name in pipe:lines() do
    names[#names + 1] = name
  end
  pipe:close()
  assert(#names > 0)
  return names
end

-- The class is the one whose local table the file returns; its fields and functions are the names.
local function annotated(source)
  local table_name = assert(source:match "\nreturn (%w+)\n$", "a meta file returns its table")
  local names = {}
  local head = source:match("^(.-)\nlocal " .. table_name .. " = {}")
  local class_at = 1
  for at in head:gmatch "()%-%-%-@class" do
    class_at = at
  end
  for name in head:sub(class_at):gmatch "%-%-%-@field ([%w_]+)" do
    names[name] = true
  end
  for name in source:gmatch("\nfunction " .. table_name .. "[.:]([%w_]+)%(") do
    assert(not names[name], name .. " is annotated twice")
    names[name] = true
  end
  return names
end

-- ctx is made for a run; its methods and fields are read where they are written.
local function ctx_names()
  local names = {}
  for _, part in ipairs { "verdict", "record", "flow" } do
    for name in files.read(("lua/aicr/ctx/%s.lua"):format(part)):gmatch "\nfunction ctx:([%w_]+)%(" do
      names[name] = true
    end
  end
  local source = files.read "lua/aicr/ctx.lua"
  local fields = assert(source:match "\n  local fields = {\n(.-)\n  }\n")
  for name in fields:gmatch "\n?    ([%w_]+) = " do
    names[name] = true
  end
  return names
end

-- So is ctx.k8s: what is native, and the methods that have files.
local function k8s_names()
  local names = {}
  local source = files.read "lua/aicr/ctx.lua"
  for name in source:gmatch "([%w_]+) = k8s%.%1[, ]" do
    names[name] = true
  end
  local methods = assert(source:match "\nlocal K8S_METHODS <const> = {\n(.-)\n}\n")
  for name in methods:gmatch "([%w_]+) = %u+," do
    names[name] = true
  end
  return names
end

local function module_names(module)
  if module == "aicr.ctx" then
    return ctx_names()
  elseif module == "aicr.ctx.k8s" then
    return k8s_names()
  end
  local names = {}
  for name in pairs(require(module)) do
    names[name] = true
  end
  return names
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

describe("lua/aicr/meta", function()
  for _, name in ipairs(meta_files()) do
    it(name .. " matches its module", function()
      local source = files.read(FOLDER .. name)
      local module = assert(source:match "^%-%-%-@meta (%S+)\n", "the first line is ---@meta MODULE")
      assert.same(sorted(module_names(module)), sorted(annotated(source)))
    end)
  end

  it("has a file for each public library", function()
    local known = {}
    for _, name in ipairs(meta_files()) do
      known[files.read(FOLDER .. name):match "^%-%-%-@meta (%S+)\n"] = true
    end
    local pipe = assert(io.popen "ls lua/aicr/*.lua")
    for path in pipe:lines() do
      local module = "aicr." .. path:match "([%w_]+)%.lua$"
      if module ~= "aicr.task" and module ~= "aicr.describe" then
        assert.is_true(known[module] or false, "no meta file for " .. module)
      end
    end
    pipe:close()
  end)
end)
