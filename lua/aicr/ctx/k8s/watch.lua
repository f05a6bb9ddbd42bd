-- SPDX-License-Identifier: Apache-2.0
--- `ctx.k8s:watch` (kubernetes-client.md 3.2): a list, then what changes, over lost connections and expired versions.
local arguments = require "aicr.ctx.k8s.arguments"
local errors = require "aicr.native.error"
local k8s = require "aicr.native.k8s"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"
local stream = require "aicr.ctx.k8s.stream"

local close, pause = stream.close, stream.pause

local M = {}

-- Seconds after which a server ends a watch that nothing else ended; different watches end at different times.
local WATCH_S <const>, WATCH_MORE_S <const> = 300, 300

-- What is kept of an object to tell its end when that was not seen.
local function stub(object)
  local meta = object.metadata
  return {
    apiVersion = object.apiVersion, kind = object.kind,
    metadata = {
      name = meta.name, namespace = meta.namespace, uid = meta.uid, resourceVersion = meta.resourceVersion,
    },
  }
end

local watch = {}
watch.__index = watch

local function push(self, kind, object)
  self.last = self.last + 1
  self.queue[self.last] = { kind, object }
end

local function unexpected(self, what)
  error(errors.new {
    code = "INTERNAL", reason = "unexpected-response",
    message = ("%s: %s of %s has no %s"):format(self.what, what[1], self.resource, what[2]),
  }, 0)
end

local function uid_of(self, object)
  local meta = type(object.metadata) == "table" and object.metadata or {}
  if type(meta.uid) ~= "string" then
    unexpected(self, { "an object", "uid" })
  end
  return meta.uid
end

local function is_over(self)
  return self.ends and native.monotonic() >= self.ends
end

-- Is it to ask (again)? A recording decides where it knows how often the run did that it is of.
local function asks(self)
  if native.goes_on(self.wait, is_over(self)) then
    native.look(self.wait)
    return true
  end
  self.over = true
  return false
end

-- Did the watch's own time end the request? A recording answers at once, but tells of the run's.
local function is_late(self, err)
  local may = is_over(self) or self.ends and native.recording()
  return may and errors.is(err) and type(err.details) == "table" and err.details.transport == "deadline"
end

-- Lists anew and queues how that differs from what was told before.
local function resync(self)
  local ok, items, version = pcall(k8s.list_for_watch, self.env.own, self.resource, self.filter, self.ends,
    self.aside)
  if not ok then
    if is_late(self, items) then
      return
    end
    error(items, 0)
  end
  local seen = {}
  for _, object in ipairs(items) do
    local uid = uid_of(self, object)
    seen[uid] = true
    local was = self.known[uid]
    if not was then
      push(self, "ADDED", object)
    elseif was.metadata.resourceVersion ~= object.metadata.resourceVersion then
      push(self, "MODIFIED", object)
    end
    self.known[uid] = stub(object)
  end
  for uid, was in pairs(self.known) do
    if not seen[uid] then
      self.known[uid] = nil
      push(self, "DELETED", was)
    end
  end
  if self.tells_empty and #items == 0 and self.first > self.last then
    push(self, "EMPTY")
  end
  if (version or "") == "" then
    unexpected(self, { "a list", "resourceVersion" })
  end
  self.version = version
end

local function open(self)
  self.stream, self.state, self.control, self.closing = k8s.stream(self.what, {
    verb = "watch", resource = self.resource, namespace = self.filter.namespace, label = self.filter.label,
    field = self.filter.field, deadline_ms = self.ends, aside = self.aside,
    query = {
      watch = "true", allowWatchBookmarks = "true", resourceVersion = self.version,
      timeoutSeconds = WATCH_S + native.monotonic() % WATCH_MORE_S,
    },
  })
end

-- The version is too old: begins anew, with a pause where that has just been done.
local function expired(self)
  self.version = nil
  self.expired = self.expired + 1
  if self.expired > 1 then
    pause(self)
  end
end

-- A stream that broke: goes on where it was, or begins anew, or raises.
local function broken(self, err)
  close(self)
  if native.recording() and errors.is(err) and err.reason == "not-recorded" then
    self.over = true
    return
  end
  if native.stopping() or not errors.is(err) then
    error(err, 0)
  end
  local details = type(err.details) == "table" and err.details or {}
  local http = details.http
  if is_late(self, err) then
    return
  elseif http == 410 then
    expired(self)
  elseif details.transport and details.transport ~= "tls" or http == 429 or http and http >= 500 then
    pause(self)
  else
    error(err, 0)
  end
