-- SPDX-License-Identifier: Apache-2.0
--- `ctx.k8s:logs` (kubernetes-client.md 3.3): the log of a container, as text, or line by line. Lines are read over
--- lost connections: each request asks for the times of the lines, so that the next one goes on behind the line that
--- came last. An answer that ends well may be cut (the API server does not tell when a kubelet ends under it), so its
--- end is read once more.
local arguments = require "aicr.ctx.k8s.arguments"
local errors = require "aicr.native.error"
local k8s = require "aicr.native.k8s"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"
local no_log = require "aicr.ctx.k8s.no_log"
local stream = require "aicr.ctx.k8s.stream"

local close, pause, rest = stream.close, stream.pause, stream.rest

local M = {}

local WHAT <const> = "ctx.k8s:logs"
-- How much earlier than the last line is asked for: lines of stdout and stderr may change places, clocks may step.
local MARGIN_MS <const> = 10000
-- A recording does not change: after so many failures there will be no answer.
local REPLAY_TRIES <const> = 50
local TRIES <const> = 5
-- How often a pod is looked at, with pauses, before it is believed to run on.
local STATUS_TRIES <const> = 3
local STAMP <const> = "^%d%d%d%d%-%d%d%-%d%dT[%d:.]+[Z+-][%d:]*"

local log = {}
log.__index = log

local function gap(self, why, cause)
  close(self)
  error(errors.new {
    code = "INTERNAL", reason = "log-gap", cause = cause,
    message = ('%s pods/log "%s" in namespace "%s": lines may be missing after %s: %s'):format(WHAT, self.pod,
      self.namespace, self.last and "the one of " .. self.last.stamp or "the begin", why),
  }, 0)
end

-- A time of a line in milliseconds. One that is none shows late: only what goes on behind it reads it.
local function time_of(self, stamp)
  local ok, ms = pcall(kept.parse_time, stamp)
  if not ok then
    close(self)
    error(errors.new {
      code = "INTERNAL", reason = "unexpected-response",
      message = ('%s pods/log "%s" in namespace "%s": a line whose time is none: %s'):format(WHAT, self.pod,
        self.namespace, kept.clip(stamp, 200)),
    }, 0)
  end
  return ms
end

-- The pod as it is now: what a log's end means. nil where this user may not see it.
local function pod_of(self)
  local ok, pod = pcall(k8s.call, WHAT, {
    verb = "get", resource = "pods", name = self.pod, namespace = self.namespace, free = true, aside = true,
    deadline_ms = self.ends,
  })
  if ok then
    return pod
  elseif native.stopping() or not errors.is(pod) then
    error(pod, 0)
  end
  return nil, pod
end

local function table_of(t, key)
  local v = type(t) == "table" and t[key]
  return type(v) == "table" and v or {}
end

-- The container's {id=, running=, was=(the id of its run before)}, nil where the pod does not tell.
local function container_of(self, pod)
  local name = self.opts.container
  local all = table_of(table_of(pod, "spec"), "containers")
  name = name or #all == 1 and type(all[1]) == "table" and all[1].name
  for _, kind in ipairs { "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses" } do
    for _, status in ipairs(table_of(table_of(pod, "status"), kind)) do
      if type(status) == "table" and status.name == name then
        return {
          id = status.containerID, running = table_of(status, "state").running ~= nil,
          was = table_of(table_of(status, "lastState"), "terminated").containerID,
        }
      end
    end
  end
  return nil
end

