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

local function is_absent(err)
  return errors.is(err) and err.code == "NOT_FOUND"
end

-- Until when a removal may wait: late enough to see the end, early enough to say what is left.
local function patience()
  local now = native.monotonic()
  began = began or now
  return math.min(math.max(began + ALL_MS, now + EACH_MS), began + LAST_MS)
end

-- The object as it is now; nil when it is gone or another one has its name.
local function read(t)
  local ok, object = pcall(k8s.call, "clean-up", {
    verb = "get", apiVersion = t.api_version, kind = t.kind, name = t.name, namespace = t.namespace, free = true,
    deadline_ms = t.until_ms,
  })
  if not ok then
    if is_absent(object) then
      return nil
    end
    error(object, 0)
  end
  local meta = object.metadata or {}
  if t.uid and meta.uid ~= t.uid then
    return nil
  end
  if not t.uid and (meta.labels or {})[M.RUN] ~= t.run_id then
    return nil
  end
  return object
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
  if not ok and not is_absent(err) and not (errors.is(err) and err.code == "CONFLICT") then
    error(err, 0)
  end
end

--- Deletes an object that this run made and waits until it is gone.
-- @param t table {api_version=, kind=, name=, namespace=, run_id=, uid=(nil: ours by its label)}
-- @raise an error object, or a string that says what is left and how to remove it
function M.remove(t)
  t.until_ms = patience()
  local found, object = pcall(read, t)
  if found and not object then
    return
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
    error(("%s is left%s%s; remove it with: kubectl delete %s"):format(named(t),
      not ok and (" (%s)"):format(tostring(why)) or "",
      held and ", held by " .. table.concat(meta.finalizers, ", ") or "", named(t)), 0)
  end
end

return M
