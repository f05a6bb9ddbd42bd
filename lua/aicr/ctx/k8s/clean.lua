-- SPDX-License-Identifier: Apache-2.0
--- What a check made is removed on every way out, and that is confirmed (design 4, cli-and-reports.md 10.2). Embedded
--- code only.
local errors = require "aicr.native.error"
local k8s = require "aicr.native.k8s"
local native = require "aicr.native.task"

local M = {}

--- Labels of every object that a check makes.
M.MANAGED_BY = "app.kubernetes.io/managed-by"
M.RUN = "aicr-run/run"
M.NAME = "aicr-run"

local POLL_MS <const> = 500
-- Of the minute that clean-up has, what all removals may wait together, what each may in any case, and until when.
local ALL_MS <const>, EACH_MS <const>, LAST_MS <const> = 45000, 2000, 55000
local began

local function named(t)
  local group = t.api_version:match("^(.*)/")
  return ("%s%s%s/%s"):format(t.namespace and "-n " .. t.namespace .. " " or "", t.kind:lower(),
    group and "." .. group or "", t.name)
end

--- Does the error say that the object is not there? Not when no more is known than that something answered 404.
function M.is_absent(err)
  return errors.is(err) and err.reason == "not-found" and err.verdict == true
end

--- The uid of an object that is stored. One without it could be any: neither gone nor another's.
-- @raise INTERNAL/"unexpected-response"
function M.uid_of(object)
  local meta = type(object.metadata) == "table" and object.metadata or {}
  if type(meta.uid) ~= "string" or meta.uid == "" then
    error(errors.new {
      code = "INTERNAL", reason = "unexpected-response",
      message = ("the server says no metadata.uid of %s %s"):format(tostring(object.kind), tostring(meta.name)),
    }, 0)
  end
  return meta.uid
end

--- Who made an object that our server-side apply changed: this run, or another one between our look and our apply? By
-- the times of the managed fields, which are seconds of the server: fields are set before the object is created.
-- @param meta table metadata of an object with this run's label
-- @return boolean|nil nil: it cannot be told
function M.is_made_by_apply(meta)
  local created, ours, others = meta.creationTimestamp, nil, false
  if type(created) ~= "string" then
    return nil
  end
  for _, entry in ipairs(type(meta.managedFields) == "table" and meta.managedFields or {}) do
    if type(entry) == "table" and (entry.subresource or "") == "" and type(entry.time) == "string" then
      if entry.manager == M.NAME and entry.operation == "Apply" then
        ours = entry.time
      else
        others = others or entry.time <= created
      end
    end
  end
  if not ours or ours == created and others then
    return nil
  end
  return ours <= created
end

-- Until when a removal may wait: late enough to see the end, early enough to say what is left.
local function patience()
  local now = native.monotonic()
  began = began or now
  return math.min(math.max(began + ALL_MS, now + EACH_MS), began + LAST_MS)
end

-- Takes our labels off what another one made.
local function give_back(t, uid)
  local body, meta = {}, {}
  for k, v in pairs(t.applied) do
    body[k] = v
  end
  for k, v in pairs(body.metadata) do
    meta[k] = v
  end
  body.metadata, meta.uid = meta, uid
  k8s.call("clean-up", {
    verb = "apply", apiVersion = t.api_version, kind = t.kind, name = t.name, namespace = t.namespace, free = true,
    deadline_ms = t.until_ms, content_type = "application/apply-patch+yaml", body = body,
    query = { fieldManager = M.NAME, force = t.forced and "true" or nil },
  })
end

-- As read, of an apply whose answer was lost.
local function of_apply(t, object, meta)
  local is_made = M.is_made_by_apply(meta)
  if is_made then
    return object, false
  elseif is_made == nil then
    error(("it cannot be told whether this run made it: see its managedFields with kubectl get %s -o yaml "
      .. "--show-managed-fields"):format(named(t)), 0)
  end
  give_back(t, meta.uid)
  return nil, true
end

-- The object as it is now; nil when it is gone, and whether another one has its name.
local function read(t)
  local ok, object = pcall(k8s.call, "clean-up", {
    verb = "get", apiVersion = t.api_version, kind = t.kind, name = t.name, namespace = t.namespace, free = true,
    deadline_ms = t.until_ms,
  })
  if not ok then
    if M.is_absent(object) then
      return nil, false
    end
    error(object, 0)
  end
  local meta = object.metadata or {}
  if M.uid_of(object) ~= (t.uid or meta.uid) then
    return nil, true
  end
  if not t.uid and (meta.labels or {})[M.RUN] ~= t.run_id then
    return nil, true
  end
  if not t.uid and t.applied then
    return of_apply(t, object, meta)
  end
  return object, false
end

-- Is there time for another look, and for its answer?
local function may_look(t)
  return native.monotonic() + 2 * POLL_MS <= t.until_ms
end

-- As read; one whose answer was lost may still come into being. Without an object, whether it may even now.
local function find(t)
  local object, is_other = read(t)
  local is_open = not is_other and not t.uid and t.lost
  while not object and not is_other and is_open and may_look(t) do
    native.sleep(POLL_MS)
    object, is_other = read(t)
  end
  return object, is_open and not is_other