-- Where the next request begins, as parameters of it.
local function begin_of(self)
  if self.last and not self.recorded then
    local ms = time_of(self, self.last.stamp)
    return { sinceTime = kept.format_time(ms - MARGIN_MS):sub(1, 19) .. "Z" }
  elseif self.last then
    return {}
  end
  -- Nothing came yet: what came into being since the first request must not be left out.
  local since, passed = self.since, 0
  if self.asked and not self.recorded then
    since = self.opts.tail and 0 or since
    passed = native.monotonic() - self.asked
  end
  return {
    sinceSeconds = since and math.max(1, (since + passed + 999) // 1000) or nil,
    tailLines = (self.recorded or not self.asked) and self.opts.tail or nil,
  }
end

local function open(self)
  local query = begin_of(self)
  query.container, query.previous = self.opts.container, self.previous and "true" or nil
  if not self.plain then
    query.timestamps = "true"
    query.follow = self.follows and not self.final and "true" or nil
  end
  self.asked = self.asked or native.monotonic()
  self.in_line, self.skipping, self.skipped, self.fresh = false, self.last ~= nil, 0, false
  self.dropping = 0
  self.stream, self.state, self.control, self.closing = k8s.stream(WHAT, {
    verb = "get", resource = "pods", name = self.pod, namespace = self.namespace, subresource = "log", text = true,
    deadline_ms = self.ends, query = query,
  })
end

-- Is the run that was followed now the one before? Then the rest of its log is read there.
local function take_previous(self, now)
  local is_before = now and self.id and now.id ~= self.id and now.was == self.id
  if is_before then
    self.previous, self.final = true, true
  end
  return is_before
end

-- What a followed log's end means: of the container, or of the connection? The pod's status comes a little later. True
-- when it is known, or cannot be.
local function understand(self)
  local pod, err = pod_of(self)
  local now = pod and container_of(self, pod)
  if err and err.reason == "not-found" and err.verdict then
    gap(self, "the pod is gone", err)
  elseif err and err.reason ~= "forbidden" then
    self.ended_once = false
  elseif not now then
    -- An answer that ends at once and adds nothing is all that can be known.
    self.final = self.ended_once and not self.fresh
    self.ended_once = true
    return true
  elseif take_previous(self, now) then
    return true
  elseif self.id and now.id ~= self.id then
    gap(self, "the container was started again")
  else
    self.id, self.final = now.id, not now.running
  end
  return self.final
end

local function after_follow(self)
  for _ = 1, STATUS_TRIES do
    if understand(self) then
      break
    end
    rest(self, stream.BACKOFF_MS)
  end
end

-- The last line is not in what came.
local function missed(self)
  local pod = self.follows and not self.previous and not native.recording() and pod_of(self) or nil
  if not (pod and take_previous(self, container_of(self, pod))) then
    gap(self, "that line is not in the log any more: the container was started again, or its log was rotated")
  end
end

-- Is it the line that was read last? Lines before it are not given again.
local function skip(self, stamp, text, how)
  local last = self.last
  if not self.in_line then
    self.line = { stamp = stamp, text = text, size = 0 }
  end
  local line = self.line
  line.size = line.size + #text
  if how ~= "piece" and line.stamp == last.stamp then
    self.skipped = self.skipped + 1
    self.skipping = not (self.skipped >= last.count and line.text == last.text and line.size == last.size)
  end
  -- What is so much later stands behind it, if it is there at all.
  return self.skipping and time_of(self, line.stamp) > time_of(self, last.stamp) + MARGIN_MS
end

-- The part of a line that had been given when its connection was lost is not given again.
local function drop(self, stamp, content)
  local part = self.part
  if not self.in_line and part and not self.fresh then
    if part.stamp ~= stamp then
      gap(self, "the line that goes on there is not in the log any more")
    end
    self.dropping = part.bytes
  end
  local n = math.min(self.dropping, #content)
  self.dropping = self.dropping - n
  return n > 0 and content:sub(n + 1) or content
end

-- Keeps what the next request needs; of a long line its first piece and its size.
local function note(self, stamp, text, content, how)
  self.began = true
  if not self.in_line then
    self.line = { stamp = stamp, text = text, size = 0 }
    if not self.part then
      self.part = { stamp = stamp, bytes = 0 }
    end
  end
  self.line.size = self.line.size + #text
  self.part.bytes = self.part.bytes + #content
  if how == "line" then
    local same = self.last and self.last.stamp == self.line.stamp
    self.line.count = same and self.last.count + 1 or 1
    self.last, self.part = self.line, nil
  end
end

-- A line or piece of one as the check gets it; nil where there is none for it.
local function give(self, content, how)
  if self.left then
    if #content >= self.left then
      content, how, self.over = content:sub(1, self.left), "line", true
      close(self)
    end
    self.left = self.left - #content - (how == "line" and 1 or 0)
    if self.over and content == "" then
      return nil
    end
  end
  return content, how == "piece" or nil
end

-- The node says so where it could not read the log, as right after a crash: another time it may.
local function without_stamp(self, text)
  local none = no_log(text)
  close(self)
  if none and self.failures < TRIES then
    return pause(self)
  end
  error(errors.new {
    code = none and "SERVICE_UNAVAILABLE" or "INTERNAL", reason = none and "log-unavailable" or "unexpected-response",
    message = ('%s pods/log "%s" in namespace "%s": a line without its time: %s'):format(WHAT, self.pod,
      self.namespace, kept.clip(text, 200)),
  }, 0)
end

local function take(self, text, how)
  if self.plain then
    return give(self, text, how)
  end
  local stamp, content = nil, text
  if not self.in_line then
    local _, stop = text:find(STAMP)
    if not stop then
      return without_stamp(self, text)
    end
    stamp, content = text:sub(1, stop), text:sub(stop + 2)
  end
  local shown = self.opts.timestamps and text or content
  if self.skipping then
    if skip(self, stamp or self.line.stamp, text, how) then
      close(self)
      missed(self)
    end
    self.in_line = how == "piece"
    return nil
  elseif how == "unended" and not self.final then
    -- Is it the end of the log, or was it cut there? The next request tells.
    return nil
  end
  shown = drop(self, stamp, shown)
  note(self, stamp, text, shown, how)
  self.in_line, self.fresh, self.failures = how == "piece", true, 0
  if how ~= "line" and shown == "" then
    return nil
  end
  return give(self, shown, how)
end

local function ended(self)
  local skipping = self.skipping
  self.began = true
  close(self)
  if skipping then
    missed(self)
  elseif self.plain or self.final then
    self.over = true
  elseif self.follows and not self.previous and not native.recording() then
    after_follow(self)
  else
    self.final = true
  end
end

-- The run that was recorded had no more time, though its log goes on in what it read later.
local function late(self)
  error(errors.new {
    code = "TIMEOUT", reason = "deadline",
    message = ('%s pods/log "%s" in namespace "%s": the run that was recorded had no time for more of it'):format(WHAT,
      self.pod, self.namespace),
  }, 0)
end

-- A recording may hold the log as it was read otherwise: whole, or as that of the run before.
local function not_recorded(self, err)
  if not self.final and not self.plain and not self.opts.timestamps then
    self.plain = true
  elseif self.final and not self.previous then
    self.previous = true
  else
    error(err, 0)
  end
end

local function broken(self, err)
  close(self)
  if native.stopping() or not errors.is(err) then
    error(err, 0)
  end
  local details = type(err.details) == "table" and err.details or {}
  if self.ends and details.transport == "deadline" then
    native.late(self.wait)
  end
  local http, transport = details.http, details.transport
  local again = transport and transport ~= "tls" and transport ~= "deadline" and transport ~= "canceled"
    or http == 429 or http and http >= 500 or err.reason == "log-unavailable"
  if native.recording() then
    if err.reason == "not-recorded" then
      return not_recorded(self, err)
    elseif not again or self.failures >= REPLAY_TRIES then
      error(err, 0)
    end
  elseif http == 404 and self.began and not again then
    gap(self, "the pod is gone", err)
  elseif not again or not self.began then
    error(err, 0)
  end
  pause(self)
end

function log:next()
  while not self.over do
    local ok, text, how = pcall(function()
      if not self.stream then
        if not native.goes_on(self.wait, false) then
          late(self)
        end
        native.look(self.wait)
        open(self)
      end
      return self.stream(self.state, self.control)
    end)
    if not ok then
      broken(self, text)
    elseif not text then
      ended(self)
    else
      local line, piece = take(self, text, how)
      if line then
        return line, piece
      end
    end
  end
  close(self)
  return nil
end

local LOGS <const> = {
  container = "string", previous = "boolean", tail = "integer", since = "string", timestamps = "boolean",
  limit = "integer", follow = "boolean", lines = "boolean", timeout = "string",
}

local function lines(pod, namespace, opts, since, ends)
  local _, _, recorded = k8s.known_version()
  local self = setmetatable({
    pod = pod, namespace = namespace, opts = opts, since = since, ends = ends, follows = opts.follow,
    previous = opts.previous, left = opts.limit, recorded = recorded or native.recording(), failures = 0,
    wait = native.wait(("logs: %s %s %s"):format(pod, namespace, opts.container or "")),
  }, log)
  if self.follows and not self.previous and not native.recording() then
    local seen = pod_of(self)
    self.id = seen and (container_of(self, seen) or {}).id
  end
  return function()
    return self:next()
  end, nil, nil, setmetatable({}, { __close = function()
    close(self)
    self.wait:close()
  end })
end

--- The log in one answer.
-- @param request table {name=, namespace=, query=, deadline_ms=}
-- @return string
-- @raise SERVICE_UNAVAILABLE/"log-unavailable" where the node says, with the status 200, that it cannot read it
function M.text(request)
  local text = k8s.call(WHAT, {
    verb = "get", resource = "pods", name = request.name, namespace = request.namespace, subresource = "log",
    text = true, deadline_ms = request.deadline_ms, query = request.query,
  })
  if no_log(text) then
    error(errors.new {
      code = "SERVICE_UNAVAILABLE", reason = "log-unavailable",
      message = ('%s pods/log "%s" in namespace "%s": its node says: %s'):format(WHAT, request.name, request.namespace,
        kept.clip((text:gsub("%s+$", "")), 200)),
    }, 0)
  end
  return text
end

--- What a container wrote: text of at most 64 MiB, or, with `lines` or `follow`, an iterator over lines for logs of any
-- length: `for line, goes_on in ctx.k8s:logs(…, { follow = true }) do …`. A line has no newline; of one of more than 1
-- MiB pieces come, and goes_on is true for all but its last. `follow` goes on until the container has ended. Nothing is
-- left out or comes twice over lost connections, or an error says so.
-- @param pod string
-- @param namespace string
-- @param opts table|nil {container=(needed where there are several), previous=, tail=lines, since=duration,
--   timestamps=, limit=bytes, lines=, follow=, timeout=duration (default: the check's deadline)}
-- @return string any bytes; or an iterator for a generic for
-- @raise SERVICE_UNAVAILABLE/"not-ready" (the container has not started), "log-unavailable" (its node cannot read it),
--   "node-unreachable", "node-gone", …;
--   TIMEOUT/"deadline"; INTERNAL/"log-gap": the log was rotated, or the container started again, where lines were
--   missing
function M.logs(_, pod, namespace, opts)
  arguments.named("pods", pod, namespace, WHAT)
  opts = arguments.options(opts, LOGS, WHAT)
  local since = opts.since and kept.duration(opts.since)
  local ends = opts.timeout and native.monotonic() + kept.duration(opts.timeout) or nil
  if opts.lines or opts.follow then
    return lines(pod, namespace, opts, since, ends)
  end
  return M.text {
    name = pod, namespace = namespace, deadline_ms = ends,
    query = {
      container = opts.container, previous = opts.previous and "true" or nil, tailLines = opts.tail,
      sinceSeconds = since and math.max(1, (since + 999) // 1000) or nil,
      timestamps = opts.timestamps and "true" or nil, limitBytes = opts.limit,
    },
  }
end

return M
