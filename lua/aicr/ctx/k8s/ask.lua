-- SPDX-License-Identifier: Apache-2.0
--- The methods of `ctx.k8s` that ask beside objects: version, permissions, plain paths, waiting
--- (kubernetes-client.md 3).
local arguments = require "aicr.ctx.k8s.arguments"
local errors = require "aicr.native.error"
local kept = require "aicr.ctx.kept"
local k8s = require "aicr.native.k8s"
local native = require "aicr.native.task"

local M = {}

--- gitVersion of the server.
-- @return string such as "v1.34.4"
-- @raise INTERNAL/"not-recorded" where a recording does not hold it
function M.server_version()
  local version, recording = k8s.known_version()
  if version then
    native.attained()
    return version
  elseif recording then
    error(errors.new {
      code = "INTERNAL", reason = "not-recorded", message = "the recording does not hold the server's version",
    }, 0)
  end
  local answer = kept.decode((k8s.call("ctx.k8s:server_version", {
    verb = "raw", resource = "/version", free = true, aside = true,
  })))
  local found = type(answer) == "table" and answer.gitVersion
  if type(found) ~= "string" then
    error(errors.new {
      code = "INTERNAL", reason = "unexpected-response", message = "/version names no gitVersion",
    }, 0)
  end
  return found
end

-- The resource of an access review: its plural and group. One that names its group may be asked for though it is not
-- served: a role may speak of it.
local function reviewed(resource)
  local ok, found = pcall(k8s.call, "ctx.k8s:can", {
    verb = "get", resource = resource, name = "any", free = true, resolve_only = true,
  })
  if ok then
    return found.plural, found.group, true
  end
  local plural, group = resource:match "^([^.]+)%.(.+)$"
  if plural and errors.is(found) and found.reason == "api-not-served" and found.verdict then
    return plural, group, false
  end
  error(found, 0)
end

local CAN <const> = { namespace = "string", name = "string", subresource = "string", explain = "boolean" }

--- May this run's user do it? Asks the server (SelfSubjectAccessReview).
-- @param verb string as Kubernetes spells it: get, list, create, …
-- @param resource string such as "pods" or "networks.networking.gke.io", or a path that is no resource's: "/healthz"
-- @param opts table|nil {namespace=(nil: in all), name=, subresource=, explain=}
-- @return boolean; with explain also: string the server's reason, may be empty; boolean is the resource served? (nil
--   for a path). Behind ctx:try a second result would be taken for an error.
-- @raise NOT_FOUND/"api-not-served" for a name without a group that the server does not know
function M.can(_, verb, resource, opts)
  arguments.named(resource, verb, nil, "ctx.k8s:can")
  opts = arguments.options(opts, CAN, "ctx.k8s:can")
  local served
  local spec = { nonResourceAttributes = { verb = verb, path = resource } }
  if resource:sub(1, 1) ~= "/" then
    local plural, group
    plural, group, served = reviewed(resource)
    spec = {
      resourceAttributes = {
        verb = verb, resource = plural, group = group, namespace = opts.namespace, name = opts.name,
        subresource = opts.subresource,
      },
    }
  end
  local answer = k8s.call("ctx.k8s:can", {
    verb = "create", apiVersion = "authorization.k8s.io/v1", kind = "SelfSubjectAccessReview", free = true,
    body = {
      apiVersion = "authorization.k8s.io/v1", kind = "SelfSubjectAccessReview",
      spec = spec,
    },
  })
  local status = type(answer.status) == "table" and answer.status or {}
  if type(status.allowed) ~= "boolean" then
    error(errors.new {
      code = "INTERNAL", reason = "unexpected-response", message = "the access review has no verdict",
    }, 0)
  end
  if not opts.explain then
    return status.allowed
  end
  return status.allowed, type(status.reason) == "string" and status.reason or "", served
end

--- The text behind a path that is no resource's, such as "/readyz".
-- @param path string "/…", covered by a need `get /path`
-- @return string
function M.get_raw(_, path)
  if type(path) ~= "string" then
    error(("ctx.k8s:get_raw: the path must be a string, got %s"):format(type(path)), 3)
  end
  return (k8s.call("ctx.k8s:get_raw", { verb = "raw", resource = path }))
end

local WAIT <const> = { timeout = "string", every = "string" }

local function wait_for_gone(object)
  return object == nil, "it is still there"
end

-- The test, which also tells what it saw to who asks what the check waits for.
local function telling(wait, test)
  return function(object)
    local done, seen = test(object)
    if not done and seen ~= nil then
      native.seen(wait, (kept.shown(seen):gsub("%z", " ")))
    end
    return done, seen
  end
end

-- "NAMESPACE/NAME", or the name of what lies in no namespace.
local function place(name, namespace)
  return namespace and namespace .. "/" .. name or name
end

local function told(c)
  local message = c.message ~= "" and c.message or c.reason
  return ("%s=%s%s"):format(tostring(c.type), tostring(c.status), message and " " .. tostring(message) or "")
end

