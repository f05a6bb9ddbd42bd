-- SPDX-License-Identifier: Apache-2.0
--- The namespace of a run (gke-tcpxo.md 5.6, rows 1 and 2; 5.10): made or reclaimed, and removed with what is in it.
local api = require "aicr.training.api"
local attempt = require "aicr.base.attempt"
local errors = require "aicr.native.error"
local lock_of = require "aicr.training.lock"
local native = require "aicr.native.task"

local M = {}

local POLL_MS <const> = 500
-- Pods get as much time to end as a process needs that handles SIGTERM.
local GRACE_S <const> = 1
local SIDE_BY_SIDE <const> = 16
-- What an answer may take when the time for clean-up is over: its end is to be seen.
local LATE_MS <const> = 5000
-- How long one may come into being whose answer was lost.
local LOST_MS <const> = 15000

-- What holds a namespace that is terminating.
local function held_by(object)
  for _, kind in ipairs { "NamespaceFinalizersRemaining", "NamespaceContentRemaining",
    "NamespaceDeletionContentFailure", "NamespaceDeletionDiscoveryFailure" } do
    local message = api.condition(object, kind, "True")
    if message then
      return message
    end
  end
  return nil
end

local function is_terminating(object)
  return object.metadata.deletionTimestamp ~= nil or api.at(object, "status").phase == "Terminating"
end

local function wait_until_gone(ctx, old, ends)
  local name, uid = old.metadata.name, old.metadata.uid
  while old and old.metadata.uid == uid do
    if native.monotonic() >= ends then
      api.raise("TIMEOUT", "namespace-terminating", "namespace %s of an earlier run is still terminating: %s", name,
        held_by(old) or "no reason is given")
    end
    ctx:progress("an old namespace %s is terminating%s", name, held_by(old) and ": " .. held_by(old) or "")
    native.sleep(POLL_MS)
    old = api.find("namespaces", name)
  end
end

local function sent(err)
  local details = errors.is(err) and type(err.details) == "table" and err.details or {}
  if details.http then
    return details.http >= 500 or details.http == 408
  end
  return details.transport ~= "refused" and details.transport ~= "dns" and details.attempts ~= 0
end

-- ns.lost: it may come into being without an answer.
local function create(ns)
  ns.sent, ns.lost, ns.uid = true, true, nil
  local ok, made = pcall(api.create, api.marked({
    apiVersion = "v1", kind = "Namespace", metadata = { name = ns.name },
  }, ns.ctx.run_id, ns.holder))
  if ok then
    ns.uid, ns.lost = made.metadata.uid, false
    return true
  elseif api.is(made, "already-exists") then
    ns.lost = false -- it may be ours, made by an attempt whose answer was lost: it says so
    return false
  end
  ns.sent = native.stopping() or sent(made)
  error(made, 0)
end

local function is_own(ns, object)
  return api.at(object, "metadata", "annotations")[api.HOLDER] == ns.holder
end

-- Takes what is there as ours, where an earlier run of this tool has left it.
local function reclaim(ns, object)
  if api.at(object, "metadata", "labels")[api.MANAGED_BY] ~= api.NAME then
    api.raise("CONFLICT", "namespace-foreign", "namespace %s is there and was not made by aicr-run: it is left as it "
      .. "is", ns.name)
  end
  ns.uid, ns.sent, ns.reclaimed = object.metadata.uid, true, not is_own(ns, object)
end

--- A namespace that was not asked for yet.
--- @param ctx aicr.ctx
--- @param name string
--- @param holder string names this run and no other
--- @param lock table of aicr.training.lock, in that namespace
--- @param contents table[] what is removed first: {resource=, name=}
--- @return table ns those, and: sent (it was asked for), lost, uid, reclaimed, removed
function M.new(ctx, name, holder, lock, contents)
  return { ctx = ctx, name = name, holder = holder, lock = lock, contents = contents }
end

--- Makes the namespace, waiting for an old one of that name to finish terminating. Raises CONFLICT/`namespace-foreign`,
--- TIMEOUT/`namespace-terminating`.
--- @param ns table of M.new
--- @param timeout_ms integer
function M.claim(ns, timeout_ms)
  local ends = native.monotonic() + timeout_ms
  while not create(ns) do
    local old = api.find("namespaces", ns.name)
    if old and is_terminating(old) then
      wait_until_gone(ns.ctx, old, ends)
    elseif old then
      return reclaim(ns, old)
    elseif native.monotonic() >= ends then
      api.raise("TIMEOUT", "namespace-terminating", "namespace %s comes and goes", ns.name)
    end
  end
end

