-- SPDX-License-Identifier: Apache-2.0
--- What each worker will claim as devices of DRA, every node must have: a pod whose claim cannot be met stays Pending,
--- and the benchmark would end without a word of why (platform-runtimes.md 4.3, D1, D2, D7; 9, point 4). Whether
--- devices are free is not looked at.
local classes = require "aicr.fleet.classes"
local fleet = require "aicr.fleet"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

M.needs = { "get deviceclasses.resource.k8s.io if served" }

local WORKER <const> = "node"
local TEMPLATE <const>, DOMAIN <const> = "ResourceClaimTemplate", "ComputeDomain"

-- The object of that kind and name among those that are made.
local function object_of(objects, kind, matches)
  for _, object in ipairs(objects) do
    if object.kind == kind and matches(object) then
      return object
    end
  end
end

local function is_channel_of(name)
  return function(object)
    return tree.text(object, "spec", "channel", "resourceClaimTemplate", "name") == name
  end
end

local function is_named(name)
  return function(object)
    return tree.text(object, "metadata", "name") == name
  end
end

-- One request of a claim: its class and how many devices; nil where the scheduler has a choice, of which nothing can
-- be counted beforehand.
local function read_request(request)
  local exactly = tree.is_map(request) and (tree.dig(request, "exactly") or request)
  local class = tree.text(exactly, "deviceClassName")
  if not class then
    return nil
  end
  local count = tree.dig(exactly, "count")
  return { class = class, count = math.type(count) == "integer" and count or 1 }
end

--- What a worker claims, from the objects of a run: devices by class, and the words for what cannot be counted. Pure.
---@param runtime table TrainingRuntime
---@param objects table[] what it needs beside
---@return {classes: {class: string, count: integer}[], channel: boolean, others: string[]} channel: of a ComputeDomain
function M.of(runtime, objects)
  local out, at = { classes = {}, channel = false, others = {} }, {}
  local function add(request)
    local known = at[request.class]
    if known then
      known.count = known.count + request.count
    else
      at[request.class], out.classes[#out.classes + 1] = request, request
    end
  end
  for _, claim in ipairs(tree.list(tree.pod_template(runtime, WORKER), "spec", "resourceClaims")) do
    local name = tree.text(claim, "resourceClaimTemplateName")
    local template = name and object_of(objects, TEMPLATE, is_named(name))
    if template then
      for _, request in ipairs(tree.list(template, "spec", "spec", "devices", "requests")) do
        local read = read_request(request)
        if read then
          add(read)
        else
          out.others[#out.others + 1] = ("a choice of devices in %s"):format(name)
        end
      end
    elseif name and object_of(objects, DOMAIN, is_channel_of(name)) then
      out.channel = true
    else
      out.others[#out.others + 1] = ("claim %s"):format(tree.text(claim, "name") or "?")
    end
  end
  return out
end

local function fail_short(ctx, seen, what, need, driver)
  local of = fleet.devices(ctx, seen, driver)
  local short = fleet.short_of(seen, need, function(one) return of[one.name] or 0 end)
  if #short > 0 then
    fleet.fail_short(ctx, seen, {
      reason = "too-few-devices", what = what, need = need, rows = short,
      why = ("each worker claims %d of them and would stay Pending"):format(need),
    })
  end
end

-- The class as the table of the platform has it, with its driver where it says one.
local function known(seen, name)
  for _, class in ipairs(seen.fabric.classes) do
    if class.name == name then
      return class
    end
  end
  return { name = name }
end

local function require_class(ctx, seen, wanted)
  local class = ctx.k8s:find("deviceclasses.v1.resource.k8s.io", wanted.class)
  if not class then
    fleet.covered(ctx, seen, 0)
    ctx:fail {
      code = "NOT_FOUND", reason = "no-device-class",
      message = ("there is no device class %s, from which each worker claims %d devices"):format(
        text.printable(wanted.class), wanted.count),
    }
  end
  local driver = classes.driver(ctx, class, known(seen, wanted.class))
  fail_short(ctx, seen, ("devices of driver %s (class %s)"):format(driver, text.printable(wanted.class)), wanted.count,
    driver)
  return ("%d of %s"):format(wanted.count, text.printable(wanted.class))
end

--- Wants on each node what a worker claims. Ends the check with NOT_FOUND/`no-device-class` or
--- CONFLICT/`too-few-devices`. Raises `driver-unknown`, and what the client raises: an API that is not served is a
--- fail, one that cannot be read is an error.
---@param ctx aicr.ctx
---@param seen aicr.fleet.Fleet
---@param runtime table TrainingRuntime
---@param objects table[] what it needs beside
function M.require(ctx, seen, runtime, objects)
  local claimed, words = M.of(runtime, objects), {}
  for _, wanted in ipairs(claimed.classes) do
    words[#words + 1] = require_class(ctx, seen, wanted)
  end
  local driver = claimed.channel and seen.fabric.domain_driver
  if driver then
    fail_short(ctx, seen, "devices of driver " .. driver, 1, driver)
    words[#words + 1] = "a channel of " .. driver
  end
  if #words > 0 then
    ctx:evidence("each worker claims %s; every node has so many devices", table.concat(words, ", "))
  end
  if #claimed.others > 0 then
    ctx:evidence("not counted before the run: %s", text.printable(table.concat(claimed.others, ", ")))
  end
end

return M
