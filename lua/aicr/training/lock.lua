-- SPDX-License-Identifier: Apache-2.0
--- The Lease that says whose a namespace is (gke-tcpxo.md 5.6, rows 3, 5, 13). Each write is pinned to the version that
--- was read before it: whoever else writes is noticed.
local api = require "aicr.training.api"

local M = {}

local LEASES <const> = "leases.coordination.k8s.io"

local lock = {}
lock.__index = lock

--- A lock that is not claimed yet.
--- @param ctx aicr.ctx
--- @param name string
--- @param namespace string
--- @param holder string names this run and no other
--- @param stale_ms integer after which a lock that was not renewed is free
function M.new(ctx, name, namespace, holder, stale_ms)
  return setmetatable({
    ctx = ctx, name = name, namespace = namespace, holder = holder, stale_ms = stale_ms,
  }, lock)
end

--- How long ago a Lease was renewed, in milliseconds.
function M.age(lease, now)
  local spec = api.at(lease, "spec")
  local renewed = api.milliseconds(spec.renewTime) or api.milliseconds(spec.acquireTime)
    or api.milliseconds(api.at(lease, "metadata").creationTimestamp)
  return renewed and now - renewed or math.maxinteger
end

local function holder_of(lease)
  local holder = api.at(lease, "spec").holderIdentity
  return type(holder) == "string" and holder ~= "" and api.clip(holder) or nil
end

M.holder_of = holder_of

local function keep(self, lease)
  self.uid, self.version = lease.metadata.uid, lease.metadata.resourceVersion
end

local function locked(self, lease)
  api.raise("CONFLICT", "locked", "namespace %s is in use: %s renewed its lock %s %d s ago; another run owns it",
    self.namespace, holder_of(lease) or "somebody", self.name, math.max(0, M.age(lease, self.ctx:now())) // 1000)
end

local function spec_of(self)
  local now = api.micro_time(self.ctx:now())
  return {
    holderIdentity = self.holder, acquireTime = now, renewTime = now,
    leaseDurationSeconds = math.max(1, self.stale_ms // 1000),
  }
end

-- Takes over the lock of a run that has ended without removing it.
local function take_over(self, lease)
  local ok, taken = pcall(api.patch, LEASES, self.name, self.namespace, {
    metadata = { resourceVersion = lease.metadata.resourceVersion, uid = lease.metadata.uid }, spec = spec_of(self),
  })
  if ok then
    self.ctx:evidence("the lock of %s was stale: taken over from %s", self.namespace, holder_of(lease) or "nobody")
    keep(self, taken)
    return
  elseif not api.is(taken, "conflict", "not-found") then
    error(taken, 0)
  end
  -- Our own write, when its first answer was lost.
  local now = api.find(LEASES, self.name, self.namespace)
  if not now or holder_of(now) ~= self.holder then
    locked(self, now or lease)
  end
  keep(self, now)
end

--- Claims the lock. Raises CONFLICT/`locked` where another run holds it.
function lock:claim()
  for _ = 1, 3 do
    local ok, lease = pcall(api.create, {
      apiVersion = "coordination.k8s.io/v1", kind = "Lease",
      metadata = { name = self.name, namespace = self.namespace, labels = {
        [api.MANAGED_BY] = api.NAME, [api.RUN] = self.ctx.run_id,
      } },
      spec = spec_of(self),
    })
    if ok then
      return keep(self, lease)
    elseif not api.is(lease, "already-exists") then
      error(lease, 0)
    end
    lease = api.find(LEASES, self.name, self.namespace)
    if lease and holder_of(lease) == self.holder then
      return keep(self, lease)
    elseif lease and holder_of(lease) and M.age(lease, self.ctx:now()) < self.stale_ms then
      locked(self, lease)
    elseif lease then
      return take_over(self, lease)
    end
  end
  api.raise("CONFLICT", "locked", "the lock %s of namespace %s comes and goes: another run owns it", self.name,
    self.namespace)
end

local function lost(self, lease)
  self.is_lost = true
  api.raise("CONFLICT", "lock-lost", "the lock %s of namespace %s is not ours any more: %s. What was measured may be "
    .. "another run's, and nothing is removed", self.name, self.namespace,
    lease and ("%s holds it"):format(holder_of(lease) or "nobody") or "it was deleted")
end

local function is_ours(self, lease)
  return lease ~= nil and holder_of(lease) == self.holder and lease.metadata.uid == self.uid
end

--- Makes sure that the lock is ours, and says so in it. Raises CONFLICT/`lock-lost`.
function lock:renew()
  for _ = 1, 3 do
    local ok, lease = pcall(api.patch, LEASES, self.name, self.namespace, {
      metadata = { resourceVersion = self.version, uid = self.uid },
      spec = { renewTime = api.micro_time(self.ctx:now()) },
    })
    if ok and is_ours(self, lease) then
      return keep(self, lease)
    elseif ok then
      lost(self, lease)
    elseif not api.is(lease, "conflict", "not-found") then
      error(lease, 0)
    end
    lease = api.find(LEASES, self.name, self.namespace)
    if not is_ours(self, lease) then
      lost(self, lease)
    end
    keep(self, lease)
  end
  api.raise("CONFLICT", "conflict", "the lock %s of namespace %s cannot be renewed: somebody else writes to it",
    self.name, self.namespace)
end

--- Who holds the lock, for clean-up: true, it is ours or there is none; or false and the other one's name. Raises where
--- it cannot be read.
function lock:is_free(deadline_ms)
  local lease = api.find(LEASES, self.name, self.namespace, deadline_ms)
  local holder = lease and holder_of(lease)
  return not lease or holder == self.holder, holder or "nobody"
end

return M
