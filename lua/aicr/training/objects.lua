-- SPDX-License-Identifier: Apache-2.0
--- The runtime and the TrainJob of a run (gke-tcpxo.md 5.6, rows 7 to 10).
local api = require "aicr.training.api"
local errors = require "aicr.native.error"
local failure = require "aicr.failure"
local native = require "aicr.native.task"
local stored = require "aicr.training.stored"

local M = {}

local POLL_MS <const> = 500

local function identity(object)
  local meta = api.at(object, "metadata")
  return { uid = meta.uid, resourceVersion = meta.resourceVersion }
end

-- Puts the runtime in the place of the one that is there.
local function update(object, name, namespace)
  for last = 1, 3 do
    local old = api.find(api.RUNTIMES, name, namespace)
    if not old then
      return api.create(object)
    end
    local now = api.marked(object)
    now.metadata.labels = api.at(object, "metadata", "labels")
    now.metadata.resourceVersion = identity(old).resourceVersion
    local ok, err = pcall(api.update, now)
    if ok then
      return err
    elseif last == 3 or not api.is(err, "conflict", "not-found") then
      error(err, 0)
    end
  end
end

--- Makes the runtime, or makes the one of that name so. Raises INTERNAL with the reason of what failed.
--- @param object table with our labels and its namespace
function M.make_runtime(object)
  local name, namespace = object.metadata.name, object.metadata.namespace
  api.wrapped("INTERNAL", ("the runtime %s cannot be made"):format(name), function()
    local ok, err = pcall(api.create, object)
    if not ok and api.is(err, "already-exists") then
      update(object, name, namespace)
    elseif not ok then
      error(err, 0)
    end
  end)
end

--- Makes something else that the job needs; one that is there already was made by an attempt whose answer was lost, as
--- the namespace is the run's own.
--- @param object table with our labels and its namespace
function M.make_other(object)
  local ok, err = pcall(api.create, object)
  if not ok and not api.is(err, "already-exists") then
    error(err, 0)
  end
end

--- Reads the runtime as it was stored. Raises TIMEOUT/`runtime-not-visible`, INTERNAL/`object-changed`; else by
--- `aicr.failure`'s runtime_read_code.
--- @param object table as it was sent
--- @param time table {text=, ms=}
function M.read_runtime(object, time)
  local name, namespace = object.metadata.name, object.metadata.namespace
  local ends = native.monotonic() + time.ms
  while true do
    local found = api.wrapped(failure.runtime_read_code, ("the runtime %s cannot be read back"):format(name), api.find,
      api.RUNTIMES, name, namespace)
    if found then
      stored.require(object, found)
      return found
    elseif native.monotonic() >= ends then
      api.raise("TIMEOUT", "runtime-not-visible", "the runtime %s was made and cannot be read after %s", name,
        time.text)
    end
    native.sleep(math.max(0, math.min(POLL_MS, ends - native.monotonic())))
  end
end

local NOT_SEEN <const> = "must be created before the TrainJob is created"
local REFUSALS <const> = { [400] = true, [403] = true, [422] = true }

--- Does the webhook refuse a TrainJob because it does not see the runtime yet?
--- @param err any what was raised
--- @param runtime string
function M.is_not_seen(err, runtime)
  if not errors.is(err) then
    return false
  end
  local text, details = tostring(err), api.at(err, "details")
  return text:find(NOT_SEEN, 1, true) ~= nil
    or REFUSALS[details.http] == true and text:find(runtime, 1, true) ~= nil and text:find("not found", 1, true) ~= nil
end

--- Deletes a TrainJob of that name, pinned by its uid, and waits until it is gone. Raises TIMEOUT/`job-terminating`.
--- @param ctx aicr.ctx
--- @param time table {text=, ms=}
function M.remove_job(ctx, name, namespace, time)
  local old = api.find(api.JOBS, name, namespace)
  if not old then
    return
  end
  local uid, ends = old.metadata.uid, native.monotonic() + time.ms
  api.delete(api.JOBS, name, namespace, uid)
  while old and old.metadata.uid == uid do
    if native.monotonic() >= ends then
      local held = api.at(old, "metadata", "finalizers")
      api.raise("TIMEOUT", "job-terminating", "the old TrainJob %s in namespace %s is still there after %s%s", name,
        namespace, time.text, #held > 0 and ", held by " .. api.clip(table.concat(held, ", ")) or "")
    end
    ctx:progress("an old TrainJob %s is being removed", name)
    native.sleep(POLL_MS)
    old = api.find(api.JOBS, name, namespace)
  end
end

-- The TrainJob that an attempt made whose answer was lost, nil: it is another run's.
local function made_before(object)
  local there = api.find(api.JOBS, object.metadata.name, object.metadata.namespace)
  local holder = there and api.at(there, "metadata", "annotations")[api.HOLDER]
  return holder ~= nil and holder == object.metadata.annotations[api.HOLDER] and there or nil
end

--- Makes the TrainJob: again while the webhook does not see the runtime, and after removing an old one of that name.
--- Raises TIMEOUT/`runtime-not-visible`, INTERNAL/`object-changed`; what the client raises.
--- @param ctx aicr.ctx
--- @param object table with our labels and its namespace
--- @param times table webhook, webhook_every, replace: {text=, ms=}
--- @param trying fun(is_sent: boolean) told before each attempt and after one that failed
--- @return table the TrainJob
function M.make_job(ctx, object, times, trying)
  local name, namespace = object.metadata.name, object.metadata.namespace
  local runtime = api.at(object, "spec", "runtimeRef").name
  local ends = native.monotonic() + times.webhook.ms
  while true do
    trying(true)
    local ok, made = pcall(api.create, object)
    local own = ok and made or api.is(made, "already-exists") and made_before(object)
    if own then
      stored.require(object, own)
      return own
    end
    trying(false)
    if api.is(made, "already-exists") then
      M.remove_job(ctx, name, namespace, times.replace)
      ends = native.monotonic() + times.webhook.ms
    elseif not M.is_not_seen(made, tostring(runtime)) then
      error(made, 0)
    elseif native.monotonic() + times.webhook_every.ms > ends then
      errors.raise {
        code = "TIMEOUT", reason = "runtime-not-visible", cause = made, details = made.details,
        message = ("the webhook of Trainer does not see the runtime %s after %s"):format(tostring(runtime),
          times.webhook.text),
      }
    else
      ctx:progress("the webhook of Trainer does not see the runtime yet")
      native.sleep(times.webhook_every.ms)
    end
  end
end

return M
