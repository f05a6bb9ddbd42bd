-- SPDX-License-Identifier: Apache-2.0
--- Requests of `aicr.training`. They need what its `needs` declare, as those of a check; what they make is not removed
--- one by one at the end: the namespace goes, and takes it along.
local clean = require "aicr.ctx.k8s.clean"
local errors = require "aicr.native.error"
local json = require "aicr.json"
local k8s = require "aicr.native.k8s"
local log = require "aicr.ctx.k8s.log"
local native = require "aicr.native.task"
local text = require "aicr.native.text"
local time = require "aicr.time"

local M = {}

-- Labels as those of ctx.k8s:create: `aicr-run doctor` finds leftovers by them.
M.MANAGED_BY, M.NAME, M.RUN = clean.MANAGED_BY, clean.NAME, clean.RUN
-- Names the one run of a check: a run's id is the same in each of its checks and tries.
M.HOLDER = "aicr-run/holder"

M.TRAINER = "trainer.kubeflow.org"
M.RUNTIMES, M.JOBS = "trainingruntimes." .. M.TRAINER, "trainjobs." .. M.TRAINER
M.JOBSET_LABEL, M.REPLICATED_LABEL = "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"

local WHAT <const> = "aicr.training"
local MANAGER <const> = "aicr-run"
-- Bytes of foreign text in a message.
local TEXT_MAX <const> = 600

--- A table member of a table, else an empty one: objects are what a server sent.
function M.at(t, ...)
  for _, key in ipairs { ... } do
    t = type(t) == "table" and t[key]
  end
  return type(t) == "table" and t or {}
end

--- One line of foreign text, not too long for a message.
function M.clip(s)
  s = text.utf8(tostring(s)):gsub("%c+", " ")
  return #s <= TEXT_MAX and s or s:sub(1, utf8.offset(s, 0, TEXT_MAX + 1) - 1) .. "…"
end

function M.raise(code, reason, fmt, ...)
  errors.raise { code = code, reason = reason, message = fmt:format(...) }
end

--- Runs f; an error object of it becomes the cause of one with this code and message, and the same reason. What ends
--- the whole run passes through.
function M.wrapped(code, message, f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then
    return table.unpack(results, 2, results.n)
  end
  local err = results[2]
  if native.stopping() or not errors.is(err) then
    error(err, 0)
  end
  errors.raise {
    code = type(code) == "function" and code(err) or code, reason = err.reason, message = message, cause = err,
    details = err.details,
  }
end

--- Is it an error object with one of the reasons?
function M.is(err, ...)
  for _, reason in ipairs { ... } do
    if errors.is(err) and err.reason == reason then
      return true
    end
  end
  return false
end

M.is_absent = clean.is_absent

--- Any request of the client.
function M.call(request)
  return (k8s.call(WHAT, request))
end

--- The object, nil where it is absent.
function M.find(resource, name, namespace, deadline_ms)
  local ok, object = pcall(M.call, {
    verb = "get", resource = resource, name = name, namespace = namespace, deadline_ms = deadline_ms,
  })
  if not ok and not M.is_absent(object) then
    error(object, 0)
  end
  return ok and object or nil
end

--- A copy with our labels.
function M.marked(object, run_id, holder)
  local copy, meta, labels, annotations = {}, {}, {}, {}
  for _, pair in ipairs { { object, copy }, { M.at(object, "metadata"), meta },
    { M.at(object, "metadata", "labels"), labels }, { M.at(object, "metadata", "annotations"), annotations } } do
    for k, v in pairs(pair[1]) do
      pair[2][k] = v
    end
  end
  labels[M.MANAGED_BY], labels[M.RUN], annotations[M.HOLDER] = M.NAME, run_id, holder
  copy.metadata, meta.labels, meta.annotations = meta, labels, annotations
  return copy
end

local QUERY <const> = { fieldManager = MANAGER, fieldValidation = "Strict" }

function M.create(object)
  local made = M.call {
    verb = "create", apiVersion = object.apiVersion, kind = object.kind, namespace = object.metadata.namespace,
    query = QUERY, body = object,
  }
  native.record("resources", {
    apiVersion = object.apiVersion, kind = object.kind, name = M.at(made, "metadata").name,
    namespace = object.metadata.namespace,
  })
  return made
end

--- Puts an object in the place of the one it was made from.
function M.update(object)
  return M.call {
    verb = "update", apiVersion = object.apiVersion, kind = object.kind, name = object.metadata.name,
    namespace = object.metadata.namespace, query = QUERY, body = object,
  }
end

function M.patch(resource, name, namespace, patch)
  return M.call {
    verb = "patch", resource = resource, name = name, namespace = namespace, query = QUERY, body = patch,
    content_type = "application/merge-patch+json",
  }
end

--- Deletes the object of that uid; one that is gone, or has become another, is fine. Does not wait.
--- @param grace integer|nil seconds
function M.delete(resource, name, namespace, uid, grace, deadline_ms)
  local ok, err = pcall(M.call, {
    verb = "delete", resource = resource, name = name, namespace = namespace, deadline_ms = deadline_ms,
    body = {
      apiVersion = "v1", kind = "DeleteOptions", propagationPolicy = "Background", gracePeriodSeconds = grace,
      preconditions = { uid = uid },
    },
  })
  -- A conflict: another object has the name, or this one is on its way out already.
  if not ok and not M.is_absent(err) and not (errors.is(err) and err.code == "CONFLICT") then
    error(err, 0)
  end
end

--- All objects.
function M.list(resource, namespace, label)
  local items = {}
  local request <const> = { verb = "list", resource = resource, namespace = namespace, label = label }
  for object in k8s.stream(WHAT, request) do
    items[#items + 1] = object
  end
  return items
end

--- The log of a container; more than `limit` bytes never come.
--- @param opts table container, tail, limit, previous, deadline_ms
function M.logs(pod, namespace, opts)
  return log.text {
    name = pod, namespace = namespace, deadline_ms = opts.deadline_ms,
    query = {
      container = opts.container, tailLines = opts.tail, limitBytes = opts.limit,
      previous = opts.previous and "true" or nil,
    },
  }
end

--- Milliseconds since the epoch as Kubernetes' MicroTime.
function M.micro_time(ms)
  return (time.format(ms - ms % 1000):gsub("%.?%d*Z$", "")) .. (".%03d000Z"):format(ms % 1000)
end

--- Milliseconds since the epoch of a time in an object, nil where it is none.
function M.milliseconds(written)
  if type(written) ~= "string" then
    return nil
  end
  local ok, ms = pcall(time.parse, written)
  return ok and ms or nil
end

--- Is a pod neither Succeeded nor Failed?
function M.is_live(pod)
  local phase = M.at(pod, "status").phase
  return phase ~= "Succeeded" and phase ~= "Failed"
end

--- Message of an object's condition of that type with that status, nil where there is none.
function M.condition(object, name, status)
  for _, c in ipairs(M.at(object, "status", "conditions")) do
    if type(c) == "table" and c.type == name and c.status == status then
      return M.clip(c.message or c.reason or ""), c
    end
  end
  return nil
end

M.array = json.array

return M
