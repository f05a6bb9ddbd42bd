-- SPDX-License-Identifier: Apache-2.0
--- `ctx`, all that a check can do (design 5, cli-and-reports.md 10.2). Made anew for every run of a check.
local k8s = require "aicr.native.k8s"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"
local text = require "aicr.native.text"

local M = {}

local null = kept.null

-- Where the methods are: a check's state loads what the check calls.
local VERDICT <const>, RECORD <const>, FLOW <const> = "aicr.ctx.verdict", "aicr.ctx.record", "aicr.ctx.flow"
local METHODS <const> = {
  fail = VERDICT, skip = VERDICT, expect = VERDICT, must = VERDICT, measure = VERDICT, eventually = VERDICT,
  series = RECORD, evidence = RECORD, progress = RECORD, attach = RECORD, coverage = RECORD, extra = RECORD,
  try = FLOW, all = FLOW, step = FLOW, sleep = FLOW, now = FLOW,
}

local WRITE <const>, ASK <const>, WATCH <const> = "aicr.ctx.k8s.write", "aicr.ctx.k8s.ask", "aicr.ctx.k8s.watch"
local EXEC <const>, LOG <const> = "aicr.ctx.k8s.exec", "aicr.ctx.k8s.log"
local K8S_METHODS <const> = {
  create = WRITE, apply = WRITE, patch = WRITE, delete = WRITE,
  exec = EXEC, watch = WATCH, server_version = ASK, can = ASK, get_raw = ASK, logs = LOG, wait = ASK,
}

-- ctx:defer(fn): runs fn after the check, however it ends; last in, first out; 60 s for all of them.
local function defer_into(list)
  return function(_, fn)
    if type(fn) ~= "function" then
      error(("ctx:defer: its argument must be a function, got %s"):format(type(fn)), 2)
    end
    list[#list + 1] = fn
    native.defer()
  end
end

-- `; did you mean 'x'?` of the names that some tables have, or nothing.
local function near(key, ...)
  local names = {}
  for _, known in ipairs { ... } do
    for name in next, known do
      names[#names + 1] = type(name) == "string" and name or nil
    end
  end
  local found = type(key) == "string" and text.nearest(key, names)
  return found and ("; did you mean '%s'?"):format(found) or ""
end

-- A table that can be read but not written; reading a key that is not in `known` (when given) raises.
local function read_only(t, what, known, more)
  return setmetatable({}, {
    __index = function(_, key)
      local v = t[key]
      if v == nil and known and not known[key] then
        error(("%s has no '%s'%s"):format(what, tostring(key), near(key, t, known, more or {})), 2)
      end
      return v
    end,
    __newindex = function()
      error(what .. " can only be read", 2)
    end,
    __pairs = function()
      return function(_, key)
        return next(t, key)
      end, nil, nil
    end,
    __len = function()
      return #t
    end,
    __metatable = "aicr.read_only",
  })
end

-- The method of `own`, refused on any other self: with a dot for a colon the arguments are not where they seem.
-- @param what string "ctx" or "ctx.k8s"
-- @param first any what fn gets in the place of self
local function method(own, what, name, fn, first)
  return function(self, ...)
    if not rawequal(self, own) then
      error(("bad argument #1 to '%s:%s' (%s expected, got %s; call it with a colon)"):format(what, name, what,
        type(self) == "table" and "another table" or type(self)), 2)
    end
    return fn(first, ...)
  end
end

local function or_nil(v)
  if v == null then
    return nil
  end
  return v
end

-- ctx.k8s: the reads are native, the other methods are loaded when they are called.
-- @param env table {run_id=, deferred=} for those; own: ctx.k8s itself
local function new_k8s(env)
  local own
  local methods = setmetatable({ get = k8s.get, find = k8s.find, list = k8s.list, each = k8s.each }, {
    __index = function(t, key)
      local file = K8S_METHODS[key]
      if not file then
        return nil
      end
      t[key] = method(own, "ctx.k8s", key, require(file)[key], env)
      return t[key]
    end,
  })
  own = read_only(methods, "ctx.k8s", {}, K8S_METHODS)
  env.own = own
  native.k8s(own)
  return own
end

--- Makes the ctx of a run.
-- @param spec table {context={recipe,platform,namespace,run_id,seed,args}, params={key=value}}
-- @param declared table|nil the check's `params`
-- @param deferred table list that takes the functions of ctx:defer
-- @return table
function M.new(spec, declared, deferred)
  local context = or_nil(spec.context) or {}
  local seed = math.tointeger(or_nil(context.seed) or 0)
  math.randomseed(seed or 0)
  local own = {}
  local fields = {
    params = read_only(or_nil(spec.params) or {}, "ctx.params", declared or {}),
    args = read_only(or_nil(context.args) or {}, "ctx.args"),
    recipe = or_nil(context.recipe),
    platform = or_nil(context.platform),
    namespace = or_nil(context.namespace),
    run_id = or_nil(context.run_id),
    seed = seed,
    k8s = new_k8s { run_id = or_nil(context.run_id), deferred = deferred },
    defer = method(own, "ctx", "defer", defer_into(deferred), own),
  }
  local known = { recipe = true, platform = true, namespace = true, run_id = true }
  return setmetatable(own, {
    __index = function(_, key)
      local v = fields[key]
      if v == nil and METHODS[key] then
        v = method(own, "ctx", key, require(METHODS[key])[key], own)
        fields[key] = v
      elseif v == nil and not known[key] then
        error(("ctx has no '%s'%s"):format(tostring(key), near(key, fields, METHODS, known)), 2)
      end
      return v
    end,
    __newindex = function(_, key)
      error(("ctx.%s cannot be set: use a local"):format(tostring(key)), 2)
    end,
    __metatable = "aicr.ctx",
  })
end

return M
