-- SPDX-License-Identifier: Apache-2.0
--- The methods of `ctx.k8s` that change the cluster (cli-and-reports.md 10.2, kubernetes-client.md 3). What create and
--- apply made is labelled and removed when the check ends, however it ends.
local arguments = require "aicr.ctx.k8s.arguments"
local clean = require "aicr.ctx.k8s.clean"
local errors = require "aicr.native.error"
local k8s = require "aicr.native.k8s"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"

local M = {}

local MANAGER <const> = "aicr-run"

-- A copy of the object with our labels, so that the check's own table stays as it is.
local function labelled(object, run_id)
  local copy, meta, labels = {}, {}, {}
  for k, v in pairs(object) do
    copy[k] = v
  end
  for k, v in pairs(object.metadata) do
    meta[k] = v
  end
  for k, v in pairs(type(meta.labels) == "table" and meta.labels or {}) do
    labels[k] = v
  end
  labels[clean.MANAGED_BY], labels[clean.RUN] = clean.NAME, run_id
  copy.metadata, meta.labels = meta, labels
  return copy
end

-- What a request is about, found before it is sent; raises what an undeclared one raises.
local function target_of(what, request, free)
  return (k8s.call(what, {
    verb = request.verb, resource = request.resource, apiVersion = request.apiVersion, kind = request.kind,
    name = request.name, namespace = request.namespace, free = free, resolve_only = true,
  }))
end