-- "condition=NAME[=VALUE]" as a function(object or nil) -> done, what was seen last.
local function condition(name, wanted)
  wanted = wanted ~= "" and wanted or "True"
  return function(object)
    local status = object and type(object.status) == "table" and object.status or {}
    local others = {} -- of a Job that failed, Failed says what Complete never will
    for _, c in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
      if type(c) == "table" and c.type == name then
        return c.status == wanted, told(c)
      elseif type(c) == "table" and c.status == "True" then
        others[#others + 1] = told(c)
      end
    end
    local words = "no condition " .. name .. (#others > 0 and ", but " .. table.concat(others, ", ") or "")
    return false, object and words or "absent"
  end
end

local function test_of(wanted, what)
  if type(wanted) == "function" then
    return wanted
  end
  local name, value = tostring(wanted):match("^condition=([^=]+)=?(.*)$")
  if wanted ~= "gone" and not name then
    error(("%s: expected a function, \"gone\" or \"condition=NAME[=VALUE]\", got %s"):format(what,
      type(wanted) == "string" and wanted or type(wanted)), 4)
  end
  return name and condition(name, value) or wait_for_gone
end

-- @return table|nil the object; true when its time was over before the answer came
local function read(what, resource, name, namespace, ends)
  local ok, object = pcall(k8s.call, what, {
    verb = "get", resource = resource, name = name, namespace = namespace, deadline_ms = ends,
  })
  if not ok and ends and native.monotonic() >= ends and errors.is(object) and type(object.details) == "table"
    and object.details.transport == "deadline" then
    return nil, true
  elseif not ok and errors.is(object) and object.reason == "undeclared-permission" then
    -- A read is what it begins with; the line to add is that of the whole of it.
    error(errors.new {
      code = object.code, reason = object.reason, message = (object.message:gsub('"get ', '"wait ', 1)),
    }, 0)
  elseif not ok and not (errors.is(object) and object.reason == "not-found" and object.verdict) then
    error(object, 0)
  end
  return ok and object or nil
end

-- Follows the one object; true and the object, or false and what was seen last.
local function follow(env, resource, name, namespace, test, ends, seen)
  local watch = require "aicr.ctx.k8s.watch"
  local filter = { namespace = namespace, field = "metadata.name=" .. name }
  local done
  -- The loop closes the watch, whatever ends it.
  for kind, object in watch.follow(env, "ctx.k8s:wait", resource, filter, ends, true) do
    object = kind ~= "DELETED" and object or nil
    done, seen = test(object)
    if done then
      return true, object
    end
  end
  return false, seen
end

-- Until when a recording is asked where only the check's deadline would end it: its last answer does not change.
local REPLAY_MS <const> = 3600000

-- Asks again and again: what a function looks at may be more than the object. A recording is asked as often, so that
-- its answers come in their order, but without waiting.
-- @param wait userdata of native.wait
local function poll(wait, what, resource, name, namespace, test, opts, ends, seen)
  local virtual = native.recording()
  local timeout = opts.timeout and kept.duration(opts.timeout) or virtual and REPLAY_MS
  local every = math.max(opts.every and kept.duration(opts.every) or 1000, 10)
  local began, waited = native.monotonic(), 0
  local left = timeout
  while native.goes_on(wait, left and left <= 0) do
    local pause = left and math.max(0, math.min(every, left)) or every
    waited = waited + pause
    if not virtual then
      native.sleep(pause)
    end
    left = timeout and timeout - (virtual and waited or native.monotonic() - began)
    native.look(wait)
    local object, late = read(what, resource, name, namespace, ends)
    if late then
      break
    end
    local done
    done, seen = test(object)
    if done then
      return true, object
    end
  end
  return false, seen
end

local function never_true(resource, name, namespace, wanted, timeout, seen)
  return errors.new {
    code = "TIMEOUT", reason = "never-true",
    message = ("%s %s: %s for %s; last seen: %s"):format(resource, place(name, namespace),
      native.recording() and "not so in the recording; waited" or timeout and "waited " .. timeout or "waited",
      type(wanted) == "string" and wanted or "the wanted state", kept.shown(seen)),
  }
end

--- Waits until an object is as wanted: a read, then a watch that begins with a list, so that nothing falls between.
-- A function is asked every second instead.
-- @param resource string
-- @param name string
-- @param namespace string|nil
-- @param wanted string|function "gone", "condition=Ready", "condition=Ready=False", or function(object or nil) ->
--   done, last seen
-- @param opts table|nil {timeout=(default: the check's deadline), every="1s" (for a function)}
-- @return table|nil the object
-- @raise TIMEOUT/"never-true" with what was seen last; what get, list and watch raise
function M.wait(env, resource, name, namespace, wanted, opts)
  local what = "ctx.k8s:wait"
  arguments.named(resource, name, namespace, what)
  opts = arguments.options(opts, WAIT, what)
  local test = test_of(wanted, what)
  local wait <close> = native.wait(("wait: %s %s %s %s"):format(resource, name, namespace or "",
    type(wanted) == "string" and wanted or ""), ("%s %s %s%s"):format(what, resource, place(name, namespace),
    type(wanted) == "string" and " for " .. wanted or ""))
  test = telling(wait, test)
  -- A recording answers at once: 0 is no limit, and a limit that it tells of was this one.
  local ends = opts.timeout and (native.recording() and 0 or native.monotonic() + kept.duration(opts.timeout)) or nil
  native.look(wait)
  local object, late = read(what, resource, name, namespace, ends)
  local done, seen = false, "no answer"
  if not late then
    done, seen = test(object)
  end
  local _, replayed, recorded = k8s.known_version()
  if not done and not late and (replayed or type(wanted) == "function") then
    done, seen = poll(wait, what, resource, name, namespace, test, opts, ends, seen)
    object = seen
  elseif not done and not late then
    done, seen = follow(env, resource, name, namespace, test, ends, seen)
    object = seen
    -- No recording has what a watch tells: what decides has to be a read.
    if recorded then
      native.look(wait)
      object = read(what, resource, name, namespace)
      done, seen = test(object)
    end
  end
  if not done then
    native.late(wait)
    error(never_true(resource, name, namespace, wanted, opts.timeout, seen), 0)
  end
  native.attained(wait)
  return object
end

return M
