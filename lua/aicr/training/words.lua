-- SPDX-License-Identifier: Apache-2.0
--- What pods are doing, in words. Pure: objects are decoded JSON, and what a server sent.
local api = require "aicr.training.api"

local M = {}

-- A container that is about to start says only this.
local STARTING <const> = { ContainerCreating = "creating its containers", PodInitializing = "initializing" }

--- The statuses of init and main containers, in order.
function M.statuses(pod)
  local out = {}
  for _, field in ipairs { "initContainerStatuses", "containerStatuses" } do
    for _, status in ipairs(api.at(pod, "status", field)) do
      if type(status) == "table" then
        out[#out + 1] = status
      end
    end
  end
  return out
end

local function ended(terminated)
  local reason = terminated.reason and (" (%s)"):format(api.clip(terminated.reason)) or ""
  return ("exited with %s%s"):format(tostring(terminated.exitCode), reason)
end

--- State of a container in words: "running", "waiting: ErrImagePull: …", "exited with 1 (Error)".
function M.container(status)
  local state = api.at(status, "state")
  if state.waiting then
    local waiting = api.at(state, "waiting")
    local why = STARTING[waiting.reason] or api.clip(waiting.reason or "?")
    local last = api.at(status, "lastState", "terminated")
    return ("waiting: %s%s%s"):format(why, waiting.message and ": " .. api.clip(waiting.message) or "",
      last.exitCode and ", before " .. ended(last) or "")
  elseif state.terminated then
    return ended(api.at(state, "terminated"))
  end
  return state.running and "running" or "no state yet"
end

--- Does the pod wait for nothing but that its containers start? Its events then say what for.
function M.is_starting(pod)
  if api.at(pod, "status").phase ~= "Pending" or not api.at(pod, "spec").nodeName then
    return false
  end
  for _, status in ipairs(M.statuses(pod)) do
    local waiting = api.at(status, "state", "waiting")
    if waiting.reason and not STARTING[waiting.reason] then
      return false
    end
  end
  return true
end

--- What keeps a pod from running, in words; nil where it runs.
function M.trouble(pod)
  local status = api.at(pod, "status")
  if api.at(pod, "metadata").deletionTimestamp then
    return "terminating"
  elseif status.phase == "Failed" or status.phase == "Succeeded" then
    return tostring(status.phase):lower() .. (status.reason and ": " .. api.clip(status.reason) or "")
  end
  local unscheduled = api.condition(pod, "PodScheduled", "False")
  if unscheduled then
    return "unschedulable: " .. unscheduled
  end
  for _, container in ipairs(M.statuses(pod)) do
    local state = api.at(container, "state")
    local waiting = api.at(state, "waiting")
    if waiting.reason and not STARTING[waiting.reason] then
      return ("%s%s"):format(api.clip(waiting.reason), waiting.message and ": " .. api.clip(waiting.message) or "")
    end
  end
  if status.phase == "Running" then
    return nil
  end
  return api.at(pod, "spec").nodeName and "creating its containers" or "not scheduled yet"
end

--- Where a pod is, or what it is called.
function M.place(pod)
  local node = api.at(pod, "spec").nodeName
  return type(node) == "string" and node or tostring(api.at(pod, "metadata").name)
end

--- What a run waits for: "workers 1/2 running, node-b: pulling image".
--- @param launcher table|nil its pod
--- @param workers table[] pods that are there
--- @param count integer workers that are wanted
--- @param starting table uid → what the events of a pod say that is about to start
function M.progress(launcher, workers, count, starting)
  local function held(pod)
    local why = M.trouble(pod)
    return why and M.is_starting(pod) and starting[pod.metadata.uid] or why
  end
  local running, trouble = 0, nil
  for _, pod in ipairs(workers) do
    local why = held(pod)
    running = running + (why and 0 or 1)
    trouble = trouble or why and ("%s: %s"):format(M.place(pod), why)
  end
  local said = { ("workers %d/%d running"):format(running, count) }
  said[2] = trouble
  local why = launcher and held(launcher)
  if not launcher then
    said[#said + 1] = "no launcher yet"
  else
    said[#said + 1] = why and ("launcher on %s: %s"):format(M.place(launcher), why)
      or "launcher running"
  end
  return table.concat(said, ", ")
end

--- Why a launcher's pod has ended without success, in words.
--- @param container string its container
function M.ending(pod, container)
  local status, said = api.at(pod, "status"), {}
  for _, key in ipairs { "reason", "message" } do
    said[#said + 1] = status[key] and api.clip(status[key]) or nil
  end
  said[#said + 1] = api.condition(pod, "DisruptionTarget", "True")
  for _, one in ipairs(M.statuses(pod)) do
    local last = api.at(one, "state", "terminated")
    last = last.exitCode and last or api.at(one, "lastState", "terminated")
    if last.exitCode and (last.exitCode ~= 0 or one.name == container) then
      local restarts = math.type(one.restartCount) == "integer" and one.restartCount or 0
      said[#said + 1] = ("container %s %s%s"):format(tostring(one.name), ended(last),
        restarts > 0 and (", restarted %d times"):format(restarts) or "")
    end
  end
  return #said > 0 and table.concat(said, "; ") or "its pod says nothing of why"
end

--- Status of the container of that name, an empty table where there is none.
function M.status_of(pod, container)
  for _, status in ipairs(M.statuses(pod)) do
    if status.name == container then
      return status
    end
  end
  return {}
end

--- How often the container of that name was started again.
function M.restarts(pod, container)
  local count = M.status_of(pod, container).restartCount
  return math.type(count) == "integer" and count > 0 and count or 0
end

--- Has the container of that name run, so that there is a log?
function M.has_started(pod, container)
  local state = api.at(M.status_of(pod, container), "state")
  return state.running ~= nil or state.terminated ~= nil
end

--- Termination message of a container, trimmed; nil where there is none. That of an earlier start counts only while
--- this one has not ended.
function M.termination(pod, container)
  local status = M.status_of(pod, container)
  local is_over = api.at(status, "state").terminated ~= nil
  for _, state in ipairs { "state", not is_over and "lastState" or nil } do
    local message = api.at(status, state, "terminated").message
    message = type(message) == "string" and message:match "^%s*(.-)%s*$" or ""
    if message ~= "" then
      return message
    end
  end
  return nil
end

-- What an event says that a pod which is about to start waits for.
local EVENTS <const> = { Pulling = "pulling image", Pulled = "image is pulled", FailedMount = "mounting fails",
  FailedCreatePodSandBox = "its sandbox cannot be made", Failed = "a container cannot be made" }

-- What f makes of the last event of which it makes something.
local function of_last(events, f)
  local last, at
  for _, event in ipairs(events) do
    -- Names end in the time at which an event was first seen.
    local when = ("%s %s"):format(tostring(event.lastTimestamp or event.eventTime), tostring(event.metadata.name))
    local said = f(event)
    if said and (not at or when > at) then
      last, at = said, when
    end
  end
  return last
end

--- What the last of a pod's events says that it waits for; nil: nothing.
--- @param events table[]
function M.waits_for(events)
  return of_last(events, function(event) return EVENTS[event.reason] end)
end

--- The last warning among an object's events, nil: none.
--- @param events table[]
function M.warning(events)
  return of_last(events, function(event)
    return event.type == "Warning" and api.clip(event.message or event.reason or "?") or nil
  end)
end

return M