-- Notes what is about to be made, before it is: an answer that is lost must not leave it behind.
local function removal(env, object, target, request)
  local t = {
    api_version = object.apiVersion, kind = object.kind, name = object.metadata.name,
    generated = object.metadata.generateName, namespace = target.namespace, group = target.group,
    plural = target.plural, run_id = env.run_id, lost = true,
  }
  if request.verb == "apply" then
    t.applied, t.forced = object, request.query.force ~= nil
  end
  env.made = env.made or {}
  table.insert(env.made, t)
  local list = env.deferred
  local function remove()
    if t.name then
      clean.remove(t)
    else
      clean.remove_generated(t, env.made)
    end
  end
  list[#list + 1] = function()
    if t.refused or native.recording() then
      return
    elseif t.lost and not t.uid then
      -- It may have to be waited for, which must not take the time of what is known to be there.
      table.insert(list, 1, remove)
    else
      remove()
    end
  end
  native.defer()
  return t
end

-- Did the server say that nothing was made, or was it never asked?
local function was_refused(err)
  local details = errors.is(err) and type(err.details) == "table" and err.details or {}
  local http = details.http
  if http == 500 and details.attempts == 1 and tostring(err.message):find("failed calling webhook", 1, true) then
    return true -- before anything was stored
  elseif math.type(http) == "integer" then
    -- A conflict may be with our own object, made by an attempt whose answer was lost.
    return http >= 400 and http < 500 and http ~= 408 and http ~= 409
  elseif details.transport then
    return details.transport == "refused" or details.transport == "dns"
  end
  return details.attempts == 0
end

-- Is it an answer after which nothing can come into being any more?
local function was_answered(err)
  local details = errors.is(err) and type(err.details) == "table" and err.details or {}
  return details.http == 409 and details.attempts == 1
end

local function make(t, what, request)
  local ok, made, http = pcall(k8s.call, what, request)
  if not ok then
    t.refused, t.lost = was_refused(made), not was_answered(made)
    error(made, 0)
  end
  if request.verb == "apply" and http ~= 201 then
    t.refused = true -- somebody else made it meanwhile
    return made, true
  end
  local meta = type(made.metadata) == "table" and made.metadata or {}
  t.name, t.uid, t.namespace = meta.name, meta.uid, meta.namespace
  if t.name then
    native.record("resources", {
      apiVersion = made.apiVersion, kind = made.kind, name = meta.name, namespace = meta.namespace,
    })
  end
  return made, false
end

local CREATE <const> = { namespace = "string", dry_run = "boolean" }

--- Makes an object. Its namespace: the option's, its own, else the run's. Unknown fields are refused by the server.
-- @param object table with apiVersion, kind, metadata.name or metadata.generateName
-- @param opts table|nil {namespace=, dry_run=}
-- @return table the object as the server made it
-- @raise CONFLICT/"already-exists", INVALID_REQUEST/"invalid", UNAUTHORIZED/"forbidden", …
function M.create(env, object, opts)
  object = arguments.object(object, "ctx.k8s:create", true)
  opts = arguments.options(opts, CREATE, "ctx.k8s:create")
  local request = {
    verb = "create", apiVersion = object.apiVersion, kind = object.kind,
    namespace = opts.namespace or object.metadata.namespace,
    query = { fieldManager = MANAGER, fieldValidation = "Strict", dryRun = opts.dry_run and "All" or nil },
    body = labelled(object, env.run_id),
  }
  if opts.dry_run then
    return (k8s.call("ctx.k8s:create", request))
  end
  return (make(removal(env, object, target_of("ctx.k8s:create", request), request), "ctx.k8s:create", request))
end

local APPLY <const> = { namespace = "string", dry_run = "boolean", force = "boolean" }

-- Is the object there already? Then it is not ours to remove.
local function exists(object, namespace)
  local ok, err = pcall(k8s.call, "ctx.k8s:apply", {
    verb = "get", apiVersion = object.apiVersion, kind = object.kind, name = object.metadata.name,
    namespace = namespace, free = true,
  })
  if not ok and not clean.is_absent(err) then
    error(err, 0)
  end
  return ok
end

--- Server-side apply: makes the object, or makes its fields so. One that was there before stays after the check.
-- @param object table with apiVersion, kind, metadata.name
-- @param opts table|nil {namespace=, force=(take fields of other managers), dry_run=}
-- @return table the object as it is now
-- @raise CONFLICT/"conflict" with details.causes (manager and field), …
function M.apply(env, object, opts)
  object = arguments.object(object, "ctx.k8s:apply", false)
  opts = arguments.options(opts, APPLY, "ctx.k8s:apply")
  local namespace = opts.namespace or object.metadata.namespace
  local request = {
    verb = "apply", apiVersion = object.apiVersion, kind = object.kind, name = object.metadata.name,
    namespace = namespace, content_type = "application/apply-patch+yaml",
    query = {
      fieldManager = MANAGER, fieldValidation = "Strict", force = opts.force and "true" or nil,
      dryRun = opts.dry_run and "All" or nil,
    },
    body = object,
  }
  local target = target_of("ctx.k8s:apply", request)
  if opts.dry_run or exists(object, namespace) then
    return (k8s.call("ctx.k8s:apply", request))
  end
  request.body = labelled(object, env.run_id)
  local made, is_others = make(removal(env, object, target, request), "ctx.k8s:apply", request)
  if is_others then
    request.body = object -- without our labels
    made = k8s.call("ctx.k8s:apply", request)
  end
  return made
end

local PATCH <const> = { type = "string", subresource = "string", dry_run = "boolean" }
local PATCH_TYPES <const> = {
  merge = "application/merge-patch+json", json = "application/json-patch+json",
  strategic = "application/strategic-merge-patch+json",
}

--- Changes fields of an object.
-- @param resource string
-- @param name string
-- @param namespace string|nil
-- @param patch table an object for "merge" and "strategic", an array of operations for "json"
-- @param opts table|nil {type="merge"(default)|"json"|"strategic", subresource=, dry_run=}
-- @return table the object as it is now
function M.patch(_, resource, name, namespace, patch, opts)
  local what = "ctx.k8s:patch"
  arguments.named(resource, name, namespace, what)
  opts = arguments.options(opts, PATCH, what)
  local kind = opts.type or "merge"
  if type(patch) ~= "table" then
    error(("%s: the patch must be a table, got %s"):format(what, type(patch)), 3)
  elseif not PATCH_TYPES[kind] then
    error(("%s: type must be merge, json or strategic, got %s"):format(what, kind), 3)
  end
  return (k8s.call(what, {
    verb = "patch", resource = resource, name = name, namespace = namespace, subresource = opts.subresource,
    content_type = PATCH_TYPES[kind], body = kind == "json" and kept.array(patch) or patch,
    query = { fieldManager = MANAGER, fieldValidation = "Strict", dryRun = opts.dry_run and "All" or nil },
  }))
end

local DELETE <const> = {
  propagation = "string", grace = "integer", uid = "string", wait = "boolean", dry_run = "boolean",
}
local PROPAGATION <const> = { Background = true, Foreground = true, Orphan = true }
local POLL_MS <const> = 500

-- Waits until the object is gone or another one has its name.
local function wait_gone(request, uid)
  while true do
    local ok, object = pcall(k8s.call, "ctx.k8s:delete", {
      verb = "get", resource = request.resource, name = request.name, namespace = request.namespace, free = true,
    })
    if not ok then
      if clean.is_absent(object) then
        return
      end
      error(object, 0)
    elseif clean.uid_of(object) ~= (uid or object.metadata.uid) then
      return
    end
    uid = uid or object.metadata.uid
    native.sleep(POLL_MS)
  end
end

-- The object of that name that this run made, nil: none.
local function made_here(env, what, request, uid)
  if not env.made then
    return nil
  end
  local target = target_of(what, request, true)
  for _, t in ipairs(env.made) do
    if t.uid and not t.deleted and t.name == request.name and t.namespace == target.namespace
      and t.plural == target.plural and t.group == target.group and (uid or t.uid) == t.uid then
      return t
    end
  end
  return nil
end

--- Deletes an object and waits until it is gone. One that this run made may be deleted without a need that says so.
-- @param resource string
-- @param name string
-- @param namespace string|nil
-- @param opts table|nil {propagation="Background"|"Foreground"|"Orphan", grace=seconds, uid=(only this one),
--   wait=false, dry_run=}
-- @raise NOT_FOUND/"not-found", CONFLICT/"conflict" when the uid is another's, …
function M.delete(env, resource, name, namespace, opts)
  local what = "ctx.k8s:delete"
  arguments.named(resource, name, namespace, what)
  opts = arguments.options(opts, DELETE, what)
  if opts.propagation and not PROPAGATION[opts.propagation] then
    error(("%s: propagation must be Background, Foreground or Orphan, got %s"):format(what, opts.propagation), 3)
  end
  local request = { verb = "delete", resource = resource, name = name, namespace = namespace }
  local own = made_here(env, what, request, opts.uid)
  local uid = own and own.uid or opts.uid
  request.free = own ~= nil
  request.body = {
    apiVersion = "v1", kind = "DeleteOptions", propagationPolicy = opts.propagation or "Background",
    gracePeriodSeconds = opts.grace, preconditions = uid and { uid = uid } or nil,
    dryRun = opts.dry_run and kept.array { "All" } or nil,
  }
  local answer = k8s.call(what, request)
  if own and not opts.dry_run then
    own.deleted = true
  end
  if opts.wait ~= false and not opts.dry_run then
    local details = type(answer.details) == "table" and answer.details or {}
    wait_gone(request, uid or details.uid or type(answer.metadata) == "table" and answer.metadata.uid or nil)
  end
end

return M