end

-- An ERROR event carries a Status.
local function told_error(self, status)
  close(self)
  local code = math.type(status.code) == "integer" and status.code or 0
  local details = type(status.details) == "table" and status.details or {}
  if code == 410 then
    expired(self)
  elseif code == 429 or code >= 500 then
    local after = details.retryAfterSeconds
    local told = math.type(after) == "integer" and after > 0
    pause(self, told and math.min(after, stream.BACKOFF_MAX_MS // 1000) * 1000 or nil)
  else
    error(errors.new {
      code = code == 403 and "UNAUTHORIZED" or "INTERNAL", reason = code == 403 and "forbidden" or "watch-ended",
      message = ("%s: the server ended the watch of %s (%d): %s"):format(self.what, self.resource, code,
        kept.clip(tostring(status.message), 1024)),
    }, 0)
  end
end

local function take_event(self, event)
  local object = type(event.object) == "table" and event.object or {}
  if event.type == "ERROR" then
    told_error(self, object)
    return
  end
  local meta = type(object.metadata) == "table" and object.metadata or {}
  if type(meta.resourceVersion) ~= "string" or meta.resourceVersion == "" then
    close(self)
    unexpected(self, { "an event", "resourceVersion" })
  end
  self.version, self.failures, self.expired = meta.resourceVersion, 0, 0
  if event.type == "DELETED" then
    self.known[uid_of(self, object)] = nil
    push(self, event.type, object)
  elseif event.type == "ADDED" or event.type == "MODIFIED" then
    self.known[uid_of(self, object)] = stub(object)
    push(self, event.type, object)
  end
end

-- Reads on until something is queued or the time is over.
local function read(self)
  if not (self.version and self.stream) then
    if not asks(self) then
      return
    elseif not self.version then
      resync(self)
      return
    end
    open(self)
  end
  local ok, event = pcall(self.stream, self.state, self.control)
  if not ok then
    broken(self, event)
  elseif event then
    take_event(self, event)
  else
    close(self)
    pause(self, stream.BACKOFF_MS)
  end
end

function watch:next()
  while self.first > self.last do
    if self.over or is_over(self) then
      native.late(self.wait)
      close(self)
      return nil
    end
    read(self)
  end
  local item = self.queue[self.first]
  self.queue[self.first] = nil
  self.first = self.first + 1
  return item[1], item[2]
end

local WATCH <const> = { namespace = "string", label = "string", field = "string", timeout = "string" }

--- Follows objects: `for kind, object in ctx.k8s:watch("pods", { namespace = "x" }) do …`. First what is there (ADDED),
-- then ADDED, MODIFIED and DELETED as they happen. After a gap it lists again and tells the difference; an object whose
-- end was not seen is told as DELETED with its metadata only. Ends after `timeout`; on a recording after what is there
-- and what was watched when it was made.
-- @param resource string
-- @param opts table|nil {namespace=, label=, field=, timeout="1m"}
-- @return an iterator for a generic for
-- @raise what a list raises; UNAUTHORIZED/"forbidden" …
function M.watch(env, resource, opts)
  local what = "ctx.k8s:watch"
  arguments.named(resource, "", nil, what)
  opts = arguments.options(opts, WATCH, what)
  return M.follow(env, what, resource, opts, opts.timeout and native.monotonic() + kept.duration(opts.timeout))
end

--- As watch, for embedded code. For a wait "EMPTY" is told where a list has nothing and there is nothing else to tell.
-- @param what string the method, for messages
-- @param ends integer|nil when it ends, of the monotonic clock
-- @param for_wait boolean|nil tells "EMPTY"; a replay of what waits does without the watch
function M.follow(env, what, resource, opts, ends, for_wait)
  local self = setmetatable({
    env = env, what = what, resource = resource, ends = ends, known = {}, queue = {}, first = 1, last = 0,
    failures = 0, expired = 0, tells_empty = for_wait, aside = for_wait,
    filter = { namespace = opts.namespace, label = opts.label, field = opts.field },
    wait = native.wait(("watch: %s %s %s %s"):format(resource, opts.namespace or "", opts.label or "",
      opts.field or "")),
  }, watch)
  return function()
    return self:next()
  end, nil, nil, setmetatable({}, { __close = function()
    close(self)
    self.wait:close()
  end })
end

return M