end

-- What stays unknown of an object of which no answer came.
local function unsure(t, what, why, look)
  return ("%s of which no answer came may be left (%s); look with: kubectl get %s"):format(what,
    why or ("it was not there within %d s"):format((native.monotonic() - t.since_ms) // 1000), look)
end

local function delete(t, uid)
  local ok, err = pcall(k8s.call, "clean-up", {
    verb = "delete", apiVersion = t.api_version, kind = t.kind, name = t.name, namespace = t.namespace, free = true,
    deadline_ms = t.until_ms,
    body = {
      apiVersion = "v1", kind = "DeleteOptions", propagationPolicy = "Foreground",
      preconditions = { uid = uid },
    },
  })
  -- A conflict: another object has the name by now.
  if not ok and not M.is_absent(err) and not (errors.is(err) and err.code == "CONFLICT") then
    error(err, 0)
  end
end

-- kubectl delete waits for what holds an object, and that may never let it go.
local RELEASE <const> = ", which waits for what holds it, and where nothing needs that any more: kubectl patch %s "
  .. [[--type merge -p '{"metadata":{"finalizers":null}}']]

--- Deletes an object that this run made and waits until it is gone.
-- @param t table {api_version=, kind=, name=, namespace=, run_id=, uid=(nil: ours by its label),
--   lost=(may it come into being only now?), applied=(the object without our labels, where it was a server-side
--   apply), forced=(was that forced?)}
-- @raise an error object, or a string that says what is left and how to remove it
function M.remove(t)
  t.until_ms, t.since_ms = patience(), native.monotonic()
  local found, object, is_open = pcall(find, t)
  if found and not object then
    if is_open then
      error(unsure(t, named(t), nil, named(t)), 0)
    end
    return
  elseif not found and t.lost and not t.uid and errors.is(object) then
    error(unsure(t, named(t), tostring(object), named(t)), 0)
  end
  local ok, why = found, object
  if found then
    ok, why = pcall(function()
      delete(t, object.metadata.uid)
      t.uid = object.metadata.uid
      object = read(t)
      while object and native.monotonic() < t.until_ms do
        native.sleep(POLL_MS)
        object = read(t)
      end
    end)
  end
  if not ok or object then
    local meta = found and object and object.metadata or {}
    local held = type(meta.finalizers) == "table" and #meta.finalizers > 0
    error(("%s is left%s%s; remove it with: kubectl delete %s%s"):format(named(t),
      not ok and (" (%s)"):format(tostring(why)) or "",
      held and ", held by " .. table.concat(meta.finalizers, ", ") or "", named(t), held and RELEASE:format(named(t))
      or ""), 0)
  end
end

-- The uids of the run's objects of the kind whose name begins as it was asked for, without those in `made`.
local function list(t, made)
  local known, found = {}, {}
  for _, other in ipairs(made) do
    known[other.uid or ""] = true
  end
  local objects <const> = {
    verb = "list", apiVersion = t.api_version, kind = t.kind, namespace = t.namespace, free = true,
    label = M.RUN .. "=" .. t.run_id, deadline_ms = t.until_ms,
  }
  for object in k8s.stream("clean-up", objects) do
    local meta = type(object.metadata) == "table" and object.metadata or {}
    if type(meta.name) == "string" and type(meta.uid) == "string" and not known[meta.uid]
      and meta.name:sub(1, #t.generated) == t.generated then
      found[#found + 1] = meta
    end
  end
  return found
end

-- By kind, namespace and generated name: how many were found beyond those looked for so far, and what stays unknown of
-- more of them once they were awaited.
local spare, unsettled = {}, {}

--- Deletes what was made with metadata.generateName when the answer that had its name was lost.
-- @param t table as of remove, without a name, with generated=(the begin of it)
-- @param made table all that this run made: {uid=} each
-- @raise as remove
function M.remove_generated(t, made)
  t.until_ms, t.since_ms = patience(), native.monotonic()
  local key = ("%s %s %s %s"):format(t.api_version, t.kind, t.namespace, t.generated)
  if (spare[key] or 0) > 0 then
    spare[key] = spare[key] - 1
    return
  elseif unsettled[key] then
    error(unsettled[key], 0)
  end
  local ok, found = pcall(list, t, made)
  while ok and #found == 0 and t.lost and may_look(t) do
    native.sleep(POLL_MS)
    ok, found = pcall(list, t, made)
  end
  if not ok or #found == 0 and t.lost then
    local group = t.api_version:match "^(.*)/"
    unsettled[key] = unsure(t, "a " .. t.kind, not ok and tostring(found) or nil, ("%s%s -l %s=%s"):format(
      t.kind:lower() .. (group and "." .. group or ""), t.namespace and " -n " .. t.namespace or "", M.RUN, t.run_id))
    error(unsettled[key], 0)
  end
  spare[key] = #found - 1
  for _, meta in ipairs(found) do
    M.remove {
      api_version = t.api_version, kind = t.kind, name = meta.name, namespace = meta.namespace, run_id = t.run_id,
      uid = meta.uid,
    }
  end
end

return M