--- Raises CONFLICT/`namespace-in-use` where a pod is in the namespace that has not ended.
function M.require_idle(ns)
  local names = {}
  for _, pod in ipairs(api.list("pods", ns.name)) do
    if api.is_live(pod) then
      names[#names + 1] = pod.metadata.name
    end
  end
  if #names > 0 then
    api.raise("CONFLICT", "namespace-in-use", "%d pods that have not ended are in namespace %s: another run owns it "
      .. "(%s%s)", #names, ns.name, table.concat(names, ", ", 1, math.min(#names, 5)), #names > 5 and ", …" or "")
  end
end

-- Is there nothing of an old run that is still at work?
local function is_idle(ctx, name, lock, stale_ms)
  for _, pod in ipairs(api.list("pods", name)) do
    if api.is_live(pod) then
      return false
    end
  end
  local lease = api.find("leases.coordination.k8s.io", lock, name)
  return not lease or not lock_of.holder_of(lease) or lock_of.age(lease, ctx:now()) >= stale_ms
end

--- Removes namespaces of earlier runs that are old, have no lock and no pod at work; best effort.
--- @param ctx aicr.ctx
--- @param how table prefix, lock (name of the Lease), age_ms, stale_ms, but (a name that stays)
function M.prune(ctx, how)
  ctx:try(function()
    for _, object in ipairs(api.list("namespaces", nil, api.MANAGED_BY .. "=" .. api.NAME)) do
      local meta = object.metadata
      local made = api.milliseconds(meta.creationTimestamp)
      if meta.name:sub(1, #how.prefix) == how.prefix and meta.name ~= how.but and not is_terminating(object)
        and made and ctx:now() - made >= how.age_ms then
        ctx:try(function()
          if is_idle(ctx, meta.name, how.lock, how.stale_ms) then
            api.delete("namespaces", meta.name, nil, meta.uid)
            ctx:evidence("the namespace %s of an earlier run is removed", meta.name)
          end
        end)
      end
    end
  end)
end

local function left(ns, fmt, ...)
  error(("namespace/%s is left (%s); remove it with: kubectl delete namespace/%s"):format(ns.name, fmt:format(...),
    ns.name), 0)
end

-- f(deadline) until it answers; what keeps it from that is told when the time is over.
local function patiently(ns, ends, f)
  while true do
    local result, err = attempt(f, ends + LATE_MS)
    if not err then
      return result
    elseif native.monotonic() + POLL_MS >= ends then
      left(ns, "%s", tostring(err))
    end
    native.sleep(POLL_MS)
  end
end

-- The namespace's controller looks some seconds later, and some seconds apart: what takes its time or waits for others
-- to let go of it is removed until then.
local function hurry(ns, uid, ends)
  local ok, now = pcall(api.find, "namespaces", ns.name, nil, ends)
  if not ok or not now or now.metadata.uid ~= uid or not is_terminating(now) then
    return -- what has its name now may be another's
  end
  for _, one in ipairs(ns.contents) do
    pcall(function()
      local object = api.find(one.resource, one.name, ns.name, ends)
      if object then
        api.delete(one.resource, one.name, ns.name, object.metadata.uid, nil, ends)
      end
    end)
  end
  pcall(function()
    local runners = {}
    for _, pod in ipairs(api.list("pods", ns.name)) do
      runners[#runners + 1] = api.is_live(pod) and function()
        pcall(api.delete, "pods", pod.metadata.name, ns.name, pod.metadata.uid, GRACE_S, ends)
      end or nil
    end
    for first = 1, #runners, SIDE_BY_SIDE do
      native.all(table.move(runners, first, math.min(#runners, first + SIDE_BY_SIDE - 1), 1, {}))
    end
  end)
end

-- The uid of the namespace that is ours to remove, nil: none.
local function own_uid(ns, ends)
  local lost_ends = math.min(ends, native.monotonic() + LOST_MS)
  while true do
    local object = patiently(ns, ends, function(deadline)
      return api.find("namespaces", ns.name, nil, deadline)
    end)
    if object then
      local uid = object.metadata.uid
      return (ns.uid and uid == ns.uid or not ns.uid and is_own(ns, object)) and uid or nil
    elseif not ns.lost or native.monotonic() + POLL_MS >= lost_ends then
      return nil
    end
    native.sleep(POLL_MS)
  end
end

local function wait_removed(ns, uid, ends)
  while true do
    local object = patiently(ns, ends, function(deadline)
      return api.find("namespaces", ns.name, nil, deadline)
    end)
    if not object or object.metadata.uid ~= uid then
      return
    elseif native.monotonic() >= ends then
      left(ns, "it is terminating; %s", held_by(object) or "nothing says what holds it")
    end
    native.sleep(POLL_MS)
  end
end

--- Removes the namespace with all that is in it and waits until it is gone; what another run holds stays.
--- @param ns table of M.new
--- @param timeout_ms integer
--- @raise a text that says what is left and how to remove it
function M.remove(ns, timeout_ms)
  local lock = ns.lock
  if ns.removed or not ns.sent or lock.is_lost or ns.reclaimed and not lock.uid then
    return
  end
  local ends = native.monotonic() + timeout_ms
  local uid = own_uid(ns, ends)
  if uid then
    local holder
    local is_free = patiently(ns, ends, function(deadline)
      local free
      free, holder = lock:is_free(deadline)
      return free
    end)
    if not is_free then
      left(ns, "%s holds its lock now; only when that run is over", holder)
    end
    patiently(ns, ends, function(deadline)
      api.delete("namespaces", ns.name, nil, uid, nil, deadline)
    end)
    hurry(ns, uid, ends)
    wait_removed(ns, uid, ends)
  end
  ns.removed = true
end

return M
